"""Who links to whom: links from documents or lists, kept by the page they lead to."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from classmark.arrays import (
    Array,
    Floats,
    Ints,
    Rows,
    bounds_of,
    require_finite,
    rows_from,
)
from classmark.links.kernels import share_out
from classmark.problems import Mistake

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix


class Linked(Protocol):
    """A document with its links."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def links(self) -> Sequence[tuple[str, str]]:
        """(target id, anchor text) pairs."""


def graph_of(records: Iterable[Linked]) -> tuple[Rows, list[str]]:
    """Links between documents: A, shape (N, N), and the ids, in the order they come.

    A[i, j] = 1 for a link i → j, however often it is there. Links to what is not among
    the documents are left out; a link of a document to itself counts.
    """
    ids: dict[str, int] = {}
    sources, targets = array("q"), []
    for record in records:
        if record.id in ids:
            raise Mistake(f"two documents have the id {record.id!r}: ids must differ")
        ids[record.id] = len(ids)
        for target, _ in record.links:
            sources.append(ids[record.id])
            targets.append(target)
    ends = np.fromiter((ids.get(to, -1) for to in targets), np.int64, len(targets))
    inside = ends >= 0
    return _matrix(np.asarray(sources, np.int64)[inside], ends[inside], len(ids)), list(
        ids
    )


def graph_of_edges(
    edges: Iterable[tuple[str, str]], ids: Iterable[str] = ()
) -> tuple[Rows, list[str]]:
    """Links from a list of (source, target): A, and the ids by first appearance.

    ids : pages that are there even if no link has them; they come first.

    >>> A, ids = graph_of_edges([("b", "a"), ("a", "c"), ("b", "a")])
    >>> ids, A.columns.tolist()
    (['b', 'a', 'c'], [1, 2])
    """
    number = {id_: at for at, id_ in enumerate(dict.fromkeys(ids))}
    ends = array("q")
    for source, target in edges:
        ends.append(number.setdefault(source, len(number)))
        ends.append(number.setdefault(target, len(number)))
    pairs = np.asarray(ends, np.int64).reshape(-1, 2)
    return _matrix(pairs[:, 0], pairs[:, 1], len(number)), list(number)


def anchors(links: Iterable[tuple[str, str]]) -> dict[str, str]:
    r"""Target → the anchor texts of its links, a line each, to be indexed with it.

    links : (target id, anchor text) pairs, such as the ``links`` of all records.

    >>> anchors([("bees", "honey makers"), ("tea", ""), ("bees", "hives")])
    {'bees': 'honey makers\nhives'}
    """
    texts: dict[str, list[str]] = {}
    for target, anchor in links:
        if words := anchor.strip():
            texts.setdefault(target, []).append(words)
    return {target: "\n".join(words) for target, words in texts.items()}


def _matrix(sources: Ints, targets: Ints, n: int) -> Rows:
    """Ones in the rows of the sources and the columns of the targets."""
    places = np.unique(sources * n + targets)
    sources, targets = np.divmod(places, max(n, 1))
    starts = bounds_of(np.bincount(sources, minlength=n))
    return Rows(starts, targets.astype(np.uint32), np.ones(len(places)), n)


class Incoming(NamedTuple):
    """Who links to page j: ``sources[starts[j]:starts[j+1]]``.

    starts : int64, shape (n + 1,);  sources : uint32, shape (links,);
    shares : float64, A_ij / Σ_j A_ij by link, or empty where all weights are equal;
    scale : float64, shape (n,): what a share of page i is multiplied by: 0 without
    links, 1 where there are shares, else 1 / (its number of links).
    """

    starts: Ints
    sources: NDArray[np.uint32]
    shares: Floats
    scale: Floats


def incoming_links(A: ArrayLike | csr_array | csr_matrix | Rows) -> Incoming:
    """Turn a matrix of links round, in O(pages + links).

    >>> incoming_links([[0, 1], [1, 1]]).sources.tolist()
    [1, 0, 1]
    """
    rows = _checked(A)
    is_even = bool((rows.values == rows.values[:1]).all() and (rows.values > 0).all())
    if is_even:
        values: Array = np.ones(rows.nnz, np.int8)
        counts = np.diff(rows.starts)
        scale = np.where(counts > 0, 1.0 / np.maximum(counts, 1), 0.0)
    else:
        values, scale = np.empty(rows.nnz), np.empty(len(rows))
        share_out(rows.starts, rows.values, values, scale)
    turned = Rows(rows.starts, rows.columns, values, rows.width).to_scipy().tocsc()
    shares = np.empty(0) if is_even else turned.data
    starts, sources = turned.indptr.astype(np.int64), turned.indices.astype(np.uint32)
    return Incoming(starts, sources, shares, scale)


def _checked(A: ArrayLike | csr_array | csr_matrix | Rows) -> Rows:
    shape = tuple(getattr(A, "shape", None) or np.shape(A))
    if len(shape) != 2 or shape[0] != shape[1]:
        raise Mistake(
            f"A has the shape {shape}: links are a square matrix, a row and a column "
            "for every page, with A[i, j] = 1 for a link i → j"
        )
    if shape[0] == 0:
        raise Mistake("A has no page: give a link matrix with at least one")
    if isinstance(A, Rows):
        rows = A
        require_finite(rows, name="A")
    else:
        rows = rows_from(A, name="A")
    bad = np.flatnonzero(rows.values < 0)
    if len(bad):
        row = int(np.searchsorted(rows.starts, bad[0], side="right")) - 1
        raise Mistake(
            f"A[{row}, {rows.columns[bad[0]]}] is {rows.values[bad[0]]:g}: the weight "
            "of a link is not negative; leave out links that do not count"
        )
    return rows

"""Who links to whom: a matrix of links from documents, or from a list of them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from classmark.arrays import Ints
from classmark.problems import Mistake
from classmark.sparse import Rows


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
    return _matrix(_array(sources)[inside], ends[inside], len(ids)), list(ids)


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
    pairs = _array(ends).reshape(-1, 2)
    return _matrix(pairs[:, 0], pairs[:, 1], len(number)), list(number)


def anchors(links: Iterable[tuple[str, str]]) -> dict[str, str]:
    r"""Target → what the links to it say, one below the other, to be indexed with it.

    links : (target id, anchor text) pairs, such as the ``links`` of all records.

    >>> anchors([("bees", "honey makers"), ("tea", ""), ("bees", "hives")])
    {'bees': 'honey makers\nhives'}
    """
    said: dict[str, list[str]] = {}
    for target, anchor in links:
        if words := anchor.strip():
            said.setdefault(target, []).append(words)
    return {target: "\n".join(words) for target, words in said.items()}


def _array(numbers: array[int]) -> Ints:
    return np.frombuffer(numbers, np.int64) if numbers else np.empty(0, np.int64)


def _matrix(sources: Ints, targets: Ints, n: int) -> Rows:
    """Ones in the rows of the sources and the columns of the targets."""
    places = np.unique(sources * n + targets)
    starts = np.zeros(n + 1, np.int64)
    if n:
        np.cumsum(np.bincount(places // n, minlength=n), out=starts[1:])
    columns = (places % max(n, 1)).astype(np.uint32)
    return Rows(starts, columns, np.ones(len(places)), n)

"""Who links to whom; PageRank: how often a reader at random sees each page."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from classmark.arrays import (
    Array,
    Floats,
    Ints,
    Rows,
    bounds_of,
    distinct,
    require_finite,
    rows_from,
)
from classmark.links.kernels import follow_links, relax_pages, share_out
from classmark.problems import Mistake
from classmark.progress import track

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix


def graph_of(records: Iterable[Any]) -> tuple[Rows, list[str]]:
    """Links between documents: A, shape (N, N), and the ids, in the order they come.

    A[i, j] = 1 for a link i → j, however often it is there. Links to what is not among
    the documents are left out; a link of a document to itself counts.

    records : each with an ``id`` and ``links``, (target id, anchor text) pairs.
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
    places = distinct(sources * n + targets)
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


METHODS = ("power", "gauss-seidel", "eigen")
ROUNDING = 4e-16  # the change of a pass does not fall much below it
FEW = 8  # pages for which the eigenvectors of a dense matrix are taken


def pagerank(
    A: ArrayLike | csr_array | csr_matrix | Rows,
    damping: float = 0.85,
    teleport: ArrayLike | None = None,
    method: str = "power",
    tol: float = 1e-10,
) -> Floats:
    """Return the probability of each page under a random reader [BrinPage98].

    The reader follows a link with probability λ (``damping``) and jumps anywhere
    otherwise: P_ij = λ A_ij / Σ_j A_ij + (1 − λ) v_j. From a page without links every
    step is a jump: P_ij = v_j. Pages with no ``teleport`` given are jumped to alike,
    v_j = 1/N; a ``teleport`` makes the rank personal, and is where readers of pages
    without links go as well. The answer x solves x = x P, Σ x = 1.

    A : shape (N, N), A[i, j] = 1, or a weight ≥ 0, for a link i → j;
    teleport : shape (N,), probabilities;
    method : ``"power"``, x ← x P; ``"gauss-seidel"``, sweeps over the linear system
    (I − λ Sᵀ) y = v, of which x is the multiple with sum 1 [LangvilleMeyer04];
    ``"eigen"``, the dominant left eigenvector of P, by ARPACK;
    tol : the answer is at most so far, in Σ |x_j − x*_j|, from the exact one.

    >>> pagerank([[0, 1, 1], [0, 0, 1], [0, 0, 0]]).round(4).tolist()
    [0.1976, 0.2816, 0.5209]
    """
    if not 0 <= damping < 1:
        raise Mistake(f"damping is {damping}: give a number from 0 to below 1")
    if method not in METHODS:
        raise Mistake(f"method={method!r} is not known: use {', '.join(METHODS)}")
    if not 0 < tol < math.inf:
        raise Mistake(f"tol is {tol}: give a small number above 0")
    links = incoming_links(A)
    v = _distribution(teleport, len(links.scale))
    if damping == 0:
        return v
    ways = {"power": _power, "gauss-seidel": _gauss_seidel, "eigen": _eigen}
    x = ways[method](links, v, float(damping), float(tol))
    return np.asarray(x / x.sum())


def _power(links: Incoming, v: Floats, damping: float, tol: float) -> Floats:
    """Follow all links until ‖x − x*‖₁ ≤ λ/(1 − λ) ‖change‖₁ is small enough."""
    x, sent = v.copy(), np.empty_like(v)
    for _ in track(_passes(damping, tol), "following links"):
        if follow_links(links, v, damping, x, sent) * damping / (1 - damping) <= tol:
            return x
    raise _too_fine(damping, tol)


def _gauss_seidel(links: Incoming, v: Floats, damping: float, tol: float) -> Floats:
    """Solve y = λ Sᵀ y + v, S the shares (rows of zeros for pages without links).

    After a sweep the residual is at most λ ‖change‖₁ and ‖(I − λ Sᵀ)⁻¹‖₁ ≤ 1/(1 − λ);
    scaling y to sum 1 at most doubles the relative error. Between sweeps y is scaled so
    that the sum of all equations holds, which takes the slowest part of the error away;
    the second half of the passes goes without, being certain to get there.
    """
    passes = len(_passes(damping, tol))
    leaves = np.where(links.scale == 0, 1.0, 1 - damping)
    y: Floats = v / (leaves * v).sum()
    sent = damping * links.scale * y
    for sweep in track(range(2 * passes), "solving for the ranks"):
        change = relax_pages(links, v, damping, y, sent)
        if 2 * damping / (1 - damping) * change <= tol * y.sum():
            return y
        if sweep < passes:
            excess = (leaves * y).sum()
            y /= excess
            sent /= excess
    raise _too_fine(damping, tol)


def _eigen(links: Incoming, v: Floats, damping: float, tol: float) -> Floats:
    """Take the eigenvector; a pass of the power method tells how far off it is."""
    sent = np.empty_like(v)

    def step(x: Array) -> Floats:
        y = np.array(x, np.float64).ravel()
        follow_links(links, v, damping, y, sent)
        return y

    near = tol * (1 - damping) / math.sqrt(len(v))
    x = np.abs(_dominant(step, v, max(near, ROUNDING)))
    x /= x.sum()
    if follow_links(links, v, damping, x, sent) * damping / (1 - damping) > tol:
        raise _too_fine(damping, tol)
    return x


def _dominant(step: Any, v: Floats, near: float) -> Floats:
    """The eigenvector of ``step`` with the eigenvalue of largest size, 1."""
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigs

    n = len(v)
    if n <= FEW:
        values, vectors = np.linalg.eig(np.array([step(e) for e in np.eye(n)]).T)
        return np.asarray(vectors[:, np.argmax(values.real)].real)
    operator: Any = LinearOperator((n, n), matvec=step, dtype=np.float64)
    try:
        _, eigenvectors = eigs(operator, k=1, which="LM", v0=v, tol=near)
    except ArpackError as error:
        raise Mistake(
            f"method='eigen' found no eigenvector ({error}): use 'power'"
        ) from error
    return np.asarray(eigenvectors[:, 0].real)


def _passes(damping: float, tol: float) -> range:
    """Enough passes in exact arithmetic: changes fall by λ, from 4/(1 − λ)² at most."""
    if tol * (1 - damping) / damping < ROUNDING:
        raise _too_fine(damping, tol)
    needed = math.log(tol * (1 - damping) ** 3 / 8) / math.log(damping)
    return range(math.ceil(needed) + 10)


def _too_fine(damping: float, tol: float) -> Mistake:
    return Mistake(
        f"tol={tol:g} is finer than double precision can give with damping="
        f"{damping:g}: give a larger tol or a smaller damping"
    )


def _distribution(teleport: ArrayLike | None, n: int) -> Floats:
    if teleport is None:
        return np.full(n, 1.0 / n)
    probabilities = np.asarray(teleport)
    if probabilities.shape != (n,) or probabilities.dtype.kind not in "biuf":
        raise Mistake(
            f"teleport has the shape {probabilities.shape} and holds "
            f"{probabilities.dtype}: give a number for each of the {n} pages"
        )
    v = probabilities.astype(np.float64)
    bad = np.flatnonzero(~(v >= 0) | np.isinf(v))
    if len(bad):
        raise Mistake(f"teleport[{bad[0]}] is {v[bad[0]]}: give probabilities")
    if abs(v.sum() - 1) > 1e-6:
        raise Mistake(
            f"teleport sums to {v.sum():g}: probabilities sum to 1, divide by the sum"
        )
    return np.asarray(v / v.sum())

"""Smoothing: a category is its own documents, and a little of what is above it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from classmark.arrays import Array
from classmark.problems import Mistake
from classmark.sparse import Rows
from classmark.taxonomy.tree import Taxonomy

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

KEPT = 1000  # terms of an ancestor, at most
LEAST = 50  # terms of an ancestor, where there are very many labels
ENTRIES = 100_000_000  # that the labels may take from their ancestors, all together
BLOCK = 20_000_000  # entries of documents summed at a time


class Smoothed(NamedTuple):
    """Prototypes, csr (features, labels), each of length 1, and what was left out.

    dropped : how much of the ancestors' squared length lies in terms not kept, mean
    over the ancestors.
    """

    prototypes: csr_matrix
    dropped: float


@dataclass(frozen=True, eq=False)
class Smoothing:
    """How labels take part in the categories above them.

    nodes : the node number of each label, −1 where the taxonomy does not have it.
    decay : λ;  an ancestor at distance d, the nearest way over all parents, counts λᵈ.
    descriptions : a vector for each node that has one, shape (nodes, features), as
    long as it shall count; or None.
    """

    taxonomy: Taxonomy
    nodes: Sequence[int]
    decay: float
    descriptions: csr_matrix | None = None

    def of(self, rows: Rows, labels: Rows) -> Smoothed:
        """Smooth the centroids of labels (n, k) over documents (n, features)."""
        documents = rows.to_scipy().astype(np.float64)
        belongs = labels.to_scipy().astype(np.float64)
        belongs.data[:] = 1.0
        total: Any = unit_rows(belongs.T @ documents)
        kin, own = self._kin(), self._own()
        means, dropped = _means(documents, _members(belongs, kin, own), _kept(kin))
        total = total + kin @ means
        if self.descriptions is not None:
            total = total + (kin + own) @ self.descriptions
        return Smoothed(unit_rows(total).T.tocsr(), dropped)

    def _kin(self) -> csr_matrix:
        """λᵈ where a node is d above a label, the root left out, (labels, nodes)."""
        root = _only_root(self.taxonomy)
        lists: dict[int, dict[int, int]] = {-1: {}}
        for node in {int(v) for v in self.nodes}:
            lists.setdefault(node, _distances(self.taxonomy, node, root))
        found = [lists[int(node)] for node in self.nodes]
        starts = np.cumsum([0, *map(len, found)])
        columns = [node for above in found for node in above]
        distances = [distance for above in found for distance in above.values()]
        values = self.decay ** np.array(distances, np.float64)
        return _csr(values, np.array(columns, np.int64), starts, len(self.taxonomy))

    def _own(self) -> csr_matrix:
        """1 where a node is the label's own, (labels, nodes)."""
        given = np.asarray(self.nodes, np.int64)
        starts = np.concatenate([[0], np.cumsum(given >= 0)])
        columns = given[given >= 0]
        return _csr(np.ones(len(columns)), columns, starts, len(self.taxonomy))


def smoothed_prototypes(
    rows: Rows,
    labels: Rows,
    taxonomy: Taxonomy,
    nodes: Sequence[int],
    decay: float = 0.5,
    descriptions: csr_matrix | None = None,
) -> csr_matrix:
    """Prototypes of labels, smoothed along the tree, csr (features, labels).

    w_r ∝ c_r + t_r + Σ_a λ^d(r, a) (c_a + t_a), to unit length: c_r is the unit
    centroid of the documents of label r, c_a that of the documents in or below a, t the
    descriptions, a the categories above r other than the only root, d the edges between
    [McCallum98].

    Of an ancestor's centroid the heaviest 1,000 terms are kept, fewer where there are
    very many labels; ``Smoothing`` says what that leaves out.

    >>> from classmark.sparse import rows_from
    >>> from classmark.taxonomy.tree import Taxonomy
    >>> tree = Taxonomy([("r", "a"), ("a", 1), ("a", 2)])
    >>> X, Y = rows_from(np.eye(2)), rows_from(np.eye(2))
    >>> smoothed_prototypes(X, Y, tree, [2, 3], 1.0).toarray().round(3).tolist()
    [[0.924, 0.383], [0.383, 0.924]]
    """
    how = Smoothing(taxonomy, nodes, decay, descriptions)
    return how.of(rows, labels).prototypes


def require_taxonomy(taxonomy: Taxonomy) -> None:
    """Refuse edges, names or nothing where a taxonomy is wanted."""
    if not isinstance(taxonomy, Taxonomy):
        raise Mistake(
            f"taxonomy is a {type(taxonomy).__name__}: give a Taxonomy, as "
            "Taxonomy([(parent, daughter), …])"
        )


def unit_rows(matrix: Any) -> csr_matrix:
    """Rows of length 1; rows of zeros stay."""
    from scipy.sparse import csr_matrix

    found: csr_matrix = csr_matrix(matrix, dtype=np.float64, copy=True)
    owner = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
    length = np.sqrt(np.bincount(owner, found.data**2, minlength=found.shape[0]))
    found.data /= np.where(length > 0, length, 1.0)[owner]
    return found


def _members(belongs: csr_matrix, kin: csr_matrix, own: csr_matrix) -> csr_matrix:
    """1 where a document is in a node or below it, csr (nodes, documents).

    Nodes that are above no label have no documents here.
    """
    found: csr_matrix = (belongs @ (kin + own)).T.tocsr()
    wanted = np.bincount(kin.indices, minlength=kin.shape[1]) > 0
    counts = np.repeat(wanted, np.diff(found.indptr)) & (found.data > 0)
    found.data = counts.astype(np.float64)
    found.eliminate_zeros()
    return found


def _means(documents: Any, members: csr_matrix, kept: int) -> tuple[csr_matrix, float]:
    """Unit sums of the documents of each node, their heaviest terms; what is lost."""
    from scipy.sparse import csr_matrix, vstack

    work = np.asarray(members @ np.diff(documents.indptr)).ravel()
    block = (np.cumsum(work) // BLOCK).astype(np.int64)
    parts, lost = [csr_matrix((0, documents.shape[1]))], 0.0
    for at in np.unique(block):
        means = unit_rows(members[block == at] @ documents)
        lost += _cut(means, kept)
        parts.append(means)
    used = max(int((work > 0).sum()), 1)
    return csr_matrix(vstack(parts)), lost / used


def _cut(matrix: csr_matrix, kept: int) -> float:
    """Keep the heaviest ``kept`` entries of each row; return the squares lost."""
    starts, lost = matrix.indptr, 0.0
    for row in np.flatnonzero(np.diff(starts) > kept):
        values = matrix.data[starts[row] : starts[row + 1]]
        light = np.argpartition(-np.abs(values), kept)[kept:]
        lost += float(values[light] @ values[light])
        values[light] = 0.0
    matrix.eliminate_zeros()
    return lost


def _kept(kin: csr_matrix) -> int:
    """How many terms of an ancestor are kept, so that all labels' fit in memory."""
    return int(np.clip(ENTRIES // max(kin.nnz, 1), LEAST, KEPT))


def _only_root(taxonomy: Taxonomy) -> int:
    roots = np.flatnonzero(taxonomy.lineage.parent < 0)
    return int(roots[0]) if len(roots) == 1 else -1


def _distances(taxonomy: Taxonomy, node: int, root: int) -> dict[int, int]:
    """Edges to each node above, the nearest way, the root left out."""
    found: dict[int, int] = {}
    ring, distance = [node], 0
    while ring:
        distance += 1
        above = {int(u) for v in ring for u in taxonomy.above(v)}
        ring = sorted(above - found.keys())
        found.update(dict.fromkeys(ring, distance))
    found.pop(root, None)
    return found


def _csr(values: Array, columns: Array, starts: Array, width: int) -> csr_matrix:
    from scipy.sparse import csr_matrix

    parts: Any = (values, columns, starts)
    found: csr_matrix = csr_matrix(parts, shape=(len(starts) - 1, width))
    found.sort_indices()
    return found

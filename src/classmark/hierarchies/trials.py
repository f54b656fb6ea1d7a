"""What becomes of documents when a tree is descended? Nodes trained to find out."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from classmark.arrays import Bools, Floats, Ints
from classmark.hierarchies.nodes import fit_node
from classmark.progress import track
from classmark.sparse import Rows, keep_columns, rows_from, take

if TYPE_CHECKING:
    from classmark.hierarchies.places import Places

CENTROIDS = "centroids"
CELLS = 1 << 24  # scores held together


class Scorer(Protocol):
    """What a trained node offers."""

    @property
    def weights(self) -> Any:
        """Weights, shape (features, d), dense or sparse."""

    def scores(self, rows: Rows) -> Floats:
        """Score every daughter, shape (n, d)."""


class Centroids(NamedTuple):
    """Unit centroids of the daughters, sparse, shape (features, d)."""

    weights: Any

    def scores(self, rows: Rows) -> Floats:
        """Cosine to every daughter's centroid, times the document's length."""
        return np.asarray((rows.to_scipy() @ self.weights).toarray(), np.float64)


@dataclass(frozen=True, slots=True)
class Learner:
    """What learns at the nodes: a base of ``fit_node``, or unit centroids.

    tol : coarse, since only who wins is asked.
    """

    base: str = "svm"
    C: float = 1.0
    tol: float = 0.1
    seed: int = 0

    def fit(self, rows: Rows, owners: Rows) -> Scorer:
        """Learn one node from its documents (n, features) and their daughters."""
        if self.base == CENTROIDS:
            return Centroids(_unit_columns(rows.to_scipy().T @ owners.to_scipy()))
        return fit_node(rows, owners, self.base, self.C, self.tol, self.seed)


class Documents:
    """Rows of documents, and the nodes of a working tree that each belongs to.

    daughters : of each inner node, increasing; a copy, which may be changed.
    """

    def __init__(self, places: Places, X: Any) -> None:
        self.places = places
        self.rows = rows_from(X)
        belongs = places.nodes_of()
        belongs.sort_indices()
        self.nodes = rows_from(belongs)
        by_node = belongs.tocsc()
        by_node.sort_indices()
        self._starts, self._documents = by_node.indptr, by_node.indices
        self.daughters = {int(v): places.daughters(int(v)) for v in places.inner}

    def __len__(self) -> int:
        return len(self.rows)

    def flattened(self) -> Documents:
        """The same documents under a root whose daughters are the leaves."""
        other = copy(self)
        leaves = self.places.leaves
        other.daughters = (
            {self.root: leaves[leaves != self.root]} if self.daughters else {}
        )
        return other

    @property
    def root(self) -> int:
        """Where a descent begins."""
        return self.places.root

    def at(self, node: int) -> Ints:
        """The documents that belong to a node or below it, increasing."""
        found = self._documents[self._starts[node] : self._starts[node + 1]]
        return np.asarray(found, np.int64)

    def belong(self, documents: Ints, nodes: Ints) -> Bools:
        """Whether each document belongs to the node given with it."""
        key = documents * np.int64(self.nodes.width) + nodes
        return np.isin(key, self._keys(documents))

    def _keys(self, documents: Ints) -> Ints:
        chosen = take(self.nodes, np.unique(documents))
        owner = np.repeat(np.unique(documents), np.diff(chosen.starts))
        return np.asarray(owner * np.int64(self.nodes.width) + chosen.columns, np.int64)

    def owners(self, documents: Ints, daughters: Ints) -> Rows:
        """An entry where a document belongs to a daughter, shape (n, d)."""
        return keep_columns(take(self.nodes, documents), daughters)

    def fit(self, learner: Learner, documents: Ints, daughters: Ints) -> Scorer:
        """Train a classifier over some daughters with some documents."""
        rows = take(self.rows, documents)
        return learner.fit(rows, self.owners(documents, daughters))

    def choices(self, model: Scorer, documents: Ints, daughters: Ints) -> Ints:
        """The daughter with the highest score, for each document."""
        best = np.zeros(len(documents), np.int64)
        step = max(1, CELLS // max(1, len(daughters)))
        for start in range(0, len(documents), step):
            block = take(self.rows, documents[start : start + step])
            best[start : start + step] = np.argmax(model.scores(block), axis=1)
        return np.asarray(daughters[best], np.int64)

    def trained(self, learner: Learner, among: Bools) -> dict[int, Scorer]:
        """A classifier for each inner node with several daughters, from ``among``."""
        found: dict[int, Scorer] = {}
        nodes = [v for v, below in self.daughters.items() if len(below) > 1]
        for v in track(nodes, "training nodes", len(nodes)):
            documents = self.at(v)
            documents = documents[among[documents]]
            if len(documents):
                found[v] = self.fit(learner, documents, self.daughters[v])
        return found

    def descend(self, models: Mapping[int, Scorer], documents: Ints) -> Ints:
        """The leaf that each document comes to, by the best daughter at each node.

        A node that has no model (nothing was learned there) sends all to its first.
        """
        leaf = np.full(len(documents), -1, np.int64)
        waiting = [(self.root, np.arange(len(documents)))]
        while waiting:
            v, which = waiting.pop()
            below = self.daughters.get(v)
            if below is None:
                leaf[which] = v
                continue
            chosen = np.full(len(which), below[0], np.int64)
            if v in models:
                chosen = self.choices(models[v], documents[which], below)
            waiting += [(int(u), which[chosen == u]) for u in np.unique(chosen)]
        return leaf

    def margins(self, models: Mapping[int, Scorer], among: Bools) -> Floats:
        """g(x, y) = min over the path of f(x, v) − max over sisters f(x, v').

        Of several leaves the best counts, of several ways to a leaf the widest; sisters
        that a document belongs to as well are no rivals. −inf without a leaf. (n,)
        """
        widest = {self.root: np.where(among, np.inf, -np.inf)[self.at(self.root)]}
        best = np.full(len(self), -np.inf)
        if not self.daughters:
            best[self.at(self.root)] = widest[self.root]
        for v in self._downward():
            documents, above = self.at(v), widest.pop(v)
            owners = self.owners(documents, self.daughters[v])
            place = np.repeat(np.arange(len(documents)), np.diff(owners.starts))
            steps = self._steps(models.get(v), documents, owners)
            g = np.minimum(above[place], steps)
            order = np.argsort(owners.columns, kind="stable")
            counts = np.bincount(owners.columns, minlength=owners.width)
            parts = np.split(order, np.cumsum(counts)[:-1])
            for u, part in zip(self.daughters[v].tolist(), parts, strict=True):
                if u in self.daughters:
                    widest[u] = np.maximum(widest.get(u, g[part]), g[part])
                else:
                    own = documents[place[part]]
                    best[own] = np.maximum(best[own], g[part])
        return best

    def _downward(self) -> list[int]:
        """The inner nodes, every parent before its daughters."""
        above = dict.fromkeys(self.daughters, 0)
        for below in self.daughters.values():
            for u in below.tolist():
                above[u] = above.get(u, 0) + 1
        found = [self.root] if self.daughters else []
        for v in found:
            for u in self.daughters[v].tolist():
                above[u] -= 1
                if not above[u] and u in self.daughters:
                    found.append(u)
        return found

    def _steps(self, model: Scorer | None, documents: Ints, owners: Rows) -> Floats:
        """f(x, v) − max over sisters f(x, v'), for each entry of ``owners``."""
        if model is None or owners.width == 1:
            return np.full(owners.nnz, np.inf if owners.width == 1 else 0.0)
        found = np.empty(owners.nnz)
        size = max(1, CELLS // owners.width)
        for start in range(0, len(documents), size):
            end = min(start + size, len(documents))
            scores = model.scores(take(self.rows, documents[start:end]))
            low, high = owners.starts[start], owners.starts[end]
            lengths = np.diff(owners.starts[start : end + 1])
            row = np.repeat(np.arange(end - start), lengths)
            column = owners.columns[low:high]
            own = scores[row, column]
            scores[row, column] = -np.inf
            found[low:high] = own - scores.max(axis=1)[row]
        return found


def _unit_columns(sums: Any) -> Any:
    """Divide each column by its length."""
    from scipy.sparse import csc_matrix

    found = csc_matrix(sums)
    length = np.sqrt(np.asarray(found.multiply(found).sum(axis=0)).ravel())
    length[length == 0] = 1.0
    found.data = found.data / np.repeat(length, np.diff(found.indptr))
    return found.tocsr()

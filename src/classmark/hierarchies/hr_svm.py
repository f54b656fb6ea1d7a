"""HierarchicalSVM: each category's weights are pulled to those of its parent."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np

from classmark.arrays import Floats, Ints, Rows, rows_from, transpose, with_constant
from classmark.estimator import parameters
from classmark.hierarchies.flat import LinearClassifier
from classmark.hierarchies.nodes import in_use
from classmark.hierarchies.places import Places, places_of, require_one_each
from classmark.hierarchies.taxonomy_ranker import require_taxonomy
from classmark.problems import Mistake
from classmark.progress import track
from classmark.solvers.hinge import Hinges, ascend
from classmark.taxonomy.tree import Taxonomy
from classmark.validation import byte_size, require_numbers

NARROW = 10  # a leaf's problem is solved this much more closely than the whole


@parameters(rounds="max_iter")
class HierarchicalSVM(LinearClassifier):
    """Recursive regularisation of one-vs-rest hinges [GopalYang13]: HR-SVM.

    min Σ_v ½‖w_v − w_parent(v)‖² + C Σ_leaves Σ_i (1 − s_i ⟨w_leaf, x_i⟩)₊ over all
    nodes v, the parent of the root being 0, s_i = 1 where document i belongs to the
    leaf, else −1; the bias is the weight of a constant 1. In turns: the leaves, each by
    ascent around its parent; then all inner nodes at once, of which each is the mean of
    its neighbours. The objective falls with every round.

    max_iter : rounds at most; it ends sooner where a round gains less than ``tol`` of
        the objective.  memory : what the weights of all nodes may take.
    n_jobs : threads, over leaves.

    A category with several parents is pulled to the first. ``objective_curve_`` has the
    objective after each round, ``n_iter_`` their number.

    >>> tree = Taxonomy([("r", "hot"), ("r", "ale"), ("hot", "tea"), ("hot", "mocha")])
    >>> X, y = [[1.0, 1, 0], [1, 0, 1], [0, 0, 0.5]], ["tea", "mocha", "ale"]
    >>> HierarchicalSVM(tree, C=10.0).fit(X, y).predict(X)
    ['tea', 'mocha', 'ale']
    """

    taxonomy: Taxonomy
    C: float = 1.0
    _: KW_ONLY
    max_iter: int = 5
    tol: float = 1e-2
    memory: str = "2GB"
    n_jobs: int = 1
    random_state: int = 0

    def fit(self, X: Any, y: Iterable[Any]) -> Self:
        """Learn from documents X, shape (n, features), and their categories."""
        require_taxonomy(self.taxonomy)
        require_numbers(self, "C", "tol", over=0, under=np.inf)
        require_numbers(self, "max_iter", "n_jobs", whole=True, least=1)
        rows, places = rows_from(X), places_of(self.taxonomy, y)
        require_one_each(len(rows), len(places.documents))
        if not places.documents.nnz:
            raise Mistake("y names no category: give at least one document a category")
        features, compact = in_use(rows)
        need = 8 * (places.size + len(places.leaves)) * (len(features) + 1)
        if need > byte_size(self.memory):
            raise Mistake(
                f"{places.size} nodes × {len(features)} features need "
                f"{need / 1e9:.3g} GB, more than memory={self.memory!r}: use a "
                "TopDownClassifier, or allow more"
            )
        tree = _Pulled(places, with_constant(compact, 1.0), self.C)
        self.objective_curve_, last = [], tree.objective()
        for _ in track(range(self.max_iter), "rounds", self.max_iter):
            tree.move_leaves(self.tol / NARROW, self.random_state, self.n_jobs)
            tree.move_inner()
            objective = tree.objective()
            self.objective_curve_.append(objective)
            if last - objective <= self.tol * objective:
                break
            last = objective
        self.n_iter_ = len(self.objective_curve_)
        learned = tree.W[places.leaves]
        self.features_, self.bias_ = features, learned[:, -1].copy()
        self.weights_ = np.ascontiguousarray(learned[:, :-1].T)
        self.classes_, self.n_features_in_ = list(places.named), rows.width
        return self


class _Pulled:
    """The weights of all nodes, shape (nodes, features), and where the leaves stand.

    The inner nodes' equations are (1 + daughters) w − w_parent − Σ w_daughter = 0; what
    is known, the leaves, stands on the right.
    """

    def __init__(self, places: Places, rows: Rows, C: float) -> None:
        from scipy import sparse
        from scipy.sparse.linalg import splu

        self.rows, self.leaves, self.C = rows, places.leaves, C
        self.members = transpose(places.documents)
        self.parent = places.parent
        self.W = np.zeros((places.size, rows.width))
        # of each leaf: the cost of its hinges, which duals are not 0, and these
        nothing = (C * len(rows), np.empty(0, np.int64), np.empty(0))
        self.stand: list[tuple[float, Ints, Floats]] = [nothing] * len(self.leaves)
        n = len(self.parent)
        below = np.flatnonzero(self.parent >= 0)
        pairs: Any = (np.ones(len(below)), (self.parent[below], below))
        joined = sparse.csr_matrix(pairs, shape=(n, n))
        degree = 1.0 + np.asarray(joined.sum(axis=1)).ravel()
        self.inner = np.setdiff1d(np.arange(n), self.leaves)
        both = (sparse.diags(degree) - joined - joined.T).tocsr()[self.inner]
        self.from_leaves = joined[self.inner][:, self.leaves]
        if len(self.inner):
            self.solved = splu(both[:, self.inner].tocsc())

    def center(self, node: int) -> Floats:
        """The weights of the parent, 0 above the root."""
        above = self.parent[node]
        return self.W[above] if above >= 0 else np.zeros(self.rows.width)

    def objective(self) -> float:
        """Σ ½‖w_v − w_parent‖² + what the leaves' hinges cost."""
        pulls = (
            np.square(self.W[v] - self.center(v)).sum() for v in range(len(self.W))
        )
        return float(0.5 * sum(pulls) + sum(cost for cost, *_ in self.stand))

    def move_leaves(self, tol: float, seed: int, threads: int) -> None:
        """Solve every leaf's own problem around its parent."""
        with ThreadPoolExecutor(threads) as pool:
            numbers = range(len(self.leaves))
            moved = pool.map(lambda at: self._move_leaf(at, tol, seed), numbers)
            for _ in track(moved, "leaves", len(numbers)):
                pass

    def move_inner(self) -> None:
        """All inner nodes at once, exactly, the leaves held."""
        if len(self.inner):
            right_hand_side = self.from_leaves @ self.W[self.leaves]
            self.W[self.inner] = self.solved.solve(np.asarray(right_hand_side))

    def _move_leaf(self, at: int, tol: float, seed: int) -> None:
        """Take the leaf's solution, unless where it stands is as good."""
        v, n = int(self.leaves[at]), len(self.rows)
        cost, places, old_duals = self.stand[at]
        center, signs = self.center(v), np.full(n, -1.0)
        signs[self.members.row(at)[0].astype(np.int64)] = 1.0
        hinges = Hinges(
            np.arange(n, dtype=np.uint32), signs, np.full(n, self.C), np.ones(n)
        )
        duals = np.zeros(n)
        duals[places] = old_duals
        solution = ascend(
            [self.rows], hinges, center=center, duals=duals, tol=tol, random_state=seed
        )
        if solution.objective < 0.5 * np.square(self.W[v] - center).sum() + cost:
            self.W[v] = solution.weights
            pull = 0.5 * float(np.square(solution.weights - center).sum())
            cost = solution.objective - pull
        places = np.flatnonzero(solution.duals)
        self.stand[at] = cost, places, solution.duals[places]

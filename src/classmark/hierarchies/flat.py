"""Flat classification: every category beside every other; and HR-SVM over a tree."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import KW_ONLY, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import (
    Array,
    Floats,
    Ints,
    Rows,
    keep_columns,
    take,
    transpose,
    with_constant,
)
from classmark.estimator import Estimator, parameters, renamed
from classmark.hierarchies.nodes import NOWHERE, fit_margins, fit_node, in_use, require
from classmark.hierarchies.places import (
    Places,
    as_given,
    categories_in,
    flat_taxonomy,
    numbered,
    places_of,
    require_one_each,
)
from classmark.hierarchies.taxonomy_ranker import require_taxonomy
from classmark.preferences.labels import labels_from
from classmark.problems import Mistake
from classmark.progress import track
from classmark.rankers.linear import Evidence, LinearRanker
from classmark.rankers.preference import PreferenceRanker
from classmark.ranking import order
from classmark.ranking import top as best_of
from classmark.solvers.hinge import Hinges, ascend
from classmark.taxonomy.tree import Taxonomy
from classmark.validation import byte_size, require_k, require_numbers

COUNTS = 3  # arrays as large as the weights that counting holds
CELLS = 1 << 23  # scores held together: 64 MiB


class ScoringClassifier(Estimator, ABC):
    """Answers with categories by their scores; subclasses compute these.

    classes_ : the categories, in order where they have one, else as they came; an
        array where ``y`` was one, else a list.
    """

    _kind: ClassVar[str | None] = "classifier"
    _needs_y: ClassVar[bool] = True
    classes_: Any

    def predict(self, X: Any) -> Any:
        """The best category of each document: an array where ``y`` was, else a list."""
        return as_given([line[0] for line in self.rank(X, k=1)], self.classes_)

    @renamed(top="k")
    def rank(self, X: Any, k: int | None = None) -> list[list[Any]]:
        """Categories of each document, best first: ``k`` of them, or all."""
        self._require_fitted()
        if k is not None:
            require_k(k)
        return [
            [self.classes_[at] for at in line]
            for scores in self._score_blocks(self._rows_as_taught(X))
            for line in (order(scores) if k is None else best_of(scores, k))
        ]

    def decision_function(self, X: Any) -> Floats:
        """Scores of all categories, shape (documents, classes).

        Of two classes, where ``y`` was an array, how far the second is ahead, shape
        (documents,), as scikit-learn has it.
        """
        scores = np.concatenate(list(self._score_blocks(self._rows_as_taught(X))))
        if isinstance(self.classes_, np.ndarray) and len(self.classes_) == 2:
            return np.asarray(scores[:, 1] - scores[:, 0])
        return scores

    def score(self, X: Any, y: Iterable[Any]) -> float:
        """Share of documents whose best category is one of theirs."""
        return share_right(self.predict(X), y)

    @abstractmethod
    def _score_blocks(self, rows: Rows) -> Iterator[Floats]:
        """Scores of block after block of documents, so that never all are held."""


class LinearClassifier(ScoringClassifier):
    """Scores categories linearly; subclasses learn the weights.

    features_ : uint32 (m,), the columns that have weights;  weights_ : (m, classes),
    dense or scipy csr;  bias_ : (classes,);  n_features_in_ : columns of X.
    """

    features_: NDArray[np.uint32]
    weights_: Any
    bias_: Array
    n_features_in_: int

    @property
    def size_bytes_(self) -> int:
        """What the model takes: features, weights and bias."""
        self._require_fitted()
        weights = self.weights_
        parts = (
            (weights.data, weights.indices, weights.indptr)
            if _sparse(weights)
            else (weights,)
        )
        return int(sum(a.nbytes for a in (self.features_, self.bias_, *parts)))

    def evidence(self, X: Any, category: Hashable) -> Evidence:
        """Each feature's part in the score of a category for the one row of ``X``."""
        rows = self._documents(X)
        if len(rows) != 1:
            raise Mistake(f"X has {len(rows)} rows: evidence is shown for one document")
        classes = list(self.classes_)
        if category not in classes:
            raise Mistake(f"category {category!r} is none that was learned")
        compact = keep_columns(rows, self.features_)
        columns = compact.columns.astype(np.int64)
        weights = self.weights_[columns]
        weights = weights.toarray() if _sparse(weights) else weights
        centred = weights[:, classes.index(category)] - weights.mean(axis=1)
        features = self.features_[columns].astype(np.int64)
        return Evidence(features, compact.values.astype(np.float64) * centred)

    def _scores(self, rows: Rows) -> Floats:
        scores = keep_columns(rows, self.features_).to_scipy() @ self.weights_
        dense = scores.toarray() if _sparse(scores) else scores
        return np.asarray(dense + self.bias_, np.float64)

    def _score_blocks(self, rows: Rows) -> Iterator[Floats]:
        step = max(1, CELLS // len(self.classes_))
        for start in range(0, max(1, len(rows)), step):
            block = np.arange(start, min(start + step, len(rows)))
            yield self._scores(take(rows, block))

    def _documents(self, X: Any) -> Rows:
        return self._rows_as_taught(X)


@parameters()
class FlatClassifier(LinearClassifier):
    """One classifier over all categories, the tree left aside: the strategy FL.

    base : "svm" (Crammer and Singer's), "logistic" (multinomial) or "naive-bayes"; C
        and tol as ``fit_node`` explains them.
    memory : what the weights may take; those of "svm" are kept sparse where they would
        take more, the others refuse.
    n_jobs : threads ("svm").

    y : for each document a category, any hashable, or a list or set of them.

    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [0.8, 0.1]], ["tea", "wine", "tea"]
    >>> FlatClassifier().fit(X, y).predict([[0.3, 0.2], [0.1, 0.9]])
    ['tea', 'wine']
    """

    base: str = "svm"
    C: float = 1.0
    _: KW_ONLY
    tol: float = 1e-2
    memory: str = "2GB"
    n_jobs: int = 1
    random_state: int = 0

    def fit(self, X: Any, y: Iterable[Any]) -> Self:
        """Learn from documents X, shape (n, features), and their categories."""
        require_numbers(self, "C", "tol")
        require_numbers(self, "n_jobs", whole=True)
        require(self.base, self.C)
        rows = self._taught_rows(X)
        classes, owners = owners_of(y, len(rows))
        if self.base == "svm":
            ranker = PreferenceRanker(
                "dom", self.C, self.tol, memory=self.memory, n_jobs=self.n_jobs,
                random_state=self.random_state,
            )  # fmt: skip
            learned = fit_margins(rows, owners, ranker)
            self.features_, self.weights_, self.bias_ = learned
            self.objective_, self.n_iter_ = ranker.objective_, ranker.n_iter_
            self.duality_gap_ = ranker.duality_gap_
        else:
            features = len(in_use(rows)[0])
            lines = features * COUNTS if self.base == "naive-bayes" else features
            if self.base == "logistic":
                lines += owners.nnz  # a dual for each label of a document and class
            need = 8 * lines * owners.width
            if need > byte_size(self.memory):
                raise Mistake(
                    f"{features} features × {owners.width} categories need "
                    f"{need / 1e9:.3g} GB to learn by base={self.base!r}, more than "
                    f"memory={self.memory!r}: use base='svm', or a TopDownClassifier, "
                    "or allow more"
                )
            self.features_, self.weights_, self.bias_ = fit_node(
                rows, owners, self.base, self.C, self.tol, self.random_state
            )
        self.classes_ = as_given(classes, y)
        return self


def owners_of(y: Iterable[Any], n_documents: int) -> tuple[list[Any], Rows]:
    """The categories that occur, and Rows (n, classes) of 1 where a document has one.

    >>> owners_of(["b", ["a", "b"]], 2)[1].columns.tolist()
    [1, 0, 1]
    """
    categories = categories_in(y)
    require_one_each(n_documents, len(categories))
    classes = list(dict.fromkeys(label for labels in categories for label in labels))
    if not classes:
        raise Mistake("y names no category: give at least one document a category")
    with suppress(TypeError):
        classes = sorted(classes)
    return classes, numbered(categories, classes)


def share_right(answers: list[Any], y: Iterable[Any]) -> float:
    """Share of documents whose answer is one of their categories.

    >>> share_right(["a", "b"], [["a", "b"], "a"])
    0.5
    """
    categories = categories_in(y)
    require_one_each(len(answers), len(categories))
    if not categories:
        raise Mistake("X has no rows: give at least one document to judge by")
    pairs = zip(answers, categories, strict=True)
    return float(np.mean([best in labels for best, labels in pairs]))


def _sparse(matrix: Any) -> bool:
    return hasattr(matrix, "toarray")


@parameters()
class CrammerSingerSVM(FlatClassifier):
    """min ½‖W‖² + C Σ_i max_s (1 − ⟨w_{y_i} − w_s, x_i⟩)₊ [CrammerSinger01].

    The last weight of each category, ``bias_``, is that of a constant 1. Solved until
    the relative duality gap is at most ``tol``. A document of several categories puts
    each of them over all the others.

    >>> X, y = [[1.0, 0.0], [0.0, 1.0]], ["tea", "wine"]
    >>> CrammerSingerSVM(tol=1e-6).fit(X, y).weights_.round(3).tolist()
    [[0.5, -0.5], [-0.5, 0.5]]
    """

    base: str = field(default="svm", init=False)
    tol: float = 1e-3


@parameters()
class NodeRanker(LinearRanker):
    """One decision over all categories, by margins, by odds or by counts.

    base, C : as in ``fit_node``, with every category a daughter of one node.

    >>> ranker = NodeRanker("naive-bayes").fit(np.eye(3), [[0], [1], [2]])
    >>> ranker.rank([[0.0, 1.0, 0.0]]).tolist()
    [[1, 0, 2]]
    """

    base: str = "svm"
    C: float = 1.0

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from documents X, shape (n, features), and labels Y, shape (n, k)."""
        rows, taught, _ = self._taught(X, Y)
        labels = labels_from(taught, len(rows))
        model = fit_node(rows, labels, self.base, self.C)
        self._remember(rows, labels)
        self.weights_ = np.zeros((rows.width, len(model.bias)))
        self.weights_[model.features] = model.weights
        self.thresholds_ = -model.bias.astype(np.float64)
        return self

    def category_scores(self, X: Any) -> Floats:
        """Scores of all categories; one without documents is below all others."""
        scores = super().category_scores(X)
        none = np.asarray(self.thresholds_) >= -NOWHERE
        if none.any() and not none.all():
            scores[:, none] = scores[:, ~none].min(axis=1, keepdims=True) - 1.0
        return scores

    @property
    def kept_as(self) -> tuple[str, dict[str, Any]]:
        """The name and the parameters it is saved and opened by."""
        return "node", self.get_params()


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

    taxonomy : None stands for one without inner categories.
    A category with several parents is pulled to the first. ``objective_curve_`` has the
    objective after each round, ``n_iter_`` their number.

    >>> tree = Taxonomy([("r", "hot"), ("r", "ale"), ("hot", "tea"), ("hot", "mocha")])
    >>> X, y = [[1.0, 1, 0], [1, 0, 1], [0, 0, 0.5]], ["tea", "mocha", "ale"]
    >>> HierarchicalSVM(tree, C=10.0).fit(X, y).predict(X)
    ['tea', 'mocha', 'ale']
    """

    taxonomy: Taxonomy | None = None
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
        rows, tree = self._taught_rows(X), self.taxonomy
        if tree is None:
            tree = flat_taxonomy(owners_of(y, len(rows))[0])
        places = places_of(tree, y)
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
        pulled = _Pulled(places, with_constant(compact, 1.0), self.C)
        self.objective_curve_, last = [], pulled.objective()
        for _ in track(range(self.max_iter), "rounds", self.max_iter):
            pulled.move_leaves(self.tol / NARROW, self.random_state, self.n_jobs)
            pulled.move_inner()
            objective = pulled.objective()
            self.objective_curve_.append(objective)
            if last - objective <= self.tol * objective:
                break
            last = objective
        self.n_iter_ = len(self.objective_curve_)
        learned = pulled.W[places.leaves]
        self.features_, self.bias_ = features, learned[:, -1].copy()
        self.weights_ = np.ascontiguousarray(learned[:, :-1].T)
        self.classes_ = as_given(list(places.named), y)
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

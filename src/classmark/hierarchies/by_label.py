"""Categories by number: classifiers of the tree in the place of a linear ranker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from classmark.arrays import Floats
from classmark.hierarchies.descent import by_best_first
from classmark.hierarchies.nodes import NOWHERE, fit_node
from classmark.hierarchies.pruning import Policy, prune_taxonomy
from classmark.hierarchies.top_down import TopDownClassifier
from classmark.preferences.labels import labels_from
from classmark.problems import Mistake
from classmark.rankers.linear import Evidence, LinearRanker
from classmark.sparse import Rows, rows_from, take
from classmark.taxonomy.tree import Taxonomy


class NodeRanker(LinearRanker):
    """One decision over all categories, by margins, by odds or by counts.

    base, C : as in ``fit_node``, with every category a daughter of one node.

    >>> ranker = NodeRanker("naive-bayes").fit(np.eye(3), [[0], [1], [2]])
    >>> ranker.rank([[0.0, 1.0, 0.0]]).tolist()
    [[1, 0, 2]]
    """

    def __init__(self, base: str = "svm", C: float = 1.0) -> None:
        self.base = base
        self.C = C

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from documents X, shape (n, features), and labels Y, shape (n, k)."""
        rows = rows_from(X)
        model = fit_node(rows, labels_from(Y, len(rows)), self.base, self.C)
        self.weights_ = np.zeros((rows.width, len(model.bias)))
        self.weights_[model.features] = model.weights
        self.thresholds_ = -model.bias.astype(np.float64)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Scores of all categories; one without documents is below all others."""
        scores = super().decision_function(X)
        none = np.asarray(self.thresholds_) >= -NOWHERE
        if none.any() and not none.all():
            scores[:, none] = scores[:, ~none].min(axis=1, keepdims=True) - 1.0
        return scores

    @property
    def kept_as(self) -> tuple[str, dict[str, Any]]:
        """The name and the parameters it is saved and opened by."""
        return "node", self.get_params()


class TopDownRanker(LinearRanker):
    """Ranks categories by the probability of the way to them, root to leaf.

    taxonomy : the tree;  categories : the node of each label number. Labels that are
    inner nodes are leaves of their own beside their daughters.
    prune, bold : None, or the policy of ``prune_taxonomy`` by which inner nodes are
    removed before, "bound", "meta" or "random"; and whether boldly.
    base, C, drop, n_jobs, memory : as in ``TopDownClassifier``.

    Attributes: classifier_ (a ``TopDownClassifier``), pruned_ (the nodes removed).
    ``working`` names a folder that keeps what is finished while ``fit`` runs.

    >>> tree = Taxonomy([("r", "a"), ("r", "b"), ("a", 1), ("a", 2)])
    >>> ranker = TopDownRanker(tree, [1, 2, "b"]).fit(np.eye(3), [[0], [1], [2]])
    >>> ranker.rank([[0.0, 1.0, 0.0]], k=1).tolist()
    [[1]]
    """

    working: Path | None = None

    def __init__(
        self,
        taxonomy: Taxonomy,
        categories: Sequence[Any],
        base: str = "svm",
        C: float = 1.0,
        *,
        prune: Policy | None = None,
        bold: bool = False,
        drop: float = 0.0,
        n_jobs: int = 2,
        memory: str = "4GB",
    ) -> None:
        self.taxonomy = taxonomy
        self.categories = categories
        self.base = base
        self.C = C
        self.prune = prune
        self.bold = bold
        self.drop = drop
        self.n_jobs = n_jobs
        self.memory = memory

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from documents X, shape (n, features), and labels Y, shape (n, k).

        Documents without a label are left out.
        """
        rows = rows_from(X)
        labels = labels_from(Y, len(rows), len(self.categories))
        taught = np.flatnonzero(np.diff(labels.starts) > 0)
        if not len(taught):
            raise Mistake("no document has a label: give some to learn from")
        rows, labels = take(rows, taught), take(labels, taught)
        y = [[self.categories[c] for c in labels.row(i)[0]] for i in range(len(labels))]
        tree = self._working_tree(rows, y)
        self.classifier_ = TopDownClassifier(
            tree, self.base, C=self.C, drop=self.drop, n_jobs=self.n_jobs,
            memory=self.memory, folder=self.working,
        ).fit(rows, y)  # fmt: skip
        self.settle()
        return self

    def settle(self) -> None:
        """Map labels to leaves and back; called after ``fit`` and after opening."""
        leaf = {name: at for at, name in enumerate(self.classifier_.classes_)}
        self.leaves_ = np.array([leaf.get(c, -1) for c in self.categories], np.int64)
        self.labels_ = np.full(len(leaf), -1, np.int64)
        has_leaf = self.leaves_ >= 0
        self.labels_[self.leaves_[has_leaf]] = np.flatnonzero(has_leaf)

    def decision_function(self, X: Any) -> Floats:
        """Logarithms of the ways' probabilities, shape (documents, categories).

        −inf : no document of the category was learned from.
        """
        self._require_fitted()
        leaf_scores = self.classifier_.decision_function(X)
        scores = leaf_scores[:, np.maximum(self.leaves_, 0)]
        scores[:, self.leaves_ < 0] = -np.inf
        return scores

    def best(self, X: Any, k: int) -> list[tuple[int, float]]:
        """The most probable categories of the one row of ``X``, and their scores.

        Only nodes that may lead to them are looked at; categories without documents
        are not among them.
        """
        self._require_fitted()
        model = self.classifier_
        learned = model.places_.sizes > 0  # the others come after all of these
        hidden = int((self.labels_[learned] < 0).sum())
        n_best = min(int(learned.sum()), k + hidden)
        scale = float(model.scale) if model.base == "svm" else 1.0
        leaves = (len(self.labels_), n_best, -np.inf)
        best_leaves, scores = by_best_first(
            model.trained_, rows_from(X), scale, leaves, 1
        )
        labels = self.labels_[best_leaves[0]]
        ranked = zip(labels.tolist(), scores[0].tolist(), strict=True)
        return [(label, score) for label, score in ranked if label >= 0][:k]

    def evidence(self, X: Any, category: int) -> Evidence:
        """Each feature's part in the decisions on the way to a category."""
        self._require_fitted()
        leaf = self.categories[category]
        if self.leaves_[category] < 0:
            return Evidence(np.empty(0, np.int64), np.empty(0))
        return self.classifier_.evidence(X, leaf)

    @property
    def coef_(self) -> Floats:
        """There is no such matrix: a category's score is no sum over features."""
        raise Mistake("a top-down model has weights at every node: use classifier_")

    def _working_tree(self, rows: Rows, y: list[list[Any]]) -> Taxonomy:
        """The tree that is gone down; ``y`` means the same in it."""
        if self.prune is None:
            self.pruned_: list[Any] = []
            return self.taxonomy
        tree = prune_taxonomy(
            self.taxonomy, rows, y, self.prune,
            bold=self.bold, base=self.base, C=self.C,
        )  # fmt: skip
        inner = [node for node in self.taxonomy if not self.taxonomy.is_leaf(node)]
        self.pruned_ = [v for v in inner if v not in tree or tree.is_leaf(v)]
        return tree

"""PreferenceRanker: the preference learning model, solved to a certified optimum."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from classmark.preferences.decompose import Decomposition, decompose
from classmark.preferences.graph import PreferenceGraph
from classmark.preferences.levels import (
    are_layered,
    checked_graphs,
    is_graphs,
    levels_from,
)
from classmark.problems import Mistake
from classmark.rankers.linear import Evidence, LinearRanker
from classmark.rankers.rocchio import Rocchio
from classmark.scores.similarity import Kernel, Similarity, features_of
from classmark.solvers.dual.ascent import Solution, ascend
from classmark.solvers.dual.center import Center
from classmark.solvers.dual.explicit import ExplicitDual
from classmark.solvers.dual.implicit import CODES, Caps, ImplicitDual
from classmark.sparse import Rows, rows_from, with_constant

Mapping = str | Callable[[PreferenceGraph], Any]
DECOMPOSITIONS = {
    "dis": ("disagreement",),
    "dom": ("domination",),
    "dme": ("dominated",),
    "dom-dme": ("domination", "dominated"),
}


class PreferenceRanker(LinearRanker):
    """Prototypes by a large margin over preferences [AiolliSebastianiSperduti08].

    min ½‖w‖² + C Σ_g ξ_g   s.t. ⟨w_u − w_v, x⟩ ≥ 1 − ξ_g for every preference u over v
    of group g, ξ_g ≥ 0: one slack per group. The cost mapping says what a group is:

    "dis": each preference alone; "dom": a document's label over all below it; "dme":
    all labels over one; "dom-dme": both costs added; "svm": each label against its own
    threshold, alone (independent binary SVMs, the baseline); or a function from a
    ``PreferenceGraph`` to groups of its edges.

    Y may hold labels, grades (a higher grade over a lower) or preference graphs. Solved
    by block coordinate ascent on the dual, each group's step exact, until the relative
    duality gap is at most ``tol``.

    class_weight : "balanced" divides C among the labels so that each label's groups
        together cost as much as those of any other: rare labels are not drowned.
    kernel : None for linear scores; "linear", "polynomial", "rbf" (with ``gamma``,
        ``degree``, ``coef0``) or a function of two matrices: then ⟨w_r, x⟩ becomes
        Σ_i dual_coef_[i, r] k(x_i, x), at a cost of n² memory.
    center : None for ½‖w‖² as in the paper; a length for ½‖w − w₀‖² with w₀ Rocchio's
        prototypes of that length. Labels with few documents then stay near their
        means, those with many move to the margin: better where data are few.
    n_jobs : threads.

    Attributes: weights_, coef_, objective_ (primal), duality_gap_ (relative), n_iter_,
    thresholds_ (svm: ranked by ⟨w_c, x⟩ − τ_c).
    """

    def __init__(
        self,
        mapping: Mapping = "dom",
        C: float = 1.0,
        tol: float = 1e-3,
        *,
        kernel: str | Similarity | None = None,
        gamma: float = 1.0,
        degree: int = 2,
        coef0: float = 1.0,
        max_iter: int = 1000,
        class_weight: str | None = None,
        center: float | None = None,
        n_jobs: int = 1,
        random_state: int = 0,
    ) -> None:
        self.mapping = mapping
        self.C = C
        self.tol = tol
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.center = center
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from documents X, shape (n, features), and labels, grades or graphs."""
        self._check()
        problem = self._problem(self._rows(X), Y)
        solution = ascend(problem, self.tol, self.max_iter, self.random_state)
        self._settle(problem, solution)
        return self

    def path(self, X: Any, Y: Any, Cs: Sequence[float]) -> Iterator[Self]:
        """Fit for each C in increasing order, each starting from the one before.

        Yields fitted copies: the duals of a smaller C are feasible for a larger one.
        """
        self._check()
        problem, last = self._problem(self._rows(X), Y), self.C
        for C in sorted(Cs):
            problem.raise_caps(C / last)
            solution = ascend(problem, self.tol, self.max_iter, self.random_state)
            ranker = copy(self).set_params(C=C)
            ranker._settle(problem, replace(solution, W=solution.W.copy()))  # noqa: SLF001 (a copy of this one)
            last = C
            yield ranker

    def _rows(self, X: Any) -> Rows:
        """The documents; with a kernel, as they are in the kernel's own space."""
        rows = rows_from(X)
        if self.kernel is None:
            return rows
        self.documents_ = rows.to_scipy()
        return rows_from(features_of(self._similarity()(self.documents_, None)))

    def _problem(self, rows: Rows, Y: Any) -> ImplicitDual | ExplicitDual:
        listed = is_graphs(Y) and not are_layered(Y)
        if callable(self.mapping) or listed:
            return self._explicit(rows, Y)
        levels = levels_from(Y, len(rows))
        if self.mapping == "svm":
            rows = with_constant(rows, -1.0)
        return ImplicitDual(
            rows,
            levels,
            str(self.mapping),
            self._caps(levels),
            threads=self.n_jobs,
            center=self._center(rows, levels),
        )

    def _center(self, rows: Rows, levels: Rows) -> Center:
        """Rocchio's unit prototypes, ``center`` times as long; or nothing."""
        if self.center is None:
            return Center()
        prototypes: Any = Rocchio().fit(rows, levels).weights_
        return Center(prototypes * float(self.center))

    def _explicit(self, rows: Rows, Y: Any) -> ExplicitDual:
        """List the groups: for graphs that are not layered, and for functions."""
        if self.mapping == "svm":
            raise Mistake(
                "mapping 'svm' compares labels with thresholds, which listed edges do "
                "not: use 'dis', 'dom', 'dme' or 'dom-dme'"
            )
        graphs = Y if is_graphs(Y) else _graphs(levels_from(Y, len(rows)))
        checked_graphs(graphs, len(rows))
        mapping = self.mapping
        chosen: Sequence[Decomposition] = (
            (mapping,) if callable(mapping) else DECOMPOSITIONS[mapping]
        )
        groups = [
            [group for name in chosen for group in decompose(graph, name)]
            for graph in graphs
        ]
        weights = [
            _mean_weight(graph, group)
            for graph, document in zip(graphs, groups, strict=True)
            for group in document
        ]
        return ExplicitDual(
            rows, graphs[0].n_labels, groups, self.C * np.array(weights, float)
        )

    def _caps(self, levels: Rows) -> Caps:
        """C, or C shared out so that every label's groups cost the same together."""
        listed = np.full(levels.nnz, float(self.C))
        rest = np.full(levels.width, float(self.C))
        if self.class_weight is None:
            return Caps(listed, rest)
        size = np.bincount(levels.columns, minlength=levels.width)
        used = max(int((size > 0).sum()), 1)
        share = levels.nnz / (used * np.maximum(size, 1))
        listed *= share[levels.columns]
        others = np.maximum(len(levels) - size, 1)
        return Caps(listed, rest * share * size / others)

    def _settle(self, problem: ImplicitDual | ExplicitDual, solution: Solution) -> None:
        self.weights_ = solution.W
        self.thresholds_ = None
        self.objective_ = solution.objective
        self.duality_gap_ = solution.gap
        self.n_iter_ = solution.passes
        self.trace_ = solution.trace
        if self.mapping == "svm":
            self.weights_, self.thresholds_ = solution.W[:-1], solution.W[-1]
        if self.kernel is not None:
            self.dual_coef_ = problem.coefficients()

    def _similarity(self) -> Kernel:
        return Kernel(self.kernel or "linear", self.gamma, self.degree, self.coef0)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores of all categories, shape (documents, categories)."""
        if self.kernel is None:
            return super().decision_function(X)
        self._require_fitted()
        similar = self._similarity()(rows_from(X).to_scipy(), self.documents_)
        scores = similar @ self.dual_coef_
        return scores if self.thresholds_ is None else scores - self.thresholds_

    def evidence(self, X: Any, category: int) -> Evidence:
        """Each feature's part in a score; with a kernel there is no such part."""
        if self.kernel is not None:
            raise Mistake(
                "with a kernel, scores have no parts by feature: use kernel=None"
            )
        return super().evidence(X, category)

    def _check(self) -> None:
        if not callable(self.mapping) and self.mapping not in CODES:
            raise Mistake(
                f"mapping {self.mapping!r} is not known: use {', '.join(CODES)} "
                "or a function"
            )
        for name in ("C", "tol"):
            if not getattr(self, name) > 0:
                raise Mistake(f"{name} is {getattr(self, name)}: give more than 0")
        if self.class_weight not in (None, "balanced"):
            raise Mistake(
                f"class_weight is {self.class_weight!r}: use None or 'balanced'"
            )
        if self.n_jobs < 1 or self.max_iter < 1:
            raise Mistake("n_jobs and max_iter are to be 1 or more")


def _graphs(levels: Rows) -> list[PreferenceGraph]:
    graphs = []
    for i in range(len(levels)):
        columns, values = levels.row(i)
        level = np.zeros(levels.width, np.int64)
        level[columns] = values
        graphs.append(PreferenceGraph(levels.width, levels=level))
    return graphs


def _mean_weight(graph: PreferenceGraph, group: Sequence[tuple[int, int]]) -> float:
    """The mean weight of a group's edges: 1 unless the graph says otherwise."""
    if graph.levels is not None or not group:
        return 1.0
    known = {
        (int(u), int(v)): float(w)
        for (u, v), w in zip(graph.pairs, graph.weights, strict=True)
    }
    return sum(known[edge] for edge in group) / len(group)

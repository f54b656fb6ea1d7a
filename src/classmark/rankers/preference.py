"""PreferenceRanker: the preference learning model, solved to a certified optimum."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from classmark.preferences.decompose import Decomposition
from classmark.preferences.graph import PreferenceGraph
from classmark.preferences.groups import weighted_groups
from classmark.preferences.levels import (
    are_layered,
    favoured,
    graphs_from,
    is_graphs,
    levels_from,
    relevant,
)
from classmark.problems import Mistake
from classmark.rankers.linear import Evidence, LinearRanker
from classmark.rankers.rocchio import Rocchio
from classmark.scores.similarity import Kernel, Similarity, features_of
from classmark.solvers.dual.ascent import Solution, ascend
from classmark.solvers.dual.center import Center
from classmark.solvers.dual.explicit import ExplicitDual
from classmark.solvers.dual.implicit import CODES, Caps, ImplicitDual
from classmark.solvers.dual.together import CompositeDual
from classmark.solvers.sparse.dual import SparseDual
from classmark.solvers.sparse.store import fits
from classmark.sparse import Rows, rows_from, take, with_constant

Mapping = str | Callable[[PreferenceGraph], Any]
Numbers = NDArray[np.float64]
Problem = ImplicitDual | ExplicitDual | CompositeDual | SparseDual
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

    Y may hold labels, grades (a higher grade over a lower) or preference graphs, some
    layered, some listed; a group costs C times the mean weight of its edges. Solved by
    block coordinate ascent on the dual, each group's step exact, until the relative
    duality gap is at most ``tol``.

    class_weight : "balanced" divides C among the labels so that each label's groups
        together cost as much as those of any other: rare labels are not drowned.
    kernel : None for linear scores; "linear", "polynomial", "rbf" (with ``gamma``,
        ``degree``, ``coef0``) or a function of two matrices: then ⟨w_r, x⟩ becomes
        Σ_i dual_coef_[i, r] k(x_i, x), at a cost of n² memory.
    center : None for ½‖w‖² as in the paper; a length for ½‖w − w₀‖² with w₀ Rocchio's
        prototypes of that length. Labels with few documents then stay near their
        means, those with many move to the margin: better where data are few.
    memory : what the weights may take. If features × labels need more, they are kept
        sparse (mapping "dom", one thread): the same optimum, less a part shared by all
        labels, which no order sees; weights_ is then a scipy csr matrix.
    n_jobs : threads.

    Attributes: weights_, store_ ("dense" or "sparse"), coef_, objective_ (primal),
    duality_gap_ (relative), n_iter_, thresholds_ (svm: ranked by ⟨w_c, x⟩ − τ_c; of
    graphs that compare labels with the threshold: its value, for every label).
    """

    takes_graphs = True

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
        memory: str = "2GB",
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
        self.memory = memory
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

    def _problem(self, rows: Rows, Y: Any) -> Problem:
        """Layers stay layers; only graphs that are not layered list their edges."""
        if callable(self.mapping) or (is_graphs(Y) and not are_layered(Y)):
            return self._mixed(rows, graphs_from(Y, len(rows), thresholds=True))
        levels = levels_from(Y, len(rows))
        if self.mapping == "svm":
            rows = with_constant(rows, -1.0)
        able = self.mapping == "dom" and self.kernel is None
        if not fits(rows, levels.width, self.memory, sparse=able):
            return self._sparse(rows, levels)
        center = self._center(rows, levels)
        return self._implicit(rows, levels, self._shares(levels), center)

    def _sparse(self, rows: Rows, levels: Rows) -> SparseDual:
        caps = self._caps(levels, self._shares(levels)).listed[levels.columns]
        least = 0.1 * self.tol / max(1.0, float(caps.max(initial=0.0)))
        center = self._prototypes(rows, levels)
        return SparseDual(
            rows, levels, caps, center=center, least=least, seed=self.random_state
        )

    def _mixed(self, rows: Rows, graphs: Sequence[PreferenceGraph]) -> Problem:
        if self.mapping == "svm":
            raise Mistake(
                "mapping 'svm' compares labels with thresholds, which listed edges do "
                "not: use 'dis', 'dom', 'dme' or 'dom-dme'"
            )
        levels = favoured(graphs)
        shares, center = self._shares(levels), self._center(rows, levels)
        free = callable(self.mapping)
        listed = np.array([free or not are_layered([graph]) for graph in graphs])
        if listed.all():
            return self._explicit(rows, graphs, shares, center)
        first = self._implicit(
            take(rows, ~listed), take(levels, ~listed), shares, center
        )
        chosen = [graphs[int(i)] for i in np.flatnonzero(listed)]
        second = self._explicit(take(rows, listed), chosen, shares, center, first.W)
        return CompositeDual(first, second, listed)

    def _implicit(
        self, rows: Rows, levels: Rows, shares: Numbers, center: Center
    ) -> ImplicitDual:
        caps = self._caps(levels, shares)
        mapping = str(self.mapping)
        return ImplicitDual(
            rows, levels, mapping, caps, threads=self.n_jobs, center=center
        )

    def _center(self, rows: Rows, levels: Rows) -> Center:
        return Center(self._prototypes(rows, levels))

    def _prototypes(self, rows: Rows, levels: Rows) -> Any:
        """Rocchio's unit prototypes, ``center`` times as long; or nothing."""
        if self.center is None:
            return None
        prototypes: Any = Rocchio().fit(rows, relevant(levels)).weights_
        return prototypes * float(self.center)

    def _explicit(
        self,
        rows: Rows,
        graphs: Sequence[PreferenceGraph],
        shares: Numbers,
        center: Center,
        W: Numbers | None = None,
    ) -> ExplicitDual:
        """List the groups: for graphs that are not layered, and for functions."""
        mapping = self.mapping
        chosen: Sequence[Decomposition] = (
            (mapping,) if callable(mapping) else DECOMPOSITIONS[mapping]
        )
        found = [weighted_groups(graph, chosen, shares) for graph in graphs]
        groups = [document for document, _ in found]
        caps = self.C * np.array([w for _, weights in found for w in weights], float)
        return ExplicitDual(rows, graphs[0].n_labels, groups, caps, center, W)

    def _shares(self, levels: Rows) -> Numbers:
        """1 per label, or such that every label's groups cost the same together."""
        if self.class_weight is None:
            return np.ones(levels.width)
        size = _sizes(levels)
        used = max(int((size > 0).sum()), 1)
        return np.asarray(size.sum() / (used * np.maximum(size, 1)))

    def _caps(self, levels: Rows, shares: Numbers) -> Caps:
        """C times the label's share; what a label has is shared by its negatives."""
        if self.class_weight is None:
            return Caps(self.C * shares, self.C * shares)
        size = _sizes(levels)
        others = np.maximum(len(levels) - size, 1)
        return Caps(self.C * shares, self.C * shares * size / others)

    def _settle(self, problem: Problem, solution: Solution) -> None:
        self.weights_ = solution.W
        self.store_ = "sparse" if isinstance(problem, SparseDual) else "dense"
        self.thresholds_ = None
        self.objective_ = solution.objective
        self.duality_gap_ = solution.gap
        self.n_iter_ = solution.passes
        self.trace_ = solution.trace
        if self.mapping == "svm":
            self.weights_, self.thresholds_ = solution.W[:-1], solution.W[-1]
        if isinstance(problem, ExplicitDual | CompositeDual) and problem.has_threshold:
            self.thresholds_ = np.full(problem.W.shape[1], problem.tau[0])
        if self.kernel is not None and not isinstance(problem, SparseDual):
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


def _sizes(levels: Rows) -> NDArray[np.int64]:
    """How many documents speak for each label."""
    return np.bincount(relevant(levels).columns, minlength=levels.width)

"""Which dual problem do documents, supervision and a cost mapping make?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from classmark.arrays import Floats, Ints
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
from classmark.solvers.dual.center import Center
from classmark.solvers.dual.explicit import ExplicitDual
from classmark.solvers.dual.implicit import Caps, ImplicitDual
from classmark.solvers.dual.together import CompositeDual
from classmark.solvers.sparse.dual import SparseDual
from classmark.solvers.sparse.store import fits
from classmark.sparse import Rows, take, with_constant

Mapping = str | Callable[[PreferenceGraph], Any]
Problem = ImplicitDual | ExplicitDual | CompositeDual | SparseDual
DECOMPOSITIONS = {
    "dis": ("disagreement",),
    "dom": ("domination",),
    "dme": ("dominated",),
    "dom-dme": ("domination", "dominated"),
}


def decompositions(mapping: Mapping) -> Sequence[Decomposition]:
    """How a cost mapping puts listed edges into groups."""
    if mapping == "svm":
        raise Mistake(
            "mapping 'svm' compares labels with thresholds, which listed edges do "
            "not: use 'dis', 'dom', 'dme' or 'dom-dme'"
        )
    return (mapping,) if callable(mapping) else DECOMPOSITIONS[mapping]


@dataclass(frozen=True, slots=True)
class Terms:
    """What a ranker says of the problem, as ``PreferenceRanker`` explains it.

    dense : whether the weights must be dense, whatever memory they take;  prototypes :
    of documents and their labels, shape (features, labels), each of length 1.
    """

    mapping: Mapping
    C: float
    tol: float
    class_weight: str | None
    center: float | None
    memory: str
    threads: int
    seed: int
    dense: bool
    prototypes: Callable[[Rows, Rows], Any]

    def problem(self, rows: Rows, Y: Any) -> Problem:
        """Layers stay layers; only graphs that are not layered list their edges."""
        if callable(self.mapping) or (is_graphs(Y) and not are_layered(Y)):
            return self._mixed(rows, graphs_from(Y, len(rows), thresholds=True))
        levels = levels_from(Y, len(rows))
        if self.mapping == "svm":
            rows = with_constant(rows, -1.0)
        able = self.mapping == "dom" and not self.dense
        if not fits(rows, levels.width, self.memory, sparse=able):
            return self._sparse(rows, levels)
        center = Center(self._prototypes(rows, levels))
        return self._implicit(rows, levels, self._shares(levels), center)

    def _sparse(self, rows: Rows, levels: Rows) -> SparseDual:
        caps = self._caps(levels, self._shares(levels)).listed[levels.columns]
        least = 0.1 * self.tol / max(1.0, float(caps.max(initial=0.0)))
        center = self._prototypes(rows, levels)
        return SparseDual(
            rows, levels, caps, center=center, least=least, seed=self.seed
        )

    def _mixed(self, rows: Rows, graphs: Sequence[PreferenceGraph]) -> Problem:
        decompositions(self.mapping)
        levels = favoured(graphs)
        if not self.dense:
            fits(rows, levels.width, self.memory, sparse=False)
        shares, center = self._shares(levels), Center(self._prototypes(rows, levels))
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
        self, rows: Rows, levels: Rows, shares: Floats, center: Center
    ) -> ImplicitDual:
        caps, mapping = self._caps(levels, shares), str(self.mapping)
        return ImplicitDual(
            rows, levels, mapping, caps, threads=self.threads, center=center
        )

    def _prototypes(self, rows: Rows, levels: Rows) -> Any:
        """Unit prototypes, ``center`` times as long; or nothing."""
        if self.center is None:
            return None
        return self.prototypes(rows, relevant(levels)) * float(self.center)

    def _explicit(
        self,
        rows: Rows,
        graphs: Sequence[PreferenceGraph],
        shares: Floats,
        center: Center,
        W: Floats | None = None,
    ) -> ExplicitDual:
        """List the groups: for graphs that are not layered, and for functions."""
        chosen = decompositions(self.mapping)
        found = [weighted_groups(graph, chosen, shares) for graph in graphs]
        groups = [document for document, _ in found]
        caps = self.C * np.array([w for _, weights in found for w in weights], float)
        return ExplicitDual(rows, graphs[0].n_labels, groups, caps, center, W)

    def _shares(self, levels: Rows) -> Floats:
        """1 per label, or such that every label's groups cost the same together."""
        if self.class_weight is None:
            return np.ones(levels.width)
        size = _sizes(levels)
        used = max(int((size > 0).sum()), 1)
        return np.asarray(size.sum() / (used * np.maximum(size, 1)))

    def _caps(self, levels: Rows, shares: Floats) -> Caps:
        """C times the label's share; what a label has is shared by its negatives."""
        if self.class_weight is None:
            return Caps(self.C * shares, self.C * shares)
        size = _sizes(levels)
        others = np.maximum(len(levels) - size, 1)
        return Caps(self.C * shares, self.C * shares * size / others)


def _sizes(levels: Rows) -> Ints:
    """How many documents speak for each label."""
    return np.bincount(relevant(levels).columns, minlength=levels.width)

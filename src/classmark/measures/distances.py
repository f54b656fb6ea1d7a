"""How far apart are two decisions?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Protocol

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.problems import Mistake

NOMINAL = "nominal"
SETS = ("jaccard", "masi")


def jaccard_distance(a: AbstractSet[Any], b: AbstractSet[Any]) -> float:
    """Return 1 − ∣a ∩ b∣ / ∣a ∪ b∣; 0 for two empty sets [Jaccard12].

    >>> jaccard_distance({1, 2}, {2, 3, 4})
    0.75
    """
    return 1 - len(a & b) / len(a | b) if a or b else 0.0


def masi_distance(a: AbstractSet[Any], b: AbstractSet[Any]) -> float:
    """Return 1 − J · M [Passonneau06].

    J = ∣a ∩ b∣ / ∣a ∪ b∣; M is 1 for the same sets, 2/3 where one holds the other, 1/3
    where they share some and each has others, 0 where they share nothing.

    >>> round(masi_distance({1, 2}, {1, 2, 3, 4}), 3)
    0.667
    """
    if a == b:
        return 0.0
    kept = 2 / 3 if len(a & b) == min(len(a), len(b)) else 1 / 3
    return 1 - (1 - jaccard_distance(a, b)) * kept


class Distances(Protocol):
    """Distances between kinds of decisions, given by their numbers."""

    def between(self, first: Ints, second: Ints) -> Floats:
        """The distances of pairs, shape as given."""

    def all_pairs(self, counts: Floats) -> float:
        """Σ of n_c · n_k · distance over all kinds c and k, shape (kinds,)."""


class Nominal:
    """The same, or not."""

    def between(self, first: Ints, second: Ints) -> Floats:
        """1 where they differ."""
        return np.asarray(first != second, dtype=np.float64)

    def all_pairs(self, counts: Floats) -> float:
        """All pairs less those of the same kind."""
        return float(counts.sum() ** 2 - (counts**2).sum())


class Given:
    """As a function of two decisions says."""

    def __init__(
        self, kinds: Sequence[Any], distance: Callable[[Any, Any], float]
    ) -> None:
        self._table = np.array([[distance(a, b) for b in kinds] for a in kinds], float)

    def between(self, first: Ints, second: Ints) -> Floats:
        """Looked up."""
        return np.asarray(self._table[first, second])

    def all_pairs(self, counts: Floats) -> float:
        """Of the whole table."""
        return float(counts @ self._table @ counts)


class Sets:
    """Jaccard's or MASI's, of sets; only those that share something are compared."""

    def __init__(self, sets: Sequence[Any], distance: str) -> None:
        from scipy.sparse import csr_array

        for what in sets:
            if not isinstance(what, AbstractSet):
                raise Mistake(
                    f"decisions: {what!r} is no set: give sets of labels, or use the "
                    "distance nominal"
                )
        numbered: dict[Any, int] = {}
        columns = [numbered.setdefault(x, len(numbered)) for one in sets for x in one]
        self._masi = distance == "masi"
        self._sizes = np.array([len(one) for one in sets])
        starts = np.concatenate([[0], np.cumsum(self._sizes)])
        shape = (len(sets), max(1, len(numbered)))
        self._holds = csr_array((np.ones(len(columns)), columns, starts), shape=shape)

    def between(self, first: Ints, second: Ints) -> Floats:
        """1 less how alike they are."""
        both = self._holds[first].multiply(self._holds[second])
        shared = np.asarray(both.sum(axis=1), dtype=np.float64).ravel()
        return np.asarray(1 - self._alike(shared, first, second))

    def all_pairs(self, counts: Floats) -> float:
        """All pairs, less how alike those are that share something, or are empty."""
        shared = (self._holds @ self._holds.T).tocoo()
        first, second = (np.asarray(axis, dtype=np.int64) for axis in shared.coords)
        alike = self._alike(np.asarray(shared.data, np.float64), first, second)
        empty = counts[self._sizes == 0].sum()
        kept = (counts[first] * counts[second] * alike).sum() + empty**2
        return float(counts.sum() ** 2 - kept)

    def _alike(self, shared: Floats, first: Ints, second: Ints) -> Floats:
        a, b = self._sizes[first], self._sizes[second]
        union = a + b - shared
        alike = np.divide(shared, union, out=np.ones(len(union)), where=union > 0)
        if self._masi:
            held = np.where(shared == np.minimum(a, b), 2 / 3, 1 / 3)
            alike = alike * np.where(union == shared, 1.0, held)
        return np.asarray(alike)


def distances(
    kinds: Sequence[Any], distance: str | Callable[[Any, Any], float]
) -> Distances:
    """The distances between kinds of decisions, by name or by a function."""
    if callable(distance):
        return Given(kinds, distance)
    if distance == NOMINAL:
        return Nominal()
    if distance not in SETS:
        names = ", ".join((NOMINAL, *SETS))
        raise Mistake(f"distance is {distance!r}: use {names}, or a function")
    return Sets(kinds, distance)

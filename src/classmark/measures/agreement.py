"""Agreement of two or more people, corrected for chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.problems import Mistake

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


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
    monotonicity = 2 / 3 if len(a & b) == min(len(a), len(b)) else 1 / 3
    return 1 - (1 - jaccard_distance(a, b)) * monotonicity


class Distances(Protocol):
    """Distances between kinds of decisions, given by their numbers."""

    def between(self, first: Ints, second: Ints) -> Floats:
        """The distances of pairs, shape as given."""

    def all_pairs(self, counts: Floats) -> float:
        """Σ of n_c · n_k · distance over all kinds c and k, shape (kinds,)."""


class Nominal:
    """Distance 0 between equal decisions, 1 between different ones."""

    def between(self, first: Ints, second: Ints) -> Floats:
        """1 where they differ."""
        return np.asarray(first != second, dtype=np.float64)

    def all_pairs(self, counts: Floats) -> float:
        """All pairs less those of the same kind."""
        return float(counts.sum() ** 2 - (counts**2).sum())


class DistanceTable:
    """A table of the distances that a function of two decisions gives."""

    def __init__(
        self, kinds: Sequence[Any], distance: Callable[[Any, Any], float]
    ) -> None:
        self._table = np.array([[distance(a, b) for b in kinds] for a in kinds], float)

    def between(self, first: Ints, second: Ints) -> Floats:
        """Look the distances up in the table."""
        return np.asarray(self._table[first, second])

    def all_pairs(self, counts: Floats) -> float:
        """Σ of n_c · n_k · distance over the whole table."""
        return float(counts @ self._table @ counts)


class Sets:
    """Jaccard's or MASI's, of sets; only those that share something are compared."""

    def __init__(self, sets: Sequence[Any], distance: str) -> None:
        from scipy.sparse import csr_array

        for decision in sets:
            if not isinstance(decision, AbstractSet):
                raise Mistake(
                    f"decisions: {decision!r} is no set: give sets of labels, or use "
                    "the distance nominal"
                )
        numbered: dict[Any, int] = {}
        columns = [
            numbered.setdefault(x, len(numbered)) for labels in sets for x in labels
        ]
        self._masi = distance == "masi"
        self._sizes = np.array([len(labels) for labels in sets])
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
        similarity = (counts[first] * counts[second] * alike).sum() + empty**2
        return float(counts.sum() ** 2 - similarity)

    def _alike(self, shared: Floats, first: Ints, second: Ints) -> Floats:
        a, b = self._sizes[first], self._sizes[second]
        union = a + b - shared
        alike = np.divide(shared, union, out=np.ones(len(union)), where=union > 0)
        if self._masi:
            monotonicity = np.where(shared == np.minimum(a, b), 2 / 3, 1 / 3)
            alike = alike * np.where(union == shared, 1.0, monotonicity)
        return np.asarray(alike)


def distances(
    kinds: Sequence[Any], distance: str | Callable[[Any, Any], float]
) -> Distances:
    """The distances between kinds of decisions, by name or by a function."""
    if callable(distance):
        return DistanceTable(kinds, distance)
    if distance == NOMINAL:
        return Nominal()
    if distance not in SETS:
        names = ", ".join((NOMINAL, *SETS))
        raise Mistake(f"distance is {distance!r}: use {names}, or a function")
    return Sets(kinds, distance)


Decisions = Sequence[Hashable | None]


def cohen_kappa(first: Decisions, second: Decisions) -> float:
    """Return the agreement of two people beyond chance: (p − c) / (1 − c) [Cohen60].

    p is the share of items on which they agree, c the share expected if each kept his
    habits and drew lots. NaN when both always say the same one thing (c = 1).

    >>> round(cohen_kappa(["a", "a", "b", "b"], ["a", "b", "b", "b"]), 3)
    0.5
    """
    codes, _ = _coded([first, second], name="first and second")
    if (codes < 0).any():
        item = int(np.argmax((codes < 0).any(axis=0)))
        raise Mistake(
            f"item {item} has no decision: drop it, or use krippendorff_alpha, which "
            "allows for missing ones"
        )
    kinds = int(codes.max()) + 1
    habits = [np.bincount(codes[who], minlength=kinds) for who in (0, 1)]
    n = codes.shape[1]
    chance = float(habits[0] @ habits[1]) / n**2
    agreed = float((codes[0] == codes[1]).mean())
    return math.nan if chance == 1 else (agreed - chance) / (1 - chance)


def kappa_of(table: ArrayLike) -> float:
    """Return Cohen's κ of a table of counts [Cohen60].

    table : shape (k, k), how often the first person said the row's category and the
    second the column's.

    >>> round(kappa_of([[20, 5], [10, 15]]), 3)
    0.4
    """
    counts = np.asarray(table, dtype=np.float64)
    square = counts.ndim == 2 and counts.shape[0] == counts.shape[1]
    if not square or not (counts >= 0).all() or not counts.sum() > 0:
        raise Mistake(
            f"table has the shape {counts.shape}: give a square of counts, not all 0"
        )
    shares = counts / counts.sum()
    chance = float(shares.sum(axis=1) @ shares.sum(axis=0))
    if chance >= 1:
        return math.nan
    return (float(np.trace(shares)) - chance) / (1 - chance)


def krippendorff_alpha(
    decisions: Sequence[Decisions],
    distance: str | Callable[[Any, Any], float] = NOMINAL,
) -> float:
    """Return the agreement of any number of people, with gaps [Krippendorff04].

    α = 1 − D_observed / D_expected, the mean distance of two decisions on one item and
    of any two; items with fewer than two decisions say nothing. NaN when everybody
    always says the same one thing.

    decisions : one sequence a person, of one length, None where there is no decision.
    distance : "nominal" (0 or 1); for decisions that are sets "jaccard" or "masi"
    [Passonneau06]; or a function of two decisions, 0 for the same.

    >>> round(krippendorff_alpha([["a", "b", None, "b"], ["a", "b", "b", "a"]]), 3)
    0.444
    >>> ab, b = frozenset("ab"), frozenset("b")
    >>> round(krippendorff_alpha([[ab, b, b], [ab, ab, b]], "masi"), 3)
    0.444
    """
    codes, kinds = _coded(decisions, name="decisions")
    codes = codes[:, (codes >= 0).sum(axis=0) >= 2]
    if not codes.size:
        raise Mistake("decisions: no item has two of them: nothing can be compared")
    apart = distances(kinds, distance)
    counts = np.bincount(codes[codes >= 0], minlength=len(kinds)).astype(np.float64)
    total = float(counts.sum())
    expected = apart.all_pairs(counts) / (total * (total - 1))
    return math.nan if expected == 0 else 1 - _observed(codes, apart) / expected


def _observed(codes: Ints, apart: Distances) -> float:
    """The mean distance of two decisions on one item, an item as often as decided."""
    many = (codes >= 0).sum(axis=0)
    total = 0.0
    for person in range(len(codes)):
        for other in range(person):
            both = (codes[person] >= 0) & (codes[other] >= 0)
            far = apart.between(codes[person, both], codes[other, both])
            total += float((2 * far / (many[both] - 1)).sum())
    return total / float(many.sum())


def _coded(decisions: Sequence[Decisions], *, name: str) -> tuple[Ints, list[Any]]:
    """Number the categories, −1 where there is no decision; and what is numbered."""
    lengths = {len(person) for person in decisions}
    if len(lengths) != 1 or lengths == {0}:
        raise Mistake(
            f"{name}: the numbers of items are {sorted(lengths)}: give the same items, "
            "at least one, for everybody, None where there is no decision"
        )
    numbered: dict[Hashable | None, int] = {None: -1}
    codes = np.array(
        [
            [
                -1
                if decision != decision  # noqa: PLR0124  only NaN differs from itself
                else numbered.setdefault(decision, len(numbered) - 1)
                for decision in person
            ]
            for person in decisions
        ]
    )
    if (codes < 0).all():
        raise Mistake(f"{name}: there is no decision at all")
    return codes, [kind for kind, code in numbered.items() if code >= 0]

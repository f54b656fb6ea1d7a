"""Agreement of two or more people, corrected for chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Ints
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
    monotonicity = 2 / 3 if len(a & b) == min(len(a), len(b)) else 1 / 3
    return 1 - (1 - jaccard_distance(a, b)) * monotonicity


def _similarities(
    kinds: Sequence[Any], distance: str | Callable[[Any, Any], float]
) -> Any:
    """1 − distance of all kinds of decisions, shape (kinds, kinds).

    Dense for a function; else sparse: only sets that share something are compared.
    """
    from scipy.sparse import csr_matrix, eye

    if callable(distance):
        return 1 - np.array([[distance(a, b) for b in kinds] for a in kinds], float)
    if distance == NOMINAL:
        return eye(len(kinds), format="csr")
    if distance not in SETS:
        names = ", ".join((NOMINAL, *SETS))
        raise Mistake(f"distance is {distance!r}: use {names}, or a function")
    for decision in kinds:
        if not isinstance(decision, AbstractSet):
            raise Mistake(
                f"decisions: {decision!r} is no set: give sets of labels, or use "
                "the distance nominal"
            )
    number: dict[Any, int] = {}
    columns = [number.setdefault(x, len(number)) for labels in kinds for x in labels]
    sizes = np.array([len(labels) for labels in kinds])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    shape = (len(kinds), max(1, len(number)))
    holds = csr_matrix((np.ones(len(columns)), columns, starts), shape=shape)
    shared = (holds @ holds.T).tocoo()
    first, second = shared.row, shared.col
    smaller = np.minimum(sizes[first], sizes[second])
    union = sizes[first] + sizes[second] - shared.data
    alike = shared.data / union
    if distance == "masi":
        monotonicity = np.where(shared.data == smaller, 2 / 3, 1 / 3)
        alike *= np.where(union == shared.data, 1.0, monotonicity)
    empty = np.flatnonzero(sizes == 0)  # shares nothing with itself, and is alike
    cells: Any = (np.append(first, empty), np.append(second, empty))
    values = np.append(alike, np.ones(len(empty)))
    return csr_matrix((values, cells), shape=(len(kinds), len(kinds)))


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
    alike = _similarities(kinds, distance)
    counts = np.bincount(codes[codes >= 0], minlength=len(kinds)).astype(np.float64)
    total = float(counts.sum())
    expected = (total**2 - float(counts @ (alike @ counts))) / (total * (total - 1))
    if expected == 0:
        return math.nan
    n_decisions = (codes >= 0).sum(axis=0)
    observed = 0.0
    for first, second in combinations(codes, 2):
        both = (first >= 0) & (second >= 0)
        if both.any():
            far = 1 - np.asarray(alike[first[both], second[both]]).ravel()
            observed += float((2 * far / (n_decisions[both] - 1)).sum())
    return 1 - observed / total / expected


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

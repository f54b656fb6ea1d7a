"""Do two or more people decide alike, more than by chance?"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from classmark.problems import Mistake

if TYPE_CHECKING:
    from numpy.typing import NDArray

Decisions = Sequence[Hashable | None]


def cohen_kappa(first: Decisions, second: Decisions) -> float:
    """Return the agreement of two people beyond chance: (p − c) / (1 − c) [Cohen60].

    p is the share of items on which they agree, c the share expected if each kept his
    habits and drew lots. NaN when both always say the same one thing (c = 1).

    >>> round(cohen_kappa(["a", "a", "b", "b"], ["a", "b", "b", "b"]), 3)
    0.5
    """
    codes = _coded([first, second], name="first and second")
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


def krippendorff_alpha(decisions: Sequence[Decisions]) -> float:
    """Return the agreement of any number of people, with gaps [Krippendorff04].

    α = 1 − D_observed / D_expected, nominal: a pair of decisions on one item disagrees
    or not; items with fewer than two decisions say nothing. NaN when everybody always
    says the same one thing.

    decisions : one sequence a person, of one length, None where there is no decision.

    >>> round(krippendorff_alpha([["a", "b", None, "b"], ["a", "b", "b", "a"]]), 3)
    0.444
    """
    codes = _coded(decisions, name="decisions")
    kinds = int(codes.max()) + 1
    counts = np.stack([(codes == kind).sum(axis=0) for kind in range(kinds)])
    counts = counts[:, counts.sum(axis=0) >= 2]
    if not counts.size:
        raise Mistake("decisions: no item has two of them: nothing can be compared")
    each = counts.sum(axis=0)
    total = int(each.sum())
    observed = ((each**2 - (counts**2).sum(axis=0)) / (each - 1)).sum()
    expected = (total**2 - (counts.sum(axis=1) ** 2).sum()) / (total - 1)
    return math.nan if expected == 0 else float(1 - observed / expected)


def _coded(decisions: Sequence[Decisions], *, name: str) -> NDArray[np.int64]:
    """Number the categories; −1 where there is no decision."""
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
                -1 if what != what else numbered.setdefault(what, len(numbered) - 1)  # noqa: PLR0124  only NaN differs from itself
                for what in person
            ]
            for person in decisions
        ]
    )
    if (codes < 0).all():
        raise Mistake(f"{name}: there is no decision at all")
    return codes

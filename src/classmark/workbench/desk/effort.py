"""How good were the suggestions, by the ranks that decisions were logged with?

Every document is ranked by what was learned from others before it is decided and
learned itself, so its first decision measures the ranker honestly (test, then learn).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from classmark.arrays import Floats

FIVE = 5


class Given(NamedTuple):
    """The labels that somebody gave a document at once.

    ranks : where the ranker had put them, None where it did not rank them;  first :
    whether the document had no label before;  popular : how far down the last of them
    is in a list of the categories used most so far, of first ones.
    """

    number: int
    at: str
    who: str
    document: str
    model: str
    ranks: tuple[int | None, ...]
    first: bool
    popular: float

    @property
    def is_measured(self) -> bool:
        """Whether a ranker had suggested something, not having learned it."""
        return self.first and any(rank is not None for rank in self.ranks)


@dataclass(frozen=True, slots=True)
class Step:
    """Means over some decisions, one after the other; upto : how many were before.

    effort : the rank of the last right label, how many categories were looked at;
    first, five : precision@1 and @5;  found : the share of the right labels among the
    first five;  one_error : how often the first suggestion is wrong;
    average_precision : the mean over right labels of the precision at their rank.
    """

    upto: int
    documents: int
    effort: float
    first: float
    five: float
    found: float
    one_error: float
    average_precision: float


class Used:
    """How often categories were used so far, and their places in that order."""

    def __init__(self, categories: int) -> None:
        self._counts: dict[int, int] = {}
        self._at_least = [categories]  # count → how many categories have it, or more

    def place(self, category: int) -> float:
        """The place of a category, the mean one of those used as often."""
        count = self._counts.get(category, 0)
        above = self._above(count + 1)
        return above + (max(self._above(count) - above, 1) + 1) / 2

    def add(self, categories: Iterable[int]) -> None:
        """Count some as used once more."""
        for category in categories:
            count = self._counts[category] = self._counts.get(category, 0) + 1
            if count == len(self._at_least):
                self._at_least.append(0)
            self._at_least[count] += 1

    def _above(self, count: int) -> int:
        return self._at_least[count] if count < len(self._at_least) else 0


def quality(ranks: Iterable[int | None]) -> tuple[float, ...]:
    """The measures of ``Step`` for the right labels of one document, by their ranks.

    A label without a rank is never found; the effort is NaN then.

    >>> [round(value, 2) for value in quality([1, 4])]
    [4, 1.0, 0.4, 1.0, 0.0, 0.75]
    """
    all_of_them = list(ranks)
    known = sorted(rank for rank in all_of_them if rank is not None)
    among = sum(rank <= FIVE for rank in known)
    right = float(bool(known) and known[0] == 1)
    precise = sum(place / rank for place, rank in enumerate(known, start=1))
    return (
        known[-1] if len(known) == len(all_of_them) else float("nan"),
        right,
        among / FIVE,
        among / len(all_of_them),
        1 - right,
        precise / len(all_of_them),
    )


def steps(values: Floats, most: int = 24, least: int = 10) -> list[Step]:
    """The means of stretches of equal length.

    values : shape (decisions, 6), as ``quality`` gives them, in order.
    """
    many = max(1, min(most, len(values) // least))
    edges = np.linspace(0, len(values), many + 1).round().astype(int)
    return [
        step(values[low:high], high)
        for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        if high > low
    ]


def step(values: Floats, upto: int) -> Step:
    """The means of one stretch; efforts that are unknown are left out of theirs."""
    effort = values[:, 0][~np.isnan(values[:, 0])]
    means = values[:, 1:].mean(axis=0).tolist()
    looked_at = float(effort.mean()) if len(effort) else float("nan")
    return Step(upto, len(values), looked_at, *means)

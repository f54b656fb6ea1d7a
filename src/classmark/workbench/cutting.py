"""What is lost when a query is cut to its heaviest terms?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from classmark.measures.retrieval import retrieval
from classmark.ranking import top

if TYPE_CHECKING:
    Scores = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Loss:
    """How a ranking changed: terms kept of how many, and the share of the top k kept.

    before, after : average precision on the judged documents; None without any.
    """

    kept: int
    of: int
    k: int
    share: float
    before: float | None = None
    after: float | None = None

    def __str__(self) -> str:
        said = (
            f"cut to {self.kept:,} of {self.of:,} terms: {self.share:.0%} of the whole "
            f"query's first {self.k} are kept"
        )
        if self.before is None or self.after is None:
            return said
        return (
            f"{said}; average precision on the judged documents "
            f"{self.before:.3f} before, {self.after:.3f} after"
        )


def share_kept(whole: Scores, cut: Scores, k: int) -> float:
    """The share of the best k by one that are among the best k by the other.

    >>> share_kept(np.array([3.0, 2.0, 1.0]), np.array([3.0, 1.0, 2.0]), 2)
    0.5
    """
    both = np.intersect1d(top(whole, k), top(cut, k))
    return len(both) / max(1, min(k, len(whole)))


def precision_on(scores: Scores, judged: Mapping[int, int]) -> float | None:
    """Average precision among judged documents [ManningRaghavanSchutze08].

    None where not both kinds are judged.

    >>> precision_on(np.array([0.9, 0.5, 0.1]), {0: 1, 1: 0, 2: 1})
    0.8333333333333333
    """
    if len(set(judged.values())) < 2:
        return None
    run = {str(row): float(scores[row]) for row in judged}
    grades = {str(row): float(grade) for row, grade in judged.items()}
    return retrieval({"q": run}, {"q": grades}, ["map"])["map"]

"""ListedPairs: which row should be above which, said one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.solvers.pairs.graded import Priced, Sample


class ListedPairs(NamedTuple):
    """winners, losers : row numbers, (pairs,);  counts : of each pair, (pairs,)."""

    winners: Ints
    losers: Ints
    counts: Floats

    def sample(self, size: int, random: np.random.Generator) -> Sample:
        """So many pairs at random, each as probable as its count, and Σ count."""
        total = float(self.counts.sum())
        which = random.choice(len(self.counts), size, p=self.counts / total)
        return Sample(self.winners[which], self.losers[which], total)

    def price(self, scores: Floats, width: float) -> Priced:
        """What these scores cost, hinges being smooth over ``width``."""
        z = 1.0 - scores[self.winners] + scores[self.losers]
        slopes = np.clip(z / width, 0.0, 1.0)
        held = self.counts * slopes
        return Priced(
            float(self.counts @ np.maximum(z, 0.0)),
            float(held @ (z - 0.5 * width * slopes)),
            float(held.sum()),
            self._spread(held, len(scores)),
        )

    def bend(self, scores: Floats, width: float) -> Callable[[Floats], Floats]:
        """The second derivative by the scores, as a product."""
        z = 1.0 - scores[self.winners] + scores[self.losers]
        bent = np.flatnonzero((z > 0.0) & (z <= width))
        few = ListedPairs(self.winners[bent], self.losers[bent], self.counts[bent])
        return lambda x: few._spread(
            few.counts / width * (x[few.winners] - x[few.losers]), len(scores)
        )

    def _spread(self, values: Floats, n: int) -> Floats:
        """Σ over pairs of the value at the winner's row, less at the loser's."""
        won = np.bincount(self.winners, values, minlength=n)
        lost = np.bincount(self.losers, values, minlength=n)
        return np.asarray(won - lost, np.float64)

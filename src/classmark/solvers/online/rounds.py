"""Rounds: the losses of every round of a stream, in a table that grows."""

from __future__ import annotations

import numpy as np

from classmark.arrays import Floats


class Rounds:
    """Losses 1 to 3 of each round so far, shape (rounds, 3)."""

    def __init__(self) -> None:
        self._table = np.empty((16, 3))
        self._seen = 0

    def __len__(self) -> int:
        return self._seen

    @property
    def losses(self) -> Floats:
        """What was lost in each round, before learning from it."""
        return self._table[: self._seen]

    def extend(self, n: int) -> Floats:
        """Begin ``n`` new rounds; return their place in the table, to be written."""
        first, self._seen = self._seen, self._seen + n
        if self._seen > len(self._table):
            wide = np.empty((max(self._seen, 2 * len(self._table)), 3))
            wide[:first] = self._table[:first]
            self._table = wide
        return self._table[first : self._seen]

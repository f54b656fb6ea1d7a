"""Words that were asked for are remembered with their numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from classmark.index.reading import Field

MEMO = 1 << 20  # words remembered at most


class Numbers(dict[str, int]):
    """Words remembered with their numbers; −1: no item alive has the word."""

    def __init__(self, field: Field, df: NDArray[np.uint32]) -> None:
        super().__init__()
        self._field, self._df = field, df

    def __missing__(self, word: str) -> int:
        if len(self) >= MEMO:
            self.clear()
        found = self._field.number(word)
        number = -1 if found is None or not self._df[found] else int(found)
        self[word] = number
        return number

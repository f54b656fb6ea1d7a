"""Growing: an array that grows at its end."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Array


class Growing:
    """Rows appended one after the other, room being doubled when it is used up.

    >>> grown = Growing(np.arange(2))
    >>> grown.append([5, 7])
    >>> grown.array.tolist()
    [0, 1, 5, 7]
    """

    def __init__(self, start: Array) -> None:
        self._room = np.array(start)
        self._used = len(start)

    def __len__(self) -> int:
        return self._used

    @property
    def array(self) -> Array:
        """What has been appended, a view that holds until the next ``append``."""
        return self._room[: self._used]

    @property
    def room(self) -> Array:
        """The same with the spare places behind it, which are zero."""
        return self._room

    def append(self, values: ArrayLike) -> None:
        """Add rows at the end."""
        added = np.asarray(values)
        self.extend(len(added))
        self._room[self._used - len(added) : self._used] = added

    def extend(self, count: int) -> None:
        """Add so many rows of zeros."""
        end = self._used + count
        if end > len(self._room):
            shape = (max(end, 2 * len(self._room), 16), *self._room.shape[1:])
            larger = np.zeros(shape, self._room.dtype)
            larger[: self._used] = self.array
            self._room = larger
        self._used = end

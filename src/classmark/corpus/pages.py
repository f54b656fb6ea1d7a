"""Large arrays that go back to the system as soon as they are let go.

The allocator keeps what is freed, in pieces that the next, larger request cannot use; a
mapping of its own for each array keeps the peak at what is really held.
"""

from __future__ import annotations

import mmap

import numpy as np
from numpy.typing import DTypeLike

from classmark.arrays import Array

_LARGE = 1 << 21


def zeros(shape: int | tuple[int, ...], kind: DTypeLike) -> Array:
    """Return an array of zeros in its own pages, which cost nothing until touched.

    >>> zeros((2, 2), np.uint8).tolist()
    [[0, 0], [0, 0]]
    """
    count = int(np.prod(shape))
    size = count * np.dtype(kind).itemsize
    held = _mapped(max(size, 1))
    if size >= _LARGE and hasattr(mmap, "MADV_HUGEPAGE"):
        held.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(held, kind, count).reshape(shape)


def _mapped(size: int) -> mmap.mmap:
    """Map fresh memory; private, where the system makes a difference."""
    if hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return mmap.mmap(-1, size)

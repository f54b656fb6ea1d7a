"""Duals on the way: two bits for each that is 0 or at its bound, else its number."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Floats

Bits = NDArray[np.uint8]


class Packed(NamedTuple):
    """Duals that share a box: which are at it, which are between, and where those are.

    size : how many duals there are;  full, free : bits;  values : of the free ones.
    """

    size: int
    full: Bits
    free: Bits
    values: Floats


def packed(duals: Floats, box: float) -> Packed:
    """Pack duals, exactly.

    >>> packed(np.array([0.0, 2.0, 0.5]), 2.0).values.tolist()
    [0.5]
    """
    full = duals == box
    free = (duals != 0.0) & ~full
    return Packed(len(duals), np.packbits(full), np.packbits(free), duals[free])


def unpacked(sent: Packed, box: float) -> Floats:
    """The duals that were packed.

    >>> unpacked(packed(np.array([0.0, 2.0, 0.5]), 2.0), 2.0).tolist()
    [0.0, 2.0, 0.5]
    """
    full = np.unpackbits(sent.full, count=sent.size).astype(bool)
    free = np.unpackbits(sent.free, count=sent.size).astype(bool)
    duals = np.where(full, box, 0.0)
    duals[free] = sent.values
    return duals

"""Store: weights by feature, each with its own list of labels, that can grow."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import Array
from classmark.problems import Mistake
from classmark.sparse import Rows

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

LOG = logging.getLogger(__name__)
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


class Store:
    """Entries (label, value) of each feature, with room for more behind them.

    A row without room moves to the end of the entries and takes twice its size; when
    the end is reached, a new store is made (``Store(matrix, ...)``), without gaps.
    """

    def __init__(self, matrix: csr_matrix, kind: Any, spare: int) -> None:
        from classmark.solvers.sparse.kernels import lay_out

        lengths = np.diff(matrix.indptr).astype(np.int64)
        self.length, self.room = lengths, lengths + lengths // 2
        ends = np.cumsum(self.room)
        self.first = ends - self.room
        total = int(self.room.sum())
        self.label = np.zeros(2 * total + spare, np.uint32)
        self.value = np.zeros(2 * total + spare, kind)
        self.used = np.array([total], np.int64)
        lay_out(matrix.indptr, matrix.indices, matrix.data, self.arrays)

    @property
    def entries(self) -> int:
        """How many weights are kept."""
        return int(self.length.sum())

    @property
    def arrays(self) -> tuple[Array, ...]:
        """What the kernels take."""
        return self.first, self.length, self.room, self.label, self.value, self.used


def bytes_in(size: str | float) -> float:
    """A size in bytes: a number, or a number with kB, MB, GB or TB.

    >>> bytes_in("512MB")
    512000000.0
    """
    found = re.fullmatch(r"([\d.]+)\s*([kmgt]?)b?", str(size).strip().lower())
    try:
        number = float(found[1]) if found else 0.0
    except ValueError:
        number = 0.0
    if found is None or number <= 0.0:
        raise Mistake(f"memory is {size!r}: give a size such as '512MB' or '2GB'")
    return number * UNITS[found[2]]


def fits(rows: Rows, n_labels: int, memory: str | float, *, sparse: bool) -> bool:
    """Whether dense weights take no more than ``memory``; tell where they would.

    sparse : whether sparse weights can do the work; else that is a mistake.
    """
    size = rows.width * n_labels * rows.values.itemsize
    if size <= bytes_in(memory):
        return True
    told = (
        f"{rows.width} features × {n_labels} labels need {size / 1e9:.3g} GB of "
        f"weights, more than memory={memory!r}"
    )
    if not sparse:
        raise Mistake(f"{told}: use mapping='dom' without kernel, or allow more")
    LOG.info("%s: they are kept sparse", told)
    return False

"""Documents out of a seed: rows as long and as skewed as those of texts, to measure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Floats, Rows, stack
from classmark.validation import generator

BLOCK = 1 << 15  # rows made in one go
SKEW = 3.0  # column = width · uᔆᵏᵉʷ, u uniform: few columns have most of the values
TOPIC = 200  # columns that a topic prefers
PREFERRED = 0.3  # of the values of a relevant row are of the topic


class SyntheticRows(NamedTuple):
    """Rows that are made, not read: what to make them of.

    seed : of these rows;  size : how many;  width : columns;  length : values a row,
    about;  relevant : how many rows, the first, are of the topic, which is the same for
    all seeds.
    """

    seed: int
    size: int
    width: int
    length: int = 50
    relevant: int = 0

    def size_bytes(self) -> int:
        """What the rows take in memory."""
        return self.size * (8 + 8 * self.length)

    def open(self) -> Rows:
        """Make them."""
        return synthetic_rows(self)


def synthetic_rows(source: SyntheticRows) -> Rows:
    """Unit rows, float32, of a power law; the first ones share a topic.

    >>> synthetic_rows(SyntheticRows(seed=1, size=3, width=100, length=5)).shape
    (3, 100)
    """
    random = generator(source.seed)
    topic = _columns(generator(0), (TOPIC,), source.width)
    blocks = []
    for first in range(0, source.size, BLOCK):
        shape = min(BLOCK, source.size - first), source.length
        columns = _columns(random, shape, source.width)
        hits = random.random(shape) < PREFERRED
        hits[max(0, source.relevant - first) :] = False
        columns[hits] = random.choice(topic, int(hits.sum()))
        counts = random.geometric(0.7, shape)
        blocks.append(_unit(columns, 1.0 + np.log(counts), source.width))
    none = np.zeros((0, source.length), np.uint32)
    return stack(blocks or [_unit(none, np.zeros(none.shape), source.width)])


def _columns(
    random: np.random.Generator, shape: tuple[int, ...], width: int
) -> NDArray[np.uint32]:
    return (width * random.random(shape) ** SKEW).astype(np.uint32)


def _unit(columns: NDArray[np.uint32], counts: Floats, width: int) -> Rows:
    """Each column once a row, rarer ones weighing more, rows of length 1."""
    columns = np.sort(columns, axis=1)
    new = np.ones(columns.shape, bool)
    new[:, 1:] = columns[:, 1:] != columns[:, :-1]
    rarity = 1.0 + np.log1p(columns)
    values = np.where(new, counts * rarity, 0.0)
    norms = np.sqrt(np.square(values).sum(axis=1, keepdims=True))
    values /= np.where(norms > 0.0, norms, 1.0)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(new.sum(axis=1))])
    return Rows(starts, columns[new], values[new].astype(np.float32), width)

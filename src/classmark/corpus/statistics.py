"""Statistics: how many documents, how long, and which terms how often?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.sparse import Rows

_BLOCK = 1 << 18


@dataclass(frozen=True, slots=True)
class Statistics:
    """What weightings need to know of a collection.

    documents : N, how many;  tokens : the sum of their lengths;  postings : the sum of
    their numbers of different terms;  document_frequency, collection_frequency : int64,
    in how many documents and how often each term occurs, shape (terms,).

    Blocks of one collection add up (a growing vocabulary may make the later one wider):

    >>> from classmark.sparse import rows_from
    >>> one, two = rows_from([[2.0, 1.0]]), rows_from([[0.0, 1.0], [3.0, 0.0]])
    >>> both = statistics(one) + statistics(two)
    >>> both.documents, both.document_frequency.tolist(), both.average_length
    (3, [2, 2], 2.3333333333333335)
    """

    documents: int
    tokens: int
    postings: int
    document_frequency: Ints
    collection_frequency: Ints

    @property
    def average_length(self) -> float:
        """Tokens per document."""
        return self.tokens / self.documents if self.documents else 0.0

    @property
    def average_unique(self) -> float:
        """Different terms per document."""
        return self.postings / self.documents if self.documents else 0.0

    def __add__(self, other: Statistics) -> Statistics:
        width = max(len(self.document_frequency), len(other.document_frequency))
        return Statistics(
            self.documents + other.documents,
            self.tokens + other.tokens,
            self.postings + other.postings,
            _padded(self.document_frequency, width)
            + _padded(other.document_frequency, width),
            _padded(self.collection_frequency, width)
            + _padded(other.collection_frequency, width),
        )


def statistics(counts: Rows) -> Statistics:
    """Compute the statistics of a block of counts."""
    frequency = np.zeros(counts.width, np.int64)
    total = np.zeros(counts.width)
    step = max(_BLOCK, counts.width)
    for low in range(0, counts.nnz, step):
        columns = counts.columns[low : low + step]
        frequency += np.bincount(columns, minlength=counts.width)
        total += np.bincount(
            columns, counts.values[low : low + step], minlength=counts.width
        )
    return Statistics(
        len(counts), int(total.sum()), counts.nnz, frequency, total.astype(np.int64)
    )


def lengths(counts: Rows) -> Floats:
    """Return the number of tokens of each document, shape (n,)."""
    owner = np.repeat(np.arange(len(counts)), np.diff(counts.starts))
    sums = np.bincount(owner, counts.values, minlength=len(counts))
    return sums.astype(np.float64, copy=False)


def unique_counts(counts: Rows) -> Ints:
    """Return the number of different terms of each document, shape (n,)."""
    return np.diff(counts.starts)


def _padded(values: Ints, width: int) -> Ints:
    return np.pad(values, (0, width - len(values)))

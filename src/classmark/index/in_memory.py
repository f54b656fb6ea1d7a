"""Fields and inverted files in memory: made of counts, or of a ranker's weights."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from classmark.arrays import Bools, Floats, Ints
from classmark.index.ids import Words, joined_words
from classmark.index.postings import Lists
from classmark.problems import Mistake
from classmark.ranking import Ranking
from classmark.sparse import Rows, rows_from, take, transpose


@dataclass(frozen=True)
class CountedField:
    """A field over counts in memory, transposed; see ``field_of``.

    world : items alive, and their tokens, where these are some items of many more, of
    which df and cf tell.
    """

    terms: Sequence[str]
    lengths: NDArray[np.uint32]
    alive: Bools | None
    df: NDArray[np.uint32]
    cf: Ints
    whole: Lists
    world: tuple[int, int] | None = None

    @property
    def n_items(self) -> int:
        """Items, deleted ones included."""
        return len(self.lengths)

    @property
    def n_alive(self) -> int:
        """Items that are not deleted."""
        if self.world is not None:
            return self.world[0]
        return self.n_items if self.alive is None else int(self.alive.sum())

    @property
    def n_terms(self) -> int:
        """Different terms."""
        return len(self.terms)

    @cached_property
    def total_length(self) -> int:
        """Tokens in all items that are alive."""
        if self.world is not None:
            return self.world[1]
        lengths = self.lengths if self.alive is None else self.lengths[self.alive]
        return int(lengths.sum(dtype=np.int64))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {term: number for number, term in enumerate(self.terms)}

    @cached_property
    def words(self) -> Words:
        """All terms, by number."""
        words = Words(joined_words(self.terms))
        if len(words) != len(self.terms):
            raise Mistake("terms: one has a newline: give terms without")
        return words

    @property
    def room(self) -> int:
        """Bytes that what is made of the lists may take: no limit is known."""
        return sys.maxsize

    def number(self, term: str) -> int | None:
        """Return the number of a term."""
        return self._numbers.get(term)

    def term(self, number: int) -> str:
        """Return the term of a number."""
        return self.terms[number]

    def lists(self, numbers: Ints) -> Lists:
        """Return views of the lists of some terms."""
        whole = self.whole
        return Lists(
            whole.items, whole.counts, whole.begins[numbers], whole.ends[numbers]
        )


def field_of(
    counts: Rows, terms: Sequence[str], *, alive: ArrayLike | None = None
) -> CountedField:
    """Make a field of counts, one row per item, one column per term.

    alive : which items are not deleted; the statistics are those of these alone.

    >>> field = field_of(rows_from([[2, 0], [1, 1]]), ["ant", "bee"])
    >>> field.df.tolist(), field.cf.tolist(), field.lengths.tolist()
    ([2, 1], [3, 1], [2, 2])
    """
    if len(terms) != counts.width:
        raise Mistake(
            f"terms has {len(terms)} names for {counts.width} columns: give one each"
        )
    living = None if alive is None else np.asarray(alive, bool)
    alive_counts = counts if living is None else take(counts, living)
    lists = transpose(counts)
    owner = np.repeat(np.arange(len(counts)), np.diff(counts.starts))
    lengths = np.bincount(owner, counts.values, minlength=len(counts))
    cf = np.bincount(alive_counts.columns, alive_counts.values, minlength=counts.width)
    return CountedField(
        terms,
        lengths.astype(np.uint32),
        living,
        np.bincount(alive_counts.columns, minlength=counts.width).astype(np.uint32),
        cf.astype(np.int64),
        Lists(
            lists.columns,
            lists.values.astype(np.uint32),
            lists.starts[:-1],
            lists.starts[1:],
        ),
    )


class InvertedFile:
    """A trained ranker as lists: feature → (category, weight), zeros left out.

    The score of category r for a document x is Σ_j x_j w_{j,r}, by the accumulators
    that serve queries: only the lists of the document's features are read.

    >>> lists = InvertedFile.of_weights([[1.0, 0.0], [0.0, 2.0]])
    >>> lists.rank([[1.0, 1.0]], 1).items.tolist()
    [1]
    """

    def __init__(self, weights: Rows, thresholds: Floats | None) -> None:
        self.weights = weights
        self.thresholds = np.empty(0) if thresholds is None else -thresholds
        self._values = weights.values.astype(np.float64)

    @classmethod
    def of_weights(cls, W: Any, thresholds: ArrayLike | None = None) -> InvertedFile:
        """Take a ranker's ``weights_``, (features, categories), and thresholds."""
        rows = rows_from(W, name="W")
        if thresholds is None:
            return cls(rows, None)
        values = np.asarray(thresholds, np.float64)
        if values.shape != (rows.width,):
            raise Mistake(
                f"thresholds has shape {values.shape}: give one for each of the "
                f"{rows.width} categories"
            )
        return cls(rows, values)

    def rank(self, X: Any, k: int) -> Ranking:
        """Return the best ``k`` categories of each row of X, ties by number."""
        from classmark.index.kernels_models import Final, Heap
        from classmark.index.kernels_vectors import find_vector

        rows = rows_from(X)
        if rows.width != len(self.weights):
            raise Mistake(f"X has {rows.width} features: give {len(self.weights)}")
        if k < 0:
            raise Mistake(f"k is {k}: give 0 or more")
        k = min(k, self.weights.width)
        acc = np.full(self.weights.width, -0.0)
        items, scores = np.empty((len(rows), k), np.int64), np.empty((len(rows), k))
        begins = self.weights.starts
        lists = (self.weights.columns, self._values, begins[:-1], begins[1:])
        final = Final(np.empty(0, bool), self.thresholds, 1.0, 0.0)
        for i in range(len(rows)):
            columns, values = rows.row(i)
            find_vector(
                values.astype(np.float64),
                columns.astype(np.int64),
                lists,
                np.empty(0),
                final,
                True,
                acc,
                Heap(items[i], scores[i]),
            )
        queries = np.repeat(np.arange(len(rows)), k)
        return Ranking(queries, items.ravel(), scores.ravel())

"""Power laws of collections: how the vocabulary grows, how often its terms occur."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats, Ints, Rows, rows_from
from classmark.corpus.counting import statistics
from classmark.problems import Mistake

RANKS = 3  # points that a fit needs
POINTS = 100  # of a growing vocabulary that are fitted


class PowerLaw(NamedTuple):
    """``head · rank^−exponent``; fit : r² of the line through the logarithms."""

    head: float
    exponent: float
    fit: float
    ranks: int

    def at(self, ranks: ArrayLike) -> Floats:
        """What the law foretells at these ranks, counted from 1."""
        return np.asarray(
            self.head * np.asarray(ranks, np.float64) ** -self.exponent, np.float64
        )


def power_law(values: ArrayLike) -> PowerLaw | None:
    """Fit a power law to values by rank; None for fewer than three above 0.

    Least squares on (ln rank, ln value), the largest value at rank 1 [BabbarMetzig14].

    >>> law = power_law([100.0, 25.0, 100 / 9, 6.25])
    >>> round(law.head, 6), round(law.exponent, 6), round(law.fit, 6)
    (100.0, 2.0, 1.0)
    """
    sizes = np.sort(np.asarray(values, np.float64))[::-1]
    sizes = sizes[sizes > 0]
    if len(sizes) < RANKS:
        return None
    slope, head, fit = _line(np.arange(1, len(sizes) + 1), sizes)
    return PowerLaw(head, -slope, fit, len(sizes))


def _line(x: ArrayLike, y: ArrayLike) -> tuple[float, float, float]:
    """Fit y ≈ factor · x^slope on logarithms; return slope, factor and r²."""
    across, up = np.log(x), np.log(y)
    slope, shift = np.polyfit(across, up, 1)
    spread = float(((up - up.mean()) ** 2).sum())
    left = float(((up - shift - slope * across) ** 2).sum())
    fit = 1.0 - left / spread if spread > 1e-12 else 1.0
    return float(slope), float(np.exp(shift)), fit


class HeapsLaw(NamedTuple):
    """``K · tokens^beta`` different terms; fit : r² of the line through logarithms."""

    K: float
    beta: float
    fit: float

    def at(self, tokens: ArrayLike) -> Floats:
        """How many different terms so many tokens have by the law."""
        return np.asarray(self.K * np.asarray(tokens, np.float64) ** self.beta)


@dataclass(frozen=True, eq=False)
class VocabularyLaws:
    """The vocabulary of a collection, and the laws it follows; None: too small for one.

    once : terms that occur once;  heaps : M = K · T^β different terms in T tokens
    [Heaps78];  zipf : the r-th most frequent term occurs head · r^−exponent times
    [Zipf49];  read, known : tokens and different terms after each document;
    frequencies : of the terms, the largest first.
    """

    documents: int
    tokens: int
    terms: int
    once: int
    heaps: HeapsLaw | None
    zipf: PowerLaw | None
    read: Ints
    known: Ints
    frequencies: Ints


def vocabulary_laws(counts: Any) -> VocabularyLaws:
    """Fit Heaps' and Zipf's laws to a collection, by least squares on logarithms.

    Heaps' law is fitted to the vocabulary after 100 documents at most, whose tokens
    read by then lie evenly on the logarithmic axis; Zipf's to all ranks, so that the
    many terms that occur once weigh as many ranks.

    counts : whole numbers, a row a document in order of arrival, a column a term:
    ``Rows``, an array, or a sparse matrix.

    >>> laws = vocabulary_laws([[4, 1, 1, 0], [4, 1, 0, 1], [4, 2, 0, 0]])
    >>> laws.tokens, laws.terms, laws.once, round(laws.zipf.exponent, 2)
    (18, 4, 2, 1.95)
    """
    rows = rows_from(counts, name="counts")
    values = rows.values
    if values.size and (values.min() < 0 or (values != np.floor(values)).any()):
        raise Mistake(
            "counts: how often a term occurs is a whole number, 0 or more: give whole "
            'numbers, as of Vectorizer(weighting="count", norm=None)'
        )
    collection = statistics(rows)
    frequency = collection.collection_frequency
    frequencies = np.sort(frequency[frequency > 0])[::-1]
    read, known = vocabulary_growth(rows)
    return VocabularyLaws(
        collection.documents,
        collection.tokens,
        len(frequencies),
        int((frequencies == 1).sum()),
        _heaps(read, known),
        power_law(frequencies),
        read,
        known,
        frequencies,
    )


def vocabulary_growth(counts: Rows) -> tuple[Ints, Ints]:
    """Return the tokens read and the different terms met after each document.

    Both have shape (documents,).

    >>> tokens, terms = vocabulary_growth(rows_from([[2, 1, 0], [0, 1, 1]]))
    >>> tokens.tolist(), terms.tolist()
    ([3, 5], [2, 3])
    """
    n = len(counts)
    document = np.repeat(np.arange(n), np.diff(counts.starts))
    present = counts.values > 0
    _, first = np.unique(counts.columns[present], return_index=True)
    new = np.bincount(document[present][first], minlength=n)
    length = np.bincount(document, counts.values, minlength=n)
    return np.cumsum(length).astype(np.int64), np.cumsum(new)


def _heaps(read: Ints, known: Ints) -> HeapsLaw | None:
    """Fit to documents whose tokens read by then are evenly apart in logarithms."""
    later = np.flatnonzero(read > 0)
    if not len(later):
        return None
    tokens = read[later]
    steps = np.geomspace(tokens[0], tokens[-1], POINTS)
    chosen = later[np.unique(np.searchsorted(tokens, steps - 0.5))]
    if len(chosen) < RANKS:
        return None
    slope, factor, fit = _line(read[chosen], known[chosen])
    return HeapsLaw(factor, slope, fit)

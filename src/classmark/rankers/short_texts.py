"""Texts with little to go by: how far their probabilities are believed."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from classmark.arrays import Floats, Ints, rows_from
from classmark.corpus.runs import RUN

BRIEF = 1.0  # words of a text that weigh as much as knowing nothing of it


class UsualText(NamedTuple):
    """How long texts are as a rule, and how often a category is right.

    terms : of the median text, runs of characters among them;  per_word : terms for
    each word;  rate : the share of all pairs of a text and a category that are right.
    """

    terms: float
    per_word: float
    rate: float

    @classmethod
    def of(cls, X: Any, vectorizer: Any, rate: float) -> Self | None:
        """What the rows of a fitted vectorizer say; None where they have no word."""
        rows, numbers = rows_from(X), vectorizer.vocabulary_.number
        is_word = np.ones(max(len(numbers), rows.width), bool)
        is_word[[at for term, at in numbers.items() if term.startswith(RUN)]] = False
        is_word[vectorizer.meaning_columns] = False
        lengths, words = lengths_of(X, vectorizer), int(is_word[rows.columns].sum())
        if not words or not 0 < rate < 1:
            return None
        return cls(float(np.median(lengths)), int(lengths.sum()) / words, rate)

    def sobered(self, chances: Floats, lengths: Any) -> Floats:
        """Probabilities of texts that have little to go by, nearer to the common rate.

        With n the words of a text, N those of a usual one and κ = 1, the log-odds keep
        the share min(1, (n / (n + κ)) / (N / (N + κ))) of their distance from those of
        the rate. The order in a text stays.

        chances : (n, k);  lengths : terms of each text, (n,).
        """
        little, n = BRIEF * self.per_word, np.asarray(lengths, np.float64)
        share = n / (n + little) * (1.0 + little / max(self.terms, 1.0))
        share = np.minimum(1.0, share)[:, np.newaxis]
        far, near = (np.log(p / (1.0 - p)) for p in (chances, self.rate))
        odds = np.exp(near + share * (far - near))
        return np.where(share < 1.0, odds / (1.0 + odds), chances)


def lengths_of(X: Any, vectorizer: Any) -> Ints:
    """How many terms each row has, columns of meaning left out."""
    rows, dense = rows_from(X), vectorizer.meaning_columns
    counts = rows.values != 0
    if dense.start < dense.stop:
        counts &= (rows.columns < dense.start) | (rows.columns >= dense.stop)
    total = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=total[1:])
    ends = total[rows.starts]
    return np.asarray(ends[1:] - ends[:-1])

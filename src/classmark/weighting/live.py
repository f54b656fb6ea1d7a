"""LiveVectorizer: texts become weighted vectors while words go on arriving."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Array, Floats, Ints, Rows, stack
from classmark.corpus.counting import Statistics, checked, texts_in
from classmark.corpus.documents import GrowingVocabulary
from classmark.corpus.runs import scale_of
from classmark.problems import Mistake
from classmark.weighting.dense import MeaningBlock
from classmark.weighting.vectorizer import (
    FREQUENCIES,
    IN_FORCE,
    PLAIN,
    TOTALS,
    FixedVectorizer,
    Vectorizer,
    column_factor,
    plain_idf,
    smooth_idf,
)


class Drift(NamedTuple):
    """How far the learned statistics are from those in force.

    documents : how many were learned since the last re-weighting (less those forgotten)
    new_terms : share of the terms that came since, so have no statistics in force
    shift : Σ_t cf_t |f_t − f'_t| / Σ_t cf_t: by how much re-weighting would change the
        factor (idf) of a term, on average over all occurrences; 0 without idf
    """

    documents: int
    new_terms: float
    shift: float


class LiveVectorizer(FixedVectorizer):
    """A ``Vectorizer`` that learns text by text; its weights stay until told otherwise.

    There are two sets of statistics. The *drifting* ones count every text that was
    learned; those *in force* make the weights, and are replaced only by ``reweight``.
    So the row of a learned text stays the same, bit by bit, while others are learned.

    Before the first re-weighting nothing is in force: a term's factor (idf) is 1, and
    so is the length factor of "pivoted". After it, a term that is new has the document
    frequency known when it came: 1 of the n documents learned by then, its own among
    them. Its factor stays, until the next re-weighting,

        ln((1 + n) / 2) + 1   for "tfidf" and "log-tfidf" [SparckJones72],
        ln(1 + n)             for "relative-tfidf" and "pivoted".

    (Reuters-21578, documents 101 to 1,500, "log-tfidf", re-weighted at 16, 32, 64, …, a
    ``PreferenceRanker`` every 100: one-error .111. With ln((1 + n) / 2) + 1 from the
    start .112, with 1 for new terms always .116. Never re-weighted: .133, .146, .133.)

    The columns are the terms in the order they came. All parameters are as in
    ``Vectorizer``; set them before the first text. Columns of ``meaning`` are reserved
    at the beginning, and neither counted nor re-weighted: those that a fitted
    vectorizer has had, with its centre, or else the first, with a centre of zeros:
    vectors are not centred before there was a training to learn their mean.

    >>> live = LiveVectorizer(weighting="count", norm=None)
    >>> live.learn("A hive")
    (array([0], dtype=uint32), array([1.], dtype=float32))
    >>> columns, values = live.learn("Bees, a bee and a hive")
    >>> columns.tolist(), values.tolist(), live.get_feature_names_out().tolist()
    ([0, 1], [1.0, 2.0], ['hive', 'bee'])
    """

    @classmethod
    def start(cls, vectorizer: Vectorizer) -> LiveVectorizer:
        """Go on from a fitted vectorizer: its columns, statistics, weights, meaning.

        Terms it had dropped (``min_df`` and the like) are new when they come again, and
        then count in its old texts too: give it ``min_df=1`` if those must not change.
        Where its terms were selected (``Vectorizer.keep``), none are added.
        """
        arrays, settings = vectorizer.to_arrays()
        live = cls(**{name: getattr(vectorizer, name) for name in cls._defaults()})
        block, terms = vectorizer.meaning_, vectorizer.vocabulary_.terms
        live._begin(_reserved(block, terms), arrays, settings)
        live.analyzer_, live.meaning_ = vectorizer.analyzer_, block
        live.reweight()
        return live

    @property
    def n_features(self) -> int:
        """How many columns a row has: the terms known, and those of meaning."""
        self._ready()
        return len(self.vocabulary_)

    @property
    def statistics_(self) -> Statistics:
        """The drifting statistics, of all texts learned and not forgotten (a copy)."""
        self._ready()
        df, cf = (self._held[name][: self.n_features].copy() for name in FREQUENCIES)
        n, tokens, postings = (self._counter[name] for name in TOTALS)
        return Statistics(n, tokens, postings, df, cf)

    def learn(self, text: str) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
        """Count one text, add its new terms; return its row: columns, values."""
        return self.partial_fit([text]).row(0)

    def partial_fit(self, texts: Iterable[str]) -> Rows:
        """Learn texts one after the other (held in memory meanwhile); return rows."""
        self._ready()
        listed = list(checked(texts_in(texts)))
        dense = self._dense(listed)  # first: where the source fails, nothing is learned
        words = stack([self._absorbed(block) for block in self._counted(listed)])
        return self._beside(words, dense)

    def rows(self, texts: Iterable[str]) -> Rows:
        """Weigh texts without learning from them; unknown terms are left out."""
        self._ready()
        return super().rows(texts)

    def forget(self, text: str, columns: NDArray[np.uint32] | None = None) -> None:
        """Take a learned text out of the drifting statistics; its columns stay.

        columns : of the row it had, where the text may have changed since, or some of
        its terms came later: these terms are taken out, and no others; one that the
        text has no longer, once.
        """
        self._ready()
        if columns is not None:
            dense = self.meaning_columns
            columns = columns[(columns < dense.start) | (columns >= dense.stop)]
            counts = next(self._counted([text], learn=False))
            df, cf = (self._held[name][columns] for name in FREQUENCIES)
            times = np.ones(len(columns))
            _, mine, other = np.intersect1d(
                columns, counts.columns, return_indices=True
            )
            times[mine] = counts.values[other]
            times = np.minimum(times, cf - df + 1).astype(np.float32)
            starts = np.array([0, len(columns)])
            self._tally(Rows(starts, columns, times, counts.width), -1)
            return
        counts = next(self._counted([text]))
        is_learned = counts.width == self._filled and self._counter["documents"] > 0
        self._ready()
        if is_learned:
            times = self._held["collection_frequency"][counts.columns]
            is_learned = bool((times >= counts.values).all())
        if not is_learned:
            raise Mistake(
                f"text {text[:40]!r} was not learned, or is forgotten already: "
                "give a text as it was learned"
            )
        self._tally(counts, -1)

    def reweight(self) -> None:
        """Put the drifted statistics into force; all rows change.

        They become those of ``Vectorizer.fit`` on the same texts, column order apart.
        """
        statistics = self.statistics_
        if not statistics.documents:
            raise Mistake("nothing was learned: learn a text before re-weighting")
        self._held["factor"][: self.n_features] = self._factors(statistics)
        in_force = statistics.documents, statistics.postings, self.n_features
        self._counter.update(zip(IN_FORCE, in_force, strict=True))

    def drift(self) -> Drift:
        """Say how far the drifting statistics are from those in force.

        >>> live = LiveVectorizer()
        >>> rows = live.partial_fit(["A hive", "A bee in a hive", "Wax"])
        >>> live.drift()
        Drift(documents=3, new_terms=1.0, shift=0.49...)
        """
        statistics, width = self.statistics_, self.n_features
        change = np.abs(self._factors(statistics) - self._held["factor"][:width])
        dense = self.meaning_columns
        words = width - (dense.stop - dense.start)
        return Drift(
            statistics.documents - self._counter["documents_in_force"],
            (width - self._counter["terms_in_force"]) / max(words, 1),
            float(statistics.collection_frequency @ change) / max(statistics.tokens, 1),
        )

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the terms in the order they came: the name of each column."""
        self._ready()
        return super().get_feature_names_out(input_features)

    def to_arrays(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Return the terms and statistics as arrays, and the settings, fit for JSON."""
        self._ready()
        return super().to_arrays()

    def _ready(self) -> None:
        """Begin, if not fitted yet; drop terms that were not learned."""
        if not self.__sklearn_is_fitted__():
            block = self._uncentred()
            vocabulary = _reserved(block)
            self._begin(vocabulary, {}, {"terms_in_force": len(vocabulary)})
            self.meaning_ = block
        while len(self.vocabulary_) > self._filled:
            self.vocabulary_.number.popitem()
            self._memory = None  # it knew the number

    def _absorbed(self, counts: Rows) -> Rows:
        filled, before, width = self._filled, self._counter["documents"], counts.width
        if width > len(self._held["factor"]):
            room = 0, 2 * width - len(self._held["factor"])
            self._held = {name: np.pad(a, room) for name, a in self._held.items()}
        self._tally(counts, 1)
        places = np.flatnonzero(counts.columns >= filled)
        came = np.full(width - filled, len(counts), np.int64)
        owner = np.searchsorted(counts.starts, places, side="right")
        np.minimum.at(came, counts.columns[places] - filled, owner)
        factor = self._late_factor(before + came)
        if self.characters:
            newest = islice(reversed(self.vocabulary_.number), width - filled)
            factor = factor * scale_of(newest)[::-1]
        self._held["factor"][filled:width] = factor
        self._filled = width
        return self._weighted(counts)

    def _tally(self, counts: Rows, sign: int) -> None:
        """Count a block into the drifting statistics, or out of them."""
        times = sign * counts.values.astype(np.int64)
        np.add.at(self._held["document_frequency"], counts.columns, sign)
        np.add.at(self._held["collection_frequency"], counts.columns, times)
        more = sign * len(counts), int(times.sum()), sign * counts.nnz
        for name, change in zip(TOTALS, more, strict=True):
            self._counter[name] += change

    def _factors(self, statistics: Statistics) -> Floats:
        """The factor of each term by these statistics, as ``Vectorizer`` has it."""
        factors = column_factor(statistics, self.weighting)
        if factors is None:
            factors = np.ones(len(statistics.document_frequency))
        if not self.characters:
            return factors
        scaled: Floats = factors * scale_of(self.vocabulary_.number)
        return scaled

    def _late_factor(self, n: Ints) -> Any:
        """The factor of terms that came with the n-th document."""
        if not self._counter["documents_in_force"]:
            return 1.0
        if self.weighting in PLAIN:
            return plain_idf(1, n + 1)
        return smooth_idf(1, n) if "idf" in self.weighting else 1.0


def _reserved(
    block: MeaningBlock | None, terms: Iterable[str] = ()
) -> GrowingVocabulary:
    """A vocabulary of terms with the columns of meaning behind them."""
    return GrowingVocabulary([*terms, *([] if block is None else block.terms)])

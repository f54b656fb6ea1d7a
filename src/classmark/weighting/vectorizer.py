"""Vectorizer: texts in, weighted vectors out, in the manner of scikit-learn.

How much a term says in a text, each weighting as its paper prints it: these functions
take numbers or arrays that broadcast. The letters are the papers': ``tf`` how often the
term occurs in the document, ``df`` in how many of the ``n`` documents it occurs at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import (
    Array,
    Csr,
    Floats,
    Ints,
    Rows,
    cut_runs,
    keep_columns,
    stack,
)
from classmark.corpus.counting import (
    Statistics,
    checked,
    count,
    count_blocks,
    peek,
    statistics,
    texts_in,
)
from classmark.corpus.documents import GrowingVocabulary, Vocabulary
from classmark.corpus.runs import (
    first_line_again,
    require_reading,
    shown,
    sorted_scale,
)
from classmark.estimator import parameters
from classmark.meaning.sources import TextEncoder
from classmark.problems import Mistake
from classmark.text import Analyzer, analyzer_from
from classmark.weighting.dense import (
    AUTO,
    RESERVED,
    MeaningBlock,
    WithMeaning,
    centre_of,
)
from classmark.weighting.selection import frequent_terms

WEIGHTINGS = (
    "binary", "count", "tf", "log", "tfidf", "log-tfidf", "relative-tfidf", "pivoted",
)  # fmt: skip
PLAIN = ("relative-tfidf", "pivoted")  # those with ln(N/df), 0 for a term of all
NORMS = ("l2", None)
FREQUENCIES = ("document_frequency", "collection_frequency")  # by term
TOTALS = ("documents", "tokens", "postings")  # of the collection
IN_FORCE = ("documents_in_force", "postings_in_force", "terms_in_force")
_BLOCK = 1 << 16  # entries that are weighed together: they stay in the cache


def binary(tf: Any) -> Any:
    """Presence: 1 where the term occurs [SaltonBuckley88].

    >>> float(binary(3.0))
    1.0
    """
    return np.minimum(tf, 1.0)


def relative(tf: Any, length: Any) -> Any:
    """Count over length: tf / (tokens of the document) [SaltonBuckley88].

    >>> relative(2.0, 8.0)
    0.25
    """
    return tf / length


def logarithmic(tf: Any) -> Any:
    """Dampened count: 1 + ln tf, for tf ≥ 1 [SaltonBuckley88].

    >>> float(logarithmic(1.0))
    1.0
    """
    return 1.0 + np.log(tf)


def smooth_idf(df: Any, n: Any) -> Any:
    """Rarity, as if one more document held every term [SparckJones72].

    ln((1 + n) / (1 + df)) + 1, scikit-learn's default.

    >>> round(float(smooth_idf(1, 9)), 6)
    2.609438
    """
    return np.log((1.0 + n) / (1.0 + df)) + 1.0


def plain_idf(df: Any, n: Any) -> Any:
    """Rarity: ln(n / df) [SparckJones72].

    >>> round(float(plain_idf(1, 10)), 6)
    2.302585
    """
    return np.log(n / df)


def pivoted_tf(tf: Any, average_tf: Any) -> Any:
    """Dampened count against the document's mean count [Singhal96].

    (1 + ln tf) / (1 + ln avgtf), the mean being over the document's own terms.

    >>> float(pivoted_tf(2.0, 2.0))
    1.0
    """
    return (1.0 + np.log(tf)) / (1.0 + np.log(average_tf))


def pivoted_length(unique: Any, average_unique: Any, slope: Any) -> Any:
    """Length factor that turns about the average document [Singhal96].

    1 / ((1 − s) + s · u / avgu), with u the different terms of the document.

    >>> round(pivoted_length(20.0, 10.0, 0.3), 6)
    0.769231
    """
    return 1.0 / ((1.0 - slope) + slope * unique / average_unique)


def weigh(  # noqa: PLR0913 - counts, and how they are weighed
    counts: Rows,
    statistics: Statistics,
    weighting: str = "tfidf",
    *,
    norm: str | None = "l2",
    slope: float = 0.3,
    scale: Floats | None = None,
    into: NDArray[np.float32] | None = None,
) -> Rows:
    """Weigh counts; the statistics are those of the training documents.

    weighting : "binary", "count", "tf" (count over length), "log" (1 + ln tf), "tfidf"
    (tf · (ln((1+N)/(1+df)) + 1)), "log-tfidf" (the same with 1 + ln tf),
    "relative-tfidf" (tf/Σtf · ln(N/df), the sum over the document's terms: as it is
    first taught, and with norm=None exactly that [SaltonBuckley88]), or "pivoted"
    [Singhal96].  norm : "l2" makes each row a unit vector.  slope : of "pivoted".
    scale : what each column is multiplied by before, (terms,).  Returns float32 rows of
    the same shape, sharing columns with the counts; ``into`` is where the values go
    (also the counts' own values, when they are no longer needed).

    >>> from classmark.corpus.counting import statistics
    >>> from classmark.arrays import rows_from
    >>> counts = rows_from([[3.0, 4.0], [0.0, 1.0]])
    >>> weigh(counts, statistics(counts), "count").values.round(1).tolist()
    [0.6000000238418579, 0.800000011920929, 1.0]
    """
    require_weighting(weighting, norm, slope)
    if len(statistics.document_frequency) != counts.width:
        raise Mistake(
            f"counts have {counts.width} columns, the statistics "
            f"{len(statistics.document_frequency)}: use those of the same vocabulary"
        )
    values = np.empty(counts.nnz, np.float32) if into is None else into
    column = None
    if is_many := counts.nnz >= counts.width:
        column = _scaled(column_factor(statistics, weighting), scale)
    for run in cut_runs(counts.starts, _BLOCK):
        low, high = counts.starts[run.start], counts.starts[run.stop]
        starts = counts.starts[run.start : run.stop + 1] - low
        tf = counts.values[low:high].astype(np.float64)
        here = counts.columns[low:high]
        if not is_many:
            some = None if scale is None else scale[here]
            factor = _scaled(column_factor(statistics, weighting, here), some)
        else:
            factor = None if column is None else column[here]
        average = statistics.average_unique
        values[low:high] = block_weights(
            tf, starts, factor, weighting, norm, slope, average
        )
    return Rows(counts.starts, counts.columns, values, counts.width)


def _scaled(factor: Floats | None, scale: Floats | None) -> Floats | None:
    if factor is None or scale is None:
        return scale if factor is None else factor
    return factor * scale


def require_weighting(weighting: str, norm: str | None, slope: float) -> None:
    """Refuse settings for which there is no formula."""
    if weighting not in WEIGHTINGS:
        choices = ", ".join(map(repr, WEIGHTINGS))
        raise Mistake(f"weighting is {weighting!r}: choose one of {choices}")
    if norm not in NORMS:
        raise Mistake(f"norm is {norm!r}: choose 'l2' or None")
    if not 0.0 <= slope <= 1.0:
        raise Mistake(f"slope is {slope!r}: give a number between 0 and 1")


def column_factor(
    statistics: Statistics, weighting: str, columns: NDArray[np.uint32] | None = None
) -> Floats | None:
    """Return the factor of each term, where the weighting has one; of all, or some."""
    df, n = statistics.document_frequency, statistics.documents
    df = df if columns is None else df[columns]
    if weighting in {"tfidf", "log-tfidf"}:
        return np.asarray(smooth_idf(df, n))
    if weighting in PLAIN:
        return np.asarray(plain_idf(np.maximum(df, 1), max(n, 1)))
    return None


def block_weights(  # noqa: PLR0913, PLR0917 - counts, and how they are weighed
    tf: Floats,
    starts: Ints,
    factor: Floats | None,
    weighting: str,
    norm: str | None,
    slope: float,
    average_unique: float,
) -> Floats:
    """Weigh a block of counts, where each entry's term has the factor."""
    weights = _local_weights(tf, starts, weighting, slope, average_unique)
    if factor is not None:
        weights *= factor
    if norm == "l2":
        norms = np.sqrt(_sums(weights * weights, starts))
        inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
        weights *= _per_row(inverse, starts)
    return weights


def _local_weights(
    tf: Floats, starts: Ints, weighting: str, slope: float, average_unique: float
) -> Floats:
    """Weigh the counts of a block by statistics of its documents alone."""
    if weighting == "pivoted":
        unique = np.diff(starts)
        total = _sums(tf, starts)
        average_tf = total / np.maximum(unique, 1)
        factor = pivoted_length(unique, max(average_unique, 1e-300), slope)
        dampened = pivoted_tf(tf, _per_row(average_tf, starts))
        return np.asarray(dampened * _per_row(factor, starts))
    if weighting in {"tf", "relative-tfidf"}:
        return np.asarray(relative(tf, _per_row(_sums(tf, starts), starts)))
    if weighting == "binary":
        return np.asarray(binary(tf))
    return np.asarray(logarithmic(tf)) if "log" in weighting else tf


def _sums(values: Floats, starts: Ints) -> Floats:
    """Sum each row; an empty row has 0."""
    full = np.flatnonzero(np.diff(starts))
    sums = np.zeros(len(starts) - 1)
    if len(full):
        sums[full] = np.add.reduceat(values, starts[full])
    return sums


def _per_row(values: Floats, starts: Ints) -> Floats:
    return np.repeat(values, np.diff(starts))


#: What is shown to help on average, and what new projects are set up with.
USUAL: dict[str, Any] = {"weighting": "log-tfidf", "characters": 4, "first_line": 2}


@parameters()
class Vectorizer(WithMeaning):
    """Texts become rows of weights, one column per term.

    analyzer : an ``Analyzer``, its description, or None for ``Analyzer()``.
    weighting : "tfidf", "log-tfidf", "relative-tfidf", "binary", "count", "tf", "log"
        or "pivoted"; ``weigh`` has the formulas.
    norm : "l2" for unit rows, or None. (Unit length undoes the length factor of
        "pivoted": ask for ``norm=None`` to have the vectors of its paper.)
    min_df, max_df : a term is kept when it occurs in at least, at most so many training
        documents: a whole number, or a fraction of them.
    slope : of "pivoted".
    max_features : keep only so many terms, the most frequent in the collection.
    meaning : makes vectors of texts (``StaticVectors.packaged()``, or anything that has
        ``encode``), which stand beside the words; None for words alone.
    meaning_weight : the length of that part of a row, where "l2" makes the words' 1;
        None: what suits the source; "auto": that too, until ``TextRanker.fit`` has
        200 documents with labels to choose by (``choose_weight``).
    characters : how many characters a run inside a word has that is a term beside the
        words (``CharacterRuns``); 4 helps on average, 0 is none. They count
        half as much as words.
    first_line : how often the first line of a text counts, where there are more: 2
        helps on average, since titles stand there.
    ngram_range : (1, n), terms of up to n words that follow each other, as "queen bee",
        once stop words are left out.

    After ``fit``: ``vocabulary_``, ``analyzer_``, and ``statistics_`` of the training
    documents, which all weightings use; ``meaning_``, the part beside the words.

    >>> vectorizer = Vectorizer(weighting="count", norm=None)
    >>> vectorizer.fit_transform(["A bee, two bees", "A hive"]).toarray().tolist()
    [[2.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    >>> vectorizer.get_feature_names_out().tolist()
    ['bee', 'hive', 'two']
    """

    analyzer: Analyzer | str | None = None
    weighting: str = "tfidf"
    norm: str | None = "l2"
    min_df: float = 1
    slope: float = 0.3
    max_df: float = 1.0
    max_features: int | None = None
    meaning: TextEncoder | None = None
    meaning_weight: float | str | None = AUTO
    characters: int = 0
    first_line: int = 1
    ngram_range: tuple[int, int] = (1, 1)
    meaning_: MeaningBlock | None = None
    is_closed_: bool = False

    @classmethod
    def usual(cls, **params: Any) -> Self:
        """That of a new project (``classmark init``); params : what is to differ."""
        return cls(**USUAL | params)

    def fit(self, texts: Iterable[str], y: Any = None) -> Self:  # noqa: ARG002 - Pipeline
        """Learn the vocabulary and the statistics of the training documents."""
        texts = self._several(texts)
        self._learn(texts)
        self._learn_meaning(texts)
        return self

    def fit_transform(self, texts: Iterable[str], y: Any = None) -> Csr:  # noqa: ARG002 - Pipeline
        """Learn from the texts and return their weighted rows."""
        texts = self._several(texts)
        words = self._weighted(self._learn(texts))
        dense = self._learn_meaning(texts)
        matrix: Csr = self._as_chosen(self._beside(words, dense), texts)
        return matrix

    def transform(self, texts: Iterable[str]) -> Csr:
        """Return the weighted rows of texts; unknown terms are left out."""
        matrix: Csr = self._as_chosen(self.rows(texts), texts)
        return matrix

    def rows(self, texts: Iterable[str]) -> Rows:
        """Return what ``transform`` does, as ``Rows``."""
        self._require_fitted()
        texts = self._several(texts)
        read = first_line_again(texts, self.first_line)
        few, stream = peek(checked(read))
        if few is None:
            counts = count(stream, self._analysis, self.vocabulary_).rows
        else:
            counts = self._tokens.rows(few)
        return self._beside(self._weighted(counts), self._dense(texts))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ARG002 - Pipeline
        """Return the terms, sorted, then meaning[0] and so on: the columns' names.

        Runs of characters begin with ~.
        """
        self._require_fitted()
        dense = [] if self.meaning_ is None else self.meaning_.feature_names
        terms = map(shown, self.vocabulary_.terms)
        return np.array([*terms, *dense], dtype=object)

    def to_arrays(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Return what was learned as arrays, and the settings, fit for JSON."""
        self._require_fitted()
        arrays, totals = (
            {name: getattr(self.statistics_, name) for name in names}
            for names in (FREQUENCIES, TOTALS)
        )
        own = {n: getattr(self, n) for n in self._defaults() if n not in self._unsaved}
        settings = own | {"analyzer": str(self.analyzer_)} | totals
        settings["closed"] = self.is_closed_
        self._save_meaning(arrays, settings)
        return self.vocabulary_.to_arrays() | arrays, settings

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, Array], settings: Mapping[str, Any]
    ) -> Vectorizer:
        """Make the fitted vectorizer that ``to_arrays`` described.

        With vectors of meaning it needs their source: ``use_meaning``.
        """
        vectorizer = cls(**cls._saved_parameters(settings))
        vectorizer._open_meaning(arrays, settings)
        vectorizer.analyzer_ = Analyzer.parse(settings["analyzer"])
        vectorizer.vocabulary_ = Vocabulary.from_arrays(
            arrays["terms"], arrays["term_ends"]
        )
        vectorizer.statistics_ = Statistics(
            *(settings[name] for name in TOTALS),
            *(arrays[name] for name in FREQUENCIES),
        )
        vectorizer.is_closed_ = settings.get("closed", False)
        return vectorizer

    def _learn(self, texts: Iterable[str]) -> Rows:
        require_weighting(self.weighting, self.norm, self.slope)
        require_reading(self.characters, self.first_line, self.ngram_range)
        analyzer = analyzer_from(self.analyzer)
        read = first_line_again(texts, self.first_line)
        counted = count(read, self._reader(analyzer))
        counts, vocabulary = counted.rows, counted.vocabulary
        collection_statistics = counted.statistics
        if not len(counts):
            raise Mistake("texts is empty: give at least one document to fit")
        selected = frequent_terms(
            collection_statistics,
            at_least=_documents(self.min_df, len(counts), "min_df"),
            at_most=_documents(self.max_df, len(counts), "max_df"),
            max_features=self.max_features,
        )
        if not len(selected):
            raise Mistake(
                f"none of the {len(vocabulary)} terms of the texts is left: "
                "lower min_df, raise max_df, or give other texts"
            )
        if len(selected) < len(vocabulary):
            counts = keep_columns(counts, selected)
            vocabulary = vocabulary.take(selected.tolist())
            collection_statistics = statistics(counts)
        self.analyzer_, self.vocabulary_ = analyzer, vocabulary
        self.statistics_, self.is_closed_ = collection_statistics, False
        return counts

    def keep(self, columns: Any) -> Self:
        """Keep the terms of these columns and no others (see ``select_features``).

        The columns of meaning stay. A ``LiveVectorizer`` that goes on from here does
        not learn new terms either.

        >>> vectorizer = Vectorizer(norm=None).fit(["A bee", "A hive"]).keep([1])
        >>> vectorizer.get_feature_names_out().tolist()
        ['hive']
        """
        self._require_fitted()
        selected = np.unique(np.asarray(columns, np.int64))
        selected = selected[selected < self.meaning_columns.start]
        if not len(selected):
            raise Mistake("columns has no term: keep one term or more")
        before = self.statistics_
        df, cf = (getattr(before, name)[selected] for name in FREQUENCIES)
        totals = before.documents, int(cf.sum()), int(df.sum())
        self.statistics_ = Statistics(*totals, df, cf)
        self.vocabulary_ = self.vocabulary_.take(selected.tolist())
        self.is_closed_ = True
        return self

    def _several(self, texts: Iterable[str]) -> Iterable[str]:
        """Texts that can be read twice, where words are not all that is read."""
        texts = texts_in(texts)
        return texts if self.meaning is None and self.meaning_ is None else list(texts)

    def _learn_meaning(self, texts: Iterable[str]) -> Rows | None:
        """Learn the centre of the texts' vectors and return that part of the rows."""
        block = self._uncentred()
        if block is None:
            self.meaning_ = None
            return None
        vectors = block.vectors(texts)
        self.meaning_ = replace(block, centre=centre_of(vectors))
        return self.meaning_.rows(vectors)

    def _weighted(self, counts: Rows) -> Rows:
        return weigh(
            counts,
            self.statistics_,
            self.weighting,
            norm=self.norm,
            slope=self.slope,
            scale=sorted_scale(self.vocabulary_.terms) if self.characters else None,
            into=counts.values,
        )


@parameters()
class FixedVectorizer(WithMeaning):
    """Texts become rows by the terms and factors in force, and nothing is learned.

    Its columns are the terms in the order they came (``LiveVectorizer``); where there
    is meaning, its columns come together, before the terms that came after it.
    """

    analyzer: Analyzer | str | None = None
    weighting: str = "tfidf"
    norm: str | None = "l2"
    slope: float = 0.3
    meaning: TextEncoder | None = None
    meaning_weight: float | None = None
    characters: int = 0
    first_line: int = 1
    ngram_range: tuple[int, int] = (1, 1)

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, Array], settings: Mapping[str, Any]
    ) -> Self:
        """Make the vectorizer that ``to_arrays`` described.

        With vectors of meaning it needs their source: ``use_meaning``.
        """
        fixed = cls(**cls._saved_parameters(settings))
        terms, ends = arrays["terms"], arrays["term_ends"]
        fixed._begin(GrowingVocabulary.from_arrays(terms, ends), arrays, settings)
        fixed._open_meaning(arrays, settings)
        return fixed

    def to_arrays(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Return the terms and statistics as arrays, and the settings, fit for JSON."""
        width = len(self.vocabulary_)
        arrays = {name: array[:width].copy() for name, array in self._held.items()}
        own = {n: getattr(self, n) for n in self._defaults() if n not in self._unsaved}
        settings = own | {"analyzer": str(self.analyzer_)} | self._counter
        settings["closed"] = self.vocabulary_.is_closed
        self._save_meaning(arrays, settings)
        return self.vocabulary_.to_arrays() | arrays, settings

    def rows(self, texts: Iterable[str]) -> Rows:
        """Weigh texts without learning from them; unknown terms are left out."""
        listed = list(checked(texts_in(texts)))
        blocks = self._counted(listed, learn=False)
        words = stack([self._weighted(block) for block in blocks])
        return self._beside(words, self._dense(listed))

    def transform(self, texts: Iterable[str]) -> Csr:
        """Return what ``rows`` does, as a scipy matrix, or as ``set_output`` says."""
        matrix: Csr = self._as_chosen(self.rows(texts), texts)
        return matrix

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ARG002 - Pipeline
        """Return the terms in the order they came: the name of each column.

        Those of meaning are meaning[0] and so on, as in ``Vectorizer``.
        """
        names = (term.removeprefix(RESERVED) for term in self.vocabulary_.number)
        return np.array([shown(name) for name in names], dtype=object)

    @property
    def _first_dense(self) -> int:
        """The column at which meaning begins: the first that was reserved."""
        number = self.vocabulary_.number
        return int(number.get(f"{RESERVED}meaning[0]", len(number)))

    def _begin(
        self, vocabulary: GrowingVocabulary, arrays: Any, counters: Mapping[str, Any]
    ) -> None:
        """Begin with these terms and statistics; missing ones are 0."""
        require_weighting(self.weighting, self.norm, self.slope)
        require_reading(self.characters, self.first_line, self.ngram_range)
        self.analyzer_, self.vocabulary_ = analyzer_from(self.analyzer), vocabulary
        vocabulary.is_closed = counters.get("closed", False)
        self._filled = len(vocabulary)
        self._counter = {name: counters.get(name, 0) for name in TOTALS + IN_FORCE}
        kinds = dict.fromkeys(FREQUENCIES, np.int64) | {"factor": np.float64}
        self._held: dict[str, Array] = {
            name: np.zeros(self._filled, kind) for name, kind in kinds.items()
        }
        for name in self._held.keys() & arrays.keys():
            self._held[name][: len(arrays[name])] = arrays[name]

    def _counted(self, texts: list[str], *, learn: bool = True) -> Iterator[Rows]:
        """Count texts; ``learn`` adds their terms."""
        few, stream = peek(checked(first_line_again(texts, self.first_line)))
        if few is not None:
            return iter([self._tokens.rows(few, learn=learn)])
        vocabulary = self.vocabulary_ if learn else self.vocabulary_.closed()
        return count_blocks(stream, self._analysis, vocabulary)

    def _weighted(self, counts: Rows) -> Rows:
        n, postings = (self._counter[name] for name in IN_FORCE[:2])
        average, slope = postings / max(n, 1), self.slope if postings else 0.0
        tf, factor = counts.values.astype(np.float64), self._held["factor"]
        weights = block_weights(
            tf, counts.starts, factor[counts.columns],
            self.weighting, self.norm, slope, average,
        )  # fmt: skip
        values = weights.astype(np.float32)
        return Rows(counts.starts, counts.columns, values, counts.width)


def _documents(bound: float, n: int, name: str) -> float:
    """Turn a count or a fraction of the documents into a count."""
    if isinstance(bound, Integral) and not isinstance(bound, bool) and bound >= 0:
        return float(bound)
    if isinstance(bound, float | np.floating) and 0.0 <= float(bound) <= 1.0:
        return float(bound) * n
    raise Mistake(
        f"{name} is {bound!r}: give a number of documents, or a fraction up to 1.0"
    )

"""Why a text has a category: its words; by meaning, its sentences and texts like it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from classmark.arrays import Floats, Ints, Rows
from classmark.corpus.runs import RUN
from classmark.meaning.sources import MeaningSource
from classmark.problems import Mistake
from classmark.rankers.linear import Evidence
from classmark.ranking import top
from classmark.text import sentences, words
from classmark.weighting.dense import MeaningBlock, centred
from classmark.weighting.vectorizer import FixedVectorizer, Vectorizer

if TYPE_CHECKING:
    from classmark.rankers.text_ranker import TextRanker


SENTENCES = 50  # of a text that are looked at: a sentence model reads 30 a second


class WordsBehind(NamedTuple):
    """Which words of a text stand behind which columns: what people recognise.

    words : the first of those that share a term;  columns, owners, shares : of each
    pair of a column and a word, the word's place and its share of the column, which is
    1 but for runs of characters, parted by how often they occur in each word.
    """

    words: list[str]
    columns: Ints
    owners: Ints
    shares: Floats

    @classmethod
    def of(cls, text: str, vectorizer: Vectorizer | FixedVectorizer) -> WordsBehind:
        """Read a text as the vectorizer does."""
        counts = Counter(words(text))
        number, tokens = vectorizer.vocabulary_.number, list(counts)
        first: dict[str, str] = {}  # term → word
        shown_as: dict[str, str] = {}  # token → word
        behind: Counter[tuple[int, str]] = Counter()
        for term, token in zip(vectorizer.analyzer_.terms(tokens), tokens, strict=True):
            if term in number:
                behind[number[term], first.setdefault(term, token)] = 1
            if term:  # stop words are no reasons, though their runs count
                shown_as[token] = first.get(term, token)
        if (runs := vectorizer.runs_) is not None:
            for token, inside in zip(
                shown_as, runs.inside(list(shown_as)), strict=True
            ):
                for run in filter(number.__contains__, inside):
                    behind[number[run], shown_as[token]] += counts[token]
            for run in filter(number.__contains__, runs.across(text)):
                behind[number[run], run.removeprefix(RUN)] += 1
        named = list(dict.fromkeys(word for _, word in sorted(behind)))
        place = {word: at for at, word in enumerate(named)}
        pairs = np.array([(c, place[w]) for c, w in behind], np.int64).reshape(-1, 2)
        times = np.fromiter(behind.values(), np.float64, len(behind))
        _, which = np.unique(pairs[:, 0], return_inverse=True)
        shares = times / np.bincount(which, times)[which]
        return cls(named, pairs[:, 0], pairs[:, 1], shares)

    def evidence(self, of_columns: Evidence) -> Evidence:
        """The evidence of columns as that of the words behind them."""
        order = np.argsort(of_columns.features)
        features = of_columns.features[order]
        at = np.searchsorted(features, self.columns)
        here = np.append(features, -1)[at] == self.columns
        values = np.append(of_columns.parts[order], 0.0)[at] * self.shares
        totals: Floats = np.zeros(len(self.words))
        np.add.at(totals, self.owners[here], values[here])
        return Evidence(np.arange(len(self.words)), totals)


class SentencePart(NamedTuple):
    """A sentence, and what its meaning would add to a category's lead."""

    sentence: str
    part: float


def sentence_parts(
    model: TextRanker, text: str, category: str, k: int = 3
) -> list[SentencePart]:
    """The sentences whose meaning speaks most for a category, at most ``k``.

    Each is encoded alone, the first 50 of the text. Their parts show direction, and are
    no shares: they do not add up to the text's part, whose vector is the source's own
    and brought to the same length as theirs. Those that speak against it are left out.
    """
    pieces = sentences(text)[:SENTENCES]
    vectors = source_of(model).encode(pieces)
    return strongest(pieces, meaning_parts(model, vectors, category), k)


def strongest(pieces: Sequence[str], parts: Floats, k: int) -> list[SentencePart]:
    """The sentences with the largest parts above 0, the largest first."""
    best = top(parts, min(k, len(pieces))).tolist() if len(pieces) else []
    return [SentencePart(pieces[i], float(parts[i])) for i in best if parts[i] > 0]


def meaning_parts(model: TextRanker, vectors: Any, category: str) -> Floats:
    """What meaning adds to a category's lead over the average one, for each vector.

    Σ_j z_j (w_{r,j} − mean_s w_{s,j}) over the columns of meaning, z = weight · (u − c)
    / ‖u − c‖, shape (vectors,).
    """
    model.require_ranked(category)
    block, number = block_of(model), model.categories.index(category)
    if not model.ranker.weighs_columns:
        raise Mistake(
            "this ranker has no weights of columns: its scores are not parted into "
            "words and meaning"
        )
    columns = model.vectorizer.meaning_columns
    width = max(len(model.vectorizer.vocabulary_), columns.stop)
    dense, totals = block.rows(vectors), []
    for at in range(len(dense)):
        places, values = dense.row(at)
        ends = np.array([0, len(values)])
        row = Rows(ends, places + np.uint32(columns.start), values, width)
        totals.append(model.ranker.evidence(row, number).total)
    return np.array(totals, np.float64)


def meaning_cosines(model: TextRanker, vector: Any, vectors: Any) -> Floats:
    """⟨z, z'⟩ for the centred unit vector of one text and each of others, shape (n,).

    vector : shape (dimension,);  vectors : shape (n, dimension).
    """
    centre = block_of(model).centre
    own = centred(np.asarray(vector)[None], centre)[0]
    return np.asarray(centred(vectors, centre) @ own, np.float64)


def block_of(model: TextRanker) -> MeaningBlock:
    """The part of a model's rows that is meaning; refuse a model of words alone."""
    block = model.vectorizer.meaning_
    if block is None:
        raise Mistake("this ranker knows words alone: fit one with meaning=…")
    return block


def source_of(model: TextRanker) -> MeaningSource:
    """What makes the vectors of a model."""
    block = block_of(model)
    if block.source is None:
        raise block.without_source()
    return block.source

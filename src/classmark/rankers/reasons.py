"""Why meaning speaks for a category: the text's sentences, and the texts like it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from classmark.arrays import Floats, Rows
from classmark.meaning.sources import MeaningSource
from classmark.problems import Mistake
from classmark.rankers.text_ranker import TextRanker
from classmark.ranking import top
from classmark.text import sentences
from classmark.weighting.dense import MeaningBlock, centred

SENTENCES = 50  # of a text that are looked at: a sentence model reads 30 a second


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

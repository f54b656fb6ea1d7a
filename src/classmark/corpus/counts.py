"""Documents become rows of counts, block by block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass
from itertools import chain

import numpy as np

from classmark.arrays import Ints
from classmark.corpus.ordering import join_terms, order_terms
from classmark.corpus.pages import zeros
from classmark.corpus.statistics import Statistics, statistics
from classmark.corpus.table import Chunk, TokenTable
from classmark.corpus.vocabulary import GrowingVocabulary, Vocabulary
from classmark.problems import Mistake
from classmark.progress import track
from classmark.sparse import Rows
from classmark.text.analysis import Analyzer

#: Fewer characters than this are analysed without compiled code, whose import is slow.
SMALL = 1 << 16


@dataclass(frozen=True, slots=True)
class Counted:
    """Rows of counts (float32), the terms of their columns, and their statistics."""

    rows: Rows
    vocabulary: Vocabulary
    statistics: Statistics


def count(
    texts: Iterable[str], analyzer: Analyzer, vocabulary: Vocabulary | None = None
) -> Counted:
    """Count the terms of each text; without a vocabulary, make one of all terms.

    Terms that a given vocabulary does not have are left out.

    >>> counted = count(["A bee, two bees", "Hives"], Analyzer())
    >>> counted.vocabulary.terms, counted.rows.values.tolist()
    (['bee', 'hive', 'two'], [2.0, 1.0, 1.0])
    """
    first, stream = _peek(checked(texts))
    if first is not None:
        return _count_slowly(first, analyzer, vocabulary)
    table = TokenTable(analyzer.dropped)
    chunks = list(table.chunks(stream))
    terms = map(analyzer.terms, table.slices())
    if vocabulary is None:
        joined = [join_terms(part) for part in terms]
        del table, terms
        vocabulary, number = order_terms(joined)
    else:
        number = np.concatenate([vocabulary.numbers(part) for part in terms])
    rows, known = _renumbered(chunks, number, len(vocabulary))
    return Counted(rows, vocabulary, known)


def count_blocks(
    texts: Iterable[str],
    analyzer: Analyzer,
    vocabulary: GrowingVocabulary | Vocabulary,
) -> Iterator[Rows]:
    """Count texts of which there may be more than memory holds; yield them in blocks.

    A growing vocabulary gets the new terms of each block (whose width is its length
    then); a frozen one leaves them out.

    >>> growing = GrowingVocabulary()
    >>> blocks = count_blocks(["A hive", "Bees in hives"], Analyzer(), growing)
    >>> [block.columns.tolist() for block in blocks], list(growing.number)
    ([[0, 0, 1]], ['hive', 'bee'])
    """
    table = TokenTable(analyzer.dropped)
    number = np.empty(0, np.int64)
    for chunk in table.chunks(checked(texts)):
        new = map(analyzer.terms, table.slices(len(number)))
        number = np.concatenate([number, *map(vocabulary.numbers, new)])
        yield _renumbered([chunk], number, len(vocabulary))[0]


def checked(texts: Iterable[str]) -> Iterator[str]:
    """Yield the texts; refuse a bare string, and anything that is not text, by row."""
    if isinstance(texts, str | bytes):
        raise Mistake("texts is one string: give a list of strings")
    try:
        items = iter(texts)
    except TypeError as error:
        kind = type(texts).__name__
        raise Mistake(f"texts is {kind}: give an iterable of strings") from error
    total = len(texts) if isinstance(texts, Sized) else None
    for row, text in enumerate(track(items, "counting", total)):
        if not isinstance(text, str):
            raise Mistake(f"texts, row {row}: {type(text).__name__} is not a string")
        yield text


def _peek(texts: Iterator[str]) -> tuple[list[str] | None, Iterator[str]]:
    """Return all texts when they are few and short, else the stream, unharmed."""
    taken, size = [], 0
    for text in texts:
        taken.append(text)
        size += len(text) + 1
        if size >= SMALL:
            return None, chain(taken, texts)
    return taken, texts


def _count_slowly(
    texts: list[str], analyzer: Analyzer, vocabulary: Vocabulary | None
) -> Counted:
    """Count by the reference path."""
    counted = [Counter(analyzer(text)) for text in texts]
    if vocabulary is None:
        vocabulary = Vocabulary.of(set().union(*counted))
    number = vocabulary.number
    rows = [
        sorted((number[term], times) for term, times in row.items() if term in number)
        for row in counted
    ]
    pairs = np.array(list(chain.from_iterable(rows)), np.float64).reshape(-1, 2)
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    columns, values = pairs[:, 0].astype(np.uint32), pairs[:, 1].astype(np.float32)
    counts = Rows(starts, columns, values, len(vocabulary))
    return Counted(counts, vocabulary, statistics(counts))


def _renumbered(
    chunks: list[Chunk], number: Ints, width: int
) -> tuple[Rows, Statistics]:
    """Turn chunks of token counts into rows of term counts; the chunks are consumed."""
    from classmark.corpus.kernels import (
        close_gaps,
        gather_by_document,
        scatter_by_term,
    )

    terms = np.where(number < 0, width, number).astype(np.uint32)
    room = sum(len(chunk.columns) for chunk in chunks)
    columns, values = zeros(room, np.uint32), zeros(room, np.float32)
    postings = zeros(max(len(chunk.columns) for chunk in chunks), np.uint64)
    frequency, total = np.zeros(width, np.int64), np.zeros(width, np.int64)
    parts, used = [np.zeros(1, np.int64)], 0
    chunks.reverse()
    while chunks:
        chunk = chunks.pop()
        heads = np.zeros(width + 2, np.uint32)
        starts = np.zeros(len(chunk.starts), np.int64)
        scatter_by_term(
            chunk.starts, chunk.columns, chunk.counts, terms, heads, postings, starts
        )
        del chunk
        run = columns[used:], values[used:]
        stops = starts[:-1].copy()
        gather_by_document(heads, postings, stops, *run, frequency, total)
        close_gaps(starts, stops, *run)
        parts.append(stops + used)
        used += int(starts[-1])
    rows = Rows(np.concatenate(parts), columns[:used], values[:used], width)
    known = Statistics(len(rows), int(total.sum()), used, frequency, total)
    return rows, known

"""Documents become rows of counts, block by block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import (
    Array,
    Bools,
    Ints,
    Rows,
    bounds_of,
    rows_from,
    stack,
    words_of,
    zeros,
)
from classmark.corpus.documents import (
    GrowingVocabulary,
    Vocabulary,
    join_terms,
    order_terms,
)
from classmark.corpus.kernels import (
    ARENA,
    BASE,
    DROPPED,
    ENTRIES,
    TOKENS,
    Tokens,
    count_entries,
    count_tokens,
    fill_slots,
    find_tokens,
    gather_by_document,
    number_tokens,
    scatter_entries,
)
from classmark.corpus.runs import CharacterRuns
from classmark.problems import Mistake
from classmark.progress import track
from classmark.text import Analyzer, fold, kinds

_BLOCK = 1 << 18


@dataclass(frozen=True, slots=True)
class Statistics:
    """The statistics of a collection that weightings use.

    documents : N, how many;  tokens : the sum of their lengths;  postings : the sum of
    their numbers of different terms;  document_frequency, collection_frequency : int64,
    in how many documents and how often each term occurs, shape (terms,).
    """

    documents: int
    tokens: int
    postings: int
    document_frequency: Ints
    collection_frequency: Ints

    @property
    def average_unique(self) -> float:
        """Different terms per document."""
        return self.postings / self.documents if self.documents else 0.0


def statistics(counts: Rows) -> Statistics:
    """Compute the statistics of a block of counts.

    >>> from classmark.arrays import rows_from
    >>> collection = statistics(rows_from([[2.0, 1.0], [0.0, 1.0], [3.0, 0.0]]))
    >>> collection.document_frequency.tolist(), collection.average_unique
    ([2, 2], 1.3333333333333333)
    """
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


T = TypeVar("T")
BATCH = 1 << 18  # characters of documents that are counted together, about
CHUNK = 3 << 18
_ROOM = 1 << 15
_SLICE = 1 << 12
_MOST = 1 << 32
_TAIL = "\n" * 72


class Chunk(NamedTuple):
    """Counts of tokens in some documents, columns in order of first occurrence.

    A token that occurs more than 255 times in a document has several entries there.

    starts : int64, shape (documents + 1,);  columns : uint32;  counts : uint8, shape
    (entries,).
    """

    starts: Ints
    columns: NDArray[np.uint32]
    counts: NDArray[np.uint8]


class Batch(NamedTuple):
    """Some documents as bytes: where each ends, and whether it is all ASCII.

    buffer : uint8, with more newlines at its end than a pass reads ahead;
    ends : int64, shape (documents,);  plain : bool, shape (documents,).
    """

    buffer: NDArray[np.uint8]
    ends: Ints
    plain: Bools


class TokenTable:
    """Tokens numbered as they come, and counted by a compiled pass over UTF-8 bytes.

    dropped : tokens that have the first numbers and are not counted.

    >>> table = TokenTable()
    >>> [chunk.counts.tolist() for chunk in table.chunks(["A bee, a hive", "Hive"])]
    [[2, 1, 1, 1]]
    >>> table.tokens()
    ['a', 'bee', 'hive']
    """

    def __init__(self, dropped: Iterable[str] = ()) -> None:
        self._slots = zeros(2 * _ROOM, np.uint32)
        self._known = zeros(_ROOM, np.uint64)
        self._last = zeros(_ROOM, np.uint64)
        self._offsets = zeros(_ROOM, np.uint64)
        self._arena = zeros(8 * _ROOM, np.uint8)
        self._state = np.zeros(6, np.int64)
        self._edges, self._keys = zeros(0, np.uint32), zeros(0, np.uint64)
        self._drop(list(dropped))

    def __len__(self) -> int:

        return int(self._state[TOKENS])

    def tokens(self, first: int = 0, last: int | None = None) -> list[str]:
        """Return the tokens numbered from ``first`` to before ``last``, in order."""
        last = len(self) if last is None else last
        offsets, end = self._offsets, int(self._state[ARENA])
        low = int(offsets[first]) if first < len(self) else end
        high = int(offsets[last]) if last < len(self) else end
        return self._arena[low:high].tobytes().decode().split("\n")[:-1]

    def slices(self, first: int = 0) -> Iterator[list[str]]:
        """Yield the tokens from ``first`` on, some thousands at a time."""
        for low in range(first, len(self), _SLICE):
            yield self.tokens(low, min(low + _SLICE, len(self)))

    def chunks(self, texts: Iterable[str]) -> Iterator[Chunk]:
        """Count documents; yield their counts, about a million entries at a time."""
        stops: list[Ints] = []
        columns, counts = np.empty(0, np.uint32), np.empty(0, np.uint8)
        for batch in map(_encoded, batches(texts, BATCH, len)):
            used, most = int(self._state[ENTRIES]), len(batch.buffer) // 2 + 1
            if used + most > len(columns):
                if used:
                    yield self._closed(stops, columns, counts)
                stops = []
                columns = zeros(max(CHUNK, 2 * most), np.uint32)
                counts = zeros(len(columns), np.uint8)
            stops.append(self._count(batch, columns, counts))
        if stops:
            yield self._closed(stops, columns, counts)

    def _closed(
        self,
        stops: list[Ints],
        columns: NDArray[np.uint32],
        counts: NDArray[np.uint8],
    ) -> Chunk:
        """Return the entries so far as a chunk, and begin the next one."""
        used = int(self._state[ENTRIES])
        self._state[BASE] += used
        self._state[ENTRIES] = 0
        starts = np.concatenate([np.zeros(1, np.int64), *stops])
        return Chunk(starts, columns[:used], counts[:used])

    def sequences(self, texts: Iterable[str]) -> Iterator[Chunk]:
        """Number documents token by token; yield one entry, of count 1, for each.

        Tokens that are dropped have their entries too: an entry's place in its row is
        the place of the token in the text.
        """
        for batch in map(_encoded, batches(texts, BATCH, len)):
            firsts, tokens = self._numbered(batch)
            columns = tokens.astype(np.uint32)
            yield Chunk(firsts, columns, np.ones(len(columns), np.uint8))

    def _drop(self, tokens: list[str]) -> None:
        """Give tokens, before all others, numbers without counts."""
        batch = _encoded([" ".join(tokens)])
        room = len(batch.buffer)
        self._count(batch, np.empty(room, np.uint32), np.empty(room, np.uint8))
        self._last[:] = 0
        self._state[ENTRIES], self._state[DROPPED] = 0, len(self)

    def _count(
        self, batch: Batch, columns: NDArray[np.uint32], counts: NDArray[np.uint8]
    ) -> Ints:
        """Count one batch into the chunk; return where its documents end there."""
        rows = np.empty(len(batch.ends) + 1, np.int64)
        rows[0] = self._state[ENTRIES]
        firsts, tokens = self._numbered(batch)
        chunk = (rows, columns, counts)
        count_tokens(tokens, firsts, self._last, chunk, self._state)
        return rows[1:]

    def _numbered(self, batch: Batch) -> tuple[Ints, NDArray[np.uint64]]:
        """Return the first token of each document, and the numbers of the tokens."""
        most = len(batch.buffer) // 2 + 1
        if most > len(self._keys):
            self._edges, self._keys = zeros(2 * most, np.uint32), zeros(most, np.uint64)
        firsts = np.empty(len(batch.ends) + 1, np.int64)
        # Only where kernels run as plain Python does numpy mind that hashes overflow.
        with np.errstate(over="ignore"):
            output = (self._edges, self._keys, firsts)
            text = (batch.buffer, words_of(batch.buffer))
            find_tokens(text, batch.ends, batch.plain, kinds(), *output)
            keys = self._keys[: firsts[-1]]
            while not number_tokens(
                (*text, self._edges), keys, self._table(), self._state
            ):
                self._grow()
        return firsts, keys

    def _table(self) -> Tokens:
        """The table as the kernel takes it."""
        arena = self._arena
        return Tokens(self._slots, self._known, self._offsets, arena, words_of(arena))

    def _grow(self) -> None:
        """Make room for twice as many tokens, or twice as many bytes."""
        used = len(self)
        if used < len(self._known):
            self._arena = _longer(self._arena, int(self._state[ARENA]))
            return
        size = 2 * len(self._slots)
        del self._slots
        self._slots = zeros(size, np.uint32)
        fill_slots(self._known, self._slots)
        self._known = _longer(self._known, used)
        self._last = _longer(self._last, used)
        self._offsets = _longer(self._offsets, used)


def _longer(array: Array, used: int) -> Array:
    longer = zeros(2 * len(array), array.dtype)
    longer[:used] = array[:used]
    return longer


def batches(
    items: Iterable[T], size: int, weigh: Callable[[T], int]
) -> Iterator[list[T]]:
    """Group items so that the weights of each group sum up to about ``size``."""
    batch: list[T] = []
    weight = 0
    for item in items:
        batch.append(item)
        weight += weigh(item)
        if weight >= size:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch


def _encoded(texts: list[str]) -> Batch:
    """Write documents to one buffer, each closed by a newline.

    The case of texts that are all ASCII is left to the pass; others are folded line by
    line, which is the same, and quicker where lines are all ASCII.
    """
    plain = [text.isascii() for text in texts]
    if all(plain):
        sizes = list(map(len, texts))
        encoded = "\n".join([*texts, _TAIL]).encode()
    else:
        parts = [
            (text if is_plain else "\n".join(map(fold, text.split("\n")))).encode(
                errors="surrogatepass"
            )
            for text, is_plain in zip(texts, plain, strict=True)
        ]
        sizes = list(map(len, parts))
        encoded = b"\n".join([*parts, _TAIL.encode()])
    if len(encoded) >= _MOST:
        raise Mistake("a text has more than four thousand million bytes: part it")
    ends = np.cumsum(np.array(sizes, np.int64) + 1)
    return Batch(np.frombuffer(encoded, np.uint8), ends, np.array(plain, np.bool_))


#: Fewer characters than this are analysed without compiled code, whose import is slow.
SMALL = 1 << 16


@dataclass(frozen=True, slots=True)
class CountedRows:
    """Rows of counts (float32), the terms of their columns, and their statistics."""

    rows: Rows
    vocabulary: Vocabulary
    statistics: Statistics


def count(
    texts: Iterable[str],
    analyzer: Analyzer | CharacterRuns,
    vocabulary: Vocabulary | None = None,
) -> CountedRows:
    """Count the terms of each text; without a vocabulary, make one of all terms.

    Terms that a given vocabulary does not have are left out.

    >>> counted = count(["A bee, two bees", "Hives"], Analyzer())
    >>> counted.vocabulary.terms, counted.rows.values.tolist()
    (['bee', 'hive', 'two'], [2.0, 1.0, 1.0])
    """
    few, stream = peek(checked(texts))
    if few is not None:
        counted = [Counter(analyzer(text)) for text in few]
        if vocabulary is None:
            vocabulary = Vocabulary.of(set().union(*counted))
        rows = _rows_of(counted, vocabulary)
        return CountedRows(rows, vocabulary, statistics(rows))
    if isinstance(analyzer, CharacterRuns):
        return _with_runs(stream, analyzer, vocabulary)
    table = TokenTable(analyzer.dropped)
    chunks = list(table.chunks(stream))
    terms = map(analyzer.terms, table.slices())
    if vocabulary is None:
        joined = [join_terms(part) for part in terms]
        del table, terms
        vocabulary, number = order_terms(joined)
    else:
        number = np.concatenate([vocabulary.numbers(part) for part in terms])
    rows, collection = _renumbered(chunks, number, len(vocabulary))
    return CountedRows(rows, vocabulary, collection)


def _with_runs(
    texts: Iterable[str], runs: CharacterRuns, vocabulary: Vocabulary | None
) -> CountedRows:
    """Count words and runs of characters of many texts."""
    tally = _RunCounts(runs)
    chunks = list(tally.chunks(texts))
    if vocabulary is None:
        vocabulary = Vocabulary.of(term for term in tally.terms() if term)
    rows = stack([tally.rows(chunk, vocabulary) for chunk in chunks])
    return CountedRows(rows, vocabulary, statistics(rows))


class _RunCounts:
    """Tokens counted by the compiled pass; what each is worth as terms, told once.

    A token's terms are its word and the runs inside it, so that rows of terms are rows
    of tokens times the terms of each token; runs across tokens are counted text by
    text.
    """

    def __init__(self, runs: CharacterRuns) -> None:
        self._runs = runs
        self._table = TokenTable()
        self._listed: list[str] = []  # the terms of each token, one after the other
        self._sizes: list[int] = []  # how many each token has
        self._across: list[list[str]] = []  # of each text, not yet in a row

    def chunks(self, texts: Iterable[str]) -> Iterator[Chunk]:
        """Count documents; the runs across their tokens are noted meanwhile."""

        def noted() -> Iterator[str]:
            for text in texts:
                self._across.append(self._runs.across(text))
                yield text

        for chunk in self._table.chunks(noted()):
            for tokens in self._table.slices(len(self._sizes)):
                words = self._runs.analyzer.terms(tokens)
                for word, inside in zip(words, self._runs.inside(tokens), strict=True):
                    own = [word, *inside] if word else inside
                    self._listed += own
                    self._sizes.append(len(own))
            yield chunk

    def terms(self) -> Iterable[str]:
        """All terms so far, some of them several times."""
        return chain(self._listed, *self._across)

    def rows(self, chunk: Chunk, vocabulary: GrowingVocabulary | Vocabulary) -> Rows:
        """The term counts of a chunk, chunk after chunk."""
        from scipy.sparse import csr_matrix

        n = len(chunk.starts) - 1
        across, self._across = self._across[:n], self._across[n:]
        number = vocabulary.numbers(self._listed)
        beyond = [vocabulary.numbers(runs) for runs in across]
        width = len(vocabulary)
        ends = np.cumsum([0, *self._sizes], dtype=np.int64)
        worth = _counted_matrix(number, ends, width)
        of_tokens = csr_matrix(
            (
                chunk.counts.astype(np.float32),
                chunk.columns.astype(np.int64),
                chunk.starts,
            ),
            shape=(n, len(self._sizes)),
        )
        counts = of_tokens @ worth
        if any(map(len, beyond)):
            starts = np.cumsum([0, *map(len, beyond)], dtype=np.int64)
            counts += _counted_matrix(np.concatenate(beyond), starts, width)
        counts.sort_indices()
        return rows_from(counts)


def _counted_matrix(numbers: Ints, starts: Ints, width: int) -> Any:
    """A row for each run of term numbers, how often each occurs; -1 are left out."""
    from scipy.sparse import csr_matrix

    known = numbers >= 0
    kept = np.concatenate([[0], np.cumsum(known)])[starts]
    ones = np.ones(int(known.sum()), np.float32)
    matrix = csr_matrix((ones, numbers[known], kept), shape=(len(starts) - 1, width))
    matrix.sum_duplicates()
    return matrix


def count_blocks(
    texts: Iterable[str],
    analyzer: Analyzer | CharacterRuns,
    vocabulary: GrowingVocabulary | Vocabulary,
) -> Iterator[Rows]:
    """Count texts of which there may be more than memory holds; yield them in blocks.

    A growing vocabulary gets the new terms of each block (whose width is its length
    then); a frozen one leaves them out. A few short texts are one block.

    >>> growing = GrowingVocabulary()
    >>> blocks = count_blocks(["A hive", "Bees in hives"], Analyzer(), growing)
    >>> [block.columns.tolist() for block in blocks], list(growing.number)
    ([[0, 0, 1]], ['hive', 'bee'])
    """
    few, stream = peek(checked(texts))
    if few is not None:
        yield _rows_of((Counter(analyzer(text)) for text in few), vocabulary)
        return
    if isinstance(analyzer, CharacterRuns):
        tally = _RunCounts(analyzer)
        yield from (tally.rows(each, vocabulary) for each in tally.chunks(stream))
        return
    table = TokenTable(analyzer.dropped)
    number = np.empty(0, np.int64)
    for chunk in table.chunks(stream):
        new = map(analyzer.terms, table.slices(len(number)))
        number = np.concatenate([number, *map(vocabulary.numbers, new)])
        yield _renumbered([chunk], number, len(vocabulary))[0]


def texts_in(texts: Any) -> Any:
    """The texts: of a data frame, whose iteration gives names, its one column.

    >>> texts_in(["A bee"])
    ['A bee']
    """
    if not (hasattr(texts, "columns") and hasattr(texts, "__array__")):
        return texts
    names = list(texts.columns)
    if len(names) != 1:
        named = ", ".join(map(repr, names))
        raise Mistake(
            f"texts is a data frame with {len(names)} columns ({named}): give its "
            f"column of texts, as frame[{(names or ['text'])[0]!r}]"
        )
    return texts[names[0]]


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


def peek(texts: Iterator[str]) -> tuple[list[str] | None, Iterator[str]]:
    """Return all texts when they are few and short, else the stream, unharmed."""
    head, size = [], 0
    for text in texts:
        head.append(text)
        size += len(text) + 1
        if size >= SMALL:
            return None, chain(head, texts)
    return head, texts


def _rows_of(
    counted: Iterable[Counter[str]], vocabulary: GrowingVocabulary | Vocabulary
) -> Rows:
    """Turn counts by term into rows: the reference path."""
    columns, values = [np.empty(0, np.uint32)], [np.empty(0, np.float32)]
    for row in counted:
        numbers = vocabulary.numbers(list(row))
        order = np.argsort(numbers)[np.count_nonzero(numbers < 0) :]
        columns.append(numbers[order].astype(np.uint32))
        values.append(np.fromiter(row.values(), np.float32, len(row))[order])
    starts = np.cumsum([len(part) for part in columns], dtype=np.int64)
    return Rows(
        starts, np.concatenate(columns), np.concatenate(values), len(vocabulary)
    )


def _renumbered(
    chunks: list[Chunk], number: Ints, width: int
) -> tuple[Rows, Statistics]:
    """Turn chunks of token counts into rows of term counts; the chunks are consumed."""
    terms = np.where(number < 0, width, number).astype(np.uint32)
    room = sum(len(chunk.columns) for chunk in chunks)
    columns, values = zeros(room, np.uint32), zeros(room, np.float32)
    postings = zeros(max(len(chunk.columns) for chunk in chunks), np.uint64)
    frequency, total = np.zeros(width, np.int64), np.zeros(width, np.int64)
    parts, used = [np.zeros(1, np.int64)], 0
    chunks.reverse()
    while chunks:
        chunk = chunks.pop()
        n = len(chunk.starts) - 1
        entries, starts = np.zeros(width + 1, np.int64), np.zeros(n + 1, np.int64)
        count_entries(chunk, terms, entries, np.empty(n, np.uint32))
        begins = bounds_of(entries[:-1])[:-1]
        ends = begins.copy()
        scatter_entries(chunk, terms, 0, begins, ends, postings)
        del chunk
        run = columns[used:], values[used:]
        gather_by_document((postings, begins, ends), starts, *run, total)
        frequency += ends - begins
        parts.append(starts[1:] + used)
        used += int(starts[-1])
    rows = Rows(np.concatenate(parts), columns[:used], values[:used], width)
    statistics = Statistics(len(rows), int(total.sum()), used, frequency, total)
    return rows, statistics

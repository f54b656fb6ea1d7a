"""A block: as many documents as fit the memory, counted, then inverted and written.

Blocked sort-based indexing: a block is sorted by term, then document, and all blocks
are merged in the end [Manning08]. Within a block the sort is a counting sort.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.corpus.ordering import join_terms, order_terms
from classmark.corpus.pages import zeros
from classmark.corpus.table import Chunk, TokenTable
from classmark.index.documents import Entry
from classmark.index.ids import id_bytes, id_keys
from classmark.index.segments import bounds_of
from classmark.index.writing import Inverted, SegmentWriter
from classmark.text.analysis import Analyzer

_PER_ENTRY, _PER_PLACE, _PER_TOKEN, _PER_DOCUMENT = 13, 21, 110, 130


class Counting:
    """One field of a block: its tokens and how often each document has them."""

    def __init__(self, analyzer: Analyzer, *, positions: bool) -> None:
        self._analyzer, self._positions = analyzer, positions
        self._table = TokenTable(analyzer.dropped)
        self._chunks: list[tuple[int, Chunk]] = []
        self.entries = 0

    def take(self, first: int, texts: list[str]) -> None:
        """Count the texts of the documents numbered from ``first`` on."""
        count = self._table.sequences if self._positions else self._table.chunks
        for chunk in count(texts):
            self._chunks.append((first, chunk))
            first += len(chunk.starts) - 1
            self.entries += len(chunk.columns)

    def memory(self) -> int:
        """Return about how many bytes inverting takes at its peak."""
        per_entry = _PER_PLACE if self._positions else _PER_ENTRY
        return per_entry * self.entries + _PER_TOKEN * len(self._table)

    def invert(self, documents: int) -> tuple[Inverted, NDArray[np.uint32]]:
        """Return the lists and the documents' lengths; the counts are consumed."""
        joined = [join_terms(self._analyzer.terms(t)) for t in self._table.slices()]
        del self._table
        vocabulary, number = order_terms(joined)
        width = len(vocabulary)
        terms = np.where(number < 0, width, number).astype(np.uint32)
        del number
        return _inverted(
            self._chunks,
            _Terms(vocabulary.blob, terms, width),
            documents,
            positions=self._positions,
        )


class _Terms(NamedTuple):
    """The terms of a block in order, and the number of each token's term."""

    blob: NDArray[np.uint8]
    of_token: NDArray[np.uint32]
    width: int


def _inverted(
    chunks: list[tuple[int, Chunk]], terms: _Terms, documents: int, *, positions: bool
) -> tuple[Inverted, NDArray[np.uint32]]:
    """Sort the entries of all chunks by term; those of one document add up."""
    from classmark.index.inverting.kernels import count_entries, scatter_entries

    entries = np.zeros(terms.width + 1, np.int64)
    lengths = np.zeros(documents, np.uint32)
    for first, chunk in chunks:
        rows = lengths[first : first + len(chunk.starts) - 1]
        count_entries(
            chunk.starts, chunk.columns, chunk.counts, terms.of_token, entries, rows
        )
    bounds = bounds_of(entries[:-1])
    postings = zeros(int(bounds[-1]), np.uint64)
    begins, ends = bounds[:-1], bounds[:-1].copy()
    for first, chunk in chunks:
        scatter_entries(
            chunk.starts,
            chunk.columns,
            chunk.counts,
            terms.of_token,
            first,
            begins,
            ends,
            postings,
        )
    found = Inverted(terms.blob, postings, begins, ends)
    if positions:
        return _placed(chunks, terms, found), lengths
    chunks.clear()
    return found, lengths


def _placed(
    chunks: list[tuple[int, Chunk]], terms: _Terms, found: Inverted
) -> Inverted:
    """Add the places, of which there are as many as entries."""
    from classmark.index.inverting.kernels import scatter_places

    bounds = found.begins
    gaps = zeros(len(found.postings), np.uint32)
    ends = bounds.copy()
    seen = np.full((terms.width, 2), -1, np.int64)
    for first, chunk in chunks:
        scatter_places(
            chunk.starts, chunk.columns, terms.of_token, first, seen, ends, gaps
        )
    chunks.clear()
    return found._replace(gaps=gaps, gap_begins=bounds, gap_ends=ends)


class Block:
    """Documents being counted, field by field."""

    def __init__(
        self, analyzer: Analyzer, fields: Sequence[str], *, positions: bool
    ) -> None:
        self._analyzer, self._positions = analyzer, positions
        self._fields = {name: self._counting() for name in fields}
        self._ids: list[bytes] = []

    def __len__(self) -> int:
        return len(self._ids)

    def take(self, batch: list[Entry]) -> None:
        """Count some more documents."""
        first = len(self._ids)
        self._ids += [id_bytes(entry.id) for entry in batch]
        for name in dict.fromkeys(field for entry in batch for field in entry.fields):
            if name not in self._fields:
                self._fields[name] = self._counting()
        for name, field in self._fields.items():
            field.take(first, [entry.fields.get(name, "") for entry in batch])

    def memory(self) -> int:
        """Return about how many bytes the block takes at its peak, when inverted."""
        held = sum(field.memory() for field in self._fields.values())
        return held + _PER_DOCUMENT * len(self._ids)

    def write(self, folder: Path) -> None:
        """Invert the block and write it as a segment."""
        writer = SegmentWriter(folder)
        try:
            for name in list(self._fields):
                writer.field(name, positions=self._positions)
                inverted, lengths = self._fields.pop(name).invert(len(self._ids))
                writer.lengths(lengths)
                writer.lists(inverted)
                del inverted
            sizes = np.array([len(name) for name in self._ids], np.int64)
            writer.ids(b"".join(self._ids), sizes)
            writer.keys(
                id_keys(self._ids),
                np.arange(len(sizes), dtype=np.uint32),
                lambda n: self._ids[n].decode(errors="surrogatepass"),
            )
            writer.close()
        except BaseException:
            writer.discard()
            raise

    def _counting(self) -> Counting:
        return Counting(self._analyzer, positions=self._positions)

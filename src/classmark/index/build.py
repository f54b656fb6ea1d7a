"""Documents become segments, within a stated memory, and are changed.

Blocked sort-based indexing: a block is sorted by term, then document, and all blocks
are merged in the end [Manning08]. Within a block the sort is a counting sort.

A collection may become several segments, of which each has the next n/N documents.
Where they are cut depends on the documents alone, so that on one machine or on many the
segments are the same byte by byte.

Of an index that is there, new documents become a new segment, deleted ones are only
marked.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import bounds_of, zeros
from classmark.corpus.counting import Chunk, TokenTable, batches
from classmark.corpus.documents import Document, join_terms, order_terms
from classmark.corpus.kernels import count_entries, scatter_entries, scatter_places
from classmark.index.merge import id_of, merge_segments, merged_keys, to_merge
from classmark.index.segment import (
    Inverted,
    Segment,
    SegmentPart,
    SegmentWriter,
    id_keys,
    ordered,
)
from classmark.index.snapshot import (
    PARTS,
    Lock,
    Snapshot,
    commit,
    new_segment,
    open_number,
    open_snapshot,
)
from classmark.problems import Mistake
from classmark.progress import track
from classmark.text import Analyzer

#: The field of a document that is only an id and a text.
TEXT = "text"
Given = tuple[str, str] | Mapping[str, Any] | Document


class IndexEntry(NamedTuple):
    """A document to be indexed: its id and its fields, which are strings."""

    id: str
    fields: Mapping[str, str]

    def size(self) -> int:
        """Characters, about; four times as many where not all are ASCII."""
        texts = self.fields.values()
        return sum(len(text) * (1 if text.isascii() else 4) for text in texts)


def entries(
    documents: Iterable[Given], fields: Sequence[str] | None
) -> Iterator[IndexEntry]:
    """Yield the documents as entries; refuse what is not one, by its place.

    fields : which fields are indexed; without, all of them.

    >>> listed = entries([("a", "A bee"), {"id": "b", "title": "Hives"}], None)
    >>> [(entry.id, dict(entry.fields)) for entry in listed]
    [('a', {'text': 'A bee'}), ('b', {'title': 'Hives'})]
    """
    if isinstance(documents, str | bytes | Mapping):
        kind = type(documents).__name__
        raise Mistake(f"documents is one {kind}: give a list of documents")
    total = len(documents) if isinstance(documents, Sized) else None
    for row, document in enumerate(track(documents, "indexing", total)):
        name, texts = _parts(document, row)
        if not isinstance(name, str) or not name:
            raise Mistake(
                f"documents, row {row}: the id is {name!r}: give a string, not empty"
            )
        if fields is not None:
            texts = {field: texts[field] for field in fields if field in texts}
        for field, text in texts.items():
            if not isinstance(text, str):
                raise Mistake(
                    f"documents, row {row} ({name!r}): field {field!r} is "
                    f"{type(text).__name__}: give a string, or name the fields to "
                    "index (fields=[...])"
                )
        yield IndexEntry(name, texts)


def _parts(document: Given, row: int) -> tuple[Any, Mapping[str, Any]]:
    if isinstance(document, tuple | list) and len(document) == 2:
        return document[0], {TEXT: document[1]}
    if isinstance(document, Document):
        return document.id, document.fields
    if isinstance(document, Mapping) and "id" in document:
        return document["id"], {f: v for f, v in document.items() if f != "id"}
    raise Mistake(
        f"documents, row {row}: {type(document).__name__} is not a document: give "
        "(id, text), a mapping with 'id' and fields, or a Document"
    )


_PER_ENTRY, _PER_PLACE, _PER_TOKEN, _PER_DOCUMENT = 13, 21, 110, 130


class Counting:
    """One field of a block: its tokens and how often each document has them."""

    def __init__(self, setup: Setup) -> None:
        self._analyzer, self._positions = setup.analyzer, setup.positions
        self._table = TokenTable(setup.analyzer.dropped)
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
        """Return the lists and the documents' lengths; the counts are consumed.

        The entries of all chunks are sorted by term; those of one document add up.
        """
        joined = [join_terms(self._analyzer.terms(t)) for t in self._table.slices()]
        del self._table
        vocabulary, number = order_terms(joined)
        width = len(vocabulary)
        terms = np.where(number < 0, width, number).astype(np.uint32)
        del number
        entries = np.zeros(width + 1, np.int64)
        lengths = np.zeros(documents, np.uint32)
        for first, chunk in self._chunks:
            rows = lengths[first : first + len(chunk.starts) - 1]
            count_entries(chunk, terms, entries, rows)
        bounds = bounds_of(entries[:-1])
        postings = zeros(int(bounds[-1]), np.uint64)
        begins, ends = bounds[:-1], bounds[:-1].copy()
        for first, chunk in self._chunks:
            scatter_entries(chunk, terms, first, begins, ends, postings)
        inverted = Inverted(vocabulary.blob, postings, begins, ends)
        if self._positions:  # there are as many places as entries
            gaps, gap_ends = zeros(len(postings), np.uint32), begins.copy()
            seen = np.full((width, 2), -1, np.int64)
            for first, chunk in self._chunks:
                scatter_places(chunk, terms, first, seen, gap_ends, gaps)
            inverted = inverted._replace(places=(gaps, begins, gap_ends))
        self._chunks.clear()
        return inverted, lengths


class CountedBlock:
    """Documents being counted, field by field."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._fields = {name: Counting(setup) for name in setup.fields or ()}
        self._ids: list[bytes] = []

    def __len__(self) -> int:
        return len(self._ids)

    def take(self, batch: list[IndexEntry]) -> None:
        """Count some more documents."""
        first = len(self._ids)
        self._ids += [entry.id.encode(errors="surrogatepass") for entry in batch]
        for name in dict.fromkeys(field for entry in batch for field in entry.fields):
            if name not in self._fields:
                self._fields[name] = Counting(self._setup)
        for name, field in self._fields.items():
            field.take(first, [entry.fields.get(name, "") for entry in batch])

    def memory(self) -> int:
        """Return about how many bytes the block takes at its peak, when inverted."""
        field_bytes = sum(field.memory() for field in self._fields.values())
        return field_bytes + _PER_DOCUMENT * len(self._ids)

    def write(self, folder: Path) -> None:
        """Invert the block and write it as a segment."""
        with SegmentWriter(folder) as writer:
            for name in list(self._fields):
                writer.field(name, positions=self._setup.positions)
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


#: What a build needs beside the block: batches of text, tables that grow, buffers.
_BESIDE = 14 << 20
_LEAST = 32 << 20
_LARGEST_BATCH = 8 << 20


@dataclass(frozen=True, slots=True)
class Setup:
    """How documents are indexed.

    fields : the fields to index, None for all there are;  memory : bytes;
    block : documents in a block at most, None for as many as fit the memory.
    """

    analyzer: Analyzer
    fields: Sequence[str] | None = None
    positions: bool = False
    memory: int = 512 * 10**6
    block: int | None = None

    def __post_init__(self) -> None:
        if self.memory < _LEAST:
            raise Mistake(
                f"memory is {self.memory} bytes: building needs at least {_LEAST}"
            )

    @property
    def batch(self) -> int:
        """Characters of text that are counted together."""
        return min(self.memory // 16, _LARGEST_BATCH)

    @property
    def merging(self) -> int:
        """Bytes of lists that are held while blocks are merged."""
        return max(self.memory - _BESIDE, _LEAST) // 2

    def is_full(self, block: CountedBlock) -> bool:
        """Say whether the block must be written before more documents come."""
        if self.block is not None:
            return len(block) >= self.block
        return block.memory() + _BESIDE + 3 * self.batch > self.memory


def build_segment(
    stream: Iterable[IndexEntry], setup: Setup, place: Callable[[], Path]
) -> Segment:
    """Index a stream of documents as one segment: blocks, merged in the end.

    ``place`` gives a new folder each time. How many blocks there are does not change
    the result by a byte, nor its name.
    """
    blocks: list[Path] = []
    block = CountedBlock(setup)
    size = 1 if setup.block else setup.batch
    for batch in batches(stream, size, lambda entry: entry.size() + 64):
        block.take(batch)
        batch.clear()
        if setup.is_full(block):
            blocks.append(place())
            block.write(blocks[-1])
            block = CountedBlock(setup)
    if len(block) or not blocks:
        blocks.append(place())
        block.write(blocks[-1])
    del block
    if len(blocks) == 1:
        return Segment(blocks[0])
    parts = [SegmentPart(Segment(folder), None) for folder in blocks]
    folder = place()
    merge_segments(parts, folder, positions=setup.positions, memory=setup.merging)
    del parts
    for old in blocks:
        shutil.rmtree(old)
    segment = Segment(folder)
    segment.move(blocks[0])
    return segment


class SegmentRange(NamedTuple):
    """Documents ``first`` to before ``last`` of the segment in a folder."""

    folder: Path
    first: int
    last: int


def require_shards(shards: int | None) -> int:
    """Return the number of segments to make: one by default."""
    if shards is None:
        return 1
    if shards < 1:
        raise Mistake(f"shards is {shards}: give at least one")
    return shards


def shard_pieces(
    segments: Sequence[tuple[Path, int]], shards: int
) -> list[list[SegmentRange]]:
    """Say what each shard is made of; where documents are too few, shards are, too.

    segments : the folder of each, and how many documents it has.

    >>> [[p[1:] for p in s] for s in shard_pieces([(Path("a"), 3), (Path("b"), 2)], 2)]
    [[(0, 2)], [(2, 3), (0, 2)]]
    """
    bounds = np.cumsum([0, *(n for _, n in segments)]).tolist()
    total = bounds[-1]
    edges = sorted({total * at // shards for at in range(shards + 1)})
    return [
        [
            SegmentRange(folder, max(low - start, 0), min(high, end) - start)
            for (folder, _), (start, end) in zip(
                segments, pairwise(bounds), strict=True
            )
            if start < high and end > low
        ]
        for low, high in pairwise(edges)
    ]


def merge_pieces(
    pieces: Iterable[SegmentRange], folder: Path, setup: Setup, fields: Sequence[str]
) -> None:
    """Write pieces, in order, as one segment that has these fields."""
    parts = []
    for at, first, last in pieces:
        segment, alive = Segment(at), None
        if last - first < segment.n_items:
            alive = np.zeros(segment.n_items, np.bool_)
            alive[first:last] = True
        parts.append(SegmentPart(segment, alive))
    merge_segments(
        parts, folder, positions=setup.positions, memory=setup.merging, fields=fields
    )


def refuse_twins(segments: Iterable[Path]) -> None:
    """Refuse an id that two documents have, also of different segments.

    Memory: some 2¹⁷ keys at a time.
    """
    parts = [SegmentPart(Segment(folder), None) for folder in segments]
    for keys, numbers in merged_keys(parts):
        ordered(keys, numbers, lambda number: id_of(parts, number))


def build_segments(
    stream: Iterable[IndexEntry], setup: Setup, folder: Path, shards: int | None = None
) -> list[Segment]:
    """Index a stream of documents as the segments of a folder: one, or ``shards``."""
    n_shards = require_shards(shards)
    if n_shards == 1:
        return [build_segment(stream, setup, lambda: new_segment(folder))]
    aside = folder / f"{PARTS}here"
    shutil.rmtree(aside, ignore_errors=True)
    whole = build_segment(stream, setup, lambda: new_segment(aside))
    segments = []
    for pieces in shard_pieces([(whole.folder, whole.n_items)], n_shards):
        place = new_segment(folder)
        merge_pieces(pieces, place, setup, list(whole.fields))
        segments.append(Segment(place))
    shutil.rmtree(aside)
    return segments


#: Texts wait in memory until they take this share of what there is.
SHARE = 4


class Changes:
    """What is to be committed: segments, marks, and documents not yet in a segment.

    memory : bytes that may be used;  base : the generation that is changed; where
    another process has moved on since, that of the process.
    """

    def __init__(self, path: Path, memory: int, base: Snapshot) -> None:
        self.path, self.base = path, base
        self.waiting: dict[str, IndexEntry] = {}
        self.size = 0
        self._lock = Lock(path)
        try:
            if open_number(path) != base.number:
                self.base = open_snapshot(path)
            settings = self.base.settings
            analyzer = Analyzer.parse(settings["analyzer"])
            fields, positions = settings["fields"], settings["positions"]
            self.setup = Setup(analyzer, fields, positions, memory)
        except BaseException:
            self._lock.free()
            raise
        self.parts = list(self.base.parts)

    def add(self, stream: Iterable[IndexEntry]) -> None:
        """Take new documents in; refuse an id that is there."""
        for entry in stream:
            if entry.id in self.waiting or self._find(entry.id) is not None:
                raise Mistake(
                    f"document {entry.id!r} is already there: replace it, or delete it "
                    "first (documents given before it are added)"
                )
            self._wait(entry)

    def replace(self, stream: Iterable[IndexEntry]) -> None:
        """Take documents in, instead of those with the same ids, if there are any."""
        for entry in stream:
            self._remove(entry.id)
            self._wait(entry)

    def delete(self, ids: Iterable[str]) -> None:
        """Delete documents; an unknown id is refused before anything is done."""
        unique_ids = list(dict.fromkeys(ids))
        for name in unique_ids:
            if name not in self.waiting and self._find(name) is None:
                raise Mistake(f"document {name!r} is not there: nothing was deleted")
        for name in unique_ids:
            self._remove(name)

    def merge(self) -> None:
        """Make one segment of all."""
        self._flush()
        if len(self.parts) > 1 or any(p.alive is not None for p in self.parts):
            self._merge(slice(0, len(self.parts)))

    def commit(
        self, tidy: Callable[[list[SegmentPart]], list[SegmentPart]] | None = None
    ) -> Snapshot:
        """Write everything, put it in service, and let others change the index.

        tidy : what becomes of the segments; None: they are merged as the policy says.
        """
        self._flush()
        if tidy is not None:
            self.parts = tidy(self.parts)
        self.parts = [part for part in self.parts if part.kept()]
        while tidy is None and (span := to_merge(self.parts)) is not None:
            self._merge(span)
        snapshot = commit(self.path, self.parts, self.base.settings)
        self.discard()
        return snapshot

    def discard(self) -> None:
        """Forget what was not committed."""
        self.parts, self.waiting, self.size = [], {}, 0
        self._lock.free()

    def _wait(self, entry: IndexEntry) -> None:
        self.waiting[entry.id] = entry
        self.size += entry.size() + 256
        if self.size > self.setup.memory // SHARE:
            self._flush()

    def _find(self, name: str) -> tuple[int, int] | None:
        """Return the segment and the number in it of a document that is alive."""
        for at, (segment, alive) in enumerate(self.parts):
            number = segment.ids.find(name)
            if number is not None and (alive is None or alive[number]):
                return at, number
        return None

    def _remove(self, name: str) -> None:
        if self.waiting.pop(name, None) is not None:
            return
        place = self._find(name)
        if place is None:
            return
        at, number = place
        alive = self.parts[at].mask()
        if any(alive is part.alive for part in self.base.parts):
            alive = alive.copy()  # readers keep theirs
        alive[number] = False
        self.parts[at] = SegmentPart(self.parts[at].segment, alive)

    def _flush(self) -> None:
        if not self.waiting:
            return
        entries = iter(list(self.waiting.values()))
        self.waiting, self.size = {}, 0
        segment = build_segment(entries, self.setup, lambda: new_segment(self.path))
        self.parts.append(SegmentPart(segment, None))

    def _merge(self, which: slice) -> None:
        """Replace some neighbouring segments by one."""
        folder = new_segment(self.path)
        merge_segments(
            self.parts[which],
            folder,
            positions=self.setup.positions,
            memory=self.setup.memory // 4,
        )
        self.parts[which] = [SegmentPart(Segment(folder), None)]

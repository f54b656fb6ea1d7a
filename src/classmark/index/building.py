"""Documents become segments, within a stated memory."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from classmark.index.blocks import Block
from classmark.index.documents import Entry, batches
from classmark.index.merging import Part, merge_segments
from classmark.index.segments import Segment
from classmark.problems import Mistake
from classmark.text.analysis import Analyzer

#: What a build needs beside the block: batches of text, tables that grow, buffers.
_BESIDE = 14 << 20
_LEAST = 32 << 20
_LARGEST_BATCH = 8 << 20
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?\s*", re.IGNORECASE)


def bytes_of(memory: str | int) -> int:
    """Read an amount of memory.

    >>> bytes_of("64MB"), bytes_of("0.5 GiB"), bytes_of(100_000_000)
    (64000000, 536870912, 100000000)
    """
    if isinstance(memory, int) and not isinstance(memory, bool):
        size = memory
    else:
        match = _SIZE.fullmatch(memory) if isinstance(memory, str) else None
        if match is None:
            raise Mistake(f"memory is {memory!r}: give for instance '512MB' or '2GB'")
        unit = _UNITS[match[2].upper()]
        binary = 1024 ** list(_UNITS).index(match[2].upper())
        size = int(float(match[1]) * (binary if match[3] else unit))
    if size < 0:
        raise Mistake(f"memory is {memory!r}: give for instance '512MB' or '2GB'")
    return size


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

    def is_full(self, block: Block) -> bool:
        """Say whether the block must be written before more documents come."""
        if self.block is not None:
            return len(block) >= self.block
        return block.memory() + _BESIDE + 3 * self.batch > self.memory

    def new_block(self) -> Block:
        """Return an empty block."""
        return Block(self.analyzer, self.fields or (), positions=self.positions)


def build_segment(
    stream: Iterable[Entry], setup: Setup, place: Callable[[], Path]
) -> Segment:
    """Index a stream of documents as one segment: blocks, merged in the end.

    ``place`` gives a new folder each time. How many blocks there are does not change
    the result by a byte, nor its name.
    """
    blocks: list[Path] = []
    block = setup.new_block()
    groups = _singly(stream) if setup.block else batches(stream, setup.batch)
    for batch in groups:
        block.take(batch)
        batch.clear()
        if setup.is_full(block):
            blocks.append(_written(block, place()))
            block = setup.new_block()
    if len(block) or not blocks:
        blocks.append(_written(block, place()))
    del block
    return _joined(blocks, setup, place)


def _singly(stream: Iterable[Entry]) -> Iterable[list[Entry]]:
    return ([entry] for entry in stream)


def _written(block: Block, folder: Path) -> Path:
    block.write(folder)
    return folder


def _joined(blocks: list[Path], setup: Setup, place: Callable[[], Path]) -> Segment:
    """Merge blocks, and remove them; the place of the first is that of all."""
    if len(blocks) == 1:
        return Segment(blocks[0])
    parts = [Part(Segment(folder), None) for folder in blocks]
    folder = place()
    merge_segments(parts, folder, positions=setup.positions, memory=setup.merging)
    del parts
    for old in blocks:
        shutil.rmtree(old)
    segment = Segment(folder)
    segment.move(blocks[0])
    return segment

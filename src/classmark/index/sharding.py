"""A collection in several segments: each has the next n/N documents, in order.

Where they are cut depends on the documents alone, so that however the collection was
built, on one machine or on many, the segments are the same byte by byte.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from classmark.index.build import Entry, Setup, build_segment
from classmark.index.merge import Part, merge_segments, merged_keys
from classmark.index.segment import Segment
from classmark.index.snapshot import PARTS, new_segment
from classmark.problems import Mistake


class Piece(NamedTuple):
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
) -> list[list[Piece]]:
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
            Piece(folder, max(low - start, 0), min(high, end) - start)
            for (folder, _), (start, end) in zip(
                segments, pairwise(bounds), strict=True
            )
            if start < high and end > low
        ]
        for low, high in pairwise(edges)
    ]


def merge_pieces(
    pieces: Iterable[Piece], folder: Path, setup: Setup, fields: Sequence[str]
) -> None:
    """Write pieces, in order, as one segment that has these fields."""
    parts = [_part(piece) for piece in pieces]
    merge_segments(
        parts,
        folder,
        positions=setup.positions,
        memory=setup.merging,
        fields=fields,
    )


def _part(piece: Piece) -> Part:
    segment = Segment(piece.folder)
    if piece.first == 0 and piece.last == segment.n_items:
        return Part(segment, None)
    alive = np.zeros(segment.n_items, np.bool_)
    alive[piece.first : piece.last] = True
    return Part(segment, alive)


def refuse_twins(segments: Iterable[Path]) -> None:
    """Refuse an id that two documents have, also of different segments.

    Memory: some 2¹⁷ keys at a time.
    """
    from classmark.index.ids import ordered
    from classmark.index.merge import id_of

    parts = [Part(Segment(folder), None) for folder in segments]
    for keys, numbers in merged_keys(parts):
        ordered(keys, numbers, lambda number: id_of(parts, number))


def build_segments(
    stream: Iterable[Entry], setup: Setup, folder: Path, shards: int | None = None
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

"""Segments become one, range of terms after range of terms, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Ints, bounds_of, zeros
from classmark.corpus.vocabulary import order_terms
from classmark.index.kernels_postings import GONE, append_lists, append_places
from classmark.index.postings import ColumnReader
from classmark.index.segment import (
    Cursor,
    Inverted,
    SegmentPart,
    SegmentWriter,
    TermRange,
)

_IDS, _KEYS, _PER_HELD = 1 << 14, 1 << 17, 48


class MergeSource(NamedTuple):
    """Some terms of a part, and what becomes of its documents' numbers."""

    stretch: TermRange
    shift: int
    renumbered: NDArray[np.uint32]


def merge_segments(
    parts: Sequence[SegmentPart],
    folder: Path,
    *,
    positions: bool,
    memory: int,
    fields: Sequence[str] | None = None,
    watch: Callable[[], object] = lambda: None,
) -> None:
    """Write the documents of all parts that are alive, in order, as one segment.

    The result is what one block of all those documents gives, byte by byte. Lists are
    held for as many terms at a time as ``memory`` bytes allow, but at least for one: so
    what is held is at most ``memory`` or, if more, 20 bytes for each document of the
    commonest term (with positions, and 10 for each of its occurrences); and 4 bytes for
    each document of a part that has deleted ones.

    fields : the fields it has, None for those of the parts, as they come.
    watch : called between the ranges of terms; what it raises ends the merging, and
        nothing is left of it.
    """
    with SegmentWriter(folder) as writer:
        all_fields = [name for part in parts for name in part.segment.fields]
        for name in fields or dict.fromkeys(all_fields):
            writer.field(name, positions=positions)
            for part in parts:
                writer.lengths(part.living(part.lengths(name)))
                part.segment.let_go()
            for inverted in _merged(parts, name, memory, places=positions):
                writer.lists(inverted)
                watch()
                for part in parts:
                    part.segment.let_go()
        for part in parts:
            _copy_ids(part, writer)
            part.segment.let_go()
        for keys, numbers in merged_keys(parts):
            writer.keys(keys, numbers, lambda number: id_of(parts, number))
            watch()


def id_of(parts: Sequence[SegmentPart], number: int) -> str:
    """Return the id of a document by its number after merging."""
    for part in parts:
        if number < part.kept():
            alive = part.alive
            at = number if alive is None else int(np.flatnonzero(alive)[number])
            return part.segment.ids[at]
        number -= part.kept()
    raise IndexError(number)


def _copy_ids(part: SegmentPart, writer: SegmentWriter) -> None:
    arrays, at, done = part.segment.arrays, 0, 0
    column = ColumnReader(arrays["id-sizes"], part.segment.n_items)
    while len(sizes := column.read(_IDS)):
        size = int(sizes.sum())
        names, at = arrays["ids"][at : at + size], at + size
        if part.alive is not None:
            alive = part.alive[done : done + len(sizes)]
            done += len(sizes)
            names, sizes = names[np.repeat(alive, sizes)], sizes[alive]
        writer.ids(names.tobytes(), sizes)


def merged_keys(
    parts: Sequence[SegmentPart],
) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.uint32]]]:
    """Merge the orders in which ids are found, one range of keys after another."""
    total = sum(part.kept() for part in parts)
    pieces = total // _KEYS + 1
    edges = [(n << 32) // pieces for n in range(pieces + 1)]
    for low, high in pairwise(edges):
        keys, numbers, shift = [], [], 0
        for part in parts:
            arrays = part.segment.arrays
            mine, order = arrays["id-keys"], arrays["id-order"]
            first = int(np.searchsorted(mine, np.uint32(low)))
            last = int(np.searchsorted(mine, np.uint32(high - 1), side="right"))
            mine, order = np.array(mine[first:last]), np.array(order[first:last])
            if part.alive is not None:
                order = part.renumbered()[order]
                mine, order = mine[order != GONE], order[order != GONE]
            keys.append(mine)
            numbers.append(order + np.uint32(shift))
            shift += part.kept()
        yield np.concatenate(keys), np.concatenate(numbers)


def _merged(
    parts: Sequence[SegmentPart], name: str, memory: int, *, places: bool
) -> Iterator[Inverted]:
    """Merge the lists of a field, some terms at a time."""
    having, shift = [], 0
    for part in parts:
        if name in part.segment.fields:
            having.append((part.segment.fields[name], shift, part.renumbered()))
        shift += part.kept()
    size = memory // (4 * _PER_HELD * max(len(having), 1))
    cursors = [Cursor(field, size) for field, _, _ in having]
    while any(len(cursor.stretch) for cursor in cursors):
        sources = [
            MergeSource(cursor.stretch, shift, renumbered)
            for cursor, (_, shift, renumbered) in zip(cursors, having, strict=True)
        ]
        stops = _stops([cursor.stretch for cursor in cursors], memory)
        yield join(sources, [slice(0, stop) for stop in stops], places=places)
        for cursor, stop in zip(cursors, stops, strict=True):
            cursor.advance(stop)


def _stops(stretches: list[TermRange], memory: int) -> list[int]:
    """Say how far to go in each so that the lists fit, all up to one term."""
    ends = []
    for stretch in stretches:
        far = stretch.reach(0, memory // len(stretches)) if len(stretch) else 0
        if far < len(stretch):
            ends.append(stretch.term(far))
        elif int(stretch.bounds[-1]) < len(stretch.field.terms):
            ends.append(stretch.term(far - 1) + b"\0")  # the least that comes after it
    if not ends:
        return [len(stretch) for stretch in stretches]
    return [stretch.place(min(ends)) for stretch in stretches]


def join(
    sources: Sequence[MergeSource], runs: Sequence[slice], *, places: bool
) -> Inverted:
    """Join runs of terms, one of each source, with their lists; drop empty lists."""
    pairs = list(zip(sources, runs, strict=True))
    vocabulary, number = order_terms([s.stretch.terms(run) for s, run in pairs])

    def bounds(sizes: list[Ints]) -> Ints:
        """Where the list of each term begins, of which sources have these sizes."""
        total = np.bincount(number, np.concatenate(sizes), len(vocabulary))
        return bounds_of(total.astype(np.int64))

    edges = bounds([s.stretch.df[run] for s, run in pairs])
    postings, ends = zeros(int(edges[-1]), np.uint64), edges[:-1].copy()
    inverted = Inverted(vocabulary.blob, postings, edges[:-1], ends)
    if places:
        edges = bounds([s.stretch.cf[run] for s, run in pairs])
        gaps, gap_ends = zeros(int(edges[-1]), np.uint32), edges[:-1].copy()
        inverted = inverted._replace(places=(gaps, edges[:-1], gap_ends))
    numbers = np.split(number, np.cumsum([run.stop - run.start for run in runs])[:-1])
    for (stretch, shift, renumbered), run, mine in zip(
        sources, runs, numbers, strict=True
    ):
        lists = tuple(stretch.lists(run))
        append_lists(lists, mine, shift, renumbered, ends, postings)
        if places:
            append_places(lists, mine, renumbered, stretch.gaps(run), gap_ends, gaps)
    return _without_empty(inverted)


def _without_empty(inverted: Inverted) -> Inverted:
    """Leave the terms out that only deleted documents had."""
    nonempty = inverted.ends > inverted.begins
    if nonempty.all():
        return inverted
    closing = np.flatnonzero(inverted.terms == ord("\n"))
    sizes = np.diff(closing, prepend=-1)
    terms = inverted.terms[np.repeat(nonempty, sizes)]
    bounds = inverted.begins[nonempty], inverted.ends[nonempty]
    places = inverted.places
    if places is not None:
        places = places[0], places[1][nonempty], places[2][nonempty]
    return Inverted(terms, inverted.postings, *bounds, places)

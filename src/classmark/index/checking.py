"""Check an index on disk, to the last byte."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from classmark.arrays import Ints
from classmark.index.postings import SLACK, Lists
from classmark.index.segment import Segment, SegmentField
from classmark.index.snapshot import lost_by, open_snapshot, runs_of
from classmark.problems import DamagedFolder

_REMEDY = "restore the index from a backup, or build it again"


class IndexCheck(NamedTuple):
    """How much was read, all of it intact."""

    documents: int
    segments: int
    postings: int
    bytes: int


def check(path: Path) -> IndexCheck:
    """Read every byte of the generation in service, and say how much there was.

    Raises ``DamagedFolder`` if a byte is not as it was written, or if the content
    contradicts itself.
    """
    snapshot = open_snapshot(path)
    pointer = path / "CURRENT"
    if pointer.read_bytes() != f"{snapshot.number:06d}\n".encode():
        raise DamagedFolder(f"{pointer} is not as it was written: {_REMEDY}")
    postings = 0
    for part, lost in zip(snapshot.parts, snapshot.lost, strict=True):
        postings += _check_segment(part.segment)
        recomputed = lost_by(part)
        for name, now in recomputed.items():
            for at, key in enumerate(now._fields):
                same = np.array_equal(lost[name][at], now[at])
                _require(same, part.segment, f"lost {key} of {name}")
    ids = Counter(name for part in snapshot.parts for name in part.ids())
    for name, times in ids.items():
        if times > 1:
            raise DamagedFolder(f"{path}: two documents {name!r}: {_REMEDY}")
    folders = [path / f"{snapshot.number:06d}"]
    folders += [part.segment.folder for part in snapshot.parts]
    size = sum(f.stat().st_size for folder in folders for f in folder.iterdir())
    n_alive = sum(part.kept() for part in snapshot.parts)
    return IndexCheck(n_alive, len(snapshot.parts), postings, size)


def _check_segment(segment: Segment) -> int:
    """Check the fields of a segment and the order of its ids; count its postings."""
    ids = segment.ids
    order = np.sort(ids.order)
    _require(np.array_equal(order, np.arange(segment.n_items)), segment, "id-order")
    _require(bool((ids.keys[1:] >= ids.keys[:-1]).all()), segment, "id-keys")
    _require(int(ids.bounds[-1]) == len(ids.packed), segment, "ids")
    _require(all(ids.find(ids[n]) == n for n in range(segment.n_items)), segment, "ids")
    return sum(
        _check_field(segment, name, field) for name, field in segment.fields.items()
    )


def _check_field(segment: Segment, name: str, field: SegmentField) -> int:
    """Check one field; return how many postings it has."""
    newlines = int(np.count_nonzero(field.terms == ord("\n")))
    _require(newlines == field.n_terms, segment, f"terms of {name}")
    _require(len(field.lengths) == segment.n_items, segment, f"lengths of {name}")
    lengths = np.zeros(segment.n_items, np.int64)
    before, first, stop = b"", 0, 0
    for stretch, run in runs_of(field):
        for number in range(run.stop):
            term = stretch.term(number)
            _require(term > before, segment, f"order of the terms of {name}")
            before = term
        lists = stretch.lists(run)
        _check_lists(segment, name, lists, field.cf[first : first + run.stop])
        if field.has_places:
            occurrences = int(lists.counts.sum(dtype=np.int64))
            same = len(stretch.gaps(run)) == occurrences
            _require(same, segment, f"places of {name}")
        first, stop = first + run.stop, int(stretch.starts[run.stop])
        added = np.bincount(lists.items, lists.counts, minlength=segment.n_items)
        lengths += added.astype(np.int64)
    content = field.stored("postings")
    _require(stop + SLACK == len(content), segment, f"sizes of {name}")
    _require(np.array_equal(lengths, field.lengths), segment, f"lengths of {name}")
    return int(field.whole.df.sum())


def _check_lists(segment: Segment, name: str, lists: Lists, cf: Ints) -> None:
    """Items increase and exist, lists are not empty, counts add up."""
    items = lists.items.astype(np.int64)
    _require(bool((lists.ends > lists.begins).all()), segment, f"df of {name}")
    _require(bool((items < segment.n_items).all()), segment, f"items of {name}")
    step = np.diff(items)
    step[lists.begins[1:] - 1] = 1
    _require(bool((step > 0).all()), segment, f"order of the items of {name}")
    _require(bool((lists.counts > 0).all()), segment, f"counts of {name}")
    total = np.add.reduceat(lists.counts, lists.begins, dtype=np.int64)
    _require(np.array_equal(total, cf), segment, f"cf of {name}")


def _require(holds: bool, segment: Segment, subject: str) -> None:
    if not holds:
        raise DamagedFolder(f"{segment.folder}: {subject} do not agree: {_REMEDY}")

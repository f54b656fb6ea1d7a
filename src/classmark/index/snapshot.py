"""A generation of an index: its segments, the documents deleted, and its fields.

CURRENT names the generation in service; it is moved, by a rename, when the next one is
complete. Segments and generations are never changed, so a reader keeps what it opened.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from classmark.arrays import Array, Bools, Ints, bounds_of, zeros
from classmark.corpus.documents import order_terms
from classmark.index.kernels_postings import append_lists, places_of, tally_gone
from classmark.index.postings import SLACK, Field, Lists, TermPlaces
from classmark.index.segment import (
    Cursor,
    MergeSource,
    Segment,
    SegmentField,
    SegmentPart,
    TermRange,
)
from classmark.problems import DamagedFolder, Mistake
from classmark.storage import Generations, locked_file, make_folder, open_folder, save

FORMAT, VERSION = "classmark-index", 1
_PREFIX, _LOCK = "segment-", ".lock"
#: What working folders of a build are called; they end with it.
PARTS = ".parts-"
#: The folder in which segments are merged in the background.
ASIDE = "merging"
_TRIES = 5
_RANGE, _TERMS = 1 << 22, 1 << 15


class Lost(NamedTuple):
    """What deleted documents take from the statistics of a field of a segment.

    terms : int64, the numbers concerned;  df, cf : int64, what to subtract.
    """

    terms: Ints
    df: Ints
    cf: Ints


@dataclass(frozen=True, eq=False)
class Snapshot:
    """An opened generation; ``lost`` has, for each segment, its fields by name."""

    settings: dict[str, Any]
    parts: tuple[SegmentPart, ...]
    lost: tuple[dict[str, Lost], ...]
    number: int

    @property
    def n_items(self) -> int:
        """Documents, deleted ones included."""
        return sum(part.segment.n_items for part in self.parts)

    def fields(self) -> list[str]:
        """Return the names of all fields, in order of appearance."""
        declared = self.settings["fields"] or []
        stored = [name for part in self.parts for name in part.segment.fields]
        return list(dict.fromkeys([*declared, *stored]))


def lost_by(part: SegmentPart) -> dict[str, Lost]:
    """Count what a segment's deleted documents take from each field's statistics."""
    if part.alive is None:
        return {}
    lost_fields, none, gone = {}, np.empty(0, np.int64), ~part.alive
    for name, field in part.segment.fields.items():
        pieces, first = [Lost(none, none, none)], 0
        for stretch, run in runs_of(field):
            df, cf = np.zeros(run.stop, np.int64), np.zeros(run.stop, np.int64)
            tally_gone(tuple(stretch.lists(run)), gone, df, cf)
            affected = np.flatnonzero(df)
            pieces.append(Lost(affected + first, df[affected], cf[affected]))
            first += run.stop
        lost_fields[name] = Lost(*map(np.concatenate, zip(*pieces, strict=True)))
    return lost_fields


def runs_of(field: SegmentField) -> Iterator[tuple[TermRange, slice]]:
    """Go over a field in runs of terms whose lists, decoded, are some million bytes."""
    cursor = Cursor(field, _TERMS)
    while len(stretch := cursor.stretch):
        run = slice(0, stretch.reach(0, _RANGE))
        yield stretch, run
        cursor.advance(run.stop)


def open_snapshot(path: Path) -> Snapshot:
    """Open the generation in service, also while another process moves on."""
    for left in reversed(range(_TRIES)):
        pointer = _pointer(path)
        try:
            current = Generations(path).current()
            if current is None:
                raise Mistake(f"{path} holds no index: build one there first")
            return _opened(path, current)
        except (DamagedFolder, FileNotFoundError):
            if not left or pointer == _pointer(path):
                raise
    raise DamagedFolder(f"{path} changes faster than it can be opened: try again")


def open_number(path: Path) -> int:
    """Return the number of the generation in service, 0 before the first."""
    current = Generations(path).current()
    return 0 if current is None else int(current.name)


def open_generation(path: Path, number: int) -> Snapshot:
    """Open a generation by its number, in service or not, while it is still there."""
    try:
        return _opened(path, path / f"{number:06d}")
    except (DamagedFolder, FileNotFoundError) as problem:
        if not path.is_dir():
            raise Mistake(
                f"{path} is not there for a worker: put the index where all machines "
                "have it under the same name"
            ) from problem
        if _pointer(path).decode().strip() == f"{number:06d}":
            raise
        raise Mistake(
            f"{path} was changed, and generation {number} is gone: open it again"
        ) from problem


def _pointer(path: Path) -> bytes:
    pointer = path / "CURRENT"
    return pointer.read_bytes() if pointer.exists() else b""


def _opened(path: Path, current: Path) -> Snapshot:
    saved = open_folder(current, FORMAT, VERSION)
    parts, lost = [], []
    for number, segment_name in enumerate(saved.settings["segments"]):
        segment, alive, lost_fields = Segment(path / segment_name), None, {}
        packed = saved.arrays.get(f"{number}-alive")
        if packed is not None:
            alive = np.unpackbits(packed, count=segment.n_items).astype(np.bool_)
            for at, name in enumerate(segment.fields):
                keys = (f"{number}-{at}-lost-{key}" for key in Lost._fields)
                lost_fields[name] = Lost(*(saved.arrays[key] for key in keys))
        parts.append(SegmentPart(segment, alive))
        lost.append(lost_fields)
    settings = {key: saved.settings[key] for key in ("analyzer", "fields", "positions")}
    return Snapshot(settings, tuple(parts), tuple(lost), int(current.name))


def commit(path: Path, parts: list[SegmentPart], settings: dict[str, Any]) -> Snapshot:
    """Write the next generation, put it in service and remove what it replaces."""
    lost = [lost_by(part) for part in parts]
    arrays: dict[str, Array] = {}
    for number, (part, lost_fields) in enumerate(zip(parts, lost, strict=True)):
        if part.alive is not None:
            arrays[f"{number}-alive"] = np.packbits(part.alive)
        for at, statistics in enumerate(lost_fields.values()):
            for key, values in statistics._asdict().items():
                arrays[f"{number}-{at}-lost-{key}"] = values
    generations = Generations(path)
    folder = generations.next()
    names = [part.segment.folder.name for part in parts]
    save(folder, FORMAT, VERSION, arrays, settings | {"segments": names})
    generations.put_in_service(folder)
    sweep(path)
    return Snapshot(settings, tuple(parts), tuple(lost), int(folder.name))


def new_segment(path: Path) -> Path:
    """Return where the next segment goes."""
    numbers = [p.name.lstrip(".")[len(_PREFIX) :][:6] for p in _segments(path)]
    return path / f"{_PREFIX}{max(map(int, numbers), default=0) + 1:06d}"


def sweep(path: Path, aside: str = "") -> None:
    """Remove what the generation in service does not need; the lock must be held.

    aside : the working folder that is still used, of all there are.
    """
    current = Generations(path).current()
    needed: set[str] = set()
    if current is not None:
        needed = {current.name}
        needed |= set(open_folder(current, FORMAT, VERSION).settings["segments"])
    old = {f"{number:06d}" for number in Generations(path).numbers()}
    for folder in [*_segments(path), *(path / name for name in old)]:
        if folder.name not in needed:
            shutil.rmtree(folder)
    for unfinished in path.glob(".*.writing"):
        shutil.rmtree(unfinished)
    for left in path.glob(f"{PARTS}*"):
        if left.name != aside:
            shutil.rmtree(left, ignore_errors=True)  # a lost worker may write there


def _segments(path: Path) -> list[Path]:
    return [*path.glob(f"{_PREFIX}*"), *path.glob(f".{_PREFIX}*")]


class Lock:
    """Whoever changes an index holds this; the system frees it when a process dies."""

    def __init__(self, path: Path) -> None:
        make_folder(path)
        self._file = locked_file(path / _LOCK)
        if self._file is None:
            raise Mistake(
                f"{path} is being changed by another process, or by another Index "
                "that has not committed: wait until it has, then try again"
            )

    def free(self) -> None:
        """Let others change the index."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()


def try_lock(path: Path) -> Lock | None:
    """Return the lock of a folder; None: another has it."""
    try:
        return Lock(path)
    except Mistake:
        return None


def clear_aside(path: Path) -> None:
    """Remove what a killed merger left aside, unless one is at work there."""
    lock = try_lock(path / ASIDE) if (path / ASIDE).exists() else None
    if lock is not None:
        with lock:
            remove_segments(path / ASIDE)


def remove_segments(aside: Path) -> None:
    """Remove all segments of a folder, finished or not; its lock must be held."""
    for left in aside.glob("*segment*"):
        shutil.rmtree(left)


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
        segment, ids = part.segment, part.segment.ids
        every = np.arange(segment.n_items)
        _require(np.array_equal(np.sort(ids.order), every), segment, "id-order")
        _require(bool((ids.keys[1:] >= ids.keys[:-1]).all()), segment, "id-keys")
        _require(int(ids.bounds[-1]) == len(ids.packed), segment, "ids")
        _require(all(ids.find(ids[n]) == n for n in range(len(every))), segment, "ids")
        for name, field in segment.fields.items():
            postings += _check_field(segment, name, field)
        recomputed = lost_by(part)
        for name, now in recomputed.items():
            for at, key in enumerate(now._fields):
                same = np.array_equal(lost[name][at], now[at])
                _require(same, part.segment, f"lost {key} of {name}")
    names = Counter(name for part in snapshot.parts for name in part.ids())
    for name, times in names.items():
        if times > 1:
            raise DamagedFolder(f"{path}: two documents {name!r}: {_REMEDY}")
    folders = [path / f"{snapshot.number:06d}"]
    folders += [part.segment.folder for part in snapshot.parts]
    size = sum(f.stat().st_size for folder in folders for f in folder.iterdir())
    n_alive = sum(part.kept() for part in snapshot.parts)
    return IndexCheck(n_alive, len(snapshot.parts), postings, size)


def _check_field(segment: Segment, name: str, field: SegmentField) -> int:
    """Check one field; return how many postings it has."""
    newlines = int(np.count_nonzero(field.terms == ord("\n")))
    _require(newlines == field.n_terms, segment, f"terms of {name}")
    _require(len(field.lengths) == segment.n_items, segment, f"lengths of {name}")
    lengths = np.zeros(segment.n_items, np.int64)
    before, stop = b"", 0
    for stretch, run in runs_of(field):
        for number in range(run.stop):
            term = stretch.term(number)
            _require(term > before, segment, f"order of the terms of {name}")
            before = term
        lists = stretch.lists(run)
        _check_lists(segment, name, lists, stretch.cf[run])
        if field.has_places:
            occurrences = int(lists.counts.sum(dtype=np.int64))
            same = len(stretch.gaps(run)) == occurrences
            _require(same, segment, f"places of {name}")
        stop = int(stretch.starts[run.stop])
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


_PER_POSTING = 8
_NONE = np.empty(0, np.uint32)


class StoredField(Field):
    """A field of the segments of an index on disk.

    Where all postings, decoded, fit the memory, they are decoded once and for all;
    else the lists that are asked for are.

    within : which segments' documents are read, numbered from 0; the numbers of terms
    and all statistics are still those of all segments. None: all are.
    """

    is_sorted = True

    def __init__(
        self, snapshot: Snapshot, name: str, memory: int, within: slice | None = None
    ) -> None:
        parts = snapshot.parts[within or slice(None)]
        self.sources, shift = list[MergeSource](), 0
        for part in parts:
            if name in part.segment.fields:
                whole = part.segment.fields[name].whole
                numbers = part.renumbered(close_gaps=False)
                self.sources.append(MergeSource(whole, shift, numbers))
            shift += part.segment.n_items
        self.alive: Bools | None = None
        if any(part.alive is not None for part in parts):
            self.alive = np.concatenate([part.mask() for part in parts])
        lengths = [part.lengths(name) for part in parts]
        self.lengths = np.asarray(
            lengths[0] if len(lengths) == 1 else np.concatenate([_NONE, *lengths])
        )
        self.n_alive = sum(part.kept() for part in snapshot.parts)
        self.total_length = sum(
            int(part.living(part.lengths(name)).sum(dtype=np.int64))
            for part in snapshot.parts
        )
        total = sum(int(source.stretch.df.sum()) for source in self.sources)
        self.whole: Lists | None = None
        self.room = max(0, memory - _PER_POSTING * total)
        is_single = len(parts) == 1 and self.alive is None and within is None
        fits = _PER_POSTING * total * (1 if is_single else 3) <= memory
        if is_single and fits and self.sources:
            stretch = self.sources[0].stretch
            self.blob, self.whole = stretch.field.terms, stretch.lists(slice(None))
            self.df, self.cf = stretch.df.astype(np.uint32), stretch.cf
            return
        self._refer(snapshot, name)
        if fits:
            self.whole = self.decoded(np.arange(self.n_terms))
            del self._places, self._stored

    def number(self, term: str) -> int | None:
        """Return the number of an analysed term; None: no item alive has it."""
        number = self.words.find(term.encode(errors="surrogatepass"))
        return None if number is None or not self.df[number] else number

    def decoded(self, numbers: Ints) -> Lists:
        """Decode the lists of some terms where not all are kept decoded."""
        numbers = np.asarray(numbers, np.int64)
        bounds = bounds_of(self._stored[numbers])
        postings, ends = zeros(int(bounds[-1]), np.uint64), bounds[:-1].copy()
        for source, here in zip(self.sources, self._places, strict=True):
            which = np.flatnonzero(here[numbers] >= 0)
            lists = tuple(source.stretch.lists(here[numbers[which]]))
            append_lists(lists, which, source.shift, source.renumbered, ends, postings)
        items = (postings >> np.uint64(32)).astype(np.uint32)
        return Lists(items, postings.astype(np.uint32), bounds[:-1], ends)

    def places(self, number: int) -> TermPlaces:
        """Return the token positions of a term, for phrases."""
        term = self.words[number]
        items, counts, places = [], [], []
        for source in self.sources:
            stretch = source.stretch
            here = stretch.place(term)
            if here == len(stretch) or stretch.term(here) != term:
                continue
            chosen = np.array([here], np.int64)
            lists, gaps = stretch.lists(chosen), stretch.gaps(chosen)
            spread = np.empty_like(gaps)
            places_of(lists.counts, gaps, spread)
            alive = np.ones(len(lists.items), np.bool_)
            if len(source.renumbered):
                alive = source.renumbered[lists.items] == lists.items
            items.append(lists.items[alive] + np.uint32(source.shift))
            counts.append(lists.counts[alive])
            places.append(spread[np.repeat(alive, lists.counts)])
        return TermPlaces(
            np.concatenate([_NONE, *items]),
            np.concatenate([_NONE, *places]),
            bounds_of(np.concatenate([_NONE, *counts])),
        )

    def _refer(self, snapshot: Snapshot, name: str) -> None:
        """Locate the list of each term in each segment that is read; sum df and cf."""
        having = [
            (part.segment.fields[name], lost.get(name))
            for part, lost in zip(snapshot.parts, snapshot.lost, strict=True)
            if name in part.segment.fields
        ]
        vocabulary, number = order_terms([field.terms.tobytes() for field, _ in having])
        self.blob, n_terms, first = vocabulary.blob, len(vocabulary), 0
        df, cf, self._stored = (np.zeros(n_terms, np.int64) for _ in range(3))
        read, self._places = [s.stretch.field for s in self.sources], list[Ints]()
        for field, gone in having:
            mine = number[first : first + field.n_terms]
            first, segment_df = first + field.n_terms, field.whole.df
            if any(field is other for other in read):
                here = np.full(n_terms, -1, np.int64)
                here[mine] = np.arange(len(mine))
                self._places.append(here)
                self._stored[mine] += segment_df
            df[mine] += segment_df
            cf[mine] += field.whole.cf
            if gone is not None:
                df[mine[gone.terms]] -= gone.df
                cf[mine[gone.terms]] -= gone.cf
        self.df, self.cf = df.astype(np.uint32), cf

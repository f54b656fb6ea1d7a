"""A generation of an index: its segments, and which of their documents are deleted.

CURRENT names the generation in service; it is moved, by a rename, when the next one is
complete. Segments and generations are never changed, so a reader keeps what it opened.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from classmark.arrays import Array, Ints
from classmark.index.kernels_postings import tally_gone
from classmark.index.segment import (
    Cursor,
    Segment,
    SegmentField,
    SegmentPart,
    TermRange,
)
from classmark.problems import DamagedFolder, Mistake
from classmark.storage import (
    Generations,
    locked_file,
    make_folder,
    open_folder,
    save,
)

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

"""A disk whose power may fail: what was not synced may be lost, kept, or torn.

``recorded`` watches a folder while something works in it: before every operation on
names and after every sync the whole folder is looked at. ``after_failure`` makes, for a
moment of that time, a folder as a disk could hold it: of every file, what was synced
last, and of what was written since any of the pages; of every folder, the names synced
last, and of the changes since any.
"""

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

PAGE = 512
WATCHED = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir"}


@dataclass
class Look:
    """The folder at one moment.

    names : folder's inode → name → inode;  data : inode → content of a file;  synced :
    the inode that was just synced;  site : where in the program;  promised : the last
    value that was acknowledged.
    """

    names: dict[int, dict[str, int]]
    data: dict[int, bytes]
    synced: int | None
    site: str
    promised: object


@dataclass
class Tape:
    """All looks, in order."""

    root: Path
    looks: list[Look] = field(default_factory=list)
    promised: object = None
    running: bool = False
    held: dict[int, int] = field(default_factory=dict)
    contents: dict[bytes, bytes] = field(default_factory=dict)

    def promise(self, value: object) -> None:
        """Note that somebody was told so."""
        self.promised = value
        self.look()

    def look(self, synced: int | None = None, site: str = "") -> None:
        """Look at the whole folder; inodes are held so that none is used again."""
        self.running = False
        names: dict[int, dict[str, int]] = {}
        data: dict[int, bytes] = {}
        for folder, inner, files in os.walk(self.root):
            here = names[Path(folder).stat().st_ino] = {}
            for name in [*inner, *files]:
                path = Path(folder, name)
                inode = here[name] = path.stat().st_ino
                if inode not in self.held:
                    self.held[inode] = os.open(path, os.O_RDONLY)
                if name in files:
                    content = path.read_bytes()
                    data[inode] = self.contents.setdefault(content, content)
        self.looks.append(Look(names, data, synced, site, self.promised))
        self.running = True

    def sites(self) -> list[str]:
        """The places of the program that sync."""
        return sorted({look.site for look in self.looks if look.site})


_TAPES: list[Tape] = []


def _heard(event: str, arguments: tuple[object, ...]) -> None:
    if _TAPES and event in WATCHED and _TAPES[-1].running:
        if event == "open" and "w" not in str(arguments[1] or ""):
            return
        _TAPES[-1].look()


sys.addaudithook(_heard)


def _site() -> str:
    frames = [
        f"{Path(frame.filename).name}:{frame.name}:{frame.line}"
        for frame in traceback.extract_stack()
        if "classmark" in frame.filename and "promises" not in frame.filename
    ]
    return " < ".join(reversed(frames[-2:]))


@contextmanager
def recorded(root: Path, monkeypatch) -> Iterator[Tape]:
    """Record what becomes of a folder, sync by sync."""
    root.mkdir(parents=True, exist_ok=True)
    tape = Tape(root)
    honest = os.fsync

    def fsync(descriptor: int) -> None:
        if tape.running:
            tape.look()
            tape.look(os.fstat(descriptor).st_ino, _site())
        else:
            honest(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        _TAPES.append(tape)
        tape.look()
        try:
            yield tape
        finally:
            tape.look()
            tape.running = False
            _TAPES.pop()
            for descriptor in tape.held.values():
                os.close(descriptor)


def after_failure(
    tape: Tape, moment: int, rng: np.random.Generator, to: Path, without: str = ""
) -> None:
    """Write what the disk may hold if the power fails at a moment.

    without : a place of the program whose syncs are not made.
    """
    disk = _Disk(tape, moment, without)
    now = tape.looks[moment]
    _write(disk, tape.root.stat().st_ino, to, rng, now)


class _Disk:
    """What was synced of each inode by a moment."""

    def __init__(self, tape: Tape, moment: int, without: str) -> None:
        self.data: dict[int, bytes] = dict(tape.looks[0].data)
        self.names: dict[int, dict[str, int]] = dict(tape.looks[0].names)
        for look in tape.looks[: moment + 1]:
            inode = look.synced
            if inode is None or (without and look.site == without):
                continue
            if inode in look.data:
                self.data[inode] = look.data[inode]
            if inode in look.names:
                self.names[inode] = look.names[inode]
        self.known = {
            inode: look.data[inode]
            for look in tape.looks[: moment + 1]
            for inode in look.data
        }
        self.folders = {
            inode: look.names[inode]
            for look in tape.looks[: moment + 1]
            for inode in look.names
        }


def _write(
    disk: _Disk, inode: int, to: Path, rng: np.random.Generator, now: Look
) -> None:
    to.mkdir()
    for name, child in _names(disk, inode, rng).items():
        if child in disk.folders:
            _write(disk, child, to / name, rng, now)
        else:
            before, after = disk.data.get(child, b""), disk.known.get(child, b"")
            (to / name).write_bytes(_torn(before, after, rng))


def _names(disk: _Disk, inode: int, rng: np.random.Generator) -> dict[str, int]:
    """The names synced last, and of the changes since any; a rename is one change."""
    found = dict(disk.names.get(inode, {}))
    now = disk.folders.get(inode, {})
    changes: dict[int, list[str]] = {}
    for name in {*found, *now}:
        if found.get(name) != now.get(name):
            changes.setdefault(now.get(name) or found[name], []).append(name)
    share = rng.choice([0.0, 0.5, 1.0])
    for names in changes.values():
        if rng.random() < share:
            for name in names:
                found.pop(name, None)
                if name in now:
                    found[name] = now[name]
    return found


def _torn(before: bytes, after: bytes, rng: np.random.Generator) -> bytes:
    """Some pages as they were synced, some as they were written since."""
    if before == after:
        return after
    share = rng.choice([0.0, 0.5, 1.0])
    length = len(after) if rng.random() < share else len(before)
    pages = []
    for start in range(0, max(len(before), len(after)), PAGE):
        source = after if rng.random() < share else before
        pages.append(source[start : start + PAGE].ljust(PAGE, b"\0"))
    return b"".join(pages)[:length]

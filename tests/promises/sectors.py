"""A file layer under SQLite that keeps every write and sync, to lose them again.

The power may fail after any of them: of what was written to a file since its last sync,
any sectors are kept, and the others are not.
"""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import numpy as np

SECTOR = 512


class Change(NamedTuple):
    """One call: kind is write, cut, sync, delete, or promise."""

    kind: str
    file: str = ""
    at: int = 0
    data: bytes = b""


class Layer(apsw.VFS):
    """Files as they are, every change to them noted."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        super().__init__("noted", "")

    def xOpen(self, name: Any, flags: list[int]) -> "Noted":  # noqa: N802 (SQLite's)
        return Noted(self, name, flags)

    def xDelete(self, name: str, syncdir: bool) -> None:  # noqa: N802
        self.changes.append(Change("delete", Path(name).name))
        super().xDelete(name, syncdir)


class Noted(apsw.VFSFile):
    """One file."""

    def __init__(self, layer: Layer, name: Any, flags: list[int]) -> None:
        self.changes = layer.changes
        filename = name.filename() if isinstance(name, apsw.URIFilename) else name
        self.name = Path(filename).name if filename else "scratch"
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, at: int) -> None:  # noqa: N802
        self.changes.append(Change("write", self.name, at, bytes(data)))
        super().xWrite(data, at)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self.changes.append(Change("cut", self.name, size))
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self.changes.append(Change("sync", self.name))
        super().xSync(flags)


def replayed(statements: Iterable[str], path: Path) -> list[Change]:
    """Run statements on a new database; return every change of its files."""
    layer = Layer()
    connection = apsw.Connection(str(path), vfs="noted")
    count = 0
    for sql in statements:
        connection.execute(sql).fetchall()
        if sql.startswith("COMMIT"):
            count += 1
            layer.changes.append(Change("promise", at=count))
    changes = list(layer.changes)
    connection.close()
    return changes


def after_failure(
    changes: list[Change], moment: int, rng: np.random.Generator, to: Path
) -> int:
    """Write the files as they may be; return how many commits were acknowledged."""
    to.mkdir()
    kept: dict[str, bytearray] = {}
    loose: dict[str, list[Change]] = {}
    promised = 0
    for change in changes[:moment]:
        if change.kind == "promise":
            promised = change.at
        elif change.kind in {"write", "cut"}:
            loose.setdefault(change.file, []).append(change)
        else:
            _settle(kept, loose, change)
    share = rng.choice([0.0, 0.5, 1.0])
    for change in chain.from_iterable(loose.values()):
        for part in _sectors(change):
            if rng.random() < share:
                _apply(kept, part)
    for name in kept.keys() - {"scratch"}:
        (to / name).write_bytes(kept[name])
    return promised


def _settle(
    kept: dict[str, bytearray], loose: dict[str, list[Change]], change: Change
) -> None:
    """What waits for a file is on the disk after a sync, and gone after a deletion."""
    waiting = loose.pop(change.file, [])
    if change.kind == "delete":
        kept.pop(change.file, None)
        return
    for one in waiting:
        _apply(kept, one)


def _sectors(change: Change) -> list[Change]:
    if change.kind == "cut":
        return [change]
    return [
        Change("write", change.file, change.at + at, change.data[at : at + SECTOR])
        for at in range(0, len(change.data), SECTOR)
    ]


def _apply(kept: dict[str, bytearray], change: Change) -> None:
    content = kept.setdefault(change.file, bytearray())
    if change.kind == "cut":
        del content[change.at :]
        return
    end = change.at + len(change.data)
    content.extend(bytes(max(0, end - len(content))))
    content[change.at : end] = change.data

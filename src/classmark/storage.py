"""Save and open a folder of .npy files and a manifest: whole, or not there.

A folder is written beside its place, every file and the folder synced, then renamed.
The manifest names the format, its version and each file's size and checksum; opening
checks them and maps the arrays; who opens ``unchecked`` compares the checksums of large
files later. Nothing is ever overwritten, nothing is ever unpickled.
"""

from __future__ import annotations

import json
import mmap
import os
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Array, Ints, bounds_of
from classmark.problems import DamagedFolder, Mistake

MANIFEST = "manifest.json"
_HEADER, _SEAL = 128, 10  # bytes of the head of an array, of the foot of a manifest
LARGE = 64 << 20  # bytes of a file that may be compared with its checksum later
_REMEDY = "restore the folder from a backup, or train or build it again"
# numpy reads a header with ast, which Python 3.11 does not let two threads do at once
_HEADERS = Lock()
Arrays = Mapping[str, Array]


class Unchecked(NamedTuple):
    """A file that was opened without being read, and the checksum that it should have.

    Folders in their place never change, so one comparison is enough for good.
    """

    path: Path
    crc32: int

    def check(self) -> None:
        """Read the file once, and refuse damage."""
        if _crc32(self.path) != self.crc32:
            raise DamagedFolder(f"{self.path} does not match its checksum: {_REMEDY}")


class _Later(NamedTuple):
    """Where large files may be checked later, and which they are."""

    within: Path
    files: list[Unchecked]


_LATER: ContextVar[_Later | None] = ContextVar("later", default=None)


@contextmanager
def unchecked(within: Path) -> Iterator[list[Unchecked]]:
    """Inside, large files of real numbers below a folder are opened unread, and listed.

    Whole numbers, by which others are looked up, are checked at once. Only where what
    was opened is withdrawn once damage is found, and nothing learned from it is kept.
    """
    files: list[Unchecked] = []
    before = _LATER.set(_Later(within, files))
    try:
        yield files
    finally:
        _LATER.reset(before)


@dataclass(frozen=True, slots=True)
class SavedFolder:
    """An opened folder: its arrays (memory-mapped) and its settings."""

    format: str
    version: int
    arrays: dict[str, Array]
    settings: dict[str, Any] = field(default_factory=dict)


def save(
    folder: Path,
    format_: str,
    version: int,
    arrays: Arrays,
    settings: Mapping[str, Any],
) -> None:
    """Write arrays and settings as a new folder; it appears whole or not at all."""
    writer = FolderWriter(folder)
    try:
        for name in arrays:
            writer.put(name, arrays[name])
        writer.close(format_, version, settings)
    except BaseException:
        writer.discard()
        raise


class FolderWriter:
    """A folder in the making, for arrays that are written piece by piece.

    Nothing is at its place before ``close``; ``discard`` leaves no trace.
    """

    def __init__(self, folder: Path) -> None:
        if folder.exists():
            raise Mistake(f"{folder} is already there: nothing is overwritten in place")
        make_folder(folder.parent)
        self.folder = folder
        self.beside = folder.parent / f".{folder.name}.{os.getpid()}.writing"
        self.beside.mkdir()
        self.files: dict[str, dict[str, int]] = {}
        self._open: dict[str, tuple[BinaryIO, np.dtype[Any]]] = {}

    def put(self, name: str, array: Array) -> None:
        """Write a whole array, of any shape."""
        path = self.beside / f"{name}.npy"
        with path.open("wb") as file:
            np.save(file, np.ascontiguousarray(array), allow_pickle=False)
            self.files[name] = _synced(path, file)

    def append(self, name: str, piece: Array) -> None:
        """Write the next piece of a flat array; the first one sets its type."""
        if name not in self._open:
            new: BinaryIO = (self.beside / f"{name}.npy").open("wb")
            self._open[name] = new, piece.dtype
            new.write(_header(piece.dtype, 0))
        file, kind = self._open[name]
        file.write(np.ascontiguousarray(piece, kind).data)

    def close(self, format_: str, version: int, settings: Mapping[str, Any]) -> None:
        """Complete the files, write the manifest and put the folder in its place."""
        for name, (file, kind) in self._open.items():
            length = (file.tell() - _HEADER) // kind.itemsize
            file.seek(0)
            file.write(_header(kind, length))
            self.files[name] = _synced(self.beside / f"{name}.npy", file)
        facts = {"format": format_, "version": version, "files": self.files}
        manifest = facts | {"settings": dict(settings)}
        text = json.dumps(manifest, ensure_ascii=False, indent=1, sort_keys=True)
        _write_synced(self.beside / MANIFEST, text.encode() + _seal(text.encode()))
        sync_folder(self.beside)
        self.beside.rename(self.folder)
        sync_folder(self.folder.parent)

    def discard(self) -> None:
        """Remove what was written, unless it is in its place."""
        for file, _ in self._open.values():
            file.close()
        shutil.rmtree(self.beside, ignore_errors=True)


def open_folder(folder: Path, format_: str, version: int) -> SavedFolder:
    """Open a saved folder, refusing damage and formats newer than ``version``."""
    manifest = _manifest_of(folder, format_, version)
    arrays: dict[str, Array] = {}
    for name, facts in manifest["files"].items():
        path = folder / f"{name}.npy"
        if not path.exists():
            raise DamagedFolder(f"{path} is missing: {_REMEDY}")
        if path.stat().st_size != facts["bytes"]:
            raise DamagedFolder(f"{path} does not match its checksum: {_REMEDY}")
        arrays[name] = _opened(Unchecked(path, facts["crc32"]), facts["bytes"])
    return SavedFolder(format_, manifest["version"], arrays, manifest["settings"])


def _opened(file: Unchecked, size: int) -> Array:
    """Map an array, its file compared with the checksum, or listed to be so later."""
    later = _LATER.get()
    if later is None or size < LARGE or not file.path.is_relative_to(later.within):
        file.check()
        return _mapped(file.path)
    array = _mapped(file.path)
    if array.dtype.kind == "f":
        later.files.append(file)
    else:
        file.check()
    return array


def _mapped(path: Path) -> Array:
    with _HEADERS:
        try:
            array: Array = np.lib.format.open_memmap(path, mode="r")
        except ValueError as problem:
            raise DamagedFolder(f"{path} is no plain array: {_REMEDY}") from problem
    return array


def saved_settings(folder: Path, format_: str, version: int) -> dict[str, Any]:
    """The settings of a saved folder, whose arrays are not looked at."""
    path = folder / MANIFEST
    written = path.stat().st_mtime_ns if path.exists() else 0
    return dict(_settings_of(folder, format_, version, written))


@lru_cache(maxsize=8)
def _settings_of(
    folder: Path,
    format_: str,
    version: int,
    written: int,  # noqa: ARG001 (read again when the file is another)
) -> Mapping[str, Any]:
    settings: Mapping[str, Any] = _manifest_of(folder, format_, version)["settings"]
    return settings


def pack_strings(strings: Sequence[str]) -> tuple[NDArray[np.uint8], Ints]:
    """Strings as one run of UTF-8 bytes and the offsets between them.

    >>> pack_strings(["ab", "é"])[1].tolist()
    [0, 2, 4]
    """
    encoded = [text.encode() for text in strings]
    offsets = bounds_of([len(text) for text in encoded])
    return np.frombuffer(b"".join(encoded), np.uint8), offsets


def unpack_strings(blob: NDArray[np.uint8], offsets: Ints) -> list[str]:
    """The strings that :func:`pack_strings` packed."""
    raw = blob.tobytes()
    return [raw[start:end].decode() for start, end in pairwise(offsets.tolist())]


class Generations:
    """A folder of numbered generations; ``CURRENT`` names the one in service.

    A generation is complete before ``CURRENT`` is moved to it by an atomic rename, so a
    reader always finds a whole one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def numbers(self) -> list[int]:
        """All complete generations, oldest first."""
        if not self.folder.is_dir():
            return []
        return sorted(int(p.name) for p in self.folder.iterdir() if p.name.isdigit())

    def current(self) -> Path | None:
        """The generation in service, or None before the first."""
        pointer, name = self.folder / "CURRENT", ""
        while pointer.exists():
            before, name = name, pointer.read_text("utf-8", errors="replace").strip()
            if name.isdigit() and (self.folder / name).is_dir():
                return self.folder / name
            if name == before:  # else another one came into service meanwhile
                complete = ", ".join(str(n) for n in self.numbers()) or "none"
                raise DamagedFolder(
                    f"{pointer} names generation {name!r}, which is not there "
                    f"(complete: {complete}): write the number of a complete one into "
                    "it"
                )
        return None

    def next(self) -> Path:
        """Where the next generation is to be saved."""
        return self.folder / f"{max(self.numbers(), default=0) + 1:06d}"

    def put_in_service(self, generation: Path) -> None:
        """Point ``CURRENT`` at a complete generation."""
        beside = self.folder / f".CURRENT.{os.getpid()}"
        _write_synced(beside, f"{generation.name}\n".encode())
        beside.replace(self.folder / "CURRENT")
        sync_folder(self.folder)

    def take_out_of_service(self) -> None:
        """Let no generation be current; all stay."""
        (self.folder / "CURRENT").unlink(missing_ok=True)
        sync_folder(self.folder)

    def drop_old(self, keep: int, besides: str = "") -> None:
        """Remove all but the newest ``keep`` generations and the current one.

        besides : the name of one more that stays.
        """
        stay = {self.current(), self.folder / besides}
        for number in self.numbers()[:-keep] if keep else self.numbers():
            folder = self.folder / f"{number:06d}"
            if folder not in stay:
                shutil.rmtree(folder)


def _header(kind: np.dtype[Any], length: int) -> bytes:
    """Return the head of a .npy file (version 1.0), as numpy writes it."""
    facts = f"{{'descr': '{kind.str}', 'fortran_order': False, 'shape': ({length},), }}"
    magic = b"\x93NUMPY\x01\x00" + (_HEADER - 10).to_bytes(2, "little")
    return magic + facts.encode().ljust(_HEADER - 11) + b"\n"


def _synced(path: Path, file: BinaryIO) -> dict[str, int]:
    """Close a file when it is on disk, and return its size and checksum."""
    file.flush()
    os.fsync(file.fileno())
    file.close()
    return {"bytes": path.stat().st_size, "crc32": _crc32(path)}


def let_go(array: Array) -> None:
    """Give the pages of a mapped array back; they are read again when touched."""
    mapping = getattr(array, "_mmap", None)
    if mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)


def _crc32(path: Path) -> int:
    crc = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            crc = zlib.crc32(block, crc)
    return crc


def _seal(body: bytes) -> bytes:
    """The checksum of a manifest, its last line."""
    return f"\n{zlib.crc32(body):08x}\n".encode()


def _manifest_of(folder: Path, format_: str, version: int) -> dict[str, Any]:
    """The manifest of a folder of this format, not newer than ``version``."""
    path = folder / MANIFEST
    if not path.exists():
        raise DamagedFolder(f"{folder} has no {MANIFEST}: {_REMEDY}")
    body, seal = (content := path.read_bytes())[:-_SEAL], content[-_SEAL:]
    if _seal(body) != seal:
        raise DamagedFolder(f"{path} does not match its checksum: {_REMEDY}")
    manifest = dict(json.loads(body))
    if manifest.get("format") != format_:
        raise DamagedFolder(
            f"{folder} holds a {manifest.get('format')!r}, not a {format_!r}: "
            "give the right folder"
        )
    if manifest["version"] > version:
        raise DamagedFolder(
            f"{folder} has format version {manifest['version']}, this program reads "
            f"up to {version}: upgrade classmark"
        )
    return manifest


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def written_beside(place: Path) -> Iterator[Path]:
    """Give a new path to write a file or folder to; it then moves to its place, whole.

    Of several that write the same folder at once the first is kept; a file is replaced.
    """
    beside = place.with_name(f".{place.name}.{uuid4().hex}.writing")
    try:
        yield beside
        try:
            beside.rename(place)
        except OSError:
            if not place.exists():
                raise
        sync_folder(place.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        beside.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all."""
    with written_beside(path) as beside:
        _write_synced(beside, text.encode())


def is_intact(folder: Path, read: Callable[[], object]) -> bool:
    """Whether a folder is there and ``read`` finds it whole; else it is removed."""
    if not folder.exists():
        return False
    try:
        read()
    except DamagedFolder:
        shutil.rmtree(folder)
        return False
    return True


def remove_unfinished(folder: Path) -> None:
    """Remove what killed processes left beside the places they were writing to."""
    for left in folder.glob(".*.writing"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, so that their names last."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def locked_file(path: Path, mode: str = "a+b", *, shared: bool = False) -> Any:
    """Open a file and lock it until it is closed; None: another process has it.

    The system frees it when a process dies. shared : others may share it.
    """
    import fcntl

    file = path.open(mode)
    try:
        how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def prefixed(prefix: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The arrays of one part, under names of its own."""
    return {f"{prefix}{name}": array for name, array in arrays.items()}


def with_prefix(prefix: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The arrays that ``prefixed`` named, by their names before."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }

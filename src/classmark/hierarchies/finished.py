"""Finished nodes on disk: what a training that was killed need not do again."""

from __future__ import annotations

import os
import shutil
import struct
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from io import BufferedRandom
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self
from uuid import uuid4

import numpy as np

from classmark.hierarchies.descending.pieces import Piece
from classmark.problems import DamagedFolder, Mistake
from classmark.storage import open_folder, save, sync_folder

FORMAT, VERSION = "classmark-top-down-training", 1
HEAD = struct.Struct("<4sIQQIIddI")  # sign, node, m, entries, d, bytes, Σw² (2), crc32
SEAL = struct.Struct("<I")
SIGN = b"NODE"
PIECES = "pieces"  # the folder of what others write
EVERY = 1.0  # seconds between two syncs


class Finished:
    """Pieces on disk, each with its checksum.

    ``nodes.bin`` is appended to here; the files of ``pieces`` were written whole by
    others (``write_pieces``). A record that was cut off is not counted, and is
    overwritten. The folder belongs to one training: other documents, another tree or
    other settings are refused.
    """

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.folder = folder
        self._claim(fingerprint)
        path = folder / "nodes.bin"
        self._where: dict[int, tuple[Path, int]] = {}
        self._file: BufferedRandom = path.open("r+b" if path.exists() else "w+b")
        self._lock(path)
        whole = self._found(path)
        self._file.seek(whole)
        self._file.truncate()
        self._synced = time.monotonic()
        self.look()

    def __contains__(self, node: object) -> bool:
        return node in self._where

    def look(self) -> None:
        """Find what others have written by now."""
        for path in sorted((self.folder / PIECES).glob("*.bin")):
            self._found(path)

    def piece(self, node: int) -> Piece:
        """What a finished node has learned."""
        path, start = self._where[node]
        with path.open("rb") as file:
            file.seek(start)
            for record in _records(file, path.stat().st_size):
                return record.piece
        raise DamagedFolder(
            f"{path} does not match its checksums: delete {self.folder}"
        )

    def add(self, node: int, piece: Piece) -> None:
        """Write one more piece; it is there after a kill."""
        self._where[node] = self.folder / "nodes.bin", self._file.tell()
        for part in _written(node, piece):
            self._file.write(part)
        self._file.flush()
        if time.monotonic() - self._synced > EVERY:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()

    def forget(self) -> None:
        """Remove the pieces: the whole model is elsewhere by now."""
        self._where.clear()
        self._file.truncate(0)
        shutil.rmtree(self.folder / PIECES, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _claim(self, fingerprint: str) -> None:
        mark = self.folder / "training"
        if not mark.exists():
            if self.folder.exists() and any(self.folder.glob("[!.]*")):
                raise Mistake(
                    f"{self.folder} is not empty and holds no training: give a new "
                    "folder, or an empty one"
                )
            save(mark, FORMAT, VERSION, {}, {"fingerprint": fingerprint})
        known = open_folder(mark, FORMAT, VERSION).settings["fingerprint"]
        if known != fingerprint:
            raise Mistake(
                f"{self.folder} holds a training with other documents, another "
                "taxonomy or other settings: give another folder, or delete this one"
            )

    def _lock(self, path: Path) -> None:
        import fcntl

        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise Mistake(
                f"{path}: another training is at work here: wait for its end, or give "
                "another folder"
            ) from None

    def _found(self, path: Path) -> int:
        """Note the whole records of a file; where they end."""
        whole = 0
        with path.open("rb") as file:
            for record in _records(file, path.stat().st_size):
                self._where[record.node] = path, whole
                whole = file.tell()
        return whole


def write_pieces(
    folder: Path, nodes: Sequence[int], pieces: Iterable[tuple[int, Piece]]
) -> None:
    """Write pieces where ``Finished`` looks for them, as they come: all or none.

    The same nodes have the same file, whoever learns them.
    """
    digest = blake2b(repr(list(nodes)).encode(), digest_size=12).hexdigest()
    path = folder / PIECES / f"{digest}.bin"
    beside = path.with_name(f".{digest}.{uuid4().hex}.writing")
    try:
        with beside.open("xb") as file:
            for node, piece in pieces:
                file.writelines(_written(node, piece))
            file.flush()
            os.fsync(file.fileno())
        beside.rename(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


class Record(NamedTuple):
    """A node, and what it has learned."""

    node: int
    piece: Piece


def _written(node: int, piece: Piece) -> tuple[bytes, bytes, bytes]:
    """One record: its head, the head's checksum, its body."""
    body = b"".join(np.ascontiguousarray(a).tobytes() for a in piece[:6])
    head = HEAD.pack(
        SIGN, node, len(piece.features), len(piece.weight), len(piece.bias),
        piece.daughter.itemsize, piece.lost, piece.whole, zlib.crc32(body),
    )  # fmt: skip
    return head, SEAL.pack(zlib.crc32(head)), body


def _records(file: BinaryIO, size: int) -> Iterator[Record]:
    """Whole records from where a file stands; after each it stands at its end."""
    room = HEAD.size + SEAL.size
    while file.tell() + room <= size:
        head = file.read(HEAD.size)
        (seal,) = SEAL.unpack(file.read(SEAL.size))
        if zlib.crc32(head) != seal:
            return
        sign, node, m, entries, d, wide, lost, whole, crc = HEAD.unpack(head)
        kinds = _layout(m, entries, d, wide)
        body = file.read(sum(n * kind.itemsize for n, kind in kinds))
        if sign != SIGN or zlib.crc32(body) != crc:
            return
        yield Record(node, Piece._make([*_split(body, kinds), lost, whole]))


def _layout(m: int, entries: int, d: int, wide: int) -> list[tuple[int, Any]]:
    """Length and kind of the six arrays of a piece."""
    small = np.uint16 if wide == 2 else np.uint32
    lengths = (m, m + 1, entries, entries, d, d)
    kinds = (np.uint32, np.uint32, small, np.float32, np.float64, np.float64)
    return [(n, np.dtype(kind)) for n, kind in zip(lengths, kinds, strict=True)]


def _split(body: bytes, kinds: list[tuple[int, Any]]) -> tuple[Any, ...]:
    found, start = [], 0
    for n, kind in kinds:
        found.append(np.frombuffer(body, kind, n, start))
        start += n * kind.itemsize
    return tuple(found)

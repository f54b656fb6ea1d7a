"""Finished nodes on disk: what a training that was killed need not do again."""

from __future__ import annotations

import os
import struct
import time
import zlib
from collections.abc import Iterator
from io import BufferedRandom
from pathlib import Path
from typing import Any, Self

import numpy as np

from classmark.hierarchies.descending.pieces import Piece
from classmark.problems import Mistake
from classmark.storage import open_folder, save

FORMAT, VERSION = "classmark-top-down-training", 1
HEAD = struct.Struct("<4sIQQIIddI")  # sign, node, m, entries, d, bytes, Σw² (2), crc32
SEAL = struct.Struct("<I")
SIGN = b"NODE"
EVERY = 1.0  # seconds between two syncs


class Finished:
    """An append-only file of pieces, each with its checksum.

    A record that was cut off is not counted and is overwritten. The folder belongs to
    one training: other documents, another tree or other settings are refused.
    """

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.folder = folder
        self._claim(fingerprint)
        path = folder / "nodes.bin"
        self.pieces: dict[int, Piece] = {}
        self._file: BufferedRandom = path.open("r+b" if path.exists() else "w+b")
        self._lock(path)
        whole = 0
        for end, node, piece in self._records(path.stat().st_size):
            self.pieces[node], whole = piece, end
        self._file.seek(whole)
        self._file.truncate()
        self._synced = time.monotonic()

    def add(self, node: int, piece: Piece) -> None:
        """Write one more piece; it is there after a kill."""
        body = b"".join(np.ascontiguousarray(a).tobytes() for a in piece[:6])
        head = HEAD.pack(
            SIGN, node, len(piece.features), len(piece.weight), len(piece.bias),
            piece.daughter.itemsize, piece.lost, piece.whole, zlib.crc32(body),
        )  # fmt: skip
        self._file.write(head + SEAL.pack(zlib.crc32(head)) + body)
        self._file.flush()
        if time.monotonic() - self._synced > EVERY:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()

    def forget(self) -> None:
        """Remove the pieces: the whole model is elsewhere by now."""
        self._file.truncate(0)

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

    def _records(self, size: int) -> Iterator[tuple[int, int, Piece]]:
        """Whole records: where each ends, its node, and what the node has learned."""
        room = HEAD.size + SEAL.size
        while self._file.tell() + room <= size:
            head = self._file.read(HEAD.size)
            (seal,) = SEAL.unpack(self._file.read(SEAL.size))
            if zlib.crc32(head) != seal:
                return
            sign, node, m, entries, d, wide, lost, whole, crc = HEAD.unpack(head)
            kinds = _layout(m, entries, d, wide)
            body = self._file.read(sum(n * kind.itemsize for n, kind in kinds))
            if sign != SIGN or zlib.crc32(body) != crc:
                return
            found = Piece._make([*_split(body, kinds), lost, whole])
            yield self._file.tell(), node, found


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

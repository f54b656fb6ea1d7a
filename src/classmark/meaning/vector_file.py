"""VectorFile: vectors computed once per text, appended, mapped, resumed after a kill.

A folder of three: ``source``, a sealed manifest that says which vectors these are;
``vectors``, unit vectors in float16, one after the other; ``keys``, for each the digest
of its text and a checksum of both. A vector is on disk before its key is, so what a
killed process left behind its last key is no part of the file, and is cut off.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.meaning.sources import (
    KEY,
    MeaningFacts,
    MeaningSource,
    TextEncoder,
    Vectors,
    require_same,
    source_from,
    text_key,
    unit_rows,
)
from classmark.problems import DamagedFolder, Mistake
from classmark.progress import track
from classmark.storage import locked_file, make_folder, open_folder, save

FORMAT, VERSION = "classmark vectors", 1
ENTRY = np.dtype([("key", f"V{KEY}"), ("crc32", "<u4")])
STORED = np.dtype("<f2")
BATCH = 256  # texts between one sync and the next


class ComputedVectors(NamedTuple):
    """What ``compute`` did: new vectors, those known before, and how long it took."""

    new: int
    known: int
    seconds: float

    @property
    def rate(self) -> float:
        """New vectors a second."""
        return self.new / self.seconds if self.new else 0.0


class VectorFile(MeaningSource):
    """Vectors of a source, stored by text; itself a source of the same vectors.

    folder : where they lie; made at first;  meaning : makes those that are missing, or
    is a function that opens what does, when one is missing;  None: the stored ones are
    all there is. Vectors are of unit length, rounded to float16, whether they are
    stored yet or not.
    """

    def __init__(
        self,
        folder: Path | str,
        meaning: TextEncoder | Callable[[], TextEncoder] | None = None,
    ) -> None:
        if isinstance(meaning, TextEncoder):
            meaning = source_from(meaning)
        self.folder, self._meaning = Path(folder), meaning
        place = self.folder / "source"
        if not place.exists():
            if meaning is None:
                raise Mistake(f"{folder} has no vectors: give their source (meaning=…)")
            self._meaning = source = _opened(meaning)
            make_folder(self.folder)
            described = source.facts._asdict() | {"weight": source.weight}
            save(place, FORMAT, VERSION, {}, described)
        settings = open_folder(place, FORMAT, VERSION).settings
        facts = MeaningFacts(*(settings[name] for name in MeaningFacts._fields))
        self.name, self.digest, self.dimension = facts
        self.weight = settings["weight"]
        self._paths = self.folder / "keys", self.folder / "vectors"
        if isinstance(self._meaning, MeaningSource):
            require_same(self._meaning, facts, str(folder))
        self._read()

    @cached_property
    def source(self) -> MeaningSource | None:
        """What makes the vectors that are missing; it must make the same."""
        if self._meaning is None:
            return None
        source = _opened(self._meaning)
        require_same(source, self.facts, str(self.folder))
        return source

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, text: str) -> bool:
        return text_key(text) in self._rows

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(path.stat().st_size for path in self._paths if path.exists())

    @property
    def table(self) -> NDArray[np.float16]:
        """The stored vectors where they lie, shape (vectors, dimension)."""
        return self._table

    def rows(self, texts: Iterable[str]) -> NDArray[np.int64]:
        """Where the vector of each text lies in ``table``; −1: it is not stored.

        Each of them is compared with its checksum.
        """
        keys = [text_key(text) for text in texts]
        for key in keys:
            if key in self._rows:
                self._stored(key)
        return np.array([self._rows.get(key, -1) for key in keys], np.int64)

    def compute(self, texts: Collection[str]) -> ComputedVectors:
        """Compute and store the vectors that are missing.

        Stopped at any point it goes on where it was, but for one batch.
        """
        begin, known = time.perf_counter(), 0
        with self._writing():
            waiting: dict[bytes, str] = {}
            written: set[bytes] = set()
            for text in track(texts, f"vectors by {self.name}", len(texts)):
                key = text_key(text)
                known += key in self._rows
                if key not in self._rows and key not in written:
                    waiting[key] = text
                if len(waiting) == BATCH:
                    self._append(waiting)
                    written |= waiting.keys()
                    waiting = {}
            self._append(waiting)
            written |= waiting.keys()
        return ComputedVectors(len(written), known, time.perf_counter() - begin)

    def _vectors(self, texts: list[str]) -> Vectors:
        keys = [text_key(text) for text in texts]
        vectors = np.empty((len(texts), self.dimension), STORED)
        missing = [at for at, key in enumerate(keys) if key not in self._rows]
        for at in set(range(len(texts))).difference(missing):
            vectors[at] = self._stored(keys[at])
        if missing:
            vectors[missing] = self._made([texts[at] for at in missing])
        return vectors.astype(np.float32)

    def _made(self, texts: list[str]) -> NDArray[np.float16]:
        if self.source is None:
            raise Mistake(
                f"{self.folder} has no vector for the text {texts[0][:40]!r}: give the "
                f"source {self.name} (meaning=…)"
            )
        return unit_rows(self.source.encode(texts)).astype(STORED)

    def _stored(self, key: bytes) -> NDArray[np.float16]:
        row = self._rows[key]
        vector = np.asarray(self._table[row])
        if _crc32(key, vector) != self._checks[row]:
            raise DamagedFolder(
                f"{self._paths[1]}, vector {row}: does not match its checksum: remove "
                "the folder and compute its vectors again"
            )
        return vector

    def _read(self) -> None:
        """Map what is complete; the keys come last, for others who read meanwhile."""
        keys, vectors = self._paths
        entries = np.fromfile(keys, ENTRY) if keys.exists() else np.empty(0, ENTRY)
        wide = self.dimension * STORED.itemsize
        stored = vectors.stat().st_size // wide if vectors.exists() else 0
        if stored < len(entries):
            raise DamagedFolder(
                f"{vectors} has {stored} of {len(entries)} vectors: remove the folder "
                "and compute its vectors again"
            )
        shape = len(entries), self.dimension
        self._checks = entries["crc32"].tolist()
        self._table: NDArray[np.float16] = np.empty(shape, STORED)
        if len(entries):
            self._table = np.memmap(vectors, STORED, "r", shape=shape)
        self._rows = {key.tobytes(): row for row, key in enumerate(entries["key"])}

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Be the only process that appends, behind the last complete vector."""
        lock = locked_file(self.folder / "lock")
        if lock is None:
            raise Mistake(
                f"{self.folder}: another process computes these vectors: wait for it"
            )
        with lock:
            self._read()
            sizes = ENTRY.itemsize, self.dimension * STORED.itemsize
            for path, size in zip(self._paths, sizes, strict=True):
                with path.open("ab") as file:
                    file.truncate(len(self) * size)
            try:
                yield
            finally:
                self._read()

    def _append(self, texts: dict[bytes, str]) -> None:
        """Write vectors, then their keys, each to the disk before it goes on."""
        if not texts:
            return
        vectors = self._made(list(texts.values()))
        entries = np.empty(len(texts), ENTRY)
        entries["key"] = [np.void(key) for key in texts]
        entries["crc32"] = list(map(_crc32, texts, vectors))
        keys, table = self._paths
        for path, array in ((table, vectors), (keys, entries)):
            with path.open("ab") as file:
                file.write(array.tobytes())
                file.flush()
                os.fsync(file.fileno())


def _opened(meaning: TextEncoder | Callable[[], TextEncoder]) -> MeaningSource:
    return source_from(meaning if isinstance(meaning, TextEncoder) else meaning())


def _crc32(key: bytes, vector: NDArray[np.float16]) -> int:
    return zlib.crc32(vector.tobytes(), zlib.crc32(key))

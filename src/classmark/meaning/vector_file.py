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
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from functools import cached_property
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from classmark.meaning.sources import (
    KEY,
    OWN,
    MeaningFacts,
    MeaningSource,
    TextEncoder,
    Vectors,
    require_same,
    source_from,
    text_key,
    unit_rows,
)
from classmark.problems import DamagedFolder, Mistake, worded
from classmark.progress import track
from classmark.storage import locked_file, make_folder, open_folder, save

FORMAT, VERSION = "classmark vectors", 1
ENTRY = np.dtype([("key", f"V{KEY}"), ("crc32", "<u4")])
STORED = np.dtype("<f2")
NONE: NDArray[np.int64] = np.empty(0, np.int64)
BATCH = 256  # texts between one sync and the next
CHECKED = 10_000  # vectors in memory at once
RECENT = 64  # texts whose vectors stay in memory, though they are not stored
PAUSE = 0.2  # seconds between two looks whether another process has ended
ROUNDING = 2e-3  # by which numbers of one vector may differ that was made twice


class ComputedVectors(NamedTuple):
    """What ``compute`` did: new vectors, those known before, and how long it took."""

    new: int
    known: int
    seconds: float

    @property
    def rate(self) -> float:
        """New vectors a second."""
        return self.new / self.seconds if self.new else 0.0


class StoredVectors(NamedTuple):
    """What is in the file at one moment; it never changes, so any thread may read it.

    file : which file the keys were read from;  entries : keys and checksums by row;
    table : the vectors, mapped;  prefixes : the first eight bytes of all keys, sorted;
    rows : the row of each prefix.
    """

    file: int
    entries: NDArray[Any]
    table: NDArray[np.float16]
    prefixes: NDArray[np.uint64]
    rows: NDArray[np.int64]

    def rows_of(self, keys: Sequence[bytes]) -> NDArray[np.int64]:
        """The row of each key; -1 where it has none.

        The prefix is looked up by bisection, then the whole key compared; where keys
        share their prefix, each of them is.
        """
        asked = np.frombuffer(b"".join(keys), ENTRY["key"])
        at = np.searchsorted(self.prefixes, _prefixes(asked))
        rows = np.full(len(asked), -1, np.int64)
        waiting: NDArray[np.int64] = np.arange(len(asked))
        prefixes = _prefixes(asked)
        while len(waiting := waiting[at[waiting] < len(self.rows)]):
            waiting = waiting[self.prefixes[at[waiting]] == prefixes[waiting]]
            candidates = self.rows[at[waiting]]
            same = self.entries["key"][candidates] == asked[waiting]
            rows[waiting[same]] = candidates[same]
            waiting = waiting[~same]
            at[waiting] += 1
        return rows

    def vectors(
        self, rows: NDArray[np.int64], place: Path | str
    ) -> NDArray[np.float16]:
        """The vectors of some rows, each compared with its checksum."""
        vectors, entries = self.table[rows], self.entries[rows]
        checks, keys = entries["crc32"].tolist(), entries["key"].tolist()
        for row, key, vector, check in zip(rows, keys, vectors, checks, strict=True):
            if _crc32(key, vector) != check:
                raise DamagedFolder(
                    f"{place}, vector {row}: does not match its checksum: remove the "
                    "folder and compute its vectors again"
                )
        return vectors


class VectorFile(MeaningSource):
    """Vectors of a source, stored by text; itself a source of the same vectors.

    folder : where they lie; made at first;  meaning : makes those that are missing, or
    is a function that opens what does, when one is missing;  None: the stored ones are
    all there is. Vectors are of unit length, rounded to float16, whether they are
    stored yet or not. What another process adds is noticed when it is asked for.
    """

    def __init__(
        self,
        folder: Path | str,
        meaning: TextEncoder | Callable[[], TextEncoder] | None = None,
    ) -> None:
        if isinstance(meaning, TextEncoder):
            meaning = source_from(meaning)
        self.folder, self._meaning = Path(folder), meaning
        if not (self.folder / "source").exists():
            if meaning is None:
                raise Mistake(f"{folder} has no vectors: give their source (meaning=…)")
            self.source = source = _opened(meaning)
            _describe(self.folder, source.facts, weight=source.weight)
        settings = described(self.folder)
        facts = MeaningFacts(*(settings[name] for name in MeaningFacts._fields))
        self.name, self.digest, self.dimension = facts
        self.weight, self.imported = settings["weight"], settings.get("imported", False)
        self._recent: dict[bytes, NDArray[np.float16]] = {}
        self._paths = self.folder / "keys", self.folder / "vectors"
        if isinstance(self._meaning, MeaningSource):
            require_same(self._meaning, facts, str(folder))
        self._stored = StoredVectors(
            0, np.empty(0, ENTRY), self._mapped(0), np.empty(0, np.uint64), NONE
        )
        self._read()

    @classmethod
    def of_imported(
        cls, folder: Path | str, dimension: int, name: str = OWN
    ) -> VectorFile:
        """Make a file, or open it, of vectors that users bring (``add``) by text.

        The digest is of name and dimension, so it stays while vectors are added.
        """
        digest = sha256(f"{name}\0{dimension}".encode()).hexdigest()
        facts = MeaningFacts(name, digest, dimension)
        if not (Path(folder) / "source").exists():
            weight = MeaningSource.weight
            _describe(Path(folder), facts, weight=weight, imported=True)
        opened = cls(folder)
        require_same(opened, facts, str(folder))
        return opened

    def __reduce__(self) -> tuple[Any, ...]:
        """Be opened anew in another process, which must see the folder."""
        return type(self), (self.folder, self._meaning)

    @cached_property
    def source(self) -> MeaningSource | None:
        """What makes the vectors that are missing; it must make the same."""
        if self._meaning is None:
            return None
        source = _opened(self._meaning)
        require_same(source, self.facts, str(self.folder))
        return source

    def __len__(self) -> int:
        return len(self._stored.entries)

    def __contains__(self, text: str) -> bool:
        return bool(self.has([text])[0])

    def has(self, texts: Iterable[str]) -> NDArray[np.bool_]:
        """Whether each text's vector is stored."""
        return np.asarray(self._looked_up([*map(text_key, texts)])[1] >= 0)

    @property
    def table(self) -> NDArray[np.float16]:
        """The stored vectors where they lie, shape (vectors, dimension)."""
        return self._stored.table

    def rows(self, texts: Iterable[str]) -> NDArray[np.int64]:
        """Where the vector of each text lies in ``table``; −1: it is not stored.

        Each of them is compared with its checksum.
        """
        stored, rows = self._looked_up([*map(text_key, texts)])
        for some in np.array_split(rows[rows >= 0], len(rows) // CHECKED + 1):
            stored.vectors(some, self._paths[1])
        return rows

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(path.stat().st_size for path in self._paths if path.exists())

    def compute(self, texts: Collection[str], *, wait: bool = False) -> ComputedVectors:
        """Compute and store the vectors that are missing.

        Stopped at any point it goes on where it was, but for one batch. wait : until
        another process that computes has ended, instead of refusing.
        """
        begin, known = time.perf_counter(), 0
        with self._writing(wait=wait) as stored:
            waiting: dict[bytes, str] = {}
            written: set[bytes] = set()
            for text in track(texts, f"vectors by {self.name}", len(texts)):
                key = text_key(text)
                if stored.rows_of([key])[0] >= 0:
                    known += 1
                elif key not in written:
                    waiting[key] = text
                if len(waiting) == BATCH:
                    self._append(waiting, self._made(list(waiting.values())))
                    written |= waiting.keys()
                    waiting = {}
            if waiting:
                self._append(waiting, self._made(list(waiting.values())))
            written |= waiting.keys()
        return ComputedVectors(len(written), known, time.perf_counter() - begin)

    def add(self, texts: Sequence[str], vectors: ArrayLike) -> ComputedVectors:
        """Store vectors that were made elsewhere, shape (texts, numbers).

        A text that has a vector keeps it; one that differs from it is refused.
        """
        begin, table = time.perf_counter(), np.asarray(vectors, np.float32)
        if table.shape != (len(texts), self.dimension):
            raise Mistake(
                f"{self.name}: vectors of shape {table.shape} for {len(texts)} texts: "
                f"{(len(texts), self.dimension)} is needed"
            )
        units = unit_rows(table).astype(STORED)
        first: dict[bytes, int] = {}
        keys = [text_key(text) for text in texts]
        numbers = [first.setdefault(key, number) for number, key in enumerate(keys)]
        with self._writing(wait=True) as stored:
            rows = stored.rows_of(keys)
            before, is_stored = units[numbers], rows >= 0
            before[is_stored] = stored.vectors(rows[is_stored], self._paths[1])
            self._require_alike(before, units, texts)
            new = {key: at for key, at in first.items() if not is_stored[at]}
            self._append(new, units[list(new.values())])
        seconds = time.perf_counter() - begin
        return ComputedVectors(len(new), int(is_stored.sum()), seconds)

    def check(self) -> None:
        """Read every vector and compare it with its checksum."""
        stored = self._read()
        for first in range(0, len(stored.entries), CHECKED):
            last = min(first + CHECKED, len(stored.entries))
            stored.vectors(np.arange(first, last), self._paths[1])

    def _require_alike(
        self, before: NDArray[Any], after: NDArray[Any], texts: Sequence[str]
    ) -> None:
        """Refuse a text's second vector, unless it differs by rounding alone."""
        apart = np.abs(before.astype(np.float32) - after.astype(np.float32))
        other = (apart > ROUNDING).any(axis=1)
        if other.any():
            raise OtherVector(self.name, int(other.argmax()), texts)

    def _vectors(self, texts: list[str]) -> Vectors:
        stored, rows = self._looked_up(keys := [text_key(text) for text in texts])
        vectors = np.empty((len(texts), self.dimension), STORED)
        is_stored = rows >= 0
        vectors[is_stored] = stored.vectors(rows[is_stored], self._paths[1])
        if missing := np.flatnonzero(~is_stored).tolist():
            vectors_by_key = self._once_made({keys[at]: texts[at] for at in missing})
            vectors[missing] = [vectors_by_key[keys[at]] for at in missing]
        return vectors.astype(np.float32)

    def _once_made(
        self, texts: Mapping[bytes, str]
    ) -> Mapping[bytes, NDArray[np.float16]]:
        """Vectors of texts by key that are not stored: each is made once for a while.

        Who asks what a text is about asks for its vector several times.
        """
        recent = self._recent
        if new := {key: text for key, text in texts.items() if key not in recent}:
            new_vectors = self._made(list(new.values()))
            recent = recent | dict(zip(new, new_vectors, strict=True))
            self._recent = dict(list(recent.items())[-RECENT:])
        return recent

    def _looked_up(
        self, keys: Sequence[bytes]
    ) -> tuple[StoredVectors, NDArray[np.int64]]:
        """The rows of keys, of one moment; the file is read again where it has grown.

        Who reads while another appends sees the vectors before, or all of them.
        """
        stored = self._stored
        rows = stored.rows_of(keys)
        if (rows < 0).any() and (now := self._read()) is not stored:
            stored, rows = now, now.rows_of(keys)
        return stored, rows

    def _made(self, texts: list[str]) -> NDArray[np.float16]:
        if self.source is None:
            remedy = f"give the source {self.name} (meaning=…)"
            if self.imported:
                remedy = worded("import one (classmark meaning import FILE)")
            raise Mistake(
                f"{self.folder} has no vector for the text {texts[0][:40]!r}: {remedy}"
            )
        return unit_rows(self.source.encode(texts)).astype(STORED)

    def _mapped(self, count: int) -> NDArray[np.float16]:
        shape = count, self.dimension
        if not count:
            return np.empty(shape, STORED)
        return np.memmap(self._paths[1], STORED, "r", shape=shape)

    def _read(self) -> StoredVectors:
        """Read what is complete and new; the keys come last, for others who read."""
        keys, vectors = self._paths
        before, facts = self._stored, keys.stat() if keys.exists() else None
        count = facts.st_size // ENTRY.itemsize if facts else 0
        file = facts.st_ino if facts else 0
        if (before.file, len(before.entries)) == (file, count):
            return before
        old = before if before.file == file and len(before.entries) < count else None
        first = len(old.entries) if old else 0
        added = np.empty(0, ENTRY)
        if count:
            added = np.fromfile(
                keys, ENTRY, count - first, offset=first * ENTRY.itemsize
            )
        stored = vectors.stat().st_size if vectors.exists() else 0
        stored //= self.dimension * STORED.itemsize
        if stored < count:
            raise DamagedFolder(
                f"{vectors} has {stored} of {count} vectors: remove the folder and "
                "compute its vectors again"
            )
        prefixes, rows = _prefixes(added["key"]), np.arange(first, count)
        if old:
            added = np.concatenate((old.entries, added))
            prefixes = np.concatenate((old.prefixes, prefixes))
            rows = np.concatenate((old.rows, rows))
        order = np.argsort(prefixes, kind="stable")  # quick: what was there is sorted
        self._stored = StoredVectors(
            file, added, self._mapped(count), prefixes[order], rows[order]
        )
        return self._stored

    @contextmanager
    def _writing(self, *, wait: bool) -> Iterator[StoredVectors]:
        """Be the only process that appends, behind the last complete vector."""
        with self._locked(wait=wait):
            stored = self._read()
            sizes = ENTRY.itemsize, self.dimension * STORED.itemsize
            for path, size in zip(self._paths, sizes, strict=True):
                with path.open("ab") as file:
                    file.truncate(len(stored.entries) * size)
            try:
                yield stored
            finally:
                self._read()

    def _locked(self, *, wait: bool) -> Any:
        path = self.folder / "lock"
        if (lock := locked_file(path)) is not None:
            return lock
        if not wait:
            raise Mistake(
                f"{self.folder}: another process computes these vectors: wait for it"
            )
        for _ in track(count(), "waiting for others who compute these vectors"):
            if (lock := locked_file(path)) is not None:
                break
            time.sleep(PAUSE)
        return lock

    def _append(self, keys: Collection[bytes], vectors: NDArray[np.float16]) -> None:
        """Write vectors, then their keys, each to the disk before it goes on."""
        entries = np.empty(len(keys), ENTRY)
        entries["key"] = [np.void(key) for key in keys]
        entries["crc32"] = list(map(_crc32, keys, vectors))
        paths = self._paths
        for path, array in ((paths[1], vectors), (paths[0], entries)):
            with path.open("ab") as file:
                file.write(array.tobytes())
                file.flush()
                os.fsync(file.fileno())


class OtherVector(Mistake):
    """A text's second vector, which differs; number : of the text."""

    def __init__(self, name: str, number: int, texts: Sequence[str]) -> None:
        super().__init__(
            f"{name}: the text {texts[number][:40]!r} has another vector already: give "
            "it the same, or choose another name for these vectors"
        )
        self.number = number


def described(folder: Path) -> Mapping[str, Any]:
    """Which vectors a folder has: name, digest, dimension, weight, imported or not."""
    return open_folder(folder / "source", FORMAT, VERSION).settings


def _describe(folder: Path, facts: MeaningFacts, **more: Any) -> None:
    make_folder(folder)
    save(folder / "source", FORMAT, VERSION, {}, facts._asdict() | more)


def _prefixes(keys: NDArray[Any]) -> NDArray[np.uint64]:
    """The first eight bytes of each key, as a number."""
    whole = np.ascontiguousarray(keys).view(np.uint64).reshape(-1, KEY // 8)
    return np.ascontiguousarray(whole[:, 0])


def _opened(meaning: TextEncoder | Callable[[], TextEncoder]) -> MeaningSource:
    return source_from(meaning if isinstance(meaning, TextEncoder) else meaning())


def _crc32(key: bytes, vector: NDArray[np.float16]) -> int:
    return zlib.crc32(vector.tobytes(), zlib.crc32(key))

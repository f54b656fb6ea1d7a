"""Uploaded files: looked through, and waiting to be imported.

It is read once from end to end, piece by piece, before anything is made of it.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
import time
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self

from classmark.formats.archive import entries
from classmark.formats.text_files import CHUNK, Limits, open_bytes
from classmark.problems import Mistake, UnreadableFile

if TYPE_CHECKING:
    from classmark.formats.text_files import Readable
    from classmark.workbench.team.desk import Desk


ROW = 2 << 20  # bytes of one document, or one row of a table
LIMITS = Limits(size=4 << 30, ratio=100, line=ROW)
LARGEST_TAXONOMY = 32 << 20
MEMBERS = 100_000
CONTENTS = 5 << 20  # bytes of a zip's table of contents
QUOTED = (".csv", ".tsv", ".tab")


def inspect(path: Path, *, taxonomy: bool = False) -> int:
    """Read an uploaded file to its end; return its bytes once unpacked.

    Refused: an archive that points outside, holds links or unpacks to far more than it
    is, too large a file, and rows or documents of more than 2 MiB.
    """
    largest = LARGEST_TAXONOMY if taxonomy else LIMITS.size
    if path.suffix == ".zip":
        _require_short_contents(path)
        pieces = _members(path)
    else:
        with open_bytes(path, LIMITS) as stream:
            return _measured(_rows(path, stream), path, largest)
    return _measured(pieces, path, largest)


def _measured(sizes: Iterable[int], path: Path, largest: int) -> int:
    total = 0
    for size in sizes:
        total += size
        if total > largest:
            raise UnreadableFile(
                path,
                None,
                f"holds more than {largest >> 20:,} MiB: send it in parts",
            )
    return total


def _members(path: Path) -> Iterator[int]:
    """Yield the bytes of each member of a zip, each read to its end."""
    for number, entry in enumerate(entries(path, LIMITS), 1):
        if number > MEMBERS:
            raise UnreadableFile(path, None, _TOO_MANY)
        with entry.open() as stream:
            yield from _document(entry.where, stream, jsonl=_in_rows(entry.name))


def _in_rows(name: str) -> bool:
    return name.endswith((".jsonl", ".tsv", ".csv", ".sgm"))


def _document(where: str, stream: Readable, *, jsonl: bool) -> Iterator[int]:
    """Yield the bytes of a stream; one document, or one a line, is not too long."""
    if jsonl:
        yield from _rows(Path(where), stream)
        return
    size = 0
    while chunk := stream.read(CHUNK):
        size += len(chunk)
        if size > ROW:
            raise UnreadableFile(where, None, _TOO_LONG)
        yield len(chunk)


def _rows(path: Path, stream: Readable) -> Iterator[int]:
    """Yield the bytes of a stream; no row, with what stands in quotes, is too long."""
    quotes, row, number = path.suffix in QUOTED, 0, 1
    odd = False
    while chunk := stream.read(CHUNK):
        yield len(chunk)
        first, *others = chunk.split(b"\n")
        row += len(first)
        odd ^= bool(quotes and first.count(b'"') % 2)
        for other in others:
            row = row + len(other) if odd else len(other)
            odd ^= bool(quotes and other.count(b'"') % 2)
            number += 1
            if row > ROW:
                break
        if row > ROW:
            raise UnreadableFile(path, number, _TOO_LONG)


def _require_short_contents(path: Path) -> None:
    """Refuse a zip whose table of contents alone would fill the memory."""
    with path.open("rb") as file:
        try:
            found = zipfile._EndRecData(file)  # type: ignore[attr-defined]  # noqa: SLF001 - what ZipFile itself will believe
        except (OSError, zipfile.BadZipFile) as problem:
            raise UnreadableFile(path, None, f"no zip archive: {problem}") from problem
    if found is None:
        raise UnreadableFile(path, None, "no zip archive: pack it again")
    if found[5] > CONTENTS or found[4] > MEMBERS:
        raise UnreadableFile(path, None, _TOO_MANY)


_TOO_MANY = (
    f"a zip of more than {MEMBERS:,} files, or of very long names: send several, or "
    "one JSONL file"
)
_TOO_LONG = (
    f"a document, or row, of more than {ROW >> 20} MiB: part it, or import it with "
    "classmark import on the machine itself"
)


FOLDER, ABOUT, DATA = "uploads", "about.json", "data"
LARGEST = 1 << 30
WAITING = 20
KEPT = 24 * 3600.0
DOCUMENTS, TAXONOMY, PREFERENCES = "documents", "taxonomy", "preferences"
KINDS = (DOCUMENTS, TAXONOMY, PREFERENCES)
TABLES = (".csv", ".tsv", ".tab")
ONLY_TREES = (".ttl", ".rdf", ".nt", ".taxonomy", ".orig", ".xml")
ENDINGS = (".jsonl", ".ndjson", *TABLES, ".zip", ".sgm", *ONLY_TREES)
PACKED = ".gz"
_TOKEN = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that waits to be imported.

    token : its name here;  name : as the sender called it, to be shown and no more;
    size, unpacked : bytes;  kind : documents, taxonomy or preferences.
    """

    token: str
    name: str
    ending: str
    size: int
    unpacked: int
    kind: str
    who: str


class Receiving:
    """A file that is being sent: a context manager; kept only by ``keep``.

    Nothing of it stands in memory, and no name that was sent names a file here.
    """

    def __init__(self, desk: Desk, name: str) -> None:
        self._ending = ending_of(name)
        self._name = " ".join(re.split(r"[\\/]", name)[-1].split())[:200] or "file"
        _forget_old(desk)
        self._token = secrets.token_hex(16)
        self._folder = _room(desk) / self._token
        self._size = 0
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, mode=0o700)
        self._file = (self._folder / f"{DATA}{self._ending}").open("xb")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()
        if not (self._folder / ABOUT).exists():
            shutil.rmtree(self._folder, ignore_errors=True)

    def write(self, piece: bytes) -> None:
        """Take the next bytes."""
        self._size += len(piece)
        if self._size > LARGEST:
            raise Mistake(
                f"{self._name}: more than {LARGEST >> 20:,} MiB cannot be sent at once:"
                " send it in parts, or import it with classmark import"
            )
        if self._file is not None:
            self._file.write(piece)

    def keep(self, who: str) -> Upload:
        """Look the file through, and keep it until it is imported or thrown away."""
        if self._file is None or not self._size:
            raise Mistake(f"{self._name} is empty: choose another file")
        self._file.close()
        path = self._folder / f"{DATA}{self._ending}"
        kind = kind_of(self._name, self._ending)
        with called(path, self._name):
            unpacked = inspect(path, taxonomy=self._ending in ONLY_TREES)
        found = Upload(
            self._token, self._name, self._ending, self._size, unpacked, kind, who
        )
        about = json.dumps(asdict(found), ensure_ascii=False)
        (self._folder / ABOUT).write_text(about, encoding="utf-8")
        return found


@contextmanager
def called(path: Path, name: str) -> Iterator[None]:
    """What goes wrong with a file is told by the name that its sender knows."""
    try:
        yield
    except Mistake as mistake:
        if str(path) not in str(mistake):
            raise
        raise Mistake(str(mistake).replace(str(path), name)) from mistake


def ending_of(name: str) -> str:
    """The ending of a name, if it is one of those that are read.

    >>> ending_of("News.JSONL"), ending_of("news.tsv.gz")
    ('.jsonl', '.tsv.gz')
    """
    low = name.lower()
    packed = PACKED if low.endswith(PACKED) else ""
    plain = low.removesuffix(PACKED)
    found = next((e for e in ENDINGS if plain.endswith(e)), "")
    if not found or (packed and found in (".zip", *ONLY_TREES)):
        known = ", ".join(ENDINGS)
        raise UnreadableFile(
            Path(name).name or "the file", None, f"its ending is none of {known}"
        )
    return found + packed


def kind_of(name: str, ending: str) -> str:
    """What a file most likely holds."""
    if ending in ONLY_TREES:
        return TAXONOMY
    if ".preferences." in name.lower():
        return PREFERENCES
    if ending in TABLES and ("taxonom" in name.lower() or "categor" in name.lower()):
        return TAXONOMY
    return DOCUMENTS


def upload_of(desk: Desk, token: str) -> Upload:
    """A file that waits, by its name here."""
    about = _room(desk) / token / ABOUT
    if not _TOKEN.fullmatch(token) or not about.is_file():
        raise Mistake("this file does not wait any more: send it again")
    return Upload(**json.loads(about.read_text(encoding="utf-8")))


def path_of(desk: Desk, upload: Upload) -> Path:
    """Where the bytes of a file are."""
    return _room(desk) / upload.token / f"{DATA}{upload.ending}"


def waiting(desk: Desk) -> list[Upload]:
    """The files that wait to be imported."""
    room = _room(desk)
    tokens = [p.parent.name for p in sorted(room.glob(f"*/{ABOUT}"), key=_age)]
    return [upload_of(desk, token) for token in tokens if _TOKEN.fullmatch(token)]


def throw_away(desk: Desk, upload: Upload) -> None:
    """Remove a file."""
    shutil.rmtree(_room(desk) / upload.token, ignore_errors=True)


def _room(desk: Desk) -> Path:
    return desk.folder / FOLDER


def _age(path: Path) -> float:
    return path.stat().st_mtime


def _forget_old(desk: Desk) -> None:
    """Remove files that nobody imported for a day; and refuse more than some."""
    room, now = _room(desk), time.time()
    for folder in room.iterdir() if room.is_dir() else ():
        if _TOKEN.fullmatch(folder.name) and now - _age(folder) > KEPT:
            shutil.rmtree(folder, ignore_errors=True)
    if len(waiting(desk)) >= WAITING:
        raise Mistake(
            f"{WAITING} files wait to be imported: import some, or throw them away"
        )

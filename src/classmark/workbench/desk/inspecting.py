"""Is an uploaded file what it says, and small enough to be read?

It is read once from end to end, piece by piece, before anything is made of it.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from classmark.formats.archive import entries
from classmark.formats.text_files import CHUNK, Limits, open_bytes
from classmark.problems import UnreadableFile

if TYPE_CHECKING:
    from classmark.formats.text_files import Readable

ROW = 2 << 20  # bytes of one document, or one row of a table
LIMITS = Limits(size=4 << 30, ratio=100, line=ROW)
TAXONOMY = 32 << 20
MEMBERS = 100_000
CONTENTS = 5 << 20  # bytes of a zip's table of contents
QUOTED = (".csv", ".tsv", ".tab")


def inspect(path: Path, *, taxonomy: bool = False) -> int:
    """Read an uploaded file to its end; return its bytes once unpacked.

    Refused: an archive that points outside, holds links or unpacks to far more than it
    is, too large a file, and rows or documents of more than 2 MiB.
    """
    largest = TAXONOMY if taxonomy else LIMITS.size
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

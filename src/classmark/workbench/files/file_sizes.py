"""How large are the parts of a file that was sent: rows, documents, members."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from classmark.formats import office
from classmark.formats.archive import entries
from classmark.formats.text_files import CHUNK, FileLimits, open_bytes
from classmark.language import _, whole
from classmark.problems import UnreadableFile

if TYPE_CHECKING:
    from classmark.formats.text_files import Measured


ROW = 2 << 20  # bytes of one document, or one row of a table
LIMITS = FileLimits(size=4 << 30, ratio=100, line=ROW)
WHOLE = office.MOST  # bytes of a file that is read from memory
LARGEST_TAXONOMY = 32 << 20
MEMBERS = 100_000
CONTENTS = 5 << 20  # bytes of a zip's table of contents
TABLES = (".csv", ".tsv", ".tab")
OFFICE = (".xlsx", ".docx", ".pdf", ".bib")  # read from memory, whole
REFERENCES = (".ris", ".nbib", ".enw")
PACKED = ".gz"


def inspect(path: Path, *, taxonomy: bool = False) -> int:
    """Read an uploaded file to its end; return its bytes once unpacked.

    Refused: an archive that points outside, holds links or unpacks to far more than it
    is, too large a file, and rows or documents of more than 2 MiB.
    """
    largest = LARGEST_TAXONOMY if taxonomy else LIMITS.size
    total = 0
    sizes = _member_sizes if path.suffix == ".zip" else _row_sizes
    for size in sizes(path):
        total += size
        if total > largest:
            problem = _(
                "holds more than %(n)s MiB: send it in parts", n=whole(largest >> 20)
            )
            raise UnreadableFile(path, None, problem)
    return total


def _member_sizes(path: Path) -> Iterator[int]:
    """Yield the bytes of each member of a zip, each read to its end."""
    _require_short_contents(path)
    for number, entry in enumerate(entries(path, LIMITS), 1):
        if number > MEMBERS:
            raise UnreadableFile(path, None, _too_many())
        with entry.open() as stream:
            low = entry.name.lower()
            if low.endswith((".jsonl", ".tsv", ".csv", ".sgm", *REFERENCES)):
                yield from _sizes(Path(entry.where), stream)
            else:
                most = WHOLE if low.endswith(OFFICE) else ROW
                yield from _size_of_one(entry.where, stream, most)


def _size_of_one(where: str, stream: Measured, most: int) -> Iterator[int]:
    """Yield the bytes of a file that is one document, or is read whole."""
    size = 0
    while chunk := stream.read(CHUNK):
        size += len(chunk)
        if size > most:
            raise UnreadableFile(where, None, _too_long())
        yield len(chunk)


def _row_sizes(path: Path) -> Iterator[int]:
    with open_bytes(path, LIMITS) as stream:
        if path.name.removesuffix(PACKED).endswith(OFFICE):
            yield from _size_of_one(str(path), stream, WHOLE)
        else:
            yield from _sizes(path, stream)


def _sizes(path: Path, stream: Measured) -> Iterator[int]:
    """Yield the bytes of a stream; no row, with what stands in quotes, is too long."""
    may_quote, quoted, row, number = path.suffix in TABLES, False, 0, 1
    while chunk := stream.read(CHUNK):
        yield len(chunk)
        for ends, part in enumerate(chunk.split(b"\n")):
            if ends:
                row, number = row if quoted else 0, number + 1
            row += len(part)
            quoted ^= may_quote and part.count(b'"') % 2 == 1
            if row > ROW:
                raise UnreadableFile(path, number, _too_long())


def _require_short_contents(path: Path) -> None:
    """Refuse a zip whose table of contents alone would fill the memory."""
    with path.open("rb") as file:
        try:
            record = zipfile._EndRecData(file)  # type: ignore[attr-defined]  # noqa: SLF001 - what ZipFile itself will believe
        except (OSError, zipfile.BadZipFile) as problem:
            raise UnreadableFile(
                path, None, _("no zip archive: %(problem)s", problem=problem)
            ) from problem
    if record is None:
        raise UnreadableFile(path, None, _("no zip archive: pack it again"))
    if record[5] > CONTENTS or record[4] > MEMBERS:
        raise UnreadableFile(path, None, _too_many())


def _too_many() -> str:
    return _(
        "a zip of more than %(n)s files, or of very long names: send several, or one "
        "JSONL file",
        n=whole(MEMBERS),
    )


def _too_long() -> str:
    return _(
        "a document, or row, of more than %(row)s MiB (%(whole)s MiB in Office or PDF "
        "files): split it, or have it imported on the machine itself, from the command "
        "line",
        row=ROW >> 20,
        whole=WHOLE >> 20,
    )

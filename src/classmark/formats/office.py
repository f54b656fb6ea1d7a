"""Files of office programs: rows of spreadsheets, and the texts of Word, PDF and .txt.

They are read from memory, so they may not be large. Word files and spreadsheets are zip
archives of XML: what would grow too far is refused, as are DTDs and entities.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from datetime import date, datetime, time
from typing import Any
from xml.etree.ElementTree import ParseError

from classmark.formats.archive import ArchiveFile
from classmark.formats.rows import Layout, Reading, Row, named_rows
from classmark.formats.text_files import CHUNK, LIMITS, safe_xml, whole_text
from classmark.problems import MissingExtra
from classmark.progress import remark

MOST = 64 << 20  # bytes of one such file
UNPACKED = 1 << 30  # bytes of what a spreadsheet or a Word file holds
RATIO = 200  # how many times larger that may be than the file, beyond a MiB
OLD = b"\xd0\xcf\x11\xe0"  # how files of Office before 2007 begin
WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
TITLE = "{http://purl.org/dc/elements/1.1/}title"
BREAKS = {f"{WORD}tab": "\t", f"{WORD}br": "\n", f"{WORD}cr": "\n"}


def whole_bytes(entry: ArchiveFile, reading: Reading) -> io.BytesIO:
    """All of a file; refused where it is too large to be read in memory."""
    content = bytearray()
    with entry.open() as stream:
        while chunk := stream.read(CHUNK):
            content += chunk
            if len(content) > MOST:
                reading.refuse(f"larger than {MOST >> 20} MiB: part it")
    return io.BytesIO(bytes(content))


def _archive(content: io.BytesIO, what: str, reading: Reading) -> zipfile.ZipFile:
    """Open a file that is a zip archive, unless it would grow too far."""
    size = len(content.getbuffer())
    if content.getvalue().startswith(OLD):
        reading.refuse(f"of an old Office program: save it anew as {what}")
    try:
        archive = zipfile.ZipFile(content)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
        reading.refuse(f"no {what} file ({error}): save it anew, or choose another")
    total = sum(info.file_size for info in archive.infolist())
    if total > min(UNPACKED, max(1 << 20, RATIO * size)):
        reading.refuse("it would grow too far when it is unpacked: do not trust it")
    return archive


def spreadsheet_rows(
    entry: ArchiveFile, layout: Layout, reading: Reading
) -> Iterator[Row]:
    """Yield the rows of the first sheet of an .xlsx file that has some."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise MissingExtra("Excel files", "files") from error
    content = whole_bytes(entry, reading)
    _archive(content, ".xlsx", reading).close()
    broken = (zipfile.BadZipFile, KeyError, ValueError, TypeError, ParseError)
    try:
        content.seek(0)
        book = load_workbook(content, read_only=True, data_only=True)
        for number, sheet in enumerate(book.worksheets):
            sheet.reset_dimensions()  # what the file says of them may be wrong
            cells = _sheet_cells(sheet)
            first = next(cells, None)
            if first is not None:
                others = [s.title for s in book.worksheets[number + 1 :]]
                if others:
                    remark(
                        f"{reading.name}: the sheet {sheet.title!r} was read, not "
                        f"{', '.join(others)}"
                    )
                yield from named_rows(_after(first, cells), layout, reading)
                return
    except broken as error:
        reason = " ".join(str(error).split()[:20])
        reading.refuse(
            f"no spreadsheet that can be read ({reason}): save it anew as .xlsx, or as "
            "CSV"
        )
    reading.refuse("every sheet of it is empty: choose another file")


def _after(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    width = len(first[1])
    for number, cells in rest:
        yield number, cells + [""] * (width - len(cells))


def _sheet_cells(sheet: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield (number, cells) of rows that are not empty; empty cells at the end go."""
    for number, values in enumerate(sheet.iter_rows(values_only=True), 1):
        cells = [_cell(value) for value in values]
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield number, cells


def _cell(value: Any) -> str:
    """A cell as text: 12.0 is 12, a day has no time, and nothing is nothing.

    >>> _cell(12.0), _cell(datetime(2020, 5, 1)), _cell(None), _cell(True)
    ('12', '2020-05-01', '', 'true')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    return str(value)


def word_rows(entry: ArchiveFile, _: Layout, reading: Reading) -> Iterator[Row]:
    """Yield a Word file as one row: its title, if it says one, and its paragraphs."""
    content = whole_bytes(entry, reading)
    with _archive(content, ".docx", reading) as archive:
        try:
            body = archive.read("word/document.xml")
            facts = b""
            if "docProps/core.xml" in archive.namelist():
                facts = archive.read("docProps/core.xml")
        except (KeyError, zipfile.BadZipFile, zlib.error, RuntimeError) as error:
            reading.refuse(f"no Word file ({error}): save it anew as .docx")
    root = safe_xml(entry.where, body)
    paragraphs = (
        "".join(
            part.text or "" if part.tag == f"{WORD}t" else BREAKS.get(part.tag, "")
            for part in paragraph.iter()
        )
        for paragraph in root.iter(f"{WORD}p")
    )
    title = safe_xml(entry.where, facts).findtext(TITLE, "") if facts else ""
    text = "\n".join(paragraphs).strip()
    yield from _document(entry, reading, title, text)


def pdf_rows(entry: ArchiveFile, _: Layout, reading: Reading) -> Iterator[Row]:
    """Yield a PDF file as one row: its title, if it says one, and its text."""
    try:
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError
    except ImportError as error:
        raise MissingExtra("PDF files", "files") from error
    content = whole_bytes(entry, reading)
    broken = (
        PyPdfError, ValueError, KeyError, IndexError, TypeError, AttributeError,
        RecursionError, NotImplementedError, OverflowError, zlib.error,
    )  # fmt: skip
    try:
        file = PdfReader(content)
        if file.is_encrypted and not file.decrypt(""):
            reading.refuse("it has a password: save it without one")
        text = "\n".join(page.extract_text() for page in file.pages).strip()
        title = str((file.metadata and file.metadata.title) or "")
    except broken as error:
        reading.refuse(f"no PDF file that can be read ({error}): save it anew")
    yield from _document(entry, reading, title, text)


def text_rows(entry: ArchiveFile, layout: Layout, reading: Reading) -> Iterator[Row]:
    """Yield a plain text file as one row."""
    with entry.open() as stream:
        text = whole_text(stream, entry.where, layout.encoding, LIMITS)
    yield from _document(entry, reading, "", text)


def _document(
    entry: ArchiveFile, reading: Reading, title: str, text: str
) -> Iterator[Row]:
    """A file that is one document; inside a folder, that is its label."""
    reading.line = None
    if not text.strip():
        reading.leave_out(
            "there is no text in it: if it is a scan, have the letters recognised "
            "first (OCR)"
        )
        return
    name = reading.name or entry.name
    folder = name.rpartition("/")[0]
    row: dict[str, Any] = {"id": name.removesuffix(".txt")}
    row |= {"title": title} if title.strip() else {}
    row["text"] = text
    yield row | ({"labels": [folder]} if folder else {})

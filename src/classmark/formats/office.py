"""Files of office programs: rows of spreadsheets, and the texts of Word, PDF and .txt.

They are read from memory, so they may not be large. Word files and spreadsheets are zip
archives of XML: what would grow too far is refused, as are DTDs and entities.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime, time
from itertools import islice
from typing import Any
from xml.etree.ElementTree import ParseError

from classmark.formats.archive import ArchiveFile
from classmark.formats.rows import (
    SAMPLE,
    YES,
    Layout,
    NumberedCells,
    Reading,
    Row,
    named_rows,
    rows_above,
)
from classmark.formats.text_files import CHUNK, LIMITS, safe_xml, whole_text
from classmark.language import N_, _
from classmark.problems import MissingExtra, Mistake
from classmark.progress import remark

MOST = 64 << 20  # bytes of one such file
UNPACKED = 1 << 30  # bytes of what a spreadsheet or a Word file holds
RATIO = 200  # how many times larger that may be than the file, beyond a MiB
OLD = b"\xd0\xcf\x11\xe0"  # how files of Office before 2007 begin
WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
TITLE = "{http://purl.org/dc/elements/1.1/}title"
ENDINGS = (".txt", ".docx", ".pdf")  # that the id of a document goes without
BREAKS = {f"{WORD}tab": "\t", f"{WORD}br": "\n", f"{WORD}cr": "\n"}


def whole_bytes(entry: ArchiveFile, reading: Reading) -> io.BytesIO:
    """All of a file; refused where it is too large to be read in memory."""
    content = bytearray()
    with entry.open() as stream:
        while chunk := stream.read(CHUNK):
            content += chunk
            if len(content) > MOST:
                raise reading.refusal(
                    "larger than %(what)s MiB: split it", what=MOST >> 20
                )
    return io.BytesIO(bytes(content))


def _archive(content: io.BytesIO, what: str, reading: Reading) -> zipfile.ZipFile:
    """Open a file that is a zip archive, unless it would grow too far."""
    size = len(content.getbuffer())
    if content.getvalue().startswith(OLD):
        raise reading.refusal(
            "from an old Office program: save it as %(what)s", what=what
        )
    try:
        archive = zipfile.ZipFile(content)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
        raise reading.refusal(
            "not a readable %(what)s file (%(error)s): save it again, or "
            "choose another",
            what=what,
            error=error,
        ) from error
    total = sum(info.file_size for info in archive.infolist())
    if total > min(UNPACKED, max(1 << 20, RATIO * size)):
        raise reading.refusal(
            "it would grow too far when it is unpacked: do not trust it"
        )
    return archive


def spreadsheet_rows(
    entry: ArchiveFile, layout: Layout, reading: Reading
) -> Iterator[Row]:
    """Yield the rows of one sheet of an .xlsx file."""
    with _workbook(entry, reading) as book:
        names = [sheet.title for sheet in book.worksheets]
        reading.sheets = names
        if layout.sheet not in names:
            raise reading.refusal(
                "there is no sheet %(sheet)r: choose one of %(all)s",
                sheet=layout.sheet,
                all=", ".join(names),
            )
        if others := names[names.index(layout.sheet) + 1 :]:
            remark(
                _(
                    "%(file)s: the sheet %(sheet)r was read, not %(others)s",
                    file=reading.name,
                    sheet=layout.sheet,
                    others=", ".join(others),
                )
            )
        yield from named_rows(_sheet_rows(book[layout.sheet], layout), layout, reading)


def fitted_sheet(entry: ArchiveFile, layout: Layout) -> Layout:
    """The layout with a sheet, the first that has rows, and its row of columns."""
    reading = Reading(entry.where, entry.name)
    with _workbook(entry, reading) as book:
        for sheet in book.worksheets:
            rows = list(islice(_sheet_cells(sheet), SAMPLE))
            if rows and layout.sheet in ("", sheet.title):
                width = max(len(cells) for _, cells in rows)
                even = [(n, cells + [""] * (width - len(cells))) for n, cells in rows]
                header = str(rows[above][0]) if (above := rows_above(even)) else YES
                layout = replace(layout, header=layout.header or header)
                return replace(layout, sheet=sheet.title)
    if not layout.sheet:
        raise reading.refusal("every sheet of it is empty: choose another file")
    return layout  # of a sheet without rows, or of none: whoever reads it says so


@contextmanager
def _workbook(entry: ArchiveFile, reading: Reading) -> Iterator[Any]:
    """Open an .xlsx file; what goes wrong within with it is told."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise MissingExtra(N_("Excel files"), "files") from error
    content = whole_bytes(entry, reading)
    _archive(content, ".xlsx", reading).close()
    broken = (zipfile.BadZipFile, KeyError, ValueError, TypeError, ParseError)
    try:
        content.seek(0)
        yield load_workbook(content, read_only=True, data_only=True)
    except Mistake:
        raise
    except broken as error:
        reason = " ".join(str(error).split()[:20])
        raise reading.refusal(
            "no spreadsheet that can be read (%(reason)s): save it anew as .xlsx, or "
            "as CSV",
            reason=reason,
        ) from error


def _sheet_rows(sheet: Any, layout: Layout) -> Iterator[NumberedCells]:
    """The rows of a sheet, from the one that names the columns; as wide as that."""
    header = int(layout.header) if layout.header.isdecimal() else 0
    width = 0
    for number, cells in _sheet_cells(sheet):
        if number >= header:
            width = width or len(cells)
            yield number, cells + [""] * (width - len(cells))


def _sheet_cells(sheet: Any) -> Iterator[NumberedCells]:
    """Yield (number, cells) of rows that are not empty; empty cells at the end go."""
    sheet.reset_dimensions()  # what the file says of them may be wrong
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
            raise reading.refusal(
                "not a readable Word file (%(error)s): save it as .docx", error=error
            ) from error
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
        raise MissingExtra(N_("PDF files"), "files") from error
    content = whole_bytes(entry, reading)
    broken = (
        PyPdfError, ValueError, KeyError, IndexError, TypeError, AttributeError,
        RecursionError, NotImplementedError, OverflowError, zlib.error,
    )  # fmt: skip
    try:
        file = PdfReader(content)
        if file.is_encrypted and not file.decrypt(""):
            raise reading.refusal("it has a password: save it without one")
        text = "\n".join(page.extract_text() for page in file.pages).strip()
        title = str((file.metadata and file.metadata.title) or "")
    except broken as error:
        raise reading.refusal(
            "not a readable PDF file (%(error)s): save it again", error=error
        ) from error
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
            _("it contains no text: if it is a scan, run text recognition (OCR) first")
        )
        return
    name = reading.name or entry.name
    folder = name.rpartition("/")[0]
    stem = name.rpartition(".")[0] if name.lower().endswith(ENDINGS) else name
    row: dict[str, Any] = {"id": name if stem in reading.ids else stem}
    row |= {"title": title} if title.strip() else {}
    row["text"] = text
    yield row | ({"labels": [folder]} if folder else {})

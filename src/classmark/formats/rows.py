"""Which rows does a file hold? Column → value, whatever kind of file it is."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import islice
from typing import Any, NamedTuple

from classmark.formats.archive import ArchiveFile
from classmark.formats.column_names import role_by_name
from classmark.formats.jsonl import parse_object
from classmark.formats.tables import cells_in, delimiter_of
from classmark.formats.text_files import (
    CHUNK,
    LIMITS,
    FilePlace,
    lines_of,
    plain_name,
)
from classmark.problems import Mistake, UnreadableFile

Row = Mapping[str, Any]
YES, NO = "yes", "no"
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
ENCODINGS = {  # those that people choose from; any other that Python knows is read
    "utf-8": "UTF-8",
    "cp1252": "Western European (Windows)",
    "latin-1": "Western European (Latin-1)",
    "cp1250": "Central European (Windows)",
    "iso8859-2": "Central European (Latin-2)",
    "cp1251": "Cyrillic (Windows)",
    "koi8-r": "Cyrillic (KOI8-R)",
    "cp1253": "Greek (Windows)",
    "cp1254": "Turkish (Windows)",
    "mac-roman": "Western European (old Macintosh)",
    "utf-16": "UTF-16",
    "gb18030": "Chinese (GB 18030)",
    "big5": "Chinese (Big5)",
    "shift_jis": "Japanese (Shift JIS)",
    "euc-kr": "Korean (EUC-KR)",
}
NOT_IN_CP1252 = b"\x81\x8d\x8f\x90\x9d"
SAMPLE = 200  # rows, or lines, that guesses rest on
SHOWN = 10  # rows that are left out, by line and reason


@dataclass(frozen=True, slots=True)
class Layout:
    """How a file of rows is read; what is empty is guessed.

    columns : column → its role (``column_names.ROLES``);  encoding : of its text;
    delimiter : between cells;  header : whether the first row names the columns, "yes"
    or "no";  separator : between labels in one cell, "none" where there is one label;
    skip : whether rows that cannot be read are left out, else the file is refused.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    encoding: str = ""
    delimiter: str = ""
    header: str = ""
    separator: str = ""
    skip: bool = False


class LeftOut:
    """The rows of a file that are not read.

    count : how many could not be read;  first : line and reason of some;  blank : how
    many rows were empty.
    """

    def __init__(self) -> None:
        self.count, self.blank = 0, 0
        self.first: list[str] = []

    def clear(self) -> None:
        """Begin anew."""
        self.__init__()  # type: ignore[misc]

    def add(self, where: str, problem: str) -> None:
        """Count a row that cannot be read."""
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append(f"{where}: {problem}")


class Reading(FilePlace):
    """A file that is read row by row.

    name : as its sender called it;  left_out : where rows go that cannot be read; where
    it is None, the first one ends the reading;  columns : those that the file names
    before its rows.
    """

    def __init__(
        self,
        path: str,
        name: str = "",
        ids: set[str] | None = None,
        left_out: LeftOut | None = None,
    ) -> None:
        super().__init__(path, None, ids)
        self.name, self.left_out = name, left_out
        self.columns: list[str] = []

    def leave_out(self, problem: str) -> None:
        """Leave the row out, or refuse the file."""
        if self.left_out is None:
            self.refuse(problem)
        where = self.name if self.line is None else f"line {self.line}"
        self.left_out.add(where, problem)

    def leave_blank_out(self) -> None:
        """Pass over an empty row."""
        if self.left_out is not None:
            self.left_out.blank += 1


class RowSource(NamedTuple):
    """A kind of file that holds rows.

    function : module of this folder and name;  endings : of its files;  reads : what
    users are told;  encoded : whether its text may have any encoding;  delimited :
    whether cells are separated;  typed :
    whether a string is text unless its name says otherwise, as in JSON.
    """

    function: str
    endings: str
    reads: str
    encoded: bool = False
    delimited: bool = False
    typed: bool = False

    def load(self) -> Callable[[ArchiveFile, Layout, Reading], Iterator[Row]]:
        """Import the reader; heavy packages wait until then."""
        module, _, name = self.function.partition(".")
        reader: Callable[[ArchiveFile, Layout, Reading], Iterator[Row]]
        reader = getattr(import_module(f"classmark.formats.{module}"), name)
        return reader


SOURCES = {
    "csv": RowSource(
        "rows.delimited_rows", ".csv .tsv .tab", "tables: CSV or TSV",
        encoded=True, delimited=True,
    ),
    "jsonl": RowSource(
        "rows.json_rows", ".jsonl .ndjson", "one JSON object on each line",
        encoded=True, typed=True,
    ),
    "xlsx": RowSource("office.spreadsheet_rows", ".xlsx", "spreadsheets of Excel"),
    "ris": RowSource(
        "citations.ris_rows", ".ris", "references: RIS", encoded=True
    ),
    "nbib": RowSource(
        "citations.medline_rows", ".nbib", "references: PubMed (MEDLINE)", encoded=True
    ),
    "enw": RowSource(
        "citations.refer_rows", ".enw", "references: EndNote", encoded=True
    ),
    "bib": RowSource(
        "citations.bibtex_rows", ".bib", "references: BibTeX", encoded=True
    ),
    "docx": RowSource("office.word_rows", ".docx", "documents of Word"),
    "pdf": RowSource("office.pdf_rows", ".pdf", "PDF documents"),
    "txt": RowSource("office.text_rows", ".txt", "plain texts", encoded=True),
}  # fmt: skip


def source_of(name: str) -> str | None:
    """The kind of rows that a file of this name holds; None: of none.

    >>> source_of("shelf.CSV.gz"), source_of("shelf.png")
    ('csv', None)
    """
    low = plain_name(name.lower()).name
    return next(
        (
            kind
            for kind, source in SOURCES.items()
            if low.endswith(tuple(source.endings.split()))
        ),
        None,
    )


def rows_in(
    entry: ArchiveFile, kind: str, layout: Layout, reading: Reading
) -> Iterator[Row]:
    """Yield the rows of a file; ``reading.line`` is the line on which each begins."""
    return SOURCES[kind].load()(entry, fitted(entry, kind, layout), reading)


def fitted(entry: ArchiveFile, kind: str, layout: Layout) -> Layout:
    """The layout with encoding, delimiter and header as this file has them."""
    source = SOURCES[kind]
    if source.encoded and not layout.encoding:
        layout = replace(layout, encoding=likely_encoding(entry))
    if source.delimited and not (layout.delimiter and layout.header):
        lines = _first_lines(entry, layout.encoding)
        delimiter = layout.delimiter or likely_delimiter(lines, entry.name)
        header = layout.header or likely_header(lines, delimiter)
        layout = replace(layout, delimiter=delimiter, header=header)
    return layout


def likely_encoding(entry: ArchiveFile) -> str:
    """UTF-8 where all of a file is that, else Windows' or ISO's Western European.

    A byte order mark decides first.
    """
    decoder, utf_8, windows, first = (
        codecs.getincrementaldecoder("utf-8")(), True, True, True,
    )  # fmt: skip
    with entry.open() as stream:
        while chunk := stream.read(CHUNK):
            if first and chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                return "utf-16"
            first = False
            windows = windows and not any(byte in chunk for byte in NOT_IN_CP1252)
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError:
                utf_8 = False
                break
        while chunk := stream.read(CHUNK):
            windows = windows and not any(byte in chunk for byte in NOT_IN_CP1252)
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        utf_8 = False
    if utf_8:
        return "utf-8"
    return "cp1252" if windows else "latin-1"


def _first_lines(entry: ArchiveFile, encoding: str) -> list[str]:
    with entry.open() as stream:
        numbered = lines_of(stream, entry.where, encoding, LIMITS)
        return [line for _, line in islice(numbered, SAMPLE)]


def _cells(lines: Iterable[str], delimiter: str) -> list[list[str]]:
    """Cells of the first lines, not strictly read: the last row may be cut off."""
    try:
        rows = [row for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return []
    return rows[:-1] if len(rows) > 2 else rows


def likely_delimiter(lines: list[str], name: str) -> str:
    r"""The delimiter that gives most rows as many cells as the first row has.

    >>> likely_delimiter(["id;title\n", "1;Wax, honey\n"], "a.csv")
    ';'
    """
    usual = delimiter_of(name)
    best, most = usual, (0.0, 0)
    for delimiter in (usual, *(d for d in DELIMITERS.values() if d != usual)):
        rows = _cells(lines, delimiter)
        if not rows or len(rows[0]) < 2:
            continue
        width = len(rows[0])
        alike = sum(len(row) == width for row in rows) / len(rows)
        if (round(alike, 1), width) > most:
            best, most = delimiter, (round(alike, 1), width)
    return best


def likely_header(lines: list[str], delimiter: str) -> str:
    """Whether the first row names columns: none is a number, long, or there again."""
    rows = _cells(lines, delimiter)
    if not rows:
        return YES
    first = [cell.strip() for cell in rows[0]]
    if any(role_by_name(cell) is not None for cell in first):
        return YES
    named = [cell for cell in first if cell]
    short = all(len(cell) <= 40 and not _NUMBER.fullmatch(cell) for cell in named)
    return YES if named and short and len(set(named)) == len(named) else NO


_NUMBER = re.compile(r"[-+]?[\d.,]+%?")


def column_names(first: list[str]) -> list[str]:
    """Names for the cells of a header; those without one, or met twice, get one.

    >>> column_names(["", "title", "title"])
    ['column 1', 'title', 'title (2)']
    """
    names: list[str] = []
    for number, cell in enumerate(first, 1):
        name = cell.strip() or f"column {number}"
        again = 2
        while name in names:
            name = f"{cell.strip()} ({again})"
            again += 1
        names.append(name)
    return names


def delimited_rows(
    entry: ArchiveFile, layout: Layout, reading: Reading
) -> Iterator[Row]:
    """Yield the rows of a CSV or TSV file; empty cells are left out."""
    if len(layout.delimiter) != 1 or layout.delimiter in '"\r\n':
        raise Mistake(
            f"the separator {layout.delimiter!r} is no single sign: choose one of "
            f"{', '.join(DELIMITERS)}"
        )
    with entry.open() as stream:
        texts = lines_of(stream, entry.where, layout.encoding, LIMITS)
        cells = cells_in(texts, entry.where, layout.delimiter)
        yield from named_rows(cells, layout, reading)


def named_rows(
    numbered: Iterable[tuple[int, list[str]]], layout: Layout, reading: Reading
) -> Iterator[Row]:
    """Yield column → cell of rows of cells, the first of which may name the columns."""
    names: list[str] = []
    for number, cells in numbered:
        reading.line = number
        if not names:
            names = column_names(cells if layout.header != NO else [""] * len(cells))
            reading.columns = names
            if layout.header != NO:
                continue
        while len(cells) > len(names) and not cells[-1].strip():
            cells.pop()
        if not any(map(str.strip, cells)):
            reading.leave_blank_out()
        elif len(cells) != len(names):
            reading.leave_out(
                f"{len(cells)} cells under {len(names)} columns: put cells that hold "
                f"{_called(layout.delimiter)} in double quotes, or choose another "
                "separator"
            )
        else:
            pairs = zip(names, cells, strict=True)
            yield {name: cell for name, cell in pairs if cell}
    if not names:
        reading.line = 1
        reading.refuse("empty: the first row is to name the columns")


def _called(delimiter: str) -> str:
    name = next((n for n, sign in DELIMITERS.items() if sign == delimiter), "")
    return f"a {name}" if name else repr(delimiter)


def delimiter_named(name: str) -> str:
    r"""The delimiter that people call by a name, or give as it is.

    >>> delimiter_named("semicolon"), delimiter_named(";"), delimiter_named("\\t")
    (';', ';', '\t')
    """
    return DELIMITERS.get(name, "\t" if name == "\\t" else name)


def json_rows(entry: ArchiveFile, layout: Layout, reading: Reading) -> Iterator[Row]:
    """Yield the objects of a file that has one on each line."""
    with entry.open() as stream:
        for number, line in lines_of(stream, entry.where, layout.encoding, end=""):
            reading.line = number
            if not line or line.isspace():
                continue
            try:
                row = parse_object(line, reading)
            except UnreadableFile as error:
                reading.leave_out(error.problem)
                continue
            yield row

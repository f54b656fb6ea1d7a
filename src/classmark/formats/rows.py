"""Which rows does a file hold? Column → value, whatever kind of file it is."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from classmark.language import N_, _, whole
from classmark.problems import UnreadableFile, refusal

Row = Mapping[str, Any]
NumberedCells = tuple[int, list[str]]
YES, NO = "yes", "no"
DELIMITERS = {N_("comma"): ",", N_("semicolon"): ";", N_("tab"): "\t", N_("bar"): "|"}
ENCODINGS = {  # those that people choose from; any other that Python knows is read
    "utf-8": "UTF-8",
    "cp1252": N_("Western European (Windows)"),
    "latin-1": N_("Western European (Latin-1)"),
    "cp1250": N_("Central European (Windows)"),
    "iso8859-2": N_("Central European (Latin-2)"),
    "cp1251": N_("Cyrillic (Windows)"),
    "koi8-r": N_("Cyrillic (KOI8-R)"),
    "cp1253": N_("Greek (Windows)"),
    "cp1254": N_("Turkish (Windows)"),
    "mac-roman": N_("Western European (old Macintosh)"),
    "utf-16": "UTF-16",
    "gb18030": N_("Chinese (GB 18030)"),
    "big5": N_("Chinese (Big5)"),
    "shift_jis": N_("Japanese (Shift JIS)"),
    "euc-kr": N_("Korean (EUC-KR)"),
}
NOT_IN_CP1252 = b"\x81\x8d\x8f\x90\x9d"
SAMPLE = 200  # rows, or lines, that guesses rest on
SHOWN = 10  # rows that are left out, by line and reason
NEARLY_ALL, MOST_ABOVE = 0.8, 20  # of the rows; rows above those with columns


@dataclass(frozen=True, slots=True)
class Layout:
    """How a file of rows is read; what is empty is guessed.

    columns : column → its role (``column_names.ROLES``);  encoding : of its text;
    delimiter : between cells;  header : whether the first row names the columns, "yes"
    or "no", or the number of the row that does, what is above it is not read;
    separator : between labels in one cell, "none" where there is one label;  skip :
    whether rows that cannot be read, or have no text, are left out, else the former
    refuse the file;  sheet : of a spreadsheet.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    encoding: str = ""
    delimiter: str = ""
    header: str = ""
    separator: str = ""
    skip: bool = False
    sheet: str = ""


class LeftOut:
    """The rows of a file that are not read, or hold no text.

    skips : whether reading goes on after a row that cannot be read;  count : how many
    could not be read;  first : line and reason of some;  blank : how many rows were
    empty;  textless : places of those without title and text.
    """

    def __init__(self, *, skips: bool = True) -> None:
        self.skips, self.count, self.blank = skips, 0, 0
        self.first: list[str] = []
        self.textless: list[str] = []

    def clear(self) -> None:
        """Begin anew."""
        self.__init__(skips=self.skips)  # type: ignore[misc]

    def add(self, where: str, problem: str) -> None:
        """Count a row that cannot be read."""
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append(f"{where}: {problem}")


class Reading(FilePlace):
    """A file that is read row by row.

    name : as its sender called it;  left_out : where rows go that cannot be read; where
    it is None, the first one ends the reading;  columns : those that the file names
    before its rows;  sheets : of a spreadsheet;  is_member : whether the file is one of
    several, so that its name belongs to every place.
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
        self.sheets: list[str] = []
        self.is_member = False

    @property
    def place(self) -> str:
        """Where a row is, for those who know the name of the file."""
        if self.line is None:
            return self.name
        line = f"line {self.line}"
        return f"{self.name}, {line}" if self.is_member else line

    def leave_out(self, problem: str) -> None:
        """Leave the row out, or refuse the file."""
        if self.left_out is None or not self.left_out.skips:
            self.refuse(problem)
        self.left_out.add(self.place, problem)

    def note_textless(self) -> None:
        """Tell of a row that has neither title nor text."""
        if self.left_out is not None:
            self.left_out.textless.append(self.place)

    def leave_blank_out(self) -> None:
        """Pass over an empty row."""
        if self.left_out is not None:
            self.left_out.blank += 1


class RowSource(NamedTuple):
    """A kind of file that holds rows.

    function : module of this folder and name;  endings : of its files;  reads : what
    users are told;  encoded : whether its text may have any encoding;  delimited :
    whether cells are separated;  typed :
    whether a string is text unless its name says otherwise, as in JSON;  fits : the
    function that chooses a sheet and its row of column names.
    """

    function: str
    endings: str
    reads: str
    encoded: bool = False
    delimited: bool = False
    typed: bool = False
    fits: str = ""

    def load(self) -> Callable[[ArchiveFile, Layout, Reading], Iterator[Row]]:
        """Import the reader; heavy packages wait until then."""
        reader: Callable[[ArchiveFile, Layout, Reading], Iterator[Row]]
        reader = _loaded(self.function)
        return reader


def _loaded(function: str) -> Any:
    module, _, name = function.partition(".")
    return getattr(import_module(f"classmark.formats.{module}"), name)


SOURCES = {
    "csv": RowSource(
        "rows.delimited_rows", ".csv .tsv .tab", "tables: CSV or TSV",
        encoded=True, delimited=True,
    ),
    "jsonl": RowSource(
        "rows.json_rows", ".jsonl .ndjson", "one JSON object on each line",
        encoded=True, typed=True,
    ),
    "xlsx": RowSource(
        "office.spreadsheet_rows", ".xlsx", "spreadsheets of Excel",
        fits="office.fitted_sheet",
    ),
    "ris": RowSource(
        "citations.ris_rows", ".ris", "references: RIS", encoded=True
    ),
    "nbib": RowSource(
        "citations.medline_rows", ".nbib", "references: PubMed (MEDLINE)", encoded=True
    ),
    "enw": RowSource(
        "citations.refer_rows", ".enw", "references: EndNote", encoded=True
    ),
    "endnote-xml": RowSource("citations.endnote_rows", "", "references: EndNote XML"),
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
    if source.fits and not (layout.sheet and layout.header):
        layout = _loaded(source.fits)(entry, layout)
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


def _cells(lines: Iterable[str], delimiter: str) -> list[NumberedCells]:
    """Cells of the first lines, not strictly read: the last row may be cut off."""
    rows: list[NumberedCells] = []
    try:
        reader, line = csv.reader(lines, delimiter=delimiter), 1
        for row in reader:
            rows += [(line, row)] if row else []
            line = reader.line_num + 1
    except csv.Error:
        return []
    return rows[:-1] if len(rows) > 2 else rows


def rows_above(rows: Sequence[NumberedCells]) -> int:
    """How many of the first rows stand above those that name and hold the columns.

    A row of which one cell at most says something does, unless that names a column, if
    nearly all below them have as many cells as the first that says more.

    >>> rows_above([(1, ["Loans of 1931"]), (3, ["id", "title"]), (4, ["7", "Wax"])])
    1
    """
    few = enumerate(rows[: MOST_ABOVE + 1])
    above = next((at for at, (_, row) in few if _says(row) > 1), 0)
    if any(role_by_name(cell) for _, row in rows[:above] for cell in row):
        return 0
    below = [len(row) for _, row in rows[above:]]
    alike = sum(width == below[0] for width in below)
    return above if above and alike >= NEARLY_ALL * len(below) else 0


def _says(row: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in row)


def likely_delimiter(lines: list[str], name: str) -> str:
    r"""The delimiter that gives most rows as many cells as the first row has.

    >>> likely_delimiter(["id;title\n", "1;Wax, honey\n"], "a.csv")
    ';'
    """
    usual = delimiter_of(name)
    best, most = usual, (0.0, 0)
    for delimiter in (usual, *(d for d in DELIMITERS.values() if d != usual)):
        rows = _cells(lines, delimiter)
        width = len(rows[rows_above(rows)][1]) if rows else 0
        if width < 2:
            continue
        alike = sum(len(row) == width for _, row in rows) / len(rows)
        if (round(alike, 1), width) > most:
            best, most = delimiter, (round(alike, 1), width)
    return best


def likely_header(lines: list[str], delimiter: str) -> str:
    """Whether the first row names columns: none is a number, long, or there again.

    Where rows stand above it, its number.
    """
    rows = _cells(lines, delimiter)
    if not rows:
        return YES
    if above := rows_above(rows):
        return str(rows[above][0])
    first = [cell.strip() for cell in rows[0][1]]
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
        raise refusal(
            "the separator %(delimiter)r is no single sign: choose one of "
            "%(delimiters)s",
            delimiter=layout.delimiter,
            delimiters=", ".join(DELIMITERS),
        )
    with entry.open() as stream:
        texts = lines_of(stream, entry.where, layout.encoding, LIMITS)
        cells = cells_in(texts, entry.where, layout.delimiter)
        yield from named_rows(cells, layout, reading)


def named_rows(
    numbered: Iterable[NumberedCells], layout: Layout, reading: Reading
) -> Iterator[Row]:
    """Yield column → cell of rows of cells, the first of which may name the columns."""
    names: list[str] = []
    header = int(layout.header) if layout.header.isdecimal() else 0
    below = ((number, cells) for number, cells in numbered if number >= header)
    for number, cells in below:
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
                _(
                    "%(n)s cells under %(n2)s columns: %(remedy)s",
                    n=whole(len(cells)),
                    n2=whole(len(names)),
                    remedy=_fewer(layout),
                )
            )
        else:
            pairs = zip(names, cells, strict=True)
            yield {name: cell for name, cell in pairs if cell}
    if not names:
        reading.line = header or 1
        raise reading.refusal("empty: a row is to name the columns")


def _fewer(layout: Layout) -> str:
    """What to do about a row that has more cells than there are columns."""
    if not layout.delimiter:
        return _("name every column, or choose the row that names them")
    return _(
        "put cells that hold %(called)s in double quotes, or choose another separator",
        called=_called(layout.delimiter),
    )


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

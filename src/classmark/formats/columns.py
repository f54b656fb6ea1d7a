"""What does each column hold? People say it, or it is guessed, and rows become records.

A layout says the role of every column. Guesses rest on the names of columns
(``column_names``) and, in tables, on the first rows: numbers are facts, long cells are
text, other cells are facts. A column that may hold the labels is never guessed to be
text: its role is unclear until somebody says it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from classmark.formats.archive import ArchiveFile, entries, is_archive
from classmark.formats.column_guesses import (
    examples,
    guessed_roles,
    likely_separator,
)
from classmark.formats.column_names import (
    DATE,
    FACT,
    FIELDS,
    ID,
    IGNORE,
    LABEL,
    META,
    NOT,
    PRIMARY,
    ROLES,
    STRUCTURED,
    TEXT,
    TITLE,
    UNCLEAR,
    YES_NO,
    role_by_name,
    yes_name,
)
from classmark.formats.jsonl import KEYS, parse_object, record_from
from classmark.formats.records import SECONDARY, Record
from classmark.formats.rows import (
    NO,
    SAMPLE,
    SOURCES,
    YES,
    Layout,
    LeftOut,
    Reading,
    Row,
    delimiter_named,
    fitted,
    rows_in,
    source_of,
)
from classmark.formats.text_files import FilePlace
from classmark.language import N_, _
from classmark.problems import UnreadableFile, refusal, worded

ALL_SEPARATORS = ("|", ";", ",", "/", "none")
NO_TEXT = N_("there is neither a title nor a text in it")
SAID_YES = {"1", "1.0", "yes", "y", "true", "x", "include", "included", "relevant"}
SAID_NO = {"0", "0.0", "no", "n", "false", "exclude", "excluded", "irrelevant"}
SAID_NOTHING = {"", "-1", "-1.0", "na", "n/a", "nan", "none", "null", "?"}


@dataclass(frozen=True, slots=True)
class ColumnGuess:
    """A column: its role, and what its first cells say."""

    name: str
    role: str
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RowFile:
    """A file of rows, or an archive or folder of such files, and how it is read.

    path : of the file;  kind : a name of ``SOURCES``, "" where each file inside has a
    kind of its own;  layout : with all that was guessed;  columns : in order;  name :
    as its sender called it;  sheets : of a spreadsheet.
    """

    path: Path
    kind: str
    layout: Layout
    columns: tuple[ColumnGuess, ...] = ()
    name: str = ""
    files: tuple[str, ...] = field(default=(), compare=False)
    sheets: tuple[str, ...] = field(default=(), compare=False)

    @property
    def unclear(self) -> list[str]:
        """The columns of which somebody must say what they hold."""
        return [column.name for column in self.columns if column.role == UNCLEAR]

    @property
    def id_column(self) -> str:
        """The columns that hold the id, "" where none does."""
        roles = self.layout.columns.items()
        return ", ".join(column for column, role in roles if role == ID)

    def require_clear(self) -> None:
        """Refuse a file while a column is unclear, or none is text."""
        if unclear := self.unclear:
            say = worded(
                "say what it holds, as in --label {name}, --column text={name} or "
                "--column ignore={name}",
                name=unclear[0],
            )
            raise UnreadableFile(
                self.name or self.path,
                None,
                _(
                    "the column %(name)r may hold labels or text: %(say)s",
                    name=unclear[0],
                    say=say,
                ),
            )
        roles = {column.role for column in self.columns}
        if self.columns and not roles & {TEXT, TITLE, STRUCTURED}:
            say = worded("say which is, as in --column text={name}", name="NAME")
            raise UnreadableFile(
                self.name or self.path,
                None,
                _(
                    "no column is a title or text (%(listed)s): %(say)s",
                    listed=_listed(self.columns),
                    say=say,
                ),
            )

    def read(self, left_out: LeftOut | None = None) -> Iterator[Record]:
        """Yield the records; left_out : where rows go that cannot be read.

        Without it, the first such row refuses the file, unless the layout says skip.
        """
        self.require_clear()
        if left_out is None and self.layout.skip:
            left_out = LeftOut()
        ids: set[str] = set()
        for entry, kind in _files(self.path, self.kind):
            name = entry.name if _holds_files(self.path) else self.name or entry.name
            reading = _Reading(entry.where, name, ids, left_out)
            reading.is_member = _holds_files(self.path)
            reading.id_column = self.id_column
            if reading.is_member and self.id_column:
                reading.id_column = self._own_id_columns(entry, kind)
            for row in rows_in(entry, kind, self.layout, reading):
                try:
                    record = record_of(row, self.layout, reading)
                except UnreadableFile as error:
                    reading.leave_out(error.problem)
                    continue
                texts = record.document.fields.values()
                if not (record.vector or any(map(str.strip, texts))):
                    if self.layout.skip:
                        reading.leave_out(_(NO_TEXT))
                        continue
                    reading.note_textless()
                yield record

    def _own_id_columns(self, entry: ArchiveFile, kind: str) -> str:
        """Of the columns that hold the id those that one of several files has."""
        reading = Reading(entry.where, entry.name, set(), LeftOut())
        rows = islice(rows_in(entry, kind, self.layout, reading), SAMPLE)
        present = set(chain.from_iterable(rows))
        return ", ".join(n for n in self.id_column.split(", ") if n in present)

    def described(self) -> str:
        """What each column was taken for, in one line."""
        by_role: dict[str, list[str]] = {}
        for column in self.columns:
            by_role.setdefault(column.role, []).append(column.name)
        said = [
            f"{role}: {', '.join(by_role[role])}" for role in ROLES if role in by_role
        ]
        if ID not in by_role:
            said.insert(0, "id: the file's name and the line")
        if self.layout.encoding not in {"", "utf-8"}:
            said.append(f"encoding {self.layout.encoding}")
        if self.layout.delimiter not in {"", ",", "\t"}:
            said.append(f"separator {self.layout.delimiter}")
        if self.layout.header.isdecimal():
            said.append(f"column names in row {self.layout.header}")
        if len(self.sheets) > 1:
            said.append(f"sheet {self.layout.sheet}")
        return "; ".join(said)


def _listed(columns: Iterable[ColumnGuess]) -> str:
    return ", ".join(column.name for column in columns)


def _holds_files(path: Path) -> bool:
    return path.is_dir() or is_archive(path)


def _files(path: Path, kind: str) -> Iterator[tuple[ArchiveFile, str]]:
    """The files inside that hold rows, with their kinds; the file itself if plain."""
    inside = _holds_files(path)
    for entry in entries(path):
        name = entry.name.rpartition("/")[2]
        own = source_of(entry.name) if inside else kind or source_of(entry.name)
        if own and not (inside and name.startswith((".", "~$", "__MACOSX"))):
            yield entry, own


def open_rows(
    path: Path | str, kind: str = "", layout: Layout | None = None, name: str = ""
) -> RowFile:
    """Look at the first rows, and guess what the layout does not say.

    kind : a name of ``SOURCES``; "" tells it by the ending. Roles of columns that the
    file has not are refused.
    """
    path, layout = Path(path), layout or Layout()
    if layout.delimiter:
        layout = replace(layout, delimiter=delimiter_named(layout.delimiter))
    sample: list[Row] = []
    typed, files, named, sheets = True, list[str](), list[str](), list[str]()
    first: Layout | None = None
    for entry, own in _files(path, kind):
        files.append(entry.name)
        if len(sample) < SAMPLE:
            typed = typed and SOURCES[own].typed
            read = fitted(entry, own, layout)
            first = first or read
            inner = entry.name if _holds_files(path) else name or entry.name
            reading = Reading(entry.where, inner, set(), LeftOut())
            rows = rows_in(entry, own, read, reading)
            sample += islice(rows, SAMPLE - len(sample))
            named, sheets = named + reading.columns, reading.sheets
    if not files:
        endings = " ".join(source.endings for source in SOURCES.values())
        problem = _(
            "no file in it ends in one of %(endings)s: choose another", endings=endings
        )
        raise UnreadableFile(name or path, None, problem)
    if len(files) == 1 and first is not None:
        layout = first
    columns = list(dict.fromkeys(chain(named, *sample)))
    _require_present(layout, columns, name or path)
    roles = guessed_roles(sample, columns, layout.columns, typed=typed)
    shown = tuple(
        ColumnGuess(column, roles[column], examples(sample, column))
        for column in columns
    )
    separator = layout.separator or likely_separator(sample, roles, typed=typed)
    layout = replace(layout, columns=roles, separator=separator)
    inside = tuple(sheets if len(files) == 1 else ())
    return RowFile(path, kind, layout, shown, name, tuple(files), inside)


def _require_present(layout: Layout, columns: list[str], path: Path | str) -> None:
    missing = [column for column in layout.columns if column not in columns]
    if missing and columns:
        raise UnreadableFile(
            path,
            None,
            _(
                "there is no column %(name)r: choose one of %(all)s",
                name=missing[0],
                all=", ".join(columns),
            ),
        )
    for column, role in layout.columns.items():
        if role not in ROLES and role != UNCLEAR:
            raise refusal(
                "column %(column)r: %(role)r is not a role: choose one of %(roles)s",
                column=column,
                role=role,
                roles=", ".join(ROLES),
            )


def record_of(row: Row, layout: Layout, reading: _Reading) -> Record:
    """Make a record of a row, by the roles of its columns."""
    parts = _Parts(reading, layout.separator)
    for column, value in row.items():
        role = layout.columns.get(column)
        if role is None:  # of a key that the first rows have not
            role = role_by_name(column)
            role = TEXT if role is None else role
        if role == UNCLEAR:
            say = worded("say what it holds (--column)")
            raise reading.refusal(
                "%(column)r may hold labels or text: %(say)s", column=column, say=say
            )
        if role != IGNORE and value is not None:
            parts.put(role, column, value)
    if "id" not in parts.row:
        if reading.id_column:
            raise reading.refusal(
                "no id in the column %(id)r: %(what)s",
                id=reading.id_column,
                what=_no_id(),
            )
        parts.row["id"] = reading.line_id(reading.name)
    return record_from(parts.row, KEYS, reading)


def _no_id() -> str:
    return worded(
        "give every row one of its own, or take no column as the id (--column "
        "fact=NAME), so that the file's name and the line are"
    )


class _Reading(Reading):
    """A file that is read by a layout; id_column : the one that holds the id."""

    id_column = ""

    def new_id(self, name: str) -> str:
        """Return the id, or refuse it when it is empty or was there before."""
        if self.id_column and name in self.ids:
            raise self.refusal(
                "id %(name)r is used twice in the column %(id)r: %(what)s",
                name=name,
                id=self.id_column,
                what=_no_id(),
            )
        return super().new_id(name)


class _Parts:
    """What the cells of a row say, as ``record_from`` takes it."""

    def __init__(self, place: FilePlace, separator: str) -> None:
        self.place = place
        self.separator = "" if separator == "none" else separator
        self.fields: dict[str, str] = {}
        self.meta: dict[str, str] = {}
        self.labels: dict[str, Any] = {}
        self.primary: list[Any] = []
        self.row: dict[str, Any] = {
            "fields": self.fields, "meta": self.meta, "labels": self.labels,
            "primary": self.primary,
        }  # fmt: skip

    def put(self, role: str, column: str, value: Any) -> None:
        """Put a cell where its column's role says."""
        if role == STRUCTURED:
            self._structured(column, value)
        elif role == ID:
            self.row["id"] = (
                value if isinstance(value, int) else self._text(column, value)
            )
        elif role in (LABEL, PRIMARY):
            self._label(role, column, value)
        elif role == YES_NO:
            self._yes_or_no(column, self._text(column, value))
        elif role in (FACT, DATE):
            if text := self._text(column, value):
                self.meta["date" if role == DATE else column] = text
        else:
            name = "title" if role == TITLE else column
            if column.startswith("column ") and "text" not in self.fields:
                name = role  # a column without a name
            self.fields[name] = self._text(column, value)

    def _text(self, column: str, value: Any) -> str:
        """A cell as text; a list of texts or numbers with semicolons between them."""
        if isinstance(value, str):
            return value
        parts = value if isinstance(value, list) else [value]
        if not all(isinstance(part, str | int | float) for part in parts):
            say = worded("leave it out (--column ignore={name})", name=column)
            raise self.place.refusal(
                "the column %(name)r holds no text here: %(say)s", name=column, say=say
            )
        texts = (p if isinstance(p, str) else self._number(column, p) for p in parts)
        return "; ".join(texts)

    def _number(self, column: str, value: float) -> str:
        self.place.finite(value, repr(column))
        return json.dumps(value)

    def _label(self, role: str, column: str, value: Any) -> None:
        if isinstance(value, Mapping):
            self.labels |= value
            return
        names = value if isinstance(value, list) else [value]
        if self.separator and isinstance(value, str):
            names = [name.strip() for name in value.split(self.separator)]
            names = [name for name in names if name]
        if role == PRIMARY:
            self.primary.extend(names)
            return
        for name in names:
            if not isinstance(name, str | int) or isinstance(name, bool):
                raise self.place.refusal(
                    "the column %(column)r holds %(value)s, which is no label: "
                    "write a name, or a list of names",
                    column=column,
                    value=f"{name!r:.40}",
                )
            self.labels.setdefault(str(name), SECONDARY)

    def _yes_or_no(self, column: str, text: str) -> None:
        word, name = text.strip().lower(), yes_name(column)
        if word in SAID_YES:
            self.labels[name] = SECONDARY
        elif word in SAID_NO:
            self.labels[f"{NOT} {name}"] = SECONDARY
        elif word not in SAID_NOTHING:
            raise self.place.refusal(
                "the column %(column)r holds %(value)s: write 1 or 0, yes or "
                "no, or nothing, or use it as a label",
                column=column,
                value=f"{text!r:.40}",
            )

    def _structured(self, column: str, value: Any) -> None:
        if column.startswith(META):
            self.meta[column.removeprefix(META)] = self._text(column, value)
        elif column.startswith(FIELDS):
            self.fields[column.removeprefix(FIELDS)] = self._text(column, value)
        elif isinstance(value, str) and column == "links":
            parsed = parse_object(f'{{"links": {value}}}', self.place)
            if list(parsed) != ["links"]:
                raise self.place.refusal("'links' must be one JSON list")
            self.row |= parsed
        elif column in ("fields", "meta"):
            if not isinstance(value, Mapping):
                raise self.place.refusal(
                    "%(column)r must be an object of name → text", column=column
                )
            getattr(self, column).update(value)
        elif column == "vector" and not isinstance(value, list):
            self.put(TEXT if isinstance(value, str) else FACT, "vector", value)
        else:
            self.row[column] = value


def read_rows(path: Path | str, *, kind: str = "", name: str = "") -> Iterator[Record]:
    """Yield the records of a file of rows, all of it as it is guessed."""
    return open_rows(path, kind, name=name).read()


(
    read_xlsx, read_ris, read_nbib, read_enw, read_endnote_xml, read_bib, read_docx,
    read_pdf, read_txt,
) = (
    partial(read_rows, kind=kind)
    for kind in (
        "xlsx", "ris", "nbib", "enw", "endnote-xml", "bib", "docx", "pdf", "txt",
    )
)  # fmt: skip


def layout_of(
    columns: Iterable[str] = (), labels: Iterable[str] = (), **how: Any
) -> Layout:
    """A layout as it is typed: ``ROLE=COLUMN``, several times, and columns of labels.

    how : the other fields of a ``Layout``.

    >>> layout_of(["text=abstract"], ["category"], encoding="latin-1").columns
    {'abstract': 'text', 'category': 'label'}
    """
    roles: dict[str, str] = {}
    for typed in (*columns, *(f"{LABEL}={name}" for name in labels)):
        role, equals, column = typed.partition("=")
        if not equals or role not in ROLES:
            raise refusal(
                "column %(typed)r: write ROLE=COLUMN, as in text=abstract; the roles "
                "are %(roles)s",
                typed=typed,
                roles=", ".join(ROLES),
            )
        if roles.get(column, role) != role:
            raise refusal("column %(name)r has two roles: leave one", name=column)
        roles[column] = role
    header = how.get("header") or YES
    if header not in (YES, NO) and not re.fullmatch("[1-9][0-9]{0,5}", header):
        raise refusal(
            "header is %(how)r: use yes, no or the number of the row that names the "
            "columns",
            how=header,
        )
    return Layout(roles, **{name: v for name, v in how.items() if v is not None})

"""Previews of files that wait: how they are read, and what an import would do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from textwrap import shorten
from typing import TYPE_CHECKING, NamedTuple

from classmark.formats import ROW_FORMATS
from classmark.formats.column_names import (
    DATE,
    FACT,
    ID,
    IGNORE,
    LABEL,
    PRIMARY,
    STRUCTURED,
    TITLE,
    YES_NO,
)
from classmark.formats.column_names import TEXT as TEXT_ROLE
from classmark.formats.columns import (
    ALL_SEPARATORS,
    ColumnGuess,
    RowFile,
    open_rows,
)
from classmark.formats.preferences import numbered_preferences
from classmark.formats.rows import (
    DELIMITERS,
    ENCODINGS,
    SOURCES,
    Layout,
    LeftOut,
)
from classmark.formats.taxonomies import read_categories
from classmark.language import N_, _
from classmark.problems import Mistake
from classmark.workbench.files.importing import (
    compare,
    compared,
    languages_for,
    open_columns,
)
from classmark.workbench.files.uploads import (
    DOCUMENTS,
    KINDS,
    PREFERENCES,
    TAXONOMY,
    Cells,
    UploadedFile,
    called,
    chosen,
    guessed,
    records_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    from classmark.formats.records import Record
    from classmark.workbench.team.desk import Desk

ROWS = 5
TEXT = 160
SMALL = 2 << 20  # bytes of a taxonomy that is read for its preview
COUNTED = 32 << 20  # bytes of documents that are compared for their preview
ABOVE = 20  # rows that may name the columns, for people to choose from


@dataclass(frozen=True, slots=True)
class FilePreview:
    """How a file would be read; mistake : why it cannot be, as it is chosen now.

    counts : how many documents of all the file are new, replaced and unchanged, or how
    many categories new, changed and unchanged; nothing where it is too large;
    layout, columns : how its rows are read, and what each column holds, of a file that
    has columns;
    left_out : how many rows cannot be read;  reasons : line and reason of some;
    blank : how many rows are empty;  textless : places of rows without title and
    text;  sheets : of a spreadsheet.
    """

    upload: UploadedFile
    kind: str
    format: str
    heads: Cells
    rows: tuple[Cells, ...] = ()
    mistake: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    layout: Layout | None = None
    columns: tuple[ColumnGuess, ...] = ()
    left_out: int = 0
    reasons: Cells = ()
    blank: int = 0
    files: Cells = ()
    textless: Cells = ()
    sheets: Cells = ()

    @property
    def has_separator(self) -> bool:
        """Whether labels may stand in one cell, with a sign between them."""
        return self.layout is not None and self.format not in WHOLE_FILES

    @property
    def must_skip(self) -> bool:
        """Whether rows stand in the way that nobody has said to leave out."""
        return bool(self.left_out) and not (self.layout and self.layout.skip)


class LayoutChoices(NamedTuple):
    """What people choose from: name → in words, or → the sign."""

    roles: Mapping[str, str]
    encodings: Mapping[str, str]
    delimiters: Mapping[str, str]
    separators: Cells


ROLE_WORDS = {
    ID: N_("id"),
    TITLE: N_("title"),
    TEXT_ROLE: N_("text"),
    LABEL: N_("labels"),
    PRIMARY: N_("primary label"),
    YES_NO: N_("yes or no"),
    DATE: N_("date"),
    FACT: N_("fact, not learned from"),
    IGNORE: N_("ignore"),
    STRUCTURED: N_("as exported by Classmark"),
}
CHOICES = LayoutChoices(ROLE_WORDS, ENCODINGS, DELIMITERS, ALL_SEPARATORS)
FORMAT_WORDS = {
    "csv": N_("table: CSV or TSV"),
    "jsonl": N_("JSON, one object on each line"),
    "xlsx": N_("Excel spreadsheet"),
    "ris": N_("references: RIS"),
    "nbib": N_("references: PubMed"),
    "enw": N_("references: EndNote"),
    "endnote-xml": N_("references: EndNote XML"),
    "bib": N_("references: BibTeX"),
    "docx": N_("Word document"),
    "pdf": N_("PDF document"),
    "txt": N_("plain text, one document"),
    "files": N_("several files, each in its own format"),
    "folder": N_("plain texts, folders are labels"),
    "annif": N_("Annif: short texts"),
    "annif-csv": N_("Annif: short texts in CSV"),
    "annif-folder": N_("Annif: full texts"),
    "newsgroups": N_("messages, as in 20 Newsgroups"),
    "reuters": N_("Reuters news, SGML"),
    "beir": N_("BEIR collection"),
    "pages": N_("web pages, main text only"),
    "pages-whole": N_("web pages with their menus"),
}
TREE_WORDS = {
    "csv": N_("table: CSV or TSV"),
    "annif": N_("Annif vocabulary"),
    "skos": N_("SKOS vocabulary"),
    "pairs": N_("lines of parent and category"),
    "children": N_("lines of a category and those below it"),
    "topics": N_("topic tree of RCV1"),
    "indented": N_("indented lines"),
    "lshtc": N_("hierarchy of LSHTC"),
    "mulan": N_("label tree of Mulan"),
}
WHOLE_FILES = ("docx", "pdf", "txt")  # whose labels are the folders they lie in


def words_of_formats(kind: str) -> Mapping[str, str]:
    """What the formats of a kind of files are called."""
    return TREE_WORDS if kind == TAXONOMY else FORMAT_WORDS


def preview(
    desk: Desk,
    token: str,
    kind: str = "",
    format_: str = "",
    layout: Layout | None = None,
    *,
    forgives: bool = False,
) -> FilePreview:
    """The first rows of a file, as it would be read.

    forgives : columns that are not there, as the file is read now, are forgotten.
    """
    upload, path, kind = chosen(desk, token, kind)
    seen = FilePreview(upload, kind, format_, KINDS[kind].heads, layout=layout)
    try:
        with called(path, upload.name):
            format_ = format_ or guessed(path, kind)
            seen = replace(seen, format=format_)
            if kind == DOCUMENTS and format_ in ROW_FORMATS:
                if forgives and layout and layout.columns:
                    layout = _of_columns_there(path, format_, layout)
                file = open_columns(desk, path, format_, layout, upload.name)
                seen = replace(
                    seen, layout=file.layout, columns=file.columns, files=file.files,
                    sheets=file.sheets,
                )  # fmt: skip
                return _with_rows(desk, seen, file)
            if kind == TAXONOMY:
                return _with_categories(desk, seen, path)
            rows = tuple(islice(_rows(path, kind, format_, upload.name), ROWS))
            if kind == DOCUMENTS and upload.unpacked <= COUNTED:
                records = records_of(path, format_, upload.name)
                counts = compare(desk, records, upload.name).counts
                seen = replace(seen, counts=counts)
    except Mistake as mistake:
        return replace(seen, mistake=str(mistake))
    return replace(seen, rows=rows, mistake="" if rows else _(NOTHING_IN_FORMAT))


def _of_columns_there(path: Path, format_: str, layout: Layout) -> Layout:
    """A layout without the columns that a file has not."""
    kind = format_ if format_ in SOURCES else ""
    file = open_rows(path, kind, replace(layout, columns={}))
    there = {column.name for column in file.columns}
    roles = {name: role for name, role in layout.columns.items() if name in there}
    return replace(layout, columns=roles)


def _with_categories(desk: Desk, seen: FilePreview, path: Path) -> FilePreview:
    """What a file of categories holds, and what it would change."""
    if seen.upload.unpacked > SMALL:
        why = _("the file is large and will be read when it is imported")
        return replace(seen, rows=(("…", "", why, ""),))
    languages = languages_for(desk)
    categories = read_categories(path, seen.format or None, languages=languages)
    rows = tuple(
        (one.id, ", ".join(one.parents), one.name, _shortened(one.note))
        for one in categories[:ROWS]
    )
    counts = compared({c.id: c for c in desk.store.categories()}, categories)
    counts["unchanged"] = len(categories) - sum(counts.values())
    mistake = "" if rows else _(NOTHING_IN_FORMAT)
    return replace(seen, rows=rows, counts=counts, mistake=mistake)


def _with_rows(desk: Desk, seen: FilePreview, file: RowFile) -> FilePreview:
    """What a file of rows holds: the first of them, and what all of it would do."""
    left_out = LeftOut()
    rows = tuple(map(_shown, islice(file.read(left_out), ROWS)))
    counts = dict[str, int]()
    if seen.upload.unpacked <= COUNTED:
        left_out = LeftOut()
        counts = compare(desk, file.read(left_out), seen.upload.name).counts
    mistake = "" if rows else _(NOTHING)
    if left_out.count and not rows:
        mistake = _("none of the rows can be read; %(first)s", first=left_out.first[0])
    return replace(
        seen, rows=rows, counts=counts, mistake=mistake, left_out=left_out.count,
        reasons=tuple(left_out.first), blank=left_out.blank,
        textless=tuple(left_out.textless),
    )  # fmt: skip


NOTHING_IN_FORMAT = N_("nothing was found in it: choose another format")
NOTHING = N_(
    "there is no document in it: choose another file, or another way to read it"
)


def _rows(path: Path, kind: str, format_: str, name: str) -> Iterator[Cells]:
    """What the rows of a preview show, below the headings of its kind."""
    if kind == PREFERENCES:
        for _, (id_, winner, loser, weight) in numbered_preferences(path):
            yield id_, winner, loser, f"{weight:g}"
    else:
        yield from map(_shown, records_of(path, format_, name))


def _shown(record: Record) -> Cells:
    """A document as a row of a preview."""
    fields, labels = record.document.fields, ", ".join(islice(record.labels, 6))
    texts = (text[: 4 * TEXT] for name, text in fields.items() if name != "title")
    facts = _shortened(", ".join(f"{name}: {f}" for name, f in record.meta.items()))
    return record.id, record.document.title, _shortened(" ".join(texts)), labels, facts


def _shortened(text: str) -> str:
    return shorten(text, TEXT, placeholder=" …")

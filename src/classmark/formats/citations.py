"""References of citation managers: written as RIS and BibTeX, and read as rows.

RIS, MEDLINE (``.nbib``) and EndNote's ``.enw`` are lines that begin with a tag. The
tags that have a name here become columns; others of MEDLINE are about the record, and
are left out, those of RIS and EndNote keep their tags.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from classmark.formats.archive import ArchiveFile
from classmark.formats.office import whole_bytes
from classmark.formats.records import Reference
from classmark.formats.rows import Layout, Reading, Row
from classmark.formats.text_files import lines_of, texts, write_lines
from classmark.problems import MissingExtra


def write_ris(references: Iterable[Reference], path: Path | str) -> int:
    """Write references, and return how many: type, id, title, and a note if any."""
    entries = []
    for id_, title, note in references:
        tags = {"TY": "GEN", "ID": id_, "TI": title, "N1": note}
        texts = {tag: " ".join(text.split()) for tag, text in tags.items() if text}
        lines = [f"{tag}  - {text}" for tag, text in texts.items()]
        entries.append("\r\n".join([*lines, "ER  - ", "", ""]))
    return write_lines(entries, path)


_UNFIT = re.compile(r"[^A-Za-z0-9:./+_-]")
_SPECIAL = str.maketrans({
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "%": r"\%", "&": r"\&",
    "#": r"\#", "$": r"\$", "_": r"\_", "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
})  # fmt: skip


def write_bibtex(references: Iterable[Reference], path: Path | str) -> int:
    """Write ``@misc`` entries, and return how many.

    Keys are ids with other signs than letters, digits and ``:./+_-`` replaced; the id
    itself is in ``howpublished`` where its key differs.
    """
    entries: dict[str, str] = {}
    for id_, title, note in references:
        plain = _UNFIT.sub("-", id_)
        key, count = plain, 1
        while key in entries:
            count += 1
            key = f"{plain}:{count}"
        fields = {"title": title, "howpublished": "" if key == id_ else id_}
        fields["note"] = note
        texts = {n: " ".join(t.split()) for n, t in fields.items() if t}
        lines = [f"  {n} = {{{t.translate(_SPECIAL)}}}" for n, t in texts.items()]
        entries[key] = "@misc{" + ",\n".join([key, *lines]) + "\n}\n\n"
    return write_lines(entries.values(), path)


class TaggedFormat(NamedTuple):
    """A format of lines with tags.

    line : a line with its tag and text;  begins : the tag that begins a record;
    columns : tag → its column;  others : whether other tags are columns, too.
    """

    line: re.Pattern[str]
    begins: str
    columns: Mapping[str, str]
    others: bool = True


LISTS = {"authors", "editors", "keywords", "mesh", "notes", "url"}
_RIS = {
    "TY": "type", "ID": "reference_id", "TI": "title", "T1": "title", "AB": "abstract",
    "N2": "abstract", "AU": "authors", "A1": "authors", "A2": "editors",
    "ED": "editors", "PY": "year", "Y1": "year", "DA": "date", "DO": "doi",
    "JO": "journal", "JF": "journal", "T2": "journal", "JA": "journal",
    "KW": "keywords", "AN": "accession_number", "UR": "url", "SN": "issn",
    "VL": "volume", "IS": "issue", "SP": "start_page", "EP": "end_page",
    "LA": "language", "PB": "publisher", "CY": "place", "N1": "notes", "ER": "",
}  # fmt: skip
_MEDLINE = {
    "PMID": "pmid", "TI": "title", "BTI": "title", "AB": "abstract", "FAU": "authors",
    "DP": "date", "JT": "journal", "VI": "volume", "IP": "issue", "PG": "pages",
    "LA": "language", "PT": "type", "OT": "keywords", "MH": "mesh", "LID": "doi",
    "AID": "doi", "IS": "issn", "PMC": "pmcid",
}  # fmt: skip
_REFER = {
    "0": "type", "T": "title", "A": "authors", "E": "editors", "X": "abstract",
    "D": "year", "8": "date", "J": "journal", "B": "journal", "K": "keywords",
    "R": "doi", "U": "url", "V": "volume", "N": "issue", "P": "pages", "@": "issn",
    "G": "language", "I": "publisher", "C": "place", "M": "accession_number",
    "F": "reference_id", "Z": "notes",
}  # fmt: skip
TAGGED = {
    "ris": TaggedFormat(re.compile(r"([A-Z][A-Z0-9])  ?-(?: (.*))?$"), "TY", _RIS),
    "nbib": TaggedFormat(
        re.compile(r"([A-Z]{2,4}) *- (.*)$"), "PMID", _MEDLINE, others=False
    ),
    "enw": TaggedFormat(re.compile(r"%([A-Z0-9@])(?: (.*))?$"), "0", _REFER),
}
ASREVIEW = {"ASReview_relevant": "1", "ASReview_irrelevant": "0"}
_KIND = re.compile(r"\s*\[(\w+)\]$")


def tagged_rows(
    name: str, entry: ArchiveFile, layout: Layout, reading: Reading
) -> Iterator[Row]:
    """Yield the records of a file of tagged lines; name : a key of ``TAGGED``."""
    style, cells, last, start = TAGGED[name], dict[str, list[str]](), "", 0
    with entry.open() as stream:
        for number, line in lines_of(stream, entry.where, layout.encoding, end=""):
            text = line.strip("\ufeff\r ")
            match = style.line.match(text)
            if match is None:
                if last and text:
                    cells[last][-1] += f" {text}"
                continue
            last, value = match[1], (match[2] or "").strip()
            if last == style.begins:
                if cells:
                    reading.line = start
                    yield _row(cells, style)
                cells, start = {}, number
            if start:
                cells.setdefault(last, []).append(value)
            else:
                last = ""  # before the first record
    if cells:
        reading.line = start
        yield _row(cells, style)


ris_rows, medline_rows, refer_rows = (
    partial(tagged_rows, name) for name in ("ris", "nbib", "enw")
)


def _without_kind(tag: str, value: str) -> str:
    """A value of MEDLINE without its kind; of ids, those that are DOIs.

    >>> _without_kind("LID", "10.1/x [doi]"), _without_kind("LID", "e7 [pii]")
    ('10.1/x', '')
    """
    if tag not in {"LID", "AID"}:
        return value
    kind = _KIND.search(value)
    return _KIND.sub("", value) if kind and kind[1] == "doi" else ""


def _row(cells: Mapping[str, list[str]], style: TaggedFormat) -> Row:
    """Column → text, or texts where there may be several; the first tag counts."""
    row: dict[str, str | list[str]] = {}
    for tag, values in cells.items():
        column = style.columns.get(tag, tag if style.others else "")
        filled = [_without_kind(tag, value) for value in values if value]
        filled = [value for value in filled if value and column]
        if not filled:
            continue
        if column in LISTS:
            before = row.get(column, [])
            row[column] = [*before, *filled]
        elif column not in row:
            row[column] = "; ".join(filled)
    if said := [ASREVIEW[note] for note in row.get("notes", ()) if note in ASREVIEW]:
        row["included"] = said[-1]
    if "date" in row and "year" not in row:
        row["year"] = str(row["date"])[:4]
    return row


def bibtex_rows(entry: ArchiveFile, layout: Layout, reading: Reading) -> Iterator[Row]:
    """Yield the entries of a BibTeX file, accents as letters."""
    try:
        from bibtexparser.entrypoint import parse_string
        from bibtexparser.middlewares import LatexDecodingMiddleware
    except ImportError as error:
        raise MissingExtra("BibTeX files", "files") from error
    logging.getLogger("bibtexparser").setLevel(logging.ERROR)  # we say it ourselves
    content = whole_bytes(entry, reading)
    text = "".join(texts(content, entry.where, layout.encoding))
    library = parse_string(text, append_middleware=[LatexDecodingMiddleware()])
    for block in library.failed_blocks:
        reading.line = (block.start_line or 0) + 1
        reading.leave_out(f"no entry that can be read ({block.error or 'cut off'})")
    for one in library.entries:
        reading.line = (one.start_line or 0) + 1
        row: dict[str, str | list[str]] = {"key": one.key, "type": one.entry_type}
        for field in one.fields:
            name, value = field.key.lower(), " ".join(str(field.value).split())
            if name in {"author", "editor"}:
                row[f"{name}s"] = re.split(r"\s+and\s+", value)
            elif value:
                row[name] = value
        yield row

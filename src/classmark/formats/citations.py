"""References of citation managers: read as rows, and written as RIS and BibTeX.

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
from classmark.formats.column_names import plain
from classmark.formats.office import whole_bytes
from classmark.formats.records import Record, Reference
from classmark.formats.rows import Layout, Reading, Row
from classmark.formats.text_files import lines_of, safe_xml, texts, write_lines
from classmark.language import N_, _
from classmark.problems import MissingExtra


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
ASREVIEW = {
    "ASReview_relevant": "1", "ASReview_irrelevant": "0", "ASReview_not_seen": "",
}  # fmt: skip
DECIDED = {said: note for note, said in ASREVIEW.items() if said}
TAG_OF = {column: tag for tag, column in reversed(_RIS.items()) if column} | {
    "mesh": "KW", "pmid": "AN", "pages": "SP",
}  # fmt: skip
ENDNOTE_XML = TaggedFormat(re.compile("$"), "", {})  # its columns have their names
SPLIT = LISTS - {"notes", "url"}
RIS_TYPE = re.compile(r"[A-Z]{3,6}").fullmatch
ARTICLES = {"article", "journal article", "jour"}
DECISIONS = ("included", "not included")  # as imported, in the order 1, 0
BIBTEX = {
    "abstract": "abstract", "authors": "author", "editors": "editor", "year": "year",
    "date": "date", "journal": "journal", "doi": "doi", "keywords": "keywords",
    "volume": "volume", "issue": "number", "pages": "pages", "url": "url",
    "issn": "issn", "language": "language", "publisher": "publisher",
    "place": "address", "notes": "note",
}  # fmt: skip
SYNONYMS = {
    "author": "authors",
    "authornames": "authors",
    "firstauthors": "authors",
    "editor": "editors",
    "publicationyear": "year",
    "pubyear": "year",
    "abstractnote": "abstract",
    "abstracttext": "abstract",
    "notesabstract": "abstract",
    "text": "abstract",
    "body": "abstract",
    "publicationtitle": "journal",
    "journaltitle": "journal",
    "note": "notes",
    "keyword": "keywords",
    "authorkeywords": "keywords",
    "number": "issue",
    "startpage": "start_page",
    "endpage": "end_page",
    "accessionnumber": "accession_number",
    "link": "url",
}
_KIND = re.compile(r"\s*\[(\w+)\]$")
_YEAR = re.compile(r"\b\d{4}\b")


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
    if decided := [ASREVIEW[n] for n in row.get("notes", ()) if ASREVIEW.get(n)]:
        row["included"] = decided[-1]
    if "notes" in row:
        row["notes"] = [note for note in row["notes"] if note not in ASREVIEW]
    if year := _YEAR.search(str(row.get("year") or row.get("date", ""))):
        row["year"] = year[0]
    return row


def standard_column(name: str) -> str:
    """A column's name as references have it.

    >>> standard_column("Author Names"), standard_column("Abstract Note")
    ('authors', 'abstract')
    """
    return SYNONYMS.get(plain(name), name)


def write_ris(references: Iterable[Reference], path: Path | str) -> int:
    """Write references with all that is known of them, and return how many.

    What has no tag in RIS is a note of its own, ``name: text``; a decision is the note
    that ASReview reads.
    """
    entries = []
    for reference in references:
        facts = dict(reference.facts)
        rows = [("TY", _ris_type(facts.pop("type", ""), facts))]
        rows += [("ID", reference.id), ("TI", reference.title)]
        if (included := facts.pop("included", "")) in DECIDED:
            rows.append(("N1", DECIDED[included]))
        for name, text in facts.items():
            column = standard_column(name)
            tag = TAG_OF.get(column)
            parts = text.split("; ") if column in SPLIT else [text]
            rows += [(tag, p) if tag else ("N1", f"{name}: {p}") for p in parts]
        rows.append(("N1", reference.note))
        lines = [f"{tag}  - {' '.join(text.split())}" for tag, text in rows if text]
        entries.append("\r\n".join([*lines, "ER  - ", "", ""]))
    return write_lines(entries, path)


def _ris_type(types: str, facts: Mapping[str, str]) -> str:
    """RIS's own type, an article where one of several says so or a journal is named.

    >>> _ris_type("Randomized Controlled Trial; Journal Article", {})
    'JOUR'
    """
    if not ARTICLES.isdisjoint(types.casefold().split("; ")):
        return "JOUR"
    if RIS_TYPE(types):
        return types
    named = any(standard_column(name) == "journal" for name in facts)
    return "JOUR" if named and not types else "GEN"


def reference_of(record: Record, title: str, note: str = "") -> Reference:
    """A record as a reference: its text, facts, labels and decision by column."""
    facts = {**record.document.fields, **record.meta}
    facts.pop("title", None)
    labels = [name for name in record.labels if name not in DECISIONS]
    if labels:
        facts["labels"] = "; ".join(labels)
    for name, said in zip(DECISIONS, "10", strict=True):
        if name in record.labels:
            facts["included"] = said
    return Reference(record.id, title, note, facts)


_UNFIT = re.compile(r"[^A-Za-z0-9:./+_-]")
_SPECIAL = str.maketrans({
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "%": r"\%", "&": r"\&",
    "#": r"\#", "$": r"\$", "_": r"\_", "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
})  # fmt: skip


def write_bibtex(references: Iterable[Reference], path: Path | str) -> int:
    """Write entries, ``@article`` where there is a journal, and return how many.

    Keys are ids with other signs than letters, digits and ``:./+_-`` replaced; the id
    itself is in ``howpublished`` where its key differs. What BibTeX has no field for
    is left out.
    """
    entries: dict[str, str] = {}
    for reference in references:
        id_, title, note, facts = reference
        plain = _UNFIT.sub("-", id_)
        key, count = plain, 1
        while key in entries:
            count += 1
            key = f"{plain}:{count}"
        fields = {"title": title, "howpublished": "" if key == id_ else id_}
        for name, text in facts.items():
            field = BIBTEX.get(standard_column(name), "")
            names = field in {"author", "editor"}
            fields |= {field: text.replace("; ", " and ") if names else text}
        notes = (fields.get("note", ""), DECIDED.get(facts.get("included", "")), note)
        fields["note"] = "; ".join(text for text in notes if text)
        texts = {n: " ".join(t.split()) for n, t in fields.items() if t and n}
        lines = [f"  {n} = {{{t.translate(_SPECIAL)}}}" for n, t in texts.items()]
        kind = "article" if "journal" in texts else "misc"
        entries[key] = f"@{kind}{{" + ",\n".join([key, *lines]) + "\n}\n\n"
    return write_lines(entries.values(), path)


def bibtex_rows(entry: ArchiveFile, layout: Layout, reading: Reading) -> Iterator[Row]:
    """Yield the entries of a BibTeX file, accents as letters."""
    try:
        from bibtexparser.entrypoint import parse_string
        from bibtexparser.middlewares import LatexDecodingMiddleware
    except ImportError as error:
        raise MissingExtra(N_("BibTeX files"), "files") from error
    logging.getLogger("bibtexparser").setLevel(logging.ERROR)  # we say it ourselves
    content = whole_bytes(entry, reading)
    text = "".join(texts(content, entry.where, layout.encoding))
    library = parse_string(text, append_middleware=[LatexDecodingMiddleware()])
    for block in library.failed_blocks:
        reading.line = (block.start_line or 0) + 1
        reading.leave_out(
            _("no entry that can be read (%(what)s)", what=block.error or "cut off")
        )
    for one in library.entries:
        reading.line = (one.start_line or 0) + 1
        row: dict[str, str | list[str]] = {"key": one.key, "type": one.entry_type}
        for field in one.fields:
            name, value = field.key.lower(), " ".join(str(field.value).split())
            if name in {"author", "editor"}:
                row[f"{name}s"] = re.split(r"\s+and\s+", value)
            elif name in {"keyword", "keywords"}:
                sign = ";" if ";" in value else ","
                row["keywords"] = [word.strip() for word in value.split(sign)]
            elif value:
                row[name] = value
        yield row


_ENDNOTE = {
    "rec-number": "reference_id", "titles/title": "title", "abstract": "abstract",
    "contributors/authors/author": "authors", "dates/year": "year",
    "titles/secondary-title": "journal", "electronic-resource-num": "doi",
    "keywords/keyword": "keywords", "volume": "volume", "number": "issue",
    "pages": "pages", "isbn": "issn", "language": "language", "publisher": "publisher",
    "accession-num": "accession_number", "notes": "notes", "research-notes": "notes",
    "urls/related-urls/url": "url",
}  # fmt: skip


def endnote_rows(
    entry: ArchiveFile,
    layout: Layout,  # noqa: ARG001 - the file says its encoding
    reading: Reading,
) -> Iterator[Row]:
    """Yield the records of EndNote's XML, fonts and sizes left out."""
    root = safe_xml(entry.where, whole_bytes(entry, reading).read())
    records = root.findall("./records/record")
    if not records:
        raise reading.refusal("there is no record of EndNote in it: give its format")
    for number, record in enumerate(records, start=1):
        reading.line = number
        cells: dict[str, list[str]] = {}
        if (type_ := record.find("ref-type")) is not None:
            cells["type"] = [type_.get("name", "")]
        for path, column in _ENDNOTE.items():
            found = ("".join(each.itertext()) for each in record.findall(path))
            cells.setdefault(column, []).extend(filter(None, map(str.strip, found)))
        yield _row(cells, ENDNOTE_XML)

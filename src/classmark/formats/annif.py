"""Annif's corpora: short texts in TSV or CSV, full texts in a folder, subjects.

Labels are the URIs of subjects without their angle brackets (in ``.key`` files, which
have no URIs, the labels of subjects).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from classmark.corpus.documents import Document
from classmark.formats.archive import entries, is_archive
from classmark.formats.records import SECONDARY, Record
from classmark.formats.skos import in_other_languages
from classmark.formats.tables import dictionaries, write_rows
from classmark.formats.text_files import lines, write_lines
from classmark.language import _
from classmark.problems import UnreadableFile, refusal
from classmark.progress import remark
from classmark.taxonomy.category import Category


class Subject(NamedTuple):
    """A subject of a vocabulary; ``notation`` is its class mark, or nothing."""

    uri: str
    label: str
    notation: str = ""


def _uri(word: str) -> str:
    return word[1:-1] if word.startswith("<") and word.endswith(">") else word


def _uris(words: str) -> dict[str, float]:
    return dict.fromkeys((_uri(word) for word in words.split()), SECONDARY)


def read_annif(path: Path | str, *, name: str = "") -> Iterator[Record]:
    """Yield the documents of a short-text TSV: text, a tab, ``<uri> <uri>…``.

    There are no ids in the file: the id is its name and the number of the line.
    """
    file = lines(path, blank=False)
    for _line, text in file:
        body, tab, uris = text.partition("\t")
        if not tab or "\t" in uris:
            raise file.refusal("not 'text TAB <uri> <uri>…': give one tab on each line")
        yield Record(Document(file.line_id(name), {"body": body}), _uris(uris))


def write_annif(records: Iterable[Record], path: Path | str) -> int:
    """Write a short-text TSV and return how many documents; white space is folded."""
    return write_lines(
        (
            f"{' '.join(record.document.text.split())}\t{_bracketed(record)}\n"
            for record in records
        ),
        path,
    )


def _bracketed(record: Record) -> str:
    for uri in record.labels:
        if len(uri.split()) != 1 or "<" in uri or ">" in uri:
            raise refusal(
                "record %(id)r: label %(uri)r is no URI: Annif's short texts hold URIs",
                id=record.id,
                uri=uri,
            )
    return " ".join(f"<{uri}>" for uri in record.labels)


def read_annif_csv(path: Path | str, *, name: str = "") -> Iterator[Record]:
    """Yield the documents of a CSV with the columns ``text`` and ``subject_uris``.

    ``document_id`` names the document, or else the file's name and the line do; other
    columns are facts.
    """
    table = dictionaries(path, ",")
    for _line, row in table:
        if "text" not in row or "subject_uris" not in row:
            raise table.refusal(
                "no column 'text' or 'subject_uris': correct the first row"
            )
        id_ = table.new_id(row.pop("document_id", "") or table.line_id(name))
        body, uris = row.pop("text"), row.pop("subject_uris")
        facts = {key: value for key, value in row.items() if value}
        yield Record(Document(id_, {"body": body}), _uris(uris), facts)


def write_annif_csv(records: Iterable[Record], path: Path | str) -> int:
    """Write ``document_id,text,subject_uris`` and return how many documents."""
    header = ("document_id", "text", "subject_uris")
    rows = ([r.id, r.document.text, _bracketed(r)] for r in records)
    return write_rows(header, rows, path, ",")


def read_annif_folder(path: Path | str) -> Iterator[Record]:
    """Yield full texts: ``NAME.txt`` with ``NAME.tsv`` (URI, label) or ``NAME.key``.

    A text without either has no labels; a .key has names of subjects. A zip or tar of
    such a folder is read alike.
    """
    folder = Path(path)
    if not folder.is_dir() and not is_archive(folder):
        raise UnreadableFile(
            path, None, _("no such folder: give a folder of .txt files")
        )
    subjects: dict[str, list[str]] = {}
    keys = set[str]()
    for entry in entries(folder):
        name, _dot, suffix = entry.name.rpartition(".")
        if suffix == "tsv" or (suffix == "key" and name not in subjects):
            rows = [row for row in entry.text().split("\n") if row.strip()]
            subjects[name] = [_uri(row.split("\t")[0].strip()) for row in rows]
            (keys.add if suffix == "key" else keys.discard)(name)
    for entry in entries(folder):
        if entry.name.endswith(".txt"):
            name = entry.name.removesuffix(".txt")
            labels = dict.fromkeys(subjects.get(name, ()), SECONDARY)
            document = Document(name, {"body": entry.text()})
            yield Record(document, labels, by_name=name in keys)


def write_annif_folder(records: Iterable[Record], path: Path | str) -> int:
    """Write ``ID.txt`` and ``ID.tsv`` per record, and return how many."""
    folder = Path(path)
    count = 0
    for record in records:
        target = folder / f"{record.id}.txt"
        if not target.resolve().is_relative_to(folder.resolve()):
            raise refusal("id %(id)r leaves the folder: rename it", id=record.id)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_lines([record.document.text], target)
        _bracketed(record)
        labels = (f"<{uri}>\t\n" for uri in record.labels)
        write_lines(labels, folder / f"{record.id}.tsv")
        count += 1
    return count


def read_subjects(path: Path | str) -> Iterator[Subject]:
    """Yield the subjects of a vocabulary TSV: URI, label and, if given, notation."""
    file = lines(path, blank=False)
    for _line, text in file:
        cells = [cell.strip() for cell in text.split("\t")]
        if len(cells) not in {2, 3}:
            raise file.refusal("not 'uri TAB label' nor 'uri TAB label TAB notation'")
        yield Subject(file.new_id(_uri(cells[0])), *cells[1:])


def read_vocabulary(
    path: Path | str, *, languages: Sequence[str] = ("en",)
) -> list[Category]:
    """Read a vocabulary as categories: TSV, or CSV with ``uri`` and ``label_xx``.

    Of a CSV, the label is in the first of the ``languages`` that has one, else in the
    first column that has. There are no parents in it.
    """
    if Path(path).suffix.lower() != ".csv":
        return [
            Category(uri, label, notation=notation)
            for uri, label, notation in read_subjects(path)
        ]
    table, categories, tongues = dictionaries(path, ","), [], Counter[str]()
    for _line, row in table:
        preferred = (f"label_{code}" for code in languages)
        columns = [*preferred, *(name for name in row if name.startswith("label_"))]
        column = next((name for name in columns if row.get(name)), "")
        label = row.get(column, "")
        tongues[column.removeprefix("label_")] += 1
        if not row.get("uri"):
            raise table.refusal("no uri: give one in each row, under a heading 'uri'")
        id_ = table.new_id(_uri(row["uri"]))
        categories.append(Category(id_, label, notation=row.get("notation", "")))
    if others := in_other_languages(tongues, languages[0]):
        remark(others)
    return categories


def write_vocabulary(categories: Iterable[Category], path: Path | str) -> int:
    """Write the vocabulary TSV of categories and return how many."""
    return write_subjects(
        (Subject(each.id, each.label, each.notation) for each in categories), path
    )


def is_vocabulary(path: Path | str) -> bool:
    """Whether the first line of a file is one of Annif's vocabularies."""
    first = next((line for _line, line in lines(path, blank=False)), "")
    if Path(path).suffix.lower() == ".csv":
        columns = first.strip().split(",")
        return "uri" in columns and any(name.startswith("label_") for name in columns)
    return first.startswith("<") and "\t<" not in first


def write_subjects(subjects: Iterable[Subject], path: Path | str) -> int:
    """Write a vocabulary TSV and return how many subjects."""
    rows = []
    for uri, label, notation in subjects:
        cells = [f"<{uri}>", label, *([notation] if notation else [])]
        if any(set(cell) & set("\t\r\n") for cell in cells):
            raise refusal(
                "subject %(uri)r holds a tab or a line end: remove it", uri=uri
            )
        rows.append("\t".join(cells) + "\n")
    return write_lines(rows, path)

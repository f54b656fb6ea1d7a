"""The embedded corpus: the catalogue of Eskerton's town library, invented by us."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from classmark.corpus.documents import Document
from classmark.datasets.dataset import (
    FOLDER,
    Dataset,
    Documents,
    Link,
    Part,
    Session,
    descriptions_of,
)
from classmark.formats.jsonl import json_lines
from classmark.formats.records import PRIMARY, SECONDARY, Record
from classmark.formats.tables import dictionaries, rows
from classmark.formats.taxonomies import read_category_csv
from classmark.taxonomy.category import Category, taxonomy_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def library_folder() -> Path:
    """The folder inside the package."""
    return FOLDER / "library"


def library_categories(folder: Path | None = None) -> list[Category]:
    """The categories, with labels, scope notes and synonyms."""
    return read_category_csv((folder or library_folder()) / "taxonomy.csv")


def unseen_note() -> str:
    """A note that is in no part of the corpus: something new to classify."""
    return (library_folder() / "unseen.txt").read_text(encoding="utf-8").strip()


def library_records(folder: Path | None = None) -> Iterator[Record]:
    """Yield the records: title, creator and note; primary and secondary categories."""
    folder = folder or library_folder()
    parts = dict(_split(folder / "split.csv"))
    rows = json_lines(folder / "records.jsonl")
    for _, row in rows:
        name = str(row.get("id", ""))
        if name not in parts or "primary" not in row or "text" not in row:
            rows.refuse("id (also in split.csv), primary and text are needed")
        labels = {str(row["primary"]): PRIMARY}
        for label in row.get("secondary", ()):
            labels.setdefault(str(label), SECONDARY)
        links = ((str(see["to"]), str(see["anchor"])) for see in row.get("see", ()))
        meta = {**_meta(row), "part": parts[name]}
        yield Record(_document(row), labels, meta, tuple(links))


def library_arrivals() -> Iterator[Record]:
    """Yield records that came in last and that nobody has classified; no part's."""
    for row in _with_text(library_folder() / "arrivals.jsonl"):
        yield Record(_document(row), meta=_meta(row))


def _with_text(path: Path) -> Iterator[dict[str, Any]]:
    rows = json_lines(path)
    for _, row in rows:
        if "id" not in row or "text" not in row:
            rows.refuse("id and text are needed")
        yield row


def _document(row: dict[str, Any]) -> Document:
    fields = {key: str(row.get(key, "")) for key in ("title", "creator", "text")}
    return Document(str(row["id"]), {key: text for key, text in fields.items() if text})


def _meta(row: dict[str, Any]) -> dict[str, str]:
    return {key: str(row[key]) for key in ("year", "kind") if row.get(key)}


def _split(path: Path) -> Iterator[tuple[str, str]]:
    table = dictionaries(path)
    for _, row in table:
        if row.get("part") not in ("train", "test") or not row.get("id"):
            table.refuse("id, and part train or test, are needed")
        yield row["id"], row["part"]


def load_library(folder: Path, _split_name: str | None) -> Dataset:
    """Load the embedded corpus; its clicks are simulated.

    Links are the "see also" of the records and those of ``links.csv``, if it is there.
    """
    parts = {"train": Part(), "test": Part(sessions=[])}
    links: list[Link] = []
    used: set[str] = set()
    for record in library_records(folder):
        part = parts[record.meta["part"]]
        part.add(record.id, record.document.text, record.labels)
        used.update(record.labels)
        links += [Link(record.id, *link) for link in record.links]
    if (folder / "links.csv").is_file():
        links += [link for link in _links(folder / "links.csv") if link not in links]
    categories = library_categories(folder)
    tree = taxonomy_of(categories)
    train = parts["train"]
    return Dataset(
        "library",
        Part(train.ids, train.texts, train.labels, sessions=list(_clicks(folder))),
        parts["test"],
        label_names=[n for n in tree if tree.is_leaf(n) or n in used],
        tree=lambda: tree,
        about=lambda: descriptions_of(categories),
        queries={
            str(row["id"]): str(row["text"])
            for row in _with_text(folder / "queries.jsonl")
        },
        qrels=_qrels(folder / "qrels.tsv"),
        documents=Documents(
            lambda: (record.document for record in library_records(folder))
        ),
        links=links,
    )


def _links(path: Path) -> Iterator[Link]:
    table = dictionaries(path)
    for _, row in table:
        if not row.get("source") or not row.get("target"):
            table.refuse("source, target and anchor are needed")
        yield Link(row["source"], row["target"], row.get("anchor", ""))


def _qrels(path: Path) -> dict[str, dict[str, float]]:
    """Read query, document, grade; the first row names the columns."""
    judged: dict[str, dict[str, float]] = {}
    table = rows(path)
    for _, row in islice(table, 1, None):
        if len(row) != 3 or not row[2].isdecimal():
            table.refuse("query, document and grade are needed")
        judged.setdefault(row[0], {})[row[1]] = float(row[2])
    return judged


def _clicks(folder: Path) -> Iterator[Session]:
    sessions = json_lines(folder / "clicks.jsonl")
    for _, row in sessions:
        shown = row.get("shown")
        if not isinstance(shown, list) or "query" not in row:
            sessions.refuse("query, shown and clicked are needed")
        clicked = set(row.get("clicked", ()))
        yield Session(
            str(row["query"]), tuple(shown), tuple(item in clicked for item in shown)
        )

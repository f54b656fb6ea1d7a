"""The embedded corpus: the catalogue of Eskerton's town library, invented by us."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from classmark.datasets.dataset import (
    FOLDER,
    ClickSession,
    CollectionDocuments,
    Dataset,
    DatasetPart,
    Link,
    descriptions_of,
    json_rows,
)
from classmark.formats.jsonl import read_jsonl
from classmark.formats.records import Record, gather
from classmark.formats.taxonomies import read_category_csv
from classmark.formats.test_collections import read_qrels
from classmark.formats.text_files import FilePlace
from classmark.taxonomy.category import Category, taxonomy_of


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
    return read_jsonl((folder or library_folder()) / "records.jsonl")


def library_arrivals() -> Iterator[Record]:
    """Yield records that came in last and that nobody has classified; no part's."""
    return read_jsonl(library_folder() / "arrivals.jsonl")


def load_library(folder: Path, _split: str | None) -> Dataset:
    """Load the embedded corpus; links are "see also", clicks are simulated."""
    rows = json_rows(folder / "clicks.jsonl", query=str, shown=list, clicked=list)
    sessions = [
        ClickSession(query, tuple(shown), tuple(item in clicked for item in shown))
        for query, shown, clicked in rows
    ]
    parts = {"train": DatasetPart(sessions=sessions), "test": DatasetPart(sessions=[])}
    links: list[Link] = []
    used: set[str] = set()
    for record in library_records(folder):
        part = parts.get(record.meta.get("part", ""))
        if part is None:
            FilePlace(folder / "records.jsonl").refuse(
                f"record {record.id!r}: a part, train or test, is needed in its meta"
            )
        part.add(record.id, record.document.text, record.labels)
        used.update(record.labels)
        links += [Link(record.id, *link) for link in record.links]
    categories = library_categories(folder)
    tree = taxonomy_of(categories)
    queries = read_jsonl(folder / "queries.jsonl")
    return Dataset(
        "library",
        parts["train"],
        parts["test"],
        label_names=[n for n in tree if tree.is_leaf(n) or n in used],
        tree=lambda: tree,
        about=lambda: descriptions_of(categories),
        queries={query.id: query.document.text for query in queries},
        qrels=gather(read_qrels(folder / "qrels.tsv", columns=3)),
        documents=CollectionDocuments(
            lambda: (record.document for record in library_records(folder))
        ),
        links=links,
    )

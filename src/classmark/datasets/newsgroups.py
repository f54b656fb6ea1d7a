"""20 Newsgroups in the bydate split."""

from __future__ import annotations

from typing import TYPE_CHECKING

from classmark.datasets.dataset import Dataset, Part, names_in
from classmark.datasets.where import any_of, one_of
from classmark.formats.folders import read_newsgroups
from classmark.formats.jsonl import json_lines
from classmark.problems import UnreadableFile
from classmark.progress import track
from classmark.taxonomy.tree import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STEM = "20news-bydate-"


def load_newsgroups(folder: Path, _split: str | None) -> Dataset:
    """Load ``20news-bydate-{train,test}``, folders of messages or JSONL files."""
    train, test = (_part(folder, name) for name in ("train", "test"))
    names = names_in(train, test)
    return Dataset(
        "20newsgroups-bydate", train, test, label_names=names, tree=lambda: _tree(names)
    )


def _part(folder: Path, name: str) -> Part:
    part = Part()
    lines = any_of(folder, f"{STEM}{name}.jsonl*")
    records = _from_lines(lines) if lines else _from_folder(folder, name)
    for message, group, text in track(records, f"reading 20 Newsgroups, {name}"):
        part.ids.append(f"{group}/{message}")
        part.texts.append(text)
        part.labels.append([group])
    return part


def _from_lines(path: Path) -> Iterator[tuple[str, str, str]]:
    for number, row in json_lines(path):
        message, group, text = row.get("id"), row.get("group"), row.get("text")
        if not all(isinstance(value, str) for value in (message, group, text)):
            raise UnreadableFile(path, number, "id, group and text are needed, as text")
        yield str(message), str(group), str(text)


def _from_folder(folder: Path, name: str) -> Iterator[tuple[str, str, str]]:
    for record in read_newsgroups(one_of(folder, f"{STEM}{name}")):
        group, _, message = record.id.rpartition("/")
        yield message, group, record.document.text


def _tree(groups: list[str]) -> Taxonomy:
    """Groups below the first word of their names, comp.*, rec.*, …."""
    return Taxonomy([(group.split(".")[0], group) for group in groups])

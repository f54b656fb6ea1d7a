"""Directed graphs: links between packages, users and blogs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from classmark.datasets.dataset import Dataset, Link, Part, names_in, one_of
from classmark.formats.text_files import Numbered, lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FIELD = re.compile(r'\s*(id|label|value|source|target)\s+(?:"([^"]*)"|(-?\d{1,18}))\s*')
SIDES = {"0": "liberal", "1": "conservative"}


def load_edges(folder: Path, _split: str | None) -> Dataset:
    """Load a list of ``source target`` lines; ``#`` begins a comment line.

    ``train.ids`` are the nodes, in the order of first appearance.
    """
    path = one_of(folder, "edges.tsv*", "*.tsv*", "[!R]*.txt*")
    links = []
    file = lines(path, blank=False)
    for _, line in file:
        if not line.startswith("#"):
            ends = line.split()
            if len(ends) != 2:
                file.refuse(f"{len(ends)} cells: two are needed")
            links.append(Link(ends[0], ends[1]))
    nodes = list(dict.fromkeys(end for link in links for end in link[:2]))
    return Dataset(folder.name, Part(nodes, labels=[[] for _ in nodes]), links=links)


def load_polblogs(folder: Path, _split: str | None) -> Dataset:
    """Load the political blogs of 2004 (GML): labels liberal (0), conservative (1)."""
    path = one_of(folder, "*.gml*")
    part, links = Part(), []
    names: dict[str, str] = {}
    blocks = Numbered(path, _blocks(path))
    for _, (kind, fields) in blocks:
        if kind == "node":
            name = fields.get("label") or fields.get("id", "")
            names[fields.get("id", "")] = name
            part.ids.append(name)
            part.labels.append([SIDES[fields["value"]]] if "value" in fields else [])
        else:
            ends = fields.get("source", ""), fields.get("target", "")
            if not set(ends) <= names.keys():
                blocks.refuse("an edge without its two nodes")
            links.append(Link(names[ends[0]], names[ends[1]]))
    return Dataset("graph-polblogs", part, label_names=names_in(part), links=links)


def _blocks(path: Path) -> Iterator[tuple[int, tuple[str, dict[str, str]]]]:
    """Yield (line, (node or edge, its fields)) of a GML file."""
    kind = ""
    fields: dict[str, str] = {}
    for number, line in lines(path, blank=False):
        word = line.split()[0]
        if word in ("node", "edge"):
            kind, fields = word, {}
        elif word == "]" and kind:
            yield number, (kind, fields)
            kind = ""
        elif kind and (match := FIELD.fullmatch(line)):
            fields[match[1]] = match[2] if match[3] is None else match[3]

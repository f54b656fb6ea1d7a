"""Directed graphs: links between packages, users and blogs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from classmark.datasets.dataset import Dataset, Link, Part, one_of
from classmark.formats.text_files import lines
from classmark.problems import UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FIELD = re.compile(r'\s*(id|label|value|source|target)\s+(?:"([^"]*)"|(-?\d{1,18}))\s*')
SIDES = {"0": "liberal", "1": "conservative"}


def load_edges(folder: Path, _split: str | None) -> Dataset:
    """Load a list of ``source target`` lines; ``#`` begins a comment line.

    ``train.ids`` are the nodes, in the order of first appearance.
    """
    path = one_of(folder, "edges.tsv*", "*.tsv*", "[!R]*.txt*")
    links = []
    for number, line in lines(path):
        if line.startswith("#") or not line.strip():
            continue
        ends = line.split()
        if len(ends) != 2:
            raise UnreadableFile(path, number, f"{len(ends)} cells: two are needed")
        links.append(Link(ends[0], ends[1]))
    return _graph(folder.name, links)


def _graph(name: str, links: list[Link], part: Part | None = None) -> Dataset:
    if part is None:
        nodes = dict.fromkeys(end for link in links for end in link[:2])
        part = Part(ids=list(nodes), labels=[[] for _ in nodes])
    label_names = sorted({label for labels in part.labels for label in labels})
    return Dataset(name, part, label_names=label_names, links=links)


def load_polblogs(folder: Path, _split: str | None) -> Dataset:
    """Load the political blogs of 2004 (GML): labels liberal (0), conservative (1)."""
    path = one_of(folder, "*.gml*")
    part, links = Part(), []
    names: dict[str, str] = {}
    for number, kind, fields in _blocks(path):
        if kind == "node":
            name = fields.get("label") or fields.get("id", "")
            names[fields.get("id", "")] = name
            part.ids.append(name)
            part.labels.append([SIDES[fields["value"]]] if "value" in fields else [])
        else:
            ends = fields.get("source", ""), fields.get("target", "")
            if not set(ends) <= names.keys():
                raise UnreadableFile(path, number, "an edge without its two nodes")
            links.append(Link(names[ends[0]], names[ends[1]]))
    return _graph("graph-polblogs", links, part)


def _blocks(path: Path) -> Iterable[tuple[int, str, dict[str, str]]]:
    """Yield (line, node or edge, its fields) of a GML file."""
    kind = ""
    fields: dict[str, str] = {}
    for number, line in lines(path):
        word = line.split()[0] if line.strip() else ""
        if word in ("node", "edge"):
            kind, fields = word, {}
        elif word == "]" and kind:
            yield number, kind, fields
            kind = ""
        elif kind and (match := FIELD.fullmatch(line)):
            fields[match[1]] = match[2] if match[3] is None else match[3]

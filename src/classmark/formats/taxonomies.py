"""Taxonomies in plain files: CSV, pairs, lists of children, indented text.

Every reader returns the categories in the file's order, and raises ``UnreadableFile``
where they make no tree (a cycle, an id met twice, a parent that is not there).
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

from classmark.formats.delimited import delimiter_of, dictionaries
from classmark.formats.text_files import lines, writing
from classmark.problems import Mistake, UnreadableFile
from classmark.taxonomy.category import ACTIVE, Category, taxonomy_of
from classmark.taxonomy.tree import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

COLUMNS = (
    "id", "parent", "label", "scope_note", "synonyms", "notation", "status",
    "guideline",
)  # fmt: skip
MANY = "|"
TOPIC = re.compile(
    r"\s*parent:\s*(\S+)\s+child:\s*(\S+)(?:\s+child-description:\s*(.*?))?\s*"
)
NOBODY = "None"


def checked(categories: list[Category], path: Path | str) -> list[Category]:
    """Return the categories if they make a taxonomy."""
    try:
        taxonomy_of(categories)
    except Mistake as mistake:
        raise UnreadableFile(path, None, str(mistake)) from mistake
    return categories


def read_category_csv(path: Path | str, *, encoding: str = "utf-8") -> list[Category]:
    """Read ``id,parent,label,scope_note,synonyms`` (tabs in a ``.tsv``).

    Only ``id`` is needed; ``notation``, ``status`` and ``guideline`` are read where
    they are, other columns are refused. Several parents or synonyms are separated by
    ``|``.
    """
    found = []
    for number, row in dictionaries(path, encoding=encoding):
        unknown = set(row) - set(COLUMNS)
        if unknown or not row.get("id", "").strip():
            raise UnreadableFile(
                path,
                number,
                f"columns {', '.join(COLUMNS)} are known and id is needed, not "
                f"{', '.join(sorted(unknown)) or 'an empty id'}",
            )
        found.append(_category(row))
    return checked(found, path)


def _category(row: dict[str, str]) -> Category:
    return Category(
        row["id"].strip(),
        row.get("label", "").strip(),
        row.get("scope_note", "").strip(),
        _several(row.get("synonyms", "")),
        _several(row.get("parent", "")),
        row.get("notation", "").strip(),
        row.get("status", "").strip() or ACTIVE,
        row.get("guideline", "").strip(),
    )


def _several(cell: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in cell.split(MANY) if part.strip())


def write_category_csv(categories: Iterable[Category], path: Path | str) -> int:
    """Write a CSV (tabs in a ``.tsv``) and return how many categories."""
    count = 0
    with writing(path) as out:
        table = csv.writer(out, delimiter=delimiter_of(path), lineterminator="\n")
        table.writerow(COLUMNS)
        for c in categories:
            for text in (*c.parents, *c.synonyms):
                if MANY in text:
                    raise Mistake(
                        f"category {c.id!r}: {text!r} has a {MANY}: remove it"
                    )
            parents, synonyms = MANY.join(c.parents), MANY.join(c.synonyms)
            own = (c.label, c.note, synonyms, c.notation, c.status, c.guideline)
            table.writerow([c.id, parents, *own])
            count += 1
    return count


def read_pairs(
    path: Path | str, *, separator: str | None = None, encoding: str = "utf-8"
) -> list[Category]:
    """Read a parent and a child a line, between blanks or the given separator."""
    edges: list[tuple[str, str]] = []
    for number, line in lines(path, encoding):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split(separator) if cell.strip()]
        if len(cells) != 2:
            raise UnreadableFile(
                path, number, f"{len(cells)} cells: a parent and a child are needed"
            )
        edges.append((cells[0], cells[1]))
    return from_edges(edges, path)


def from_edges(edges: Iterable[tuple[str, str]], path: Path | str) -> list[Category]:
    """Turn (parent, child) pairs of a file into categories."""
    try:
        tree = Taxonomy(edges)
    except Mistake as mistake:
        raise UnreadableFile(path, None, str(mistake)) from mistake
    return [Category(node, parents=tuple(tree.parents(node))) for node in tree]


def write_pairs(
    categories: Iterable[Category], path: Path | str, *, separator: str = "\t"
) -> int:
    """Write a parent and a child a line; returns how many pairs.

    A category without parent and children cannot stand in such a file.
    """
    tree = taxonomy_of(categories)
    alone = [node for node in tree.roots if tree.is_leaf(node)]
    if alone:
        raise Mistake(f"{alone[0]!r} has neither parent nor child: write CSV instead")
    for node in tree:
        if separator in node or not node or len(node.split()) != 1 or node[0] == "#":
            raise Mistake(f"{node!r} has blanks or {separator!r} in it: write CSV")
    with writing(path) as out:
        out.writelines(f"{up}{separator}{down}\n" for up, down in tree.edges)
    return len(tree.edges)


def read_children_lists(path: Path | str, *, encoding: str = "utf-8") -> list[Category]:
    """Read ``parent TAB child TAB child …`` a line, as the RCV1 ``.taxonomy`` files."""
    edges: list[tuple[str, str]] = []
    for number, line in lines(path, encoding):
        if not line.strip():
            continue
        parent, *children = [cell.strip() for cell in line.rstrip("\t").split("\t")]
        if not parent or not all(children) or not children:
            raise UnreadableFile(
                path, number, "parent TAB child TAB child … is needed, no empty cell"
            )
        edges += [(parent, child) for child in children]
    return from_edges(edges, path)


def write_children_lists(categories: Iterable[Category], path: Path | str) -> int:
    """Write ``parent TAB child TAB child …``; returns how many lines."""
    tree = taxonomy_of(categories)
    alone = [node for node in tree.roots if tree.is_leaf(node)]
    bad = [node for node in tree if node != node.strip() or re.search("[\t\r\n]", node)]
    if alone or bad:
        node = (alone + bad)[0]
        raise Mistake(f"{node!r} stands alone, or has tabs or outer blanks: write CSV")
    inner = [node for node in tree if not tree.is_leaf(node)]
    with writing(path) as out:
        for node in inner:
            out.write("\t".join([node, *tree.children(node)]) + "\n")
    return len(inner)


def read_topic_tree(path: Path | str, *, encoding: str = "utf-8") -> list[Category]:
    """Read RCV1's ``parent: P child: C child-description: TEXT`` lines."""
    found: list[Category] = []
    for number, line in lines(path, encoding):
        if not line.strip():
            continue
        match = TOPIC.fullmatch(line)
        if match is None:
            raise UnreadableFile(
                path, number, "parent: … child: … child-description: … is needed"
            )
        parents = () if match[1] == NOBODY else (match[1],)
        found.append(Category(match[2], (match[3] or "").strip(), parents=parents))
    return checked(found, path)


def write_topic_tree(categories: Iterable[Category], path: Path | str) -> int:
    """Write RCV1's lines, parents before children; returns how many."""
    listed = {category.id: category for category in categories}
    tree = taxonomy_of(listed.values())
    with writing(path) as out:
        for node in (node for level in tree.levels for node in level):
            category = listed[node]
            above = category.parents[0] if category.parents else NOBODY
            line = f"parent: {above} child: {node}"
            if category.label:
                line += f" child-description: {category.label}"
            if (
                len(category.parents) > 1
                or (match := TOPIC.fullmatch(line)) is None
                or match.groups("") != (above, node, category.label)
            ):
                raise Mistake(f"{node!r} does not fit such a line: write CSV instead")
            out.write(line + "\n")
    return len(tree)


def read_indented(path: Path | str, *, encoding: str = "utf-8") -> list[Category]:
    """Read a label a line, deeper ones further in (tabs or blanks, not both).

    The id of a category is its path, labels joined by ``/``; a label has no ``/``.
    """
    found: list[Category] = []
    open_: list[tuple[int, str]] = []
    for number, line in lines(path, encoding):
        label = line.strip()
        if not label:
            continue
        indent = line[: len(line) - len(line.lstrip())]
        if len(set(indent)) > 1 or "/" in label:
            raise UnreadableFile(
                path, number, "tabs and blanks are mixed, or the label has a /"
            )
        while open_ and open_[-1][0] >= len(indent):
            open_.pop()
        above = open_[-1][1] if open_ else ""
        name = f"{above}/{label}" if above else label
        open_.append((len(indent), name))
        found.append(Category(name, label, parents=(above,) if above else ()))
    return checked(found, path)


def write_indented(categories: Iterable[Category], path: Path | str) -> int:
    """Write the labels, one tab further in for each level; returns how many."""
    listed = {category.id: category for category in categories}
    tree = taxonomy_of(listed.values())
    with writing(path) as out:
        waiting = tree.roots[::-1]
        while waiting:
            node = waiting.pop()
            name = listed[node].name
            if "/" in name or name != name.strip() or len(name.splitlines()) != 1:
                raise Mistake(f"label {name!r} has a /, a line break or outer blanks")
            if len(listed[node].parents) > 1:
                raise Mistake(f"{node!r} has several parents: write CSV instead")
            out.write("\t" * tree.depth_of(node) + name + "\n")
            waiting.extend(tree.children(node)[::-1])
    return len(tree)

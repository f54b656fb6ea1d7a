"""Which reader takes this taxonomy file?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from classmark.formats.lshtc import read_hierarchy
from classmark.formats.mulan import read_mulan_labels, write_mulan_labels
from classmark.formats.skos import read_skos, write_skos
from classmark.formats.taxonomies import (
    read_category_csv,
    read_children_lists,
    read_indented,
    read_pairs,
    read_topic_tree,
    write_category_csv,
    write_children_lists,
    write_indented,
    write_pairs,
    write_topic_tree,
)
from classmark.problems import Mistake
from classmark.taxonomy.category import Category, categories_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def _read_chains(path: Path | str) -> list[Category]:
    return categories_of(read_hierarchy(path))


TAXONOMY_READERS: dict[str, Callable[[Path | str], list[Category]]] = {
    "csv": read_category_csv,
    "skos": read_skos,
    "pairs": read_pairs,
    "children": read_children_lists,
    "topics": read_topic_tree,
    "indented": read_indented,
    "lshtc": _read_chains,
    "mulan": read_mulan_labels,
}
TAXONOMY_WRITERS: dict[str, Callable[[Iterable[Category], Path | str], object]] = {
    "csv": write_category_csv,
    "skos": write_skos,
    "pairs": write_pairs,
    "children": write_children_lists,
    "topics": write_topic_tree,
    "indented": write_indented,
    "mulan": write_mulan_labels,
}
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".ttl": "skos",
    ".rdf": "skos",
    ".nt": "skos",
    ".taxonomy": "children",
    ".orig": "topics",
    ".xml": "mulan",
}


def read_categories(path: Path | str, format: str | None = None) -> list[Category]:  # noqa: A002 (the name users type)
    """Read a taxonomy file in the named format, or the one its suffix stands for."""
    return TAXONOMY_READERS[_format(path, format, list(TAXONOMY_READERS))](path)


def write_categories(
    categories: Iterable[Category],
    path: Path | str,
    format: str | None = None,  # noqa: A002 (the name users type)
) -> None:
    """Write a taxonomy file in the named format, or the one its suffix stands for."""
    TAXONOMY_WRITERS[_format(path, format, list(TAXONOMY_WRITERS))](categories, path)


def _format(path: Path | str, named: str | None, known: list[str]) -> str:
    name = named or SUFFIXES.get(Path(path).suffix.lower(), "")
    if name not in known:
        problem = (
            f"format {named!r} is not known." if named else f"{path}: which format?"
        )
        raise Mistake(f"{problem} Give format=, one of {', '.join(known)}")
    return name

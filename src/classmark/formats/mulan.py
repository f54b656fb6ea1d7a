"""Mulan's XML files of labels, flat or nested."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from classmark.formats.text_files import LIMITS, open_bytes, writing
from classmark.problems import Mistake, UnreadableFile
from classmark.taxonomy.category import Category, taxonomy_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from xml.etree.ElementTree import Element

SPACE = "http://mulan.sourceforge.net/labels"


def read_mulan_labels(path: Path | str) -> list[Category]:
    """Read the labels in the file's order; a label inside another is below it.

    DTDs and entities are refused.
    """
    from xml.etree.ElementTree import ParseError

    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    with open_bytes(path) as stream:
        text = stream.read(LIMITS.line)
    try:
        root = fromstring(text, forbid_dtd=True)
    except DefusedXmlException as error:
        raise UnreadableFile(
            path, None, f"XML with a DTD or entities is refused ({error})"
        ) from error
    except (ParseError, ValueError, LookupError) as error:
        line = getattr(error, "position", (None,))[0]
        raise UnreadableFile(path, line, f"not XML: {error}") from error
    found: dict[str, Category] = {}
    waiting: list[tuple[Element, str]] = [(child, "") for child in root][::-1]
    while waiting:
        element, parent = waiting.pop()
        name = element.get("name")
        if element.tag.rpartition("}")[2] != "label" or not name or name in found:
            raise UnreadableFile(
                path, None, f"<label> with a name of its own is needed, not {name!r}"
            )
        found[name] = Category(name, parents=(parent,) if parent else ())
        waiting.extend([(child, name) for child in element][::-1])
    return list(found.values())


def write_mulan_labels(categories: Iterable[Category], path: Path | str) -> None:
    """Write labels; a category is nested in its first parent."""
    listed = list(categories)
    tree = taxonomy_of(listed)
    for category in listed:
        if len(category.parents) > 1:
            raise Mistake(f"{category.id!r} has several parents: Mulan nests in one")
    with writing(path) as out:
        out.write(f'<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="{SPACE}">\n')
        waiting = [(root, False) for root in tree.roots][::-1]
        while waiting:
            name, closing = waiting.pop()
            if closing:
                out.write("</label>\n")
                continue
            out.write(f"<label name={quoteattr(name)}>")
            waiting.append((name, True))
            waiting.extend([(child, False) for child in tree.children(name)][::-1])
        out.write("</labels>\n")

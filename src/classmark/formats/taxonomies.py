"""Taxonomies in files: CSV, pairs, lists of children, indented text, SKOS.

Every reader returns the categories in the file's order, and raises ``UnreadableFile``
where they make no tree (a cycle, an id met twice, a parent that is not there).

Nothing is fetched: only the file is read, and RDF/XML with a DTD or entities refused.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from classmark.formats.arff import read_mulan_labels, write_mulan_labels
from classmark.formats.svmlight import read_hierarchy
from classmark.formats.tables import delimiter_of, dictionaries
from classmark.formats.text_files import LIMITS, lines, open_bytes, writing
from classmark.problems import MissingExtra, Mistake, UnreadableFile
from classmark.taxonomy.category import (
    ACTIVE,
    DEPRECATED,
    Category,
    categories_of,
    taxonomy_of,
)
from classmark.taxonomy.tree import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rdflib import Graph
    from rdflib.term import Node


def read_names(path: Path | str, *, encoding: str = "utf-8") -> list[str]:
    """Read names, the first line naming number 0; empty lines at the end are no names.

    Raises ``UnreadableFile`` for an empty line between names and for a name met twice.
    """
    names: dict[str, int] = {}
    empty = 0
    for number, line in lines(path, encoding):
        name = line.strip()
        if not name:
            empty = empty or number
            continue
        if empty:
            raise UnreadableFile(path, empty, "no name on this line: remove or fill it")
        if name in names:
            raise UnreadableFile(
                path, number, f"{name!r} is already on line {names[name]}: rename one"
            )
        names[name] = number
    return list(names)


def write_names(names: Iterable[str], path: Path | str) -> None:
    """Write one name a line."""
    listed = list(names)
    for at, name in enumerate(listed):
        if not name or name != name.strip() or "\n" in name or "\r" in name:
            raise Mistake(
                f"names, number {at}: {name!r} is empty, has a line break or blanks "
                "around it"
            )
    if len(set(listed)) < len(listed):
        twice = next(name for name in listed if listed.count(name) > 1)
        raise Mistake(f"names: {twice!r} is there twice: names must differ")
    with writing(path) as out:
        out.writelines(f"{name}\n" for name in listed)


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
    categories = []
    for number, row in dictionaries(path, encoding=encoding):
        unknown = set(row) - set(COLUMNS)
        if unknown or not row.get("id", "").strip():
            raise UnreadableFile(
                path,
                number,
                f"columns {', '.join(COLUMNS)} are known and id is needed, not "
                f"{', '.join(sorted(unknown)) or 'an empty id'}",
            )
        categories.append(_category(row))
    return checked(categories, path)


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
            fields = (c.label, c.note, synonyms, c.notation, c.status, c.guideline)
            table.writerow([c.id, parents, *fields])
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
    categories: list[Category] = []
    for number, line in lines(path, encoding):
        if not line.strip():
            continue
        match = TOPIC.fullmatch(line)
        if match is None:
            raise UnreadableFile(
                path, number, "parent: … child: … child-description: … is needed"
            )
        parents = () if match[1] == NOBODY else (match[1],)
        categories.append(Category(match[2], (match[3] or "").strip(), parents=parents))
    return checked(categories, path)


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
    categories: list[Category] = []
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
        categories.append(Category(name, label, parents=(above,) if above else ()))
    return checked(categories, path)


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


SYNTAX = {".ttl": "turtle", ".nt": "nt", ".rdf": "xml", ".xml": "xml", ".owl": "xml"}
BASE = "urn:category:"


def read_skos(
    path: Path | str, *, languages: Sequence[str] = ("en",), base: str = BASE
) -> list[Category]:
    """Read every ``skos:Concept``, in the order of their ids.

    id : the concept's IRI; one that begins with ``base`` is shortened to what follows.
    label, note, synonyms : prefLabel, scopeNote and altLabels in the first of the
    ``languages`` the concept has a prefLabel in, else without language, else in the
    alphabetically first one. parents : broader concepts, and those that name it as
    narrower; those that the file does not describe are left out. status : deprecated,
    where ``owl:deprecated`` says so.
    """
    graph = _parsed(path)
    from rdflib.namespace import RDF, SKOS

    concepts = set(graph.subjects(RDF.type, SKOS.Concept))
    if not concepts:
        raise UnreadableFile(path, None, "no skos:Concept: is this a SKOS vocabulary?")
    view = _View(graph, concepts, languages, base)
    categories = [view.category(concept) for concept in concepts]
    return checked(sorted(categories, key=lambda category: category.id), path)


def _parsed(path: Path | str) -> Graph:
    try:
        from rdflib import Graph
    except ImportError as error:
        raise MissingExtra("SKOS files", "skos") from error
    syntax = SYNTAX.get(Path(path).suffix.lower())
    if syntax is None:
        raise Mistake(f"{path}: the suffix says no syntax: use {', '.join(SYNTAX)}")
    with open_bytes(path) as stream:
        text = b"".join(iter(lambda: stream.read(LIMITS.line), b""))
    if syntax == "xml":
        _refuse_entities(path, text)
    graph = Graph()
    try:
        graph.parse(data=text, format=syntax)
    except Exception as error:
        line = getattr(error, "lines", None)
        reason = " ".join(str(error).split())[:200]
        raise UnreadableFile(
            path,
            line + 1 if isinstance(line, int) else None,
            f"not {syntax}: {type(error).__name__}: {reason}",
        ) from error
    return graph


def _refuse_entities(path: Path | str, text: bytes) -> None:
    from xml.sax import SAXException, SAXParseException
    from xml.sax.handler import ContentHandler

    from defusedxml.common import DefusedXmlException
    from defusedxml.sax import parseString

    try:
        parseString(text, ContentHandler(), forbid_dtd=True)
    except DefusedXmlException as error:
        raise UnreadableFile(
            path, None, f"XML with a DTD or entities is refused ({error})"
        ) from error
    except (SAXException, ValueError, LookupError) as error:
        line = error.getLineNumber() if isinstance(error, SAXParseException) else None
        raise UnreadableFile(path, line, f"not XML: {error}") from error


class _View:
    """The concepts of a graph as categories."""

    def __init__(
        self, graph: Graph, concepts: set[Node], languages: Sequence[str], base: str
    ) -> None:
        self.graph, self.concepts = graph, concepts
        self.languages, self.base = languages, base

    def category(self, concept: Node) -> Category:
        """Gather what the graph says about one concept."""
        from rdflib.namespace import OWL, SKOS

        labels = self._texts(concept, SKOS.prefLabel)
        others = self._texts(concept, SKOS.altLabel)
        notes = self._texts(concept, SKOS.scopeNote)
        how = self._texts(concept, SKOS.editorialNote)
        language = self._language(labels or {**others, **notes, **how})
        gone = self.graph.value(concept, OWL.deprecated)
        above = set(self.graph.objects(concept, SKOS.broader))
        above |= set(self.graph.subjects(SKOS.narrower, concept))
        return Category(
            self._id(concept),
            next(iter(labels.get(language, [])), ""),
            " ".join(notes.get(language, [])),
            tuple(others.get(language, [])),
            tuple(sorted(map(self._id, above & self.concepts))),
            min(map(str, self.graph.objects(concept, SKOS.notation)), default=""),
            DEPRECATED if str(gone).lower() in ("true", "1") else ACTIVE,
            " ".join(how.get(language, [])),
        )

    def _id(self, concept: Node) -> str:
        name = str(concept)
        return unquote(name.removeprefix(self.base)) if self._short(name) else name

    def _short(self, name: str) -> bool:
        return name.startswith(self.base) and len(name) > len(self.base)

    def _texts(self, concept: Node, about: Any) -> dict[str, list[str]]:
        by_language: dict[str, list[str]] = {}
        for text in self.graph.objects(concept, about):
            language = getattr(text, "language", None) or ""
            by_language.setdefault(language, []).append(str(text))
        return {language: sorted(texts) for language, texts in by_language.items()}

    def _language(self, labels: dict[str, list[str]]) -> str:
        preferred = [*self.languages, "", *sorted(labels)]
        return next((name for name in preferred if name in labels), "")


def write_skos(
    categories: Iterable[Category],
    path: Path | str,
    *,
    language: str = "en",
    base: str = BASE,
) -> int:
    """Write concepts, in the syntax the suffix says, and return how many.

    Ids that are no IRIs are written after ``base``. Labels and notes are marked with
    the language ("" for none). SKOS keeps no order among parents or synonyms.
    """
    try:
        from rdflib import Graph
    except ImportError as error:
        raise MissingExtra("SKOS files", "skos") from error
    syntax = SYNTAX.get(Path(path).suffix.lower())
    if syntax is None:
        raise Mistake(f"{path}: the suffix says no syntax: use {', '.join(SYNTAX)}")
    listed = list(categories)
    taxonomy_of(listed)
    graph = Graph()
    for category in listed:
        _describe(graph, category, language, base)
    with writing(path) as out:
        out.write(graph.serialize(format=syntax))
    return len(listed)


def _iri(name: str, base: str) -> str:
    is_iri = name.startswith(("http://", "https://", "urn:")) and not set(name) & set(
        '<>"{}|^`\\ \t\r\n'
    )
    return name if is_iri else base + quote(name, safe="")


def _describe(graph: Graph, category: Category, language: str, base: str) -> None:
    from rdflib import Literal, URIRef
    from rdflib.namespace import OWL, RDF, SKOS

    concept = URIRef(_iri(category.id, base))
    graph.add((concept, RDF.type, SKOS.Concept))
    texts = [(SKOS.prefLabel, category.label), (SKOS.scopeNote, category.note)]
    texts.append((SKOS.editorialNote, category.guideline))
    texts += [(SKOS.altLabel, synonym) for synonym in category.synonyms]
    for about, text in texts:
        if text:
            graph.add((concept, about, Literal(text, lang=language or None)))
    if category.notation:
        graph.add((concept, SKOS.notation, Literal(category.notation)))
    for parent in category.parents:
        above = URIRef(_iri(parent, base))
        graph.add((concept, SKOS.broader, above))
        graph.add((above, SKOS.narrower, concept))
    if category.status == DEPRECATED:
        graph.add((concept, OWL.deprecated, Literal(True)))


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


def _format(path: Path | str, named: str | None, formats: list[str]) -> str:
    name = named or SUFFIXES.get(Path(path).suffix.lower(), "")
    if name not in formats:
        problem = (
            f"format {named!r} is not known." if named else f"{path}: which format?"
        )
        raise Mistake(f"{problem} Give format=, one of {', '.join(formats)}")
    return name

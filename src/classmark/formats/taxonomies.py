"""Taxonomies in files: CSV, pairs, lists of children, indented text, Mulan, SKOS.

Every reader returns the categories in the file's order, and raises ``UnreadableFile``
where they make no tree (a cycle, an id met twice, a parent that is not there). Where a
list ``cut`` is given, edges that close cycles are put there instead, (parent, child).
Nothing is fetched: only the file is read, and XML with a DTD or entities is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

from classmark.formats.annif import is_vocabulary, read_vocabulary, write_vocabulary
from classmark.formats.archive import entries
from classmark.formats.rows import Layout, fitted
from classmark.formats.skos import BASE, skos_categories, write_skos
from classmark.formats.tables import FORMULAS, dictionaries, write_rows
from classmark.formats.text_files import (
    LIMITS,
    FilePlace,
    existing,
    lines,
    open_bytes,
    safe_xml,
    write_lines,
    writing,
)
from classmark.problems import Mistake, UnreadableFile, worded
from classmark.taxonomy.category import Category, categories_of, taxonomy_of
from classmark.taxonomy.cycles import CyclicGraph
from classmark.taxonomy.edits import break_cycles, without_cycles
from classmark.taxonomy.tree import Taxonomy

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


COLUMNS = {  # of a CSV, and what a Category calls them
    "id": "id", "parent": "parents", "label": "label", "scope_note": "note",
    "synonyms": "synonyms", "notation": "notation", "status": "status",
    "guideline": "guideline",
}  # fmt: skip
LISTS = ("parent", "synonyms")
MANY = "|"
TOPIC = re.compile(
    r"\s*parent:\s*(\S+)\s+child:\s*(\S+)(?:\s+child-description:\s*(.*?))?\s*"
)
NOBODY = "None"
Cut = list[tuple[str, str]] | None  # where edges that close cycles go


@contextmanager
def _naming(path: Path | str) -> Iterator[None]:
    """Name the file where what it holds is no tree."""
    try:
        yield
    except UnreadableFile:
        raise
    except CyclicGraph as cycle:
        remedy = worded("let classmark taxonomy import --break-cycles cut it")
        raise UnreadableFile(path, None, f"{cycle}, or {remedy}") from cycle
    except Mistake as mistake:
        raise UnreadableFile(path, None, str(mistake)) from mistake


def _checked(
    categories: list[Category], path: Path | str, cut: Cut = None
) -> list[Category]:
    """Return the categories if they make a taxonomy, or would but for cycles."""
    if cut is not None:
        categories, cut[:] = without_cycles(categories)
    with _naming(path):
        taxonomy_of(categories)
    return categories


def _from_edges(
    edges: list[tuple[str, str]], path: Path | str, cut: Cut = None
) -> list[Category]:
    nodes = dict.fromkeys(chain.from_iterable(edges))
    if cut is not None:
        edges, cut[:] = break_cycles(edges)
    with _naming(path):
        return categories_of(Taxonomy(edges, nodes=nodes))


def _without_lone(categories: Iterable[Category]) -> Taxonomy:
    """Return the tree; a category without parent and children is refused."""
    tree = taxonomy_of(categories)
    for node in tree.roots:
        if tree.is_leaf(node):
            raise Mistake(f"{node!r} has neither parent nor child: write CSV")
    return tree


def is_taxonomy_header(columns: Iterable[str]) -> bool:
    """Whether columns are those of a table of categories.

    >>> is_taxonomy_header(["id", "parent", "label", "scope_note"])
    True
    >>> is_taxonomy_header(["id", "label", "text"])
    False
    """
    names = set(columns)
    return {"id", "parent"} <= names <= COLUMNS.keys()


def read_category_csv(
    path: Path | str, *, encoding: str = "", cut: Cut = None
) -> list[Category]:
    """Read ``id,parent,label,scope_note,synonyms``; delimiter, encoding are guessed.

    Only ``id`` is needed; ``notation``, ``status`` and ``guideline`` are read where
    they are, other columns are refused. Several parents or synonyms are separated by
    ``|``. The ``'`` before what a spreadsheet would run is taken off again.
    """
    categories = []
    (entry,) = entries(existing(path))
    layout = fitted(entry, "csv", Layout(encoding=encoding, header="yes"))
    table = dictionaries(path, layout.delimiter, layout.encoding)
    for _, row in table:
        cells = {name: _as_said(cell.strip()) for name, cell in row.items()}
        unknown = set(row) - set(COLUMNS)
        if unknown or not cells.get("id"):
            raise table.refusal(
                "columns may be %(names)s, and id is needed, not %(unknown)s",
                names=", ".join(COLUMNS),
                unknown=", ".join(sorted(unknown)) or "an empty id",
            )
        facts: dict[str, Any] = {COLUMNS[n]: cell for n, cell in cells.items() if cell}
        for name in (COLUMNS[name] for name in LISTS if cells.get(name)):
            parts = [part.strip() for part in facts[name].split(MANY)]
            facts[name] = tuple(part for part in parts if part)
        categories.append(Category(**facts))
    return _checked(categories, path, cut)


def write_category_csv(categories: Iterable[Category], path: Path | str) -> int:
    """Write a CSV (tabs in a ``.tsv``) and return how many categories.

    Cells that a spreadsheet would run get a leading ``'``.
    """
    return write_rows([*COLUMNS], map(_cells, categories), path, end="\n")


def _cells(category: Category) -> list[str]:
    for text in (*category.parents, *category.synonyms):
        if MANY in text:
            raise Mistake(f"category {category.id!r}: {text!r} has a {MANY}: remove it")
    facts = [getattr(category, name) for name in COLUMNS.values()]
    cells = (MANY.join(fact) if isinstance(fact, tuple) else fact for fact in facts)
    return [f"'{cell}" if _would_run(cell) else cell for cell in cells]


def _would_run(cell: str) -> bool:
    """Whether a spreadsheet would run a cell, or a cell that is so but for a ``'``."""
    return cell.lstrip("'").startswith(FORMULAS)


def _as_said(cell: str) -> str:
    """A cell as it was before it was disarmed.

    >>> _as_said("'=1+1"), _as_said("''=1+1"), _as_said("'tis"), _as_said("-x")
    ('=1+1', "'=1+1", "'tis", '-x')
    """
    return cell[1:] if cell.startswith("'") and _would_run(cell) else cell


def read_pairs(
    path: Path | str,
    *,
    separator: str | None = None,
    encoding: str = "utf-8",
    cut: Cut = None,
) -> list[Category]:
    """Read a parent and a child a line, between blanks or the given separator."""
    edges: list[tuple[str, str]] = []
    file = lines(path, encoding, blank=False)
    for _, line in file:
        if line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split(separator) if cell.strip()]
        if len(cells) != 2:
            raise file.refusal("%(n)s cells: two are needed", n=len(cells))
        edges.append((cells[0], cells[1]))
    return _from_edges(edges, path, cut)


def write_pairs(
    categories: Iterable[Category], path: Path | str, *, separator: str = "\t"
) -> int:
    """Write a parent and a child a line; returns how many pairs.

    A category without parent and children cannot stand in such a file.
    """
    tree = _without_lone(categories)
    for node in tree:
        if separator in node or not node or len(node.split()) != 1 or node[0] == "#":
            raise Mistake(f"{node!r} has blanks or {separator!r} in it: write CSV")
    return write_lines((f"{up}{separator}{down}\n" for up, down in tree.edges), path)


def read_children_lists(
    path: Path | str, *, encoding: str = "utf-8", cut: Cut = None
) -> list[Category]:
    """Read ``parent TAB child TAB child …`` a line, as the RCV1 ``.taxonomy`` files."""
    edges: list[tuple[str, str]] = []
    file = lines(path, encoding, blank=False)
    for _, line in file:
        parent, *children = [cell.strip() for cell in line.rstrip("\t").split("\t")]
        if not parent or not all(children) or not children:
            raise file.refusal("parent TAB child TAB child … is needed, no empty cell")
        edges += [(parent, child) for child in children]
    return _from_edges(edges, path, cut)


def write_children_lists(categories: Iterable[Category], path: Path | str) -> int:
    """Write ``parent TAB child TAB child …``; returns how many lines."""
    tree = _without_lone(categories)
    for node in tree:
        if node != node.strip() or re.search("[\t\r\n]", node):
            raise Mistake(f"{node!r} has tabs, line ends or outer blanks: write CSV")
    inner = (node for node in tree if not tree.is_leaf(node))
    rows = ("\t".join([node, *tree.children(node)]) + "\n" for node in inner)
    return write_lines(rows, path)


def read_topic_tree(
    path: Path | str, *, encoding: str = "utf-8", cut: Cut = None
) -> list[Category]:
    """Read RCV1's ``parent: P child: C child-description: TEXT`` lines."""
    categories: list[Category] = []
    file = lines(path, encoding, blank=False)
    for _, line in file:
        match = TOPIC.fullmatch(line)
        if match is None:
            raise file.refusal("parent: … child: … child-description: … is needed")
        parents = () if match[1] == NOBODY else (match[1],)
        categories.append(Category(match[2], (match[3] or "").strip(), parents=parents))
    return _checked(categories, path, cut)


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
    file = lines(path, encoding, blank=False)
    for _, line in file:
        label = line.strip()
        indent = line[: len(line) - len(line.lstrip())]
        if len(set(indent)) > 1 or "/" in label:
            raise file.refusal("tabs and blanks are mixed, or the label has a /")
        while open_ and open_[-1][0] >= len(indent):
            open_.pop()
        above = open_[-1][1] if open_ else ""
        name = f"{above}/{label}" if above else label
        open_.append((len(indent), name))
        categories.append(Category(name, label, parents=(above,) if above else ()))
    return _checked(categories, path)


def write_indented(categories: Iterable[Category], path: Path | str) -> int:
    """Write the labels, one tab further in for each level; returns how many."""
    rows = []
    for category, depth in _nested(categories):
        name = category.name
        if "/" in name or name != name.strip() or len(name.splitlines()) != 1:
            raise Mistake(f"label {name!r} has a /, a line break or outer blanks")
        rows.append("\t" * depth + name + "\n")
    return write_lines(rows, path)


def _nested(categories: Iterable[Category]) -> Iterator[tuple[Category, int]]:
    """Yield categories and their depths, each followed by those below it."""
    listed = list(categories)
    tree = taxonomy_of(listed)
    by_id = {category.id: category for category in listed}
    waiting = tree.roots[::-1]
    while waiting:
        node = waiting.pop()
        if len(by_id[node].parents) > 1:
            raise Mistake(f"{node!r} has several parents: write CSV instead")
        yield by_id[node], tree.depth_of(node)
        waiting.extend(tree.children(node)[::-1])


def read_hierarchy(path: Path | str, cut: Cut = None) -> Taxonomy:
    """Read LSHTC's ``cat_hier.txt``: chains of categories, each below the one before.

    The first challenge has paths from the root to a leaf, later ones pairs.
    """
    file = lines(path)

    def chains() -> Iterator[list[str]]:
        for _, line in file:
            path_down = line.split()
            if len(path_down) == 1:
                raise file.refusal("one category alone: name its parent, too")
            yield path_down

    with _naming(path):
        return tree_of_chains(chains(), cut)


def tree_of_chains(chains: Iterable[Sequence[str]], cut: Cut = None) -> Taxonomy:
    """Build the tree of chains of categories, each below the one before.

    >>> tree_of_chains([["a", "b"], ["c"]]).nodes
    ['a', 'b', 'c']
    """
    edges: dict[tuple[str, str], None] = {}
    nodes: dict[str, None] = {}
    for path_down in chains:
        nodes.update(dict.fromkeys(path_down))
        edges.update(dict.fromkeys(pairwise(path_down)))
    if cut is None:
        return Taxonomy(edges, nodes=nodes)
    acyclic, cut[:] = break_cycles(edges, nodes=nodes)
    return Taxonomy(acyclic, nodes=nodes)


SPACE = "http://mulan.sourceforge.net/labels"


def read_mulan_labels(path: Path | str) -> list[Category]:
    """Read the labels in the file's order; a label inside another is below it.

    DTDs and entities are refused.
    """
    with open_bytes(path) as stream:
        root = safe_xml(path, stream.read(LIMITS.line))
    categories: dict[str, Category] = {}
    waiting: list[tuple[Element, str]] = [(child, "") for child in root][::-1]
    while waiting:
        element, parent = waiting.pop()
        name = element.get("name")
        if element.tag.rpartition("}")[2] != "label" or not name or name in categories:
            FilePlace(path).refuse(
                f"<label> with a name of its own is needed, not {name!r}"
            )
        categories[name] = Category(name, parents=(parent,) if parent else ())
        waiting.extend([(child, name) for child in element][::-1])
    return list(categories.values())


def write_mulan_labels(categories: Iterable[Category], path: Path | str) -> None:
    """Write labels; a category is nested in its parent."""
    before = -1
    with writing(path) as out:
        out.write(f'<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="{SPACE}">\n')
        for category, depth in _nested(categories):
            out.write("</label>\n" * (before + 1 - depth))
            out.write(f"<label name={quoteattr(category.id)}>")
            before = depth
        out.write("</label>\n" * (before + 1) + "</labels>\n")


def read_skos(
    path: Path | str,
    *,
    languages: Sequence[str] = ("en",),
    base: str = BASE,
    cut: Cut = None,
) -> list[Category]:
    """Read every ``skos:Concept``, in the order of their ids.

    id : the concept's IRI; one that begins with ``base`` is shortened to what follows.
    label, note, synonyms : prefLabel, scopeNote and altLabels in the first of the
    ``languages`` the concept has a prefLabel in, else without language, else in the
    alphabetically first one. How many are in another language than the first, a remark
    says. parents : broader concepts, and those that name it as narrower; those that the
    file does not describe are left out. status : deprecated, where ``owl:deprecated``
    says so.
    """
    return _checked(skos_categories(path, languages, base), path, cut)


Reading = Callable[..., list[Category]]
Writing = Callable[[Iterable[Category], Path | str], object]
FORMATS: dict[str, tuple[Reading, Writing | None, tuple[str, ...]]] = {
    "csv": (read_category_csv, write_category_csv, (".csv", ".tsv")),
    "annif": (read_vocabulary, write_vocabulary, ()),
    "skos": (read_skos, write_skos, (".ttl", ".rdf", ".nt")),
    "pairs": (read_pairs, write_pairs, ()),
    "children": (read_children_lists, write_children_lists, (".taxonomy",)),
    "topics": (read_topic_tree, write_topic_tree, (".orig",)),
    "indented": (read_indented, write_indented, ()),
    "lshtc": (lambda path, **cut: categories_of(read_hierarchy(path, **cut)), None, ()),
    "mulan": (read_mulan_labels, write_mulan_labels, (".xml",)),
}
SPOKEN = ("annif", "skos")  # formats that may have labels in several languages
TREES = ("annif", "indented", "mulan")  # formats that cannot say a cycle
TAXONOMY_READERS = {name: read for name, (read, _, _) in FORMATS.items()}
TAXONOMY_WRITERS = {name: write for name, (_, write, _) in FORMATS.items() if write}


def read_categories(
    path: Path | str,
    format: str | None = None,  # noqa: A002 (the name users type)
    *,
    cut: Cut = None,
    languages: Sequence[str] = (),
) -> list[Category]:
    """Read a taxonomy file in the named format, or the one its suffix stands for.

    A CSV or TSV that begins as one of Annif's vocabularies is read as one.
    cut : a list for the edges that close cycles, (parent, child); None refuses them;
    languages : codes, of what the labels are to be read in where a file has several.
    """
    name = _format(path, format, list(TAXONOMY_READERS))
    if format is None and name == "csv" and is_vocabulary(path):
        name = "annif"
    options: dict[str, Any] = {}
    if cut is not None and name not in TREES:
        options["cut"] = cut
    if languages and name in SPOKEN:
        options["languages"] = languages
    return TAXONOMY_READERS[name](path, **options)


def write_categories(
    categories: Iterable[Category],
    path: Path | str,
    format: str | None = None,  # noqa: A002 (the name users type)
) -> None:
    """Write a taxonomy file in the named format, or the one its suffix stands for."""
    TAXONOMY_WRITERS[_format(path, format, list(TAXONOMY_WRITERS))](categories, path)


def _format(path: Path | str, named: str | None, formats: list[str]) -> str:
    suffix = Path(path).suffix.lower()
    by_suffix = [name for name, (_, _, ends) in FORMATS.items() if suffix in ends]
    name = named or next(iter(by_suffix), "")
    if name not in formats:
        wrong = f"format {named!r} is not known" if named else f"{path}: which format"
        remedy = worded("give --format (format=)")
        raise Mistake(f"{wrong}: {remedy}, one of {', '.join(formats)}")
    return name

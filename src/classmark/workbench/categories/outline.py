"""Categories typed as an indented list: ids are derived from names, or given."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from classmark.language import whole
from classmark.problems import refusal
from classmark.taxonomy.category import Category, path_names
from classmark.workbench.categories.browse import sorting_key
from classmark.workbench.categories.edit import add, new_category
from classmark.workbench.categories.find import plain
from classmark.workbench.files.importing import put_taxonomy

if TYPE_CHECKING:
    from classmark.workbench.results import Table
    from classmark.workbench.team.desk import Desk


MOST = 5000  # lines that are read at once
OFFERED = 300  # categories that a form lists
TAB = 4  # spaces that a tab stands for
_BULLET = re.compile(r"^(?:[-*•–]|\d+[.)])\s+")
_GIVEN = re.compile(r"\s*\[([^\[\]]+)\]\s*$")
_GAP = re.compile(r"[\W_]+")


class OutlineLine(NamedTuple):
    """A category of the list; level : how far it is indented, 0 at the top."""

    name: str
    id: str
    parent: str | None
    level: int


def id_of_name(name: str, parent: str | None, ids: Iterable[str]) -> str:
    """An id for a category, from its name and the id above it; never one taken.

    >>> id_of_name("Bees & Honey", "nature", ["nature.bees-honey"])
    'nature.bees-honey-2'
    >>> id_of_name("Übung", None, [])
    'ubung'
    """
    own = _GAP.sub("-", plain(name)).strip("-") or "category"
    stem = own if parent is None else f"{parent}.{own}"
    ids, number, id_ = set(ids), 1, stem
    while id_ in ids:
        number += 1
        id_ = f"{stem}-{number}"
    return id_


def read_outline(text: str, ids: Iterable[str] = ()) -> list[OutlineLine]:
    r"""The categories of an indented list, one a line; deeper lines are below.

    Bullets and numbers before names are dropped. A name may end with its id in square
    brackets; ids : those that others have.

    >>> [(line.id, line.level) for line in read_outline("Nature\n  Bees\n  Ants [n.a]")]
    [('nature', 0), ('nature.bees', 1), ('n.a', 1)]
    """
    ids, above = set(ids), list[tuple[int, str]]()  # indent and id of each above
    lines = list[OutlineLine]()
    for number, line in enumerate(text.expandtabs(TAB).splitlines(), 1):
        name = _BULLET.sub("", line.strip())
        if not name:
            continue
        if len(lines) == MOST:
            raise refusal(
                "line %(number)s: %(most)s categories at most; import a file",
                number=number,
                most=whole(MOST),
            )
        indent = len(line) - len(line.lstrip())
        while above and above[-1][0] >= indent:
            above.pop()
        parent = above[-1][1] if above else None
        id_ = ""
        if given := _GIVEN.search(name):
            id_, name = given[1].strip(), name[: given.start()].strip()
        id_ = id_ or id_of_name(name, parent, ids)
        if id_ in ids:
            raise refusal(
                "line %(number)s: another category has the id %(id)r already",
                number=number,
                id=id_,
            )
        ids.add(id_)
        above.append((indent, id_))
        lines.append(OutlineLine(name or id_, id_, parent, len(above) - 1))
    if not lines:
        raise refusal("the list is empty: type one category per line")
    return lines


def with_ids(lines: Sequence[OutlineLine], ids: Sequence[str]) -> list[OutlineLine]:
    r"""The same lines with other ids, one each; what is below follows.

    >>> with_ids(read_outline("Nature\n  Bees"), ["n", "n.bees"])[1].parent
    'n'
    """
    if len(ids) != len(lines):
        raise refusal("the list has changed: preview it again")
    if blank := [line.name for line, id_ in zip(lines, ids, strict=True) if not id_]:
        raise refusal("“%(blank)s” has no id: enter one", blank=blank[0])
    if len(set(ids)) < len(ids):
        twice = next(id_ for id_ in ids if list(ids).count(id_) > 1)
        raise refusal(
            "two categories have the id %(twice)r: change one of them", twice=twice
        )
    renamed = {line.id: id_ for line, id_ in zip(lines, ids, strict=True)}
    return [
        line._replace(id=id_, parent=renamed.get(line.parent or "", line.parent))
        for line, id_ in zip(lines, ids, strict=True)
    ]


def parents_of_new(desk: Desk) -> list[tuple[str, str]]:
    """Id and path of the categories that a new one may be put below, in tree order.

    Where there are very many, those at the top alone: others are offered by the
    taxonomy's page.
    """
    tree, categories = desk.tree, desk.categories
    roots = tree.roots
    top = set(roots)
    ids = [id_ for id_ in tree.nodes if id_ in top or not tree.is_leaf(id_)]
    if len(ids) > OFFERED:
        ids = roots[:OFFERED]
    paths = ((id_, " › ".join(path_names(categories, tree, id_))) for id_ in ids)
    return sorted(paths, key=lambda pair: sorting_key(pair[1]))


def add_named(desk: Desk, name: str, parent: str, who: str) -> str:
    """Add a category by its name alone, and return its id; parent "" : at the top."""
    if not name.strip():
        raise refusal("the new category has no name: give it one")
    if parent and parent not in desk.categories:
        raise refusal("the category above no longer exists: choose another")
    id_ = id_of_name(name, parent or None, desk.categories)
    new = new_category(id_, name.strip(), parent or None)
    desk.write(lambda project: add(project, new, who))
    return id_


def add_outline(desk: Desk, lines: Sequence[OutlineLine], who: str) -> Table:
    """Add the categories of a list, all or none; none of them may be there yet."""
    for line in lines:
        if line.id in desk.categories:
            raise refusal(
                "there is a category %(id)r already: change this id", id=line.id
            )
    categories = [
        Category(line.id, line.name, parents=(line.parent,) if line.parent else ())
        for line in lines
    ]
    with desk.writing() as project:
        table = put_taxonomy(project, categories, "a list", who)
    desk.look_again()
    return table

"""Nodes: the taxonomy as people read it, opened level by level, with what it holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from classmark.arrays import Ints
from classmark.problems import Mistake
from classmark.taxonomy.category import ACTIVE, Category, taxonomy_of
from classmark.workbench.results import Cell, Table

if TYPE_CHECKING:
    from classmark.taxonomy.tree import Taxonomy
    from classmark.workbench.project import Project
    from classmark.workbench.store.store import Store
    from classmark.workbench.team.desk import Desk


AT_ONCE = 200  # daughters of a category that are shown at once
EXAMPLES, TICKED = 8, 60  # documents that are shown, and that a split may take
RANKED = """
SELECT c.id, sum(CASE WHEN act <> 'reject' THEN 1 ELSE 0 END),
  sum(CASE WHEN act <> 'reject' AND rank = 1 THEN 1 ELSE 0 END),
  sum(CASE WHEN act <> 'reject' AND rank <= 5 THEN 1 ELSE 0 END),
  sum(CASE WHEN act = 'reject' AND rank = 1 THEN 1 ELSE 0 END)
FROM categories AS c JOIN judgments AS j ON j.category = c.number
WHERE c.stands = 1 AND c.id IN ({}) AND rank IS NOT NULL
  AND act IN ('assign', 'primary', 'reject')
  AND NOT EXISTS (SELECT 1 FROM undone AS u WHERE u.seq = j.seq) GROUP BY c.id
"""


class Ranked(NamedTuple):
    """Where the ranker had put a category when experts judged it, by the log.

    chosen : how often it was assigned while it had a rank;  first, five : it was the
    first then, or among the first five;  refused : it was the first and was rejected.
    """

    chosen: int = 0
    first: int = 0
    five: int = 0
    refused: int = 0

    @property
    def judged_first(self) -> int:
        """How often it was the first suggestion, and was taken or rejected."""
        return self.first + self.refused

    @property
    def precision(self) -> float | None:
        """The share of them in which it was taken; None where there are none.

        >>> Ranked(10, 6, 9, 2).precision
        0.75
        """
        return self.first / self.judged_first if self.judged_first else None


@dataclass(frozen=True, slots=True)
class Twig:
    """A category in the tree.

    here, below : documents it has, and with all below it;  daughters : how many;
    open : those of them that are shown, None: it is closed.
    """

    category: Category
    here: int
    below: int
    daughters: int
    ranked: Ranked
    open: Level | None = None

    @property
    def retired(self) -> bool:
        """Whether no new document comes to it."""
        return self.category.status != ACTIVE


@dataclass(frozen=True, slots=True)
class Level:
    """Some daughters of a category, or categories at the top (of : None).

    after : how many come before them;  left : how many come after.
    """

    of: str | None
    twigs: tuple[Twig, ...]
    after: int
    left: int

    @property
    def next(self) -> int:
        """Where those that are left begin."""
        return self.after + len(self.twigs)


@dataclass(frozen=True, slots=True)
class Node:
    """All about one category.

    path : id and name of each above it, from the top;  others : its other parents;
    documents : id and title of those decided last.
    """

    twig: Twig
    path: tuple[tuple[str, str], ...]
    others: tuple[tuple[str, str], ...]
    documents: tuple[tuple[str, str], ...]

    @property
    def examples(self) -> tuple[tuple[str, str], ...]:
        """A few of its documents."""
        return self.documents[:EXAMPLES]


@dataclass(frozen=True, slots=True)
class Overview:
    """A taxonomy in figures."""

    categories: int
    leaves: int
    depth: int
    retired: int
    empty: int
    guided: int


def level_of(desk: Desk, of: str | None = None, after: int = 0) -> Level:
    """The next daughters of a category, or categories at the top."""
    ids = _daughters(desk, of)
    shown = ids[after : after + AT_ONCE]
    twigs = _twigs(desk, shown)
    return Level(of, tuple(twigs), after, max(0, len(ids) - after - len(shown)))


def tree_to(desk: Desk, category: str | None = None) -> Level:
    """The top of the tree, opened down to a category."""
    path = [] if category is None else list(desk.tree.path(_known(desk, category).id))
    return _opened(desk, None, path)


def _opened(desk: Desk, of: str | None, path: Sequence[str]) -> Level:
    """A level with the first of the path opened."""
    ids = _daughters(desk, of)
    after = 0
    if path:
        after = ids.index(path[0]) // AT_ONCE * AT_ONCE
    level = level_of(desk, of, after)
    if not path:
        return level
    twigs = [
        replace(twig, open=_opened(desk, path[0], path[1:]))
        if twig.category.id == path[0] and twig.daughters
        else twig
        for twig in level.twigs
    ]
    return Level(of, tuple(twigs), level.after, level.left)


def node_of(desk: Desk, category: str) -> Node:
    """All about one category."""
    known, tree = desk.categories, desk.tree
    own = _known(desk, category)
    newest = desk.state.documents.get(category, [])[: -TICKED - 1 : -1]
    return Node(
        _twigs(desk, [category])[0],
        _named(known, tree.path(category)),
        _named(known, own.parents[1:]),
        tuple((id_, title_of(desk.project.store, id_)) for id_ in newest),
    )


def overview(desk: Desk) -> Overview:
    """The taxonomy in figures."""
    known, counts = desk.categories, desk.state.counts
    return Overview(
        len(known),
        len(desk.tree.leaf_numbers),
        desk.tree.depth + 1 if known else 0,
        sum(category.status != ACTIVE for category in known.values()),
        sum(not counts[id_] for id_ in known),
        sum(bool(category.guideline) for category in known.values()),
    )


def branch_counts(desk: Desk) -> Mapping[str, int]:
    """Category → how many documents it has with all below it, each counted once."""
    return desk.once(_branch_counts)


def _branch_counts(project: Project) -> dict[str, int]:
    """Walk up from every label at once; documents of several labels count once."""
    tree = project.tree
    names = tree.nodes
    number = {name: at for at, name in enumerate(names)}
    labels = list(project.state.labels.values())
    nodes = np.array([number.get(n, -1) for each in labels for n in each], np.int64)
    sizes = np.array([len(each) for each in labels], np.int64)
    alone = np.repeat(sizes == 1, sizes)
    documents = np.repeat(np.arange(len(sizes)), sizes)
    counts = np.zeros(len(tree), np.int64)
    for at in _upwards(tree, nodes[alone & (nodes >= 0)]):
        counts += np.bincount(at, minlength=len(tree))
    several = ~alone & (nodes >= 0)
    met = _met(tree, documents[several], nodes[several])
    counts += np.bincount(met, minlength=len(tree))
    return {names[at]: int(counts[at]) for at in np.flatnonzero(counts)}


def _upwards(tree: Taxonomy, nodes: Ints) -> Iterator[Ints]:
    """The nodes, those above them, and so on."""
    while len(nodes):
        yield nodes
        above = tree.lineage.parent[nodes]
        nodes = above[above >= 0]


def _met(tree: Taxonomy, documents: Ints, nodes: Ints) -> Ints:
    """Each node that a document meets on the ways up from its labels, once."""
    pairs = [np.zeros(0, np.int64)]
    while len(nodes):
        pairs.append(documents * len(tree) + nodes)
        above = tree.lineage.parent[nodes]
        documents, nodes = documents[above >= 0], above[above >= 0]
    found: Ints = np.unique(np.concatenate(pairs)) % max(1, len(tree))
    return found


def ranked_by_log(store: Store, ids: Sequence[str]) -> dict[str, Ranked]:
    """Category → where the ranker had put it when it was judged."""
    rows = store.run(RANKED.format(", ".join("?" * len(ids))), tuple(ids))
    return {id_: Ranked(*map(int, counts)) for id_, *counts in rows}


def title_of(store: Store, document: str) -> str:
    """The title of a document, or its id."""
    return store.document(document).fields.get("title", "").strip() or document


def _twigs(desk: Desk, ids: Sequence[str]) -> list[Twig]:
    known, tree = desk.categories, desk.tree
    here, below = desk.state.counts, branch_counts(desk)
    ranked = ranked_by_log(desk.project.store, ids) if ids else {}
    return [
        Twig(
            known[id_],
            here[id_],
            below.get(id_, 0),
            len(tree.below(tree.number(id_))),
            ranked.get(id_, Ranked()),
        )
        for id_ in ids
        if id_ in known
    ]


def _daughters(desk: Desk, of: str | None) -> list[str]:
    tree = desk.tree
    return tree.roots if of is None else tree.children(_known(desk, of).id)


def _known(desk: Desk, category: str) -> Category:
    found = desk.categories.get(category)
    if found is None or category not in desk.tree:
        raise Mistake(
            f"there is no category {category!r}: search the taxonomy for another name"
        )
    return found


def _named(
    known: Mapping[str, Category], ids: Iterable[str]
) -> tuple[tuple[str, str], ...]:
    return tuple((id_, known[id_].name if id_ in known else id_) for id_ in ids)


def show_taxonomy(project: Project, below: str | None = None) -> Table:
    """Each category with its level, scope note and number of documents."""
    categories = {category.id: category for category in project.store.categories()}
    tree = taxonomy_of(categories.values())
    count: dict[str, int] = {}
    for labels in project.store.labels().values():
        for name in labels:
            count[name] = count.get(name, 0) + 1
    top: list[Any] = tree.roots if below is None else [tree.nodes[tree.number(below)]]
    rows: list[dict[str, Cell]] = []
    for root in top:
        for node in _depth_first(tree, root):
            category = categories[node]
            level = tree.depth_of(node)
            rows.append(
                {
                    "category": "  " * level + category.name,
                    "id": category.id,
                    "documents": count.get(node, 0),
                    "scope note": category.note,
                }
            )
    return Table(f"Taxonomy of {project.settings.name}", rows)


def _depth_first(tree: Any, root: Any) -> list[Any]:
    found, waiting = [], [root]
    seen = set()
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            found.append(node)
            waiting.extend(reversed(tree.children(node)))
    return found

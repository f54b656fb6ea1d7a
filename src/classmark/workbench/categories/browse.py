"""The taxonomy as people read it, opened level by level, with its documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from classmark.problems import Mistake
from classmark.taxonomy.tree import ACTIVE, Category, Taxonomy
from classmark.text import fold, fold_accents
from classmark.workbench.results import Cell, Table
from classmark.workbench.store.store import Store, title_of

if TYPE_CHECKING:
    from classmark.workbench.project import Project


_DIGITS = re.compile(r"(\d+)")
DEEPEST = 50  # levels that are opened at once
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


class SuggestionCounts(NamedTuple):
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

        >>> SuggestionCounts(10, 6, 9, 2).precision
        0.75
        """
        return self.first / self.judged_first if self.judged_first else None


@dataclass(frozen=True, slots=True)
class Twig:
    """A category in the tree.

    here, below : documents it has, and with all below it;  daughters : how many;
    open : those of them that are shown, None: it is closed;  disputed : documents on
    which people disagree about it.
    """

    category: Category
    here: int
    below: int
    daughters: int
    ranked: SuggestionCounts
    open: Level | None = None
    disputed: int = 0

    @property
    def retired(self) -> bool:
        """Whether no new document comes to it."""
        return self.category.status != ACTIVE


@dataclass(frozen=True, slots=True)
class Level:
    """Some daughters of a category, or categories at the top (of : None).

    after : how many come before them;  left : how many come after;  letters : of a
    long level by name, each first letter and the place where it begins.
    """

    of: str | None
    twigs: tuple[Twig, ...]
    after: int
    left: int
    letters: tuple[tuple[str, int], ...] = ()

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


@dataclass(frozen=True, slots=True)
class TreeOrder:
    """In which order categories of one level stand: by name, documents or disputes.

    disputed : category → documents on which people disagree about it.
    """

    by: str = "name"
    disputed: Mapping[str, int] = field(default_factory=dict)

    def sorted(self, project: Project, ids: Sequence[str]) -> list[str]:
        """Categories in this order; those alike by name."""
        names = project.once(_sorting_names)
        match self.by:
            case "name":
                return sorted(ids, key=names.__getitem__)
            case "documents":
                below = project.once(branch_counts)
                return sorted(ids, key=lambda id_: (-below.get(id_, 0), names[id_]))
            case "disputes":
                known = self.disputed
                return sorted(ids, key=lambda id_: (-known.get(id_, 0), names[id_]))
        return list(ids)


ORDERS = {"name": "name", "documents": "documents", "disputes": "disagreement"}
BY_NAME = TreeOrder()


def _sorting_names(project: Project) -> dict[str, tuple[Any, ...]]:
    """Category → what its name is compared by; numbers by what they are worth.

    An id that no category has any more stands for itself.
    """
    return {id_: sorting_key(each.name) for id_, each in project.categories.items()}


def sorting_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """A name in the order of people: small letters, and 9 before 10.

    >>> sorted(["Part 10", "part 9", "Ärzte", "Zoo"], key=sorting_key)
    ['Ärzte', 'part 9', 'Part 10', 'Zoo']
    """
    runs = _DIGITS.split(fold_accents(fold(name)))
    return tuple((0, int(run), "") if run.isdecimal() else (1, 0, run) for run in runs)


def level_of(
    project: Project,
    of: str | None = None,
    after: int = 0,
    order: TreeOrder = BY_NAME,
) -> Level:
    """The next daughters of a category, or categories at the top."""
    ids = order.sorted(project, _daughters(project, of))
    shown = ids[after : after + AT_ONCE]
    twigs = _twigs(project, shown, order)
    letters = _letters(project, ids) if order.by == "name" else ()
    left = max(0, len(ids) - after - len(shown))
    return Level(of, tuple(twigs), after, left, letters)


def _letters(project: Project, ids: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Of a long level, each first letter and the place where it begins."""
    if len(ids) <= AT_ONCE:
        return ()
    first: dict[str, int] = {}
    for place, id_ in enumerate(ids):
        letter = fold_accents(project.categories[id_].name[:1]).upper()
        first.setdefault(letter if letter.isalpha() else "#", place)
    return tuple(first.items())


def tree_to(
    project: Project, category: str | None = None, order: TreeOrder = BY_NAME
) -> Level:
    """The top of the tree, opened down to a category; of a deep one, the last levels.

    A page nests the levels: beyond some hundred it could be neither made nor read.
    """
    path: Sequence[str] = []
    if category is not None:
        path = project.tree.path(_category(project, category).id)
    first = max(0, len(path) - DEEPEST)
    above = path[first - 1] if first else None
    return _opened(project, above, path[first:], order)


def _opened(
    project: Project, of: str | None, path: Sequence[str], order: TreeOrder
) -> Level:
    """A level with the first of the path opened."""
    if not path:
        return level_of(project, of, order=order)
    first, *rest = path
    place = order.sorted(project, _daughters(project, of)).index(first)
    level = level_of(project, of, place - place % AT_ONCE, order)
    twigs = [
        replace(twig, open=_opened(project, first, rest, order))
        if twig.category.id == first and twig.daughters
        else twig
        for twig in level.twigs
    ]
    return replace(level, twigs=tuple(twigs))


def node_of(project: Project, id_: str) -> Node:
    """All about one category."""
    parents = _category(project, id_).parents
    newest = project.state.documents.get(id_, [])[: -TICKED - 1 : -1]
    return Node(
        _twigs(project, [id_])[0],
        _with_names(project, project.tree.path(id_)),
        _with_names(project, parents[1:]),
        tuple((id_, title_of(project.store.document(id_))) for id_ in newest),
    )


def overview(project: Project) -> Overview:
    """The taxonomy in figures."""
    categories, counts = project.categories, project.state.counts
    return Overview(
        len(categories),
        len(project.tree.leaf_numbers),
        project.tree.depth + 1 if categories else 0,
        sum(category.status != ACTIVE for category in categories.values()),
        sum(not counts[id_] for id_ in categories),
        sum(bool(category.guideline) for category in categories.values()),
    )


def branch_counts(project: Project) -> dict[str, int]:
    """Category → how many documents it has with all below it, each counted once.

    Walks up from all labels at once; documents of several labels are pairs until then.
    """
    tree, labels = project.tree, list(project.state.labels.values())
    number = {name: node for node, name in enumerate(tree.nodes)}
    nodes = np.array([number.get(n, -1) for names in labels for n in names], np.int64)
    sizes = np.array([len(names) for names in labels], np.int64)
    documents = np.repeat(np.arange(len(sizes)), sizes)
    counts = np.zeros(len(tree), np.int64)
    pairs = [counts[:0]]
    while len(nodes):
        documents, nodes = documents[nodes >= 0], nodes[nodes >= 0]
        several = sizes[documents] > 1
        counts += np.bincount(nodes[~several], minlength=len(tree))
        pairs.append((documents * len(tree) + nodes)[several])
        nodes = tree.lineage.parent[nodes]
    reached = np.unique(np.concatenate(pairs)) % max(1, len(tree))
    counts += np.bincount(reached, minlength=len(tree))
    return {tree.nodes[node]: int(counts[node]) for node in np.flatnonzero(counts)}


def ranked_by_log(store: Store, ids: Sequence[str]) -> dict[str, SuggestionCounts]:
    """Category → where the ranker had put it when it was judged."""
    rows = store.run(RANKED.format(", ".join("?" * len(ids))), tuple(ids))
    return {id_: SuggestionCounts(*map(int, counts)) for id_, *counts in rows}


def _twigs(
    project: Project, ids: Sequence[str], order: TreeOrder = BY_NAME
) -> list[Twig]:
    categories, tree = project.categories, project.tree
    here, below = project.state.counts, project.once(branch_counts)
    ranked = ranked_by_log(project.store, ids) if ids else {}
    return [
        Twig(
            categories[id_],
            here[id_],
            below.get(id_, 0),
            len(tree.children(id_)),
            ranked.get(id_, SuggestionCounts()),
            disputed=order.disputed.get(id_, 0),
        )
        for id_ in ids
        if id_ in categories
    ]


def _daughters(project: Project, of: str | None) -> list[str]:
    tree = project.tree
    return tree.roots if of is None else tree.children(_category(project, of).id)


def _category(project: Project, id_: str) -> Category:
    if id_ not in project.categories or id_ not in project.tree:
        raise Mistake(
            f"there is no category {id_!r}: search the taxonomy for another name"
        )
    return project.categories[id_]


def _with_names(project: Project, ids: Iterable[str]) -> tuple[tuple[str, str], ...]:
    categories = project.categories
    return tuple(
        (id_, categories[id_].name if id_ in categories else id_) for id_ in ids
    )


def show_taxonomy(project: Project, below: str | None = None) -> Table:
    """Each category with its level, scope note and number of documents."""
    tree, categories = project.tree, project.categories
    counts = project.state.counts
    top = tree.roots if below is None else [tree.nodes[tree.number(below)]]
    rows: list[dict[str, Cell]] = [
        {
            "category": "  " * tree.depth_of(node) + categories[node].name,
            "id": node,
            "documents": counts[node],
            "scope note": categories[node].note,
        }
        for root in top
        for node in _depth_first(tree, root)
    ]
    return Table(f"Taxonomy of {project.settings.name}", rows)


def _depth_first(tree: Taxonomy, root: str) -> list[str]:
    order, waiting = dict[str, None](), [root]
    while waiting:
        node = waiting.pop()
        if node not in order:
            order[node] = None
            waiting.extend(reversed(tree.children(node)))
    return list(order)

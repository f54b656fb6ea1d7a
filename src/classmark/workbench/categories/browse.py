"""The taxonomy as people read it, opened level by level, with its documents."""

from __future__ import annotations

import re
from bisect import bisect_right, insort
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from classmark.arrays import distinct
from classmark.language import N_
from classmark.problems import refusal
from classmark.taxonomy.category import ACTIVE, Category
from classmark.taxonomy.tree import Taxonomy
from classmark.text import fold, fold_accents
from classmark.workbench.results import Cell, Table
from classmark.workbench.store.store import Store, title_of

if TYPE_CHECKING:
    from classmark.workbench.project import Project


_DIGITS = re.compile(r"(\d+)")
DEEPEST = 50  # levels that are opened at once
AT_ONCE = 200  # daughters of a category that are shown at once
AFRESH = 2000  # changed categories, above which all levels are sorted again
Key = tuple[tuple[int, int, str], ...]  # of a name, by which categories are sorted
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

    def sorted(self, project: Project, ids: Sequence[str]) -> Sequence[str]:
        """Categories in this order, that are by name now and stay so where alike."""
        match self.by:
            case "documents":
                below = branch_counts(project)
                return sorted(ids, key=lambda id_: -below.get(id_, 0))
            case "disputes":
                known = self.disputed
                return sorted(ids, key=lambda id_: -known.get(id_, 0))
        return ids


ORDERS = {
    "name": N_("name"),
    "documents": N_("documents"),
    "disputes": N_("disagreement"),
}
BY_NAME = TreeOrder()


class NameLevel(NamedTuple):
    """The daughters of a category by name.

    letters : each first letter, # for a sign, and the place where it begins.
    """

    ids: list[str]
    letters: tuple[tuple[str, int], ...]


class NameOrder:
    """The categories as they are now, and their levels in the order of names.

    before : the order before some of them changed, from which those are taken up.
    """

    def __init__(
        self, now: Mapping[str, Category], before: NameOrder | None = None
    ) -> None:
        self.now = now
        self._keys: dict[str, tuple[Key, str]] = {}
        self._levels: dict[str | None, NameLevel] = {}
        old: Mapping[str, Category] = {}
        if before is not None:
            old, self._keys = before.now, dict(before._keys)  # noqa: SLF001 (its own kind)
        changed = changes_of(old, now)
        for category in changed.values():
            self._keys[category.id] = sorting_key(category.name), category.id
        if before is not None and len(changed) <= AFRESH:
            gone = old.keys() - now.keys()
            self._follow(before, {*changed, *gone})

    def _follow(self, before: NameOrder, changed: Collection[str]) -> None:
        """Take up the levels before, with the changed categories where they are now."""
        left, joined = _by_parent(before.now, changed), _by_parent(self.now, changed)
        for of, level in list(before._levels.items()):
            if of is not None and of not in self.now:
                continue
            self._levels[of] = level
            if of in left or of in joined:
                ids = [id_ for id_ in level.ids if id_ not in changed]
                for id_ in joined.get(of, ()):
                    insort(ids, id_, key=self._keys.__getitem__)
                self._levels[of] = self._level(ids)

    def _level(self, ids: list[str]) -> NameLevel:
        first, place = dict[str, int](), 0
        while len(ids) > AT_ONCE and place < len(ids):
            id_ = ids[place]
            first.setdefault(_letter(self.now[id_].name[:1]), place)
            place = bisect_right(ids, self._begins(id_), place, key=self._begins)
        return NameLevel(ids, tuple(first.items()))

    def _begins(self, id_: str) -> str:
        """The first sign by which a category is sorted; "" for a digit."""
        return self._keys[id_][0][0][2][:1]

    def level(self, of: str | None, daughters: Callable[[], list[str]]) -> NameLevel:
        """The daughters of a category by name; sorted once.

        daughters : what lists them in any order.
        """
        level = self._levels.get(of)
        if level is None:
            ids = sorted(daughters(), key=self._keys.__getitem__)
            level = self._levels[of] = self._level(ids)
        return level


def _by_parent(
    categories: Mapping[str, Category], ids: Iterable[str]
) -> dict[str | None, list[str]]:
    """Those of these ids that are among the categories, by parents; None: the top."""
    below: dict[str | None, list[str]] = {}
    for id_ in ids:
        if id_ in categories:
            for parent in dict.fromkeys(categories[id_].parents or (None,)):
                below.setdefault(parent, []).append(id_)
    return below


def changes_of(
    before: Mapping[str, Category], now: Mapping[str, Category]
) -> dict[str, Category]:
    """The categories that are new, or others than before."""
    get = before.get
    new = [c for id_, c in now.items() if get(id_) is not c]
    return {c.id: c for c in new if get(c.id) != c}


def name_order(project: Project) -> NameOrder:
    """The order by names, that follows when categories have changed."""
    derived, now = project.state.derived, project.categories
    order: NameOrder | None = derived.get(NameOrder)
    if order is None or order.now is not now:
        order = derived[NameOrder] = NameOrder(now, order)
    return order


def _letter(name: str) -> str:
    letter = fold_accents(name[:1]).upper()
    return letter if letter.isalpha() else "#"


def warm_tree(project: Project) -> None:
    """Have ready what the tree's first page needs."""
    level_of(project)


def sorting_key(name: str) -> Key:
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
    level = _by_name(project, of)
    ids = order.sorted(project, level.ids)
    shown = ids[after : after + AT_ONCE]
    twigs = _twigs(project, shown, order)
    letters = level.letters if order.by == "name" else ()
    left = max(0, len(ids) - after - len(shown))
    return Level(of, tuple(twigs), after, left, letters)


def _by_name(project: Project, of: str | None) -> NameLevel:
    """The daughters of a category by name."""
    return name_order(project).level(of, lambda: _daughters(project, of))


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
    place = order.sorted(project, _by_name(project, of).ids).index(first)
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
    """The taxonomy in figures; counted again when labels or categories have changed."""
    categories, state = project.categories, project.state
    known: _Counted | None = state.derived.get(_Counted)
    if (
        known is None
        or known.categories is not categories
        or known.labelled != state.labelled
    ):
        whole = Overview(
            len(categories),
            len(project.tree.leaf_numbers),
            project.tree.depth + 1 if categories else 0,
            sum(category.status != ACTIVE for category in categories.values()),
            len(categories) - len(categories.keys() & state.counts.keys()),
            sum(bool(category.guideline) for category in categories.values()),
        )
        known = _Counted(categories, state.labelled, whole)
        state.derived[_Counted] = known
    return known.whole


class _Counted(NamedTuple):
    """An overview, of which categories and after which act."""

    categories: Mapping[str, Category]
    labelled: int
    whole: Overview


class BranchCounts(NamedTuple):
    """What ``branch_counts`` computed, of which tree and after which act."""

    tree: Taxonomy
    labelled: int
    counts: dict[str, int]


def branch_counts(project: Project) -> dict[str, int]:
    """Category → how many documents it has with all below it, each counted once.

    Computed again when labels or the tree have changed.
    """
    state, tree = project.state, project.tree
    known: BranchCounts | None = state.derived.get(BranchCounts)
    if known is None or known.tree is not tree or known.labelled != state.labelled:
        at, counts = state.labelled, _counted(tree, list(state.labels.values()))
        known = state.derived[BranchCounts] = BranchCounts(tree, at, counts)
    return known.counts


def _counted(tree: Taxonomy, labels: Sequence[Sequence[str]]) -> dict[str, int]:
    """The same, of these labels of each document.

    Walks up from all labels at once; documents of several labels are pairs until then.
    """
    number = tree.number_of
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
    reached = distinct(np.concatenate(pairs)) % max(1, len(tree))
    counts += np.bincount(reached, minlength=len(tree))
    names = tree.nodes
    return {names[at]: int(counts[at]) for at in np.flatnonzero(counts).tolist()}


def ranked_by_log(store: Store, ids: Sequence[str]) -> dict[str, SuggestionCounts]:
    """Category → where the ranker had put it when it was judged."""
    rows = store.run(RANKED.format(", ".join("?" * len(ids))), tuple(ids))
    return {id_: SuggestionCounts(*map(int, counts)) for id_, *counts in rows}


def _twigs(
    project: Project, ids: Sequence[str], order: TreeOrder = BY_NAME
) -> list[Twig]:
    categories, tree = project.categories, project.tree
    here, below = project.state.counts, branch_counts(project)
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
        raise refusal(
            "there is no category %(id)r: search the taxonomy for another name",
            id=id_,
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

"""Category: what a taxonomy file says about one node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from classmark.problems import Mistake
from classmark.taxonomy.tree import Taxonomy

ACTIVE, DEPRECATED = "active", "deprecated"


@dataclass(frozen=True, slots=True)
class Category:
    """One category: its names, what belongs there, and the categories above it.

    id : what judgments call it;  label : what people call it;  note : its scope;
    synonyms : other names;  parents : ids of broader categories, the main one first;
    notation : its class mark;  status : ``active`` or ``deprecated``;  guideline : how
    experts decide whether a document belongs there.

    >>> Category("q.bee", label="Bees", parents=("q",)).name
    'Bees'
    """

    id: str
    label: str = ""
    note: str = ""
    synonyms: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    notation: str = ""
    status: str = ACTIVE
    guideline: str = ""

    @property
    def name(self) -> str:
        """The label, or the id where there is none."""
        return self.label or self.id


def taxonomy_of(categories: Iterable[Category]) -> Taxonomy:
    """Build the tree of the categories, its nodes their ids in the order given.

    Raises a ``Mistake`` for an id met twice or a parent that is not among them.

    >>> taxonomy_of([Category("q"), Category("q.bee", parents=("q",))]).leaves
    ['q.bee']
    """
    listed = list(categories)
    ids: set[str] = set()
    for category in listed:
        if category.id in ids:
            raise Mistake(f"category {category.id!r} is there twice: keep one of them")
        ids.add(category.id)
    for category in listed:
        for parent in category.parents:
            if parent not in ids:
                raise Mistake(
                    f"category {category.id!r} names the parent {parent!r}, which is "
                    "not among the categories: add it or leave the parent empty"
                )
    edges = [(parent, c.id) for c in listed for parent in c.parents]
    return Taxonomy(edges, nodes=[category.id for category in listed])


def categories_of(taxonomy: Taxonomy) -> list[Category]:
    """Turn the nodes of a taxonomy into bare categories, their ids as text."""
    return [
        Category(str(node), parents=tuple(map(str, taxonomy.parents(node))))
        for node in taxonomy
    ]


def path_names(
    known: Mapping[str, Category], tree: Taxonomy, category: str
) -> tuple[str, ...]:
    """The labels from the root to the category; its id where it is unknown."""
    if category not in known:
        return (category,)
    return tuple(known[node].name for node in tree.path(category))

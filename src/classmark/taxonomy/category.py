"""A category, what a taxonomy file says about one node; and the tree of many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

import numpy as np

from classmark.problems import refusal
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

    @property
    def names(self) -> list[str]:
        """Label and synonyms, each once, without the notation that may follow them.

        >>> Category("c", "Bees", synonyms=("Hives (59)", "Bees"), notation="59").names
        ['Bees', 'Hives']
        """
        own = (self.label, *self.synonyms)
        names = (name.removesuffix(f"({self.notation})").strip() for name in own)
        return list(dict.fromkeys(filter(None, names)))


def taxonomy_of(categories: Iterable[Category]) -> Taxonomy:
    """Build the tree of the categories, its nodes their ids in the order given.

    Raises a ``Mistake`` for an id met twice or a parent that is not among them.

    >>> taxonomy_of([Category("q"), Category("q.bee", parents=("q",))]).leaves
    ['q.bee']
    """
    listed, number = list(categories), dict[str, int]()
    for at, category in enumerate(listed):
        if category.id in number:
            raise refusal(
                "category %(id)r is there twice: keep one of them", id=category.id
            )
        number[category.id] = at
    numbers = cache(lambda parents: [number[each] for each in dict.fromkeys(parents)])
    try:
        above = [numbers(tuple(category.parents)) for category in listed]
    except KeyError as problem:
        (parent,) = problem.args
        child = next(c for c in listed if parent in c.parents)
        raise refusal(
            "category %(id)r names the parent %(parent)r, which is not among the "
            "categories: add it or leave the parent empty",
            id=child.id,
            parent=parent,
        ) from None
    return taxonomy_above(number, above)


def taxonomy_above(
    nodes: Iterable[Any] | dict[Any, int], above: list[list[int]]
) -> Taxonomy:
    """A taxonomy of different nodes by the numbers of those above each, the main first.

    >>> taxonomy_above("abc", [[], [0], [1, 0]]).parents("c")
    ['b', 'a']
    """
    upper = np.fromiter(chain.from_iterable(above), np.int64)
    many = np.fromiter(map(len, above), np.int64)
    return Taxonomy.of_numbers(nodes, upper, np.repeat(np.arange(len(many)), many))


def taxonomy_following(before: Taxonomy, changed: Iterable[Category]) -> Taxonomy:
    """The tree of ``taxonomy_of`` after some of its categories changed.

    before : the tree until then;  changed : those with other parents now, and new ones,
    which come after all others. All parents are among them or in the tree.

    >>> tree = taxonomy_of([Category("q"), Category("q.bee", parents=("q",))])
    >>> taxonomy_following(tree, [Category("q.bee"), Category("r")]).roots
    ['q', 'q.bee', 'r']
    """
    number, listed = dict(before.number_of), list(changed)
    moved = [number.setdefault(category.id, len(number)) for category in listed]
    upper, lower = before.edge_numbers
    stays = ~np.isin(lower, moved)
    new = dict.fromkeys(
        (number[parent], at)
        for at, category in zip(moved, listed, strict=True)
        for parent in category.parents
    )
    pairs = np.array(list(new), np.int64).reshape(-1, 2)
    upper, lower = np.r_[upper[stays], pairs[:, 0]], np.r_[lower[stays], pairs[:, 1]]
    order = np.argsort(lower, kind="stable")
    return Taxonomy.of_numbers(number, upper[order], lower[order])


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

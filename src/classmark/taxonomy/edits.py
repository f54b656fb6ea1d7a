"""What would the tree look like if…? Every edit returns a new Taxonomy."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from classmark.problems import Mistake
from classmark.taxonomy.category import Category
from classmark.taxonomy.tree import Taxonomy

Edge = tuple[Any, Any]  # parent, child


def prune(taxonomy: Taxonomy, inner: Iterable[Hashable]) -> Taxonomy:
    """Remove inner categories; their daughters are lifted to the parents.

    The leaves stay, in their order. The daughters of a removed root become roots.
    [Babbar13]

    >>> tree = Taxonomy([("r", "a"), ("a", 1), ("a", 2)])
    >>> prune(tree, ["a"]).edges
    [('r', 1), ('r', 2)]
    """
    gone = set(inner)
    for node in gone:
        if taxonomy.is_leaf(node):
            raise Mistake(f"{node!r} is a leaf: use remove, prune takes inner nodes")
    nodes = [node for node in taxonomy if node not in gone]
    edges = [(up, node) for node in nodes for up in _lifted(taxonomy, node, gone)]
    return Taxonomy(edges, nodes=nodes)


def move(taxonomy: Taxonomy, node: Hashable, under: Hashable | None) -> Taxonomy:
    """Put a category, with all below it, under another one, or at the top (None).

    >>> move(Taxonomy([("r", "a"), ("r", "b")]), "b", "a").path("b")
    ['r', 'a', 'b']
    """
    number = taxonomy.number(node)
    upper, lower = taxonomy.edge_numbers
    stays = lower != number
    upper, lower = upper[stays], lower[stays]
    if under is not None:
        upper = np.append(upper, taxonomy.number(under))
        lower = np.append(lower, number)
    return Taxonomy.of_numbers(taxonomy, upper, lower)


def add(taxonomy: Taxonomy, node: Hashable, under: Hashable | None = None) -> Taxonomy:
    """Add a new category under another one, or at the top (None).

    >>> add(Taxonomy([("r", "a")]), "b", under="a").leaves
    ['b']
    """
    if node in taxonomy:
        raise Mistake(f"{node!r} is already a category: use move, or another name")
    upper, lower = taxonomy.edge_numbers
    if under is not None:
        upper = np.append(upper, taxonomy.number(under))
        lower = np.append(lower, len(taxonomy))
    return Taxonomy.of_numbers([*taxonomy, node], upper, lower)


def remove(taxonomy: Taxonomy, node: Hashable, *, whole: bool = False) -> Taxonomy:
    """Remove a leaf or, with ``whole``, a category and all that hangs on it alone.

    >>> remove(Taxonomy([("r", "a"), ("a", 1), ("r", 2)]), "a", whole=True).leaves
    [2]
    """
    if not taxonomy.is_leaf(node) and not whole:
        raise Mistake(
            f"{node!r} has categories below it: give whole=True to remove them too, or "
            "use prune to lift them"
        )
    edges = [edge for edge in taxonomy.edges if node not in edge]
    left = Taxonomy(edges, nodes=taxonomy.nodes)
    roots = [root for root in taxonomy.roots if root != node]
    reached = {*roots, *(below for root in roots for below in left.descendants(root))}
    inside = [(u, v) for u, v in edges if u in reached and v in reached]
    return Taxonomy(inside, nodes=[each for each in taxonomy if each in reached])


def rename(taxonomy: Taxonomy, old: Hashable, new: Hashable) -> Taxonomy:
    """Call a category by another name; its place and its number stay.

    >>> rename(Taxonomy([("r", "a")]), "a", "b").leaves
    ['b']
    """
    taxonomy.number(old)
    if new in taxonomy and new != old:
        raise Mistake(f"{new!r} is already a category: use merge to join the two")
    names = [new if node == old else node for node in taxonomy]
    return Taxonomy.of_numbers(names, *taxonomy.edge_numbers)


def merge(taxonomy: Taxonomy, node: Hashable, into: Hashable) -> Taxonomy:
    """Let ``into`` take the place of ``node`` too: its daughters go there.

    >>> merge(Taxonomy([("r", "a"), ("r", "b"), ("b", 1)]), "b", "a").path(1)
    ['r', 'a', 1]
    """
    if node == into:
        raise Mistake(f"{node!r} cannot be merged into itself")
    taxonomy.number(node)
    if node in taxonomy.ancestors(into):
        raise Mistake(
            f"{into!r} is below {node!r}: merge the lower one into the upper one"
        )
    edges = [(into if u == node else u, v) for u, v in taxonomy.edges if v != node]
    return Taxonomy(edges, nodes=[other for other in taxonomy if other != node])


def _lifted(taxonomy: Taxonomy, node: Any, gone: set[Hashable]) -> list[Any]:
    """The nearest parents that stay, over any number of removed ones, in order."""
    parents: dict[Any, None] = {}
    waiting = taxonomy.parents(node)[::-1]
    while waiting:
        parent = waiting.pop()
        if parent in gone:
            waiting.extend(taxonomy.parents(parent)[::-1])
        else:
            parents[parent] = None
    return list(parents)


def break_cycles(
    edges: Iterable[tuple[Hashable, Hashable]], *, nodes: Iterable[Hashable] = ()
) -> tuple[list[Edge], list[Edge]]:
    """Part (parent, child) pairs into those that stay and those that close a cycle.

    Depth first from the nodes without parents, and then from those that no such node
    leads to; nodes (``nodes`` first) and daughters in the order of first appearance. An
    edge goes that leads back to a node on the way to it. O(nodes + edges). Both in the
    order given.

    >>> break_cycles([("r", "a"), ("a", "b"), ("b", "a"), ("b", "b"), ("r", "b")])
    ([('r', 'a'), ('a', 'b'), ('r', 'b')], [('b', 'a'), ('b', 'b')])
    """
    pairs = list(dict.fromkeys(edges))
    below, roots = _numbered_graph(pairs, nodes)
    leads_back = bytearray(len(pairs))
    new, open_, done = 0, 1, 2
    state = bytearray(len(below))
    for start in (*roots, *range(len(below))):
        way = [] if state[start] else [(start, iter(below[start]))]
        state[start] = state[start] or open_
        while way:
            node, daughters = way[-1]
            for child, at in daughters:
                if state[child] == new:
                    state[child] = open_
                    way.append((child, iter(below[child])))
                    break
                leads_back[at] = state[child] == open_
            else:
                state[node] = done
                way.pop()
    stay = [pair for pair, back in zip(pairs, leads_back, strict=True) if not back]
    return stay, [pair for pair, back in zip(pairs, leads_back, strict=True) if back]


def _numbered_graph(
    pairs: list[Edge], nodes: Iterable[Hashable]
) -> tuple[list[list[tuple[int, int]]], list[int]]:
    """(daughter, edge) below each node, by numbers, and the nodes without parents."""
    number = {node: at for at, node in enumerate(dict.fromkeys(nodes))}
    below: list[list[tuple[int, int]]] = [[] for _ in number]
    for at, pair in enumerate(pairs):
        for node in pair:
            if node not in number:
                number[node] = len(below)
                below.append([])
        below[number[pair[0]]].append((number[pair[1]], at))
    is_root = bytearray(b"\1") * len(below)
    for _, child in pairs:
        is_root[number[child]] = 0
    return below, [v for v in range(len(below)) if is_root[v]]


def without_cycles(
    categories: Iterable[Category],
) -> tuple[list[Category], list[Edge]]:
    """Categories without the parents that close a cycle; and these (parent, child).

    >>> loop = [Category("a", parents=("b",)), Category("b", parents=("a",))]
    >>> without_cycles(loop)[1]
    [('b', 'a')]
    """
    every = list(categories)
    edges = [(parent, each.id) for each in every for parent in each.parents]
    _, cut = break_cycles(edges, nodes=[each.id for each in every])
    gone: dict[str, set[str]] = {}
    for parent, child in cut:
        gone.setdefault(child, set()).add(parent)
    mended = [
        replace(c, parents=tuple(p for p in c.parents if p not in gone[c.id]))
        if c.id in gone
        else c
        for c in every
    ]
    return mended, cut

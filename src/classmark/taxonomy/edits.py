"""What would the tree look like if…? Every edit returns a new Taxonomy."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any

from classmark.problems import Mistake
from classmark.taxonomy.tree import Category, Taxonomy

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
    taxonomy.number(node)
    edges = [edge for edge in taxonomy.edges if edge[1] != node]
    if under is not None:
        taxonomy.number(under)
        edges.append((under, node))
    return Taxonomy(edges, nodes=taxonomy.nodes)


def add(taxonomy: Taxonomy, node: Hashable, under: Hashable | None = None) -> Taxonomy:
    """Add a new category under another one, or at the top (None).

    >>> add(Taxonomy([("r", "a")]), "b", under="a").leaves
    ['b']
    """
    if node in taxonomy:
        raise Mistake(f"{node!r} is already a category: use move, or another name")
    edges = taxonomy.edges
    if under is not None:
        taxonomy.number(under)
        edges.append((under, node))
    return Taxonomy(edges, nodes=[*taxonomy.nodes, node])


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
    name = {node: new if node == old else node for node in taxonomy}
    edges = [(name[u], name[v]) for u, v in taxonomy.edges]
    return Taxonomy(edges, nodes=list(name.values()))


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
    edge goes that leads back to a node on the way to it. O(nodes + edges).

    >>> break_cycles([("r", "a"), ("a", "b"), ("b", "a"), ("b", "b"), ("r", "b")])
    ([('r', 'a'), ('a', 'b'), ('r', 'b')], [('b', 'a'), ('b', 'b')])
    """
    below: dict[Any, list[Any]] = {node: [] for node in nodes}
    pairs = list(dict.fromkeys(edges))
    for parent, child in pairs:
        below.setdefault(parent, []).append(child)
        below.setdefault(child, [])
    has_parent = {child for _, child in pairs}
    roots = [node for node in below if node not in has_parent]
    cut: dict[Edge, None] = {}
    is_done: dict[Any, bool] = {}  # False on the way to the node at hand
    for start in (*roots, *below):
        if start in is_done:
            continue
        is_done[start] = False
        way = [(start, iter(below[start]))]
        while way:
            node, daughters = way[-1]
            for child in daughters:
                if child not in is_done:
                    is_done[child] = False
                    way.append((child, iter(below[child])))
                    break
                if not is_done[child]:
                    cut[node, child] = None
            else:
                is_done[node] = True
                way.pop()
    return [pair for pair in pairs if pair not in cut], list(cut)


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

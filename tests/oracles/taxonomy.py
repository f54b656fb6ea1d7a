"""Trees, slowly: every answer by walking dictionaries."""

from itertools import chain, count


def first_parents(edges, nodes=()):
    parent = dict.fromkeys(nodes)
    for upper, lower in edges:
        parent.setdefault(upper, None)
        if parent.get(lower) is None:
            parent[lower] = upper
    return parent


def path(parent, node):
    way = [node]
    while parent[way[-1]] is not None:
        way.append(parent[way[-1]])
    return way[::-1]


def distance(parent, u, v):
    """Steps up from u to a node above v, and down again; one more root above all."""
    up, down = [*path(parent, u)[::-1], None], [*path(parent, v)[::-1], None]
    return next(i + down.index(node) for i, node in zip(count(), up) if node in down)


def layers(parent, correct, number=3):
    leaves = [node for node in parent if node not in parent.values()]
    near = {leaf: min(distance(parent, leaf, c) for c in correct) for leaf in leaves}
    steps = [0, 2, *sorted({d for d in near.values() if d > 2})]
    found = [[leaf for leaf in leaves if near[leaf] == step] for step in steps]
    found = [*found[: number - 1], list(chain.from_iterable(found[number - 1 :]))]
    while not found[-1]:
        found.pop()
    return found

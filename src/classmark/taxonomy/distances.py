"""How far apart are two categories?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.problems import Mistake

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from classmark.taxonomy.lineage import Lineage

FAR = np.iinfo(np.int64).max // 4


def path_distances(lineage: Lineage, us: ArrayLike, vs: ArrayLike) -> Ints:
    """Count the edges between each pair of nodes: d(u) + d(v) − 2 d(lca(u, v)).

    Nodes under different roots meet in the virtual root, one step above every root.

    >>> from classmark.taxonomy.lineage import Lineage
    >>> path_distances(Lineage(np.array([-1, 0, 0, 1])), [3, 3], [2, 3]).tolist()
    [3, 0]
    """
    common = lineage.common(us, vs)
    depth = lineage.depths
    top = np.where(common >= 0, depth[common], -1)
    distance: Ints = depth[np.asarray(us)] + depth[np.asarray(vs)] - 2 * top
    return distance


def weighted_distances(
    lineage: Lineage, lengths: ArrayLike, us: ArrayLike, vs: ArrayLike
) -> Floats:
    """Sum the lengths of the edges between each pair of nodes.

    lengths : shape (n,), the length of the edge above each node; above a root it is the
    edge to the virtual root.

    >>> from classmark.taxonomy.lineage import Lineage
    >>> line = Lineage(np.array([-1, 0, 0, 1]))
    >>> weighted_distances(line, [0, 1, 0.5, 0.25], 3, 2).tolist()
    1.75
    """
    length = np.asarray(lengths, np.float64)
    if length.shape != (len(lineage),) or not (length >= 0).all():
        raise Mistake(
            f"lengths: give one length ≥ 0 for each of the {len(lineage)} nodes"
        )
    below = length.copy()
    for level in lineage.levels[1:]:
        below[level] += below[lineage.parent[level]]
    common = lineage.common(us, vs)
    top = np.where(common >= 0, below[common], 0.0)
    distance: Floats = below[np.asarray(us)] + below[np.asarray(vs)] - 2 * top
    return distance


def nearest_distances(lineage: Lineage, sources: ArrayLike) -> Ints:
    """Count the edges from every node to the nearest of the sources, shape (n,).

    Two sweeps over the levels, up and then down, so O(n) whatever the sources. Without
    sources every distance is ``FAR``.

    >>> from classmark.taxonomy.lineage import Lineage
    >>> nearest_distances(Lineage(np.array([-1, 0, 0, 1])), [2]).tolist()
    [1, 2, 0, 3]
    """
    near = np.full(len(lineage), FAR, np.int64)
    near[np.asarray(sources, np.int64)] = 0
    parent, levels = lineage.parent, lineage.levels
    for level in levels[:0:-1]:
        np.minimum.at(near, parent[level], near[level] + 1)
    if levels:
        roots = levels[0]
        near[roots] = np.minimum(near[roots], near[roots].min() + 2)
    for level in levels[1:]:
        near[level] = np.minimum(near[level], near[parent[level]] + 1)
    return np.minimum(near, FAR)

"""PreferenceGraph: which labels should stand above which, for one document.

Edges are either listed, or follow from layers: every label of a layer stands above
every label of the layers below it. Layered graphs never list their edges unless asked.
A loss says which edges stand together in a group that errs or not as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.estimator import renamed
from classmark.problems import Mistake

Edge = tuple[int, int]
FEW = 16  # labels that a layered graph may leave out


@dataclass(frozen=True, eq=False, slots=True)
class PreferenceGraph:
    """A simple directed graph over labels 0 … n_labels − 1; u → v says u above v.

    Sparse, incomplete, inconsistent and cyclic graphs are all allowed; loops and both
    directions of one pair are not [DekelManningSinger03].

    thresholds : whether edges may name one more item, ``threshold`` = n_labels: u above
        it says that u's score is at least the threshold, v below it that v's is at most
        that; the learner finds it, one value for all labels or one for each.
    levels : int64 (n_labels,) for a layered graph: label u is above v when
        levels[u] > levels[v] ≥ 0; labels at −1 are compared with nothing. None for a
        graph of listed edges.
    floor : the document has the labels above this level; those at level 1 to ``floor``
        are only nearer to them than the rest.
    pairs : int64 (edges, 2) of a listed graph; weights : float64 (edges,).

    >>> graph = PreferenceGraph(3, [(0, 1), (1, 2)])
    >>> graph.edges()
    [(0, 1), (1, 2)]
    """

    n_labels: int
    thresholds: bool
    levels: Ints | None
    floor: int
    pairs: Ints
    weights: Floats

    def __init__(
        self,
        n_labels: int,
        edges: Iterable[Sequence[float]] = (),
        *,
        levels: Ints | None = None,
        floor: int = 0,
        thresholds: bool = False,
    ) -> None:
        listed = [tuple(edge) for edge in edges]
        if thresholds and levels is not None:
            raise Mistake("levels have no place for thresholds: list the edges")
        object.__setattr__(self, "n_labels", n_labels)
        object.__setattr__(self, "thresholds", thresholds)
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "floor", floor)
        object.__setattr__(self, "pairs", _pairs(n_labels + thresholds, listed))
        object.__setattr__(self, "weights", _weights(listed))

    @property
    def is_layered(self) -> bool:
        """Whether it has layers and compares all labels, or all but a few."""
        levels = self.levels
        return levels is not None and bool(np.count_nonzero(levels < 0) <= FEW)

    @classmethod
    def multilabel(cls, n_labels: int, relevant: Iterable[int]) -> Self:
        """Every relevant label above every other; with one relevant label: multiclass.

        >>> PreferenceGraph.multilabel(3, [2]).edges()
        [(2, 0), (2, 1)]
        """
        levels = np.zeros(n_labels, np.int64)
        levels[_checked(n_labels, relevant)] = 1
        return cls(n_labels, levels=levels)

    @classmethod
    def layers(cls, n_labels: int, layers: Sequence[Iterable[int]]) -> Self:
        """Every label of a layer above every label of later layers; others are free.

        >>> PreferenceGraph.layers(4, [[1], [0, 3]]).edges()
        [(1, 0), (1, 3)]
        """
        levels = np.full(n_labels, -1, np.int64)
        for place, layer in enumerate(layers):
            members = _checked(n_labels, layer)
            twice = members[levels[members] >= 0]
            if len(twice):
                raise Mistake(
                    f"layer {place}: label {twice[0]} is in an earlier layer too: "
                    "give each label one layer"
                )
            levels[members] = len(layers) - 1 - place
        return cls(n_labels, levels=levels)

    @classmethod
    def against_threshold(
        cls,
        n_labels: int,
        above: Iterable[int],
        below: Iterable[int] | None = None,
        edges: Iterable[Sequence[float]] = (),
    ) -> Self:
        """Labels above the threshold and below it (None: all others), and other edges.

        >>> PreferenceGraph.against_threshold(3, [1], edges=[(0, 2)]).edges()
        [(1, 3), (3, 0), (3, 2), (0, 2)]
        """
        over = _checked(n_labels, above).tolist()
        rest = set(range(n_labels)) - set(over) if below is None else below
        under = _checked(n_labels, rest).tolist()
        listed = [(u, n_labels) for u in over] + [(n_labels, v) for v in under]
        return cls(n_labels, [*listed, *edges], thresholds=True)

    @property
    def threshold(self) -> int:
        """The item that stands for the threshold in edges."""
        return self.n_labels

    @property
    def n_edges(self) -> int:
        """How many edges, counted without listing them."""
        if self.levels is None:
            return len(self.pairs)
        size = np.bincount(self.levels[self.levels >= 0])
        below = np.concatenate([[0], np.cumsum(size)[:-1]]) if len(size) else size
        return int(size @ below)

    def edges(self) -> list[Edge]:
        """All edges (init, term), by init, then term."""
        if self.levels is None:
            return [(int(u), int(v)) for u, v in self.pairs]
        levels = self.levels
        return [
            (int(u), int(v))
            for u in np.flatnonzero(levels > 0)
            for v in np.flatnonzero((levels >= 0) & (levels < levels[u]))
        ]

    def edge_weights(self) -> dict[Edge, float]:
        """The weight of each edge, in the order of the edges; 1 in a layered graph."""
        edges = self.edges()
        weights = self.weights.tolist() if self.levels is None else [1.0] * len(edges)
        return dict(zip(edges, weights, strict=True))


def _checked(n_labels: int, labels: Iterable[int]) -> Ints:
    indices = np.asarray(sorted(labels), dtype=np.int64)
    wrong = indices[(indices < 0) | (indices >= n_labels)]
    if len(wrong):
        raise Mistake(f"label {wrong[0]} is out of range: use 0 to {n_labels - 1}")
    return indices


def _pairs(n_labels: int, edges: Sequence[Sequence[float]]) -> Ints:
    pairs = np.array([edge[:2] for edge in edges], dtype=np.int64).reshape(-1, 2)
    bad = ((pairs < 0) | (pairs >= n_labels)).any(axis=1)
    if bad.any():
        u, v = pairs[np.argmax(bad)]
        raise Mistake(f"edge ({u}, {v}): labels go from 0 to {n_labels - 1}")
    loop = pairs[:, 0] == pairs[:, 1]
    if loop.any():
        u = pairs[np.argmax(loop), 0]
        raise Mistake(f"edge ({u}, {u}): a label cannot be above itself: remove it")
    seen: set[Edge] = set()
    for u, v in pairs.tolist():
        if (u, v) in seen:
            raise Mistake(
                f"edge ({u}, {v}) is given twice: give it once, with a weight"
            )
        if (v, u) in seen:
            raise Mistake(
                f"edges ({v}, {u}) and ({u}, {v}) contradict each other: keep one"
            )
        seen.add((u, v))
    return pairs


def _weights(edges: Sequence[Sequence[float]]) -> Floats:
    weights = np.array([edge[2] if len(edge) > 2 else 1.0 for edge in edges], float)
    if not (weights > 0).all():
        at = int(np.argmin(weights > 0))
        u, v = edges[at][:2]
        raise Mistake(f"edge ({u}, {v}): its weight is {weights[at]}: give more than 0")
    return weights


def with_threshold(graph: PreferenceGraph) -> PreferenceGraph:
    """The graph with the edges of its layers and of the threshold listed.

    Labels above the lowest level are above the threshold, those at it below. A graph
    of listed edges says by them what it has to say.

    >>> with_threshold(PreferenceGraph.multilabel(3, [1])).edges()
    [(1, 3), (3, 0), (3, 2), (1, 0), (1, 2)]
    """
    if graph.levels is None:
        return graph
    above, below = np.flatnonzero(graph.levels > 0), np.flatnonzero(graph.levels == 0)
    return PreferenceGraph.against_threshold(
        graph.n_labels, above.tolist(), below.tolist(), graph.edges()
    )


def without_threshold(graph: PreferenceGraph) -> PreferenceGraph:
    """The graph without the edges that name the threshold.

    >>> without_threshold(PreferenceGraph.against_threshold(2, [1], edges=[(1, 0)]))
    ... # doctest: +ELLIPSIS
    PreferenceGraph(n_labels=2, thresholds=False, ...)
    """
    if not graph.thresholds:
        return graph
    edges = [
        (*edge, weight)
        for edge, weight in graph.edge_weights().items()
        if graph.threshold not in edge
    ]
    return PreferenceGraph(graph.n_labels, edges)


def amended(graph: PreferenceGraph, edges: Mapping[Edge, float]) -> PreferenceGraph:
    """The graph with weighted edges added, each in place of the one it contradicts.

    Edges may name the threshold, whether the graph does or not.

    >>> graph = PreferenceGraph.multilabel(3, [1])
    >>> amended(graph, {(0, 1): 2.0}).edges()
    [(0, 1), (1, 2)]
    """
    if not edges:
        return graph
    weight = graph.edge_weights()
    for (winner, loser), value in edges.items():
        weight.pop((loser, winner), None)
        weight[winner, loser] = value
    listed = [(*edge, weight[edge]) for edge in sorted(weight)]
    named = graph.thresholds or any(graph.threshold in edge for edge in edges)
    return PreferenceGraph(graph.n_labels, listed, thresholds=named)


Groups = list[list[Edge]]
#: The name of a loss, or a function from a graph to groups of its edges.
Loss = str | Callable[[PreferenceGraph], Iterable[Iterable[Edge]]]


def _by_end(graph: PreferenceGraph, end: int) -> Groups:
    groups: dict[int, list[Edge]] = {}
    for edge in graph.edges():
        groups.setdefault(edge[end], []).append(edge)
    return [groups[label] for label in sorted(groups)]


#: Losses by name, each as a function from a graph to the groups that err or not as one
#: [DekelManningSinger03]. A new one is a new entry (docs/extending.md).
LOSSES: dict[str, Callable[[PreferenceGraph], Iterable[Iterable[Edge]]]] = {
    "zero-one": lambda graph: [edges] if (edges := graph.edges()) else [],
    "disagreement": lambda graph: [[edge] for edge in graph.edges()],
    "domination": lambda graph: _by_end(graph, 0),
    "dominated": lambda graph: _by_end(graph, 1),
}
NAMES = tuple(LOSSES)  # those that have kernels, in their order
SHORT = {"disagreement": "dis", "domination": "dom", "dominated": "dme"}
LONG = {"dis": "disagreement", "dom": "domination", "dme": "dominated"}


def long_name(loss: Any) -> Any:
    """The name of a loss in [DekelManningSinger03]; anything else stays as it is.

    >>> long_name("dom"), long_name("domination")
    ('domination', 'domination')
    """
    return LONG.get(loss, loss) if isinstance(loss, str) else loss


def short_name(loss: Any) -> Any:
    """The name of a loss in [AiolliSebastianiSperduti08]; anything else stays.

    >>> short_name("domination"), short_name("dom-dme")
    ('dom', 'dom-dme')
    """
    return SHORT.get(loss, loss) if isinstance(loss, str) else loss


def resolve(loss: Loss) -> Loss:
    """The long name of a loss that has kernels, the function of any other.

    >>> resolve("dom")
    'domination'
    """
    name = long_name(loss)
    if callable(loss):
        return loss
    if name in NAMES:
        return str(name)
    if name not in LOSSES:
        raise Mistake(
            f"loss {loss!r} is not known: use {', '.join(LOSSES)} or a function"
        )
    return LOSSES[name]


@renamed(decomposition="loss")
def decompose(graph: PreferenceGraph, loss: Loss) -> Groups:
    """Part the edges of a graph into groups, as a loss says [DekelManningSinger03].

    "zero-one": all edges together; "disagreement" or "dis": each alone; "domination" or
    "dom": by their init, a label with all it dominates; "dominated" or "dme": by their
    term; another name of ``LOSSES``, or a function from a graph to groups of its edges.

    >>> decompose(PreferenceGraph(3, [(0, 1), (0, 2), (1, 2)]), "domination")
    [[(0, 1), (0, 2)], [(1, 2)]]
    """
    resolved = resolve(loss)
    function = resolved if callable(resolved) else LOSSES[resolved]
    groups = [[(int(u), int(v)) for u, v in group] for group in function(graph)]
    if callable(resolved):
        edges = set(graph.edges())
        for place, group in enumerate(groups):
            if foreign := [edge for edge in group if edge not in edges]:
                raise Mistake(
                    f"the loss's group {place} has the edge {foreign[0]}, which is not "
                    "in the graph: return groups of graph.edges()"
                )
    return groups


def weighted_groups(
    graph: PreferenceGraph,
    losses: Sequence[Loss],
    shares: Floats,
) -> tuple[Groups, list[float]]:
    """The groups of all losses, and the mean over each of weight · share.

    shares : (n_labels,), what an edge is worth by its winner; the threshold's is 1.

    >>> graph = PreferenceGraph(3, [(0, 1, 2.0), (0, 2), (1, 2)])
    >>> weighted_groups(graph, ["domination"], np.ones(3))
    ([[(0, 1), (0, 2)], [(1, 2)]], [1.5, 1.0])
    """
    share = [*shares.tolist(), 1.0]
    worth = {
        edge: weight * share[edge[0]] for edge, weight in graph.edge_weights().items()
    }
    groups = [group for loss in losses for group in decompose(graph, loss)]
    means = [sum(worth[e] for e in group) / max(len(group), 1) for group in groups]
    return groups, means


def decompositions(loss: Loss) -> Sequence[Loss]:
    """How a loss puts listed edges into groups."""
    if loss == "svm":
        raise Mistake(
            "loss 'svm' compares labels with thresholds, which listed edges do "
            "not: use 'dis', 'dom', 'dme' or 'dom-dme'"
        )
    return (loss,) if callable(loss) else loss.split("-")


def grouped(
    graph: PreferenceGraph, losses: Sequence[Loss], shares: Floats, thresholds: bool
) -> tuple[Groups, list[float]]:
    """The groups of a listed graph and their weights, as ``weighted_groups`` has them.

    thresholds : whether labels are compared with thresholds: those of layers, too, and
    each such edge is a group of its own, beside those of the labels.
    """
    if not thresholds:
        return weighted_groups(graph, losses, shares)
    whole = with_threshold(graph)
    groups, weights = weighted_groups(without_threshold(whole), losses, shares)
    alone, prices = weighted_groups(whole, ["disagreement"], shares)
    against = [at for at, (edge,) in enumerate(alone) if whole.threshold in edge]
    groups += [alone[at] for at in against]
    return groups, weights + [prices[at] for at in against]

"""The log-linear loss of preference graphs, layered or listed, under any decomposition.

With u above v, f their scores and the edges (u, v) in groups, a group costs
P = ln(1 + Σ exp(f_v − f_u)), its edges weigh q = exp(f_v − f_u − P), and a document
costs the mean over its s groups [DekelManningSinger03]. No edge is listed: groups are
sums over whole levels, taken in logarithms.

Level 0, where nearly all labels stand, is a table of scores, shape (n, k), with −∞ for
labels that stand elsewhere; the labels of higher levels are a list, shape (r,). What is
summed by level has shape (n, m), for levels 0 … m − 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Bools, Floats, Ints, Rows
from classmark.preferences.graph import NAMES, Loss, PreferenceGraph, decompose, resolve
from classmark.preferences.labels import (
    graphs_from,
    is_graphs,
    levels_from,
    rows_of_levels,
)
from classmark.problems import Mistake
from classmark.progress import track

Places = NDArray[np.intp]

BLOCK = 1 << 17  # scores looked at together
LOWEST = np.finfo(np.float64).min


@dataclass(frozen=True, slots=True)
class EdgePrices:
    """What some documents cost, and where their violated edges end and start.

    losses : shape (n,), (1/s_i) Σ_k price of group k;  into, out_of : shape (n, k), the
    q/s of the edges that end (start) in each label. The slope of the losses in the
    scores is into − out_of.
    """

    losses: Floats
    into: Floats
    out_of: Floats

    def part(self, rows: slice) -> EdgePrices:
        """The same numbers of some of the documents, to be written."""
        return EdgePrices(self.losses[rows], self.into[rows], self.out_of[rows])


@dataclass(frozen=True, slots=True)
class DocumentLayers:
    """Scores of n documents, by level.

    base : shape (n, k), the scores at level 0, −∞ elsewhere;  n_base : shape (n,), how
    many labels that are;  rows, labels, levels, scores : shape (r,), the labels at
    level 1 and above;  m : the number of levels.
    """

    base: Floats
    n_base: Ints
    rows: Places
    labels: Places
    levels: Places
    scores: Floats
    m: int

    def sums(self, x: Floats) -> Floats:
        """Return ln Σ_{u at l} exp(x_u) for x : shape (r,); −∞ where there is no u."""
        n = len(self.base)
        cell = self.rows * self.m + self.levels
        top = np.full(n * self.m, LOWEST)
        np.maximum.at(top, cell, x)
        total = np.bincount(cell, np.exp(x - top[cell]), n * self.m)
        return (top + np.log(total)).reshape(n, self.m)

    def at(self, table: Floats) -> Floats:
        """Look up, for each label above level 0, its level's entry of an (n, m)."""
        return np.asarray(table[self.rows, self.levels])

    def count(self, which: Bools) -> Ints:
        """How many of the labels above level 0 each document has, of those chosen."""
        return np.bincount(self.rows[which], minlength=len(self.base))

    def total(self, x: Floats) -> Floats:
        """Return Σ_u x_u over each document's labels above level 0."""
        return np.asarray(np.bincount(self.rows, x, len(self.base)), np.float64)


def price_layers(kind: int, levels: Rows, scores: Floats, first: int = 0) -> EdgePrices:
    """Price the documents from number ``first`` on, one for each row of scores.

    kind : the loss, by its place in ``preferences.graph.NAMES``;  levels :
    labels that are not at level 0, −1 for those compared with none;  scores : (n, k).

    >>> levels = Rows(np.array([0, 1]), np.array([1], np.uint32), np.array([1]), 3)
    >>> prices = price_layers(2, levels, np.zeros((1, 3)))
    >>> prices.losses.round(4).tolist(), prices.into.round(4).tolist()
    ([1.0986], [[0.3333, 0.0, 0.3333]])
    """
    n, k = scores.shape
    prices = EdgePrices(np.zeros(n), np.zeros((n, k)), np.zeros((n, k)))
    step = max(1, BLOCK // max(1, k))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for start in range(0, n if levels.nnz else 0, step):
            part = slice(start, start + step)
            layers = _layers(levels, scores[part], first + start)
            if layers.m > 1:
                _PRICED[kind](layers, prices.part(part))
    return prices


def _layers(levels: Rows, scores: Floats, first: int) -> DocumentLayers:
    """Take the documents from number ``first`` on apart, one for each row of scores."""
    n, k = scores.shape
    starts = levels.starts[first : first + n + 1]
    listed = slice(starts[0], starts[-1])
    row = np.repeat(np.arange(n), np.diff(starts))
    label, level = levels.columns[listed].astype(np.intp), levels.values[listed]
    label_scores = scores[row, label]
    base = scores.copy()
    base[row, label] = np.where(level == 0, label_scores, -np.inf)
    n_base = k - np.bincount(row[level != 0], minlength=n)
    high = level > 0
    m = int(level.max(initial=0)) + 1
    return DocumentLayers(
        base, n_base, row[high], label[high], level[high], label_scores[high], m
    )


def _below(sums: Floats) -> Floats:
    """Sum what is below each level: ln Σ_{l' < l} exp(sums_l')."""
    below = np.full_like(sums, -np.inf)
    np.logaddexp.accumulate(sums[:, :-1], axis=1, out=below[:, 1:])
    return below


def _above(sums: Floats) -> Floats:
    """Sum what is above each level: ln Σ_{l' > l} exp(sums_l')."""
    return _below(sums[:, ::-1])[:, ::-1]


def _base_sums(base: Floats, out: Floats) -> tuple[Floats, Floats]:
    """Return t = max_v f_v and ln Σ_v exp(f_v); leave exp(f_v − t) in ``out``."""
    top = base.max(axis=1)
    np.subtract(base, np.maximum(top, LOWEST)[:, np.newaxis], out=out)
    np.exp(out, out=out)
    return top, top + np.log(out.sum(axis=1))


def _price(z: Floats) -> tuple[Floats, Floats]:
    """Return ln(1 + eᶻ) and its slope eᶻ / (1 + eᶻ), without overflow."""
    small = np.abs(z)
    np.exp(np.negative(small, out=small), out=small)
    slope = np.maximum(small, z > 0)
    slope /= 1.0 + small
    cost = np.log1p(small, out=small)
    cost += np.maximum(z, 0.0)
    return cost, slope


def _zero_one(layers: DocumentLayers, prices: EdgePrices) -> None:
    """All edges are one group: z = ln Σ_u exp(below_u − f_u), P = ln(1 + eᶻ).

    The edges out of u weigh exp(below_u − f_u − P), those into v exp(f_v + above_v − P)
    with below_u = ln Σ_{v below u} exp(f_v) and above_v = ln Σ_{u above v} exp(−f_u).
    """
    f = layers.scores
    top, lowest = _base_sums(layers.base, prices.into)
    sums, opposite = layers.sums(f), layers.sums(-f)
    sums[:, 0] = lowest
    below, above = _below(sums), _above(opposite)
    cost, _ = _price(np.logaddexp.reduce(below + opposite, axis=1))
    prices.losses[:] = cost
    prices.into[:] *= np.exp(top + above[:, 0] - cost)[:, np.newaxis]
    cells = layers.rows, layers.labels
    prices.into[cells] = np.exp(f + layers.at(above) - cost[layers.rows])
    prices.out_of[cells] = np.exp(layers.at(below) - f - cost[layers.rows])


def _domination(layers: DocumentLayers, prices: EdgePrices) -> None:
    """A group for each label u above others: z_u = ln Σ_{v below u} exp(f_v) − f_u.

    Its edges weigh exp(z_u − P_u) together and exp(f_v − f_u − P_u) each; those into v
    come to exp(f_v + ln Σ_{u above v} exp(−f_u − P_u)).
    """
    f = layers.scores
    top, lowest = _base_sums(layers.base, prices.into)
    sums = layers.sums(f)
    sums[:, 0] = lowest
    z = layers.at(_below(sums)) - f
    cost, weight = _price(z)
    groups = np.maximum(1, layers.count(z > -np.inf))
    prices.losses[:] = layers.total(cost) / groups
    above = _above(layers.sums(np.where(z > -np.inf, -f - cost, -np.inf)))
    prices.into[:] *= (np.exp(top + above[:, 0]) / groups)[:, np.newaxis]
    cells = layers.rows, layers.labels
    prices.into[cells] = np.exp(f + layers.at(above)) / groups[layers.rows]
    prices.out_of[cells] = weight / groups[layers.rows]


def _dominated(layers: DocumentLayers, prices: EdgePrices) -> None:
    """A group for each label v below others: z_v = f_v + ln Σ_{u above v} exp(−f_u).

    Its edges weigh exp(z_v − P_v) together and exp(f_v − f_u − P_v) each; those out of
    u come to exp(−f_u + ln Σ_{v below u} exp(f_v − P_v)). At level 0, where all z_v
    have the same sum a, exp(f_v − P_v) = exp(z_v − P_v − a).
    """
    f = layers.scores
    above = _above(layers.sums(-f))
    z = f + layers.at(above)
    cost, weight = _price(z)
    base_cost, base_weight = _price(layers.base + above[:, :1])
    groups = layers.count(z > -np.inf) + layers.n_base * (above[:, 0] > -np.inf)
    groups = np.maximum(1, groups)
    prices.losses[:] = (layers.total(cost) + base_cost.sum(axis=1)) / groups
    sums = layers.sums(np.where(z > -np.inf, f - cost, -np.inf))
    sums[:, 0] = np.log(base_weight.sum(axis=1)) - above[:, 0]
    np.divide(base_weight, groups[:, np.newaxis], out=prices.into)
    cells = layers.rows, layers.labels
    prices.into[cells] = weight / groups[layers.rows]
    prices.out_of[cells] = np.exp(layers.at(_below(sums)) - f) / groups[layers.rows]


def _disagreement(layers: DocumentLayers, prices: EdgePrices) -> None:
    """Each edge alone: P = ln(1 + exp(f_v − f_u)).

    Level by level, each label u is compared with the table of all scores below it.
    """
    n = len(layers.base)
    lower, n_lower = layers.base.copy(), layers.n_base.copy()
    groups = np.zeros(n, np.int64)
    for level in range(1, layers.m):
        at = np.flatnonzero(layers.levels == level)
        groups += np.bincount(layers.rows[at], minlength=n) * n_lower
        for turn in _turns(layers.rows[at]):
            row, label = layers.rows[at[turn]], layers.labels[at[turn]]
            z = lower[row] - layers.scores[at[turn], np.newaxis]
            cost, weight = _price(z)
            prices.losses[row] += cost.sum(axis=1)
            prices.into[row] += weight
            prices.out_of[row, label] = weight.sum(axis=1)
        lower[layers.rows[at], layers.labels[at]] = layers.scores[at]
        n_lower += np.bincount(layers.rows[at], minlength=n)
    groups = np.maximum(1, groups)
    prices.losses[:] /= groups
    prices.into[:] /= groups[:, np.newaxis]
    prices.out_of[layers.rows, layers.labels] /= groups[layers.rows]


def _turns(rows: Places) -> list[Places]:
    """Places of the first of each row, of the second of each row, …; rows are sorted.

    >>> [turn.tolist() for turn in _turns(np.array([0, 0, 2]))]
    [[0, 2], [1]]
    """
    turn = np.arange(len(rows)) - np.searchsorted(rows, rows)
    order = np.argsort(turn, kind="stable")
    return np.split(order, np.cumsum(np.bincount(turn))[:-1]) if len(rows) else []


_PRICED = (_zero_one, _disagreement, _domination, _dominated)


class Listed(NamedTuple):
    """Groups of listed edges: document → groups → edges, by pointers."""

    starts: Ints
    group_starts: Ints
    inits: NDArray[np.uint32]
    terms: NDArray[np.uint32]
    log_weights: Floats


@dataclass(frozen=True, slots=True)
class LogLinearLoss:
    """L = Σ_i (1/s_i) Σ_k ln(1 + Σ_{e ∈ E_k} exp(f(term e) − f(init e))).

    The sums run over documents i, groups k of their decomposed graphs, and edges e
    [DekelManningSinger03]. Layered graphs under a named decomposition keep their levels
    and never list an edge; all others are groups of listed edges, in which an edge of
    weight w counts w times. Each document is in one of the two and empty in the other.
    """

    kind: int
    layers: Rows
    listed: Listed

    def __len__(self) -> int:
        return len(self.layers)

    @property
    def n_labels(self) -> int:
        """How many labels are ranked."""
        return self.layers.width

    def prices(self, scores: Floats, first: int = 0) -> EdgePrices:
        """Price the documents from number ``first`` on, one for each row of scores."""
        prices = price_layers(self.kind, self.layers, scores, first)
        if len(self.listed.inits):
            from classmark.preferences.kernels import price_groups

            starts = self.listed.starts[first : first + len(scores) + 1]
            edges = self.listed._replace(starts=starts)
            price_groups(*edges, scores, prices.into, prices.out_of, prices.losses)
        return prices


def loss_from(
    Y: Any,
    loss: Loss = "domination",
    n_documents: int | None = None,
    n_labels: int | None = None,
    *,
    edges: bool = False,
) -> LogLinearLoss:
    """Take labels, grades or graphs ``Y``; return their loss, ready to be priced.

    edges : list those of layered graphs, too.

    >>> loss = loss_from([[0], [1]], "domination")
    >>> loss.prices(np.zeros((2, 2))).losses.round(4).tolist()
    [0.6931, 0.6931]
    """
    resolved = resolve(loss)
    kind = 0 if callable(resolved) else NAMES.index(resolved)
    if not is_graphs(Y) and not callable(resolved) and not edges:
        rows = levels_from(Y, n_documents, n_labels)
        return LogLinearLoss(kind, _condensed(rows), _listed({}, len(rows)))
    graphs = graphs_from(Y, n_documents, n_labels)
    levels, groups = [], {}
    for at, graph in enumerate(track(graphs, "decomposing", len(graphs))):
        if edges or callable(resolved) or graph.levels is None:
            groups[at] = _groups(graph, resolved, at)
            levels.append(np.empty(0, np.int64))
        else:
            levels.append(graph.levels)
    layers = _condensed(rows_of_levels(levels, graphs[0].n_labels))
    return LogLinearLoss(kind, layers, _listed(groups, len(graphs)))


def _condensed(rows: Rows) -> Rows:
    """Number the levels above 0 of each row 1, 2, … without gaps, as integers."""
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    number = rows.values.astype(np.int64)
    high, most = number > 0, int(number.max(initial=0)) + 1
    levels, place = np.unique(owner[high] * most + number[high], return_inverse=True)
    before = np.searchsorted(levels, np.arange(len(rows)) * most)
    number[high] = place.ravel() - before[owner[high]] + 1
    return Rows(rows.starts, rows.columns, number, rows.width)


def _groups(
    graph: PreferenceGraph, loss: Loss, document: int
) -> list[list[tuple[int, int, float]]]:
    """Decompose one graph; each edge with the logarithm of its weight."""
    edges = map(tuple, graph.pairs.tolist())
    weight = dict(zip(edges, np.log(graph.weights).tolist(), strict=True))
    try:
        groups = decompose(graph, loss)
    except Mistake as mistake:
        raise Mistake(f"Y, document {document}: {mistake}") from mistake
    for place, group in enumerate(groups):
        if not group:
            raise Mistake(
                f"Y, document {document}: the loss's group {place} has no "
                "edge: leave empty groups out"
            )
    return [[(u, v, weight.get((u, v), 0.0)) for u, v in group] for group in groups]


def _listed(groups: Mapping[int, list[list[tuple[int, int, float]]]], n: int) -> Listed:
    n_groups = [len(groups.get(document, ())) for document in range(n)]
    every = [group for document in sorted(groups) for group in groups[document]]
    inits, terms, logs = np.array(list(chain(*every)), float).reshape(-1, 3).T
    return Listed(
        np.cumsum([0, *n_groups], dtype=np.int64),
        np.cumsum([0, *map(len, every)], dtype=np.int64),
        inits.astype(np.uint32),
        terms.astype(np.uint32),
        logs.copy(),
    )

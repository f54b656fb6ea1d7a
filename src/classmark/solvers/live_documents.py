"""The documents of a live problem: layered ones in arrays, listed ones by edges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import compress, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Array, Bools, Floats, Growing, Ints, Rows, ranges, take
from classmark.preferences.graph import (
    Groups,
    Loss,
    PreferenceGraph,
    decompositions,
    grouped,
)
from classmark.solvers.kernels_dual import coefficients
from classmark.solvers.kernels_groups import sum_of_slots
from classmark.solvers.preference import CODES, ExplicitDual, ImplicitDual


@dataclass(frozen=True, slots=True)
class Lesson:
    """A document's words and its preferences: layers, or groups of listed edges.

    columns : uint32, increasing, and values, the document's row;
    labels, levels : those listed, level 1, 2, …, or −1 for compared with none;
    groups, weights : instead of them, groups of edges and what each weighs; the item −1
        stands for the threshold.
    """

    columns: NDArray[np.uint32]
    values: Floats
    labels: NDArray[np.uint32]
    levels: NDArray[np.float32]
    groups: Groups | None = None
    weights: tuple[float, ...] = ()

    def with_first(self, value: float) -> Lesson:
        """The same with one more column, the first, of this value."""
        columns = np.concatenate([np.zeros(1, np.uint32), self.columns + np.uint32(1)])
        values = np.concatenate([np.array([value], self.values.dtype), self.values])
        return replace(self, columns=columns, values=values)

    def without_first(self, count: int = 1) -> Lesson:
        """The same without the first column, which it has; count : or none of them."""
        if not count:
            return self
        columns = self.columns[1:] - np.uint32(1)
        return replace(self, columns=columns, values=self.values[1:])

    def prefers_as(self, other: Lesson) -> bool:
        """Whether two lessons have the same preferences."""
        if self.groups is not None or other.groups is not None:
            return (self.groups, self.weights) == (other.groups, other.weights)
        mine, theirs = (
            dict(zip(lesson.labels.tolist(), lesson.levels.tolist(), strict=True))
            for lesson in (self, other)
        )
        return mine == theirs

    def reading(self, label: int, other: int) -> Lesson:
        """The same with one label read as another; empty groups are left out.

        Of a document that lists both, the higher of the two levels counts.
        """
        if self.groups is not None:
            read = {label: other}
            groups = [
                [(read.get(u, u), read.get(v, v)) for u, v in group]
                for group in self.groups
            ]
            groups = [[(u, v) for u, v in group if u != v] for group in groups]
            labels = np.unique(np.where(self.labels == label, other, self.labels))
            return replace(
                self,
                labels=labels.astype(np.uint32),
                levels=np.zeros(len(labels), np.float32),
                groups=[group for group in groups if group],
                weights=tuple(compress(self.weights, groups)),
            )
        if other not in self.labels:
            labels = np.where(self.labels == label, other, self.labels)
            return replace(self, labels=labels.astype(np.uint32))
        levels = self.levels.copy()
        both = np.isin(self.labels, (label, other))
        levels[both] = levels[both].max()
        mask = self.labels != label
        return replace(self, labels=self.labels[mask], levels=levels[mask])


def lesson_of(
    words: tuple[NDArray[np.uint32], Array],
    graph: PreferenceGraph,
    loss: Loss,
    *,
    thresholds: bool = False,
) -> Lesson:
    """The lesson of a graph: layers where it has them, else groups of its edges.

    thresholds : whether labels are compared with thresholds, each alone.
    """
    if graph.levels is not None and graph.is_layered and not callable(loss):
        labels = np.flatnonzero(graph.levels).astype(np.uint32)
        return Lesson(*words, labels, graph.levels[labels].astype(np.float32))
    shares = np.ones(graph.n_labels)
    groups, weights = grouped(graph, decompositions(loss), shares, thresholds)
    last = graph.n_labels  # the threshold, which lessons call −1
    named = [
        [(-1 if u == last else u, -1 if v == last else v) for u, v in group]
        for group in groups
    ]
    items = {item for group in named for edge in group for item in edge} - {-1}
    return Lesson(
        *words,
        np.array(sorted(items), np.uint32),
        np.zeros(len(items), np.float32),
        named,
        tuple(weights),
    )


class DualTable(NamedTuple):
    """All duals of layered documents, one an entry.

    place : the document's;  part, slot : the kind and number of its slot;  at : where
    it is in the pool;  winner, loser : the labels compared.
    """

    place: Ints
    part: Ints
    slot: Ints
    at: Ints
    winner: Array
    loser: Array


DIS, DME = CODES["dis"][0], CODES["dme"][0]


class LiveImplicitDual:
    """An ``ImplicitDual`` whose documents come and go; ``place`` numbers them.

    The problem's arrays are views of growing ones: a step on a document is that of a
    batch. Places change when the shelf is tidied, which its owner asks for.
    """

    def __init__(self, problem: ImplicitDual) -> None:
        self.problem = problem
        problem.share = 1  # twice the room: closing gaps would be felt
        self._hold(problem.rows, problem.levels)
        self._naps, self._costs = Growing(problem.naps), Growing(problem.costs)
        self._alive = Growing(np.ones(len(problem.rows), bool))
        self._own = Growing(problem.own) if problem.thresholds else None
        self._refresh()

    def __len__(self) -> int:
        return len(self._alive)

    @property
    def alive(self) -> Bools:
        """Which places hold a document, bool (places,)."""
        return self._alive.array

    def put(self, lesson: Lesson) -> int:
        """Keep a document; its duals are zero. Return its place."""
        self._columns.append(lesson.columns)
        self._values.append(lesson.values)
        self._starts.append([len(self._columns)])
        self._labels.append(lesson.labels)
        self._levels.append(lesson.levels)
        if self._self_scores is not None:
            self._self_scores.extend(len(lesson.labels))
        self._level_starts.append([len(self._labels)])
        for flags in (self._naps, self._costs, self._alive):
            flags.extend(1)
        if self._own is not None:
            self._own.extend(1)
        self.alive[-1] = True
        self.problem.widest = max(self.problem.widest, len(lesson.labels))
        self._refresh()
        return len(self) - 1

    def drop(self, place: int) -> None:
        """Forget a document's duals; the weights stay as they are."""
        problem, pool = self.problem, self.problem.pools[0]
        start, end = problem.levels.starts[place], problem.levels.starts[place + 1]
        own = problem.own[place : place + 1]
        for slot in (*problem.slots[:, start:end].reshape(-1, 3), *own):
            first, count = int(slot[0]), int(slot[1])
            pool.alpha[first : first + count] = 0.0
        problem.slots[:, start:end], own[:] = 0, 0
        self.alive[place] = False
        self._costs.array[place] = 0.0

    def parts(self, place: int, shift: Floats | None = None) -> Floats:
        """What a document adds to w_r is parts[r] · x, shape (labels,).

        shift : gains what it adds to the thresholds.
        """
        out = np.zeros(self.problem.W.shape[1])
        _, layers, duals = self.problem.arrays(self.problem.pools[0])
        coefficients(place, layers, duals, out, np.empty(0) if shift is None else shift)
        return out

    def dual_sums(self, places: Ints) -> Floats:
        """Σα of each place."""
        problem, sums = self.problem, np.zeros(len(places))
        first, last = problem.levels.starts[places], problem.levels.starts[places + 1]
        alpha = problem.pools[0].alpha
        sum_of_slots(first, last, problem.slots, alpha, sums)
        if problem.thresholds:
            sum_of_slots(places, places + 1, problem.own[None], alpha, sums)
        return sums

    def lesson(self, place: int) -> Lesson:
        """The document as it was put."""
        columns, values = self.problem.rows.row(place)
        labels, levels = self.problem.levels.row(place)
        return Lesson(columns.copy(), values.copy(), labels.copy(), levels.copy())

    def swap(self, label: int, other: int, place: int) -> None:
        """Exchange two labels in one document, which lists the first of them only."""
        problem, pool = self.problem, self.problem.pools[0]
        start, end = problem.levels.starts[place], problem.levels.starts[place + 1]
        mine = problem.levels.columns[start:end]
        mine[mine == label] = other
        for first, count, _ in problem.slots[:, start:end].reshape(-1, 3).tolist():
            losers = pool.label[first : first + count]
            was, new = losers == label, losers == other
            losers[was], losers[new] = other, label

    def _places(self, listed: Bools) -> Ints:
        """Whose entries these are, of all lists of labels."""
        starts = self.problem.levels.starts
        return np.searchsorted(starts, np.flatnonzero(listed), side="right") - 1

    def _table(self) -> DualTable:
        """List the duals, slot after slot."""
        levels = self.problem.levels
        slots = self.problem.slots[:, : levels.nnz].reshape(-1, 3).astype(np.int64)
        which = np.repeat(np.arange(len(slots)), slots[:, 1])
        at = ranges(slots[:, 0], slots[:, 1])
        part, slot = np.divmod(which, max(levels.nnz, 1))
        place = np.searchsorted(levels.starts, slot, side="right") - 1
        winner, loser = levels.columns[slot], self.problem.pools[0].label[at]
        return DualTable(place, part, slot, at, winner, loser)

    def torn_by(self, label: int, into: int) -> Ints:
        """Documents whose duals, the label read as ``into``, would not be feasible.

        They list both, or do not compare the label, or hold ``into`` below a label that
        it is not below any more, or more of it together than one group may have.
        """
        levels, caps, table = self.problem.levels, self.problem.caps, self._table()
        mine, other = (self._places(levels.columns == r) for r in (label, into))
        parts: list[Ints] = [
            np.intersect1d(mine, other),
            self._places((levels.columns == label) & (levels.values < 0)),
            self._displaced(table, label, into),
            self._overfull(table, label, into),
        ]
        if caps[label] != caps[into]:
            parts.append(mine)
        if self.problem.thresholds:
            parts += [mine, other, self._overfull_against(label, into)]
        places = np.unique(np.concatenate(parts))
        return places[self.alive[places]]

    def _displaced(self, table: DualTable, label: int, into: int) -> Ints:
        """Documents where one of the two is below a label, the other not."""
        levels, wrong = self.problem.levels, np.zeros(len(table.at), bool)
        height = levels.values[table.slot]
        for first, second in ((label, into), (into, label)):
            by_document, listed = np.zeros(len(self)), levels.columns == first
            by_document[self._places(listed)] = levels.values[listed]
            now = by_document[table.place]
            below = (table.loser == second) & (table.winner != first)
            wrong |= below & ((now < 0) | (now >= height))
        return table.place[wrong]

    def _overfull(self, table: DualTable, label: int, into: int) -> Ints:
        """Documents with more on both than a group may have (dis, dme)."""
        problem, places = self.problem, [np.empty(0, np.int64)]
        alpha = problem.pools[0].alpha[table.at].astype(float)
        apart = ~np.isin(table.winner, (label, into))
        for part, code in enumerate(problem.codes):
            if code not in (DIS, DME):
                continue
            group = table.slot if code == DIS else table.place
            masks = [
                apart & (table.part == part) & (table.loser == loser)
                for loser in (label, into)
            ]
            most = int(group.max(initial=-1)) + 1
            one, two = (np.bincount(group[m], alpha[m], most) for m in masks)
            full = (one > 0) & (two > 0) & (one + two > problem.caps.min())
            places.append(self._places(full) if code == DIS else np.flatnonzero(full))
        return np.concatenate(places)

    def _against(self, label: int) -> tuple[Ints, Ints]:
        """Documents with a dual of the label and its threshold, and where it is."""
        own = self.problem.own[: len(self)].astype(np.int64)
        place, at = (
            np.repeat(np.arange(len(own)), own[:, 1]),
            ranges(own[:, 0], own[:, 1]),
        )
        here = self.problem.pools[0].label[at] == label
        return place[here], at[here]

    def _overfull_against(self, label: int, into: int) -> Ints:
        """Documents with more on both against thresholds than one may have."""
        problem, sums = self.problem, np.zeros(len(self))
        for each in (label, into):
            place, at = self._against(each)
            sums[place] += problem.pools[0].alpha[at]
        return np.flatnonzero(sums > problem.rest_caps[into])

    def _join_against(self, label: int, into: int) -> None:
        """Add the duals of the label and its threshold to those of ``into``."""
        problem, pool = self.problem, self.problem.pools[0]
        to = dict(zip(*(part.tolist() for part in self._against(into)), strict=True))
        pairs = zip(*(part.tolist() for part in self._against(label)), strict=True)
        for place, at in pairs:
            if place not in to:
                continue  # it is read as the other
            pool.alpha[to[place]] += pool.alpha[at]
            self._take_out(problem.own[place], at)

    def _take_out(self, slot: Array, at: int) -> None:
        """Close the place of one dual of a slot."""
        pool, last = self.problem.pools[0], int(slot[0]) + int(slot[1]) - 1
        pool.label[at], pool.alpha[at] = pool.label[last], pool.alpha[last]
        pool.alpha[last] = 0.0
        slot[1] -= 1

    def join(self, label: int, into: int) -> None:
        """Read the label as ``into`` in all duals and lists; those torn are away."""
        problem, pool, table = self.problem, self.problem.pools[0], self._table()
        first: dict[tuple[int, int], int] = {}
        emptied = []
        for row in np.flatnonzero(np.isin(table.loser, (label, into))).tolist():
            key, at = (int(table.part[row]), int(table.slot[row])), int(table.at[row])
            if table.winner[row] in (label, into):
                emptied.append((key, at))
            elif key in first:
                pool.alpha[first[key]] += pool.alpha[at]
                emptied.append((key, at))
            else:
                first[key] = at
        for key, at in reversed(emptied):
            self._take_out(problem.slots[key], at)
        if problem.thresholds:
            self._join_against(label, into)
        pool.label[pool.label == label] = into
        problem.levels.columns[problem.levels.columns == label] = into

    def tidy(self) -> Ints:
        """Close the places of forgotten documents; return which are left, in order."""
        places, problem = np.flatnonzero(self.alive), self.problem
        levels = problem.levels
        left = np.repeat(self.alive, np.diff(levels.starts))
        problem.slots = np.take(problem.slots, np.flatnonzero(left), axis=1)
        if self._self_scores is not None:
            problem.self_scores = problem.self_scores[left]
        self._hold(take(problem.rows, places), take(levels, places))
        for name in ("_naps", "_costs", "_alive", "_own"):
            if (flags := getattr(self, name)) is not None:
                setattr(self, name, Growing(flags.array[places]))
        self._refresh()
        return places

    def widen(self, labels: int) -> None:
        """Make room for so many labels."""
        pool = self.problem.pools[0]
        if labels > 2**16 and pool.label.dtype == np.uint16:
            pool.label = pool.label.astype(np.uint32)
        self._width = labels
        self._refresh()

    def _hold(self, rows: Rows, levels: Rows) -> None:
        self._starts, self._level_starts = Growing(rows.starts), Growing(levels.starts)
        self._columns, self._values = Growing(rows.columns), Growing(rows.values)
        self._labels, self._levels = Growing(levels.columns), Growing(levels.values)
        self._width, scores = levels.width, self.problem.self_scores
        self._self_scores = Growing(scores) if len(scores) else None

    def _refresh(self) -> None:
        """Let the problem see what is kept now."""
        problem = self.problem
        starts, columns, values = self._starts, self._columns, self._values
        problem.rows = Rows(
            starts.array, columns.array, values.array, problem.W.shape[0]
        )
        starts, columns, values = self._level_starts, self._labels, self._levels
        problem.levels = Rows(starts.array, columns.array, values.array, self._width)
        problem.naps, problem.costs = self._naps.array, self._costs.array
        if self._own is not None:
            problem.own = self._own.array
        if self._self_scores is not None:
            problem.self_scores = self._self_scores.array
        problem.n_documents = len(self)
        missing = len(self._labels.room) - problem.slots.shape[1]
        if missing > 0:
            problem.slots = np.pad(problem.slots, ((0, 0), (0, missing), (0, 0)))


ONE = np.zeros(1, np.int64)


@dataclass(slots=True)
class ListedDocument:
    """A listed document: its edges (e, 2), and the problem of those compared.

    resting : the duals of edges that are not compared; of the others see the problem.
    """

    lesson: Lesson
    edges: Ints
    resting: Floats
    compared: Bools
    problem: ExplicitDual

    @property
    def duals(self) -> Floats:
        """The duals of all edges, group after group."""
        duals = self.resting.copy()
        duals[self.compared] = self.problem.alpha
        return duals

    def parts(self) -> Floats:
        """What it adds to w_r is parts[r] · x, and to tau, (labels + thresholds,)."""
        width, several = self.problem.W.shape[1], len(self.problem.tau)
        out, duals = np.zeros(width + several), self.duals
        edges = _items(self.edges, width)
        if several > 1:
            edges = edges + np.where(edges == width, edges[:, ::-1], 0)
        np.add.at(out, edges[:, 0], duals)
        np.add.at(out, edges[:, 1], -duals)
        return out


def _items(edges: Ints, width: int) -> Ints:
    """Edges that name the threshold as the item after ``width`` labels, not as −1."""
    return np.where(edges < 0, width, edges)


class ListedDuals(dict[int, ListedDocument]):
    """A small ``ExplicitDual`` per document, by handle, all over the same weights.

    tau : the thresholds, one or one per label; lessons name them as the item −1.
    Edges of hidden labels keep their duals, but are compared no longer; what they hold
    is taken off what their group may have.
    """

    def __init__(self, C: float, tau: Floats, noise: float = 0.0) -> None:
        super().__init__()
        self.C, self.tau, self.noise = C, tau, noise
        self._hidden: frozenset[int] = frozenset()

    def put(
        self, handle: int, lesson: Lesson, W: Array, duals: Floats | None = None
    ) -> None:
        """Keep a document and learn it, unless its duals are known."""
        lesson = replace(lesson, values=lesson.values.astype(W.dtype, copy=False))
        n_edges = sum(map(len, lesson.groups or []))
        start = np.zeros(n_edges) if duals is None else duals
        self[handle] = self._document(lesson, start, W)
        if duals is None:
            self[handle].problem.learn(ONE)

    def drop(self, handle: int) -> tuple[Lesson, Floats]:
        """Keep a document no longer; return it and what it has added to w, per label.

        What it has added to the threshold is taken off.
        """
        document = self.pop(handle)
        parts = document.parts()
        width = document.problem.W.shape[1]
        self.tau -= parts[width:]
        return document.lesson, parts[:width]

    def naming(self, *labels: int) -> list[int]:
        """Handles of the documents that name all these labels."""
        return [h for h, d in self.items() if np.isin(labels, d.lesson.labels).all()]

    def rename(self, handle: int, label: int, other: int) -> None:
        """Read a label as another, which the document does not name."""
        document = self[handle]
        lesson, W = document.lesson.reading(label, other), document.problem.W
        self[handle] = self._document(lesson, document.duals, W)

    def hide(self, labels: set[int]) -> None:
        """Compare these labels with no other, and all others again."""
        changed = self._hidden ^ labels
        self._hidden = frozenset(labels)
        for handle, document in self.items() if changed else ():
            if not changed.isdisjoint(document.lesson.labels.tolist()):
                W = document.problem.W
                self[handle] = self._document(document.lesson, document.duals, W)

    def rebase(self, W: Array) -> None:
        """Go on with larger weights."""
        for document in self.values():
            document.problem.rebase(W, self.tau)

    def _document(self, lesson: Lesson, duals: Floats, W: Array) -> ListedDocument:
        groups = lesson.groups or []
        edges = np.array([e for group in groups for e in group], np.int64)
        edges = edges.reshape(-1, 2)
        compared: Any = ~np.isin(edges, list(self._hidden)).any(axis=1)
        owner = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        still = np.bincount(owner[~compared], duals[~compared], len(groups))
        caps = np.maximum(self.C * np.array(lesson.weights, float) - still, 0.0)
        height, width = W.shape
        named = _items(edges, width)
        left = [
            [(int(u), int(v)) for u, v in named[compared & (owner == g)]]
            for g in range(len(groups))
        ]
        ends = np.array([0, len(lesson.columns)])
        rows = Rows(ends, lesson.columns, lesson.values, height)
        shared = W, self.tau
        problem = ExplicitDual(
            rows, width, [left], caps, shared=shared, noise=self.noise
        )
        problem.alpha = duals[compared]
        return ListedDocument(lesson, edges, duals.copy(), compared, problem)


class ListedGroups(NamedTuple):
    """The groups of documents: those of i are starts[i]:starts[i + 1].

    Group g has the edges edge_starts[g]:edge_starts[g + 1] of ``pairs``, shape (edges,
    2), in which −1 is the threshold, and the weight weights[g].
    """

    starts: Ints
    edge_starts: Ints
    pairs: Ints
    weights: Floats

    def lessons(self, rows: Rows, labels: Rows | None = None) -> Iterator[Lesson]:
        """The lesson of each document; labels : those named, by default in edges."""
        for i in range(len(rows)):
            first, last = self.starts[i : i + 2]
            ends = self.edge_starts[first : last + 1]
            groups = [self.pairs[slice(*span)].tolist() for span in pairwise(ends)]
            if labels is None:
                every = np.unique(self.pairs[ends[0] : ends[-1]])
                named = every[every >= 0].astype(np.uint32)
            else:
                named = labels.row(i)[0]
            yield Lesson(
                *rows.row(i),
                named,
                np.zeros(len(named), np.float32),
                [[(u, v) for u, v in group] for group in groups],
                tuple(self.weights[first:last].tolist()),
            )

    def split(self, duals: Floats) -> list[Floats]:
        """The duals of each document's edges."""
        spans = pairwise(self.edge_starts[self.starts])
        return [duals[slice(*span)] for span in spans]


def groups_of(problem: ExplicitDual, C: float) -> ListedGroups:
    """The groups of a batch problem."""
    starts, edge_starts, winners, losers, caps = problem.edges
    pairs = np.stack([winners, losers], axis=1).astype(int)
    pairs[pairs >= problem.W.shape[1]] = -1
    return ListedGroups(starts, edge_starts, pairs, caps / C)

"""Listed: the kept documents whose preferences are listed edge by edge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from classmark.arrays import Array, Bools, Floats, Ints
from classmark.solvers.dual.explicit import ExplicitDual
from classmark.solvers.live.lesson import Lesson
from classmark.sparse import Rows

ONE = np.zeros(1, np.int64)


@dataclass(slots=True)
class Held:
    """A document: its edges (e, 2), all their duals, and the problem of those compared.

    duals : of edges that are not compared, for the others see the problem.
    """

    lesson: Lesson
    edges: Ints
    duals: Floats
    compared: Bools
    problem: ExplicitDual

    def all_duals(self) -> Floats:
        """The duals of all edges."""
        found = self.duals.copy()
        found[self.compared] = self.problem.alpha
        return found

    def parts(self) -> Floats:
        """What it adds to w_r is parts[r] · x, (labels + 1,); the last: to tau."""
        out, duals = np.zeros(self.problem.W.shape[1] + 1), self.all_duals()
        np.add.at(out, self.edges[:, 0], duals)
        np.add.at(out, self.edges[:, 1], -duals)
        return out


class Listed:
    """A small ``ExplicitDual`` per document, all over the same weights and threshold.

    tau : (1,), the threshold, which lessons name as the item −1.
    Edges of hidden labels keep their duals, but are compared no longer; what they hold
    is taken off what their group may have.
    """

    def __init__(self, C: float) -> None:
        self.C = C
        self.tau = np.zeros(1)
        self._documents: dict[int, Held] = {}
        self._order: list[int] = []
        self._hidden: frozenset[int] = frozenset()

    def __len__(self) -> int:
        return len(self._documents)

    def __contains__(self, handle: int) -> bool:
        return handle in self._documents

    @property
    def handles(self) -> list[int]:
        """The documents' handles, in order of arrival."""
        return self._order

    def lessons(self) -> list[tuple[int, Lesson]]:
        """Handles and what was learned from each."""
        return [(handle, self.lesson(handle)) for handle in self._order]

    def lesson(self, handle: int) -> Lesson:
        """What was learned from a document."""
        return self._documents[handle].lesson

    def duals(self, handle: int) -> Floats:
        """The duals of a document's edges, group after group."""
        return self._documents[handle].all_duals()

    def parts(self, handle: int) -> Floats:
        """What a document adds to w_r is parts[r] · x, shape (labels,)."""
        return self._documents[handle].parts()[:-1]

    def put(
        self, handle: int, lesson: Lesson, W: Array, duals: Floats | None = None
    ) -> None:
        """Keep a document and learn it, unless its duals are known."""
        lesson = replace(lesson, values=lesson.values.astype(W.dtype, copy=False))
        known = np.zeros(_count(lesson)) if duals is None else duals
        held = self._documents[handle] = self._held(lesson, known, W)
        self._order.append(handle)
        if duals is None:
            held.problem.learn(ONE)

    def drop(self, handle: int) -> tuple[Lesson, Floats]:
        """Keep a document no longer; return it and what it has added to w, per label.

        What it has added to the threshold is taken off.
        """
        parts, lesson = self._documents[handle].parts(), self.lesson(handle)
        self.tau[0] -= parts[-1]
        self.let_go(handle)
        return lesson, parts[:-1]

    def let_go(self, handle: int) -> None:
        """Keep a document no longer; what it has added stays."""
        del self._documents[handle]
        self._order.remove(handle)

    def visit(self, number: int) -> None:
        """Learn the document of that number, in order of arrival, once more."""
        self._documents[self._order[number]].problem.learn(ONE)

    def naming(self, *labels: int) -> list[int]:
        """Handles of the documents that name all these labels."""
        return [
            h for h, lesson in self.lessons() if np.isin(labels, lesson.labels).all()
        ]

    def rename(self, handle: int, label: int, other: int) -> None:
        """Read a label as another, which the document does not name."""
        held = self._documents[handle]
        lesson, W = held.lesson.reading(label, other), held.problem.W
        self._documents[handle] = self._held(lesson, held.all_duals(), W)

    def hide(self, labels: set[int]) -> None:
        """Compare these labels with no other, and all others again."""
        changed = self._hidden ^ labels
        self._hidden = frozenset(labels)
        for handle, held in self._documents.items() if changed else ():
            if not changed.isdisjoint(held.lesson.labels.tolist()):
                duals, W = held.all_duals(), held.problem.W
                self._documents[handle] = self._held(held.lesson, duals, W)

    def rebase(self, W: Array) -> None:
        """Go on with larger weights."""
        for held in self._documents.values():
            held.problem.rebase(W)

    def _held(self, lesson: Lesson, duals: Floats, W: Array) -> Held:
        groups = lesson.groups or []
        edges = np.array([e for group in groups for e in group], np.int64)
        edges = edges.reshape(-1, 2)
        compared: Any = ~np.isin(edges, list(self._hidden)).any(axis=1)
        owner = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        still = np.bincount(owner[~compared], duals[~compared], len(groups))
        caps = np.maximum(self.C * np.array(lesson.weights, float) - still, 0.0)
        height, width = W.shape
        named = np.where(edges < 0, width, edges)
        left = [
            [(int(u), int(v)) for u, v in named[compared & (owner == g)]]
            for g in range(len(groups))
        ]
        ends = np.array([0, len(lesson.columns)])
        rows = Rows(ends, lesson.columns, lesson.values, height)
        problem = ExplicitDual(rows, width, [left], caps, W=W)
        problem.tau, problem.alpha = self.tau, duals[compared]
        return Held(lesson, edges, duals.copy(), compared, problem)


def _count(lesson: Lesson) -> int:
    return sum(len(group) for group in lesson.groups or [])


def lessons_of(problem: ExplicitDual, C: float) -> Iterator[tuple[Lesson, Floats]]:
    """The documents of a batch problem, and the duals of each."""
    n_labels = problem.W.shape[1]
    for i in range(problem.n_documents):
        first, last = problem.group_starts[i], problem.group_starts[i + 1]
        spans = [slice(*problem.edge_starts[g : g + 2]) for g in range(first, last)]
        items = [
            np.stack([problem.winners[span], problem.losers[span]], axis=1).astype(int)
            for span in spans
        ]
        named = [np.where(group == n_labels, -1, group) for group in items]
        every = np.unique(
            np.concatenate([np.empty(0, int), *(g.ravel() for g in named)])
        )
        labels = every[every >= 0].astype(np.uint32)
        lesson = Lesson(
            *problem.rows.row(i),
            labels,
            np.zeros(len(labels), np.float32),
            [[(int(u), int(v)) for u, v in group] for group in named],
            tuple((problem.caps[first:last] / C).tolist()),
        )
        edges = slice(problem.edge_starts[first], problem.edge_starts[last])
        yield lesson, problem.alpha[edges]

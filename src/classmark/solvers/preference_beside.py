"""Documents learned one by one beside scores that were learned before ("dom").

What was learned before stays as it is, in its file: weights of very many labels
(``SparseCenter``), or classifiers at the nodes of a tree (``hierarchies``).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import (
    Array,
    Bools,
    Csr,
    Floats,
    Growing,
    Ints,
    rows_in,
)
from classmark.solvers.centers import (
    Center,
    FixedScores,
    RememberedScores,
)
from classmark.solvers.live_documents import Lesson
from classmark.solvers.online import packed
from classmark.solvers.preference_live import turns

STEPS = 16  # on a group at a visit
LEAST = 1e-9  # a violation that is none
SEEN = 2 * STEPS  # best labels of the center that are looked at, at least
REMEMBERED = 1000  # documents, the last, whose scores by the center are remembered


class LearnedParts(NamedTuple):
    """What documents have taught, entry by entry: α of rival over rival in a document.

    owner, column, value : the documents' words;  document, label, part : document i
    adds part · x_i to the weights of a label;  first : labels of documents of which
    nothing was learned before.
    """

    owner: Ints
    column: Ints
    value: Floats
    document: Ints
    label: Ints
    part: Floats
    first: Ints


class LearnedWords:
    """The words of documents, one after the other, and the labels they were taught."""

    def __init__(self) -> None:
        kinds = np.int64, np.int64, np.float64
        self._grown = [Growing(np.empty(0, kind)) for kind in kinds]
        self._taught = set[int]()
        self.count, self.labels = 0, np.empty(0, np.int64)

    @property
    def arrays(self) -> tuple[Ints, Ints, Floats]:
        """Of each word, the number of its document, its column and its value."""
        owner, column, value = (grown.array for grown in self._grown)
        return owner, column, value

    def append(self, lesson: Lesson) -> None:
        """Add a document."""
        owner, column, value = self._grown
        owner.append(np.full(len(lesson.columns), self.count))
        column.append(lesson.columns)
        value.append(lesson.values)
        self.count += 1
        taught = set(lesson.labels[lesson.levels > 0].tolist())
        if not taught <= self._taught:
            self._taught |= taught
            self.labels = np.array(sorted(self._taught), np.int64)


class LiveDualBeside:
    """min ½‖v‖² + C Σ_g ξ_g over documents that come one by one ("dom").

    A label's score is c_r(x) + ⟨v_r, x⟩, c_r being what was learned before. v is known
    by the duals alone, v_r = Σ_i a_ir x_i, so that a document is forgotten to the last
    bit. A visit moves, for each label of a document, the duals of those that violate
    the margin most; it looks at labels that may be among these only.

    center : what was learned before;  count : the first handle;  joined : pairs of
    labels, the first read as the second since.
    """

    def __init__(self, center: Center, C: float, count: int = 0) -> None:
        self.center, self.C, self.count = center, C, count
        self.n_features, self.n_labels = center.shape
        self.joined: list[tuple[int, int]] = []
        self.listed: Mapping[int, Lesson] = {}  # none lists its edges
        self.visits = 0
        self.lessons: dict[int, Lesson] = {}
        self.duals: dict[int, dict[int, dict[int, float]]] = {}  # by label, by rival
        self._tables: dict[int, Floats] = {}  # of each document, as ``_parts`` has it
        self._remembered: dict[tuple[bytes, bytes], RememberedScores] = {}
        self._latest: RememberedScores | None = None
        self._words: LearnedWords | None = None  # of the documents that are kept
        self._learned: LearnedParts | None = None
        self._weights: tuple[LearnedParts, Csr] | None = None
        self.hide(())

    def __len__(self) -> int:
        """How many documents are kept."""
        return len(self.lessons)

    def scores(self, columns: NDArray[np.uint32], values: Any) -> Floats:
        """Scores of one document, (labels,); words never seen add nothing."""
        scores = self.fixed(columns, values).every() + self.moved(columns, values)
        first = self.learned.first
        scores[first] = self._start(scores[first], first, self.moved(columns, values))
        return scores

    def best(self, columns: Array, values: Array, k: int) -> tuple[Ints, Floats]:
        """The k best labels that are not hidden, best first, and their scores: exactly.

        No score is computed of labels that cannot be among them.
        """
        fixed, moved = self.fixed(columns, values), self.moved(columns, values)
        first, size = self.learned.first, max(k, SEEN)
        while True:
            labels, bound = fixed.best(size)
            labels = self.shown(np.union1d(labels, first))
            scores = self._sum(fixed, moved, labels)
            lowest = np.sort(scores)[-k] if len(scores) >= k else -np.inf
            others = np.flatnonzero(moved + bound > lowest) if moved.any() else first
            more = self.shown(np.setdiff1d(others[moved[others] != 0], labels))
            if len(more):
                labels = np.union1d(labels, more)
                scores = self._sum(fixed, moved, labels)
            order = np.lexsort((labels, -scores))[:k]
            enough = len(order) == k and scores[order[-1]] >= bound
            if enough or bound == -np.inf:
                order = order[scores[order] > -np.inf]
                return labels[order], scores[order]
            size *= 4

    def of(self, columns: Array, values: Array, labels: Ints) -> Floats:
        """Scores of some labels for one document; −inf for those hidden."""
        fixed, moved = self.fixed(columns, values), self.moved(columns, values)
        scores = self._sum(fixed, moved, labels)
        scores[self.hidden[labels]] = -np.inf
        return scores

    def moved(self, columns: Array, values: Array) -> Floats:
        """What documents add to the scores of one with these words, (labels,)."""
        learned = self.learned
        if not len(learned.part):
            return np.zeros(self.n_labels)
        wide = np.zeros(self.n_features)
        inside = columns < self.n_features
        wide[columns[inside]] = values[inside]
        products = learned.value * wide[learned.column]
        dots = np.bincount(learned.owner, products, len(self))
        part = learned.part * dots[learned.document]
        return np.bincount(learned.label, part, self.n_labels)  # type: ignore[return-value]

    def fixed(self, columns: Array, values: Array) -> RememberedScores:
        """The scores of one document by what was learned before."""
        words = columns.tobytes(), values.tobytes()
        scores = self._remembered.pop(words, None)
        if scores is None:
            scores = RememberedScores(
                lambda: self.center.scores(columns, values, self.n_labels, self.joined)
            )
        if self._latest is not None and self._latest is not scores:
            self._latest.release()
        self._remembered[words] = self._latest = scores
        if len(self._remembered) > REMEMBERED:
            del self._remembered[next(iter(self._remembered))]
        return scores

    def _sum(self, fixed: FixedScores, moved: Floats, labels: Ints) -> Floats:
        """The scores of some labels."""
        scores = fixed.of(labels) + moved[labels]
        is_first = np.isin(labels, self.learned.first)
        scores[is_first] = self._start(scores[is_first], labels[is_first], moved)
        return scores

    def _start(self, scores: Floats, labels: Ints, moved: Floats) -> Floats:
        """Scores of labels that only documents since have taught, where there are none.

        A label that is merged into one that was learned before has that one's.
        """
        return np.where(scores > -np.inf, scores, self.center.start + moved[labels])

    def shown(self, labels: Ints) -> Ints:
        """Those that are not hidden."""
        return labels[~self.hidden[labels]]

    @property
    def learned(self) -> LearnedParts:
        """What the documents kept have taught."""
        if self._learned is None:
            words, tables = self._words, list(map(self._parts, self.duals))
            if words is None:
                self._words = words = LearnedWords()
                for lesson in self.lessons.values():
                    words.append(lesson)
            parts = np.concatenate([np.empty((0, 2)), *tables])
            taught = words.labels
            self._learned = LearnedParts(
                *words.arrays,
                np.repeat(np.arange(len(tables)), [*map(len, tables)]),
                parts[:, 0].astype(np.int64),
                parts[:, 1],
                taught[~self.center.knows(taught)],
            )
        return self._learned

    def _parts(self, handle: int) -> Floats:
        """The labels whose weights a document moves, and its parts in them, (n, 2)."""
        table = self._tables.get(handle)
        if table is None:
            entries = list[tuple[int, float]]()
            for label, held in self.duals[handle].items():
                entries.append((label, sum(held.values())))
                entries += [(rival, -dual) for rival, dual in held.items()]
            table = np.array(entries, np.float64).reshape(-1, 2)
            self._tables[handle] = table
        return table

    @property
    def W(self) -> Csr:  # noqa: N802 (mathematics)
        """The weights that were learned beside the center, csr (features, labels)."""
        from scipy.sparse import csr_matrix

        if self._weights is not None and self._weights[0] is self.learned:
            return self._weights[1]
        learned, shape = self.learned, (len(self), self.n_features)
        words: Any = csr_matrix((learned.value, (learned.owner, learned.column)), shape)
        shape = len(self), self.n_labels
        parts = csr_matrix((learned.part, (learned.document, learned.label)), shape)
        self._weights = learned, (words.T @ parts).tocsr()
        return self._weights[1]

    tau = np.zeros(0)  # no threshold is learned

    def learn(self, lesson: Lesson) -> int:
        """Visit a new document, which is kept; return its handle."""
        handle = self.count
        self.count += 1
        self._put(handle, lesson)
        return handle

    def replace(self, handle: int, lesson: Lesson) -> None:
        """Take back what a document taught, and learn the new lesson instead."""
        self.forget(handle)
        self._put(handle, lesson)

    def _put(self, handle: int, lesson: Lesson) -> None:
        ends = (int(max(a, default=-1)) + 1 for a in (lesson.columns, lesson.labels))
        self.grow(*ends)
        self.lessons[handle], self.duals[handle] = lesson, {}
        self._learned = None
        if self._words is not None:
            self._words.append(lesson)
        self._visit(handle)

    def forget(self, handle: int) -> None:
        """Take back what a document taught; it is not kept any longer."""
        del self.lessons[handle], self.duals[handle]
        self._tables.pop(handle, None)
        self._learned = self._words = None

    def lesson(self, handle: int) -> Lesson:
        """The lesson of a document that is kept."""
        return self.lessons[handle]

    def knows(self, handle: int) -> bool:
        """Whether a document is kept."""
        return handle in self.lessons

    def revisit(self, count: int) -> int:
        """Visit kept documents again, spread evenly over all of them; return count."""
        handles = list(self.lessons)
        if handles:
            for place in turns(self.visits, count, len(handles)).tolist():
                self._visit(handles[place])
            self.visits += count
        return count

    def revisit_for(self, seconds: float) -> int:
        """Visit kept documents again until the time is over; return how many visits."""
        end, count = time.perf_counter() + seconds, 0
        while len(self) and time.perf_counter() < end:
            count += self.revisit(1)
        return count

    def reserve(self) -> None:
        """Nothing: no table grows beside the center."""

    def grow(self, features: int, labels: int) -> None:
        """Have at least so many features and labels; new ones have no weight."""
        self.n_features = max(self.n_features, features)
        if labels > self.n_labels:
            self.n_labels, self._remembered = labels, {}
        if self.n_labels > len(self.hidden):
            self.hide(self.retired)

    def hide(self, labels: Iterable[int]) -> None:
        """Compare these labels with no other from now on, and all others again."""
        self.retired = set(labels)
        self.hidden = np.zeros(max([self.n_labels - 1, *self.retired]) + 1, bool)
        self.hidden[list(self.retired)] = True

    def merge(self, label: int, into: int) -> None:
        """Read a label as another: what both have learned adds up; one is hidden."""
        self.joined.append((label, into))
        for handle, groups in self.duals.items():
            if label in self.lessons[handle].labels:
                self.lessons[handle] = self.lessons[handle].reading(label, into)
            merged: dict[int, dict[int, float]] = {}
            for winner, held in groups.items():
                own = merged.setdefault(into if winner == label else winner, {})
                for rival, dual in held.items():
                    other = into if rival == label else rival
                    own[other] = own.get(other, 0.0) + dual
            for winner, own in merged.items():
                own.pop(winner, None)
            self.duals[handle] = {winner: own for winner, own in merged.items() if own}
        self._learned, self._words = None, None
        self._tables, self._remembered = {}, {}
        self.hide(self.retired | {label})

    def move(self, handles: Iterable[int], label: int, to: int) -> None:
        """Let documents of one label have another instead."""
        for handle in handles:
            self.replace(handle, self.lesson(handle).reading(label, to))

    def _visit(self, handle: int) -> None:
        """A few exact steps on the duals of each label of a document."""
        lesson, groups = self.lessons[handle], self.duals[handle]
        square = float(lesson.values.astype(np.float64) @ lesson.values)
        if not square:
            return
        levels = dict(zip(lesson.labels.tolist(), lesson.levels.tolist(), strict=True))
        labels, scores = self._compared(handle, square)
        places = {label: place for place, label in enumerate(labels.tolist())}
        for label, level in levels.items():
            if level <= 0 or label in self.retired:
                continue
            beside = [s for s, other in levels.items() if other >= level or other < 0]
            hidden = self.hidden[labels]
            hidden[[places[s] for s in beside]] = True
            duals = groups.setdefault(label, {})
            rivals = {places[s]: dual for s, dual in duals.items()}
            _ascend(scores, places[label], hidden, rivals, self.C, square)
            groups[label] = {int(labels[s]): dual for s, dual in rivals.items()}
            if not rivals:
                del groups[label]
        self._tables.pop(handle, None)
        self._learned = None

    def _compared(self, handle: int, square: float) -> tuple[Ints, Floats]:
        """The labels that a visit may compare or move, increasing, and their scores.

        Steps go to the highest rival; each lowers one label. So behind ``STEPS`` labels
        that no document has moved, which come in the center's order, none is reached.
        """
        lesson, groups = self.lessons[handle], self.duals[handle]
        words = lesson.columns, lesson.values
        fixed, moved = self.fixed(*words), self.moved(*words)
        own = np.union1d(
            lesson.labels, [s for rivals in groups.values() for s in rivals]
        )
        own, size = own.astype(np.int64), SEEN
        while True:
            best, bound = fixed.best(size)
            free = self.shown(np.setdiff1d(best, own))
            if bound == -np.inf or np.count_nonzero(moved[free] == 0) > STEPS:
                break
            size *= 4
        winners = lesson.labels[lesson.levels > 0].astype(np.int64)
        margin = self._sum(fixed, moved, winners).min(initial=0.0) - 1 - self.C * square
        others = np.flatnonzero((moved != 0) & (moved + bound > margin))
        others = np.union1d(np.union1d(best, others), self.learned.first)
        labels = np.union1d(self.shown(others), own)
        return labels, self._sum(fixed, moved, labels)

    def to_arrays(self) -> dict[str, Array]:
        """Everything that decides what it does next, but for the center."""
        each = list(self.lessons.values())
        duals = [
            (place, label, rival, dual)
            for place, groups in enumerate(self.duals.values())
            for label, held in groups.items()
            for rival, dual in held.items()
        ]
        words = packed([(lesson.columns, lesson.values) for lesson in each])
        labels = packed([(lesson.labels, lesson.levels) for lesson in each])
        facts = self.count, self.visits, self.n_features, self.n_labels
        return (
            words.arrays("words")
            | labels.arrays("labels")
            | {
                "duals": np.array([row[:3] for row in duals], np.int64).reshape(-1, 3),
                "alpha": np.array([row[3] for row in duals], np.float64),
                "handles": np.array(list(self.lessons), np.int64),
                "retired": np.array(sorted(self.retired), np.int64),
                "joined": np.array(self.joined, np.int64).reshape(-1, 2),
                "facts": np.array(facts, np.int64),
            }
        )

    def resume(self, arrays: Mapping[str, Array]) -> None:
        """Go on from what ``to_arrays`` described."""
        words, labels = (rows_in(arrays, name, 0) for name in ("words", "labels"))
        handles = arrays["handles"].tolist()
        for at, handle in enumerate(handles):
            self.lessons[handle] = Lesson(*words.row(at), *labels.row(at))
            self.duals[handle] = {}
        rows = zip(arrays["duals"].tolist(), arrays["alpha"].tolist(), strict=True)
        for (place, label, rival), dual in rows:
            self.duals[handles[place]].setdefault(label, {})[rival] = dual
        self.joined = [(a, b) for a, b in arrays["joined"].tolist()]
        facts = arrays["facts"].tolist()
        self.count, self.visits, self.n_features, self.n_labels = facts
        self.hide(arrays["retired"].tolist())
        self._learned = self._words = None


def _ascend(
    scores: Floats, label: int, hidden: Bools, duals: dict[int, float], C: float,
    square: float,
) -> None:  # fmt: skip
    """Steps on the duals of one label over its rivals; the scores follow them.

    A step raises the dual of the label that violates the margin most; where Σα is at C,
    at the cost of the one that violates it least.
    """
    rivals = np.where(hidden, -np.inf, scores)
    rivals[label] = -np.inf
    for _ in range(STEPS):
        worst = int(rivals.argmax())
        least = min(duals, key=lambda s: rivals[s], default=worst)
        violation = 1.0 + rivals[worst] - scores[label]
        surplus, room = scores[label] - 1.0 - rivals[least], C - sum(duals.values())
        if least in duals and surplus > LEAST:
            moves = {least: -min(surplus / (2 * square), duals[least])}
        elif violation > LEAST and room > LEAST:
            moves = {worst: min(violation / (2 * square), room)}
        elif violation > LEAST and rivals[worst] - rivals[least] > LEAST:
            step = (rivals[worst] - rivals[least]) / (2 * square)
            moves = {least: -min(step, duals[least])}
            moves[worst] = -moves[least]
        else:
            break
        for rival, step in moves.items():
            duals[rival] = duals.get(rival, 0.0) + step
            if duals[rival] <= 0.0:
                del duals[rival]
            rivals[rival] -= step * square
            scores[rival] -= step * square
            scores[label] += step * square

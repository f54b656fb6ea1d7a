"""Prototypes and support documents of the on-line algorithms.

They are relatives of the exact step without memory: docs/mathematics.md, section 8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import (
    LINE,
    Array,
    Floats,
    Growing,
    Ints,
    Rows,
    rows_in,
    stack,
    take,
    with_room,
)
from classmark.kernels import scores_of
from classmark.solvers.hinge import KernelFunction
from classmark.solvers.kernels_online import online_pass, support_pass, vote_pass
from classmark.solvers.live_documents import Lesson


class Prototypes:
    """Weights of shape (features, labels) that a stream of documents moves.

    New features and labels begin with zeros; the room for features doubles, so that a
    vocabulary growing word by word copies each weight O(1) times. The weights are
    float32 where the first documents are.

    average : score with the mean of the prototypes after each round, kept lazily.
    rounds : losses 1 to 3 of each round so far, shape (rounds, 3).
    """

    def __init__(self, *, average: bool = False) -> None:
        self.average = average
        self.features = self.labels = 0
        self.rounds = Growing(np.empty((0, 3)))
        self._last: Array = np.empty((0, 0))
        self._timed: Floats = np.empty((0, 0))
        self._mean: Floats | None = None

    @classmethod
    def of(cls, weights: Array, *, average: bool = False) -> Prototypes:
        """Prototypes to go on from, shape (features, labels); copied when they move."""
        prototypes = cls(average=average)
        prototypes.features, prototypes.labels = weights.shape
        prototypes._last = weights
        return prototypes

    def to_arrays(self) -> dict[str, Array]:
        """What it goes on from: ``weights`` is what it ranks by."""
        arrays = {"weights": np.ascontiguousarray(self.weights())}
        if self.average:
            arrays["last"] = np.ascontiguousarray(self._used(self._last))
            arrays["timed"] = np.ascontiguousarray(self._used(self._timed))
        return arrays | {"rounds": self.rounds.array}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Prototypes:
        """What :meth:`to_arrays` described."""
        average = "timed" in arrays
        opened = cls.of(
            np.array(arrays["last" if average else "weights"]), average=average
        )
        opened.rounds = Growing(np.array(arrays["rounds"]))
        if average:
            opened._timed = np.array(arrays["timed"])  # noqa: SLF001 (its own class)
        return opened

    def learn(self, rule: int, rows: Rows, labels: Rows) -> None:
        """Rank each document, then learn from it, once and in order."""
        self.grow(rows.width, labels.width, rows.values.dtype)
        self._mean, seen = None, len(self.rounds)
        values = rows.values.astype(self._last.dtype, copy=False)
        online_pass(
            rule, (rows.starts, rows.columns, values), (labels.starts, labels.columns),
            self._last, self._timed, self.labels, seen, self.rounds.extend(len(rows)),
        )  # fmt: skip

    def learn_one(self, rule: int, lesson: Lesson, among: Ints) -> None:
        """Rank some of the labels for a document, then learn from it.

        among : the labels ranked, rising; the others do not move.
        """
        where = np.ix_(lesson.columns.astype(np.int64), among)
        last, timed = np.ascontiguousarray(self._last[where]), np.empty((0, 0))
        if self.average:
            timed = np.ascontiguousarray(self._timed[where])
        every = np.arange(len(last), dtype=np.uint32)
        labels = np.flatnonzero(np.isin(among, lesson.labels)).astype(np.uint32)
        values = lesson.values.astype(last.dtype, copy=False)
        self._mean, seen = None, len(self.rounds)
        online_pass(
            rule, (np.array([0, len(every)]), every, values),
            (np.array([0, len(labels)]), labels), last, timed, len(among), seen,
            self.rounds.extend(1),
        )  # fmt: skip
        self._last[where] = last
        if self.average:
            self._timed[where] = timed

    def rows(self, columns: Ints) -> Array:
        """The weights of some features, shape (columns, labels): rows of the mean."""
        last = self._last[columns, : self.labels]
        if not self._timed.size:
            return last
        return last - self._timed[columns, : self.labels] / max(len(self.rounds), 1)

    def join(self, label: int, into: int) -> None:
        """Add the prototype of one label to that of another; it becomes zero."""
        self._mean = None
        for table in (self._last, self._timed):
            if table.size:
                table[:, into] += table[:, label]
                table[:, label] = 0.0

    def scores(self, rows: Rows) -> Floats:
        """Scores of all labels, shape (documents, labels); rows of ``features``."""
        scores = _product(rows, self._last[: self.features])
        if self._timed.size:
            timed = _product(rows, self._timed[: self.features])
            scores -= timed / max(len(self.rounds), 1)
        return scores[:, : self.labels]

    def weights(self) -> Array:
        """Shape (features, labels): the mean, or a view of the last prototypes."""
        last = self._used(self._last)
        if not self._timed.size:
            return last
        if self._mean is None:
            self._mean = last - self._used(self._timed) / max(len(self.rounds), 1)
        return self._mean

    def grow(
        self, features: int, labels: int, kind: Any = np.float32, *, spare: int = 0
    ) -> None:
        """Have at least so many features and labels; new ones begin with zeros.

        spare : room for so many features more.
        """
        features, labels = max(features, self.features), max(labels, self.labels)
        kind = self._last.dtype if self._last.size else kind
        height, width = self._last.shape
        if features + spare > height:
            height = max(features + spare, 2 * height)
        if labels > width:  # whole cache lines, where that adds a quarter at most
            size = np.dtype(kind).itemsize
            whole = -(-labels * size // LINE) * LINE // size
            width = whole if 4 * whole <= 5 * labels else labels
        room = height, width
        if room != self._last.shape or not self._last.flags.writeable:
            self._last = with_room(self._used(self._last), room, kind)
        if self.average and room != self._timed.shape:
            self._timed = with_room(self._used(self._timed), room, np.float64)
        if (features, labels) != (self.features, self.labels):
            self.features, self.labels, self._mean = features, labels, None

    def _used(self, table: Array) -> Array:
        return table[: self.features, : self.labels]


def _product(rows: Rows, weights: Array) -> Floats:
    values = rows.values.astype(weights.dtype, copy=False)
    documents = replace(rows, values=values).to_scipy()
    return np.asarray(documents @ weights, dtype=np.float64)


class LivePrototypes:
    """Prototypes in service: documents are known, labels come, are merged and hidden.

    It has the manners of a ``LiveDual``, for what learns from decisions. One round is
    made of a document when it is taught, and one when it is taught other labels; there
    are no visits again, and nothing is taken back: for that, go back to an earlier
    state and learn the rest anew. Hidden labels are in no pair, and do not move.

    rule : of the kernels;  lessons : of the documents learned so far; the handle of a
    document is its number.
    """

    tau = np.zeros(1)  # no threshold
    listed: tuple[int, ...] = ()  # no listed preferences

    def __init__(
        self, rule: int, prototypes: Prototypes, lessons: Iterable[Lesson] = ()
    ) -> None:
        self.rule, self.prototypes = rule, prototypes
        self.documents = dict(enumerate(lessons))
        self.count = len(self.documents)
        self.hide(())

    @property
    def n_labels(self) -> int:
        """How many labels there are, hidden ones too."""
        return self.prototypes.labels

    @property
    def W(self) -> Array:  # noqa: N802 (mathematics)
        """The prototypes to rank by, shape (features, labels)."""
        return self.prototypes.weights()

    def __len__(self) -> int:
        """How many documents are known."""
        return len(self.documents)

    def scores(self, columns: NDArray[np.uint32], values: Any) -> Array:
        """Scores of one document, (labels,); words never seen add nothing."""
        mask = columns < self.prototypes.features
        rows = self.prototypes.rows(columns[mask].astype(np.int64))
        every, out = (
            np.arange(len(rows), dtype=np.uint32),
            np.empty(self.n_labels, rows.dtype),
        )
        scores_of(every, values[mask].astype(rows.dtype, copy=False), rows, out)
        return out

    def learn(self, lesson: Lesson) -> int:
        """One round on a new document; return its handle."""
        self.count += 1
        self.replace(self.count - 1, lesson)
        return self.count - 1

    def replace(self, handle: int, lesson: Lesson) -> None:
        """One more round on a document, with other labels than before."""
        sizes = (
            int(max(each, default=-1)) + 1 for each in (lesson.columns, lesson.labels)
        )
        self.grow(*sizes)
        self.documents[handle] = lesson
        if len(self._shown):
            self.prototypes.learn_one(self.rule, lesson, self._shown)

    def forget(self, handle: int) -> None:
        """Know a document no longer; what it has taught stays."""
        del self.documents[handle]

    def lesson(self, handle: int) -> Lesson:
        """The lesson of a document that is known."""
        return self.documents[handle]

    def knows(self, handle: int) -> bool:
        """Whether a document is known."""
        return handle in self.documents

    def revisit(self, count: int) -> int:  # noqa: ARG002 (the manners of a LiveDual)
        """Nothing: no document is visited again."""
        return 0

    def grow(self, features: int, labels: int) -> None:
        """Have at least so many features and labels; new ones begin with zeros."""
        self.prototypes.grow(features, labels)
        self.hide(self.retired)

    def reserve(self) -> None:
        """Make room for new features ahead."""
        self.prototypes.grow(0, 0, spare=1)

    def hide(self, labels: Iterable[int]) -> None:
        """Compare these labels with no other from now on, and all others again."""
        self.retired = set(labels)
        every = np.arange(self.n_labels)
        self._shown: Ints = np.setdiff1d(every, np.array(sorted(self.retired), int))

    def merge(self, label: int, into: int) -> None:
        """Add the prototype of a label to another's; the first is hidden."""
        self.prototypes.join(label, into)
        for handle, lesson in self.documents.items():
            if label in lesson.labels:
                self.documents[handle] = lesson.reading(label, into)
        self.hide(self.retired | {label})

    def move(self, handles: Iterable[int], label: int, to: int) -> None:
        """Nothing: documents teach another label when they are taught it."""

    def to_arrays(self) -> dict[str, Array]:
        """Everything that decides what it does next."""
        lessons = list(self.documents.values())
        arrays = self.prototypes.to_arrays() | {
            "retired": np.array(sorted(self.retired), np.int64),
            "handles": np.array([*self.documents, self.count], np.int64),
        }
        words = [(lesson.columns, lesson.values) for lesson in lessons]
        labels = [(lesson.labels, lesson.levels) for lesson in lessons]
        return arrays | packed(words).arrays("words") | packed(labels).arrays("labels")

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], rule: int) -> LivePrototypes:
        """What :meth:`to_arrays` described."""
        words, labels = (rows_in(arrays, name, 0) for name in ("words", "labels"))
        *handles, count = arrays["handles"].tolist()
        lessons = (Lesson(*words.row(i), *labels.row(i)) for i in range(len(handles)))
        live = cls(rule, Prototypes.from_arrays(arrays))
        live.documents, live.count = dict(zip(handles, lessons, strict=True)), count
        live.hide(arrays["retired"].tolist())
        return live


def packed(pairs: list[tuple[Any, Any]]) -> Rows:
    """Columns and values of each row, one below the other."""
    columns, values = zip(*pairs, strict=True) if pairs else ((), ())
    return Rows(
        np.cumsum([0, *map(len, columns)]),
        np.concatenate([np.empty(0, np.uint32), *columns]),
        np.concatenate([np.empty(0, np.float32), *values]),
        0,
    )


BLOCK = 256  # documents whose similarities are computed together


@dataclass(eq=False)
class Supports:
    """⟨w_r, x⟩ as Σ_s τ_{s,r} k(x_s, x) over the documents x_s that led to an update.

    average : score with the mean of the prototypes after each round: τ_s counts for
        the share of the rounds since.
    vote : score with the votes of all prototypes, each weighted by the rounds it was in
        force; a vote is a ranking, the label in place p of k gets k − p points
        [FreundSchapire99].
    max_documents : supports at most; beyond, one is forgotten. With the graded
        losses 2 and 3 it is that of the smallest update ‖τ_s‖² k(x_s, x_s); where every
        mistake counts alike (loss 1, perceptron) the oldest. On Reuters, each was the
        better of the two for its rule.
    """

    kernel: KernelFunction
    average: bool = False
    vote: bool = False
    max_documents: int | None = None

    def __post_init__(self) -> None:
        self.labels = 0
        self.rounds = Growing(np.empty((0, 3)))
        self.documents = stack([])
        self.steps: Floats = np.empty((0, 0))
        self.when: Ints = np.empty(0, np.int64)
        self._sizes: Floats = np.empty(0)

    @property
    def features(self) -> int:
        """How many features the documents have."""
        return self.documents.width

    def weights(self) -> Any:
        """The mean prototypes, sparse, (features, labels): where the kernel is none."""
        from scipy.sparse import csr_matrix

        return (self.documents.to_scipy().T @ csr_matrix(self._shares())).tocsr()

    def to_arrays(self) -> dict[str, Array]:
        """The documents and their steps."""
        words = self.documents.arrays("words") | {"width": np.array([self.features])}
        steps = {"steps": self.steps, "when": self.when}
        return words | steps | {"rounds": self.rounds.array}

    def resume(self, arrays: Mapping[str, Array]) -> None:
        """Have the documents and steps that were saved."""
        self.documents = rows_in(arrays, "words", int(arrays["width"][0]))
        self.steps, self.when = np.array(arrays["steps"]), np.array(arrays["when"])
        self.labels, self._sizes = self.steps.shape[1], np.zeros(len(self.when))
        self.rounds = Growing(np.array(arrays["rounds"]))

    def _shares(self) -> Floats:
        """The steps, each for its share of the rounds."""
        shares = 1.0 - self.when / max(len(self.rounds), 1)
        return np.asarray(self.steps * shares[:, np.newaxis])

    def learn(self, rule: int, rows: Rows, labels: Rows) -> None:
        """Rank each document, then learn from it, once and in order."""
        self._grow(rows.width, labels.width)
        for part in _blocks(len(rows)):
            self._learn_block(rule, take(rows, part), take(labels, part))

    def _grow(self, features: int, labels: int) -> None:
        """New features and labels begin with zeros."""
        self.documents = replace(self.documents, width=max(self.features, features))
        self.labels = max(self.labels, labels)
        missing = self.labels - self.steps.shape[1]
        self.steps = np.pad(self.steps, ((0, 0), (0, missing)))

    def _learn_block(self, rule: int, rows: Rows, labels: Rows) -> None:
        both = stack([self.documents, rows])
        seen = len(self.rounds)
        steps = np.concatenate([self.steps, np.zeros((len(rows), self.labels))])
        when = np.concatenate([self.when, np.full(len(rows), -1, np.int64)])
        sizes = np.concatenate([self._sizes, np.zeros(len(rows))])
        most = np.iinfo(np.int64).max
        limit = most if self.max_documents is None else self.max_documents
        support_pass(
            rule, self._similar(rows, both), (labels.starts, labels.columns), steps,
            when, sizes, limit, seen, self.rounds.extend(len(rows)),
        )  # fmt: skip
        mask = when >= 0
        self.documents = take(both, mask)
        self.steps, self.when, self._sizes = steps[mask], when[mask], sizes[mask]

    def scores(self, rows: Rows) -> Floats:
        """Scores (or mean points) of all labels, shape (documents, labels)."""
        scores = np.zeros((len(rows), self.labels))
        steps = self._shares() if self.average else self.steps
        for part in _blocks(len(rows)):
            similar = self._similar(take(rows, part), self.documents)
            scores[part] = self._votes(similar) if self.vote else similar @ steps
        return scores

    def _votes(self, similar: Floats) -> Floats:
        survived = np.diff(np.concatenate([[0], self.when, [len(self.rounds)]]))
        points = np.zeros((len(similar), self.labels))
        vote_pass(similar, self.steps, survived / max(len(self.rounds), 1), points)
        return points

    def _similar(self, rows: Rows, others: Rows) -> Floats:
        if not len(others):
            return np.empty((len(rows), 0))
        width = max(rows.width, others.width)
        left, right = (replace(each, width=width).to_scipy() for each in (rows, others))
        return self.kernel(left, right)


def _blocks(n: int) -> Iterator[Ints]:
    return (np.arange(n)[start : start + BLOCK] for start in range(0, n, BLOCK))

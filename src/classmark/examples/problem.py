"""The training set of a query by examples, and the hinges that a method prices.

The collection that a query is learned over is rows at hand, or rows that lie elsewhere.
Learning needs little of it: scores X · w, sums Xᵀ · c, a few rows, and the ascent of
hinges over all of them. Who can do these need not bring the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats, Ints, Rows, rows_from, stack, take
from classmark.problems import Mistake
from classmark.solvers.ascent import Solution
from classmark.solvers.cutting_planes import Linear, linear
from classmark.solvers.hinge import Hinges, ascend
from classmark.validation import Seed, generator


class Collection(ABC):
    """Rows that lie elsewhere, numbered from 0; width : the number of features."""

    width: int

    @abstractmethod
    def __len__(self) -> int:
        """How many rows there are."""

    @property
    @abstractmethod
    def mean(self) -> Floats:
        """The mean row, (features,)."""

    @abstractmethod
    def product(self, weights: Floats) -> Floats:
        """The scores of all rows, (rows,)."""

    @abstractmethod
    def back(self, coefficients: Floats) -> Floats:
        """Σ coefficient · x, (features,)."""

    @abstractmethod
    def take(self, rows: ArrayLike) -> Rows:
        """A few rows, brought here, in the order given."""

    @abstractmethod
    def top(
        self, weights: Floats, k: int, hidden: ArrayLike = ()
    ) -> tuple[Ints, Floats]:
        """The best ``k`` rows that are not hidden, ties by number, and their scores."""

    @abstractmethod
    def ascend(
        self,
        few: Rows,
        hinges: Hinges,
        *,
        duals: Floats,
        weights: Floats | None = None,
        tol: float = 1e-3,
    ) -> Solution:
        """What ``ascend([few, these rows], hinges, …)`` finds, up to ``tol``.

        Of these rows each has one hinge, in order, all of one sign, box and margin but
        for boxes of 0; or none has; single ones may have more hinges after those.
        """


def taken_in(U: Any, *, name: str) -> Rows | Collection:
    """A matrix of any kind as rows; what lies elsewhere stays there."""
    return U if isinstance(U, Collection) else rows_from(U, name=name)


def some(U: Rows | Collection, rows: ArrayLike) -> Rows:
    """A few rows, at hand."""
    return take(U, rows) if isinstance(U, Rows) else U.take(rows)


def products(parts: Sequence[Rows | Collection]) -> Linear:
    """X · w and Xᵀ · c of parts one below the other, wherever they lie.

    >>> products([rows_from([[1.0, 2.0]])]).product(np.ones(2)).tolist()
    [3.0]
    """
    here = [part for part in parts if isinstance(part, Rows)]
    if len(here) == len(parts):
        return linear(here)
    each = [linear([part]) if isinstance(part, Rows) else part for part in parts]
    ends = np.cumsum([len(part) for part in parts])[:-1]

    def product(weights: Floats) -> Floats:
        return np.concatenate([part.product(weights) for part in each])

    def back(coefficients: Floats) -> Floats:
        mine = zip(each, np.split(coefficients, ends), strict=True)
        return np.asarray(sum(part.back(c) for part, c in mine))

    return Linear(product, back, max(part.width for part in parts))


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """Documents as rows of one width.

    P : the examples, l of them;  N : rejected documents;  U : the collection,
    unlabelled, at hand or elsewhere; without rows where only its mean is known, or
    nothing is;  mean : of the collection, (features,), zeros where it is not known;
    labelled : rows of U that are among P or N; they are not unlabelled examples.
    """

    P: Rows
    N: Rows
    U: Rows | Collection
    mean: Floats
    labelled: Ints

    @property
    def n_unlabelled(self) -> int:
        """How many rows of U are unlabelled."""
        return len(self.U) - len(self.labelled)

    def judged(self) -> Rows:
        """Examples and rejections, one below the other."""
        return stack([self.P, self.N]) if len(self.N) else self.P

    def ascend(
        self,
        hinges: Hinges,
        tol: float,
        duals: Floats | None = None,
        weights: Floats | None = None,
    ) -> Solution:
        """The ascent over P, N and U; from full boxes where no duals are given."""
        duals, few = hinges.boxes if duals is None else duals, self.judged()
        if isinstance(self.U, Collection):
            return self.U.ascend(few, hinges, duals=duals, weights=weights, tol=tol)
        parts = [few, self.U] if len(self.U) else [few]
        return ascend(parts, hinges, duals=duals, weights=weights, tol=tol)

    def with_more(self, yes: Rows, no: Rows, labelled: ArrayLike) -> TrainingSet:
        """The same with more examples and rejections."""
        labelled = np.union1d(self.labelled, np.asarray(labelled, np.int64))
        return replace(
            self,
            P=stack([self.P, yes]) if len(yes) else self.P,
            N=stack([self.N, no]) if len(no) else self.N,
            labelled=_rows_of(self.U, labelled),
        )


def training_set(
    P: Any,
    U: Any = None,
    N: Any = None,
    *,
    mean: ArrayLike | None = None,
    labelled: ArrayLike = (),
) -> TrainingSet:
    """Take in matrices of any kind; a ``Mistake`` names the one that does not fit."""
    examples = rows_from(P, name="P")
    if not len(examples):
        raise Mistake("P has no rows: give at least one example")
    if not examples.nnz:
        raise Mistake("P: no example has a feature that is known: give other examples")
    nothing = take(examples, [])
    collection = nothing if U is None else taken_in(U, name="U")
    if U is not None and not len(collection):
        raise Mistake(
            "U has no rows: give the collection to be ranked, or leave it out"
        )
    rejected = nothing if N is None else rows_from(N, name="N")
    for name, rows in (("U", collection), ("N", rejected)):
        if rows.width != examples.width:
            raise Mistake(
                f"{name} has {rows.width} columns and P has {examples.width}: make "
                "both with the same vectorizer"
            )
    labelled_rows = _rows_of(collection, np.unique(np.asarray(labelled, np.int64)))
    middle = mean_of(collection) if mean is None else np.asarray(mean, np.float64)
    if middle.shape != (examples.width,):
        raise Mistake(f"mean has shape {middle.shape}: give {examples.width} numbers")
    return TrainingSet(examples, rejected, collection, middle, labelled_rows)


def sampled(training: TrainingSet, size: int | None, random_state: Seed) -> TrainingSet:
    """The same with a random sample of the unlabelled rows of U, where U is larger."""
    if size is None or training.n_unlabelled <= size:
        return training
    if size < 1:
        raise Mistake(f"sample is {size}: give how many documents of U to learn from")
    open_ = np.setdiff1d(
        np.arange(len(training.U)), training.labelled, assume_unique=True
    )
    chosen = np.sort(generator(random_state).choice(open_, size, replace=False))
    few = some(training.U, chosen)
    return replace(training, U=few, mean=mean_of(few), labelled=training.labelled[:0])


def open_only(training: TrainingSet) -> TrainingSet:
    """The same without the labelled rows of U, where U is at hand."""
    if not len(training.labelled) or isinstance(training.U, Collection):
        return training
    rest = np.delete(np.arange(len(training.U)), training.labelled)
    U, none = take(training.U, rest), training.labelled[:0]
    return replace(training, U=U, mean=mean_of(U), labelled=none)


def mean_of(rows: Rows | Collection) -> Floats:
    """The mean row, shape (features,).

    >>> mean_of(rows_from([[1.0, 0.0], [3.0, 1.0]])).tolist()
    [2.0, 0.5]
    """
    if isinstance(rows, Collection):
        return rows.mean
    return np.asarray(linear([rows]).back(np.ones(len(rows))) / max(len(rows), 1))


def _rows_of(U: Rows | Collection, labelled: Ints) -> Ints:
    if not len(labelled):
        return labelled
    if not len(U):
        raise Mistake("known names rows of U, and there is no U: give it")
    if labelled[0] < 0 or labelled[-1] >= len(U):
        raise Mistake(f"known: give row numbers of U, from 0 to {len(U) - 1}")
    if len(labelled) == len(U):
        raise Mistake(
            "every document of U is an example or rejected: nothing is left to learn "
            "from or to find"
        )
    return labelled


class Prices(NamedTuple):
    """The price of one hinge of each kind, and its margin.

    examples, others : the box of an example, of an unlabelled document; rejected ones
    cost what an example does, together no more than all;  margins : of examples, of
    all others.
    """

    examples: float
    others: float
    margins: tuple[float, float] = (1.0, 1.0)


def one_class(training: TrainingSet, C: float) -> Prices:
    """SVM_1c: ½‖w‖² + (C/l) Σ_P max(0, 1 − w·x) [ZhangLee09]."""
    return Prices(C / len(training.P), 0.0)


def two_class(training: TrainingSet, C: float) -> Prices:
    """SVM_2c: ½‖w‖² + (C/n) Σ max(0, 1 − y w·x), n = l + u [ZhangLee09]."""
    share = C / (len(training.P) + training.n_unlabelled)
    return Prices(share, share)


def balanced(training: TrainingSet, C: float) -> Prices:
    """SVM_ba: ½‖w‖² + C Σ_P max(0, 1 − w·x) + C (l/u) Σ_U max(0, 1 + w·x)."""
    return Prices(C, C * len(training.P) / max(training.n_unlabelled, 1))


def literal(training: TrainingSet, C: float) -> Prices:
    """OP 5 as printed: (C/n) Σ max(0, λ − y w·x), λ = 1/4l on P, 1/4u on U."""
    examples, others = len(training.P), training.n_unlabelled
    share = C / (examples + others)
    return Prices(share, share, (0.25 / examples, 0.25 / max(others, 1)))


PRICES = {
    "one-class": one_class,
    "two-class": two_class,
    "balanced": balanced,
    "balanced-literal": literal,
}


class Hopeful(NamedTuple):
    """Unlabelled documents that are taken for examples, each at a small price.

    rows : of U;  box : what each costs, as an example, beside what it costs as others.
    """

    rows: Ints
    box: float


NOBODY = Hopeful(np.empty(0, np.int64), 0.0)


def hinges_of(
    training: TrainingSet, prices: Prices, hopeful: Hopeful = NOBODY
) -> Hinges:
    """Hinges over the rows of [P; N] and U, in this order, then the hopeful ones."""
    examples, judged = len(training.P), len(training.P) + len(training.N)
    first_hopeful = judged + (len(training.U) if prices.others > 0.0 else 0)
    n = first_hopeful + len(hopeful.rows)
    rows = np.arange(n, dtype=np.uint32)
    rows[first_hopeful:] = judged + hopeful.rows
    signs, boxes = np.full(n, -1.0), np.full(n, prices.others)
    margins = np.full(n, prices.margins[1])
    for positive in (slice(examples), slice(first_hopeful, None)):
        signs[positive], margins[positive] = 1.0, prices.margins[0]
    boxes[:judged], boxes[first_hopeful:] = prices.examples, hopeful.box
    boxes[examples:judged] *= min(1.0, examples / max(1, judged - examples))
    if first_hopeful > judged:
        boxes[judged + training.labelled] = 0.0
    return Hinges(rows, signs, boxes, margins)

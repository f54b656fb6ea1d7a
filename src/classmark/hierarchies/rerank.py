"""Rare categories: close calls in favour of large ones, decided again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Array, Bools, Floats, Ints
from classmark.estimator import Estimator
from classmark.hierarchies.flat import (
    CrammerSingerSVM,
    FlatClassifier,
    categories_in,
    share_right,
)
from classmark.hierarchies.held_out import fitted, numbered, parted
from classmark.hierarchies.nodes import fitted_scale, posterior
from classmark.hierarchies.taxonomy_ranker import TaxonomyRanker
from classmark.measures import classification
from classmark.problems import Mistake
from classmark.progress import track
from classmark.rankers.linear import Evidence, LinearRanker
from classmark.rankers.preference import PreferenceRanker
from classmark.ranking import top as best_of
from classmark.solvers.hinge import Hinges, ascend
from classmark.sparse import Rows, rows_from, take, transpose
from classmark.validation import Seed, generator, renamed, require_k, require_numbers

Entries = tuple[NDArray[np.uint32], Array]
KEPT = 4096  # pairs whose classifiers are kept
COST, TOL = 1.0, 1e-2


class Voters(NamedTuple):
    """Binary classifiers of a pair: feature ``columns[i]`` has the weights ``[i]``.

    columns : (m,), increasing;  weights : (m, votes), positive for the first class.
    """

    columns: NDArray[np.uint32]
    weights: Floats


class Doubts(NamedTuple):
    """The two best classes of each document, and how near they are.

    first, second : (n,) class numbers;  gap : (n,) p̂(first) − p̂(second);
    odds : (n,) how many times as large the first is, inf if the second has nothing.
    """

    first: Ints
    second: Ints
    gap: Floats
    odds: Floats

    def open(self, delta: float, ratio: float) -> Bools:
        """Which documents are to be predicted again."""
        return (self.gap <= delta) & (self.odds >= ratio) & np.isfinite(self.odds)


class PairVotes:
    """Votes between two classes, each of an SVM over a balanced draw of documents.

    For a pair {a, b}, ``votes`` times: as many documents of the larger class as the
    smaller one has are drawn, without putting back, and ½‖w‖² + Σ hinge is minimised.
    Documents of both classes are left out. The draws of a pair depend on the seed and
    the pair alone; the classifiers of the last pairs are kept. [Babbar14]
    """

    def __init__(self, rows: Rows, labels: Rows, votes: int, seed: int) -> None:
        self.rows = rows
        self.owned = transpose(labels)
        self.votes = votes
        self.seed = seed
        self.cache: dict[tuple[int, int], Voters | None] = {}

    def turned(self, rows: Rows, doubts: Doubts, asking: Bools) -> Bools:
        """For which documents, of those asked again, the second class wins."""
        swapped = np.zeros(len(rows), np.bool_)
        which = np.flatnonzero(asking)
        for at in track(which, "predicting again", len(which)):
            pair = int(doubts.first[at]), int(doubts.second[at])
            swapped[at] = self._second_wins(rows.row(int(at)), *pair)
        return swapped

    def _second_wins(self, document: Entries, first: int, second: int) -> bool:
        """Whether most say ``second``; a draw, or nothing to learn from, says no."""
        a = min(first, second)
        voters = self._voters(a, max(first, second))
        if voters is None:
            return False
        columns, values = document
        place = np.searchsorted(voters.columns, columns)
        place = np.minimum(place, len(voters.columns) - 1)
        shared = voters.columns[place] == columns
        scores = values[shared].astype(np.float64) @ voters.weights[place[shared]]
        against = scores if second == a else -scores
        return int((against > 0.0).sum()) * 2 > self.votes

    def _voters(self, a: int, b: int) -> Voters | None:
        if (a, b) not in self.cache:
            if len(self.cache) >= KEPT:
                self.cache.pop(next(iter(self.cache)))
            self.cache[a, b] = self._learned(a, b)
        return self.cache[a, b]

    def _learned(self, a: int, b: int) -> Voters | None:
        of_a, of_b = (self.owned.row(c)[0].astype(np.int64) for c in (a, b))
        only_a = np.setdiff1d(of_a, of_b, assume_unique=True)
        only_b = np.setdiff1d(of_b, of_a, assume_unique=True)
        size = min(len(only_a), len(only_b))
        if not size:
            return None
        drawn = take(self.rows, np.concatenate((only_a, only_b)))
        columns, compact = np.unique(drawn.columns, return_inverse=True)
        if not len(columns):
            return None
        narrow = compact.ravel().astype(np.uint32)
        both = Rows(drawn.starts, narrow, drawn.values, len(columns))
        random = np.random.default_rng((self.seed, a, b))
        weights = np.empty((len(columns), self.votes))
        for vote in range(self.votes):
            first = random.permutation(len(only_a))[:size]
            second = len(only_a) + random.permutation(len(only_b))[:size]
            weights[:, vote] = _separated(both, first, second)
        return Voters(columns, weights)


def _separated(rows: Rows, first: Ints, second: Ints) -> Floats:
    """The weights of a binary SVM, the first documents being positive."""
    n = len(first) + len(second)
    signs = np.concatenate((np.ones(len(first)), -np.ones(len(second))))
    which = np.concatenate((first, second)).astype(np.uint32)
    hinges = Hinges(which, signs, np.full(n, COST), np.ones(n))
    return ascend([rows], hinges, tol=TOL).weights


HELD_OUT = 0.2  # of the training documents
DELTAS = (0.02, 0.05, 0.1, 0.2, 0.3)  # what is tried where none is given
RATIOS = (1.5, 2.0, 3.0, 5.0)
LOOSE = 0.1  # the gap to which the copy is solved that a temperature is fitted on
CELLS = 1 << 23  # scores held together: 64 MiB


class RareCategoryReranker(Estimator):
    """A classifier whose close calls in favour of large classes are made again.

    With y₁, y₂ the two best classes of x: where p̂(y₁|x) − p̂(y₂|x) ≤ Δ and N(y₁)/N(y₂)
    ≥ R, N being the training sizes, ``votes`` binary SVMs, each learned from as many
    documents of y₁ as of y₂, vote, and the majority decides; else y₁ stays. [Babbar14]

    base : a classifier with ``fit``, ``decision_function`` and ``classes_``, or a
        ``LinearRanker``; None for ``CrammerSingerSVM()``. A copy of it is fitted.
    delta : Δ;  ratio : R. None: chosen on held-out training documents, the pair with
        the best macro-F1 among those whose micro-F1 is not below that of the base.
    votes : t, odd.

    p̂ is a softmax of the base's scores; its temperature is fitted on a fifth of the
    training documents, scored by a second copy of the base that learned from the rest
    (a class with one document is never among them). Where the base is solved to a
    duality gap, that copy is solved to a gap of 0.1 only: the temperature hardly sees
    the difference. y may hold several classes a document (lists): ``predict`` then
    answers with the first of the ranking.

    Attributes: base_ (fitted), classes_, sizes_ (N), scale_ (1/temperature), delta_,
    ratio_, pairs_ (the votes); after predicting repredicted_, the share of documents
    asked again.

    >>> X, y = np.eye(4)[[0, 0, 0, 0, 1, 1, 2, 3]], list("aaaabbcc")
    >>> RareCategoryReranker(delta=0.5, votes=3).fit(X, y).predict(np.eye(4)[[0, 1]])
    ['a', 'b']
    """

    _kind: ClassVar[str | None] = "classifier"
    _needs_y: ClassVar[bool] = True

    def __init__(
        self,
        base: Any = None,
        delta: float | None = 0.1,
        ratio: float | None = 2.0,
        votes: int = 5,
        random_state: Seed = 0,
    ) -> None:
        self.base = base
        self.delta = delta
        self.ratio = ratio
        self.votes = votes
        self.random_state = random_state

    def fit(self, X: Any, y: Iterable[Any]) -> Self:
        """Learn from documents X, shape (n, features), and their classes."""
        self._check()
        rows, categories = rows_from(X), categories_in(y)
        random = generator(self.random_state)
        base = CrammerSingerSVM() if self.base is None else self.base
        self._model = fitted(base, rows, categories)
        self.base_, self.classes_ = self._model.model, self._model.classes
        labels = numbered(categories, self.classes_)
        self.sizes_ = np.bincount(labels.columns, minlength=labels.width)
        seed = int(random.integers(2**31))
        self.pairs_ = PairVotes(rows, labels, self.votes, seed)
        learn, ask = parted(labels, HELD_OUT, random)
        if not len(ask):
            raise Mistake(
                "y: no class has a second document, and a temperature is fitted on "
                "documents held out: give one class two or more, or use the base alone"
            )
        held_out_model = fitted(
            quicker(base, self.base_), take(rows, learn), [categories[i] for i in learn]
        )
        scores = held_out_model.scores(take(rows, ask).to_scipy(), self.classes_)
        held_out_labels = take(labels, ask)
        self.scale_ = fitted_scale(scores, held_out_labels)
        votes = PairVotes(take(rows, learn), take(labels, learn), self.votes, seed)
        self.delta_, self.ratio_ = self._limits(
            take(rows, ask), scores, held_out_labels, votes
        )
        return self

    def decision_function(self, X: Any) -> Floats:
        """The base's scores; where the vote turned two classes round, theirs change."""
        self._require_fitted()
        return np.concatenate(list(self._turned(rows_from(X))))

    def predict(self, X: Any) -> list[Any]:
        """The class of each document."""
        return [line[0] for line in self.rank(X, k=1)]

    @renamed(top="k")
    def rank(self, X: Any, k: int | None = None) -> list[list[Any]]:
        """Classes of each document, best first: ``k`` of them, or all."""
        self._require_fitted()
        if k is not None:
            require_k(k)
        k = len(self.classes_) if k is None else k
        return [
            [self.classes_[at] for at in line]
            for scores in self._turned(rows_from(X))
            for line in best_of(scores, k)
        ]

    def score(self, X: Any, y: Iterable[Any]) -> float:
        """Accuracy: the share of documents whose class is one of theirs."""
        return share_right(self.predict(X), y)

    def _turned(self, rows: Rows) -> Iterator[Floats]:
        """Scores of block after block of documents, the vote heard."""
        step = max(1, CELLS // len(self.classes_))
        blocks = range(0, max(1, len(rows)), step)
        n_repredicted = 0
        for start in track(blocks, "classifying", len(blocks)):
            block = take(rows, np.arange(start, min(start + step, len(rows))))
            scores = self._model.scores(block.to_scipy())
            doubts = self._doubts(scores)
            asking = doubts.open(self.delta_, self.ratio_)
            n_repredicted += int(asking.sum())
            for at in np.flatnonzero(self.pairs_.turned(block, doubts, asking)):
                pair = [doubts.first[at], doubts.second[at]]
                scores[at, pair] = _apart(scores[at, pair])
            yield scores
        self.repredicted_ = n_repredicted / max(1, len(rows))

    def _doubts(self, scores: Floats) -> Doubts:
        if scores.shape[1] < 2 or not len(scores):
            none = np.zeros(len(scores), np.int64)
            return Doubts(none, none, np.ones(len(none)), np.ones(len(none)))
        first, second = best_of(scores, 2).T
        every = np.arange(len(scores))
        p = posterior(scores, self.scale_)
        sizes = self.sizes_.astype(np.float64)
        odds = np.full(len(scores), np.inf)
        np.divide(sizes[first], sizes[second], out=odds, where=sizes[second] > 0)
        return Doubts(first, second, p[every, first] - p[every, second], odds)

    def _limits(
        self, rows: Rows, scores: Floats, labels: Rows, pairs: PairVotes
    ) -> tuple[float, float]:
        """Δ and R as given, or the best of a grid on held-out documents."""
        deltas = DELTAS if self.delta is None else (self.delta,)
        ratios = RATIOS if self.ratio is None else (self.ratio,)
        if len(deltas) == len(ratios) == 1:
            return float(deltas[0]), float(ratios[0])
        doubts = self._doubts(scores)
        turned = pairs.turned(rows, doubts, doubts.open(max(deltas), min(ratios)))
        least = _f1(labels, doubts.first)[1]
        best, limits = -1.0, (0.0, float(max(ratios)))
        for delta, ratio in product(deltas, ratios):
            swap = turned & doubts.open(delta, ratio)
            macro, micro = _f1(labels, np.where(swap, doubts.second, doubts.first))
            if micro >= least and macro > best:
                best, limits = macro, (delta, ratio)
        return limits

    def _check(self) -> None:
        require_estimator(self.base)
        require_numbers(self, "votes", whole=True)
        require_numbers(self, "delta", "ratio", or_none=True)
        if self.votes < 1 or self.votes % 2 == 0:
            raise Mistake(f"votes is {self.votes}: give an odd number, 1 or more")
        if self.delta is not None and not 0 <= self.delta <= 1:
            raise Mistake(f"delta is {self.delta}: give a number from 0 to 1, or None")
        if self.ratio is not None and not self.ratio > 0:
            raise Mistake(f"ratio is {self.ratio}: give more than 0, or None")


def quicker(base: Any, learned: Any) -> Any:
    """The base as it is solved for a temperature; ``learned`` is it, fitted on all.

    Bases without a duality gap stay as they are. What a ``TaxonomyRanker`` has chosen
    is not chosen again.

    >>> quicker(CrammerSingerSVM(C=3.0), None)
    CrammerSingerSVM(C=3.0, tol=0.1)
    """
    if not isinstance(base, FlatClassifier | PreferenceRanker):
        return base
    estimator = type(base)(**base.get_params(deep=False))
    if isinstance(learned, TaxonomyRanker):
        estimator.set_params(**learned.setting_._asdict())
    return estimator.set_params(tol=max(base.tol, LOOSE))


def require_estimator(base: Any) -> None:
    """Refuse a name or a class where a classifier is wanted; None stands for one."""
    manners = ("get_params", "fit", "decision_function")
    able = all(hasattr(base, name) for name in manners)
    if base is not None and (isinstance(base, type) or not able):
        raise Mistake(
            f"base is {base!r}: give an estimator that has decision_function, as "
            "FlatClassifier('svm'), or None"
        )


def _apart(pair: Floats) -> Floats:
    """Both scores turned round; equal ones a little apart, the second above."""
    if pair[0] == pair[1]:
        return np.array([pair[0], np.nextafter(pair[0], np.inf)])
    return pair[::-1].copy()


def _f1(labels: Rows, predicted: Ints) -> tuple[float, float]:
    """Macro-F1 and micro-F1 of one class a document."""
    values = classification(
        labels, predicted, ["F1(macro)", "F1(micro)"], n_labels=labels.width
    )
    return values["F1(macro)"], values["F1(micro)"]


Arrays = dict[str, Array]


@dataclass(frozen=True)
class Votes:
    """What is needed to vote between two categories [Babbar14].

    rows : the documents learned from;  labels : Rows (n, categories);  scale : of the
    softmax that makes probabilities of scores;  delta, ratio, count : Δ, R and t of
    ``RareCategoryReranker``.
    """

    rows: Rows
    labels: Rows
    scale: float
    delta: float = 0.1
    ratio: float = 2.0
    count: int = 5

    @classmethod
    def fit(
        cls, rows: Rows, labels: Rows, held_out: Floats, held_out_labels: Rows
    ) -> Votes:
        """Votes over documents; the scale by held-out scores and their labels."""
        return cls(rows, labels, fitted_scale(held_out, held_out_labels))

    @cached_property
    def sizes(self) -> Floats:
        """How many documents each category has, shape (categories,)."""
        counts = np.bincount(self.labels.columns, minlength=self.labels.width)
        return counts.astype(np.float64)

    @cached_property
    def pairs(self) -> PairVotes:
        """The classifiers of pairs, learned when they are asked for."""
        return PairVotes(self.rows, self.labels, self.count, 0)

    def settled(self, rows: Rows, scores: Floats, numbers: Ints) -> Floats:
        """The scores, those of two categories exchanged where the votes say so.

        numbers : the label number of each column of ``scores``, −1 if it has none.
        """
        if scores.shape[1] < 2 or not len(scores):
            return scores
        columns = best_of(scores, 2)
        doubts = self._doubts(scores, columns, numbers)
        asking = doubts.open(self.delta, self.ratio)
        swapped = scores.copy()
        for at in np.flatnonzero(self.pairs.turned(rows, doubts, asking)):
            high, low = scores[at, columns[at]]
            apart = np.nextafter(low, np.inf) if high == low else high
            swapped[at, columns[at]] = low, apart
        return swapped

    def asked_again(self, scores: Floats, numbers: Ints) -> Bools:
        """Which documents are voted on: the two best are near, and the first larger."""
        if scores.shape[1] < 2 or not len(scores):
            return np.zeros(len(scores), np.bool_)
        doubts = self._doubts(scores, best_of(scores, 2), numbers)
        return doubts.open(self.delta, self.ratio)

    def _doubts(self, scores: Floats, columns: Ints, numbers: Ints) -> Doubts:
        every = np.arange(len(scores))
        p = posterior(scores, self.scale)
        first, second = numbers[columns].T
        sizes = np.append(self.sizes, 0.0)  # the last: of what was never learned
        odds = np.full(len(scores), np.inf)
        np.divide(sizes[first], sizes[second], out=odds, where=sizes[second] > 0)
        gap = p[every, columns[:, 0]] - p[every, columns[:, 1]]
        return Doubts(first, second, gap, odds)

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """What was learned, as arrays and settings."""
        arrays: Arrays = {}
        for name, part in (("rows", self.rows), ("labels", self.labels)):
            arrays |= {
                f"{name}_starts": part.starts,
                f"{name}_columns": part.columns,
                f"{name}_values": part.values,
            }
        return arrays, {
            "width": self.rows.width,
            "categories": self.labels.width,
            "scale": self.scale,
            "delta": self.delta,
            "ratio": self.ratio,
            "count": self.count,
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, settings: dict[str, Any]) -> Votes:
        """The votes that :meth:`to_arrays` described."""
        rows = _rows(arrays, "rows", settings["width"])
        labels = _rows(arrays, "labels", settings["categories"])
        limits = {name: settings[name] for name in ("scale", "delta", "ratio", "count")}
        return cls(rows, labels, **limits)


def _rows(arrays: Arrays, name: str, width: int) -> Rows:
    starts, columns, values = (
        arrays[f"{name}_{part}"] for part in ("starts", "columns", "values")
    )
    return Rows(starts, columns, values, width)


class VotedRanker(LinearRanker):
    """A fitted ranker, with votes between its two best categories where they are close.

    numbers : the label number, in ``votes``, of each category of the ranker; −1 for
    those that were not there when the votes were learned.
    """

    def __init__(
        self, ranker: LinearRanker, votes: Votes, numbers: Sequence[int]
    ) -> None:
        self.ranker = ranker
        self.votes = votes
        self.numbers = numbers

    def fit(self, X: Any, Y: Any) -> Self:  # noqa: ARG002 (the manners of a ranker)
        """Refuse: the ranker inside is fitted already."""
        raise Mistake("a VotedRanker holds a fitted ranker: fit that one")

    def decision_function(self, X: Any) -> Floats:
        """Scores of all categories, shape (documents, categories)."""
        rows = rows_from(X)
        numbers = np.asarray(self.numbers, np.int64)
        scores = self.ranker.decision_function(rows)
        return self.votes.settled(rows, scores, numbers)

    def evidence(self, X: Any, category: int) -> Evidence:
        """Each feature's part in the score of ``category`` for the one row of ``X``."""
        return self.ranker.evidence(X, category)

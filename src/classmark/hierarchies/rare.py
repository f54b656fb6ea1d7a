"""Rare categories: close calls in favour of large ones, made again on equal terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.clusters.parameters import require_numbers
from classmark.estimator import Estimator
from classmark.hierarchies.crammer_singer import CrammerSingerSVM
from classmark.hierarchies.flat import (
    FlatClassifier,
    categories_in,
    require_top,
    share_right,
)
from classmark.hierarchies.held_out import fitted, numbered, parted
from classmark.hierarchies.pairs import Doubts, PairVotes
from classmark.hierarchies.posterior import fitted_scale, posterior
from classmark.hierarchies.ranker import TaxonomyRanker
from classmark.measures import classification
from classmark.problems import Mistake
from classmark.progress import track
from classmark.randomness import Seed, generator
from classmark.rankers.preference import PreferenceRanker
from classmark.ranking import top as best_of
from classmark.sparse import Rows, rows_from, take

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
        rows, given = rows_from(X), categories_in(y)
        random = generator(self.random_state)
        base = CrammerSingerSVM() if self.base is None else self.base
        self._model = fitted(base, rows, given)
        self.base_, self.classes_ = self._model.model, self._model.classes
        labels = numbered(given, self.classes_)
        self.sizes_ = np.bincount(labels.columns, minlength=labels.width)
        seed = int(random.integers(2**31))
        self.pairs_ = PairVotes(rows, labels, self.votes, seed)
        learn, ask = parted(labels, HELD_OUT, random)
        if not len(ask):
            raise Mistake(
                "y: no class has a second document, and a temperature is fitted on "
                "documents held out: give one class two or more, or use the base alone"
            )
        held = fitted(
            quicker(base, self.base_), take(rows, learn), [given[i] for i in learn]
        )
        scores = held.scores(take(rows, ask).to_scipy(), self.classes_)
        asked = take(labels, ask)
        self.scale_ = fitted_scale(scores, asked)
        votes = PairVotes(take(rows, learn), take(labels, learn), self.votes, seed)
        self.delta_, self.ratio_ = self._limits(take(rows, ask), scores, asked, votes)
        return self

    def decision_function(self, X: Any) -> Floats:
        """The base's scores; where the vote turned two classes round, theirs change."""
        self._require_fitted()
        return np.concatenate(list(self._turned(rows_from(X))))

    def predict(self, X: Any) -> list[Any]:
        """The class of each document."""
        return [line[0] for line in self.rank(X, top=1)]

    def rank(self, X: Any, top: int | None = None) -> list[list[Any]]:
        """Classes of each document, best first: ``top`` of them, or all."""
        self._require_fitted()
        if top is not None:
            require_top(top)
        k = len(self.classes_) if top is None else top
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
        asked = 0
        for start in track(blocks, "classifying", len(blocks)):
            block = take(rows, np.arange(start, min(start + step, len(rows))))
            scores = self._model.scores(block.to_scipy())
            doubts = self._doubts(scores)
            asking = doubts.open(self.delta_, self.ratio_)
            asked += int(asking.sum())
            for at in np.flatnonzero(self.pairs_.turned(block, doubts, asking)):
                pair = [doubts.first[at], doubts.second[at]]
                scores[at, pair] = _apart(scores[at, pair])
            yield scores
        self.repredicted_ = asked / max(1, len(rows))

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
        best, found = -1.0, (0.0, float(max(ratios)))
        for delta, ratio in product(deltas, ratios):
            swap = turned & doubts.open(delta, ratio)
            macro, micro = _f1(labels, np.where(swap, doubts.second, doubts.first))
            if micro >= least and macro > best:
                best, found = macro, (delta, ratio)
        return found

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
    found = type(base)(**base.get_params(deep=False))
    if isinstance(learned, TaxonomyRanker):
        found.set_params(**learned.setting_._asdict())
    return found.set_params(tol=max(base.tol, LOOSE))


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
    found = classification(
        labels, predicted, ["F1(macro)", "F1(micro)"], n_labels=labels.width
    )
    return found["F1(macro)"], found["F1(micro)"]

"""Rare categories: close calls in favour of large ones, decided again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np

from classmark.arrays import (
    Array,
    Bools,
    Floats,
    Ints,
    Rows,
    rows_from,
    rows_in,
    take,
    transpose,
)
from classmark.estimator import parameters
from classmark.hierarchies.flat import (
    CrammerSingerSVM,
    FlatClassifier,
    ScoringClassifier,
)
from classmark.hierarchies.held_out import fitted, parted
from classmark.hierarchies.nodes import in_use
from classmark.hierarchies.places import as_given, categories_in, numbered
from classmark.hierarchies.taxonomy_ranker import TaxonomyRanker
from classmark.measures import classification
from classmark.problems import Mistake
from classmark.progress import track
from classmark.rankers.calibration import fitted_scale, posterior
from classmark.rankers.linear import Evidence, LinearRanker
from classmark.rankers.preference import PreferenceRanker
from classmark.ranking import top as best_of
from classmark.solvers.hinge import Hinges, ascend
from classmark.validation import Seed, generator, require_numbers

KEPT = 4096  # pairs whose classifiers are kept
COST, TOL = 1.0, 1e-2
Arrays = dict[str, Array]


class Doubts(NamedTuple):
    """The two best classes of each document, and how near they are.

    first, second : (n,) class numbers, −1 of a class that was not learned;  gap : (n,)
    p̂(first) − p̂(second);  odds : (n,) how many times as large the first is, inf if
    the second has nothing;  columns : (n, 2), where the scores of both are.
    """

    first: Ints
    second: Ints
    gap: Floats
    odds: Floats
    columns: Ints

    def open(self, delta: float, ratio: float) -> Bools:
        """Which documents are to be predicted again."""
        return (self.gap <= delta) & (self.odds >= ratio) & np.isfinite(self.odds)


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes between two classes, each of an SVM over a balanced draw of documents.

    For a pair {a, b}, ``count`` times: as many documents of the larger class as the
    smaller one has are drawn, without putting back, and ½‖w‖² + Σ hinge is minimised.
    Documents of both classes are left out. The draws of a pair depend on the seed and
    the pair alone; the classifiers of the last pairs are kept. [Babbar14]

    rows : the documents learned from;  labels : Rows (n, classes);  scale : of the
    softmax that makes probabilities of scores;  delta, ratio, count : Δ, R and t of
    ``RareCategoryReranker``.
    """

    rows: Rows
    labels: Rows
    scale: float
    delta: float = 0.1
    ratio: float = 2.0
    count: int = 5
    seed: int = 0

    @cached_property
    def sizes(self) -> Ints:
        """How many documents each class has, shape (classes,)."""
        return np.bincount(self.labels.columns, minlength=self.labels.width)

    @cached_property
    def owned(self) -> Rows:
        """The documents of each class, Rows (classes, n)."""
        return transpose(self.labels)

    @cached_property
    def cache(self) -> dict[tuple[int, int], tuple[Array, Floats] | None]:
        """The classifiers of the last pairs, as ``_learned`` gives them."""
        return {}

    def revoted(
        self, rows: Rows, scores: Floats, numbers: Ints
    ) -> tuple[Floats, Bools]:
        """The scores, those of two classes exchanged where the votes say so.

        numbers : the class number of each column of ``scores``, −1 if it has none.
        Returned beside them: which documents were voted on, because the two best are
        near and the first is the larger class.
        """
        if scores.shape[1] < 2 or not len(scores):
            return scores, np.zeros(len(scores), np.bool_)
        doubts = self.doubts(scores, numbers)
        asking = doubts.open(self.delta, self.ratio)
        swapped = scores.copy()
        for at in np.flatnonzero(self.second_wins(rows, doubts, asking)):
            high, low = scores[at, doubts.columns[at]]
            apart = np.nextafter(low, np.inf) if high == low else high
            swapped[at, doubts.columns[at]] = low, apart
        return swapped, asking

    def doubts(self, scores: Floats, numbers: Ints) -> Doubts:
        """The two best of two or more classes, for each document."""
        columns, p = best_of(scores, 2), posterior(scores, self.scale)
        first, second = numbers[columns].T
        sizes = np.append(self.sizes, 0).astype(np.float64)  # the last: never learned
        odds = np.full(len(scores), np.inf)
        np.divide(sizes[first], sizes[second], out=odds, where=sizes[second] > 0)
        likely = np.take_along_axis(p, columns, axis=1)
        return Doubts(first, second, likely[:, 0] - likely[:, 1], odds, columns)

    def second_wins(self, rows: Rows, doubts: Doubts, asking: Bools) -> Bools:
        """For which documents, of those asked again, most votes are for the second.

        A draw, or nothing to learn from, leaves the first.
        """
        wins, which = np.zeros(len(rows), np.bool_), np.flatnonzero(asking)
        for at in track(which, "predicting again", len(which)):
            first, second = int(doubts.first[at]), int(doubts.second[at])
            a, b = min(first, second), max(first, second)
            if (a, b) not in self.cache:
                if len(self.cache) >= KEPT:
                    self.cache.pop(next(iter(self.cache)))
                self.cache[a, b] = self._learned(a, b)
            voters = self.cache[a, b]
            if voters is None:
                continue
            features, weights = voters
            columns, values = rows.row(int(at))
            place = np.minimum(np.searchsorted(features, columns), len(features) - 1)
            shared = features[place] == columns
            scores = values[shared].astype(np.float64) @ weights[place[shared]]
            against = scores if second == a else -scores
            wins[at] = int((against > 0.0).sum()) * 2 > self.count
        return wins

    def _learned(self, a: int, b: int) -> tuple[Array, Floats] | None:
        """Features (m,), increasing, and weights (m, count), positive for class a."""
        of_a, of_b = (self.owned.row(c)[0].astype(np.int64) for c in (a, b))
        only_a = np.setdiff1d(of_a, of_b, assume_unique=True)
        only_b = np.setdiff1d(of_b, of_a, assume_unique=True)
        size = min(len(only_a), len(only_b))
        if not size:
            return None
        features, both = in_use(take(self.rows, np.concatenate((only_a, only_b))))
        if not len(features):
            return None
        random = np.random.default_rng((self.seed, a, b))
        weights = np.empty((len(features), self.count))
        signs = np.concatenate((np.ones(size), -np.ones(size)))
        for vote in range(self.count):
            first = random.permutation(len(only_a))[:size]
            second = len(only_a) + random.permutation(len(only_b))[:size]
            drawn = np.concatenate((first, second)).astype(np.uint32)
            hinges = Hinges(drawn, signs, np.full(2 * size, COST), np.ones(2 * size))
            weights[:, vote] = ascend([both], hinges, tol=TOL).weights
        return features, weights

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """What was learned, as arrays and settings."""
        arrays = self.rows.arrays("rows") | self.labels.arrays("labels")
        widths = {"width": self.rows.width, "categories": self.labels.width}
        return arrays, widths | {name: getattr(self, name) for name in LIMITS}

    @classmethod
    def from_arrays(cls, arrays: Arrays, settings: dict[str, Any]) -> Votes:
        """The votes that :meth:`to_arrays` described."""
        rows = rows_in(arrays, "rows", settings["width"])
        labels = rows_in(arrays, "labels", settings["categories"])
        return cls(rows, labels, **{name: settings[name] for name in LIMITS})


LIMITS = ("scale", "delta", "ratio", "count")
HELD_OUT = 0.2  # of the training documents
DELTAS = (0.02, 0.05, 0.1, 0.2, 0.3)  # what is tried where none is given
RATIOS = (1.5, 2.0, 3.0, 5.0)
LOOSE = 0.1  # the gap to which the copy is solved that a temperature is fitted on
CELLS = 1 << 23  # scores held together: 64 MiB


@parameters()
class RareCategoryReranker(ScoringClassifier):
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

    base: Any = None
    delta: float | None = 0.1
    ratio: float | None = 2.0
    votes: int = 5
    random_state: Seed = 0

    def fit(self, X: Any, y: Iterable[Any]) -> Self:
        """Learn from documents X, shape (n, features), and their classes."""
        self._check()
        rows, categories = self._taught_rows(X), categories_in(y)
        random = generator(self.random_state)
        base = CrammerSingerSVM() if self.base is None else self.base
        self._model = fitted(base, rows, categories)
        self.base_, self.classes_ = self._model.model, as_given(self._model.classes, y)
        labels = numbered(categories, self.classes_)
        seed = int(random.integers(2**31))
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
        truth = take(labels, ask)
        self.scale_ = fitted_scale(scores, truth)
        voters = Votes(
            take(rows, learn), take(labels, learn), self.scale_,
            count=self.votes, seed=seed,
        )  # fmt: skip
        limits = self._limits(take(rows, ask), scores, truth, voters)
        self.delta_, self.ratio_ = limits
        self.pairs_ = Votes(rows, labels, self.scale_, *limits, self.votes, seed)
        self.sizes_ = self.pairs_.sizes
        return self

    def _score_blocks(self, rows: Rows) -> Iterator[Floats]:
        """The base's scores, block after block, after the votes."""
        numbers = np.arange(len(self.classes_))
        step = max(1, CELLS // len(numbers))
        blocks = range(0, max(1, len(rows)), step)
        n_repredicted = 0
        for start in track(blocks, "classifying", len(blocks)):
            block = take(rows, np.arange(start, min(start + step, len(rows))))
            scores = self._model.scores(block.to_scipy())
            scores, asked = self.pairs_.revoted(block, scores, numbers)
            n_repredicted += int(asked.sum())
            yield scores
        self.repredicted_ = n_repredicted / max(1, len(rows))

    def _limits(
        self, rows: Rows, scores: Floats, labels: Rows, votes: Votes
    ) -> tuple[float, float]:
        """Δ and R as given, or the best of a grid on held-out documents."""
        deltas = DELTAS if self.delta is None else (self.delta,)
        ratios = RATIOS if self.ratio is None else (self.ratio,)
        if len(deltas) == len(ratios) == 1 or labels.width < 2:
            return float(deltas[0]), float(ratios[0])
        doubts = votes.doubts(scores, np.arange(labels.width))
        asking = doubts.open(max(deltas), min(ratios))
        turned = votes.second_wins(rows, doubts, asking)
        least = _f1(labels, doubts.first)[1]
        best, limits = -1.0, (0.0, float(max(ratios)))
        for delta, ratio in product(deltas, ratios):
            swap = turned & doubts.open(delta, ratio)
            macro, micro = _f1(labels, np.where(swap, doubts.second, doubts.first))
            if micro >= least and macro > best:
                best, limits = macro, (delta, ratio)
        return limits

    def _check(self) -> None:
        manners = ("get_params", "fit", "decision_function")
        able = all(hasattr(self.base, name) for name in manners)
        if self.base is not None and (isinstance(self.base, type) or not able):
            raise Mistake(
                f"base is {self.base!r}: give an estimator that has decision_function, "
                "as FlatClassifier('svm'), or None"
            )
        require_numbers(self, "votes", whole=True, least=1)
        require_numbers(self, "delta", or_none=True, least=0, most=1)
        require_numbers(self, "ratio", or_none=True, over=0)
        if self.votes % 2 == 0:
            raise Mistake(f"votes is {self.votes}: give an odd number")


def quicker(base: Any, learned: Any) -> Any:
    """The base as it is solved for a temperature; ``learned`` is it, fitted on all.

    Bases without a duality gap stay as they are. What a ranker has chosen is not chosen
    again.

    >>> quicker(CrammerSingerSVM(C=3.0), None)
    CrammerSingerSVM(C=3.0, tol=0.1)
    """
    if not isinstance(base, FlatClassifier | PreferenceRanker | TaxonomyRanker):
        return base
    estimator = type(base)(**base.get_params(deep=False))
    if setting := getattr(learned, "setting_", None):
        estimator.set_params(**setting._asdict())
    return estimator.set_params(tol=max(estimator.tol or LOOSE, LOOSE))


def _f1(labels: Rows, predicted: Ints) -> tuple[float, float]:
    """Macro-F1 and micro-F1 of one class a document."""
    values = classification(
        labels, predicted, ["F1(macro)", "F1(micro)"], n_labels=labels.width
    )
    return values["F1(macro)"], values["F1(micro)"]


@parameters()
class VotedRanker(LinearRanker):
    """A fitted ranker, with votes between its two best categories where they are close.

    numbers : the label number, in ``votes``, of each category of the ranker; −1 for
    those that were not there when the votes were learned.
    """

    ranker: LinearRanker
    votes: Votes
    numbers: Sequence[int]

    def fit(self, X: Any, Y: Any) -> Self:  # noqa: ARG002 (the manners of a ranker)
        """Refuse: the ranker inside is fitted already."""
        raise Mistake("a VotedRanker holds a fitted ranker: fit that one")

    def category_scores(self, X: Any) -> Floats:
        """Scores of all categories, shape (documents, categories)."""
        rows = rows_from(X)
        numbers = np.asarray(self.numbers, np.int64)
        scores = self.ranker.decision_function(rows)
        return self.votes.revoted(rows, scores, numbers)[0]

    def evidence(self, X: Any, category: int) -> Evidence:
        """Each feature's part in the score of ``category`` for the one row of ``X``."""
        return self.ranker.evidence(X, category)

    def matched_name(self, X: Any, category: int) -> tuple[str, float] | None:
        """The name of a category that the one row of ``X`` has, and what it adds."""
        return self.ranker.matched_name(X, category)

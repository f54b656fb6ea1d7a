"""On-line rankers: MMP and the perceptron rank a document, then learn its labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, field
from typing import Any, ClassVar, Self, cast

import numpy as np

from classmark.arrays import (
    Array,
    Floats,
    Ints,
    Rows,
    keep_columns,
    rows_from,
    stack,
    take,
)
from classmark.estimator import parameters, renamed
from classmark.preferences.graph import PreferenceGraph
from classmark.preferences.labels import labels_from
from classmark.problems import Mistake, not_fitted
from classmark.progress import track
from classmark.rankers.linear import DENSE_LIMIT, LiveRanker, Words
from classmark.solvers.centers import Center
from classmark.solvers.hinge import Similarity, kernel_of
from classmark.solvers.kernels_online import ERRORS, ONE, PAIRS, PERCEPTRON
from classmark.solvers.live_documents import Lesson
from classmark.solvers.online import LivePrototypes, Prototypes, Supports
from classmark.solvers.preference_beside import LiveDualBeside
from classmark.validation import Seed, generator, require_numbers

BESIDE = "sparse live"  # the name by which a RankerBeside is kept


def scaled(rows: Rows, factors: Floats) -> Rows:
    """Each row times its factor.

    >>> scaled(rows_from([[1.0], [2.0]]), np.array([2.0, 3.0])).values.tolist()
    [2.0, 6.0]
    """
    values = rows.values * np.repeat(factors, np.diff(rows.starts))
    kind = rows.values.dtype
    return Rows(rows.starts, rows.columns, values.astype(kind), rows.width)


@parameters(budget="max_documents")
class OnlineRanker(LiveRanker):
    """Learns by additive steps, w_r ← w_r + τ_r x, one document at a time.

    The ``loss``, a code of the kernels, says what τ is; passes, growth, means, votes
    and kernels are the same for all. What ``fit`` and ``partial_fit`` leave behind:

    weights_ : shape (features, categories), the prototypes or their mean; without
        ``average`` a view, which moves on. Of votes, which are no sum over features,
        the mean as well. Refused with a kernel.
    losses_ : shape (rounds, 3), losses 1 to 3 of each round, before learning from it.
    n_rounds_ : how many documents were learned from, each pass counted.
    """

    _grows = False
    _losses: ClassVar[tuple[int, ...]] = (ERRORS, ONE, PAIRS)

    loss: int = 3
    passes: int = 1
    average: bool = False
    kernel: str | Similarity | None = None
    _: KW_ONLY
    vote: bool = False
    max_documents: int | None = None
    gamma: float = 1.0
    degree: int = 2
    coef0: float = 1.0
    shuffle: bool = True
    random_state: Seed = 0
    taught_: tuple[Rows, Rows] | None = None

    @property
    def weight_bytes(self) -> int:
        """Of the prototypes and their mean; none, where there are only documents."""
        if self.kernel is not None or self.vote:
            return 0
        return 32 if self.average else 8

    @renamed(Y="y")
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Start from zero and go ``passes`` times through the documents.

        With ``shuffle`` in another order each time: that of a file, sorted by category
        for instance, teaches the last category best.

        sample_weight : (n,), what the steps of each document are multiplied by.
        """
        rule = self._checked_rule()
        rows, taught, weights = self._taught(X, y, sample_weight)
        labels = labels_from(taught, len(rows))
        if weights is not None:
            if self.kernel is not None or self.vote:
                raise Mistake("sample_weight needs kernel=None and vote=False")
            rows = scaled(rows, weights)  # which errors are made does not change
        self._model, self._grows = self._fresh(), False
        self.taught_, self.live_ = (rows, labels), None
        orders = generator(self.random_state)
        for _ in track(range(self.passes), "passes", self.passes):
            if self.shuffle:
                order = orders.permutation(len(rows))
                self._learn(rule, take(rows, order), take(labels, order))
            else:
                self._learn(rule, rows, labels)
        self._remember(rows, labels)
        return self

    def partial_fit(
        self, X: Any, Y: Any, n_labels: int | None = None, *, classes: Any = None
    ) -> Self:
        """Learn from these documents, once and in order, going on from what is known.

        X may have more features than before and Y more labels: they begin with zeros.
        From then on X may have any width: a feature never seen has no weight.

        n_labels : how many categories there are; never fewer than are known.
        classes : what they are called, where ``Y`` names them; others come after them.

        >>> ranker = MMP().partial_fit([[1.0, 0.0]], [[1]], n_labels=2)
        >>> ranker.partial_fit([[0.0, 1.0, 1.0]], [[2]]).coef_.shape
        (3, 3)
        """
        rule = self._checked_rule()
        rows = self._more_rows(X)
        if not self.__sklearn_is_fitted__():
            self._model = self._fresh()
        n_learned = self._model.labels
        if n_labels is not None and n_labels < n_learned:
            raise Mistake(
                f"n_labels is {n_labels}, the ranker knows {n_learned} labels: "
                f"give {n_learned} or more"
            )
        Y = self._more_names(Y, len(rows), classes, n_labels)
        labels = labels_from(Y, len(rows), n_labels)
        self._grows = True
        self._learn(rule, rows, labels)
        self.n_features_in_ = self._model.features
        return self

    def _learn(self, rule: int, rows: Rows, labels: Rows) -> None:
        model = self._model
        if isinstance(model, Prototypes):
            features = max(rows.width, model.features)
            categories = max(labels.width, model.labels)
            if features * categories > DENSE_LIMIT:
                raise Mistake(
                    f"{features} features × {categories} categories need "
                    f"{8 * features * categories / 2**30:.0f} GiB: select features "
                    "first (select_features), or use Rocchio, whose weights are sparse"
                )
        model.learn(rule, rows, labels)
        self.n_rounds_ = len(model.rounds)

    def _fresh(self) -> Prototypes | Supports:
        if self.kernel is None and not self.vote:
            return Prototypes(average=self.average)
        return Supports(kernel_of(self), self.average, self.vote, self.max_documents)

    @property
    def losses_(self) -> Floats:
        """Losses 1 to 3 of each round, shape (rounds, 3)."""
        self._require_learned()
        return self._model.rounds.array

    @property
    def weights_(self) -> Array:
        """The prototypes (or their mean) as columns, shape (features, categories)."""
        self._require_learned()
        if self.kernel is not None:
            raise Mistake(
                "with a kernel there are no weights by feature to look at or to save: "
                "use kernel=None"
            )
        return self._model.weights()

    @weights_.setter
    def weights_(self, weights: Array) -> None:
        """Take saved prototypes: rounds are counted from here."""
        if not self.vote:
            self._model = Prototypes.of(weights, average=self.average)
        self.n_rounds_ = 0

    @property
    def supports(self) -> dict[str, Array]:
        """With votes, the documents that led to an update, and the steps they were."""
        return self._model.to_arrays() if isinstance(self._model, Supports) else {}

    @supports.setter
    def supports(self, arrays: Mapping[str, Array]) -> None:
        if self.vote:
            self._model = model = Supports(kernel_of(self), vote=True)
            model.resume(arrays)
            self.n_rounds_ = len(model.rounds)

    @property
    def can_go_on(self) -> bool:
        """Whether documents can be taught one by one: not by votes or with a kernel."""
        return self.kernel is None and not self.vote

    def begin_stream(self) -> None:
        """Be ready to learn document by document, from what ``fit`` has learned."""
        rule = self._checked_rule()
        if not self.can_go_on:
            raise Mistake(
                "with a kernel or votes a ranker does not learn decision by decision: "
                "use kernel=None and vote=False"
            )
        if not self.__sklearn_is_fitted__():
            self._model = self._fresh()
        rows, labels = self.taught_ or (stack([]), stack([]))
        lessons = (
            self.lesson(rows.row(i), labels.row(i)[0].tolist())
            for i in range(len(rows))
        )
        self.live_ = LivePrototypes(rule, cast("Prototypes", self._model), lessons)
        self.taught_ = None
        self.show_stream()

    def lesson(self, words: Words, labels: PreferenceGraph | Sequence[int]) -> Any:
        """What labels say of a document with these words; a graph is refused."""
        if isinstance(labels, PreferenceGraph):
            raise Mistake(
                f"{type(self).__name__} learns from labels: give their numbers, or "
                "use PreferenceRanker, which learns from preferences"
            )
        numbers = np.asarray(labels, np.uint32)
        return Lesson(*words, numbers, np.ones(len(numbers), np.float32))

    def stream_arrays(self) -> dict[str, Array]:
        """Everything that decides what is learned next, and ``weights``."""
        if self.live_ is None:
            raise Mistake("no document was learned by itself: call begin_stream first")
        arrays: dict[str, Array] = self.live_.to_arrays()
        return arrays

    def open_stream(self, arrays: Mapping[str, Array]) -> None:
        """Go on from what ``stream_arrays`` described."""
        self.live_ = LivePrototypes.from_arrays(arrays, self._checked_rule())
        self._model = self.live_.prototypes
        self.show_stream()

    def show_stream(self) -> None:
        """Count the rounds so far: the prototypes are shown as they move."""
        self.n_rounds_ = len(self._model.rounds)

    def revisit(self, count: int | None = None) -> int:  # noqa: ARG002 (the manners)
        """No document is visited again: return 0."""
        return 0

    def _weights_of(self, columns: Ints) -> Any:
        if isinstance(self._model, Prototypes):
            return self._model.rows(columns)
        return super()._weights_of(columns)

    @property
    def coef_(self) -> Floats:
        """The prototypes as rows, shape (categories, features); a copy."""
        return super().coef_.copy()

    def category_scores(self, X: Any) -> Floats:
        """Scores of all categories, shape (documents, categories).

        With votes: the mean number of categories each one is put above.
        """
        self._require_fitted()
        if self.live_ is not None:
            return self._live_scores(X)
        width = self._model.features
        rows = rows_from(X) if self._grows else self._rows_as_taught(X, width)
        if rows.width > width:
            rows = keep_columns(rows, np.arange(width))
        return self._model.scores(rows.with_width(width))

    def _require_learned(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(type(self).__name__)

    def _checked_rule(self) -> int:
        require_numbers(self, "passes", whole=True, least=1)
        require_numbers(self, "max_documents", whole=True, or_none=True, least=1)
        if self.vote and (self.average or self.max_documents is not None):
            raise Mistake(
                "vote needs every update: use it without average and max_documents"
            )
        if self.max_documents is not None and self.kernel is None:
            raise Mistake(
                "max_documents counts the documents a kernel needs: give a kernel"
            )
        if self.loss not in self._losses:
            raise Mistake(f"loss is {self.loss!r}: use 1, 2 or 3")
        return self.loss


@parameters(budget="max_documents")
class MMP(OnlineRanker):
    """One prototype per category, moved when the ranking is wrong [CrammerSinger03].

    E = {(r, s) : r ∈ Y, s ∉ Y, ⟨w_r, x⟩ ≤ ⟨w_s, x⟩}; where it is not empty,
    w_r ← w_r + (n_r/c) x for r ∈ Y and w_s ← w_s − (n_s/c) x for s ∉ Y, n being the
    number of pairs of E a category is in.

    loss : what one round costs, and with it c. 1: [E ≠ ∅], c = #E. 2: #E, c = 1.
        3: #E / (#Y·(k − #Y)), c = #Y·(k − #Y).
    passes : how often ``fit`` goes through the documents.
    average : rank with the mean of the prototypes after each round, not the last.
    kernel : None for linear scores; "linear", "polynomial", "rbf" (with ``gamma``,
        ``degree``, ``coef0``) or a function of two matrices. The documents that led to
        an update are then kept (once for each update).
    vote : rank by the votes of all prototypes along the way, each as often as the
        rounds it lasted; a vote gives the category in place p of k k − p points.
    max_documents : of a kernel; beyond, one is forgotten: with loss 1
        the oldest, with losses 2 and 3 the one that moved the prototypes least.
    shuffle : whether ``fit`` goes through the documents in another order each pass;
        ``partial_fit`` takes them as they come.  random_state : the seed of the orders.

    >>> ranker = MMP(loss=2, shuffle=False)
    >>> ranker = ranker.fit([[1.0, 0.0], [0.0, 1.0]], [[0], [1, 2]])
    >>> ranker.coef_.tolist()
    [[2.0, -2.0], [-1.0, 1.0], [-1.0, 1.0]]
    >>> ranker.losses_.tolist()
    [[1.0, 2.0, 1.0], [1.0, 2.0, 1.0]]
    """


@parameters(budget="max_documents")
class CategoryPerceptron(OnlineRanker):
    """Binary perceptrons, one per category, over the same stream of documents.

    When y_r ⟨w_r, x⟩ ≤ 0: w_r ← w_r + y_r x, with y_r = ±1 [Rosenblatt58]; the baseline
    of [CrammerSinger03].

    passes : how often ``fit`` goes through the documents.
    average : rank with the mean of the prototypes after each round, not the last.
    kernel, vote, max_documents, gamma, degree, coef0, shuffle, random_state : as for
        ``MMP``.
    """

    _losses = (PERCEPTRON,)
    loss: int = field(default=PERCEPTRON, init=False)
    max_documents: int | None = None


@parameters()
class RankerBeside(LiveRanker):
    """What documents teach one by one beside what was learned before (``Center``).

    That stays as it is, in its file. Documents teach labels, not listed preferences.

    C : the price of a violation.
    """

    C: float = 1.0
    _: KW_ONLY
    time_budget: float | None = None

    def go_on_from(self, center: Center, count: int = 0) -> Self:
        """Begin; count : how many documents have handles already, which come first."""
        self.live_ = LiveDualBeside(center, self.C, count)
        return self

    def fresh(self) -> Self:
        """One that has learned nothing yet beside the same center."""
        return type(self)(**self.get_params()).go_on_from(self.live_.center)

    def fit(self, X: Any, Y: Any) -> Self:  # noqa: ARG002 (the manners of a ranker)
        """Refuse: it goes on from what was learned before."""
        raise Mistake(f"a {type(self).__name__} goes on from a fitted ranker: fit that")

    @property
    def kept_as(self) -> tuple[str, dict[str, Any]]:
        """It is saved without the center."""
        return BESIDE, self.get_params()

    @property
    def can_go_on(self) -> bool:
        """Documents can be taught one by one."""
        return True

    def begin_stream(self) -> None:
        """Nothing: it is ready."""

    def lesson(self, words: Words, labels: PreferenceGraph | Sequence[int]) -> Any:
        """What labels say of a document with these words; a graph is refused."""
        if isinstance(labels, PreferenceGraph):
            raise Mistake("only labels teach beside a model: give their numbers")
        numbers = np.asarray(labels, np.uint32)
        return Lesson(*words, numbers, np.ones(len(numbers), np.float32))

    def stream_arrays(self) -> dict[str, Array]:
        """Everything that decides what is learned next, but for the center."""
        arrays: dict[str, Array] = self.live_.to_arrays()
        return arrays

    def open_stream(self, arrays: Mapping[str, Array]) -> None:
        """Go on from what ``stream_arrays`` described, beside the center it has."""
        self.live_.resume(arrays)

    def show_stream(self) -> None:
        """Nothing: what was learned is known by the duals."""

    def revisit(self, count: int | None = None) -> int:
        """Visit documents again; return how many visits."""
        if count is None:
            return int(self.live_.revisit_for(self.time_budget or 0.0))
        return int(self.live_.revisit(count))

    def category_scores(self, X: Any) -> Floats:
        """Scores of all categories, shape (documents, categories)."""
        return self._live_scores(X)

    def _documents(self, X: Any) -> Rows:
        return rows_from(X)

    def _weights_of(self, columns: Ints) -> Any:
        live = self.live_
        before = live.center.weights_of(columns, live.n_labels, live.joined)
        return (before + live.W[columns]).tocsr()

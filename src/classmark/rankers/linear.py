"""Rankers with one prototype per category; the score of category r is ⟨w_r, x⟩."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Array, Csr, Floats, Ints, Rows, rows_from
from classmark.estimator import parameters, renamed
from classmark.kernels import scores_of
from classmark.preferences.graph import Loss, PreferenceGraph, short_name
from classmark.preferences.labels import labels_from
from classmark.preferences.losses import loss_from
from classmark.problems import Mistake, TooLittleMemory
from classmark.rankers.classes import RankingClassifier
from classmark.ranking import order, rank_of, top
from classmark.solvers.ascent import ascend
from classmark.solvers.multinomial import OddsDual
from classmark.solvers.smooth import (
    MEMORY,
    DocumentLoss,
    EdgeLoss,
    Objective,
    Smoothing,
    boost,
    minimise,
    require_penalty,
)
from classmark.validation import byte_size, bytes_text, require_k, require_numbers
from classmark.weighting.selection import rocchio_weights

Words = tuple[NDArray[np.uint32], Array]
ARRAYS = {
    "lbfgs": 2 * MEMORY + 10,
    "boosting": 8,
    "dual": 1,
}  # of the size of the weights
USUAL_C = 30.0  # of the loss, for classes
DENSE_LIMIT = 1 << 29  # weights: 4 GiB in float64


@dataclass(frozen=True, slots=True)
class Evidence:
    """The features for a category and those against it.

    A feature's part is x_j (w_{r,j} − mean_s w_{s,j}): what it adds to the category's
    score beyond what it adds to the average category. The parts sum to the score's
    distance from the mean score.
    """

    features: Ints
    parts: Floats

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return float(self.parts.sum())

    def split(self, columns: int | slice) -> tuple[Evidence, Evidence]:
        """The features outside a range of columns, and those in it.

        A number stands for all columns from it on. The ``meaning_columns`` of a
        vectorizer tell words from meaning.

        >>> evidence = Evidence(np.array([0, 7, 9]), np.array([0.5, 0.25, 2.0]))
        >>> [side.total for side in evidence.split(3)]
        [0.5, 2.25]
        >>> [side.total for side in evidence.split(slice(3, 8))]
        [2.5, 0.25]
        """
        if not isinstance(columns, slice):
            columns = slice(columns, np.inf)
        is_in = (self.features >= columns.start) & (self.features < columns.stop)
        sides = (~is_in, is_in)
        first, rest = (Evidence(self.features[s], self.parts[s]) for s in sides)
        return first, rest

    def strongest(self, n: int) -> tuple[list[tuple[int, float]], ...]:
        """The ``n`` features most for and the ``n`` most against, strongest first."""
        place = np.argsort(-self.parts, kind="stable")
        ends = (place[:n], place[::-1][:n])
        favour, against = (
            list(zip(self.features[i].tolist(), self.parts[i].tolist(), strict=True))
            for i in ends
        )
        return [p for p in favour if p[1] > 0], [p for p in against if p[1] < 0]


class Standing(NamedTuple):
    """Where a category stands for a document: its rank from 1, and its score."""

    rank: int
    score: float


class LinearRanker(RankingClassifier, ABC):
    """Ranks categories by a linear score; subclasses learn ``weights_``.

    weights_ : shape (features, categories), a dense array or a scipy sparse matrix: the
        prototypes as columns, so that a document's scores are a sum of rows.
    thresholds_ : shape (categories,), taken off the scores; None where there are none.
    limits : shape (categories,), the scores above which categories belong to a
        document; None where the ranker only orders them.
    classes_ : what the categories are called, see ``RankingClassifier``.
    takes_graphs : whether it learns from preference graphs as well as from labels.
    descends : whether a score is the logarithm of the probability of a way down a tree;
        then ``best(X, k)`` finds the best without the scores of all, of ``n_ranked``.
    """

    takes_graphs: ClassVar[bool] = False
    descends: ClassVar[bool] = False

    @property
    def ranks_any(self) -> bool:
        """Whether some category is not hidden, and has a score."""
        return True

    @property
    def takes_thresholds(self) -> bool:
        """Whether the graphs may compare labels with the threshold."""
        return False

    @property
    def weighs_columns(self) -> bool:
        """Whether its weights, and its evidence, are of the columns of X.

        With a kernel it has neither.
        """
        return getattr(self, "kernel", None) is None

    weights_: Floats | Csr
    thresholds_: Floats | None = None

    @property
    def simple(self) -> LinearRanker:
        """What it is once it has learned: itself, or the simpler ranker it holds."""
        return self

    @property
    def kept_as(self) -> tuple[str, dict[str, Any]]:
        """The name of the learner and the parameters by which it is saved and opened.

        "" stands for the name its class is known by. One that is something simpler
        once it has learned says so.
        """
        return "", self.get_params()

    @property
    def weight_bytes(self) -> int:
        """What learning takes for each feature and category; 0 where it is sparse."""
        return 0

    @property
    def supports(self) -> dict[str, Array]:
        """Arrays that scores need beside the weights; none where they are linear."""
        return {}

    @supports.setter
    def supports(self, arrays: Mapping[str, Array]) -> None:
        """Have the arrays of a saved ranker."""

    @abstractmethod
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from documents X, shape (n, features), and their labels y.

        y : an indicator or grade matrix (n, k); lists or sets of label numbers or
        names; or one label for each document, of any name.
        """

    @property
    def coef_(self) -> Floats:
        """The prototypes as rows, dense, shape (categories, features)."""
        self._require_fitted()
        from scipy.sparse import issparse

        if not issparse(self.weights_):
            return np.asarray(self.weights_).T
        features, categories = self.weights_.shape
        if features * categories > DENSE_LIMIT:
            raise Mistake(
                f"coef_ would need {8 * features * categories / 2**30:.0f} GiB: use "
                "weights_, the same numbers as a sparse matrix (features, categories)"
            )
        return np.asarray(self.weights_.toarray()).T

    def category_scores(self, X: Any) -> Floats:
        """Scores of all categories, shape (documents, categories)."""
        scores = self._scores(X)
        return scores if self.thresholds_ is None else scores - self.thresholds_

    def _scores(self, X: Any) -> Floats:
        """Scores before the thresholds are taken off."""
        scores = self._documents(X).to_scipy() @ self.weights_
        dense = scores.toarray() if hasattr(scores, "toarray") else scores
        return np.asarray(dense, dtype=np.float64)

    @renamed(top="k")
    def rank(self, X: Any, k: int | None = None) -> Ints:
        """Category numbers, best first, shape (documents, k or all)."""
        scores = self.category_scores(X)
        if k is None:
            return order(scores)
        require_k(k)
        return top(scores, k)

    def ranks(self, X: Any, categories: Sequence[int]) -> list[Standing | None]:
        """Where some categories stand for the one row of ``X``; None: not ranked."""
        scores = self.decision_function(X)[0]
        return [
            Standing(rank_of(scores, category), float(scores[category]))
            if scores[category] > -np.inf
            else None
            for category in categories
        ]

    def evidence(self, X: Any, category: int) -> Evidence:
        """Each feature's part in the score of ``category`` for the one row of ``X``."""
        rows = self._documents(X)
        if len(rows) != 1:
            raise Mistake(f"X has {len(rows)} rows: evidence is shown for one document")
        columns, values = rows.row(0)
        weights = self._weights_of(columns.astype(np.int64))
        column = weights[:, [category]]
        column = column.toarray() if hasattr(column, "toarray") else column
        centred = np.ravel(column) - np.ravel(weights.mean(axis=1))
        return Evidence(columns.astype(np.int64), values.astype(np.float64) * centred)

    def matched_name(self, X: Any, category: int) -> tuple[str, float] | None:  # noqa: ARG002 (as rankers with names answer)
        """The name of a category that the one row of ``X`` has, and what it adds."""
        return None

    def _weights_of(self, columns: Ints) -> Any:
        """The weights of some features, shape (columns, categories)."""
        return self.weights_[columns]

    def _documents(self, X: Any) -> Rows:
        self._require_fitted()
        return self._rows_as_taught(X, self.weights_.shape[0])


class LiveRanker(LinearRanker):
    """A ranker that documents teach one by one, as they come and are decided anew.

    live_ : what learns from then on, and ranks: a ``LiveDual``, or what has its
        manners; None before ``begin_stream``.
    """

    live_: Any = None

    @property
    @abstractmethod
    def can_go_on(self) -> bool:
        """Whether documents can be taught one by one after what ``fit`` has learned."""

    @abstractmethod
    def begin_stream(self) -> None:
        """Be ready to learn document by document, from what ``fit`` has learned."""

    @abstractmethod
    def lesson(self, words: Words, labels: PreferenceGraph | Sequence[int]) -> Any:
        """What labels, or a graph, say of a document with these words: a ``Lesson``."""

    @abstractmethod
    def stream_arrays(self) -> dict[str, Array]:
        """Everything that decides what is learned next, and ``weights``, ``retired``.

        Opened again and gone on with, it is the same, bit by bit, as if never closed.
        """

    @abstractmethod
    def open_stream(self, arrays: Mapping[str, Array]) -> None:
        """Go on from what ``stream_arrays`` described."""

    @abstractmethod
    def show_stream(self) -> None:
        """Have the weights of the documents learned one by one so far."""

    @abstractmethod
    def revisit(self, count: int | None = None) -> int:
        """Visit documents again: ``count``, or as set; return how many visits."""

    @property
    def ranks_any(self) -> bool:
        """Whether some category is not hidden."""
        return self.live_ is None or len(self.live_.retired) < self.live_.n_labels

    def _live_scores(self, X: Any) -> Floats:
        """Scores by what is live; those of hidden categories are −inf."""
        rows, live = rows_from(X), self.live_
        each = [live.scores(*rows.row(i)) for i in range(len(rows))]
        scores = np.array(each, float).reshape(len(rows), live.n_labels)
        scores[:, list(live.retired)] = -np.inf
        return scores


class FixedRanker(LinearRanker):
    """Weights that were learned document by document, to rank by and no more.

    weights : shape (features, categories);  hidden : categories that are not ranked;
    limits : those of the ranker that has learned the weights.
    The scores are, to the bit, those of the ranker that has learned the weights.
    """

    def __init__(
        self, weights: Floats, hidden: Sequence[int], limits: Floats | None = None
    ) -> None:
        self.weights_, self.hidden, self._limits = weights, hidden, limits

    @property
    def ranks_any(self) -> bool:
        """Whether some category is not hidden."""
        return bool(len(self.hidden) < self.weights_.shape[1])

    @property
    def limits(self) -> Floats | None:
        """The scores above which categories belong, (categories,); None if unknown."""
        return self._limits

    def fit(self, X: Any, Y: Any) -> Self:  # noqa: ARG002 (the manners of a ranker)
        """Refuse: its weights were learned before."""
        raise Mistake("a FixedRanker only ranks: fit the ranker it was saved by")

    def _scores(self, X: Any) -> Floats:
        rows, weights = self._documents(X), np.asarray(self.weights_)
        scores = np.empty((len(rows), weights.shape[1]), weights.dtype)
        for i, row in enumerate(scores):
            columns, values = rows.row(i)
            scores_of(columns, values.astype(weights.dtype, copy=False), weights, row)
        shown = scores.astype(np.float64)
        shown[:, self.hidden] = -np.inf
        return shown


@parameters()
class Rocchio(LinearRanker):
    """Prototypes from means.

    w_r = max(0, β · mean of x with r − γ · mean of x without r), each to unit norm
    [Rocchio71], with β = 16, γ = 4 as in [CrammerSinger03].

    Weights can be positive only where a document of the category has the term, so they
    are kept sparse: the cost is that of one sparse product. ``document_shares_``, (k,),
    is what each document of a label adds to the unit prototype, β/n before its length
    is taken off.

    >>> Rocchio().fit([[1.0, 0.0], [0.0, 1.0]], [[0], [1]]).rank([[0.2, 0.9]]).tolist()
    [[1, 0]]
    """

    _poor_score = True  # weights below 0 are cut, which suits words

    beta: float = 16.0
    gamma: float = 4.0

    @renamed(Y="y")
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from documents X, shape (n, features), and their labels.

        sample_weight : (n,), as which part of a document each counts in the means.
        """
        rows, taught, weights = self._taught(X, y, sample_weight)
        labels = labels_from(taught, len(rows))
        belongs = labels.to_scipy()
        belongs.data = np.ones(len(belongs.data))
        documents, n = rows.to_scipy().astype(np.float64), float(len(rows))
        if weights is None:
            total: Any = np.asarray(documents.sum(axis=0)).ravel()
        else:
            total, n = documents.T @ weights, float(weights.sum())
            belongs.data *= np.repeat(weights, np.diff(labels.starts))
        sums = (documents.T @ belongs).tocsc().T  # (k, features)
        size: Any = np.asarray(belongs.sum(axis=0)).ravel()
        owner = np.repeat(np.arange(len(size)), np.diff(sums.indptr))
        sums.data = rocchio_weights(
            sums.data, total[sums.indices], size[owner], n, self.beta, self.gamma
        )
        length = np.sqrt(np.bincount(owner, sums.data**2, minlength=len(size)))
        length = np.where(length > 0, length, 1.0)
        sums.data /= length[owner]
        sums.eliminate_zeros()
        self.weights_ = sums.T.tocsr()
        self.document_shares_ = self.beta / (np.maximum(size, 1.0) * length)
        self._remember(rows, labels)
        return self


@parameters(decomposition="loss")
class LogLinearRanker(LinearRanker):
    """Label ranking from preference graphs [DekelManningSinger03].

    Minimises L = Σ_i (1/s_i) Σ_k ln(1 + Σ_{e ∈ E_k} exp(f(term e) − f(init e))) over
    f(x, y) = ⟨w_y, x⟩, with ``features`` Σ_j λ_j h_j(x, y); with C, penalty(W) + C·L.

    loss : which edges of a document's graph stand together in a group E_k: "zero-one"
        all, "dis" (disagreement) none, "dom" (domination) those from one label, "dme"
        (dominated) those to one label; or a function from a graph to groups.
    solver : "lbfgs"; "boosting", the paper's parallel updates, slow; or "dual", exact
        steps document by document, which is fast, for labels without grades, "dom", C
        and "l2". "auto": "dual" where it can be and ``y`` names the labels, else
        "lbfgs".
    max_iter, tol : stop after so many iterations, or when the largest slope is tol
        times that of the start ("dual": the relative duality gap is tol). tol None is
        1e-5, of "dual" 1e-2.
    C : weight of the loss against the penalty; None for no penalty, as in the paper:
        then the optimum need not be unique, nor finite. "auto": 30 where ``y`` names
        the labels and the solver is not "boosting", else None.
    memory : what one array of features × labels may take; more is refused.
    penalty : "l2", ½‖W‖²; or "natural", Σ ln(1 + e^λ) + ln(1 + e^−λ) over all weights,
        which makes the optimum unique for boosting too [DekelShalevSinger03].
    smoothing : of boosting's steps Λ = ½ ln((W+/m + s) / (W−/m + s)), W± being sums
        over m documents; "auto": s = 1/m, or 0 with C. 0 is the step as printed, which
        moves words of few documents furthest.
    features : h, a function of documents, a scipy matrix of shape (n, columns), and of
        the number k of labels, to a matrix of shape (n·k, p): h(x, 0), …, h(x, k − 1)
        of the first document, of the second, …; None: h is x in the place of y, zeros
        elsewhere. Boosting lists the edges of all graphs, L-BFGS none. ``weights_`` is
        then λ, shape (p, 1).

    loss_curve_ : L, without penalty, after each iteration ("dual": at the end);
    n_iter_ : their number;  objective_ : the value minimised.

    >>> ranker = LogLinearRanker(C=1.0).fit([[1.0, 0.0], [0.0, 1.0]], [[0], [1]])
    >>> ranker.rank([[0.2, 0.9]]).tolist(), round(ranker.objective_, 4)
    ([[1, 0]], 1.0509)
    """

    takes_graphs = True

    loss: Loss = "dom"
    _: KW_ONLY
    solver: Literal["auto", "lbfgs", "boosting", "dual"] = "auto"
    max_iter: int = 1000
    C: float | Literal["auto"] | None = "auto"
    tol: float | None = None
    penalty: Literal["l2", "natural"] = "l2"
    smoothing: Smoothing = "auto"
    features: Callable[[Any, int], Any] | None = None
    memory: str | float = "2GB"

    @property
    def weight_bytes(self) -> int:
        """Of the weights, their gradient, and the steps that the solver remembers."""
        return 8 * ARRAYS.get(self.solver, ARRAYS["lbfgs"])

    @renamed(Y="y")
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from documents X, shape (n, features), and their preferences.

        y : labels or grades, or a list of n preference graphs;  sample_weight : (n,),
        what each document's loss is multiplied by.
        """
        require_numbers(self, "max_iter", whole=True, least=1)
        require_numbers(self, "tol", or_none=True, least=0)
        rows, Y, weights = self._taught(X, y, sample_weight)
        solver, C = self._chosen(Y)
        require_penalty(self.penalty, C)
        boosting = solver == "boosting"
        listed = boosting and self.features is not None
        loss = loss_from(Y, self.loss, len(rows), edges=listed)
        self.n_labels_ = loss.n_labels
        paired = rows if self.features is None else self._paired(rows)
        self._require_room(paired.width * (loss.n_labels if paired is rows else 1))
        tol = self.tol if self.tol is not None else 1e-2 if solver == "dual" else 1e-5
        stop: Any = {"max_iter": self.max_iter, "tol": tol}
        if solver == "dual":
            dual = OddsDual(rows, Y, float(C or 0.0), weights)
            solution = ascend(dual, tol, self.max_iter)
            half = 0.5 * float(np.vdot(solution.weights, solution.weights))
            solution.losses.append((solution.objective - half) / float(C or 1.0))
        else:
            documents: Any = (
                EdgeLoss(paired, loss, weights)
                if listed
                else DocumentLoss(paired, loss, weights, pairs=paired is not rows)
            )
            if boosting:
                solution = boost(documents, self.smoothing, C=C, **stop)
            else:
                solution = minimise(Objective(documents, C, self.penalty), **stop)
        self.weights_ = solution.weights
        self.loss_curve_ = solution.losses
        self.n_iter_ = solution.n_iter
        self.objective_ = solution.objective
        self._remember(rows, Y)
        return self

    def _chosen(self, Y: Any) -> tuple[str, float | None]:
        """The solver and C: as they are given, or chosen by the labels."""
        solvers = ("auto", *ARRAYS)
        if self.solver not in solvers:
            known = " or ".join(ARRAYS)
            raise Mistake(f"solver {self.solver!r} is not known: use {known}")
        named, C = self._form != "numbers", self.C
        if C == "auto":
            C = USUAL_C if self.solver == "dual" else None
            C = USUAL_C if named and self.solver != "boosting" else C
        plain = self.penalty == "l2" and self.features is None and C is not None
        able = plain and isinstance(Y, Rows) and short_name(self.loss) == "dom"
        able = able and bool((Y.values == 1.0).all())
        if self.solver == "dual" and not able:
            raise Mistake(
                "solver 'dual' needs labels without grades, loss 'dom', a C, penalty "
                "'l2' and no features: use solver='lbfgs'"
            )
        if self.solver == "boosting" and C is not None and self.penalty == "l2":
            raise Mistake(
                "solver 'boosting' cannot minimise the l2 penalty: give "
                "penalty='natural', or C=None, or solver='lbfgs'"
            )
        if self.solver == "auto":
            return ("dual" if named and able else "lbfgs"), C
        return self.solver, C

    def _require_room(self, weights: int) -> None:
        """Refuse a dense array of the weights that takes more than ``memory``."""
        if 8 * weights > byte_size(self.memory):
            raise TooLittleMemory(
                f"{weights:,} weights need {bytes_text(8 * weights)}, more than "
                f"memory={self.memory!r}: select features first (select_features), use "
                "PreferenceRanker, whose weights can be sparse, or allow more"
            )

    @property
    def weighs_columns(self) -> bool:
        """Whether its weights are of the columns of X, not of features of its own."""
        return self.features is None

    def evidence(self, X: Any, category: int) -> Evidence:
        """Each feature's part in the score of ``category`` for the one row of ``X``."""
        if self.features is None:
            return super().evidence(X, category)
        rows = self._documents(X)
        if len(rows) != 1:
            raise Mistake(f"X has {len(rows)} rows: evidence is shown for one document")
        pairs = self._paired(rows).to_scipy().toarray()
        parts = (pairs[category] - pairs.mean(axis=0)) * np.asarray(self.weights_)[:, 0]
        columns = np.flatnonzero(pairs.any(axis=0))
        return Evidence(columns, parts[columns])

    def _documents(self, X: Any) -> Rows:
        if self.features is None:
            return super()._documents(X)
        return self._rows_as_taught(X)

    def _scores(self, X: Any) -> Floats:
        if self.features is None:
            return super()._scores(X)
        pairs = self._paired(self._documents(X))
        if pairs.width != len(self.weights_):
            raise Mistake(
                f"features has made {pairs.width} columns, and {len(self.weights_)} in "
                "fit: make the same number of them each time"
            )
        scores = pairs.to_scipy() @ self.weights_
        return np.asarray(scores, np.float64).reshape(-1, self.n_labels_)

    def _paired(self, rows: Rows) -> Rows:
        """h(x, y) of every document and label, shape (n·k, p)."""
        if not callable(self.features):
            raise Mistake(f"features is {self.features!r}: give a function, or None")
        made = rows_from(
            self.features(rows.to_scipy(), self.n_labels_), name="features"
        )
        if len(made) != len(rows) * self.n_labels_:
            raise Mistake(
                f"features has made {len(made)} rows of {len(rows)} documents and "
                f"{self.n_labels_} labels: make {len(rows) * self.n_labels_}, one for "
                "each document and label"
            )
        return made

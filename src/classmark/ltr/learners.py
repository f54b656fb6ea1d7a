"""Learners over rows of queries: by pairs, by rows, by lists, and boosted trees."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats, Ints, Rows, with_constant
from classmark.estimator import parameters, renamed
from classmark.ltr.judged import (
    Judged,
    LinearQueryRanker,
    QueryRanker,
    require_pairs,
)
from classmark.problems import Mistake
from classmark.solvers.cutting_planes import cutting_planes, linear
from classmark.solvers.hinge import Hinges, ascend
from classmark.solvers.pairs import (
    GradedPairs,
    ListedPairs,
    Pairs,
    average_precision_oracle,
    hinges_of_pairs,
)
from classmark.solvers.smooth import Objective, minimise
from classmark.validation import numbers

CUTOFF = 10


def drops(training: Judged, cutoff: int = CUTOFF) -> Floats:
    """τ, (grades, grades): how much nDCG falls when two of the grades change places.

    In each query's ideal order one document of the higher grade and one of the lower,
    both at random, are exchanged; the expected fall of nDCG@cutoff, which is

        (2^a − 2^b) (mean discount of grade a − mean discount of b) / ideal DCG,

    is averaged over the queries that have both grades [Cao06]. The discount of rank r
    is 1/log2(1 + r), 0 beyond the cutoff; a grade below 0 gains nothing.
    """
    size = len(training.distinct)
    total, seen = np.zeros((size, size)), np.zeros((size, size))
    gains = np.exp2(np.maximum(training.distinct, 0.0)) - 1.0
    bounds, levels = training.runs.bounds, training.runs.levels
    runs = np.searchsorted(training.runs.queries, np.arange(len(training.starts)))
    for first, last in pairwise(runs.tolist()):
        lengths = np.diff(bounds[first : last + 1])[::-1]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        ranks = np.arange(1, ends[-1] + 1)
        discounts = np.where(ranks <= cutoff, 1.0 / np.log2(1.0 + ranks), 0.0)
        mean = np.add.reduceat(discounts, ends[:-1]) / lengths
        grades = levels[first:last][::-1]
        ideal = float((gains[grades] * lengths) @ mean)
        if ideal > 0.0:
            fall = np.subtract.outer(gains[grades], gains[grades])
            fall *= np.subtract.outer(mean, mean) / ideal
            total[np.ix_(grades, grades)] += fall
            seen[np.ix_(grades, grades)] += 1.0
    return np.divide(total, seen, out=np.zeros_like(total), where=seen > 0.0)


def query_shares(training: Judged) -> Floats:
    """μ, (queries,): the most pairs a query has, divided by its own number [Cao06].

    A query without pairs has 0.
    """
    sizes, lengths = np.diff(training.starts), np.diff(training.runs.bounds)
    alike = np.bincount(training.runs.queries, lengths**2, minlength=len(sizes))
    pairs = 0.5 * (sizes**2 - alike)
    shares = np.zeros_like(pairs)
    np.divide(pairs.max(initial=0.0), pairs, out=shares, where=pairs > 0.0)
    return shares


WEIGHTINGS = (None, "ir")


@parameters()
class RankingSVM(LinearQueryRanker):
    """½‖w‖² + C Σ t · max(0, 1 − w·(x_i − x_j)), over pairs of a query with y_i > y_j.

    t is 1 [Joachims02] or, with ``weighting="ir"``, τ · μ: what exchanging two such
    grades costs in nDCG@10, and what makes queries count alike [Cao06]. Pairs are never
    listed: a query of n rows costs O(n log n) a look [Joachims06], with τ O(n log n + R
    n) for R grades. The ``sample_weight`` of ``fit`` says what a pair counts that the
    row should win.

    duality_gap_ : at most this share of the objective is it above the optimum;  tol :
    of that share.

    >>> X, y = [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]], [2, 1, 0]
    >>> ranker = RankingSVM(C=10.0).fit(X, y, ["q", "q", "q"])
    >>> ranker.coef_.round(2).tolist(), round(ranker.objective_, 2)
    ([1.0, -1.0], 1.0)
    """

    C: float = 1.0
    weighting: Literal["ir"] | None = None
    tol: float = 1e-3

    def _learn(self, training: Judged) -> None:
        if self.weighting not in WEIGHTINGS:
            raise Mistake(
                f"weighting {self.weighting!r} is not known: use None or 'ir'"
            )
        plain = self.weighting is None
        shares = np.ones(len(training.starts) - 1) if plain else query_shares(training)
        falls = None if plain else drops(training)
        pairs = GradedPairs(training.runs, training.counts, shares, falls)
        require_pairs(len(pairs))
        self._solve(training.rows, pairs, float(pairs.prices.max()))

    @renamed(weights="sample_weight")
    def fit_preferences(
        self,
        X: Any,
        winners: ArrayLike,
        losers: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from preferences between rows, as clicks give them.

        winners, losers : row numbers, (pairs,);  sample_weight : of each pair.

        >>> ranker = RankingSVM().fit_preferences([[0.0], [2.0]], [1], [0])
        >>> ranker.coef_.round(2).tolist()
        [0.5]
        """
        if self.weighting is not None:
            raise Mistake(
                f"weighting={self.weighting!r} needs grades: give sample_weight, or fit"
            )
        rows = self._taught_rows(X)
        above, below = _places(winners, losers, len(rows))
        counts = np.ones(len(above))
        if sample_weight is not None:
            counts = numbers(sample_weight, len(above), "sample_weight", least=0.0)
        top = float(counts.max(initial=0.0))
        return self._solve(rows, ListedPairs(above, below, counts), top)

    def _solve(self, rows: Rows, pairs: Pairs, most: float) -> Self:
        if not most > 0.0:
            raise Mistake(
                "sample_weight: no preference counts anything: give one above 0"
            )
        solution = hinges_of_pairs(rows, pairs, float(self.C), tol=self.tol)
        self.coef_, self.objective_ = solution.weights, solution.objective
        self.duality_gap_, self.n_iter_ = solution.relative_gap, solution.n_iter
        return self


def _places(winners: ArrayLike, losers: ArrayLike, n: int) -> tuple[Ints, Ints]:
    above, below = np.asarray(winners), np.asarray(losers)
    for name, rows in (("winners", above), ("losers", below)):
        if rows.ndim != 1 or (len(rows) and rows.dtype.kind not in "ui"):
            raise Mistake(f"{name}: give a flat list of row numbers")
        if len(rows) and not (rows.min() >= 0 and rows.max() < n):
            at = int(np.argmax((rows < 0) | (rows >= n)))
            raise Mistake(f"{name}[{at}] is {rows[at]}, but X has {n} rows")
    if len(above) != len(below) or not len(above):
        raise Mistake(
            f"{len(above)} winners and {len(below)} losers: give as many of each, at "
            "least one"
        )
    if (above == below).any():
        at = int(np.argmax(above == below))
        raise Mistake(f"winners[{at}] and losers[{at}] are the same row: leave it out")
    return above.astype(np.int64), below.astype(np.int64)


@parameters()
class PointwiseSVM(LinearQueryRanker):
    """½‖w‖² + ½b² + C Σ t · max(0, 1 − s (w·x + b)), s = 1 for grades over 0, else −1.

    t is 1, or, ``balanced``, half of all rows divided by those of the same s: few rows
    are relevant, and without it to say "no" always costs so little that little is
    learned.

    Of ``qid`` only the length matters; ``sample_weight`` says what a row counts.

    intercept_ : b, which changes no order;  duality_gap_ : at most this share of the
    objective is it above the optimum;  tol : of that share.

    >>> ranker = PointwiseSVM().fit([[1.0], [-1.0]], [1, 0], ["q", "q"])
    >>> ranker.coef_.round(3).tolist()
    [1.0]
    """

    C: float = 1.0
    balanced: bool = True
    tol: float = 1e-3

    def _learn(self, training: Judged) -> None:
        if not 0.0 < self.C < np.inf:
            raise Mistake(f"C is {self.C}: give a number over 0")
        good = training.grades > 0.0
        if good.all() or not good.any():
            raise Mistake(
                "y: all rows are relevant, or none is: there is no difference"
            )
        share = np.where(good, good.mean(), 1.0 - good.mean())
        boxes = 0.5 * training.counts / share if self.balanced else training.counts
        hinges = Hinges(
            np.arange(len(good), dtype=np.uint32),
            np.where(good, 1.0, -1.0),
            self.C * boxes,
            np.ones(len(good)),
        )
        solution = ascend([with_constant(training.rows, 1.0)], hinges, tol=self.tol)
        self.coef_, self.intercept_ = solution.weights[:-1], float(solution.weights[-1])
        self.objective_, self.duality_gap_ = solution.objective, solution.relative_gap

    def _scores(self, rows: Rows) -> Floats:
        return super()._scores(rows) + self.intercept_


def top_one(
    scores: Floats, grades: Floats, starts: Ints, counts: Floats
) -> tuple[float, Floats]:
    """Cross entropy of who stands first, and −∂/∂score, (n,) [Cao07].

    −Σ_i count_i P_i ln Q_i, P and Q being e^grade and e^score of the rows of one list
    divided by their sums; list q holds the rows starts[q] … starts[q + 1] − 1, at least
    one.

    >>> loss, pull = top_one(*np.zeros((2, 2)), np.array([0, 2]), np.ones(2))
    >>> round(loss, 4), pull.tolist()
    (0.6931, [0.0, 0.0])
    """
    targets = np.exp(_log_shares(grades, starts)) * counts
    logs = _log_shares(scores, starts)
    mass = np.repeat(np.add.reduceat(targets, starts[:-1]), np.diff(starts))
    return float(-(targets @ logs)), targets - mass * np.exp(logs)


def _log_shares(values: Floats, starts: Ints) -> Floats:
    sizes = np.diff(starts)
    down = values - np.repeat(np.maximum.reduceat(values, starts[:-1]), sizes)
    sums = np.log(np.add.reduceat(np.exp(down), starts[:-1]))
    return np.asarray(down - np.repeat(sums, sizes), np.float64)


@parameters()
class SVMMAP(LinearQueryRanker):
    """½‖w‖² + C Σ_q ξ_q: a query's best order is above any other by 1 − its AP.

    An order y scores ⟨w, Ψ(y)⟩, Ψ being the mean of ±(x_i − x_j) over the query's pairs
    of a relevant row and another; it should score less than the ideal one by the share
    of average precision it loses. The order that is worst is found exactly
    [YueEtAl07]; with one slack for all queries, by cutting planes. Theirs is this C
    times the number of queries. Grades above 0 are relevant; a query with one kind of
    rows only says nothing.

    duality_gap_ : at most this share of the objective is it above the optimum;  tol :
    of that share;  max_iter : the most planes. The ``sample_weight`` of ``fit`` says
    what a query counts: it is the same for all its rows.

    >>> ranker = SVMMAP(C=10.0).fit([[1.0], [0.0]], [1, 0], ["q", "q"])
    >>> ranker.coef_.round(2).tolist()
    [0.25]
    """

    C: float = 1.0
    tol: float = 1e-3
    max_iter: int = 1000

    def _learn(self, training: Judged) -> None:
        starts, counts = training.starts, training.counts
        good = np.concatenate([[0], np.cumsum(training.grades > 0.0)])
        middle = starts[1:] - np.diff(good[starts])
        queries = np.column_stack([starts[:-1], middle, starts[1:]])
        both = (middle > starts[:-1]) & (middle < starts[1:])
        require_pairs(int(both.sum()))
        if (np.diff(counts)[np.diff(training.queries) == 0] != 0.0).any():
            raise Mistake(
                "sample_weight: SVMMAP prices whole queries: give all rows of a query "
                "the same"
            )
        queries = np.ascontiguousarray(queries[both])
        oracle = average_precision_oracle(queries, counts[queries[:, 0]])
        X, limits = linear([training.rows]), (self.tol, self.max_iter)
        solution = cutting_planes(X, oracle, self.C, tol=limits[0], max_iter=limits[1])
        self.coef_, self.objective_ = solution.weights, solution.objective
        self.duality_gap_, self.n_iter_ = solution.relative_gap, solution.n_iter


Loss = Callable[[Floats], tuple[float, Floats]]


class Scored:
    """Rows, and a loss of their scores X·w; loss : scores → value, −∂/∂score."""

    def __init__(self, rows: Rows, loss: Loss) -> None:
        self.X, self.loss, self.shape = linear([rows]), loss, (rows.width, 1)

    def slope(self, W: Floats) -> tuple[float, Floats]:
        """The loss and its gradient, of the shape of W."""
        value, pull = self.loss(self.X.product(np.ascontiguousarray(W[:, 0])))
        return value, -self.X.back(pull)[:, np.newaxis]

    def curvature(self) -> Floats:
        """No first guess: there is always a penalty."""
        return np.ones(self.shape)


@parameters()
class SmoothQueryRanker(LinearQueryRanker):
    """Minimises ½‖w‖² + C · loss(X·w) by L-BFGS; a subclass says which loss."""

    C: float = 1.0
    tol: float = 1e-4

    @abstractmethod
    def _loss(self, training: Judged) -> Loss:
        """The loss of the scores of these rows."""

    def _learn(self, training: Judged) -> None:
        scored = Scored(training.rows, self._loss(training))
        solution = minimise(Objective(scored, self.C, "l2"), tol=self.tol)
        self.coef_, self.objective_ = solution.weights[:, 0], solution.objective


class ListNet(SmoothQueryRanker):
    """½‖w‖² + C Σ_q −Σ_i P_i ln Q_i, with P ∝ e^grade and Q ∝ e^(w·x) in a query.

    Linear scores, and only the first place is looked at ("top one") [Cao07]. tol : of
    the slope, relative to that at 0. The ``sample_weight`` of ``fit`` says what a row's
    P counts.

    >>> ranker = ListNet(C=10.0).fit([[1.0], [0.0]], [1, 0], ["q", "q"])
    >>> round(float(ranker.coef_[0]), 2)
    0.68
    """

    def _loss(self, training: Judged) -> Loss:
        require_pairs(int((np.diff(training.runs.queries) == 0).sum()))
        lists = training.grades, training.starts, training.counts
        return lambda scores: top_one(scores, *lists)


class PairwiseLogistic(SmoothQueryRanker):
    """½‖w‖² + C Σ ln(1 + e^(w·(x_j − x_i))), over pairs of a query with y_i > y_j.

    The log-linear price of each preference by itself [Burges05]. No pair is kept, each
    is looked at: O(n²) for a query of n rows. tol : of the slope, relative to that at
    0. The ``sample_weight`` of ``fit`` says what a pair counts that the row should win.

    >>> ranker = PairwiseLogistic().fit([[1.0], [0.0]], [1, 0], ["q", "q"])
    >>> round(float(ranker.coef_[0]), 3)
    0.401
    """

    def _loss(self, training: Judged) -> Loss:
        return pairwise_loss(training)


def pairwise_loss(training: Judged) -> Loss:
    """Σ ln(1 + e^(s_j − s_i)) over pairs of a query with y_i > y_j [Burges05]."""
    from classmark.solvers.kernels_pairs import log_linear

    shares = np.ones(len(training.starts) - 1)
    pairs = GradedPairs(training.runs, training.counts, shares)
    require_pairs(len(pairs))

    def loss(scores: Floats) -> tuple[float, Floats]:
        pull = np.empty(len(scores))
        arrays = pairs.joins, pairs.prices, pairs.counts
        return log_linear(scores, *arrays, pull), pull

    return loss


GRADES = 31  # that LightGBM has gains for
FIXED = {
    "objective": "lambdarank",
    "verbose": -1,
    "deterministic": True,
    "force_row_wise": True,
}
USUAL = {
    "n_estimators": 50,
    "learning_rate": 0.1,
    "num_leaves": 7,  # this and the next chosen on MQ2008's S1 … S4: docs/benchmarks.md
    "min_data_in_leaf": 50,
    "lambdarank_truncation_level": 30,
    "num_threads": 1,
    "seed": 0,
}


class LambdaMART(QueryRanker):
    """Boosted regression trees on the lambdas of nDCG [Burges10].

    parameters : LightGBM's, by its own names, over the usual ones of this module. Needs
    ``pip install 'classmark[trees]'``, and grades that are whole numbers from 0 to 30.
    ``booster_.model_to_string()`` is text that LightGBM reads again.
    """

    def __init__(self, **parameters: Any) -> None:
        self.parameters = parameters

    @staticmethod
    def installed() -> bool:
        """Whether LightGBM can be imported, and finds the OpenMP library it needs."""
        try:
            import lightgbm  # noqa: F401
        except (ImportError, OSError):
            return False
        return True

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        return {}

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 (manners)
        """Return the parameters that were given."""
        return dict(self.parameters)

    def set_params(self, **params: Any) -> Self:
        """Set parameters by LightGBM's names."""
        self.parameters = self.parameters | params
        return self

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in self.parameters.items())
        return f"LambdaMART({', '.join(shown)})"

    def _learn(self, training: Judged) -> None:
        try:
            lightgbm = import_module("lightgbm")
        except ImportError as problem:
            raise Mistake(
                "LambdaMART needs LightGBM: pip install 'classmark[trees]'"
            ) from problem
        whole = training.distinct == np.floor(training.distinct)
        if not (whole & (training.distinct >= 0) & (training.distinct < GRADES)).all():
            raise Mistake(f"y: LambdaMART needs whole grades from 0 to {GRADES - 1}")
        chosen = USUAL | self.parameters
        weighted = (training.counts != 1.0).any()
        table = lightgbm.Dataset(
            training.rows.to_scipy(),
            training.grades,
            group=np.diff(training.starts),
            weight=training.counts if weighted else None,
            params={"verbose": -1},
        )
        rounds = int(chosen.pop("n_estimators"))
        self.booster_ = lightgbm.train(chosen | FIXED, table, rounds)

    def _scores(self, rows: Rows) -> Floats:
        return np.asarray(self.booster_.predict(rows.to_scipy()), np.float64)

"""ListNet, log-linear pairs and LambdaMART: smooth losses of the scores of a query."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from importlib import import_module
from typing import Any, Self

import numpy as np

from classmark.arrays import Floats, Ints, Rows, rows_from
from classmark.ltr.judged import (
    Judged,
    LinearQueryRanker,
    QueryRanker,
    require_pairs,
    require_width,
)
from classmark.problems import Mistake
from classmark.solvers.cutting_planes import linear
from classmark.solvers.pairs import GradedPairs
from classmark.solvers.smooth import Objective, minimise


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


class SmoothQueryRanker(LinearQueryRanker):
    """Minimises ½‖w‖² + C · loss(X·w) by L-BFGS; a subclass says which loss."""

    def __init__(self, C: float = 1.0, tol: float = 1e-4) -> None:
        self.C = C
        self.tol = tol

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
    "n_estimators": 150,
    "learning_rate": 0.05,
    "num_leaves": 15,
    "min_data_in_leaf": 30,
    "lambdarank_truncation_level": 15,
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

    def decision_function(self, X: Any) -> Floats:
        """Scores of rows, (n,): within a query, the higher the better."""
        self._require_fitted()
        rows = rows_from(X)
        require_width(rows.width, self.booster_.num_feature())
        return np.asarray(self.booster_.predict(rows.to_scipy()), np.float64)

"""Scores that are not linear in the features: a small network, boosted thresholds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from classmark.arrays import Floats, Rows
from classmark.estimator import parameters
from classmark.ltr.judged import Judged, QueryRanker, require_pairs
from classmark.ltr.learners import Loss, pairwise_loss
from classmark.progress import track
from classmark.solvers.smooth import Objective, minimise
from classmark.validation import generator, require_numbers


def network_scores(weights: Floats, X: Any) -> Floats:
    """Σ_h v_h tanh(⟨u_h, x⟩ + b_h), (n,); a row of weights is u_h, b_h, v_h.

    >>> network_scores(np.array([[1.0, 0.0, 2.0]]), np.array([[0.5]])).round(3).tolist()
    [0.924]
    """
    return np.asarray(np.tanh(X @ weights[:, :-2].T + weights[:, -2]) @ weights[:, -1])


class Network:
    """½‖W‖² + C · loss(scores) of a network, where W = start + step.

    The penalty is part of it, so that a step of 0 is the start and not W = 0, where no
    weight has a slope.
    """

    def __init__(self, X: Any, loss: Loss, C: float, start: Floats) -> None:
        self.X, self.loss, self.C, self.start = X, loss, C, start
        self.shape: tuple[int, int] = start.shape[0], start.shape[1]

    def slope(self, W: Floats) -> tuple[float, Floats]:
        """The objective and its gradient, of the shape of W, by backpropagation."""
        weights = self.start + W
        hidden = np.tanh(self.X @ weights[:, :-2].T + weights[:, -2])
        value, pull = self.loss(np.ascontiguousarray(hidden @ weights[:, -1]))
        back = -np.outer(pull, weights[:, -1]) * (1.0 - hidden**2)
        slopes = (self.X.T @ back).T, back.sum(axis=0), -hidden.T @ pull
        gradient = np.column_stack(slopes)
        size = 0.5 * float(np.vdot(weights, weights))
        return size + self.C * value, weights + self.C * gradient

    def curvature(self) -> Floats:
        """That of the penalty."""
        return np.ones(self.shape)


@parameters()
class RankNet(QueryRanker):
    """½‖W‖² + C Σ ln(1 + e^(s_j − s_i)), over pairs of a query with y_i > y_j.

    The score s is that of a network with one hidden layer [Burges05], Σ_h v_h
    tanh(⟨u_h, x⟩ + b_h); without one it would be ``PairwiseLogistic``. All pairs at
    once, by L-BFGS, from random weights: another ``random_state`` may end in another
    minimum. Features should be of one size, as ``normalise_per_query`` makes them.

    hidden : units;  max_iter, tol : stop after so many steps, or when the largest slope
    is tol times that of the start. The ``sample_weight`` of ``fit`` says what a pair
    counts that the row should win.

    weights_ : u, b and v of each unit, (hidden, features + 2);  objective_ : the value.

    >>> X, y = [[0.0], [0.5], [1.0]], [0, 1, 0]  # the middle is best: no line says so
    >>> ranker = RankNet(hidden=4, C=100.0).fit(X, y, ["q", "q", "q"])
    >>> int(ranker.decision_function(X).argmax())
    1
    """

    hidden: int = 10
    C: float = 1.0
    max_iter: int = 200
    tol: float = 1e-3
    random_state: int = 0

    def _learn(self, training: Judged) -> None:
        require_numbers(self, "hidden", "max_iter", whole=True, least=1)
        require_numbers(self, "C", over=0, under=np.inf)
        width, random = training.rows.width, generator(self.random_state)
        start = random.normal(size=(self.hidden, width + 2))
        start[:, :-2] /= np.sqrt(max(1, width))
        start[:, -2] = 0.0
        start[:, -1] /= np.sqrt(self.hidden)
        X = training.rows.to_scipy()
        network = Network(X, pairwise_loss(training), float(self.C), start)
        objective = Objective(network, None, "l2")
        solution = minimise(objective, max_iter=self.max_iter, tol=self.tol)
        self.weights_, self.n_iter_ = start + solution.weights, solution.n_iter
        self.objective_ = solution.objective

    def _scores(self, rows: Rows) -> Floats:
        return network_scores(self.weights_, rows.to_scipy())


def threshold_parts(weights: Floats, X: Floats) -> Floats:
    """What each feature adds to each score, (n, features): Σ α over x_j > θ.

    weights : (rounds, 3), the feature j, the threshold θ and α of each.

    >>> threshold_parts(np.array([[1, 0.5, 2.0]]), np.array([[0.0, 0.7]])).tolist()
    [[0.0, 2.0]]
    """
    parts = np.zeros(X.shape)
    for feature, threshold, alpha in weights.tolist():
        parts[:, int(feature)] += alpha * (X[:, int(feature)] > threshold)
    return parts


def threshold_scores(weights: Floats, X: Floats) -> Floats:
    """The sum of ``threshold_parts``, (n,)."""
    return np.asarray(threshold_parts(weights, X).sum(axis=1), np.float64)


LEAST = 1e-9  # of |r|, and of the loss: nothing more to learn


@parameters()
class RankBoost(QueryRanker):
    """Σ_t α_t [x_j > θ], boosted over the pairs of a query with y_i > y_j [Freund03].

    A pair weighs e^(s_j − s_i) of the score so far, the weights D being made to sum to
    1. Each round takes the feature and the threshold for which |r| is largest, r = Σ D
    (h(x_i) − h(x_j)), and α = ½ ln((1 + r + ε)/(1 − r + ε)). The weights are products,
    so a row's potential, what it wins less what it loses, takes sums over the grades of
    its query, and r the sums of potentials along each sorted feature: O(n) a feature
    and round, no pair being listed. Each round multiplies Σ e^(s_j − s_i) by Z ≤ ½ (1 −
    r) e^α + ½ (1 + r) e^−α, which is √(1 − r²) for ε = 0; the share of pairs in the
    wrong order is at most the product of all Z.

    n_estimators : rounds;  smoothing : ε, by which no α is infinite. The
    ``sample_weight`` of ``fit`` says what a pair counts that the row should win.

    weights_ : (rounds, 3), feature, threshold and α;  loss_curve_ : the mean of
    e^(s_j − s_i) after each round, the product of its Z;  edges_ : r of each round.

    >>> X, y = [[0.0, 1.0], [0.5, 1.0], [1.0, 0.0]], [0, 1, 2]
    >>> ranker = RankBoost(2).fit(X, y, ["q", "q", "q"])
    >>> ranker.decision_function(X).argsort().tolist()
    [0, 1, 2]
    """

    n_estimators: int = 100
    smoothing: float = 1e-4

    def _learn(self, training: Judged) -> None:
        require_numbers(self, "n_estimators", whole=True, least=1)
        require_numbers(self, "smoothing", over=0, under=np.inf)
        pairs = WeightedPairs(training)
        X = np.ascontiguousarray(training.rows.to_scipy().toarray().T, np.float64)
        order = np.argsort(X, axis=1, kind="stable")
        ordered = np.take_along_axis(X, order, axis=1)
        apart = ordered[:, 1:] > ordered[:, :-1]
        steps, curve, edges = [], [], []
        for _ in track(range(self.n_estimators), "boosting", self.n_estimators):
            reach = -np.cumsum(pairs.potentials()[order], axis=1)[:, :-1] * apart
            if not reach.size:
                break
            feature, place = divmod(int(np.abs(reach).argmax()), reach.shape[1])
            r = float(reach[feature, place])
            if abs(r) < LEAST:
                break
            ratio = (1.0 + r + self.smoothing) / (1.0 - r + self.smoothing)
            alpha = 0.5 * float(np.log(ratio))
            low, high = ordered[feature, place : place + 2]
            threshold = low + 0.5 * (high - low)
            threshold = threshold if threshold < high else low
            steps.append((feature, threshold, alpha))
            edges.append(r)
            curve.append(pairs.raise_by(alpha * (X[feature] > threshold)))
            if curve[-1] < LEAST:
                break
        self.weights_ = np.array(steps, np.float64).reshape(-1, 3)
        self.loss_curve_, self.edges_ = curve, edges

    def _scores(self, rows: Rows) -> Floats:
        return threshold_scores(self.weights_, rows.to_scipy().toarray())


class WeightedPairs:
    """Pairs that weigh count_i · e^(s_j − s_i), by sums over grades; none is listed."""

    def __init__(self, training: Judged) -> None:
        self.queries, self.counts = training.queries, training.counts
        self.shape = len(training.starts) - 1, len(training.distinct)
        level = np.searchsorted(training.distinct, training.grades)
        self.cells = self.queries * self.shape[1] + level
        self.sizes = np.diff(training.starts)
        self.scores = np.zeros(len(level))
        self.start = 1.0
        self.start = self._weigh()
        require_pairs(int(self.start > 0.0))

    def _weigh(self) -> float:
        """Set what each row wins and loses; return Σ weight, by that of the start."""
        up, down = self.counts * np.exp(-self.scores), np.exp(self.scores)
        below, above = np.zeros(self.shape), np.zeros(self.shape)
        n = self.shape[0] * self.shape[1]
        lower, upper = (
            np.bincount(self.cells, each, n).reshape(self.shape) for each in (down, up)
        )
        below[:, 1:] = np.cumsum(lower, axis=1)[:, :-1]
        above[:, :-1] = np.cumsum(upper[:, ::-1], axis=1)[:, -2::-1]
        self.wins = up * below.ravel()[self.cells]
        self.loses = down * above.ravel()[self.cells]
        return float(self.wins.sum()) / self.start

    def potentials(self) -> Floats:
        """Σ D of the pairs a row should win less Σ D of those it should lose, (n,)."""
        return np.asarray((self.wins - self.loses) / self.wins.sum())

    def raise_by(self, change: Floats) -> float:
        """Add to the scores; return the mean of e^(s_j − s_i)."""
        scores = self.scores + change
        means = np.bincount(self.queries, scores) / self.sizes  # shifts change no pair
        self.scores = scores - means[self.queries]
        return self._weigh()


#: How the weights of a saved ranker score, where they are not one a feature.
SCORES: Mapping[str, Callable[[Floats, Any], Floats]] = {
    "ranknet": network_scores,
    "rankboost": threshold_scores,
}

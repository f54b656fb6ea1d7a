"""SVM-MAP over all orders; a network and its slopes; thresholds and their bound."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from sklearn.base import clone

from classmark.ltr import SVMMAP, PairwiseLogistic, RankBoost, RankNet
from classmark.ltr.judged import judged, order_measured
from classmark.ltr.learners import pairwise_loss
from classmark.ltr.nonlinear import Network, WeightedPairs, threshold_parts
from classmark.problems import Mistake
from oracles.cutting import lowest
from oracles.pairs import average_precision


def problem(seed=0, queries=12, rows=150):
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 4))
    hidden = X @ np.array([2.0, -1.0, 0.5, 0.0]) + random.normal(size=rows)
    y = np.digitize(hidden, [0.5, 2.0]).astype(float)
    return X, y, random.integers(queries, size=rows)


def pairs_of(y, qid):
    places = range(len(y))
    return [(i, j) for i in places for j in places if qid[i] == qid[j] and y[i] > y[j]]


def orders_as_planes(y, qid, counts):
    """(coefficients, loss) of every choice of an order for each query."""
    whole = [(np.zeros(len(y)), 0.0)]
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        good = rows[y[rows] > 0]
        if len(good) in {0, len(rows)}:
            continue
        each = 2.0 / (len(good) * (len(rows) - len(good)))
        planes = set()
        for order in permutations(rows):
            c = np.zeros(len(y))
            for at, row in enumerate(order):
                for above in order[:at]:
                    if y[row] > 0 and y[above] <= 0:
                        c[row] += each
                        c[above] -= each
            loss = 1.0 - average_precision(y[list(order)] > 0)
            planes.add((tuple(c * counts[query]), loss * counts[query]))
        whole = [
            (c + np.array(more), loss + add)
            for c, loss in whole
            for more, add in planes
        ]
    return whole


def test_svm_map_is_the_optimum_over_all_orders_of_all_queries():
    random = np.random.default_rng(0)
    X = random.normal(size=(9, 3))
    y = np.array([0, 1, 0, 2, 0, 0, 1, 0, 0], float)
    qid = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2])
    counts = np.array([1.0, 2.0, 5.0])
    ranker = SVMMAP(C=3.0, tol=1e-6).fit(X, y, qid, sample_weight=counts[qid])
    best = lowest(X, orders_as_planes(y, qid, counts), 3.0)
    assert ranker.objective_ == pytest.approx(best, rel=1e-4)
    assert 0.0 <= ranker.duality_gap_ <= 1e-6


def test_svm_map_prices_whole_queries_and_needs_both_kinds_of_rows():
    X, y, qid = problem()
    with pytest.raises(Mistake, match="give all rows of a query the same"):
        SVMMAP().fit(X, y, qid, sample_weight=np.arange(len(y)))
    with pytest.raises(Mistake, match="there is no order to learn"):
        SVMMAP().fit(X, np.ones(len(y)), qid)


NONLINEAR = [RankNet(hidden=5), RankBoost()]


@pytest.mark.parametrize("ranker", NONLINEAR, ids=repr)
def test_manners_order_of_rows_and_unseen_queries(ranker):
    X, y, qid = problem()
    assert clone(ranker).get_params() == ranker.get_params()
    fitted = clone(ranker).fit(X, y, [("q", int(q)) for q in qid])
    again = clone(ranker).fit(X, y, qid.astype(str))
    scores = fitted.decision_function(X)
    assert np.array_equal(again.decision_function(X), scores)
    other, grades, queries = problem(1)
    found = order_measured(
        fitted.decision_function(other), grades, queries, ["ndcg@10"]
    )
    chance = order_measured(other[:, 3], grades, queries, ["ndcg@10"])
    assert found["ndcg@10"].mean() > chance["ndcg@10"].mean() + 0.2
    with pytest.raises(Mistake, match=r"X has 2 features, but .* 4 features"):
        fitted.decision_function(X[:, :2])
    with pytest.raises(Mistake, match="no order to learn"):
        clone(ranker).fit(X, np.ones(len(y)), qid)


def test_the_slopes_of_a_network_are_those_of_differences():
    X, y, qid = problem(2, rows=30, queries=3)
    training = judged(X, y, qid, np.random.default_rng(1).random(30))
    start = np.random.default_rng(2).normal(size=(3, 6))
    network = Network(training.rows.to_scipy(), pairwise_loss(training), 0.7, start)
    step = np.random.default_rng(3).normal(size=(3, 6))
    value, gradient = network.slope(step)
    near = approx_fprime(
        step.ravel(), lambda flat: network.slope(flat.reshape(3, 6))[0], 1e-6
    )
    assert gradient.ravel() == pytest.approx(near, rel=1e-4, abs=1e-4)
    weights = start + step
    scores = np.tanh(X @ weights[:, :4].T + weights[:, 4]) @ weights[:, 5]
    counts = dict(zip(map(tuple, X), np.random.default_rng(1).random(30), strict=True))
    costs = [
        counts[tuple(X[i])] * np.logaddexp(0.0, scores[j] - scores[i])
        for i, j in pairs_of(y, qid)
    ]
    assert value == pytest.approx(0.5 * (weights**2).sum() + 0.7 * sum(costs))


def test_a_network_learns_what_no_line_can_and_depends_on_its_seed_alone():
    random = np.random.default_rng(4)
    X = random.uniform(-1.0, 1.0, size=(200, 2))
    y = (np.abs(X[:, 0]) < 0.4).astype(float)
    qid = np.repeat(np.arange(10), 20)
    line = PairwiseLogistic(C=10.0).fit(X, y, qid).decision_function(X)
    ranker = RankNet(C=10.0).fit(X, y, qid)
    found = [order_measured(s, y, qid, ["map"])["map"].mean()
             for s in (line, ranker.decision_function(X))]  # fmt: skip
    assert found[1] > 0.97
    assert found[0] < 0.7
    again = RankNet(C=10.0).fit(X, y, qid)
    assert np.array_equal(again.weights_, ranker.weights_)
    assert not np.array_equal(
        RankNet(C=10.0, random_state=1).fit(X, y, qid).weights_, ranker.weights_
    )
    with pytest.raises(Mistake, match="hidden is 0"):
        RankNet(hidden=0).fit(X, y, qid)


@given(st.integers(0, 10_000))
def test_potentials_and_the_loss_are_sums_over_all_pairs(seed):
    random = np.random.default_rng(seed)
    y, qid = random.integers(4, size=20), random.integers(3, size=20)
    y[:2], qid[:2] = [0, 1], 0
    training = judged(np.arange(20.0)[:, np.newaxis], y, qid, random.random(20) + 0.1)
    pairs = WeightedPairs(training)
    scores = random.normal(size=20) * 3
    loss = pairs.raise_by(scores)
    listed = pairs_of(training.grades, training.queries)
    weights = [training.counts[i] * np.exp(scores[j] - scores[i]) for i, j in listed]
    start = sum(training.counts[i] for i, _ in listed)
    assert loss == pytest.approx(sum(weights) / start)
    potentials = np.zeros(20)
    for (i, j), weight in zip(listed, weights, strict=True):
        potentials[i] += weight / sum(weights)
        potentials[j] -= weight / sum(weights)
    assert pairs.potentials() == pytest.approx(potentials, abs=1e-9)


def test_boosted_thresholds_are_the_best_and_keep_the_bound_on_wrong_pairs():
    X, y, qid = problem(5, rows=60, queries=4)
    ranker = RankBoost(12, smoothing=1e-6).fit(X, y, qid)
    pairs, scores = pairs_of(y, qid), np.zeros(len(y))
    loss, product = 1.0, 1.0
    for (feature, threshold, alpha), r, mean in zip(
        ranker.weights_, ranker.edges_, ranker.loss_curve_, strict=True
    ):
        weights = np.array([np.exp(scores[j] - scores[i]) for i, j in pairs])
        weights /= weights.sum()
        edges = [
            sum(w * (float(x[i] > t) - float(x[j] > t))
                for w, (i, j) in zip(weights, pairs, strict=True))
            for x in X.T
            for t in x
        ]  # fmt: skip
        assert abs(r) == pytest.approx(np.abs(edges).max())
        assert alpha == pytest.approx(0.5 * np.log((1 + r) / (1 - r)), abs=1e-4)
        scores += alpha * (X[:, int(feature)] > threshold)
        before, loss = loss, np.mean([np.exp(scores[j] - scores[i]) for i, j in pairs])
        assert mean == pytest.approx(loss)
        assert loss / before <= np.sqrt(1 - r * r) + 1e-6
        product *= np.sqrt(1 - r * r) + 1e-6
    wrong = np.mean([scores[j] >= scores[i] for i, j in pairs])
    assert wrong <= ranker.loss_curve_[-1] <= product
    assert ranker.decision_function(X) == pytest.approx(scores)
    assert threshold_parts(ranker.weights_, X).sum(axis=1) == pytest.approx(scores)


def test_a_perfect_threshold_ends_the_boosting_and_constant_features_teach_nothing():
    ranker = RankBoost(50).fit([[0.0], [1.0]], [0, 1], ["q", "q"])
    assert np.isfinite(ranker.weights_).all()
    assert ranker.loss_curve_[-1] < 1e-6
    assert len(ranker.weights_) < 50
    same = RankBoost(5).fit(np.ones((4, 2)), [0, 1, 0, 1], ["q"] * 4)
    assert same.decision_function(np.ones((4, 2))).tolist() == [0.0] * 4
    with pytest.raises(Mistake, match="n_estimators is 0"):
        RankBoost(0).fit([[0.0], [1.0]], [0, 1], ["q", "q"])

"""Learners over queries: their objectives, their manners, and what they refuse."""

import sys
from math import log2

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.sparse import csr_matrix
from sklearn.base import clone

from classmark.ltr import (
    SVMMAP,
    LambdaMART,
    ListNet,
    PairwiseLogistic,
    PointwiseSVM,
    RankingSVM,
    importance,
    normalise_per_query,
    select_over_queries,
)
from classmark.ltr.judged import judged, order_measured
from classmark.ltr.learners import drops, query_shares, top_one
from classmark.measures import retrieval_per_query
from classmark.problems import Mistake

LINEAR = [
    RankingSVM(),
    RankingSVM(weighting="ir"),
    PointwiseSVM(),
    PairwiseLogistic(),
    ListNet(),
    SVMMAP(),
]


def problem(seed=0, queries=12, rows=150, width=4):
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, width))
    hidden = X @ np.array([2.0, -1.0, 0.5, 0.0])[:width] + random.normal(size=rows)
    y = np.digitize(hidden, [0.5, 2.0]).astype(float)
    return X, y, random.integers(queries, size=rows)


def pairs_of(y, qid):
    return [
        (i, j)
        for i in range(len(y))
        for j in range(len(y))
        if qid[i] == qid[j] and y[i] > y[j]
    ]


def hinge_objective(w, X, pairs, counts, C):
    hinges = [max(0.0, 1.0 - (X[i] - X[j]) @ w) for i, j in pairs]
    return 0.5 * w @ w + C * np.dot(counts, hinges)


@pytest.mark.parametrize("ranker", LINEAR, ids=repr)
def test_the_order_of_rows_and_the_names_of_queries_do_not_matter(ranker):
    X, y, qid = problem()
    names = [("q", int(q)) for q in qid]
    one = clone(ranker).set_params(tol=1e-6).fit(X, y, names)
    mixed = np.random.default_rng(1).permutation(len(y))
    other = clone(ranker).set_params(tol=1e-6)
    other.fit(csr_matrix(X[mixed]), y[mixed], qid[mixed].astype(str))
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-4)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=5e-3)
    np.testing.assert_allclose(
        one.decision_function(X) - one.decision_function(X)[0],
        (X - X[0]) @ one.coef_,
        atol=1e-9,
    )


@pytest.mark.parametrize("ranker", LINEAR, ids=repr)
def test_what_is_learned_orders_unseen_queries(ranker):
    fitted = clone(ranker).fit(*problem(0))
    X, y, qid = problem(1)
    found = order_measured(fitted.decision_function(X), y, qid, ["ndcg@10"])
    chance = order_measured(X[:, 3], y, qid, ["ndcg@10"])
    assert found["ndcg@10"].mean() > chance["ndcg@10"].mean() + 0.2


@pytest.mark.parametrize(
    "ranker",
    [RankingSVM(), PointwiseSVM(balanced=False), PairwiseLogistic()],
    ids=repr,
)
def test_a_row_that_counts_twice_is_a_row_given_twice(ranker):
    """Rows of the best grade: they lose no pair, so a copy adds what they win."""
    X, y, qid = problem(3, queries=3, rows=24)
    best = y == y.max()
    heavy, light = (clone(ranker).set_params(tol=1e-6) for _ in range(2))
    heavy.fit(X, y, qid, sample_weight=np.where(best, 2.0, 1.0))
    twice = np.concatenate([np.arange(len(y)), np.flatnonzero(best)])
    light.fit(X[twice], y[twice], qid[twice])
    assert heavy.objective_ == pytest.approx(light.objective_, rel=1e-4)


def test_ranking_svm_prices_every_pair():
    X, y, qid = problem(2, rows=40, queries=3)
    ranker = RankingSVM(C=0.2, tol=1e-6).fit(X, y, qid)
    pairs = pairs_of(y, qid)
    ones = np.ones(len(pairs))
    own = hinge_objective(ranker.coef_, X, pairs, ones, 0.2)
    assert ranker.objective_ == pytest.approx(own)
    assert 0.0 <= ranker.duality_gap_ <= 1e-6
    winners, losers = np.array(pairs).T
    same = RankingSVM(C=0.2, tol=1e-6).fit_preferences(X, winners, losers)
    assert same.objective_ == pytest.approx(own, rel=1e-5)
    np.testing.assert_allclose(same.coef_, ranker.coef_, atol=5e-3)
    doubled = RankingSVM(C=0.1, tol=1e-6)
    doubled.fit_preferences(X, winners, losers, sample_weight=2 * ones)
    assert doubled.objective_ == pytest.approx(own, rel=1e-5)


def test_ir_weights_are_the_expected_fall_of_ndcg_and_the_share_of_the_query():
    X, y, qid = problem(4, rows=90, queries=5)
    y[qid == 0] = 0.0  # a query without pairs
    given = judged(X, y, qid)
    table, shares = drops(given), query_shares(given)
    falls = {}
    for query in range(5):
        ideal = sorted(y[qid == query], reverse=True)
        before = _dcg(ideal)
        mean = {}
        for i, a in enumerate(ideal):
            for j, b in enumerate(ideal):
                if a > b and before > 0:
                    swapped = ideal.copy()
                    swapped[i], swapped[j] = b, a
                    mean.setdefault((a, b), []).append(1 - _dcg(swapped) / before)
        for pair, each in mean.items():
            falls.setdefault(pair, []).append(np.mean(each))
    for (a, b), each in falls.items():
        place = np.searchsorted(given.distinct, [a, b])
        assert table[tuple(place)] == pytest.approx(np.mean(each))
    counted = [len(pairs_of(y[qid == q], qid[qid == q])) for q in range(5)]
    order = list(dict.fromkeys(qid.tolist()))
    expected = [max(counted) / counted[q] if counted[q] else 0.0 for q in order]
    np.testing.assert_allclose(shares, expected)
    ranker = RankingSVM(C=0.3, weighting="ir", tol=1e-6).fit(X, y, qid)
    pairs = pairs_of(y, qid)
    level = np.searchsorted(given.distinct, y)
    share = dict(zip(order, shares, strict=True))
    counts = [table[level[i], level[j]] * share[qid[i]] for i, j in pairs]
    own = hinge_objective(ranker.coef_, X, pairs, counts, 0.3)
    assert ranker.objective_ == pytest.approx(own)


def _dcg(grades):
    return sum((2**g - 1) / log2(1 + r) for r, g in enumerate(grades[:10], 1))


def test_pointwise_is_liblinear_with_a_constant_column():
    from sklearn.svm import LinearSVC

    X, y, qid = problem(5)
    for balanced in (False, True):
        ranker = PointwiseSVM(C=0.5, balanced=balanced, tol=1e-6).fit(X, y, qid)
        weight = "balanced" if balanced else None
        svm = LinearSVC(
            loss="hinge", C=0.5, class_weight=weight, tol=1e-6, max_iter=10**5
        ).fit(X, y > 0)
        np.testing.assert_allclose(ranker.coef_, svm.coef_.ravel(), atol=2e-3)
        assert ranker.intercept_ == pytest.approx(float(svm.intercept_[0]), abs=2e-3)


def test_pairwise_logistic_finds_the_minimum_of_the_sum_over_pairs():
    X, y, qid = problem(6, rows=40, queries=3)
    i, j = np.array(pairs_of(y, qid)).T

    def objective(w):
        return 0.5 * w @ w + 0.3 * np.logaddexp(0.0, (X[j] - X[i]) @ w).sum()

    ranker = PairwiseLogistic(C=0.3, tol=1e-7).fit(X, y, qid)
    best = minimize(objective, np.zeros(4), tol=1e-10)
    assert ranker.objective_ == pytest.approx(best.fun, rel=1e-8)
    np.testing.assert_allclose(ranker.coef_, best.x, atol=1e-4)


def test_listnet_finds_the_minimum_of_the_cross_entropy():
    X, y, qid = problem(7, rows=40, queries=3)

    def objective(w):
        total = 0.5 * w @ w
        for q in range(3):
            s, g = X[qid == q] @ w, y[qid == q]
            wanted = np.exp(g) / np.exp(g).sum()
            total -= 2.0 * wanted @ (s - np.log(np.exp(s).sum()))
        return total

    ranker = ListNet(C=2.0, tol=1e-7).fit(X, y, qid)
    best = minimize(objective, np.zeros(4), tol=1e-10)
    assert ranker.objective_ == pytest.approx(best.fun, rel=1e-8)
    np.testing.assert_allclose(ranker.coef_, best.x, atol=1e-4)


def test_the_slope_of_the_listwise_loss_is_numerically_right():
    random = np.random.default_rng(0)
    scores, grades = random.normal(size=(2, 9))
    starts, counts = np.array([0, 1, 5, 9]), random.exponential(size=9)
    _, pull = top_one(scores, grades, starts, counts)
    slope = approx_fprime(scores, lambda s: top_one(s, grades, starts, counts)[0])
    np.testing.assert_allclose(-slope, pull, atol=1e-5)
    far, _ = top_one(1e4 * scores, grades, starts, counts)
    assert np.isfinite(far)


def test_normalising_is_within_queries():
    X = np.array([[1.0, 5.0], [3.0, 5.0], [9.0, 2.0], [2.0, 5.0], [7.0, 4.0]])
    qid = ["a", "a", "b", "a", "b"]
    found = normalise_per_query(csr_matrix(X), qid)
    expected = [[0, 0], [1, 0], [1, 0], [0.5, 0], [0, 1]]
    np.testing.assert_allclose(found, expected)
    z = normalise_per_query(X, qid, how="zscore")
    for query in "ab":
        own = z[[q == query for q in qid]]
        np.testing.assert_allclose(own.mean(axis=0), 0.0, atol=1e-12)
        assert set(own.std(axis=0).round(9)) <= {0.0, 1.0}
    assert (normalise_per_query(X, qid, how=None) == X).all()
    with pytest.raises(Mistake, match="how='max'"):
        normalise_per_query(X, qid, how="max")


def test_measures_per_query_are_those_of_runs():
    X, y, qid = problem(8)
    y -= 1.0  # grades below 0 are not relevant
    scores = X[:, 0].round(1)  # ties keep the order of rows
    names = ["map", "ndcg@5", "mrr", "p@3"]
    found = order_measured(scores, y, qid, names)
    queries = list(dict.fromkeys(qid.tolist()))
    rows = {str(q): np.flatnonzero(qid == q) for q in queries}
    run = {q: {str(i): scores[i] for i in own} for q, own in rows.items()}
    qrels = {q: {str(i): y[i] for i in own} for q, own in rows.items()}
    for name, values in retrieval_per_query(run, qrels, names).items():
        assert found[name].tolist() == pytest.approx(list(values.values()))


def test_queries_are_never_split_by_cross_validation(monkeypatch):
    X, y, qid = problem(9)
    seen = []
    fit = RankingSVM.fit

    def spied(self, X, y, qid, **more):
        seen.append(set(np.asarray(qid).tolist()))
        return fit(self, X, y, qid, **more)

    monkeypatch.setattr(RankingSVM, "fit", spied)
    found = select_over_queries(
        RankingSVM(tol=1e-2), X, y, qid, [1e-4, 1e-2, 1.0], folds=4
    )
    assert len(seen) == 12
    assert {len(own) for own in seen} == {9}
    assert found.parameters == found.tried[int(np.argmax(found.means))]
    np.testing.assert_allclose(found.values.mean(axis=1), found.means)
    assert found.values.shape == (3, 12)
    simple = select_over_queries(
        RankingSVM(tol=1e-2), X, y, qid, {"C": [1e-4, 1e-2, 1.0]}, folds=4,
        one_standard_error=True,
    )  # fmt: skip
    at = simple.tried.index(simple.parameters)
    best = int(np.argmax(simple.means))
    assert simple.means[at] >= simple.means[best] - simple.errors[best]
    assert all(simple.means[:at] < simple.means[best] - simple.errors[best])


def test_selection_refuses_what_cannot_be_split():
    X, y, qid = problem(9, queries=3)
    with pytest.raises(Mistake, match="folds is 5: give from 2 to 3"):
        select_over_queries(RankingSVM(), X, y, qid, [1.0])
    with pytest.raises(Mistake, match="grid is empty"):
        select_over_queries(RankingSVM(), X, y, qid, [], folds=2)


def test_importance_finds_the_features_that_matter():
    X, y, qid = problem(10, rows=300)
    ranker = RankingSVM(0.1).fit(X, y, qid)
    found = importance(ranker, X, y, qid)
    assert found.drop.argmax() == 0
    assert found.pull.argmax() == 0
    assert abs(found.drop[3]) < 0.05 < found.drop[0]
    assert found.pull[0] == pytest.approx(abs(ranker.coef_[0]), rel=0.15)
    X[:, 2] = np.unique(qid, return_inverse=True)[1]  # constant within each query
    flat = importance(ranker, X, y, qid)
    assert flat.drop[2] == 0.0
    assert flat.pull[2] == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(Mistake, match="rounds is 0"):
        importance(ranker, X, y, qid, rounds=0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"y": [0, 1]}, r"y has shape \(2,\): give one number for 4 rows"),
        ({"y": [0, 1, np.nan, 0]}, "y, row 2: nan is not finite"),
        ({"y": ["a"] * 4}, "y holds"),
        ({"qid": ["q"]}, "qid names 1 rows, X has 4"),
        ({"qid": [[1], [1], [1], [1]]}, "qid: give one hashable"),
        ({"sample_weight": [1, -1, 1, 1]}, r"sample_weight, row 1: -1.0 is below 0"),
        ({"X": [[np.inf]] * 4}, "X, row 0: the value is not finite"),
    ],
)
@pytest.mark.parametrize("ranker", LINEAR, ids=repr)
def test_bad_input_is_named(ranker, change, said):
    given = {"X": [[0.0], [1.0], [2.0], [3.0]], "y": [0, 1, 0, 1], "qid": [0, 0, 1, 1]}
    with pytest.raises(Mistake, match=said):
        clone(ranker).fit(**(given | change))


@pytest.mark.parametrize("ranker", LINEAR, ids=repr)
def test_judgments_without_an_order_are_refused(ranker):
    with pytest.raises(Mistake, match="y: "):
        clone(ranker).fit([[0.0], [1.0]], [1, 1], ["a", "a"])
    if not isinstance(ranker, PointwiseSVM):
        with pytest.raises(Mistake, match="no query has rows of two different grades"):
            clone(ranker).fit([[0.0], [1.0]], [0, 1], ["a", "b"])
    with pytest.raises(Mistake, match="C is -1"):
        clone(ranker).set_params(C=-1).fit([[0.0], [1.0]], [0, 1], ["a", "a"])
    fitted = clone(ranker).fit([[0.0], [1.0]], [0, 1], ["a", "a"])
    with pytest.raises(Mistake, match=r"X has 2 features, but .* 1 features"):
        fitted.decision_function([[1.0, 2.0]])
    with pytest.raises(Mistake, match="not fitted"):
        clone(ranker).decision_function([[1.0]])


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (([0], [0]), "are the same row"),
        (([0, 1], [1]), "2 winners and 1 losers"),
        (([], []), "0 winners and 0 losers"),
        (([2], [0]), r"winners\[0\] is 2, but X has 2 rows"),
        (([0], [-1]), r"losers\[0\] is -1, but X has 2 rows"),
        (([0.5], [1.0]), "winners: give a flat list of row numbers"),
        (([0], [1], [-1.0]), "sample_weight, row 0: -1.0 is below 0"),
        (([0], [1], [0.0]), "no preference counts anything"),
    ],
)
def test_bad_preferences_are_named(pairs, said):
    with pytest.raises(Mistake, match=said):
        RankingSVM().fit_preferences([[0.0], [1.0]], *pairs)


def test_weightings_are_named():
    with pytest.raises(Mistake, match="weighting 'tau' is not known"):
        RankingSVM(weighting="tau").fit([[0.0], [1.0]], [0, 1], [0, 0])
    with pytest.raises(Mistake, match="needs grades"):
        RankingSVM(weighting="ir").fit_preferences([[0.0], [1.0]], [0], [1])


def test_trees_that_are_not_installed_are_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(Mistake, match=r"pip install 'classmark\[trees\]'"):
        LambdaMART().fit([[0.0], [1.0]], [0, 1], [0, 0])


@pytest.mark.needs("lightgbm")
def test_trees_order_unseen_queries():
    X, y, qid = problem(0, rows=600)
    ranker = LambdaMART(n_estimators=30, min_data_in_leaf=5).fit(X, y, qid)
    copy = type(ranker)(**ranker.get_params()).fit(X, y, qid)
    assert repr(copy) == "LambdaMART(n_estimators=30, min_data_in_leaf=5)"
    X, y, qid = problem(1, rows=600)
    scores = ranker.decision_function(X)
    np.testing.assert_array_equal(scores, copy.decision_function(X))
    good = order_measured(scores, y, qid, ["ndcg@10"])["ndcg@10"].mean()
    chance = order_measured(X[:, 3], y, qid, ["ndcg@10"])["ndcg@10"].mean()
    assert good > chance + 0.2
    with pytest.raises(Mistake, match="whole grades from 0 to 30"):
        LambdaMART().fit(X, y + 0.5, qid)
    with pytest.raises(Mistake, match=r"X has 1 features, but .* 4 features"):
        ranker.decision_function(X[:, :1])


def test_the_objective_on_mq2008_is_liblinears(data):
    from sklearn.svm import LinearSVC

    from reproductions.ltr_mq2008 import load_parts

    part = load_parts(data)[0]
    X, y = part.rows.to_scipy().toarray(), part.grades
    pairs = _pairs(y, part.qids)
    apart = X[pairs[0]] - X[pairs[1]]
    sign = np.where(np.arange(len(apart)) % 2, 1.0, -1.0)
    svm = LinearSVC(
        loss="hinge", C=0.01, fit_intercept=False, tol=1e-3, max_iter=10**5
    ).fit(apart * sign[:, np.newaxis], sign)
    w = svm.coef_.ravel()
    theirs = 0.5 * w @ w + 0.01 * np.maximum(0.0, 1.0 - apart @ w).sum()
    found = RankingSVM(0.01).fit(X, y, part.qids)
    assert found.objective_ == pytest.approx(theirs, rel=1e-3)


def _pairs(y, qid):
    numbers = np.unique(qid, return_inverse=True)[1]
    winners, losers = [], []
    for query in range(numbers.max() + 1):
        rows = np.flatnonzero(numbers == query)
        i, j = np.nonzero(y[rows][:, np.newaxis] > y[rows])
        winners.append(rows[i])
        losers.append(rows[j])
    return np.concatenate(winners), np.concatenate(losers)

"""Flat classifiers: one node over all categories."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.svm import LinearSVC

from classmark.hierarchies.flat import CrammerSingerSVM, FlatClassifier
from classmark.hierarchies.nodes import BASES
from classmark.problems import Mistake


def _collection(n=90, features=40, classes=6, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(classes, size=n)
    rates = 0.1 + 1.5 * (random.random((classes, features)) > 0.8)
    X = random.poisson(rates[y]) + (np.arange(features) == 0)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


@pytest.mark.parametrize("C", [0.3, 3.0])
def test_it_is_the_optimum_of_liblinear(C):
    X, y = _collection()
    own = CrammerSingerSVM(C=C, tol=1e-4).fit(X, y)
    other = LinearSVC(
        multi_class="crammer_singer", C=C, tol=1e-7, max_iter=100_000, random_state=0
    ).fit(X, y)
    scores = other.decision_function(X)
    short = 1.0 - (scores[np.arange(len(y)), y][:, None] - scores)
    short[np.arange(len(y)), y] = 0.0
    size = (other.coef_**2).sum() + (other.intercept_**2).sum()
    wanted = 0.5 * size + C * short.max(axis=1).sum()
    assert own.objective_ == pytest.approx(wanted, rel=2e-4)
    assert own.duality_gap_ <= 1e-4
    assert np.mean(np.array(own.predict(X)) == other.predict(X)) > 0.97


def test_sparse_weights_rank_as_dense_ones():
    X, y = _collection()
    dense = CrammerSingerSVM(tol=1e-5).fit(X, y)
    thin = CrammerSingerSVM(tol=1e-5, memory="1kB").fit(X, y)
    assert sparse.issparse(thin.weights_)
    centred = [s - s.mean(axis=1, keepdims=True) for s in (
        dense.decision_function(X), thin.decision_function(X))]  # fmt: skip
    np.testing.assert_allclose(*centred, atol=2e-2)
    own = dense.evidence(X[:1], 2), thin.evidence(X[:1], 2)
    np.testing.assert_allclose(own[0].parts, own[1].parts, atol=2e-2)


@pytest.mark.parametrize("base", BASES)
def test_categories_may_be_any_hashable_and_several(base):
    X = np.repeat(np.eye(3), 4, axis=0)
    y = [("a", 1)] * 4 + [["b", ("a", 1)]] * 4 + [{"b"}] * 4
    model = FlatClassifier(base, C=10.0).fit(X, y)
    assert model.classes_ == [("a", 1), "b"]
    assert model.predict(np.eye(3)[[0, 2]]) == [("a", 1), "b"]
    assert model.rank(np.eye(3), k=1)[2] == ["b"]
    assert sorted(map(str, model.rank(np.eye(3))[1])) == ["('a', 1)", "b"]
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("base", BASES)
def test_evidence_sums_to_the_distance_from_the_mean_score(base):
    X, y = _collection()
    model = FlatClassifier(base).fit(X, y)
    scores = model.decision_function(X[:1])[0] - model.bias_
    found = model.evidence(X[:1], 3)
    assert found.parts.sum() == pytest.approx(scores[3] - scores.mean(), abs=1e-9)


def test_order_of_rank_is_that_of_the_scores():
    X, y = _collection()
    model = FlatClassifier("naive-bayes", C=10.0).fit(X, y)
    scores = model.decision_function(X)
    for line, ranked in zip(scores, model.rank(X), strict=True):
        assert (np.diff(line[ranked]) <= 0).all()
    assert [r[:2] for r in model.rank(X)] == model.rank(X, k=2)


def test_scikit_learn_can_clone_it():
    copy = clone(FlatClassifier("logistic", C=3.0))
    assert copy.get_params() == FlatClassifier("logistic", C=3.0).get_params()
    assert clone(CrammerSingerSVM(C=2.0)).C == 2.0
    assert repr(CrammerSingerSVM(C=2.0)) == "CrammerSingerSVM(C=2.0)"


def test_size_is_that_of_its_arrays():
    X, y = _collection()
    model = FlatClassifier("naive-bayes").fit(X, y)
    features = (X.sum(axis=0) > 0).sum()
    assert model.size_bytes_ == 8 * 6 * (features + 1) + 4 * features


def test_mistakes_name_the_remedy():
    X, y = _collection()
    with pytest.raises(Mistake, match="base 'knn' is not known"):
        FlatClassifier("knn").fit(X, y)
    with pytest.raises(Mistake, match="X has 90 rows, y 1 entries"):
        FlatClassifier().fit(X, ["a"])
    with pytest.raises(Mistake, match="names no category"):
        FlatClassifier().fit(X[:2], [[], []])
    with pytest.raises(Mistake, match="call fit first"):
        FlatClassifier().predict(X)
    with pytest.raises(Mistake, match="use base='svm', or a TopDownClassifier"):
        FlatClassifier("logistic", memory="2kB").fit(X, y)
    model = FlatClassifier().fit(X, y)
    with pytest.raises(Mistake, match="X has 3 features"):
        model.predict(np.eye(3))
    with pytest.raises(Mistake, match="at least one category"):
        model.rank(X, k=0)
    with pytest.raises(Mistake, match="none that was learned"):
        model.evidence(X[:1], "z")
    with pytest.raises(Mistake, match="X has 90 rows"):
        model.evidence(X, 1)

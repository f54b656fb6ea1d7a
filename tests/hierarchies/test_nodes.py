"""Classifiers at one node, against scikit-learn's."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

from classmark.arrays import rows_from
from classmark.hierarchies.nodes import BASES, NOWHERE, fit_node, in_use
from classmark.problems import Mistake
from classmark.rankers.calibration import posterior


def _node(n=80, features=15, daughters=5, seed=0):
    """Documents of words that their daughters prefer, and owners."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % daughters
    rates = 0.2 + 2.0 * (random.random((daughters, features)) > 0.7)
    X = random.poisson(rates[y]).astype(float)
    return X, y, rows_from(X), rows_from(np.eye(daughters)[y])


def _cost(X, y, W, bias, C):
    """The objective of Crammer and Singer, the bias being a weight."""
    scores = X @ W + bias
    short = 1.0 - (scores[np.arange(len(y)), y][:, None] - scores)
    short[np.arange(len(y)), y] = 0.0
    return 0.5 * ((W**2).sum() + (bias**2).sum()) + C * short.max(axis=1).sum()


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_margins_reach_the_objective_of_liblinear(C):
    X, y, rows, owners = _node()
    own = fit_node(rows, owners, "svm", C, tol=1e-3)
    other = LinearSVC(
        multi_class="crammer_singer", C=C, tol=1e-6, max_iter=100_000, random_state=0
    ).fit(X, y)
    wanted = _cost(X, y, other.coef_.T, other.intercept_, C)
    reached = _cost(X, y, own.weights, own.bias, C)
    assert wanted * (1 - 1e-3) <= reached <= wanted * (1 + 1.01e-3)


def test_odds_are_those_of_multinomial_logistic_regression():
    X, y, rows, owners = _node()
    own = fit_node(rows, owners, "logistic", 2.0, tol=1e-6)
    constant = np.column_stack([X, np.ones(len(X))])
    other = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-8, max_iter=9999)
    wanted = other.fit(constant, y).coef_.T
    assert np.abs(own.weights - wanted[:-1]).max() < 1e-3
    assert np.abs(own.bias - wanted[-1]).max() < 1e-3


@pytest.mark.parametrize("alpha", [1.0, 0.01])
def test_counts_are_those_of_multinomial_naive_bayes(alpha):
    X, y, rows, owners = _node()
    own = fit_node(rows, owners, "naive-bayes", 1.0 / alpha)
    other = MultinomialNB(alpha=alpha).fit(X, y)
    np.testing.assert_allclose(own.weights, other.feature_log_prob_.T, rtol=1e-12)
    np.testing.assert_allclose(own.bias, other.class_log_prior_, rtol=1e-12)
    chances = posterior(own.scores(rows))
    np.testing.assert_allclose(chances, other.predict_proba(X), atol=1e-9)


def test_words_that_a_node_never_saw_count_nothing():
    _, _, rows, owners = _node()
    wide = rows_from(
        sparse.hstack([sparse.csr_array((len(rows), 900)), rows.to_scipy()]).tocsr()
    )
    for base in BASES:
        narrow, shifted = (fit_node(r, owners, base) for r in (rows, wide))
        assert shifted.features.tolist() == list(range(900, 915))
        np.testing.assert_array_equal(narrow.weights, shifted.weights)
        stranger = rows_from(np.eye(1, wide.width))
        np.testing.assert_allclose(shifted.scores(stranger), [shifted.bias])


@pytest.mark.parametrize("width", [20, 20_000])
def test_columns_in_use_are_found_in_narrow_and_wide_rows(width):
    X = sparse.random(9, width, density=40 / (9 * width), random_state=1, format="csr")
    features, compact = in_use(rows_from(X))
    assert features.tolist() == np.unique(X.indices).tolist()
    np.testing.assert_array_equal(
        compact.to_scipy().toarray(), X[:, features.astype(int)].toarray()
    )


@pytest.mark.parametrize("base", BASES)
def test_a_daughter_without_documents_comes_last(base):
    X, y, rows, _ = _node()
    owners = rows_from(np.eye(7)[y + (y >= 2)])
    scores = fit_node(rows, owners, base).scores(rows_from(50.0 * X))
    rest = np.delete(scores, [2, 6], axis=1)
    assert (scores[:, [2, 6]] == NOWHERE).all()
    assert (rest.min(axis=1) > NOWHERE).all()
    best = fit_node(rows, rows_from(np.eye(5)[y]), base).scores(rows_from(50.0 * X))
    np.testing.assert_allclose(rest, best, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("base", BASES)
def test_one_daughter_needs_no_learning(base):
    rows = rows_from([[1.0, 2.0]])
    alone = fit_node(rows, rows_from([[1.0]]), base)
    assert (alone.weights.shape, alone.bias.tolist()) == ((0, 1), [0.0])
    assert alone.scores(rows).tolist() == [[0.0]]
    pair = fit_node(rows, rows_from([[0.0, 1.0]]), base)
    assert pair.scores(rows).tolist() == [[NOWHERE, 0.0]]


@pytest.mark.parametrize("base", BASES)
def test_documents_of_several_daughters_and_of_none_are_learned_from(base):
    X = np.repeat(np.eye(4), 3, axis=0)
    owned = np.repeat([[1, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]], 3, axis=0)
    model = fit_node(rows_from(X), rows_from(owned.astype(float)), base, 10.0)
    first, second, third, _ = model.scores(rows_from(np.eye(4)))
    assert min(first[:2]) > first[2]
    assert second[1] > max(second[[0, 2]])
    assert third[2] > max(third[:2])


@pytest.mark.parametrize("base", BASES)
def test_threads_learn_the_same_as_one_after_the_other(base):
    nodes = [_node(seed=seed)[2:] for seed in range(6)]
    alone = [fit_node(*node, base) for node in nodes]
    with ThreadPoolExecutor(3) as threads:
        together = list(threads.map(lambda node: fit_node(*node, base), nodes))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)


@pytest.mark.parametrize("base", BASES)
def test_the_kind_of_numbers_stays(base):
    X, _, _, owners = _node()
    model = fit_node(rows_from(X.astype(np.float32)), owners, base)
    assert model.weights.dtype == model.bias.dtype == np.float32


def test_what_cannot_be_learned_is_refused():
    rows, owners = rows_from([[-1.0], [1.0]]), rows_from(np.eye(2))
    with pytest.raises(Mistake, match="use svm, logistic, naive-bayes"):
        fit_node(rows, owners, "trees")
    with pytest.raises(Mistake, match="C is 0"):
        fit_node(rows, owners, "svm", 0.0)
    with pytest.raises(Mistake, match="row 0: a value is below 0"):
        fit_node(rows, owners, "naive-bayes")

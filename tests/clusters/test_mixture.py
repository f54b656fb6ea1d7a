"""The mixture of multinomials: its posterior never falls; shares sum to one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from classmark.clusters.kmeans import SoftMixture
from classmark.problems import Mistake
from clusters.texts import topics


@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 1.0, 10.0]))
def test_the_posterior_never_falls_and_shares_sum_to_one(seed, scale):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    X = rng.poisson(0.5, (n, 9)).astype(float)
    k = int(rng.integers(1, min(n, 5) + 1))
    model = SoftMixture(k, scale=scale, tol=0.0, max_iter=30, random_state=seed).fit(X)
    assert (np.diff(model.trace_) >= -1e-7).all()
    shares = model.predict_proba(X)
    assert np.allclose(shares.sum(axis=1), 1.0)
    assert (shares.argmax(axis=1) == model.labels_).all()
    assert np.allclose(np.exp(model.log_terms_).sum(axis=0), 1.0)


def test_the_posterior_is_what_it_says():
    X, _ = topics(n=20)
    model = SoftMixture(3, scale=None, alpha=0.5).fit(X)
    theta = np.exp(model.log_terms_)
    each = [
        np.log(model.weights_ @ np.prod(theta ** x[:, None], axis=0))
        for x in X.toarray()
    ]
    prior = 0.5 * np.log(theta).sum()
    assert model.log_posterior_ == pytest.approx(sum(each) + prior, rel=1e-9)


def test_topics_are_found_and_a_mixed_document_is_between():
    X, own = topics()
    model = SoftMixture(4).fit(X)
    assert adjusted_rand_score(own, model.labels_) == 1.0
    mixed = X[own == 0][:1] + X[own == 1][:1]
    sure = model.predict_proba(X).max(axis=1).min()
    assert model.predict_proba(mixed).max() < sure
    assert model.predict(X).tolist() == model.labels_.tolist()


def test_a_longer_document_is_no_surer_when_scaled():
    X, _ = topics()
    model = SoftMixture(4).fit(X)
    assert np.allclose(model.predict_proba(9.0 * X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("X", "model", "said"),
    [
        ([[1.0], [-2.0]], SoftMixture(1), "X, row 1: a value is below 0"),
        ([[1.0]], SoftMixture(2), "n_components is 2 for 1 documents"),
        ([[1.0]], SoftMixture(1, alpha=0.0), "alpha is 0.0"),
        (np.empty((0, 2)), SoftMixture(1), r"0 sample\(s\)"),
    ],
)
def test_what_cannot_be_is_refused(X, model, said):
    with pytest.raises(Mistake, match=said):
        model.fit(X)


def test_other_features_are_refused():
    with pytest.raises(Mistake, match="X has 2 features"):
        SoftMixture(1).fit([[1.0]]).predict([[1.0, 0.0]])

"""What holds of the on-line rankers whatever the documents and labels."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from classmark.rankers.online import MMP

SEEDS = st.integers(0, 2**32 - 1)
LOSSES = st.sampled_from([1, 2, 3])


def separable(rng, n, d, k):
    """Documents, labels, and the margin by which a unit w* ranks them all right."""
    truth = rng.standard_normal((k, d))
    truth /= np.linalg.norm(truth)
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    scores = X @ truth.T
    order, sizes = np.argsort(-scores), rng.integers(0, k + 1, n)
    padded = np.pad(-np.sort(-scores), ((0, 0), (1, 1)), constant_values=(9.0, -9.0))
    margins = padded[range(n), sizes] - padded[range(n), sizes + 1]
    kept = np.flatnonzero(margins > rng.uniform(0.0, 0.5))
    labels = [order[i, : sizes[i]].tolist() for i in kept]
    return X[kept], labels, margins[kept].min(initial=9.0)


@given(SEEDS, LOSSES, st.integers(2, 6), st.integers(1, 8))
def test_losses_stay_under_the_bounds_of_the_paper(seed, loss, k, passes):
    """Σ loss1 ≤ 2R²/γ², Σ loss2 ≤ k R²/γ², Σ loss3 ≤ k/(k−1) · R²/γ²; here R = 1."""
    X, Y, margin = separable(np.random.default_rng(seed), 60, 2, k)
    assume(any(0 < len(y) < k for y in Y))
    ranker = MMP(loss)
    for _ in range(passes):
        ranker.partial_fit(X, Y, n_labels=k)
    factor = {1: 2.0, 2: k, 3: k / (k - 1)}[loss]
    lost = ranker.losses_[:, loss - 1].sum()
    assert lost <= factor / margin**2 * (1 + 1e-12)
    assert np.allclose(ranker.coef_.sum(axis=0), 0.0)


@given(SEEDS, LOSSES)
def test_labels_numbered_otherwise_learn_the_same(seed, loss):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((15, 4)), (rng.random((15, 5)) < 0.4) * 1
    order = rng.permutation(5)
    one, other = MMP(loss).fit(X, Y), MMP(loss).fit(X, Y[:, order])
    assert np.allclose(one.coef_[order], other.coef_)
    assert np.allclose(one.losses_, other.losses_)


@given(SEEDS, LOSSES, st.floats(0.01, 100.0))
def test_longer_documents_change_no_ranking(seed, loss, length):
    """Every score grows by length²: a power of 2, so that rounding is the same."""
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((15, 4)), (rng.random((15, 5)) < 0.4) * 1
    power = 2.0 ** np.round(np.log2(length))
    one, other = MMP(loss).fit(X, Y), MMP(loss).fit(power * X, Y)
    assert np.array_equal(one.losses_, other.losses_)
    assert np.array_equal(one.rank(X), other.rank(X))

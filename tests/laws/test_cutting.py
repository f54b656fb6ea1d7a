"""The propositions of query by multiple examples, as laws [ZhangLee09]."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from classmark.solvers.cutting_planes import literal_scale, oracle_of
from classmark.solvers.kernels_hinge import product_loss

COUNTS = st.integers(1, 30)
SOME = st.floats(0.01, 0.99)


@given(a=COUNTS, b=st.integers(0, 40), c=st.integers(0, 40))
def test_proposition_6_the_product_is_below_f1_and_its_root_above(a, b, c):
    product = 1.0 - product_loss(float(a), float(b), a + c)
    f1 = 2 * a / (2 * a + b + c)
    assert product <= f1 + 1e-12
    assert f1 <= np.sqrt(product) + 1e-12


@given(relevant=SOME, sampled=SOME, found=SOME, false=SOME)
def test_proposition_3_observed_balanced_accuracy_is_affine_in_the_actual(
    relevant, sampled, found, false
):
    """found = Pr[h = 1 | z = 1], false = Pr[h = 1 | z = −1], sampled = μ."""
    positive = relevant * sampled
    false_seen = (relevant * (1 - sampled) * found + (1 - relevant) * false) / (
        1 - positive
    )
    actual, observed = (found + 1 - false) / 2, (found + 1 - false_seen) / 2
    slope = sampled * relevant * (1 - relevant) / (positive * (1 - positive))
    assert observed - 0.5 == pytest.approx((actual - 0.5) * slope, abs=1e-12)


@given(sample=COUNTS, hits=COUNTS, misses=COUNTS, false=st.integers(0, 50))
def test_propositions_7_to_9_of_a_sample_that_is_like_the_relevant(
    sample, hits, misses, false
):
    """Of each kind of relevant document one in ``sample`` + 1 is an example."""
    fold = sample + 1
    a, c = hits, misses
    observed = a / (a + c), a / (a * fold + false)
    actual = a * fold / ((a + c) * fold), a * fold / (a * fold + false)
    assert observed[0] == pytest.approx(actual[0])
    assert observed[1] == pytest.approx(actual[1] / fold)
    seen = 1.0 - product_loss(float(a), float(a * sample + false), a + c)
    true = 1.0 - product_loss(float(a * fold), float(false), (a + c) * fold)
    assert seen == pytest.approx(true / fold)


@pytest.mark.parametrize("kind", ["precision-recall", "balanced", "precision@k"])
@given(seed=st.integers(0, 2**32 - 1), stretch=st.floats(0.1, 10))
@settings(max_examples=15)
def test_the_slack_is_convex_and_its_planes_lie_below_it(kind, seed, stretch):
    rng = np.random.default_rng(seed)
    oracle = oracle_of(kind, 4, 7, k=5)

    def slack(scores):
        plane = oracle(scores)
        return plane.loss - plane.coefficients @ scores

    one, two = rng.standard_normal((2, 11)) * stretch / 10
    plane = oracle(one)
    assert plane.loss - plane.coefficients @ two <= slack(two) + 1e-12
    assert slack((one + two) / 2) <= (slack(one) + slack(two)) / 2 + 1e-12


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_the_order_of_rows_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal(12) / 20
    oracle = oracle_of("precision-recall", 5, 7, scale=literal_scale(5, 7))
    mixed = np.concatenate([rng.permutation(5), 5 + rng.permutation(7)])
    straight, other = oracle(scores), oracle(scores[mixed])
    assert straight.loss == pytest.approx(other.loss)
    assert np.allclose(straight.coefficients[mixed], other.coefficients)

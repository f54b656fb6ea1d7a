import numpy as np
import pytest
from scipy import stats

from classmark.measures import (
    bootstrap_interval,
    classification,
    macro_t_test,
    micro_sign_test,
    paired_t_test,
    randomisation_test,
    sign_test,
)
from classmark.problems import Mistake

SIDES = ["two-sided", "greater", "less"]


def pairs(seed, n=25):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    return a, a + rng.normal(0.3, 1.0, size=n)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("seed", range(3))
def test_paired_t_equals_scipy(seed, side):
    a, b = pairs(seed)
    expected = stats.ttest_rel(a, b, alternative=side)
    result = paired_t_test(a, b, side)
    assert result.statistic == pytest.approx(expected.statistic)
    assert result.p_value == pytest.approx(expected.pvalue)
    assert result.pairs == 25


def test_t_without_spread():
    assert paired_t_test([1, 2], [1, 2]).p_value == 1
    assert paired_t_test([2, 3], [1, 2], "greater").p_value == 0
    assert paired_t_test([2, 3], [1, 2], "less").p_value == 1


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("seed", range(3))
def test_sign_test_equals_scipy(seed, side):
    a, b = np.round(pairs(seed), 0)
    wins, n = int((a > b).sum()), int((a != b).sum())
    assert n < 25
    expected = stats.binomtest(wins, n, alternative=side).pvalue
    assert sign_test(a, b, side).p_value == pytest.approx(expected)
    assert sign_test(a, b, side).pairs == n


def test_micro_sign_test_counts_decisions():
    rng = np.random.default_rng(0)
    truth, a, b = (rng.random((3, 20, 5)) < 0.4).astype(int)
    wins = int(((a == truth) & (b != truth)).sum())
    losses = int(((a != truth) & (b == truth)).sum())
    result = micro_sign_test(truth, a, b)
    assert (result.statistic, result.pairs) == (wins, wins + losses)
    expected = stats.binomtest(wins, wins + losses).pvalue
    assert result.p_value == pytest.approx(expected)
    assert micro_sign_test(truth, a, a).p_value == 1


def test_macro_t_test_compares_f1_of_labels():
    rng = np.random.default_rng(1)
    truth, a, b = (rng.random((3, 40, 6)) < 0.4).astype(int)
    each = [
        [
            classification(truth[:, [k]], system[:, [k]], ["F1(micro)"])["F1(micro)"]
            for k in range(6)
        ]
        for system in (a, b)
    ]
    expected = stats.ttest_rel(*each, alternative="greater").pvalue
    assert macro_t_test(truth, a, b, "greater").p_value == pytest.approx(expected)


@pytest.mark.parametrize("side", SIDES)
def test_all_signs_equal_scipy(side):
    a, b = pairs(4, n=9)
    expected = stats.permutation_test(
        (a, b),
        lambda x, y: np.mean(x - y),
        permutation_type="samples",
        alternative=side,
        n_resamples=np.inf,
        vectorized=False,
    )
    result = randomisation_test(a, b, side)
    assert result.p_value == pytest.approx(expected.pvalue)
    assert result.statistic == pytest.approx(expected.statistic)


@pytest.mark.parametrize("side", SIDES)
def test_random_signs_come_near_all_signs(side):
    a, b = pairs(5, n=14)
    exact = randomisation_test(a, b, side, rounds=2**14).p_value
    drawn = randomisation_test(a, b, side, rounds=2**14 - 1, seed=3)
    assert drawn.p_value != exact
    assert drawn.p_value == pytest.approx(exact, abs=0.02)
    assert drawn == randomisation_test(a, b, side, rounds=2**14 - 1, seed=3)


def test_randomisation_never_says_impossible():
    a = np.arange(1.0, 200.0)
    assert randomisation_test(a, 0 * a, rounds=99, seed=0).p_value == 0.02


@pytest.mark.parametrize("paired", [False, True])
def test_bootstrap_comes_near_scipy(paired):
    a, b = pairs(6, n=60)
    values = a - b if paired else a
    expected = stats.bootstrap(
        (values,), np.mean, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    result = bootstrap_interval(a, b if paired else None, seed=2)
    assert result == pytest.approx([expected.low, expected.high], abs=0.02)
    assert result == bootstrap_interval(a, b if paired else None, seed=2)
    narrow = bootstrap_interval(a, b if paired else None, confidence=0.5, seed=2)
    assert result[0] < narrow[0] < values.mean() < narrow[1] < result[1]


def test_mistakes_are_named():
    with pytest.raises(Mistake, match=r"shapes \(2,\) and \(3,\)"):
        paired_t_test([1, 2], [1, 2, 3])
    with pytest.raises(Mistake, match="at least 2"):
        paired_t_test([1], [2])
    with pytest.raises(Mistake, match="place 1: not finite"):
        sign_test([1, np.nan], [0, 0])
    with pytest.raises(Mistake, match="alternative 'bigger'"):
        sign_test([1, 2], [0, 0], "bigger")
    with pytest.raises(Mistake, match="confidence is 95"):
        bootstrap_interval([1, 2], confidence=95)
    with pytest.raises(Mistake, match="rounds is 0"):
        bootstrap_interval([1, 2], rounds=0)
    with pytest.raises(Mistake, match="1, 1 and 2 documents"):
        micro_sign_test([0], [0], [0, 1])

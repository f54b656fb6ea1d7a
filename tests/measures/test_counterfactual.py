"""Values of a policy from another's log: without bias, and within intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.measures.off_policy import clipped_ips, ips, snips
from classmark.problems import Mistake


def logged_rewards(rng, n, logging, wanted, chances):
    """Draw actions by one policy; return rewards, and both chances of each action."""
    acts = rng.choice(len(logging), n, p=logging)
    rewards = rng.random(n) < chances[acts]
    return rewards, wanted[acts], logging[acts]


LOGGING = np.array([0.6, 0.3, 0.1])
WANTED = np.array([0.1, 0.3, 0.6])
CHANCES = np.array([0.1, 0.3, 0.8])
TRUE = float(WANTED @ CHANCES)


@pytest.mark.parametrize("estimate", [ips, snips])
def test_the_true_value_is_inside_as_often_as_said(estimate):
    rng = np.random.default_rng(4)
    values, inside = [], 0
    for _ in range(400):
        found = estimate(*logged_rewards(rng, 500, LOGGING, WANTED, CHANCES))
        values.append(found.value)
        inside += found.low <= TRUE <= found.high
    assert abs(np.mean(values) - TRUE) < 4 * np.std(values) / 20
    assert 0.91 <= inside / 400 <= 0.985


def test_errors_are_those_seen_and_snips_has_the_smaller():
    rng = np.random.default_rng(6)
    runs = [logged_rewards(rng, 800, LOGGING, WANTED, CHANCES) for _ in range(300)]
    spread = {}
    for estimate in (ips, snips):
        found = [estimate(*run) for run in runs]
        spread[estimate] = np.std([each.value for each in found])
        said = np.mean([each.error for each in found])
        assert said == pytest.approx(spread[estimate], rel=0.15)
    assert spread[snips] < spread[ips]


def test_clipping_lowers_the_value_and_the_error():
    rng = np.random.default_rng(8)
    run = logged_rewards(rng, 2000, LOGGING, WANTED, CHANCES)
    whole, cut = ips(*run), clipped_ips(*run, clip=3.0)
    assert cut.value < whole.value
    assert cut.error < whole.error
    assert clipped_ips(*run, clip=6.0) == whole
    assert whole.mean_weight == pytest.approx(1, abs=0.15)
    assert whole.effective < 2000


def test_the_same_policy_is_the_plain_mean():
    rewards, chance = [1, 0, 0, 1, 1], [0.2, 0.3, 0.5, 0.2, 0.2]
    for estimate in (ips, snips, clipped_ips):
        found = estimate(rewards, chance, chance)
        assert found.value == pytest.approx(0.6)
        assert found.effective == pytest.approx(5)


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.floats(0.01, 1), st.floats(0.01, 1)),
        min_size=2,
        max_size=30,
    ),
    st.floats(-5, 5),
)
def test_snips_moves_with_the_rewards_and_stays_among_them(rows, shift):
    rewards, wanted, logged = (np.array(column) for column in zip(*rows, strict=True))
    found = snips(rewards, wanted, logged)
    assert rewards.min() - 1e-9 <= found.value <= rewards.max() + 1e-9
    moved = snips(rewards + shift, wanted, logged)
    assert moved.value == pytest.approx(found.value + shift, abs=1e-9)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda: ips([1, 0], [0.5, 0.5], [0.5, 0.0]), r"logged\[1\] is 0"),
        (lambda: ips([1, 0], [0.5, 1.5], [0.5, 0.5]), "wanted holds chances"),
        (lambda: ips([1, 0], [0.5], [0.5, 0.5]), "do not go together"),
        (lambda: ips([1], [0.5], [0.5]), "two rows or more"),
        (lambda: snips([1, 0], [0, 0], [0.5, 0.5]), "says nothing of that policy"),
        (lambda: clipped_ips([1, 0], [0, 1], [0.5, 0.5], 0), "clip is 0"),
        (lambda: ips([1, 0], [1, 1], [1, 1], confidence=1), "confidence is 1"),
    ],
)
def test_what_is_refused(act, said):
    with pytest.raises(Mistake, match=said):
        act()

"""What claims are worded with: intervals and chances."""

import numpy as np
import pytest

from classmark.measures import bootstrap_interval
from reproductions.report import chance, difference, resampled


def test_a_difference_has_its_interval():
    rng = np.random.default_rng(0)
    own, other = rng.random(30) + 0.2, rng.random(30)
    low, high = bootstrap_interval(own, other, rounds=2000)
    mean = np.mean(own - other)
    assert difference(own, other, "+.2f") == f"{mean:+.2f} ({low:+.2f} … {high:+.2f})"


def test_any_statistic_is_resampled():
    values = np.random.default_rng(1).random(200)
    own = resampled(lambda at: float(values[at].mean()), 200)
    assert own == pytest.approx(bootstrap_interval(values, rounds=2000), abs=0.01)
    assert resampled(lambda at: float(len(at)), 7, rounds=3) == (7.0, 7.0)


def test_small_chances_are_not_drawn_out():
    assert [chance(p) for p in (0.0001, 0.0234)] == ["p < 0.001", "p = 0.023"]

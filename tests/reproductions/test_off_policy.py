"""Two policies that both ran: what one's log says of the other."""

import numpy as np
import pytest

from classmark.datasets.dataset import Impressions
from reproductions.clicks import compared, off_policy, shown_shares


def made(rng, n, policy, chances):
    """Draw impressions by one policy, shape (positions, items)."""
    positions = rng.integers(1, len(policy) + 1, n)
    items = np.array([rng.choice(len(p), p=p) for p in policy[positions - 1]])
    clicks = rng.random(n) < chances[items]
    return Impressions(
        items, positions, clicks.astype(int), policy[positions - 1, items]
    )


def test_both_find_each_other():
    rng = np.random.default_rng(1)
    even = np.full((2, 4), 0.25)
    learned = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.1, 0.2, 0.6]])
    chances = np.array([0.05, 0.1, 0.2, 0.4])
    logs = [made(rng, 6000, policy, chances) for policy in (even, learned)]
    for log, other in (logs, logs[::-1]):
        rows = compared("made", ("a", "b"), log, other)
        assert [row.estimator for row in rows] == ["ips", "clipped ips", "snips"]
        assert all(abs(row.apart) < 3 for row in rows)
        assert rows[0].seen.value == pytest.approx(other.clicks.mean())
    assert logs[0].clicks.mean() != pytest.approx(logs[1].clicks.mean(), rel=0.05)


def test_shares_are_the_chances_where_they_never_change():
    def log(items, positions, chances):
        n = len(items)
        return Impressions(
            np.array(items), np.array(positions), np.zeros(n, int), np.array(chances)
        )

    even = log([0, 1], [1, 1], [0.25, 0.25])
    other = log([0, 0, 1, 1], [1, 1, 1, 2], [0.6, 0.7, 0.3, 0.9])
    assert shown_shares(even, other).tolist() == [0.25] * 4
    assert shown_shares(other, even) == pytest.approx([2 / 3, 1 / 3])


def test_the_open_bandit_logs_agree(data):
    table = off_policy(data)
    assert len(table.rows) == 3 * 2 * 3
    assert all(abs(row.apart) < 1.96 for row in table.rows)
    for row in table.rows:
        if row.log == "random" and row.estimator == "ips":
            assert row.estimate.mean_weight == pytest.approx(1, abs=0.05)

"""A user whose clicks come out as often as was said."""

import numpy as np
import pytest

from classmark.problems import Mistake
from reproductions.click_model import User


def test_clicks_come_as_often_as_the_chances_say():
    user = User(attraction=(0.1, 0.5, 0.9), eta=0.7, mistake=0.05)
    grades = np.tile([2, 0, 1, 5], (40_000, 1))
    seen = user.clicks(grades, 0).mean(axis=0)
    by_hand = [
        0.05 + 0.95 * at**-0.7 * liked
        for at, liked in zip([1, 2, 3, 4], [0.9, 0.1, 0.5, 0.9], strict=True)
    ]
    assert user.chances([2, 0, 1, 5]) == pytest.approx(by_hand)
    assert seen == pytest.approx(by_hand, abs=0.01)


def test_a_cascade_that_never_goes_on_clicks_once():
    user = User(attraction=(0.2, 0.6), kind="cascade", another=0.0)
    clicks = user.clicks(np.tile([0, 1, 1], (40_000, 1)), 0)
    assert clicks.sum(axis=1).max() == 1
    expected = [0.2, 0.8 * 0.6, 0.8 * 0.4 * 0.6]
    assert clicks.mean(axis=0) == pytest.approx(expected, abs=0.01)


def test_a_cascade_that_always_goes_on_has_no_bias():
    user = User(attraction=(0.3,), kind="cascade", another=1.0)
    clicks = user.clicks(np.zeros((40_000, 5), int), 0)
    assert clicks.mean(axis=0) == pytest.approx([0.3] * 5, abs=0.01)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda: User(mistake=1.5), "mistake is 1.5"),
        (lambda: User(attraction=()), "a chance for each grade"),
        (lambda: User(eta=-1), "eta is -1"),
        (lambda: User(kind="cascade").propensities(3), "has no propensity"),
    ],
)
def test_what_is_refused(act, said):
    with pytest.raises(Mistake, match=said):
        act()

"""Each strategy's preferences, written out by hand, and what holds of all of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.preferences.labels import STRATEGIES, click_preferences, preferred_places
from classmark.problems import Mistake

SHOWN = ["d1", "d2", "d3", "d4", "d5"]
BY_HAND = {
    "clicked-over-skipped": {
        ("d2", "d1"), ("d2", "d3"), ("d2", "d5"),
        ("d4", "d1"), ("d4", "d3"), ("d4", "d5"),
    },
    "last-click-over-skipped-above": {("d4", "d1"), ("d4", "d3")},
    "click-over-previous": {("d2", "d1"), ("d4", "d3")},
    "skip-above": {("d2", "d1"), ("d4", "d1"), ("d4", "d3")},
}  # fmt: skip


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_each_strategy_by_hand(strategy):
    found = click_preferences(SHOWN, ["d2", "d4"], strategy)
    assert set(found) == BY_HAND[strategy]
    assert len(found) == len(set(found))


def test_the_first_strategy_is_the_usual_one():
    assert click_preferences(["a", "b"], ["a"]) == [("a", "b")]


def test_one_clicked_just_above_is_not_beaten():
    assert click_preferences(SHOWN, {"d1", "d2"}, "click-over-previous") == []


def test_the_last_click_is_the_lowest_in_whatever_order_they_come():
    strategy = "last-click-over-skipped-above"
    down = click_preferences(SHOWN, ["d2", "d4"], strategy)
    assert click_preferences(SHOWN, ["d4", "d2"], strategy) == down


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("clicked", [[], SHOWN])
def test_nothing_or_everything_clicked_says_nothing(strategy, clicked):
    assert click_preferences(SHOWN, clicked, strategy) == []
    assert click_preferences([], [], strategy) == []


@pytest.mark.parametrize(
    ("shown", "clicked", "strategy", "said"),
    [
        (["a", "b", "a"], ["b"], "skip-above", "shown has 'a' twice"),
        (["a", "b"], ["c"], "skip-above", "clicked has 'c', which is not in shown"),
        (["a", "b"], ["b"], "above", "strategy 'above' is not known: use clicked-over"),
    ],
)
def test_what_is_refused(shown, clicked, strategy, said):
    with pytest.raises(Mistake, match=said):
        click_preferences(shown, clicked, strategy)


lists = st.integers(0, 9).flatmap(
    lambda n: (
        st.tuples(st.just(list(range(n))), st.sets(st.integers(0, n - 1)))
        if n
        else st.just(([], set()))
    )
)


@given(lists, st.sampled_from(list(STRATEGIES)))
def test_winners_were_clicked_and_losers_not(one, strategy):
    shown, clicked = one
    found = click_preferences(shown, clicked, strategy)
    assert all(winner in clicked and loser not in clicked for winner, loser in found)
    assert set(found) <= set(click_preferences(shown, clicked))
    if strategy != "clicked-over-skipped":
        assert all(winner > loser for winner, loser in found)


@given(lists)
def test_strategies_are_nested(one):
    shown, clicked = one
    above = set(click_preferences(shown, clicked, "skip-above"))
    for narrower in ("last-click-over-skipped-above", "click-over-previous"):
        assert set(click_preferences(shown, clicked, narrower)) <= above


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_many_lists_at_once_are_each_alone(strategy):
    clicked = np.random.default_rng(0).random((40, 6)) < 0.4
    together = preferred_places(clicked, strategy)
    assert together.shape == (40, 6, 6)
    for flags, found in zip(clicked, together, strict=True):
        alone = click_preferences(range(6), np.flatnonzero(flags).tolist(), strategy)
        assert [tuple(pair) for pair in np.argwhere(found).tolist()] == alone

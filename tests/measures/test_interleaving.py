"""Interleaved lists: who picked what, no favour without reason, and a better ranker."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.measures.off_policy import (
    Interleaved,
    balanced,
    balanced_credit,
    interleaving_test,
    sequential_p_value,
    team_draft,
)
from classmark.problems import Mistake
from reproductions.click_model import User

orders = st.permutations(list(range(6)))


@given(orders, orders, st.integers(1, 8), st.integers(0, 50))
def test_a_team_draft_is_a_fair_draft(a, b, k, seed):
    drawn = team_draft(a, b, k, seed)
    assert len(drawn.shown) == len(set(drawn.shown)) == min(k, 6)
    for at in range(0, len(drawn.shown) - 1, 2):
        assert set(drawn.teams[at : at + 2]) == {"a", "b"}
    for at, (item, team) in enumerate(zip(drawn.shown, drawn.teams, strict=True)):
        left = [x for x in (a if team == "a" else b) if x not in drawn.shown[:at]]
        assert item == left[0]


def test_teams_go_on_alone_where_the_other_list_ends():
    drawn = team_draft(["x"], ["y", "z", "u"], 4, 1)
    assert set(drawn.shown) == {"x", "y", "z", "u"}
    assert drawn.teams.count("a") == 1
    assert team_draft([], ["y"], 3, 0) == Interleaved(("y",), ("b",))
    assert team_draft([], [], 3, 0) == Interleaved((), ())


def test_clicks_count_for_the_team():
    drawn = Interleaved(("p", "q", "r"), ("a", "b", "b"))
    assert drawn.credit({"p"}) == 1
    assert drawn.credit({"q", "r", "p"}) == -1
    assert drawn.credit({"p", "q"}) == drawn.credit(set()) == 0
    with pytest.raises(Mistake, match="'s', which is not in shown"):
        drawn.credit({"s"})


@given(orders, orders, st.integers(1, 6), st.integers(0, 9))
def test_balanced_lists_take_as_much_from_both(a, b, k, seed):
    shown = balanced(a, b, k, seed)
    assert len(shown) == k
    for end in range(1, k + 1):
        fits = [
            (m, n)
            for m in range(7)
            for n in (m - 1, m, m + 1)
            if 0 <= n <= 6 and set(shown[:end]) == set(a[:m]) | set(b[:n])
        ]
        assert fits


def test_balanced_credit_by_hand():
    a, b = ["p", "q", "r", "s"], ["q", "s", "p", "r"]
    shown = ("p", "q", "s")
    assert balanced_credit(a, b, shown, {"p"}) == 1
    assert balanced_credit(a, b, shown, {"s"}) == -1
    assert balanced_credit(a, b, shown, {"p", "s"}) == 0
    assert balanced_credit(a, b, shown, set()) == 0
    with pytest.raises(Mistake, match="in neither a nor b"):
        balanced_credit(["p"], ["q"], ("p", "z"), {"z"})


def random_clicks(shown, rng):
    return {item for item in shown if rng.random() < 0.3}


@pytest.mark.parametrize("same", [True, False])
def test_clicks_by_chance_favour_nobody(same):
    """No ranker gains from clicks that know nothing, however the rankers differ."""
    rng = np.random.default_rng(5)
    a = list(range(10))
    b = a if same else list(rng.permutation(10))
    credits_ = []
    for _ in range(4000):
        drawn = team_draft(a, b, 10, rng)
        credits_.append(drawn.credit(random_clicks(drawn.shown, rng)))
    found = interleaving_test(credits_)
    assert abs(found.preference) < 3 * 0.5 / np.sqrt(4000)
    assert found.p_value > 0.01


def test_a_team_draft_is_exactly_even_for_equal_rankers():
    """Every coin with its opposite: each result is a's as often as b's."""
    a = ["p", "q"]
    firsts = [team_draft(a, a, 2, seed).teams for seed in range(400)]
    share = np.mean([teams[0] == "a" for teams in firsts])
    assert 0.43 < share < 0.57


@pytest.mark.parametrize("method", ["team", "balanced"])
def test_the_better_ranker_is_found(method):
    rng = np.random.default_rng(2)
    grades = np.zeros(20, int)
    grades[:5] = 1
    user = User(attraction=(0.05, 0.6))
    credits_ = []
    for _ in range(600):
        noise = rng.normal(size=(2, 20)) * [[0.5], [1.2]]
        a, b = (np.argsort(-(grades + each)).tolist() for each in noise)
        if method == "team":
            drawn = team_draft(a, b, 10, rng)
            shown = drawn.shown
        else:
            shown = balanced(a, b, 10, rng)
        flags = user.clicks(grades[list(shown)], rng)
        hits = {item for item, hit in zip(shown, flags, strict=True) if hit}
        credits_.append(
            drawn.credit(hits)
            if method == "team"
            else balanced_credit(a, b, shown, hits)
        )
    found = interleaving_test(credits_)
    assert found.preference > 0.05
    assert found.p_value < 1e-3


def test_swapping_the_rankers_swaps_the_verdict():
    for a, b in permutations([[1, -1, 1], [-1, 1, -1]], 2):
        one, other = interleaving_test(a), interleaving_test(b)
        assert (one.wins, one.losses) == (other.losses, other.wins)
        assert one.preference == -other.preference
        assert one.p_value == other.p_value


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda: team_draft("aa", "ab", 2), "a has a document twice"),
        (lambda: balanced("ab", "bb", 2), "b has a document twice"),
        (lambda: team_draft("ab", "ab", 0), "k is 0"),
        (lambda: interleaving_test([]), "there is no credit"),
    ],
)
def test_what_is_refused(act, said):
    with pytest.raises(Mistake, match=said):
        act()


def test_looking_after_every_list_finds_nothing_where_nothing_is():
    """At a level of 5 %, over 2,000 logs of 200 lists each."""
    rng = np.random.default_rng(3)
    chances = [sequential_p_value(rng.choice([-1, 1], 200)) for _ in range(2000)]
    assert np.mean(np.array(chances) <= 0.05) <= 0.05
    assert sequential_p_value([]) == 1.0
    assert sequential_p_value(rng.choice([-1, 0, 1, 1, 1], 200)) < 0.001

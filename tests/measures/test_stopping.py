"""The stopping rule and the estimate, case by case; their laws are in laws/."""

import math

import numpy as np
import pytest
from scipy.stats import hypergeom

from classmark.examples.screening import StoppingRule
from classmark.measures.stopping import (
    Draws,
    bets,
    draws_in,
    dry_after,
    evidence,
    is_dry,
    missing_total,
    most_relevant,
    remaining,
)
from classmark.problems import Mistake


def pure(n, hits, found=0):
    """Draws only, from n unread documents, all in one round of bets."""
    hits = np.asarray(hits, bool)
    before = found + np.cumsum(hits) - hits
    ones = np.ones(len(hits), np.int64)
    return Draws(n - np.arange(len(hits)), before, hits, ones)


@pytest.mark.parametrize(("n", "left", "drawn"), [(50, 5, 20), (1000, 3, 700)])
def test_without_a_hit_a_bold_bet_is_the_hypergeometric_test(n, left, drawn):
    draws = pure(n, [False] * drawn, found=40)
    chance = hypergeom(n, left, drawn).pmf(0)
    got = evidence(draws, np.zeros(drawn), 40 + left)
    assert math.exp(-got) == pytest.approx(chance)


@pytest.mark.parametrize("theta", [0.0, 0.3, 1.0])
def test_a_bet_is_fair_under_what_it_bets_against(theta):
    """E[E(ρ)] = 1 over all outcomes of three draws, two of six relevant."""
    total = 0.0
    for outcome in np.ndindex(2, 2, 2):
        left, chance = 2, 1.0
        for at, hit in enumerate(outcome):
            p = left / (6 - at)
            chance *= p if hit else 1 - p
            left -= hit
        if chance:
            value = evidence(pure(6, outcome, 1), np.full(3, theta), 3)
            total += chance * math.exp(value)
    assert total == pytest.approx(1.0)


def test_more_relevant_documents_are_refuted_sooner():
    random = np.random.default_rng(0)
    draws = pure(300, random.random(120) < 0.005, found=30)
    found = 30 + int(draws.hits.sum())
    values = [evidence(draws, bets(draws), total) for total in range(found, 200)]
    assert all(np.diff(values) >= 0)
    most = most_relevant(draws, found, 180, 0.05, 0.95)
    assert evidence(draws, bets(draws), most) < math.log(20)
    assert evidence(draws, bets(draws), most + 1) >= math.log(20)


def test_a_bet_does_not_know_its_own_draw():
    hits = np.random.default_rng(1).random(60) < 0.3
    draws = pure(200, hits, found=20)
    for at in (0, 7, 59):
        other = hits.copy()
        other[at:] = ~other[at:]
        assert bets(pure(200, other, 20))[at] == bets(draws)[at]


def test_nothing_is_bet_while_likely_documents_are_still_found():
    relevant = [1, 1, 0, 1] + [0] * 40
    drawn = [0, 0, 1, 0] + [0] * 20 + [1] * 20
    draws = draws_in(relevant, drawn, documents=100, patience=0.2)
    assert draws.rounds.tolist() == [0] + [1] * 20
    assert bets(draws)[0] == 1.0
    assert (bets(draws)[1:] < 0.3).all()
    assert draws.unread.tolist() == [98, *range(76, 56, -1)]
    assert draws.n_found.tolist() == [2] + [3] * 20
    relevant, drawn = [*relevant, 1, *[0] * 11], [*drawn, 0, *[0] * 10, 1]
    again = draws_in(relevant, drawn, 100)
    assert again.rounds[-1] == 0  # one more was found: it has to run dry anew
    again = draws_in(relevant, drawn, 100, patience=0.2)
    assert again.rounds[-1] == 2


def test_likely_documents_run_dry():
    rule = (0.95, 1.0, 5)
    enough = dry_after(1, 50 - 40, 0.95, 1.0)
    assert enough == 10.0
    assert not is_dry([1, *[0] * 9], [0] * 10, 30, rule)
    assert is_dry([1, *[0] * 39], [0] * 40, 50, rule)
    hit_by_chance = [1, *[0] * 38, 1], [0] * 39 + [1]
    assert not is_dry(*hit_by_chance, 50, rule)
    assert is_dry(
        [*hit_by_chance[0], *[0] * 5], [*hit_by_chance[1], *[0] * 5], 55, rule
    )


def test_the_least_total_that_misses_the_target():
    for target in (0.5, 0.8, 0.9, 0.95, 0.99):
        for found in range(200):
            total = missing_total(found, target)
            assert found < target * total + 1e-9
            assert total - 1 == 0 or found >= target * (total - 1) - 1e-9


def test_an_estimate_for_a_million_is_quick_and_coarse_only_where_it_is_large():
    draws = pure(1_000_000, np.arange(5000) % 50 == 0)
    left = remaining(draws, 100, 995_000)
    assert left.low < 19_900 < left.high
    assert left.low < left.estimate < left.high


def test_no_draw_leaves_everything_open():
    none = draws_in([1, 0], [0, 0], 10)
    assert most_relevant(none, 1, 8, 0.05, 0.95) == 9
    left = remaining(none, 1, 8)
    assert (left.low, left.high) == (0, 8)
    assert most_relevant(none, 2, 0, 0.05, 0.95) == 2


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: draws_in([1], [0, 1], 5), "shapes"),
        (lambda: draws_in([1, 0], [0, 1], 1), "at most 1"),
        (lambda: draws_in([1], [0], 5, target=1.0), "target is 1.0"),
        (lambda: StoppingRule(error=0), "error is 0"),
        (lambda: StoppingRule(share=2), "share is 2"),
        (lambda: StoppingRule(batch=0), "batch is 0"),
        (lambda: StoppingRule(patience=-1), "patience is -1"),
    ],
)
def test_mistakes_are_told(call, said):
    with pytest.raises(Mistake, match=said):
        call()

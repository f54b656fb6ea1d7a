"""The stopping rule and the estimate, case by case; their laws are in laws/."""

import math

import numpy as np
import pytest
from scipy.stats import hypergeom

from classmark.examples.screening import StoppingRule
from classmark.measures.stopping import (
    Draws,
    Standing,
    draws_in,
    draws_left,
    dry_after,
    evidence,
    forecasts,
    is_dry,
    least_reading,
    missing_total,
    most_relevant,
    refuted,
    remaining,
)
from classmark.problems import Mistake


def pure(n, hits, found=0, forecast=None):
    """Draws only, from n unread documents."""
    hits = np.asarray(hits, bool)
    before = found + np.cumsum(hits) - hits
    q = draws_in(hits, np.ones(len(hits)), n).forecast if forecast is None else forecast
    return Draws(n - np.arange(len(hits)), before, hits, np.broadcast_to(q, len(hits)))


def at(draws, total):
    """ln E of one total."""
    return float(evidence(draws, [total], [total])[0])


@pytest.mark.parametrize(("n", "left", "drawn"), [(50, 5, 20), (1000, 3, 700)])
def test_without_a_hit_a_bold_forecast_is_the_hypergeometric_test(n, left, drawn):
    draws = pure(n, [False] * drawn, found=40, forecast=0.0)
    chance = hypergeom(n, left, drawn).pmf(0)
    assert math.exp(-at(draws, 40 + left)) == pytest.approx(chance)


@pytest.mark.parametrize("forecast", [0.01, 0.2, 0.36, 0.9, None])
def test_a_bet_is_fair_under_what_it_bets_against(forecast):
    """E[E(ρ)] = 1 over all outcomes of three draws, two of six relevant."""
    total = 0.0
    for outcome in np.ndindex(2, 2, 2):
        left, chance = 2, 1.0
        for place, hit in enumerate(outcome):
            p = left / (6 - place)
            chance *= p if hit else 1 - p
            left -= hit
        if chance:
            total += chance * math.exp(at(pure(6, outcome, 1, forecast), 3))
    assert total == pytest.approx(1.0)


def test_evidence_is_that_of_the_formula_draw_by_draw():
    random = np.random.default_rng(2)
    flags = random.random((2, 200)) < [[0.1], [0.4]]
    draws, found = draws_in(*flags, 500), int(flags[0].sum())
    for total in (found, found + 3, found + 40, found + 300):
        slow, l_m, h, r = 0.0, 0, 0, 0
        for place, (hit, drawn) in enumerate(flags.T):
            q, p = (0.25 + h) / (1 + l_m), (total - r) / (500 - place)
            if drawn and q < p:
                slow += math.log(q / p if hit else (1 - q) / (1 - p))
            l_m, h, r = l_m + 1, h + (hit and drawn), r + hit
            if hit and not drawn:
                l_m, h = 0, 0
        assert at(draws, total) == pytest.approx(slow)
    assert (draws.forecast < 1).all()


def test_an_interval_of_totals_is_not_refuted_before_each_of_its_totals():
    random = np.random.default_rng(0)
    draws = pure(3000, random.random(700) < 0.004, found=30)
    found = 30 + int(draws.hits.sum())
    each = evidence(draws, range(found + 1, 2300), range(found + 1, 2300))
    totals = refuted(draws, found, 2300 - found)
    for least, most, value in zip(*totals, strict=True):
        if most < 2300:
            low, high = least - found - 1, most - found
            assert value <= each[low:high].min() + 1e-9
            assert most - least > 0 or value == pytest.approx(each[low])
    assert totals.least[0] == found + 1
    assert (totals.least[1:] == totals.most[:-1] + 1).all()
    most = most_relevant(totals, found, 0.05)
    assert (each[most - found :] >= math.log(20)).all()
    assert each[most - found - 1] < math.log(20)


def test_a_forecast_does_not_know_its_own_draw():
    hits = np.random.default_rng(1).random(60) < 0.3
    drawn = np.random.default_rng(2).random(60) < 0.5
    seen = [part[:-1] for part in forecasts(hits, drawn)]
    for place in (0, 7, 59):
        other = hits.copy()
        other[place:] = ~other[place:]
        for now, then in zip(forecasts(other, drawn), seen, strict=True):
            assert now[place] == then[place]


def test_nothing_is_bet_while_likely_documents_are_still_found():
    flags = [1, 1, 0, 1, 0], [0, 0, 1, 0, 1]
    draws = draws_in(*flags, documents=100)
    assert draws.forecast.tolist() == [0.25, 0.25]
    assert at(draws, 20) == 0.0  # a forecast above the chance under that total
    assert at(draws, 60) > 0.0


def test_a_wise_reader_cannot_read_less_than_any_rule_must():
    """All R are found at once, and draws find nothing: the least a rule can read."""
    for found, target in ((40, 0.8), (40, 0.95), (300, 0.9)):
        n = 20 * found
        floor = least_reading(found, target, 0.05)
        left = missing_total(found, target) - found
        for drawn in range(1, n):
            if hypergeom(n, left, drawn).pmf(0) <= 0.05:
                break
        assert drawn / n == pytest.approx(floor, abs=0.03)
        assert (
            floor
            < draws_left(Standing(pure(n, []), found, n, 0, 60), 0, target, 0.05) / n
        )


def test_the_forecast_of_reading_is_near_what_is_read():
    random = np.random.default_rng(5)
    n, found = 1000, 40
    for left, target in ((0, 0.8), (3, 0.8), (1, 0.9)):
        forecast = draws_left(
            Standing(pure(n, []), found, n, 0, 30), left, target, 0.05
        )
        read = []
        for _ in range(40):
            hits = random.permutation(n) < left
            flags = np.concatenate([np.ones(found, bool), np.zeros(29, bool), hits])
            for many in range(10, n + 1, 10):
                seen = flags[: found + 29 + many]
                draws = draws_in(
                    seen, np.arange(len(seen)) >= found + 29, n + found + 29
                )
                total = int(seen.sum())
                most = most_relevant(refuted(draws, total, n - many), total, 0.05)
                if total / most >= target:
                    read.append(many)
                    break
        assert forecast == pytest.approx(np.mean(read), rel=0.25)


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
    assert most_relevant(refuted(none, 1, 8), 1, 0.05) == 9
    left = remaining(none, 1, 8)
    assert (left.low, left.high) == (0, 8)
    assert most_relevant(refuted(none, 2, 0), 2, 0.05) == 2


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: draws_in([1], [0, 1], 5), "shapes"),
        (lambda: draws_in([1, 0], [0, 1], 1), "at most 1"),
        (lambda: StoppingRule(target=1.0), "target is 1.0"),
        (lambda: StoppingRule(error=0), "error is 0"),
        (lambda: StoppingRule(share=2), "share is 2"),
        (lambda: StoppingRule(batch=0), "batch is 0"),
        (lambda: StoppingRule(patience=-1), "patience is -1"),
    ],
)
def test_mistakes_are_told(call, said):
    with pytest.raises(Mistake, match=said):
        call()

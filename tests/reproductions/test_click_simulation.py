"""Clicks of a known user: the log, what is learned from it, and the whole table."""

import numpy as np
import pytest

from classmark.preferences.labels import click_preferences
from reproductions import clicks
from reproductions.click_model import (
    Candidates,
    User,
    World,
    simulate_clicks,
    with_order,
)

GRADES = [np.array([1, 0] * 10), np.array([0, 1] * 10), np.zeros(12, int)]


def test_neighbours_change_places_half_of_the_time():
    log = simulate_clicks(GRADES, User(), 20_000, 0)
    assert log.rows.shape == (20_000, 10)
    assert (np.sort(log.rows, axis=1) == np.arange(10)).all()
    assert np.abs(log.rows - np.arange(10)).max() == 1
    trials = log.trials()
    assert trials.swapped.mean() == pytest.approx(0.5, abs=0.01)
    for above in range(1, 10):
        here = trials.positions[:, 0] == above
        assert here.sum() == pytest.approx(10_000, rel=0.05)
        assert trials.swapped[here].mean() == pytest.approx(0.5, abs=0.03)
    assert (trials.positions[:, 1] == trials.positions[:, 0] + 1).all()
    moved = log.rows != np.arange(10)
    assert (moved[:, :-1] & log.swapped[:, :-1]).sum() == log.swapped.sum()


def test_without_swaps_the_order_stays():
    log = simulate_clicks(GRADES, User(), 100, 0, swap=False)
    assert (log.rows == np.arange(10)).all()
    assert not log.swapped.any()


def test_preferences_are_added_up_one_by_one():
    log = simulate_clicks(GRADES, User(), 300, 1)
    theta = np.linspace(1, 0.2, 10)
    for strategy in clicks.STRATEGIES:
        slow: dict[tuple[int, int, int], float] = {}
        for query, rows, hit in zip(log.query, log.rows, log.clicked, strict=True):
            shown = rows.tolist()
            clicked = rows[hit].tolist()
            for winner, loser in click_preferences(shown, clicked, strategy):
                key = (int(query), winner, loser)
                weight = min(10, 1 / theta[shown.index(winner)])
                slow[key] = slow.get(key, 0) + weight
        found = log.preferences(strategy, theta)
        keys = zip(*(part.tolist() for part in found[:3]), strict=True)
        fast = dict(zip(keys, found.weight.tolist(), strict=True))
        assert fast == pytest.approx(slow)


def test_fair_pairs_do_not_favour_the_lower_of_two_that_are_alike():
    """Skipping above makes the lower of two equals win; swapped pairs do not."""
    log = simulate_clicks([np.zeros(10, int)], User(attraction=(0.4,)), 40_000, 2)

    def share(said):
        return said.weight[said.winner > said.loser].sum() / said.weight.sum()

    assert share(log.preferences("skip-above")) > 0.85
    fair = log.preferences("click-over-previous", fair=True)
    assert share(fair) == pytest.approx(0.5, abs=0.02)


def test_half_of_the_weight_keeps_the_order():
    said = simulate_clicks(GRADES, User(), 300, 1).preferences("skip-above")
    both = with_order(said, 3)
    assert both.weight.sum() == pytest.approx(2 * said.weight.sum())
    kept = both.winner[len(said.weight) :], both.loser[len(said.weight) :]
    assert (kept[0] < kept[1]).all()


def small_world():
    """Two features: the first is the truth, the second the order in service."""
    rng = np.random.default_rng(0)
    halves, qrels = [[], []], {}
    for number in range(40):
        grades = (rng.random(20) < 0.3).astype(int)
        noise = rng.random(20)
        X = np.column_stack([grades + 0.3 * rng.random(20), noise])
        order = np.argsort(-noise)
        ids = [f"d{at}" for at in order]
        name = f"q{number}"
        qrels[name] = {f"d{at}": float(grades[at]) for at in range(20)}
        halves[number % 2].append(Candidates(name, ids, X[order], grades[order]))
    return World(qrels, *halves)


def test_the_truth_is_learned_where_it_is_among_the_features():
    world = small_world()
    service = world.ndcg(None).mean()
    truth = world.ndcg(world.learn(world.true_preferences(20))).mean()
    assert service < 0.6
    assert truth > 0.95
    log = simulate_clicks([each.grades for each in world.clicked], User(), 20_000, 0)
    theta = log.propensities()["click model"]
    learned = world.learn(log.preferences("clicked-over-skipped", theta))
    assert world.ndcg(learned).mean() > 0.95


def test_ways_are_compared_with_intervals():
    def row(name, values):
        return clicks.Row("c", "tf", name, [float(np.mean(values))], [0.0], 0.5, values)

    here = {
        "low": row("low", [0.1, 0.2, 0.3, 0.2]),
        "high": row("high", [0.3, 0.4, 0.5, 0.4]),
        "mixed": row("mixed", [0.5, 0.1, 0.4, 0.1]),
    }
    assert clicks.compare_ways(here, "high", "above", "low") == (
        "high is above low: holds; 0.400 and 0.200, +0.200 (+0.200 … +0.200)"
    )
    below = clicks.compare_ways(here, "high", "below", "low")
    assert below.startswith("high is below low: does not hold; ")
    unsure = clicks.compare_ways(here, "mixed", "above", "low")
    assert unsure.startswith("mixed is above low: holds, not surely; 0.275 and 0.200")
    near = clicks.compare_ways(here, "mixed", "as good as", "high")
    assert near.startswith("mixed is as good as high: holds; ")
    worse = clicks.compare_ways(here, "low", "as good as", "high")
    assert worse.startswith("low is as good as high: does not hold; ")


def test_the_best_way_is_sure_only_after_correction():
    def row(name, value, p):
        return clicks.Row("c", "tf", name, [value], [0.0], p, [value, value + 0.1])

    rows = [row(clicks.SERVICE, 0.3, 1.0), row(clicks.TRUTH, 0.6, 0.5)]
    ways = {own for own, _, _ in clicks.CLAIMS} | {name for *_, name in clicks.CLAIMS}
    rows += [row(name, 0.4, 0.01) for name in sorted(ways - set(clicks.NOT_CLICKS))]
    errors = {"c, tf": {"swaps": [[0.1, 0.2]]}}
    said = clicks.claims(clicks.Table(rows, [10], {"c, tf": (2, 2)}, errors, []))
    many = len(rows) - 2
    assert f"; surest of {many} ways is " in said[0]
    assert ", 0.400 and 0.300, +0.100 (+0.100 … +0.100), p" in said[0]
    assert f"p = {0.01 * many:.3f} corrected" in said[0]
    assert "surely above it: does not hold" in said[0]
    assert said[1].startswith("c, tf in service: truth is above in service: holds; ")
    rows[2:] = [row(each.method, 0.2, 0.001) for each in rows[2:]]
    rows[2] = row(rows[2].method, 0.31, 0.002)
    table = clicks.Table(rows, [10], {"c, tf": (2, 2)}, errors, [])
    assert (
        f"it: holds; surest of {many} ways is {rows[2].method}, "
        in (clicks.claims(table)[0])
    )
    rows[2] = row(rows[2].method, 0.2, 0.001)
    assert clicks.claims(table)[0].endswith(f"; none of {many} ways is above")
    assert "θ is off by 16% (11% to 22% over the logs) by swaps" in said[-1]

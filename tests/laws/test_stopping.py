"""The stopping rule keeps its promise, and the estimate its interval: simulated."""

import math

import numpy as np
import pytest

from classmark.examples.screening import Reading, StoppingRule
from classmark.measures.stopping import (
    Draws,
    bets,
    draws_in,
    evidence,
    missing_total,
    remaining,
)


def pure(n, hits, found=0):
    """Draws only, from n unread documents, all in one round of bets."""
    hits = np.asarray(hits, bool)
    before = found + np.cumsum(hits) - hits
    ones = np.ones(len(hits), np.int64)
    return Draws(n - np.arange(len(hits)), before, hits, ones)


def screen(random, rule, scores, relevant):
    """Read by fixed scores until the rule says stop; return the recall."""
    likely = np.argsort(-scores)
    order = random.permutation(len(scores))
    reading = Reading(len(scores), rule)
    while not reading.stop:
        count = min(rule.batch, len(scores) - len(reading))
        drawn = reading.draws_wanted(count)
        first = likely[~reading.read[likely]][: count - drawn]
        closed = reading.read.copy()
        closed[first] = True
        rest = order[~closed[order]][:drawn]
        documents = np.concatenate([first, rest])
        flags = np.arange(len(documents)) >= len(first)
        reading.answer(documents, relevant[documents], flags)
    return reading.relevant.sum() / relevant.sum(), len(reading) / len(scores)


@pytest.mark.parametrize(
    ("hidden", "target", "error", "patience", "most_read"),
    [
        (0.0, 0.8, 0.1, 0.5, 0.6),  # an easy task: much is saved
        (0.25, 0.8, 0.1, 0.1, 1.0),  # a quarter is never likely: stopping is tempting
        (0.22, 0.8, 0.1, 0.0, 1.0),  # bets from the first draw on
    ],
)
def test_few_of_a_thousand_screenings_stop_too_early(
    hidden, target, error, patience, most_read
):
    random = np.random.default_rng(3)
    rule = StoppingRule(target, error, 40, 0.1, patience)
    n, many, screenings = 600, 100, 1000
    relevant = np.arange(n) < many
    outcomes = []
    for _ in range(screenings):
        scores = random.normal(size=n) + 4 * relevant
        concealed = int(hidden * many)
        scores[:concealed] = random.normal(size=concealed) - 1
        outcomes.append(screen(random, rule, scores, relevant))
    recalls, read = np.array(outcomes).T
    early = (recalls < target - 1e-9).mean()
    assert early <= error + 2 * math.sqrt(error * (1 - error) / screenings)
    assert read.mean() <= most_read
    if hidden == 0.25:
        assert early > 0  # where it can be wrong, it sometimes is


def test_looking_after_every_few_draws_does_not_raise_the_error():
    """The hardest case: the target is missed by one, and all that is read is drawn."""
    random = np.random.default_rng(6)
    n, found, error, sessions, wrong = 2000, 380, 0.1, 1000, 0
    left = missing_total(found, 0.95) - found
    for _ in range(sessions):
        hits = (random.permutation(n) < left)[:1200]
        draws = pure(n, hits, found)
        theta = bets(draws)
        for seen in range(40, 1201, 40):
            part = Draws(*(values[:seen] for values in draws))
            if evidence(part, theta[:seen], found + left) >= -math.log(error):
                wrong += 1
                break
    spread = math.sqrt(error * (1 - error) / sessions)
    assert 0.4 * error <= wrong / sessions <= error + 2 * spread


def test_the_interval_covers_the_truth():
    random = np.random.default_rng(4)
    n, many, covered, width = 1000, 60, 0, []
    for _ in range(500):
        relevant = random.permutation(n) < many
        likely = np.argsort(-(random.normal(size=n) + 2 * relevant))[:150]
        rest = random.permutation(np.setdiff1d(np.arange(n), likely))[:200]
        documents = np.concatenate([likely, rest])
        flags = relevant[documents]
        draws = draws_in(flags, np.arange(350) >= 150, n)
        found = int(flags.sum())
        left = remaining(draws, found, n - 350)
        covered += left.low <= many - found <= left.high
        assert left.low <= left.estimate <= left.high
        width.append(left.high - left.low)
    assert 0.86 <= covered / 500 <= 0.98
    assert np.mean(width) < 40

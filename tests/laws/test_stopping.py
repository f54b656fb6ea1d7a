"""The stopping rule keeps its promise, and the estimate its interval: simulated."""

import math

import numpy as np
import pytest

from classmark.examples.screening import Reading, StoppingRule
from classmark.measures.stopping import (
    draws_in,
    evidence,
    missing_total,
    remaining,
)


def batch_of(reading, likely, order, relevant):
    """The documents to read next, their relevance, and which were drawn."""
    count = min(reading.rule.batch, len(relevant) - len(reading))
    drawn = reading.draws_wanted(count)
    first = likely[~reading.read[likely]][: count - drawn]
    closed = reading.read.copy()
    closed[first] = True
    documents = np.concatenate([first, order[~closed[order]][:drawn]])
    return documents, relevant[documents], np.arange(len(documents)) >= len(first)


def screen(random, rule, scores, relevant):
    """Read by fixed scores until the rule says stop; return the recall."""
    likely = np.argsort(-scores)
    order = random.permutation(len(scores))
    reading = Reading(len(scores), rule)
    while not reading.stop:
        reading.answer(*batch_of(reading, likely, order, relevant))
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
    before = np.arange(found + 100) < found
    flags = np.arange(found + 1300) >= len(before)
    for _ in range(sessions):
        hits = np.concatenate([before, (random.permutation(n) < left)[:1200]])
        draws = draws_in(hits, flags, n + len(before))
        total = [found + left]
        for seen in range(40, 1201, 40):
            part = type(draws)(*(values[:seen] for values in draws))
            if evidence(part, total, total)[0] >= -math.log(error):
                wrong += 1
                break
    spread = math.sqrt(error * (1 - error) / sessions)
    assert 0.4 * error <= wrong / sessions <= error + 2 * spread


def test_the_bound_holds_at_all_times_whatever_the_target_becomes():
    """Readers look after every batch, and lower or raise the target as they please."""
    random = np.random.default_rng(9)
    n, many, error, screenings, broken = 400, 60, 0.2, 400, 0
    relevant = np.arange(n) < many
    for _ in range(screenings):
        scores = random.normal(size=n) + 3 * relevant
        scores[:12] = random.normal(size=12) - 1
        order, likely = random.permutation(n), np.argsort(-scores)
        reading = Reading(n, StoppingRule(0.95, error, 20))
        while len(reading) < n:
            reading.rule = StoppingRule(random.choice([0.5, 0.8, 0.9]), error, 20)
            reading.answer(*batch_of(reading, likely, order, relevant))
            state = reading.progress()
            if state.recall_bound > state.found / many + 1e-9:
                broken += 1
                break
    assert broken / screenings <= error + 2 * math.sqrt(error / screenings)
    assert broken


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

"""Progress: what a slow replay of the log says, and what the bound promises."""

import math
from dataclasses import astuple

import numpy as np
import pytest
from scipy.stats import binom

from classmark.workbench.deciding.decide import (
    Decision,
    Seen,
    decide_on,
    settle,
    undo_for,
)
from classmark.workbench.store.log import Act
from classmark.workbench.team.decisions import decision_log, quality, steps
from classmark.workbench.team.plots import PlotAxis, calibration, panels
from classmark.workbench.team.progress import (
    FEWEST_DOCUMENTS,
    Hint,
    most_wrong,
    progress,
    promises,
)
from oracles import progress as slow
from projects import new_desk

NAMES = [f"c{n}" for n in range(9)]
MANY = 60


@pytest.fixture
def desk(tmp_path, any_store):
    """Sixty documents, nine categories, nothing decided."""
    texts = {f"d{n}": "hive and oven" for n in range(MANY)}
    with new_desk(tmp_path / "shelf", texts, NAMES, store=any_store()) as desk:
        yield desk


def act_at_random(desk, rng):
    """Decide with made-up ranks, some unknown; undo, settle, and bring in some."""
    document = f"d{rng.integers(MANY)}"
    chosen = rng.choice(NAMES, size=int(rng.integers(1, 4)), replace=False).tolist()
    ranks = [None if rng.random() < 0.1 else r + 1 for r in rng.permutation(9).tolist()]
    seen = {n: Seen("000001", r) for n, r in zip(chosen, ranks, strict=False)}
    kind = rng.random()
    if kind < 0.1 and desk.store.labels():
        undo_for(desk, "ada")
    elif kind < 0.2:
        settle(desk, document, {chosen[0]: False}, "cy")
    elif kind < 0.3:
        with desk.writing() as project:
            project.store.judge(
                [Act(document, "assign", chosen[0], 1.0)], "ada (import)"
            )
    else:
        who = str(rng.choice(["ada", "bo"]))
        said = Decision(tuple(chosen[1:]), (chosen[0],))
        decide_on(desk, document, said, seen, who)


@pytest.mark.parametrize("seed", [1, 2])
def test_progress_is_that_of_a_slow_replay(desk, seed):
    rng = np.random.default_rng(seed)
    decide_on(desk, "d0", Decision(("c1",)), {"c1": Seen("000001", 1)}, "ada")
    for number in range(120):
        act_at_random(desk, rng)
        if number % 7 == 0:
            progress(desk)
    assert desk.learned()
    found = progress(desk)
    expected = slow.decisions(desk.store)
    assert found.measured == len(expected) > 20
    ranks = [each for _, each in expected]
    assert astuple(found.whole)[2:] == pytest.approx(slow.means(ranks), nan_ok=True)
    assert found.unknown == sum(None in each for each in ranks) > 0
    labelled = desk.store.labels()
    assert (found.documents, found.decided) == (MANY, len(labelled))
    counts = dict(found.tail)
    for name in NAMES:
        assert counts.get(name, 0) == sum(name in each for each in labelled.values())
    assert [count for _, count in found.tail] == sorted(counts.values(), reverse=True)
    assert found.unused == sum(name not in counts for name in NAMES)
    assert sum(step.documents for step in found.steps) == found.measured
    whole = sum(step.first * step.documents for step in found.steps) / found.measured
    assert whole == pytest.approx(found.whole.first)
    assert {share.who for share in found.people} == {"ada", "bo"}


def test_a_list_of_the_most_used_first_is_that_of_the_oracle(desk):
    rng = np.random.default_rng(3)
    labelled = []
    for n in range(30):
        chosen = rng.choice(NAMES[:6], size=int(rng.integers(1, 3)), replace=False)
        labelled.append(chosen.tolist())
        seen = {name: Seen("000001", 1) for name in labelled[-1]}
        decide_on(desk, f"d{n}", Decision(tuple(labelled[-1])), seen, "ada")
    with decision_log(desk) as log:
        places = [each.popular for each in log.made]
    assert places == pytest.approx(slow.popular(labelled, NAMES))
    found = progress(desk)
    assert found.popular == pytest.approx(np.mean(places))
    assert found.saved == pytest.approx(1 - found.whole.effort / found.popular)
    chance = [len(s) * (len(NAMES) + 1) / (len(s) + 1) for s in labelled]
    assert found.unordered == pytest.approx(np.mean(chance))


def test_the_expected_last_rank_without_order():
    rng = np.random.default_rng(0)
    drawn = [max(rng.permutation(20)[:3]) + 1 for _ in range(20_000)]
    assert np.mean(drawn) == pytest.approx(3 * 21 / 4, abs=0.05)


def test_progress_is_read_again_when_something_is_said(desk):
    first = desk.once(progress)
    assert desk.once(progress) is first
    assert (first.whole, first.hint, first.steps, first.saved) == (None, None, (), None)
    assert panels(first) == []
    decide_on(desk, "d0", Decision(("c1",)), {"c1": Seen("000001", 2)}, "ada")
    later = desk.once(progress)
    assert (later.decided, later.measured) == (1, 1)
    undo_for(desk, "ada")
    undone = desk.once(progress)
    assert (undone.decided, undone.measured) == (0, 0)


def test_the_bound_of_the_hint_is_exact():
    for wrong, many in ((0, 100), (1, 100), (7, 40), (39, 40)):
        most = most_wrong(wrong, many)
        assert binom.cdf(wrong, many, most) == pytest.approx(0.05)
    assert most_wrong(5, 5) == 1.0
    assert Hint(100, 1, most_wrong(1, 100), 500).stop
    assert not Hint(100, 2, most_wrong(2, 100), 500).stop
    assert Hint(100, 2, 0.101, 500).wrong_at_most == 51


def test_the_hint_errs_as_rarely_as_it_says():
    rng = np.random.default_rng(1)
    for share in (0.06, 0.1):
        wrong = rng.binomial(100, share, size=4000)
        stopped = np.mean([most_wrong(int(w), 100) <= 0.05 for w in wrong])
        assert stopped <= 0.05


def test_quality_of_one_document_and_steps_of_many():
    assert quality([2, None])[:4] == (pytest.approx(math.nan, nan_ok=True), 0, 0.2, 0.5)
    values = np.arange(95 * 6, dtype=float).reshape(95, 6)
    found = steps(values)
    assert [step.upto for step in found][-1] == 95
    assert max(s.documents for s in found) - min(s.documents for s in found) <= 1
    assert len(steps(values[:3])) == 1


def test_plots_stay_in_their_frame(desk):
    rng = np.random.default_rng(4)
    for n in range(50):
        chosen = rng.choice(NAMES, size=2, replace=False).tolist()
        seen = {name: Seen("000001", int(rng.integers(1, 9))) for name in chosen}
        decide_on(desk, f"d{n}", Decision(tuple(chosen)), seen, "ada")
    drawn = {plot.name: plot for plot in panels(progress(desk))}
    assert set(drawn) == {"effort", "precision", "errors", "tail"}
    for plot in drawn.values():
        width, height, left, right, top, bottom = plot.frame
        for places, _, _ in plot.polylines():
            for x, y in places:
                assert left <= x <= right
                assert top <= y <= bottom
        assert all(len(row) == len(plot.columns) for row in plot.rows)
        assert (width, height) > (right, bottom)
    assert len(drawn["precision"].curves) == 3


def test_ticks_say_what_they_stand_for():
    up = PlotAxis("", 1000, 1, log=True, says=str)
    assert [says for _, says in up.ticks(200, 0)] == ["1.0", "10.0", "100.0", "1000.0"]


def test_promises_are_compared_with_what_came_true(tmp_path, any_store):
    words = {"bees": "hive honey queen", "bread": "dough oven rye"}
    ids = [(name, n) for name in words for n in range(60)]
    rows = [
        {"id": f"{name}{n}", "text": f"{words[name]} w{n % 7}"}
        | ({"labels": [name]} if n < 40 else {})
        for name, n in ids
    ]
    folder = tmp_path / "shelf"
    with new_desk(folder, rows, words, trained=True, store=any_store()) as desk:
        waiting = promises(desk)
        assert not waiting.bins
        assert f"from {FEWEST_DOCUMENTS} on" in waiting.reason
        late = [(name, n) for name, n in ids if n >= 40]
        with desk.writing() as project:
            acts = [Act(f"{a}{n}", "assign", a, 1.0) for a, n in late]
            project.store.judge(acts, "ada")
        found = promises(desk)
        assert found.documents == len(late)
        assert sum(each.count for each in found.bins) == len(late) * len(words)
        assert found.bins[-1].promised > 0.8
        assert found.bins[-1].kept == 1.0
        assert found.bins[0].kept == 0.0
        assert promises(desk) is found
        plot = calibration(found)
        assert len(plot.dots) == len(plot.rows) == len(found.bins)


def test_without_a_model_nothing_was_promised(desk):
    assert "no model" in promises(desk).reason

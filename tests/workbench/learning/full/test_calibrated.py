"""A project with enough decisions gives probabilities, and may abstain."""

import json
import sys

import pytest

from classmark.cli.main import main
from classmark.problems import Mistake
from classmark.rankers.calibration import scored_apart
from classmark.workbench.deciding.suggest import suggest
from classmark.workbench.learning import train as train_module
from classmark.workbench.learning.evaluate import evaluate_project
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from classmark.workbench.settings import LearningSettings
from projects import new_library, new_project

NOTE = "How to keep bees: the hive, the swarm and the honey harvest"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = new_library(tmp_path_factory.mktemp("calibrated") / "shelf")
    with Project(place) as project:
        assert train(project).calibrated_on == 610
    return place


@pytest.fixture
def project(folder):
    with Project(folder) as opened:
        yield opened


def run(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["classmark", *map(str, words)])
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = stop.code or 0
    return code, *capsys.readouterr()


def test_suggestions_are_likely_in_their_order(project):
    found = suggest(project, NOTE, k=40)
    chances = [one.probability for one in found]
    assert chances == sorted(chances, reverse=True)
    assert {one.calibrated_on for one in found} == {610}
    least = (chances[0] + chances[1]) / 2
    assert suggest(project, NOTE, min_probability=least) == found[:1]
    assert suggest(project, "zzzz qqqq", min_probability=0.5) == []
    with pytest.raises(Mistake, match="from 0 to 1"):
        suggest(project, NOTE, min_probability=80)


def test_the_terminal_says_how_likely_and_leaves_the_rest(folder, monkeypatch, capsys):
    words = ["suggest", "-p", folder, "--text", NOTE]
    code, out, _ = run(monkeypatch, capsys, *words)
    assert code == 0
    assert " % likely (calibrated on 610 decisions), score" in out
    assert "under 1 % likely" in run(monkeypatch, capsys, *words, "-k", "40")[1]
    words[-1] = "zzzz qqqq"
    code, out, _ = run(monkeypatch, capsys, *words, "--min-probability", ".5")
    assert code == 0
    assert out.startswith("left to the expert")
    words += ["--min-probability", ".5", "--json"]
    assert json.loads(run(monkeypatch, capsys, *words)[1]) == []


def test_what_came_last_is_scored_by_what_came_before(tmp_path, monkeypatch):
    """Documents of ten days; each fold has two days, in order, of every category."""
    rows = [
        {"id": f"{day}-{name}-{at}", "text": f"{name} day{day}", "labels": [name]}
        for day in range(10)
        for name in ("bees", "bread")
        for at in range(5)
    ]
    asked = []

    def scored(part, *rest):
        asked.append(part[1])
        return scored_apart(part, *rest)

    monkeypatch.setattr(train_module, "scored_apart", scored)
    monkeypatch.setattr(train_module, "spread", by_turns)
    with Project(new_project(tmp_path / "days", rows)) as project:
        train(project)
    assert [sorted({at // 10 for at in part}) for part in asked] == [
        [2 * fold, 2 * fold + 1] for fold in range(5)
    ]


def by_turns(work, tasks, shared, _title):
    """As ``spread`` does it, in this process."""
    return [work(task, *shared) for task in tasks]


def test_evaluate_reports_the_calibration_error(project):
    rows = evaluate_project(project, ["plm", "rocchio"]).table.rows
    assert all(0 < row["calibration_error"] < 0.02 for row in rows)
    assert all(0 < row["rare_calibration_error"] < 0.02 for row in rows)


def test_with_few_decisions_nothing_is_promised(tmp_path, monkeypatch, capsys):
    with Project(new_library(tmp_path / "few", 49)) as project:
        assert train(project, LearningSettings(learner="rocchio")).calibrated_on is None
        assert suggest(project, NOTE)[0].probability is None
        with pytest.raises(Mistake, match="50 or more labelled"):
            suggest(project, NOTE, min_probability=0.5)
        row = evaluate_project(project, ["rocchio"], 5).table.rows[0]
        assert row["calibration_error"] is None
    words = ["suggest", "-p", tmp_path / "few", "--text", NOTE]
    assert "not calibrated: too few decisions" in run(monkeypatch, capsys, *words)[1]

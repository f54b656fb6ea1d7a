"""Every learner keeps within the memory of the settings, or is left out and says so."""

import tracemalloc

import numpy as np
import pytest
from typer.testing import CliRunner

from classmark.arrays import rows_from
from classmark.cli.main import app
from classmark.problems import Mistake, TooLittleMemory
from classmark.rankers.text_ranker import LEARNERS
from classmark.workbench.learning import evaluate, unfitted
from classmark.workbench.learning.evaluate import evaluate_project, evaluate_strategies
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from classmark.workbench.settings import LearningSettings
from projects import TREE, new_project, parish

DENSE = {"loglinear", "mmp", "perceptron"}
ALONE = set(LEARNERS) - {"ensemble"}  # what is compared unless named


@pytest.fixture
def project(tmp_path):
    little = LearningSettings(memory="500B", strategy="plain")
    notes = parish(decided=True)
    with Project(new_project(tmp_path / "shelf", notes, TREE, learning=little)) as it:
        yield it


def test_learners_whose_weights_do_not_fit_are_left_out_with_a_word(project):
    table = evaluate_project(project, n_folds=2).table
    assert {row["learner"] for row in table.rows} == ALONE - DENSE
    for name in DENSE:
        assert f"{name} is left out" in table.note
    assert "500 bytes are given" in table.note
    assert "--memory" in table.note


def test_where_none_is_left_the_reason_is_the_error(project):
    with pytest.raises(Mistake, match=r"takes .* kB .* 500 bytes are given"):
        evaluate_project(project, ["loglinear"], 2)
    with pytest.raises(TooLittleMemory, match="--memory"):
        train(project, LearningSettings(learner="mmp", memory="500B"))


def test_strategies_are_left_out_too(project):
    learning = LearningSettings(memory="500B", base="logistic")
    table = evaluate_strategies(project, ["plain", "flat"], learning, 2).table
    assert [row["strategy"] for row in table.rows] == ["plain"]
    assert "flat is left out" in table.note


def test_more_may_be_allowed_for_once(project):
    arguments = ["--learner", "mmp", "--folds", "2", "--project", str(project.folder)]
    run = CliRunner().invoke
    refused = run(app, ["evaluate", *arguments])
    assert isinstance(refused.exception, TooLittleMemory)
    done = run(app, ["evaluate", *arguments, "--memory", "1GB"])
    assert done.exit_code == 0, done.output
    done = run(app, ["train", *arguments[:2], *arguments[4:], "--memory", "1GB"])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("name", sorted(ALONE))
def test_what_a_learner_says_it_needs_is_what_it_takes(name):
    rng = np.random.default_rng(5)
    dense = rng.random((60, 3000)) * (rng.random((60, 3000)) < 0.01)
    labels = [[i % 40] for i in range(60)]
    memory = "1GB" if name in DENSE else "1B"
    ranker = unfitted.new_ranker(LearningSettings(learner=name, memory=memory))
    rows = rows_from(dense)
    ranker.fit(rows, labels)  # kernels are loaded
    tracemalloc.start()
    ranker.fit(rows, labels)
    _ = ranker.weights_
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    need, weights = 3000 * 40 * ranker.weight_bytes, 3000 * 40 * 8
    assert (need > 0) is (name in DENSE)
    assert peak <= need + 3 * weights  # beside: documents, and what is sparse
    assert need <= 2 * peak


def test_nothing_is_left_out_by_default(project):
    learning = LearningSettings()
    rows = evaluate.evaluate_project(project, (), 2, learning).table.rows
    assert {row["learner"] for row in rows} == ALONE

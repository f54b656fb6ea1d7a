"""Several learners in one model: trained, measured, explained and opened again."""

import pytest

from classmark.problems import Mistake
from classmark.rankers.ensemble import EnsembleRanker
from classmark.workbench.learning import fit, unfitted
from classmark.workbench.learning.evaluate import evaluate_project
from classmark.workbench.learning.options import changed, require_effect
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from classmark.workbench.settings import LearningSettings
from projects import TREE, new_project, parish

ENSEMBLE = LearningSettings(learner="ensemble", members="plm loglinear tree rocchio")


@pytest.fixture
def project(tmp_path):
    with Project(new_project(tmp_path / "shelf", parish(decided=True), TREE)) as it:
        yield it


def test_an_ensemble_is_trained_and_opened_again(project):
    trained = train(project, ENSEMBLE)
    assert [name for name, _ in trained.members] == ENSEMBLE.members.split()
    assert all(share >= 0 for _, share in trained.members)
    assert any(share > 0 for _, share in trained.members)
    assert "learns from all documents at once" in trained.later
    model = project.require_model()
    (first, *_) = model.suggest("the keeper smokes the hive for honey and comb", k=3)
    assert first.category == "bees"
    assert {"hive", "honey"} & {word for word, _ in first.favour}


def test_its_rankers_are_what_the_settings_name():
    learning = LearningSettings(learner="ensemble", members="rocchio loglinear")
    ranker = unfitted.new_ranker(learning)
    assert isinstance(ranker, EnsembleRanker)
    kinds = [type(each).__name__ for each in ranker.rankers]
    assert kinds == ["Rocchio", "LogLinearRanker"]


def test_it_is_compared_with_others_where_it_is_named(project):
    names = ["plm", "ensemble(members=plm rocchio)"]
    rows = evaluate_project(project, names, n_folds=2).table.rows
    assert [row["learner"] for row in rows] == names
    default = evaluate_project(project, n_folds=2).table.rows
    assert "ensemble" not in {row["learner"] for row in default}


@pytest.mark.parametrize(
    ("members", "message"),
    [("plm", "two different ones"), ("plm plm", "two different"), ("svm plm", "'svm'")],
)
def test_what_is_no_ensemble_is_refused(members, message):
    with pytest.raises(Mistake, match=message):
        fit.require(LearningSettings(learner="ensemble", members=members))


def test_members_without_an_ensemble_have_no_effect(project):
    options = {"members": "plm tree"}
    settings = changed(project, options)
    with pytest.raises(Mistake, match="use --learner ensemble"):
        require_effect(project, [settings], options)

"""MMP and the perceptron in a project: they learn from decisions, and by training."""

import numpy as np
import pytest

from classmark.problems import Mistake
from classmark.rankers.online import MMP
from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.learning import options as once
from classmark.workbench.learning import unfitted
from classmark.workbench.learning.evaluate import evaluate_project
from classmark.workbench.learning.live import Service, and_learn, model_in_service
from classmark.workbench.learning.rebuild import rebuild
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from classmark.workbench.settings import LearningSettings, validated
from classmark.workbench.store.undo import undo
from projects import RIGHT, new_parish, new_project
from workbench.acts import say, teach_all

MMP3 = LearningSettings(learner="mmp", loss="3")
ONLINE = [
    LearningSettings(learner="mmp"),
    MMP3,
    LearningSettings(learner="perceptron", average="yes"),
]
TEXTS = ["honey and wax", "rye dough in the oven", "a wick"]


@pytest.fixture(params=ONLINE, ids=lambda one: f"{one.learner}-{one.loss}")
def project(request, tmp_path):
    with Project(new_project(tmp_path / "p", learning=request.param)) as project:
        yield project


def test_the_first_decision_makes_a_ranker_and_each_is_one_round(project):
    assert say(project, "b1", "bees").documents == 1
    assert model_in_service(project).suggest("honey")[0].category == "bees"
    say(project, "d1", "bread")
    service = Service(project)
    service.open()
    assert service.learner.ranker.ranker.n_rounds_ == 2
    assert service.learner.ranker.ranker.loss == {"mmp3": 3, "mmpauto": 1}.get(
        f"{project.settings.learning.learner}{project.settings.learning.loss}", 0
    )


def test_an_undone_decision_was_never_learned(project):
    teach_all(project)
    before = model_in_service(project).scores(TEXTS)
    act = decide(project, "b1", Decision(("candles",)), {}).numbers[0]
    assert not np.array_equal(model_in_service(project).scores(TEXTS), before)
    undo(project, act)
    assert np.array_equal(model_in_service(project).scores(TEXTS), before)


def test_rebuilding_gives_the_same_to_the_bit_with_and_without_a_training(project):
    teach_all(project)
    (row,) = rebuild(project).rows
    assert row["difference"] == 0.0
    trained = train(project)
    assert trained.live
    for id_ in ("b2", "d2", "c2"):
        say(project, id_, "bees", RIGHT[id_[0]])
    (row,) = rebuild(project).rows
    assert row["difference"] == 0.0


def test_training_has_the_options_of_the_settings(tmp_path):
    learning = LearningSettings(learner="mmp", loss="2", passes=3, average="yes")
    with Project(new_parish(tmp_path / "p", learning=learning)) as project:
        ranker = model_in_service(project).ranker
        assert isinstance(ranker, MMP)
        assert (ranker.loss, ranker.passes, ranker.average) == (2, 3, True)
        assert ranker.n_rounds_ == 3 * 40


def test_votes_are_trained_and_say_that_they_learn_at_once_no_more(tmp_path):
    learning = LearningSettings(learner="mmp", vote=True)
    with Project(new_parish(tmp_path / "p", learning=learning)) as project:
        trained = train(project)
        assert not trained.live
        assert trained.later == "mmp by votes learns from all documents at once"
        assert model_in_service(project).suggest("a hive")[0].category == "bees"
        logged = and_learn(project, decide(project, "new-0", Decision(("bread",)), {}))
        assert logged.learned is None
        assert "stays as it is" in logged.later


def test_without_a_training_votes_say_why_nothing_is_learned(tmp_path):
    learning = LearningSettings(learner="mmp", vote=True)
    with Project(new_project(tmp_path / "p", learning=learning)) as project:
        logged = and_learn(project, decide(project, "b1", Decision(("bees",)), {}))
        assert logged.later.startswith("not learned yet: mmp by votes learns from all")


def test_losses_go_with_their_learners():
    with pytest.raises(Mistake, match=r"learning\.loss is '3', which is one of mmp"):
        validated({"name": "x", "learning": {"loss": "3"}})
    with pytest.raises(Mistake, match=r"learning\.vote is yes beside average"):
        validated({"name": "x", "learning": {"vote": True, "average": "yes"}})
    assert unfitted.new_ranker(LearningSettings(learner="mmp")).loss == 1


def test_options_for_this_once_are_refused_where_they_mean_nothing(tmp_path):
    with Project(new_project(tmp_path / "p")) as project:
        for options, why in (
            ({"passes": 2}, "--passes has no effect"),
            ({"learner": "rocchio", "vote": True}, "--vote has no effect"),
            ({"learner": "mmp", "loss": "dom"}, "loss 'dom' is none of mmp: use 1, 2"),
        ):
            settings = once.changed(project, options)
            with pytest.raises(Mistake, match=why):
                once.require_effect(project, [settings], options)


def test_learners_are_compared_with_their_settings(tmp_path):
    with Project(new_parish(tmp_path / "p")) as project:
        specs = ["plm", "mmp(loss=1,passes=2)", "mmp(loss=3)", "mmp(vote=yes)"]
        rows = evaluate_project(project, specs, 2).table.rows
        assert [row["learner"] for row in rows] == specs
        for spec, why in (
            ("mmp(loss=1", "write mmp"),
            ("mmp(speed=1)", "'speed' is not a setting of"),
            ("mmp(passes=x)", r"learning\.passes is 'x': give a whole number"),
            ("oracle", "learner 'oracle' is not known"),
        ):
            with pytest.raises(Mistake, match=why):
                evaluate_project(project, [spec], 2)

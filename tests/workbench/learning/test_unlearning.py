"""An act that a model was trained on is undone: the model never saw it."""

import pytest

from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.deciding.suggest import suggest
from classmark.workbench.learning import live
from classmark.workbench.learning.live import and_learn
from classmark.workbench.learning.models import base_of
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project, info
from classmark.workbench.results import Logged
from classmark.workbench.store.undo import undo
from classmark.workbench.team.desk import TRAIN_AGAIN, Desk
from projects import TREE, new_project, parish

ASKED = ["honey and wax", "a nest in the oven", "rye", "what the smith made"]


@pytest.fixture
def folder(tmp_path, any_store):
    """Notes, decided but for eight, and nothing learned."""
    documents = parish(decided=True, waiting=True)
    return new_project(tmp_path / "parish", documents, TREE, store=any_store())


def scores(project):
    return [
        [(one.category, one.score, one.probability) for one in suggest(project, text)]
        for text in ASKED
    ]


def wrong(project):
    """Decide wrongly, and return the number of the act."""
    return decide(project, "new-0", Decision(assign=("birds",)), {}).numbers[0]


def test_undone_after_a_training_it_is_as_never_trained_on(folder):
    with Project(folder) as project:
        train(project)
        before = scores(project)
        number = wrong(project)
        train(project)
        trained, base = scores(project), base_of(project)
        logged = and_learn(project, undo(project, number))
        assert scores(project) == before
        assert trained != before
        assert (
            f"trained again without them, as model {base_of(project)}" in logged.later
        )
        assert base_of(project) != base
        and_learn(project, undo(project, logged.numbers[0]))
        assert scores(project) == trained, "brought back, it is learned again"


def test_a_training_that_takes_long_is_not_begun_but_said_to_be_due(
    folder, monkeypatch
):
    monkeypatch.setattr(live, "QUICK", 0.0)
    with Project(folder) as project:
        number = wrong(project)
        train(project)
        base = base_of(project)
        logged = and_learn(project, undo(project, number))
        assert base_of(project) == base
        assert "to unlearn them exactly, run classmark train" in logged.later
        facts = {row["what"]: row["value"] for row in info(project).rows}
        assert facts["trained on acts undone since"].endswith("run classmark train")
        train(project)
        facts = {row["what"] for row in info(project).rows}
        assert "trained on acts undone since" not in facts


def test_where_nothing_is_left_to_learn_from_the_undoing_still_holds(tmp_path):
    with Project(new_project(tmp_path / "shelf")) as project:
        (number,) = decide(project, "b1", Decision(assign=("bees",)), {}).numbers
        train(project)
        logged = and_learn(project, undo(project, number))
        assert isinstance(logged, Logged)
        assert "cannot be trained without them" in logged.later
        assert not project.store.labels()


def test_a_desk_trains_again_by_itself(folder):
    with Project(folder) as project:
        train(project)
        before = scores(project)
        number = wrong(project)
        train(project)
    with Desk(folder) as desk:
        desk.write(lambda project: undo(project, number))
        assert desk.learned()
        jobs = [job for job in desk.jobs if job.name == TRAIN_AGAIN]
        assert [job.wait(60).state for job in jobs] == ["done"]
        assert scores(desk) == before

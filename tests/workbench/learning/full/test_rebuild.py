"""The log read again gives the same ranker (promise 6)."""

import numpy as np
import pytest

from classmark.datasets.library import library_records
from classmark.problems import Mistake
from classmark.taxonomy.category import Category
from classmark.workbench.categories import edit
from classmark.workbench.deciding.suggest import suggest
from classmark.workbench.files.documents import delete_documents, restore_documents
from classmark.workbench.files.importing import import_records
from classmark.workbench.learning.learner import open_learner
from classmark.workbench.learning.live import learn_at_once, unlearn_by_training
from classmark.workbench.learning.rebuild import rebuild
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from projects import new_library, new_project
from workbench.acts import Acts, say, teach_all, wrong_lessons


def assert_rebuilt(project, texts):
    unlearn_by_training(project)
    learn_at_once(project)
    before = [suggest(project, text) for text in texts]
    weights = open_learner(project).ranker.dual.W.copy()
    (row,) = rebuild(project).rows
    assert row["difference"] == 0.0
    assert np.array_equal(open_learner(project).ranker.dual.W, weights)
    assert [suggest(project, text) for text in texts] == before


@pytest.mark.parametrize("seed", range(8))
def test_after_any_acts_the_log_gives_the_same_ranker(tmp_path, seed):
    rng = np.random.default_rng(seed)
    with Project(new_project(tmp_path / "shelf")) as project:
        project.store.run("PRAGMA synchronous = OFF")
        acts = Acts(project, rng)
        for number in range(60):
            acts.act()
            if number == 30 and seed % 2:
                train(project)
        say(project, min(project.store.ids()), acts.fresh_active())
        assert_rebuilt(project, ["honey", "wick and dough", "flame"])
        assert wrong_lessons(project) == []


@pytest.mark.parametrize("compares", [False, True])
def test_what_a_document_is_unsure_of_is_not_compared_later(tmp_path, compares):
    """Nor is it where no document had the category when the model was trained."""
    with Project(new_project(tmp_path / "shelf")) as project:
        teach_all(project)
        edit.add(project, Category("top"))
        edit.add(project, Category("inner", parents=("top",)))
        edit.add(project, Category("leaf", parents=("inner",)))
        say(project, "b1", unsure=("inner",))
        if compares:
            say(project, "b1", over=(("candles", "bread"),))
        train(project)
        say(project, "d1", "inner")
        assert wrong_lessons(project) == []
        assert_rebuilt(project, ["honey", "wick and dough"])


def test_what_was_trained_on_and_is_deleted_is_trained_on_again(tmp_path):
    with Project(new_project(tmp_path / "shelf")) as project:
        teach_all(project)
        train(project)
        delete_documents(project, ["b1", "d1"])
        assert_rebuilt(project, ["honey", "wick and dough"])
        restore_documents(project, ["d1"])
        assert_rebuilt(project, ["honey", "wick and dough"])


def test_the_library_with_training_in_the_middle(tmp_path):
    rng = np.random.default_rng(1)
    records = list(library_records())
    with Project(new_library(tmp_path / "library", 200)) as project:
        acts = Acts(project, rng)
        for _ in range(15):
            acts.act()
        assert_rebuilt(project, ["a chart of the tides"])
        import_records(project, records[200:], "catalogue")
        train(project)
        for _ in range(25):
            acts.act()
        assert_rebuilt(project, ["a chart of the tides", "bees and hives"])
        assert wrong_lessons(project) == []


def test_there_may_be_nothing_to_rebuild(tmp_path):
    with Project(new_project(tmp_path / "shelf")) as project:
        (row,) = rebuild(project).rows
        assert row == {
            "acts": 2,
            "documents": 0,
            "categories": 3,
            "difference": "nothing to compare with",
        }


def test_a_difference_is_told(tmp_path):
    with Project(new_project(tmp_path / "shelf")) as project:
        teach_all(project)
        learner = open_learner(project)
        learner.ranker.dual.W[0, 0] += 0.5
        learner.save()
        (row,) = rebuild(project).rows
        assert 0.1 < row["difference"] < 10
        assert rebuild(project).rows[0]["difference"] == 0.0


def test_training_that_the_log_does_not_know_is_told(tmp_path):
    with Project(new_project(tmp_path / "shelf")) as project:
        teach_all(project)
        train(project)
        project.store.run("DELETE FROM events")
        with pytest.raises(Mistake, match="run classmark train"):
            rebuild(project)

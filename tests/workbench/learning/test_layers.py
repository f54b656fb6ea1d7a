"""Trees as supervision: siblings of what is right stand above what is far."""

import pytest

from classmark.corpus.documents import Document
from classmark.preferences.graph import PreferenceGraph
from classmark.preferences.labels import favoured, relevant
from classmark.problems import Mistake
from classmark.taxonomy.tree import Taxonomy
from classmark.workbench.learning import options as once
from classmark.workbench.learning.evaluate import evaluate_project
from classmark.workbench.learning.learner import open_learner
from classmark.workbench.learning.lessons import TreeLayers, lesson, taught
from classmark.workbench.learning.live import learn_at_once, model_in_service
from classmark.workbench.learning.rebuild import rebuild
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from classmark.workbench.settings import LearningSettings, validated
from classmark.workbench.store.log import JudgedRecord
from projects import TREE, new_parish, new_project, parish
from workbench.acts import say

LAYERS = LearningSettings(layers=3)
EDGES = [("r", "a"), ("r", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2")]
NUMBER = {name: at for at, name in enumerate(["a", "a1", "a2", "b1", "b2"])}


def record(**said):
    return JudgedRecord(Document("d", {}), **{"labels": {"a1": 1.0}, **said})


def levels(count=3, ranked=("a",), **said):
    layers = TreeLayers(Taxonomy(EDGES), count, ranked)
    graph = lesson(record(**said), NUMBER, "equal", layers)
    return dict(zip(NUMBER, graph.levels.tolist(), strict=True)), graph.floor


def test_siblings_stand_between_what_is_right_and_what_is_far():
    assert levels() == ({"a": 1, "a1": 2, "a2": 1, "b1": 0, "b2": 0}, 1)
    assert levels(2) == ({"a": 0, "a1": 1, "a2": 0, "b1": 0, "b2": 0}, 0)


def test_an_inner_category_in_use_is_a_leaf_of_its_own():
    nearest, _ = levels(labels={"a": 1.0})
    assert nearest == {"a": 2, "a1": 1, "a2": 1, "b1": 0, "b2": 0}
    both, _ = levels(labels={"a": 1.0, "a1": 1.0})
    assert (both["a"], both["a1"], both["a2"]) == (2, 2, 1)


def test_what_people_say_comes_before_the_tree():
    said, _ = levels(
        labels={"a1": 1.0, "b1": 1.0},
        primary=frozenset({"b1"}),
        rejected=frozenset({"a2"}),
        unsure=frozenset({"b2"}),
    )
    assert said == {"a": 1, "a1": 2, "a2": 0, "b1": 3, "b2": -1}
    layers = TreeLayers(Taxonomy(EDGES), 3, ())
    listed = lesson(record(preferences={("b1", "b2"): 1.0}), NUMBER, "equal", layers)
    assert set(listed.edges()) == {(1, 0), (1, 2), (1, 3), (1, 4), (3, 4)}


def test_only_what_a_document_has_is_relevant():
    layers = TreeLayers(Taxonomy(EDGES), 3, ())
    graphs = taught([record(), record(labels={"b1": 1.0})], NUMBER, "equal", layers)
    assert relevant(favoured(graphs), graphs).columns.tolist() == [1, 3]
    assert PreferenceGraph.multilabel(2, [1]).floor == 0


@pytest.mark.parametrize("learner", ["plm", "loglinear"])
def test_a_training_with_layers_puts_siblings_before_the_rest(tmp_path, learner):
    learning = LearningSettings(learner=learner, layers=3)
    with Project(new_parish(tmp_path / "p", learning=learning)) as project:
        order = [s.category for s in model_in_service(project).suggest("a hive", k=4)]
        assert order[:2] == ["bees", "birds"]
        train(project, LearningSettings(learner=learner, strategy="plain"))
        before = model_in_service(project).scores(["hive honey"])
        train(project, learning)
        assert (model_in_service(project).scores(["hive honey"]) != before).any()


def test_decisions_teach_in_layers_at_once_and_are_rebuilt_to_the_bit(tmp_path):
    with Project(
        new_project(tmp_path / "p", parish(waiting=True), TREE, learning=LAYERS)
    ) as project:
        for name in ("bees-0", "bread-0", "candles-1", "birds-1"):
            say(project, name, name.split("-")[0])
        ranker = open_learner(project).ranker
        listed = ranker.dual.lesson(ranker.handles["bees-0"])
        names = [
            project.store.category_rows()[int(key)]["id"] for key in ranker.categories
        ]
        found = {
            names[c]: level
            for c, level in zip(listed.labels, listed.levels, strict=True)
        }
        assert found == {"bees": 2, "birds": 1}
        train(project)
        say(project, "new-0", "bread")
        assert learn_at_once(project) is not None
        (row,) = rebuild(project).rows
        assert row["difference"] == 0.0


@pytest.mark.parametrize(
    ("learning", "why"),
    [
        ({"layers": 1}, "layers is 1: use 2 or more, or 0"),
        ({"layers": 3, "learner": "mmp"}, "mmp learns from right and wrong alone"),
        (
            {"layers": 3, "strategy": "top-down"},
            "the strategy top-down decides at each",
        ),
        ({"layers": 3, "strategy": "flat", "base": "logistic"}, "the base logistic"),
        ({"layers": 3, "loss": "svm"}, "the loss svm knows none"),
    ],
)
def test_what_cannot_use_layers_is_refused_with_the_reason(tmp_path, learning, why):
    with pytest.raises(Mistake, match=why):
        validated({"name": "x", "learning": learning})
    with (
        Project(new_project(tmp_path / "p")) as project,
        pytest.raises(Mistake, match=why),
    ):
        once.require_effect(project, [once.changed(project, learning)], learning)


def test_layers_need_a_tree(tmp_path):
    with Project(new_project(tmp_path / "p", learning=LAYERS)) as project:
        say(project, "b1", "bees")
        with pytest.raises(
            Mistake, match="learning in 3 layers needs a tree of categories"
        ):
            train(project)


def test_the_solver_of_the_log_linear_ranker_is_chosen(tmp_path):
    learning = LearningSettings(learner="loglinear", solver="boosting")
    with Project(new_parish(tmp_path / "p", learning=learning)) as project:
        ranker = model_in_service(project).ranker
        assert (ranker.solver, ranker.C) == ("boosting", None)
        assert model_in_service(project).suggest("a hive")[0].category == "bees"
        train(project, LearningSettings(learner="loglinear", solver="boosting", C=3.0))
        ranker = model_in_service(project).ranker
        assert (ranker.penalty, ranker.C) == ("natural", 3.0)
        for options, why in (
            ({"solver": "boosting"}, "--solver has no effect"),
            (
                {"learner": "loglinear", "solver": "newton"},
                "solver 'newton' is not known",
            ),
        ):
            settings = once.changed(project, {"learner": "plm"} | options)
            with pytest.raises(Mistake, match=why):
                once.require_effect(project, [settings], options)


def test_layers_are_compared(tmp_path):
    with Project(new_parish(tmp_path / "p", learning=LAYERS)) as project:
        specs = ["plm", "plm(layers=0)", "loglinear(layers=2)", "rocchio"]
        rows = evaluate_project(project, specs, 2).table.rows
        assert [row["learner"] for row in rows] == specs


class TooMany(dict):
    """Numbers of categories that nobody may go through."""

    def __iter__(self):
        raise AssertionError("all categories are gone through for one document")

    keys = items = values = __iter__


def test_one_document_does_not_go_through_all_categories():
    number = TooMany(NUMBER)
    assert lesson(record(), number) == [NUMBER["a1"]]
    assert lesson(record(aside=True), number) is None
    refused = lesson(record(labels={}, rejected=frozenset({"b1"})), number)
    assert refused.edges() == [(5, 3)]

"""Which strategy is picked, with which numbers, and what is measured in the tree."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from classmark.experiments.evaluate import LabelledTexts, evaluate_by
from classmark.experiments.in_tree import ancestors_of, in_tree
from classmark.problems import Mistake
from classmark.rankers.text import TextRanker
from classmark.taxonomy.category import Category
from classmark.taxonomy.tree import Taxonomy
from classmark.weighting.vectorizer import Vectorizer
from classmark.workbench.fitting import described, fit, task_of
from classmark.workbench.learning import TRAINED
from classmark.workbench.models import Known
from classmark.workbench.project import Project
from classmark.workbench.rebuilding import rebuild
from classmark.workbench.settings import LearningSettings
from classmark.workbench.strategies import (
    STRATEGIES,
    Size,
    branching,
    choose,
    has_tree,
    told,
)
from classmark.workbench.training import train
from workbench.live_projects import new_project, teach_all

TREE = Taxonomy([("r", "a"), ("r", "b"), ("a", "1"), ("a", "2"), ("b", "3")])
FLAT = Taxonomy([("r", "1"), ("r", "2")])
SIZE = Size(100, 1000, 500)  # 4 MB


@pytest.mark.parametrize(
    ("said", "tree", "picked", "why"),
    [
        ({}, TREE, "flat", "fits the memory: 4 MB for flat weights, 4 GB given"),
        ({"memory": "4MB"}, TREE, "flat", "4 MB given"),
        ({"memory": "3.9MB"}, TREE, "pruned", "does not fit the memory: 4 MB"),
        ({}, FLAT, "plain", "no tree"),
        ({"learner": "rocchio"}, TREE, "plain", "does not look at a tree"),
        ({"strategy": "top-down"}, TREE, "top-down", "asked for (4 MB"),
        ({"strategy": "plain", "memory": "1kB"}, TREE, "plain", "asked for"),
        ({"strategy": "flat"}, FLAT, "flat", "asked for"),
    ],
)
def test_what_is_picked_and_why(said, tree, picked, why):
    found = choose(LearningSettings(**said), tree, SIZE)
    assert found.name == picked
    assert why in found.why
    assert found.descends == (picked in ("top-down", "pruned"))
    assert found.facts()["flat_bytes"] == 4_000_000


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"strategy": "up"}, "use auto, plain, flat, top-down, pruned"),
        ({"base": "oracle"}, "base 'oracle' is not known"),
        ({"memory": "0GB"}, "give a size such as"),
        ({"strategy": "pruned", "learner": "mmp"}, "leave --learner out"),
    ],
)
def test_what_means_nothing_is_refused(said, message):
    with pytest.raises(Mistake, match=message):
        choose(LearningSettings(**said), TREE, SIZE)


@pytest.mark.parametrize("strategy", ["top-down", "pruned"])
def test_there_must_be_a_tree_to_go_down(strategy):
    with pytest.raises(Mistake, match="classmark taxonomy import"):
        choose(LearningSettings(strategy=strategy), FLAT, SIZE)


def test_a_tree_is_more_than_a_root():
    assert has_tree(TREE)
    assert not has_tree(FLAT)
    assert not has_tree(Taxonomy([], nodes=["1", "2"]))
    assert has_tree(Taxonomy([("a", "1"), ("b", "2")]))
    assert sorted(branching(TREE)) == [0, 0, 0, 1, 2, 2]
    two = Taxonomy([("a", "1"), ("a", "2"), ("b", "3"), ("b", "4")])
    assert sorted(branching(two)) == [0, 0, 0, 0, 2, 2, 2]
    ratio = choose(LearningSettings(), two, Size(9, 9, 4)).complexity_ratio
    assert ratio == pytest.approx((2 + 2 + 2) / 12)
    assert [told(size) for size in (123e9, 5e12, 2.5e6, 10)] == [
        "123 GB", "5 TB", "2.5 MB", "0.01 kB",
    ]  # fmt: skip


def tasks():
    words = {"1": "hive bee", "2": "wax candle", "3": "oven bread", "b": "flour"}
    names = ["1", "2", "3", "b"]
    texts = [f"{words[name]} w{at}" for at in range(5) for name in names]
    labels = [[names.index(name)] for _ in range(5) for name in names]
    categories = [
        Category("r"),
        Category("a", "Insects", parents=("r",)),
        Category("b", parents=("r",)),
        Category("1", "Bees", "of honey", ("apiary",), ("a",)),
        Category("2", parents=("a",)),
        Category("3", parents=("b",)),
    ]
    return task_of(LabelledTexts(texts, labels, names), categories)


def test_names_notes_and_synonyms_describe_a_category():
    task = tasks()
    assert task.said["1"] == "Bees\nof honey\napiary"
    assert described(Category("2")) == ""


@pytest.mark.parametrize("strategy", [s for s in STRATEGIES if s != "auto"])
@pytest.mark.parametrize("base", ["svm", "logistic", "naive-bayes"])
def test_every_strategy_learns_what_is_plain_to_see(strategy, base):
    task = tasks()
    learning = LearningSettings(strategy=strategy, base=base)
    model, picked, X = fit(task, Vectorizer(), learning)
    assert picked.name == strategy
    assert X.shape[0] == 20
    for text, name in (
        ("a hive", "1"),
        ("candle", "2"),
        ("bread", "3"),
        ("flour", "b"),
    ):
        found = model.suggest(text, top=2)
        assert (found[0].category, found[0].rank) == (name, 1)
        assert found[0].score > found[1].score


def test_what_is_said_of_a_category_is_learned_from():
    task = tasks()
    learning = LearningSettings(strategy="flat")
    said = replace(task, said={**task.said, "3": "w0 w0 w0"})
    before, after = (fit(one, Vectorizer(), learning).model for one in (task, said))
    at = task.collection.categories.index("3")
    gain = after.scores(["w0"])[0] - before.scores(["w0"])[0]
    assert gain.argmax() == at


def test_select_needs_margins():
    with pytest.raises(Mistake, match="no strategy but flat or plain"):
        fit(tasks(), Vectorizer(), LearningSettings(strategy="top-down"), select=True)
    model = fit(tasks(), Vectorizer(), LearningSettings(strategy="flat"), select=True)
    assert model[0].ranker.C > 0


class Told:
    """A ranker that says what it was told to."""

    def __init__(self, scores):
        self.scores = scores

    def decision_function(self, X):
        return np.array(self.scores)[: X.shape[0]]


def test_measures_in_the_tree_by_hand():
    names = ["1", "2", "3"]
    texts = ["x", "x", "x", "x"]
    collection = LabelledTexts(texts, [[0], [1, 2], [1], [0]], names)
    scores = [[3.0, 2.0, 1.0], [3.0, 2.0, 1.0], [1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]
    vectorizer = Vectorizer()
    vectorizer.fit_transform(texts)
    split = [(np.arange(4), np.arange(4))]
    found = evaluate_by(
        collection, split, lambda _: TextRanker(vectorizer, Told(scores), names)
    )
    assert found.assigned == [[0], [0, 1], [2], [0]]
    assert found.priors.tolist() == [0.4, 0.4, 0.2]
    measured = in_tree(found, TREE, names)
    # edges from the best to the nearest right: 1→1, 1→2, 3→2, 1→1
    assert measured["tree_error"] == (0 + 2 + 4 + 0) / 4
    # {1 a} ∩ {1 a}; {1 2 a} ∩ {2 3 a b}; {3 b} ∩ {2 a}; {1 a} ∩ {1 a}
    assert measured["hierarchical_f1"] == pytest.approx(2 * 6 / (9 + 10))
    assert measured["detected"] == 3
    assert measured["accuracy_bound"] == pytest.approx((1.6 + 0 + 0.8) / 4)


def test_several_roots_count_as_nodes():
    assert ancestors_of(Taxonomy([("a", "1"), ("b", "2")]), ["1", "a"]) == [[0, 1], [0]]


def test_a_model_trained_before_there_were_strategies_is_rebuilt_as_it_was(tmp_path):
    with Project(new_project(tmp_path / "shelf")) as project:
        teach_all(project)
        train(project, LearningSettings(strategy="plain"))
        detail = project.store.last_event(TRAINED)
        old = {
            name: value
            for name, value in detail["settings"].items()
            if name not in ("strategy", "base", "memory", "rare")
        }
        project.store.note_event(TRAINED, "eve", **detail | {"settings": old})
        assert rebuild(project).rows[0]["difference"] == 0.0


def test_settings_written_out_repeat_the_choice(tmp_path):
    with Project(new_project(tmp_path / "shelf")) as project:
        teach_all(project)
        train(project)
        used = project.store.last_event(TRAINED)["settings"]
        assert used["strategy"] in ("flat", "plain")
        assert used.keys() == asdict(LearningSettings()).keys()
        assert used["C"] > 0


def test_a_category_is_known_by_its_number(tmp_path):
    with Project(new_project(tmp_path / "shelf")) as project:
        number, id_ = project.store.run("SELECT number, id FROM categories").fetchone()
        now = Known({"then": number}).present(project.store)
        assert (now("then"), now("unknown")) == (id_, "unknown")

"""Which strategy is picked, with which numbers, and what is measured in the tree."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from classmark.evaluation import evaluate
from classmark.evaluation.evaluate import (
    LabelledTexts,
    ancestors_of,
    evaluate_each,
    in_tree,
)
from classmark.hierarchies.report import taxonomy_report
from classmark.measures import calibration_error
from classmark.problems import Mistake
from classmark.rankers.calibration import crossed_probabilities
from classmark.rankers.text_ranker import TextRanker
from classmark.taxonomy.category import Category
from classmark.taxonomy.tree import Taxonomy
from classmark.weighting.vectorizer import Vectorizer
from classmark.workbench.learning.fit import (
    STRATEGIES,
    Size,
    bytes_text,
    choose,
    fit,
    has_tree,
    task_of,
)
from classmark.workbench.learning.models import present_id
from classmark.workbench.learning.rebuild import rebuild
from classmark.workbench.learning.train import train
from classmark.workbench.learning.trained import TRAINED
from classmark.workbench.project import Project
from classmark.workbench.settings import LearningSettings
from projects import new_project
from workbench.acts import teach_all

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
    assert found.size.flat == 4_000_000


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"strategy": "up"}, "use auto, plain, flat, top-down, pruned"),
        ({"base": "oracle"}, "base 'oracle' is not known"),
        ({"memory": "0GB"}, "give a size such as"),
        ({"policy": "guess"}, "policy 'guess' is not known: use bound, meta, random"),
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
    two = Taxonomy([("a", "1"), ("a", "2"), ("b", "3"), ("b", "4")])
    ratio = choose(LearningSettings(), two, Size(9, 9, 4)).complexity_ratio
    assert ratio == pytest.approx((2 + 2 + 2) / 12)


def test_a_root_and_a_few_strays_are_no_tree():
    leaves = [str(n) for n in range(60)]
    rooted = Taxonomy([("all", leaf) for leaf in leaves], nodes=["alone"])
    strays = Taxonomy([("0", "1"), ("2", "3"), ("4", "5")], nodes=leaves)
    for tree in (rooted, strays):
        assert has_tree(tree)
        found = choose(LearningSettings(), tree, SIZE)
        assert (found.name, found.complexity_ratio) == ("plain", None)
        assert "the tree hardly parts the categories" in found.why
        asked = choose(LearningSettings(strategy="flat"), tree, SIZE)
        assert asked.complexity_ratio > 0.75
    thirds = Taxonomy([(f"g{int(leaf) // 20}", leaf) for leaf in leaves])
    assert choose(LearningSettings(), thirds, SIZE).name == "flat"


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (123e9, "123 GB"),
        (5e12, "5 TB"),
        (1234.4e12, "1,234 TB"),
        (2.5e6, "2.5 MB"),
        (999_700, "1 MB"),
        (999_400, "999 kB"),
        (1000, "1 kB"),
        (999.7, "1 kB"),
        (999, "999 bytes"),
        (56, "56 bytes"),
        (1, "1 byte"),
        (0, "0 bytes"),
    ],
)
def test_sizes_are_told_in_units_that_fit(size, said):
    assert bytes_text(size) == said


def test_the_theory_is_part_of_the_reason():
    found = choose(LearningSettings(), TREE, SIZE)
    assert found.complexity_ratio == pytest.approx((2 + 2 + 0) / 6)
    assert found.why.endswith("; complexity ratio 0.667 (tree to flat)")
    assert "complexity" not in choose(LearningSettings(), FLAT, SIZE).why


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
    assert task.descriptions["1"] == "Bees\nof honey\napiary"
    assert task.descriptions["2"] == ""


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
        found = model.suggest(text, k=2)
        assert (found[0].category, found[0].rank) == (name, 1)
        assert found[0].score > found[1].score


@pytest.mark.parametrize("asked", ["bound", "meta", "random"])
@pytest.mark.parametrize("bold", [False, True])
def test_the_policy_asked_for_prunes(monkeypatch, asked, bold):
    told_of = []

    def pruning(taxonomy, _, __, policy, **more):
        told_of.append((policy, more["bold"]))
        return taxonomy

    monkeypatch.setattr("classmark.hierarchies.top_down.prune_taxonomy", pruning)
    learning = LearningSettings(strategy="pruned", policy=asked, bold=bold)
    assert fit(tasks(), Vectorizer(), learning).strategy.name == "pruned"
    assert told_of == [(asked, bold)]


def test_auto_is_top_down_where_pruning_names_no_node(monkeypatch):
    learning = LearningSettings(memory="1MB", policy="random")
    monkeypatch.setattr(Size, "flat", 2_000_000)
    monkeypatch.setattr("classmark.hierarchies.pruning.RANDOM_SHARE", 1.0)
    assert fit(tasks(), Vectorizer(), learning).strategy.name == "pruned"
    monkeypatch.setattr("classmark.hierarchies.pruning.RANDOM_SHARE", 0.0)
    found = fit(tasks(), Vectorizer(), learning)
    assert found.strategy.name == "top-down"
    assert "flat does not fit the memory" in found.strategy.why
    assert found.strategy.why.endswith("; pruning by random names no node")
    assert found.strategy.descends


def test_training_counts_the_tree_as_the_report_does():
    task = tasks()  # documents at the inner category b
    edges = [*task.tree.edges, ("b", "1"), ("a", "3")]  # and two parents
    graph = replace(task, tree=Taxonomy(edges, nodes=task.tree.nodes))
    for one in (task, graph):
        _, strategy, X = fit(one, Vectorizer(), LearningSettings(strategy="flat"))
        y = [one.collection.categories[own[0]] for own in one.collection.labels]
        report = taxonomy_report(one.tree, X, y)
        assert strategy.complexity_ratio == report.complexity_ratio
        assert report.leaves == 4
    assert strategy.complexity_ratio == pytest.approx((2 + 3 * 2 + 3 * 2) / 12)


def test_what_is_said_of_a_category_is_learned_from():
    task = tasks()
    learning = LearningSettings(strategy="flat")
    said = replace(task, descriptions={**task.descriptions, "3": "w0 w0 w0"})
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
    model = TextRanker(vectorizer, Told(scores), names)
    found = evaluate_each(collection, split, {"told": lambda _: model})["told"]
    assert found.assigned == [[0], [0, 1], [2], [0]]
    assert found.priors.tolist() == [0.4, 0.4, 0.2]
    measured = in_tree(found, TREE, names)
    # edges from the best to the nearest right: 1→1, 1→2, 3→2, 1→1
    assert measured["tree_error"] == (0 + 2 + 4 + 0) / 4
    # {1 a} ∩ {1 a}; {1 2 a} ∩ {2 3 a b}; {3 b} ∩ {2 a}; {1 a} ∩ {1 a}
    assert measured["hierarchical_f1"] == pytest.approx(2 * 6 / (9 + 10))
    assert measured["detected"] == 3
    assert measured["accuracy_bound"] == pytest.approx((1.6 + 0 + 0.8) / 4)


def test_rare_recall_is_a_mean_over_rare_categories():
    labels = [[0]] * 12 + [[1]] * 3 + [[2]] * 2
    names = [str(c) for c in range(8)]
    texts = ["x"] * len(labels)
    scores = np.zeros((len(labels), 8))
    scores[:, [0, 3, 4, 5, 6]] = 1.0  # the five best of all
    scores[12, 1] = 2.0
    vectorizer = Vectorizer()
    vectorizer.fit_transform(texts)
    every = np.arange(len(labels))
    model = TextRanker(vectorizer, Told(scores), names)
    collection = LabelledTexts(texts, labels, names)
    splits = [(every, every)]
    found = evaluate_each(collection, splits, {"told": lambda _: model})["told"]
    # 0 has 12 documents; 1 is among the five best once of three times, 2 never
    assert found.measures["rare_recall@5"] == pytest.approx((1 / 3 + 0) / 2)
    measured = in_tree(found, Taxonomy([], nodes=names), names)
    assert measured["rare_recall@5"] == found.measures["rare_recall@5"]
    # assigned: 0, and 1 once; right: 12 of 17, and 1
    assert measured["micro_f1"] == pytest.approx(13 / 17)
    f1 = (2 * 12 / (16 + 12) + 2 * 1 / (1 + 3) + 0) / 3
    assert measured["macro_f1"] == pytest.approx(f1)


def test_the_calibration_error_of_rare_categories_is_measured_apart():
    """What is rare comes as chance has it; what is frequent is told by its score."""
    rng = np.random.default_rng(0)
    n = 400
    labels = [[i % 2] for i in range(n)]
    rare = rng.choice(n, 16, replace=False)
    for at, document in enumerate(rare):
        labels[document].append(2 + at % 2)
    scores = rng.normal(size=(n, 4))
    scores[np.arange(n), np.arange(n) % 2] += 9.0
    scores[:, 2:] -= 2.0
    texts, every = [f"t{i}" for i in range(n)], np.arange(n)

    class Told:
        def scores(self, some):
            return scores[[int(text[1:]) for text in some]]

    collection = LabelledTexts(texts, labels, list("abcd"))
    measures = evaluate_each(collection, [(every, every)], {"told": lambda _: Told()})[
        "told"
    ].measures
    sizes = np.array([200, 200, 8, 8])
    found = crossed_probabilities(scores, labels, sizes=sizes)
    right = np.array([[c in own for c in range(4)] for own in labels])
    assert measures["calibration_error"] == calibration_error(found, right)
    apart = calibration_error(found[:, 2:], right[:, 2:])
    assert measures["rare_calibration_error"] == apart != measures["calibration_error"]


def test_without_rare_categories_there_is_no_error_of_theirs():
    labels = [[i % 2] for i in range(60)]
    scores = np.eye(2)[np.arange(60) % 2]

    class Told:
        def scores(self, some):
            return scores[[int(text) for text in some]]

    collection = LabelledTexts([str(i) for i in range(60)], labels, ["a", "b"])
    every = np.arange(60)
    learners = {"told": lambda _: Told()}
    measures = evaluate_each(collection, [(every, every)], learners)["told"].measures
    assert "calibration_error" in measures
    assert "rare_calibration_error" not in measures


@pytest.mark.parametrize("never", [0.0, -np.inf])
def test_scores_are_looked_at_block_by_block(monkeypatch, never):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(130, 7))
    labels = [[int(line.argmax()), i % 7] for i, line in enumerate(scores)]
    labels = [sorted(set(own) - {3}) or [0] for own in labels]
    scores[:, 3] = never
    texts, names = [f"t{i}" for i in range(130)], list("abcdefg")
    asked = []

    class Asked:
        def scores(self, some):
            asked.append(len(some))
            return scores[[int(text[1:]) for text in some]]

    def evaluated():
        splits = [
            (np.arange(65), np.arange(65, 130)),
            (np.arange(65, 130), np.arange(65)),
        ]
        collection = LabelledTexts(texts, labels, names)
        return evaluate_each(collection, splits, {"asked": lambda _: Asked()})["asked"]

    whole = evaluated()
    assert asked == [65, 65]
    monkeypatch.setattr(evaluate, "BLOCK", 7 * 20)
    asked.clear()
    parts = evaluated()
    assert asked == [20, 20, 20, 5] * 2
    assert parts.assigned == whole.assigned
    for name, value in whole.measures.items():
        if name != "calibration_error":  # of every second document
            assert parts.measures[name] == pytest.approx(value)
    assert 0 < parts.measures["calibration_error"] < 0.3
    assert np.allclose(parts.precision, whole.precision)


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
            if name not in ("strategy", "base", "memory", "rare", "policy", "bold")
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
        now = present_id(project.store, {"then": number})
        assert (now("then"), now("unknown")) == (id_, "unknown")

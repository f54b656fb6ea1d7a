"""What an expert says is logged, holds, is undone, and teaches."""

import sqlite3

import numpy as np
import pytest

from classmark.corpus.documents import Document
from classmark.problems import Mistake
from classmark.rankers.text_ranker import TextRanker
from classmark.workbench.deciding.decide import Decision, Seen, decide, pair_of
from classmark.workbench.deciding.history import history
from classmark.workbench.learning.evaluate import evaluate_project
from classmark.workbench.learning.lessons import lesson, taught
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from classmark.workbench.settings import LearningSettings
from classmark.workbench.store.log import JudgedRecord
from classmark.workbench.store.undo import undo
from projects import new_project

TEXTS = {
    "bees": ["honey in the hive", "a queen bee swarms", "bees and hive smoke"],
    "bread": ["dough in the oven", "rye bread and yeast", "knead dough"],
    "candles": ["a wick in tallow", "burning wick", "tallow dips and a flame"],
}


@pytest.fixture
def project(tmp_path, any_store):
    rows = [
        {"id": f"{label}{place}", "text": text, "labels": [label]}
        for label, texts in TEXTS.items()
        for place, text in enumerate(texts)
    ]
    rows.append({"id": "wax", "text": "wax from combs, honey"})
    with Project(new_project(tmp_path / "shelf", rows, store=any_store())) as opened:
        yield opened


def test_a_decision_is_logged_whole_with_what_the_expert_saw(project):
    train(project)
    said = Decision(("bees",), ("candles",), ("bread",), note="smells of it")
    logged = decide(project, "wax", said)
    assert len(logged.numbers) == 3
    record = project.store.record("wax")
    assert record.labels == {"bees": 1.0, "candles": 2.0}
    assert (record.primary, record.rejected) == ({"candles"}, {"bread"})
    rows = history(project, "wax").rows
    assert [row["number"] for row in rows] == sorted(logged.numbers, reverse=True)
    model = TextRanker.open(project.models.current())
    ranked = [one.category for one in model.suggest("wax from combs, honey")]
    for row in rows:
        assert row["model"] == "000001"
        assert row["note"] == "smells of it"
        assert ranked[row["rank"] - 1] == row["category"]
        scores = model.scores(["wax from combs, honey"])[0]
        at = model.categories.index(row["category"])
        assert row["score"] == pytest.approx(scores[at])


def test_what_was_seen_may_be_told(project):
    seen = {"bees": Seen("page", 7, 0.25)}
    decide(project, "wax", Decision(("bees", "bread")), seen, who="eve")
    second, first = history(project, "wax").rows
    assert (first["who"], first["model"], first["rank"]) == ("eve", "page", 7)
    assert (second["model"], second["rank"]) == ("", None)


def test_the_last_word_on_a_category_counts(project):
    store = project.store
    decide(project, "wax", Decision(primary=("bees",)), {})
    decide(project, "wax", Decision(assign=("bees",)), {})
    assert store.record("wax").primary == frozenset()
    decide(project, "wax", Decision(reject=("bees",)), {})
    assert store.record("wax").labels == {}
    decide(project, "wax", Decision(unsure=("bees",)), {})
    assert store.record("wax").rejected == frozenset()
    assert store.record("wax").unsure == {"bees"}
    decide(project, "wax", Decision(remove=("bees",)), {})
    assert store.record("wax") == JudgedRecord(store.document("wax"))


def test_a_document_is_set_aside_until_more_is_said(project):
    store = project.store
    decide(project, "bees0", Decision(aside=True), {})
    assert store.aside() == {"bees0"}
    assert train(project).documents == 8
    decide(project, "bees0", Decision(reject=("bread",)), {})
    assert store.aside() == set()
    undo(project)
    assert store.aside() == {"bees0"}
    undo(project)
    assert store.aside() == set()


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        (Decision(), "nothing was decided"),
        (Decision(("bees",), reject=("bees",)), "assign and reject contradict"),
        (Decision(over=(("bees", "bees"),)), "preferred to itself"),
        (Decision(over=(("bees", "bread"), ("bread", "bees"))), "contradict"),
        (Decision(("bees",), aside=True), "cannot be postponed and decided"),
        (Decision(("bees", "oak")), "no category 'oak'"),
        (Decision(("bees",), remove=("oak",)), "no category 'oak'"),
    ],
)
def test_a_decision_that_cannot_be_leaves_no_trace(project, said, wrong):
    before = project.store.counts()
    with pytest.raises(Mistake, match=wrong):
        decide(project, "wax", said, {})
    assert project.store.counts() == before


def test_pairs_are_read_with_colons_in_ids():
    assert pair_of("a:b", set()) == ("a", "b")
    assert pair_of("http://x:y", {"http://x", "y"}) == ("http://x", "y")
    for text in ("ab", "a:b:c"):
        with pytest.raises(Mistake, match="winner:loser"):
            pair_of(text, {"a:b", "c", "a", "b:c"})


def test_undo_goes_back_act_by_act_and_an_undoing_is_undone(project):
    store = project.store
    first = decide(project, "wax", Decision(("bees",)), {}, who="eve").numbers[0]
    decide(project, "wax", Decision(("bread",)), {}, who="eve")
    decide(project, "wax", Decision(("candles",)), {}, who="ida")
    undo(project, who="eve")
    assert set(store.labels()["wax"]) == {"bees", "candles"}
    back = undo(project, who="eve").numbers[0]
    assert set(store.labels()["wax"]) == {"candles"}
    with pytest.raises(Mistake, match=f"act {first} is undone already.*undo {back}"):
        undo(project, first)
    undo(project, back)
    assert set(store.labels()["wax"]) == {"bees", "candles"}
    with pytest.raises(Mistake, match=f"last by act {back + 1}"):
        undo(project, back)
    undo(project, first)
    with pytest.raises(Mistake, match="eve has nothing to undo"):
        undo(project, who="eve")
    with pytest.raises(Mistake, match=r"no act 999.*classmark history"):
        undo(project, 999)


def test_revisits_belong_to_an_act_once(project):
    seq = decide(project, "wax", Decision(("bees",)), {}).numbers[0]
    project.store.note_revisits(seq, 12)
    (entry,) = project.store.log(seq - 1)
    number = project.store.number_of("bees")
    assert (entry.document, entry.numbers, entry.revisits) == (
        "wax",
        (number, None),
        12,
    )
    with pytest.raises(sqlite3.IntegrityError):
        project.store.note_revisits(seq, 13)
    with pytest.raises(sqlite3.IntegrityError):
        project.store.note_revisits(10**6, 1)
    for sql in ("DELETE FROM lessons", "UPDATE lessons SET revisits = 0"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            project.store.run(sql)


NAMES = {"a": 0, "b": 1, "c": 2, "d": 3}


def said(labels=(), **more):
    grades = dict.fromkeys(labels, 1.0)
    return JudgedRecord(Document("d", {}), grades, **more)


def test_labels_alone_teach_labels():
    assert lesson(said("ca"), NAMES) == [0, 2]
    assert lesson(JudgedRecord(Document("d", {}), {"b": 2.0}), NAMES) == [1]
    rejected = said("ca", rejected=frozenset("b"))
    assert lesson(rejected, NAMES) == [0, 2], "below the labels as all others are"


def test_nothing_is_taught_by_doubt_alone():
    assert lesson(said(), NAMES) is None
    assert lesson(said(unsure=frozenset("a")), NAMES) is None
    assert lesson(said("ab", aside=True), NAMES) is None


def test_primary_is_above_the_other_labels():
    graph = lesson(said("ab", primary=frozenset("b")), NAMES)
    assert graph.edges() == [(0, 2), (0, 3), (1, 0), (1, 2), (1, 3)]
    graded = JudgedRecord(Document("d", {}), {"a": 3.0, "b": 2.0, "c": 1.0},
                    primary=frozenset("b"))  # fmt: skip
    assert (1, 0) in lesson(graded, NAMES, "layered").edges()
    assert (0, 2) in lesson(graded, NAMES, "layered").edges()
    assert (0, 2) not in lesson(graded, NAMES).edges()


def test_what_is_unsure_is_in_no_edge():
    graph = lesson(said("a", unsure=frozenset("c")), NAMES)
    assert graph.edges() == [(0, 1), (0, 3)]


def test_a_rejection_without_labels_is_below_the_threshold():
    graph = lesson(said(rejected=frozenset("bd")), NAMES)
    assert graph.thresholds
    assert graph.edges() == [(4, 1), (4, 3)]
    amended = lesson(
        said(rejected=frozenset("b"), preferences={("a", "b"): 2.0}), NAMES
    )
    assert amended.edges() == [(0, 1), (4, 1)]


def test_preferences_amend_what_else_was_said():
    graph = lesson(said("a", preferences={("b", "a"): 2.0}), NAMES)
    assert graph.edges() == [(0, 2), (0, 3), (1, 0)]
    assert taught([said("a"), said("b")], NAMES) is None
    graphs = taught([said("a"), said("b", unsure=frozenset("a"))], NAMES)
    assert [g.edges() for g in graphs] == [[(0, 1), (0, 2), (0, 3)], [(1, 2), (1, 3)]]


@pytest.mark.parametrize("learner", ["plm", "loglinear", "rocchio", "perceptron"])
def test_every_learner_goes_on_with_every_act(project, learner):
    decide(project, "bees0", Decision(primary=("bees",), assign=("candles",)), {})
    decide(project, "bees1", Decision(unsure=("bread",)), {})
    decide(project, "bees2", Decision(reject=("bread",)), {})
    decide(project, "wax", Decision(reject=("bread",)), {})
    trained = train(project, LearningSettings(learner=learner))
    assert trained.documents == (10 if learner == "plm" else 9)
    evaluate_project(project, [learner], n_folds=3)


def test_a_rejection_alone_pushes_the_category_below_the_threshold(project):
    settings = LearningSettings(learner="plm", C=10.0, center=0.0)
    train(project, settings)
    before = TextRanker.open(project.models.current())
    text = "wax from combs, honey"
    decide(project, "wax", Decision(reject=("bees",)), {})
    train(project, settings)
    after = TextRanker.open(project.models.current())
    column = after.categories.index("bees")
    assert before.scores([text])[0, column] > 0
    assert after.scores([text])[0, column] <= -1 + 0.05
    assert np.argmax(after.scores(["honey in the hive"])[0]) == column

"""The word threshold in preferences, and models that say what belongs."""

from dataclasses import replace

import numpy as np
import pytest

from classmark.corpus.documents import Document
from classmark.problems import Mistake
from classmark.workbench.categories.edit import merge
from classmark.workbench.deciding.decide import Decision, acts_since, decide
from classmark.workbench.deciding.history import history
from classmark.workbench.deciding.suggest import place, suggest
from classmark.workbench.files.exporting import export_documents
from classmark.workbench.files.import_acts import prefer
from classmark.workbench.files.importing import import_documents
from classmark.workbench.learning.evaluate import evaluate_project
from classmark.workbench.learning.lessons import lesson
from classmark.workbench.learning.live import learn_at_once as learn
from classmark.workbench.learning.rebuild import rebuild
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from classmark.workbench.settings import LearningSettings
from classmark.workbench.store.log import JudgedRecord, require_replayed
from classmark.workbench.store.store import Act
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
    rows.append({"id": "wax", "text": "wax from combs", "labels": ["bees"]})
    rows.append({"id": "mead", "text": "fermented honey mead"})
    with Project(new_project(tmp_path / "shelf", rows, store=any_store())) as opened:
        yield opened


def settings(project, kind, **more):
    return replace(project.settings.learning, thresholds=kind, **more)


def test_the_word_threshold_stands_for_that_of_the_other_category(project):
    store = project.store
    store.judge([prefer("mead", "bees", "threshold", 2.0)], "eve")
    assert store.preferences() == {"mead": {("bees", "threshold"): 2.0}}
    store.judge([prefer("mead", "threshold", "bees")], "eve")
    assert store.preferences() == {"mead": {("threshold", "bees"): 1.0}}
    store.judge([prefer("mead", "bread", "threshold")], "eve")
    assert len(store.preferences()["mead"]) == 2
    require_replayed(store)
    store.judge([Act("mead", "retract", "bees", other="threshold")], "eve")
    assert store.preferences() == {"mead": {("bread", "threshold"): 1.0}}
    said = acts_since(store, "mead", -1)[-1]
    assert (said.act, said.category, said.other) == ("retract", "bees", "threshold")
    with pytest.raises(Mistake, match="there is no category 'threshold'"):
        store.judge([Act("mead", "assign", "threshold", 1.0)], "eve")


def test_it_is_imported_exported_and_imported_again(project, tmp_path):
    path = tmp_path / "said.csv"
    path.write_text("document,winner,loser\nwax,candles,threshold\n")
    row = {"preferences": 1, "documents": 1, "judgments": 1}
    assert import_documents(project, path, "preferences").rows == [row]
    out = tmp_path / "all.jsonl"
    export_documents(project, out)
    with Project(new_project(tmp_path / "other", [])) as other:
        import_documents(other, out)
        assert other.store.preferences() == {"wax": {("candles", "threshold"): 1.0}}
        assert "threshold" not in other.categories


def test_a_decision_may_say_it_and_undo_takes_it_back(project):
    decide(project, "mead", Decision(over=(("bees", "threshold"),)), who="eve")
    assert project.store.preferences() == {"mead": {("bees", "threshold"): 1.0}}
    line = history(project).rows[0]
    assert (line["category"], line["other"]) == ("bees", "threshold")
    undo(project, None, "eve")
    assert project.store.preferences() == {}
    with pytest.raises(Mistake, match="cannot be preferred to itself"):
        decide(project, "mead", Decision(over=(("threshold", "threshold"),)), who="eve")


def test_a_merge_carries_it_over(project):
    decide(project, "mead", Decision(over=(("bees", "threshold"),)), who="eve")
    merge(project, "bees", "candles", "eve")
    assert project.store.preferences() == {"mead": {("candles", "threshold"): 1.0}}


def test_listed_lessons_say_of_every_category_whether_it_belongs():
    number, labels = {"x": 0, "y": 1, "z": 2}, {"x": 1.0}
    record = JudgedRecord(
        Document("d", {}), labels, preferences={("y", "threshold"): 2.0}
    )
    plain = lesson(record, number)
    assert plain.edges() == [(0, 1), (0, 2), (1, 3)]
    whole = lesson(record, number, thresholds=True)
    assert whole.edges() == [(0, 1), (0, 2), (0, 3), (1, 3), (3, 2)]
    other = replace(record, preferences={("z", "y"): 1.0})
    assert 3 not in {item for edge in lesson(other, number).edges() for item in edge}
    assert (3, 1) in lesson(other, number, thresholds=True).edges()


@pytest.mark.parametrize("kind", ["common", "category"])
def test_a_model_says_what_belongs(project, kind):
    train(project, settings(project, kind, C=10.0, center=0.0))
    for label, texts in TEXTS.items():
        for text in texts:
            belongs = {s.category: s.belongs for s in suggest(project, text)}
            assert belongs == {name: name == label for name in TEXTS}


def test_without_the_setting_nothing_is_said_of_it(project):
    decide(project, "mead", Decision(over=(("bees", "threshold"),)), who="eve")
    train(project)
    assert {s.belongs for s in suggest(project, "honey")} == {None}
    evaluated = evaluate_project(project, ["plm", "loglinear"], n_folds=3)
    assert len(evaluated.table.rows) == 2


@pytest.mark.parametrize("kind", ["common", "category"])
def test_decisions_are_learned_at_once_and_undone_to_the_bit(project, kind):
    how = settings(project, kind, C=3.0)
    train(project, how)
    learn(project)
    before = project.model().scores(["honey mead"])
    limits = project.model().ranker.limits
    decide(project, "mead", Decision(over=(("bread", "threshold"),)), who="eve")
    decide(project, "bees0", Decision(assign=("candles",)), who="eve")
    learn(project)
    assert rebuild(project).rows[0]["difference"] == 0.0
    after = project.model()
    assert not np.array_equal(after.scores(["honey mead"]), before)
    undo(project, None, "eve")
    undo(project, None, "eve")
    learn(project)
    assert np.array_equal(project.model().scores(["honey mead"]), before)
    assert np.array_equal(project.model().ranker.limits, limits)
    assert rebuild(project).rows[0]["difference"] == 0.0


def test_live_learning_from_nothing_has_thresholds(tmp_path):
    rows = [{"id": f"d{i}", "text": text} for i, text in enumerate(TEXTS["bees"])]
    rows += [{"id": f"e{i}", "text": text} for i, text in enumerate(TEXTS["bread"])]
    how = LearningSettings(thresholds="category")
    folder = new_project(tmp_path / "new", rows, ["bees", "bread"], learning=how)
    with Project(folder) as project:
        for row in rows:
            label = "bees" if row["id"][0] == "d" else "bread"
            decide(project, row["id"], Decision(assign=(label,)), who="eve")
            learn(project)
        belongs = {s.category: s.belongs for s in suggest(project, "hive smoke")}
        assert belongs == {"bees": True, "bread": False}


def test_what_learns_no_thresholds_says_so(project):
    with pytest.raises(Mistake, match="thresholds 'each' is not known"):
        train(project, settings(project, "each"))
    train(project, settings(project, "category", learner="rocchio"))
    assert {s.belongs for s in suggest(project, "honey")} == {None}


def test_a_document_is_placed_where_its_categories_belong(project):
    train(project, settings(project, "category", C=10.0, center=0.0))
    store = project.store
    store.judge([Act("bread0", "remove", "bread")], "eve")
    table = place(project, ["bees0", "bread1"])
    assert [(r["document"], r["kind"], r["category"]) for r in table.rows] == [
        ("bees0", "belongs", "bees"),
        ("bread1", "belongs", "bread"),
    ]
    (row,) = place(project, ["mead"]).rows
    assert row["kind"] in ("belongs", "left")
    assert "belong" in table.note

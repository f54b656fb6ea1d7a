"""Preferences as acts: logged, taken back, learned from, exported and imported."""

import json

import pytest

from classmark.corpus.documents import Document
from classmark.problems import Mistake, UnreadableFile
from classmark.rankers.text_ranker import TextRanker
from classmark.workbench.files.exporting import export_documents
from classmark.workbench.files.import_acts import prefer
from classmark.workbench.files.importing import import_documents
from classmark.workbench.learning.evaluate import evaluate_project
from classmark.workbench.learning.lessons import taught
from classmark.workbench.learning.train import train
from classmark.workbench.project import STORE, Project, info
from classmark.workbench.settings import LearningSettings
from classmark.workbench.store.log import JudgedRecord
from classmark.workbench.store.store import Act, Store
from older_stores import empty_older_store
from projects import new_project

TEXTS = {
    "bees": ["honey in the hive", "a queen bee swarms", "bees and hive smoke"],
    "bread": ["dough in the oven", "rye bread and yeast", "knead dough"],
    "candles": ["a wick in tallow", "burning wick", "tallow dips and a flame"],
}


@pytest.fixture
def project(tmp_path, any_store):
    rows = [
        {"id": f"{label}{place}", "text": text, "primary": label}
        for label, texts in TEXTS.items()
        for place, text in enumerate(texts)
    ]
    rows.append({"id": "wax", "text": "wax from combs", "labels": ["bees"]})
    rows.append({"id": "mead", "text": "fermented mead"})
    with Project(new_project(tmp_path / "shelf", rows, store=any_store())) as opened:
        yield opened


def test_the_last_word_on_a_pair_counts(project):
    store = project.store
    store.judge([prefer("wax", "bread", "bees", 2.0)], "eve")
    assert store.preferences() == {"wax": {("bread", "bees"): 2.0}}
    store.judge([prefer("wax", "bees", "bread")], "eve")
    assert store.preferences() == {"wax": {("bees", "bread"): 1.0}}
    store.judge([Act("wax", "retract", "bread", other="bees")], "eve")
    assert store.preferences() == {}
    assert store.labels()["wax"] == {"bees": 1.0}, "labels are another matter"
    with pytest.raises(Mistake, match="there is no category 'nowhere'"):
        store.judge([prefer("wax", "bees", "nowhere")], "eve")


def test_a_file_is_logged_whole_once_and_counted(project, tmp_path):
    path = tmp_path / "said.csv"
    path.write_text("document,winner,loser\nwax,candles,bees\nmead,bees,bread\n")
    row = {"preferences": 2, "documents": 2, "judgments": 2}
    assert import_documents(project, path, "preferences").rows == [row]
    again = import_documents(project, path, "preferences")
    assert again.rows == [row | {"judgments": 0}]
    counted = {r["what"]: r["value"] for r in info(project).rows}
    assert counted["preferences"] == 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nobody,bees,bread", "line 3: there is no document 'nobody'"),
        ("wax,bees,oak", "line 3: document 'wax': there is no category 'oak'"),
        ("wax,bees,bees", "line 3: document 'wax': 'bees' cannot be above itself"),
    ],
)
def test_a_bad_line_imports_nothing(project, tmp_path, line, said):
    path = tmp_path / "said.csv"
    path.write_text(f"document,winner,loser\nmead,bees,bread\n{line}\n")
    with pytest.raises(UnreadableFile, match=said):
        import_documents(project, path, "preferences")
    assert project.store.preferences() == {}


NUMBER = {"y": 0, "x": 1, "z": 2}


def records():
    labels = {"x": 2.0, "y": 1.0}
    return [
        JudgedRecord(Document("a", {}), labels, preferences={("z", "x"): 2.0}),
        JudgedRecord(Document("b", {}), labels),
    ]


def test_preferences_add_to_labels_or_replace_what_they_say():
    first, second = taught(records(), NUMBER)
    assert first.edges() == [(0, 2), (2, 1)]
    assert first.weights.tolist() == [1.0, 2.0]
    assert second.edges() == [(0, 2), (1, 2)]
    assert second.levels is not None, "nothing is listed that need not be"
    first, second = taught(records(), NUMBER, "layered")
    assert first.edges() == [(0, 2), (1, 0), (2, 1)]
    assert second.edges() == [(0, 2), (1, 0), (1, 2)]
    assert taught(records()[1:], NUMBER) is None
    with pytest.raises(Mistake, match="equal or layered"):
        taught(records(), NUMBER, "steep")


def best(project, text):
    model = TextRanker.open(project.models.current())
    return [found.category for found in model.suggest(text)]


@pytest.mark.parametrize("learner", ["plm", "loglinear"])
def test_training_follows_them(project, learner):
    """Wax was filed under bees; the expert would rather have candles above."""
    settings = LearningSettings(learner=learner, C=10.0, center=0.0)
    before = train(project, settings)
    assert best(project, "wax from combs")[0] == "bees"
    said = [prefer("wax", "candles", "bees"), prefer("mead", "bread", "bees", 2.0)]
    project.store.judge(said, "eve")
    after = train(project, settings)
    assert best(project, "wax from combs")[:2] == ["candles", "bees"]
    mead = best(project, "fermented mead")
    assert mead.index("bread") < mead.index("bees")
    assert after.documents == before.documents + 1, "mead has no label but is judged"


def test_every_learner_and_the_evaluation_go_on(project):
    project.store.judge([prefer("wax", "candles", "bees")], "eve")
    assert train(project, LearningSettings(learner="rocchio")).documents == 10
    found = evaluate_project(project, ["plm", "loglinear", "rocchio"], n_folds=2)
    assert [row["tested"] for row in found.table.rows] == [10, 10, 10]
    graded = train(project, LearningSettings(grades="layered"))
    assert graded.documents == 10
    with pytest.raises(Mistake, match="'svm' compares labels with thresholds"):
        train(project, LearningSettings(loss="svm"))


@pytest.mark.parametrize(
    "name",
    [
        *("out.jsonl", "out.csv", "out.tsv"),
        pytest.param("out.parquet", marks=pytest.mark.needs("pyarrow")),
    ],
)
def test_an_export_imports_again(project, tmp_path, name):
    said = [prefer("wax", "candles", "bees", 0.5), prefer("mead", "bread", "bees")]
    project.store.judge(said, "eve")
    table = export_documents(project, tmp_path / name)
    with Project(new_project(tmp_path / "copy", [])) as copy:
        import_documents(copy, tmp_path / name)
        if name != "out.jsonl":
            suffix = "tsv" if name == "out.tsv" else "csv"
            beside = tmp_path / f"out.preferences.{suffix}"
            assert f"2 preferences are beside it, in {beside}" in table.note
            import_documents(copy, beside)
        assert list(copy.store.records()) == list(project.store.records())


def test_without_preferences_there_is_no_file_beside(project, tmp_path):
    assert not export_documents(project, tmp_path / "out.csv").note
    assert not (tmp_path / "out.preferences.csv").exists()


def test_a_record_says_all_of_its_preferences(project, tmp_path):
    project.store.judge([prefer("wax", "candles", "bees")], "eve")
    said = [{"winner": "bread", "loser": "soap"}]
    path = tmp_path / "more.jsonl"
    row = {"id": "wax", "text": "wax", "preferences": said}
    path.write_text(json.dumps(row))
    table = import_documents(project, path, replace=True)
    assert table.rows[0]["replaced"] == 1
    assert table.rows[0]["judgments"] == 2
    assert table.rows[0]["new categories"] == 1
    assert project.store.preferences() == {"wax": {("bread", "soap"): 1.0}}
    assert project.store.labels()["wax"] == {"bees": 1.0}
    path.write_text(json.dumps({"id": "wax", "text": "wax"}))
    assert import_documents(project, path).rows[0]["judgments"] == 0


def test_an_older_store_is_brought_up_to_date(tmp_path):
    path = tmp_path / STORE
    empty_older_store(path, 1).close()
    with Store(path) as store:
        assert store.preferences() == {}


def test_the_command_line_takes_them(project, tmp_path):
    from typer.testing import CliRunner

    from classmark.cli.main import app

    path = tmp_path / "said.tsv"
    path.write_text("document\twinner\tloser\nwax\tcandles\tbees\n")
    asked = ["import", str(path), "--format", "preferences"]
    done = CliRunner().invoke(app, [*asked, "--project", str(project.folder)])
    assert done.exit_code == 0, done.output
    assert project.store.preferences() == {"wax": {("candles", "bees"): 1.0}}

"""Import, train, evaluate, suggest and export on a small project."""

import json

import pytest

from classmark.evaluation.evaluate import GRID
from classmark.problems import DamagedFolder, Mistake
from classmark.rankers.text_ranker import LEARNERS
from classmark.workbench.categories.browse import show_taxonomy
from classmark.workbench.deciding.suggest import suggest, wanted_text
from classmark.workbench.files.exporting import export_documents, export_taxonomy
from classmark.workbench.files.importing import import_documents, import_taxonomy
from classmark.workbench.learning.evaluate import evaluate_project
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project, info
from classmark.workbench.settings import LearningSettings, TextSettings
from projects import new_project

SENTENCES = {
    "bees": ["honey in the hive", "a queen bee swarms", "bees and wax", "hive smoke"],
    "bread": ["dough in the oven", "rye bread and yeast", "knead dough", "oven crust"],
}
TAXONOMY = "id,parent,label,scope_note,synonyms\nall,,All,,\nbees,all,Bees,Insects.,\n"


def lines():
    number = 0
    for label, texts in SENTENCES.items():
        for place, text in enumerate(texts):
            number += 1
            row = {"id": f"d{number}", "text": text, "primary": label}
            yield row | {"meta": {"part": "test" if place == 3 else "train"}}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "notes.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in lines()))
    return path


@pytest.fixture
def project(tmp_path):
    with Project(new_project(tmp_path / "shelf", list(lines()))) as opened:
        yield opened


def test_labels_without_a_taxonomy_become_categories_and_are_told(tmp_path, file):
    with Project(new_project(tmp_path / "new", [])) as project:
        table = import_documents(project, file)
        counts = {"new": 8, "replaced": 0, "unchanged": 0}
        judged = {"judgments": 8, "new categories": 2}
        assert table.rows == [{"documents": 8} | counts | judged]
        assert "bees, bread" in table.note


def test_importing_again_changes_nothing_and_a_change_is_logged(project, file):
    assert import_documents(project, file).rows[0]["judgments"] == 0
    row = {"id": "d1", "text": "honey", "labels": ["bread"]}
    file.write_text(json.dumps(row))
    table = import_documents(project, file, replace=True)
    assert table.rows[0]["judgments"] == 2
    assert project.store.labels()["d1"] == {"bread": 1.0}


def test_a_file_that_breaks_off_imports_nothing(project, file):
    file.write_text('{"id": "new", "text": "x"}\n{"id": ')
    with pytest.raises(Mistake, match="line 2"):
        import_documents(project, file)
    assert project.store.counts()["documents"] == 8


def test_taxonomy_comes_in_and_goes_out(project, tmp_path):
    path = tmp_path / "tree.csv"
    path.write_text(TAXONOMY)
    row = import_taxonomy(project, path).rows[0]
    assert row.items() >= {"categories": 3, "leaves": 2, "levels": 2}.items()
    shown = show_taxonomy(project).rows
    assert {r["id"]: r["documents"] for r in shown} == {"bread": 4, "all": 0, "bees": 4}
    assert [r["id"] for r in show_taxonomy(project, "all").rows] == ["all", "bees"]
    export_taxonomy(project, tmp_path / "out.csv")
    assert "Insects." in (tmp_path / "out.csv").read_text()
    with pytest.raises(Mistake, match="no taxonomy format"):
        export_taxonomy(project, tmp_path / "out.doc")


def test_a_taxonomy_with_a_cycle_leaves_the_project_as_it_was(project, tmp_path):
    path = tmp_path / "tree.csv"
    path.write_text("id,parent\nx,y\ny,x\n")
    with pytest.raises(Mistake, match=r"cycle.*taxonomy import --break-cycles"):
        import_taxonomy(project, path)
    assert len(project.store.categories()) == 2


def test_cycles_are_cut_where_one_asks_for_it(project, tmp_path):
    path = tmp_path / "tree.csv"
    path.write_text("id,parent\nx,y\ny,x\nz,z\n")
    cut = []
    table = import_taxonomy(project, path, cut=cut)
    assert cut == [("y", "x"), ("z", "z")]
    assert table.note.endswith("a cycle (2): x below y; z below z")
    assert [c.parents for c in project.store.categories()[-3:]] == [(), ("x",), ()]
    path.write_text("id,parent\nq,\n")
    assert import_taxonomy(project, path, cut=[]).note == "no cycles to break"


def test_train_leaves_out_what_is_set_apart_and_suggest_explains(project):
    trained = train(project)
    assert (trained.model, trained.documents) == ("000001", 6)
    best, other = suggest(project, "bees near their hive")
    assert (best.category, other.category) == ("bees", "bread")
    assert best.favour.keys() >= {"bees", "hive"}
    assert other.against.keys() >= {"bees", "hive"}
    assert train(project, LearningSettings(learner="perceptron")).model == "000002"
    assert suggest(project, "rye and yeast")[0].category == "bread"


@pytest.mark.parametrize(
    "settings",
    [
        LearningSettings(loss="dis", C=1.0, center=0.0),
        LearningSettings(loss="svm"),
        LearningSettings(learner="loglinear", loss="dme", C=1.0),
        LearningSettings(learner="rocchio"),
    ],
    ids=lambda settings: f"{settings.learner}-{settings.loss}",
)
def test_every_learner_is_stored_and_opened_as_it_was(project, settings):
    train(project, settings)
    assert suggest(project, "bees near their hive")[0].category == "bees"
    assert suggest(project, "rye and yeast")[0].category == "bread"


def test_c_is_selected_on_the_training_documents(project):
    trained = train(project, select=True)
    assert trained.C in GRID
    with pytest.raises(Mistake, match="learner plm"):
        train(project, LearningSettings(learner="rocchio"), select=True)


def test_evaluate_uses_the_part_set_apart_or_folds(project):
    found = evaluate_project(project)
    assert {row["learner"] for row in found.table.rows} == set(LEARNERS) - {"ensemble"}
    assert all(row["tested"] == 2 for row in found.table.rows)
    assert found.plot.read_text().startswith("<?xml")
    folded = evaluate_project(project, ["rocchio"], 4)
    assert folded.table.rows[0]["tested"] == 8
    assert folded.table.rows[0]["one_error"] < 0.5
    with pytest.raises(Mistake, match="folds is 9"):
        evaluate_project(project, n_folds=9)


def test_only_the_chosen_fields_are_learned_from(tmp_path):
    rows = [
        {"id": "1", "title": "bees", "secret": "zebra", "labels": ["a"]},
        {"id": "2", "title": "bread", "secret": "quagga", "labels": ["b"]},
    ]
    text = TextSettings(fields=("title",))
    words = LearningSettings(characters=0)
    folder = new_project(tmp_path / "t", rows, text=text, learning=words)
    with Project(folder) as project:
        assert train(project).features == 2


@pytest.mark.parametrize(
    "name",
    [
        "out.jsonl",
        "out.csv",
        pytest.param("out.parquet", marks=pytest.mark.needs("pyarrow")),
    ],
)
def test_export_imports_again_to_the_same_records(project, tmp_path, name):
    export_documents(project, tmp_path / name, raw=True)
    with Project(new_project(tmp_path / "copy", [])) as copy:
        import_documents(copy, tmp_path / name)
        assert list(copy.store.records()) == list(project.store.records())


def test_an_export_replaces_nothing_and_has_a_known_format(project, tmp_path):
    export_documents(project, tmp_path / "out.csv")
    with pytest.raises(Mistake, match="already there"):
        export_documents(project, tmp_path / "out.csv")
    with pytest.raises(Mistake, match="no export format"):
        export_documents(project, tmp_path / "out.doc")


def test_info_counts_and_checks_every_byte(project):
    train(project)
    rows = {row["what"]: row["value"] for row in info(project, check=True).rows}
    assert rows["documents"] == 8
    assert rows["model in service"] == "000001"
    weights = next((project.folder / "models" / "000001").glob("weights*.npy"))
    content = bytearray(weights.read_bytes())
    content[-1] ^= 0xFF
    weights.write_bytes(bytes(content))
    with pytest.raises(DamagedFolder, match="train or build it again"):
        info(project, check=True)


def test_what_cannot_be_done_names_the_remedy(tmp_path, project):
    with pytest.raises(Mistake, match="classmark train"):
        suggest(project, "bees")
    with pytest.raises(Mistake, match="rocchio, perceptron"):
        train(project, LearningSettings(learner="oracle"))
    train(project)
    with pytest.raises(Mistake, match="empty"):
        suggest(project, "  ")
    with pytest.raises(Mistake, match="number of categories is 0"):
        suggest(project, "bees", k=0)
    with pytest.raises(Mistake, match="name one text"):
        wanted_text(project, None, None, None)
    with pytest.raises(Mistake, match="no document 'd99'"):
        wanted_text(project, None, None, "d99")
    bare = new_project(tmp_path / "bare", [])
    with Project(bare) as bare, pytest.raises(Mistake, match="import"):
        train(bare)

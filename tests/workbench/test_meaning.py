"""A project's vectors of meaning: chosen, computed, imported, used, kept."""

import json
import shutil

import numpy as np
import pytest

from classmark.meaning.vector_file import ROUNDING
from classmark.problems import Mistake, UnreadableFile, in_words_of
from classmark.taxonomy.category import Category
from classmark.web.wording import CALLS, PAGES
from classmark.workbench import meaning, own_vectors
from classmark.workbench.categories.report import report_taxonomy
from classmark.workbench.deciding.queue import queue
from classmark.workbench.deciding.suggest import suggest
from classmark.workbench.files.backup import back_up, restore
from classmark.workbench.files.documents import put_document
from classmark.workbench.files.exporting import as_lines, export_documents
from classmark.workbench.files.importing import import_documents
from classmark.workbench.learning.evaluate import evaluate_project
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project, info
from classmark.workbench.settings import MeaningSettings
from classmark.workbench.store.undo import undo
from meaning.tiny_models import (
    AWAY,
    TABLE,
    texts_sent_away,
    write_safetensors,
    write_tokenizer,
)
from projects import TREE, new_desk, new_project, parish
from workbench.acts import say

WORDS = {"bees": "bee hive honey", "roads": "road car", "honeys": "honey bee"}
DOCUMENTS = [
    {"id": f"{name}{at}", "text": f"{words} {at}", "labels": [name]}
    for name, words in WORDS.items()
    for at in range(4)
]
pytestmark = pytest.mark.needs("tokenizers")


def write_table(folder, table=TABLE):
    folder.mkdir()
    write_safetensors(folder / "model.safetensors", embeddings=table)
    write_tokenizer(folder / "tokenizer.json")
    return folder


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "tiny")


@pytest.fixture
def project(tmp_path):
    with Project(new_project(tmp_path / "shelf", DOCUMENTS)) as opened:
        yield opened


def static(folder):
    return MeaningSettings("static", str(folder))


def facts(table):
    return {row["what"]: row["value"] for row in table.rows}


def suggestions(project):
    """Categories and scores for a document that is there."""
    return [(one.category, one.score) for one in suggest(project, DOCUMENTS[1]["text"])]


def with_vectors(rows=DOCUMENTS, dimension=3):
    random = np.random.default_rng(3)
    return [row | {"vector": random.normal(size=dimension).tolist()} for row in rows]


def write_lines(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_a_source_is_chosen_computed_and_dropped(project, table):
    assert facts(meaning.status(project)) == {
        "source": "none", "model in service": "words alone",
    }  # fmt: skip
    shown = facts(meaning.set_meaning(project, static(table)))
    assert (shown["name"], shown["numbers"]) == ("tiny", 3)
    assert (shown["documents"], shown["with vector"], shown["bytes"]) == (12, 0, 0)
    (row,) = meaning.compute_all(project).rows
    assert (row["new"], row["known before"]) == (12, 0)
    assert row["texts a second"] > 0
    shown = facts(meaning.status(project))
    assert (shown["with vector"], shown["bytes"]) == (12, 12 * (3 * 2 + 20))
    assert shown["rate"] == pytest.approx(row["texts a second"])
    (again,) = meaning.compute_all(project).rows
    assert (again["new"], again["known before"]) == (0, 12)
    assert facts(meaning.drop(project))["source"] == "none"
    assert not (project.folder / "meaning").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (MeaningSettings("glove"), "meaning.source is 'glove': use none, static"),
        (MeaningSettings("static", "/nowhere"), "/nowhere: has no model.safetensors"),
        (MeaningSettings("sentences"), "give the folder of the sentence model"),
        (MeaningSettings("server", "m"), "give the server's address and its model"),
        (MeaningSettings("server", "m", "http://127.0.0.1:9/v1"), "does not answer"),
    ],
)
def test_what_cannot_be_a_source_is_refused_and_changes_nothing(
    project, settings, message
):
    with pytest.raises(Mistake, match=message):
        meaning.set_meaning(project, settings)
    assert project.settings.meaning == MeaningSettings()
    with pytest.raises(Mistake, match="has no source of vectors: choose one"):
        meaning.compute(project)


def test_another_machine_is_refused_in_the_words_of_the_place(project):
    away = MeaningSettings("server", "m", "http://192.0.2.1/v1")
    for words, remedy in (
        ({}, "give --allow-remote"),
        (PAGES, r"choose yes for allow remote \(Settings, Meaning\)"),
        (CALLS, r"give allow_remote \(PUT /meaning\)"),
    ):
        with (
            in_words_of(words),
            pytest.raises(Mistake, match=f"leave this machine; {remedy}"),
        ):
            meaning.set_meaning(project, away)
    assert meaning.remote_host(away) == "192.0.2.1"
    here = MeaningSettings("server", "m", "http://[::1]:80/v1")
    assert not meaning.remote_host(here)


def test_it_is_said_as_long_as_a_model_sends_texts_away(project, table, monkeypatch):
    sent = texts_sent_away(monkeypatch)
    shown = facts(meaning.set_meaning(project, AWAY))
    assert shown["sent to"] == "192.0.2.1"
    assert "documents, pasted texts and search queries are sent to" in shown["notice"]
    train(project)
    for source in (static(table), MeaningSettings()):
        shown = facts(meaning.set_meaning(project, source))
        assert shown["sent to"] == "192.0.2.1"
        assert "the model in use needs vectors from 192.0.2.1" in shown["notice"]
        assert shown["notice"].endswith("To end this, run classmark train.")
        suggest(project, f"a new text beside {source.source}")
        assert sent[-1] == f"a new text beside {source.source}"
    sent.clear()
    train(project)
    suggest(project, "another text")
    assert not sent
    assert "sent to" not in facts(meaning.status(project))


def test_what_learns_from_nothing_sends_no_text_to_a_source_of_before(
    tmp_path, monkeypatch
):
    sent = texts_sent_away(monkeypatch)
    with new_desk(tmp_path / "shelf", DOCUMENTS[:2], ["bees", "roads"]) as desk:
        meaning.set_meaning(desk, AWAY)
        say(desk, "bees0", "bees", learn=False)
        assert desk.learned()
        assert suggest(desk, "first text")
        assert sent[-1] == "first text"
        meaning.set_meaning(desk, MeaningSettings())
        desk.serve_newest(lambda: True)
        assert suggest(desk, "second text")
        assert sent[-1] == "first text"


def test_training_computes_what_is_missing_and_info_names_the_vectors(project, table):
    meaning.set_meaning(project, static(table))
    train(project)
    assert facts(meaning.status(project))["with vector"] == 12
    shown = facts(info(project, check=True))
    assert shown["meaning"] == "static"
    assert shown["its vectors"].startswith("tiny (3 numbers, digest ")
    parts = project.require_model().score_parts("honey", "bees")
    assert parts.meaning != 0
    with pytest.raises(Mistake, match="model in service was trained with vectors"):
        meaning.drop(project)
    meaning.set_meaning(project, MeaningSettings())
    train(project)
    meaning.drop(project)
    assert "its vectors" not in facts(info(project))


def test_texts_are_read_to_count_only_where_texts_or_vectors_have_changed(
    project, table, monkeypatch
):
    read, texts = [], meaning.document_texts
    monkeypatch.setattr(
        meaning, "document_texts", lambda own: read.append(own) or texts(own)
    )

    def counted():
        read.clear()
        shown = facts(meaning.status(project))
        return shown["documents"], shown["with vector"], bool(read)

    meaning.set_meaning(project, static(table))
    assert counted() == (12, 0, False)  # setting it has counted them
    meaning.compute(project)
    assert counted() == (12, 12, False)
    say(project, "roads0", "bees", learn=False)
    with Project(project.folder) as again:
        assert facts(meaning.status(again))["with vector"] == 12
    assert counted() == (12, 12, False)
    put_document(project, "bees0", {"text": "other honey"})
    assert counted() == (12, 11, True)
    (replaced,) = project.store.run("SELECT max(seq) FROM judgments").fetchone()
    undo(project, replaced)
    assert counted() == (12, 12, True)
    put_document(project, "late", {"text": "late honey"})
    assert counted() == (13, 12, True)
    project.meaning().compute(["late honey"])
    assert counted() == (13, 13, True)
    assert counted() == (13, 13, False)


def test_a_model_goes_on_with_the_vectors_it_was_trained_with(project, table, tmp_path):
    meaning.set_meaning(project, static(table))
    train(project)
    before = suggestions(project)
    other = write_table(tmp_path / "other", -TABLE[:, :2])
    shown = facts(meaning.set_meaning(project, static(other)))
    assert (shown["name"], shown["model in service"][:14]) == (
        "other",
        "tiny (3 number",
    )
    with Project(project.folder) as again:
        assert suggestions(again) == before
    train(project)
    assert facts(info(project))["its vectors"].startswith("other (2 numbers")


def test_without_its_folder_a_model_knows_stored_documents_alone(project, table):
    meaning.set_meaning(project, static(table))
    train(project)
    shutil.move(table, table.parent / "away")
    with Project(project.folder) as again:
        model = again.require_model()
        assert len(model.suggest(DOCUMENTS[0]["text"], 3)) == 3
        with pytest.raises(Mistake, match="tiny: has no model"):
            model.suggest("a new text")


def test_evaluation_and_report_compute_once_and_say_so(project, table):
    meaning.set_meaning(project, static(table))
    note = evaluate_project(project, ["rocchio", "plm"]).table.note
    assert "words and meaning, by tiny" in note
    assert facts(meaning.status(project))["with vector"] == 12
    shutil.move(table, table.parent / "away")
    with Project(project.folder) as again:
        evaluate_project(again, ["rocchio"])
        report_taxonomy(again)


@pytest.mark.parametrize("first", [meaning.compute, train])
def test_a_tree_is_learned_from_stored_vectors_where_the_source_is_gone(
    tmp_path, table, first
):
    notes = parish(decided=True)
    folder = new_project(tmp_path / "parish", notes, TREE, meaning=static(table))
    with Project(folder) as project:
        first(project)
    shutil.move(table, tmp_path / "away")
    with Project(folder) as again:
        assert train(again).strategy == "flat"
        evaluate_project(again, ["plm"])
        report_taxonomy(again)
        again.require_model().suggest(again.store.document("bees-0").text)


def test_documents_that_come_or_change_get_their_vectors(project, table, tmp_path):
    meaning.set_meaning(project, static(table))
    path = write_lines(tmp_path / "new.jsonl", [{"id": "n", "text": "a new hive"}])
    assert "vectors computed: 13, " in import_documents(project, path).note
    write_lines(path, [{"id": "n", "text": "a newer hive"}])
    note = import_documents(project, path, replace=True).note
    assert "vectors computed: 1, " in note
    shutil.move(table, table.parent / "away")
    write_lines(path, [{"id": "m", "text": "another"}])
    with (
        Project(project.folder) as again,
        pytest.raises(Mistake, match="documents are imported, but their vectors are"),
    ):
        import_documents(again, path)
    assert project.store.record("m").id == "m"


def test_documents_that_come_while_vectors_are_computed_are_seen(
    project, table, monkeypatch
):
    meaning.set_meaning(project, static(table))
    source = project.meaning().source
    encode, came = source.encode, []

    def meanwhile(texts):
        if not came:
            came.append(1)
            with Project(project.folder) as other:
                put_document(other, "late", {"text": "late honey"})
        return encode(texts)

    monkeypatch.setattr(source, "encode", meanwhile)
    assert meaning.compute(project).new == 13


def test_own_vectors_come_with_documents(tmp_path):
    folder = new_project(tmp_path / "own", [])
    rows = with_vectors()
    path = write_lines(tmp_path / "docs.jsonl", rows)
    with Project(folder) as project:
        shown = facts(meaning.set_meaning(project, MeaningSettings("own")))
        remedy = "import some (classmark meaning import FILE)"
        assert shown == {
            "source": "own", "documents": 0, "with vector": 0,
            "problem": f"there are no vectors of your own yet: {remedy}",
            "model in service": "words alone",
        }  # fmt: skip
        with pytest.raises(Mistake, match="has no vectors of its own yet: import some"):
            project.meaning()
        import_documents(project, path)
        shown = facts(meaning.status(project))
        assert (shown["name"], shown["numbers"]) == ("own vectors", 3)
        assert (shown["documents"], shown["with vector"]) == (12, 12)
        train(project)
        assert project.require_model().suggest(DOCUMENTS[0]["text"])
        with pytest.raises(Mistake, match="no vector for the text 'new': import one"):
            project.require_model().suggest("new")
        more = [{"id": "x", "text": "unknown", "labels": ["bees"]}]
        note = import_documents(project, write_lines(path, more)).note
        assert "documents that came without a vector: 1" in note
        with pytest.raises(Mistake, match=r"document 'x' has no vector \(1 of 13"):
            train(project)
        vectors = [{"id": "x", "vector": [1.0, 2.0, 3.0]}]
        own_vectors.import_vectors(project, write_lines(tmp_path / "v.jsonl", vectors))
        train(project)


def test_own_vectors_are_exported_and_come_back(tmp_path):
    settings = MeaningSettings("own")
    path, out = write_lines(tmp_path / "docs.jsonl", with_vectors()), tmp_path / "out"
    with Project(new_project(tmp_path / "own", [], meaning=settings)) as project:
        import_documents(project, path)
        import_documents(project, write_lines(path, [{"id": "z", "text": "none"}]))
        export_documents(project, out.with_suffix(".jsonl"))
        rows = list(map(json.loads, out.with_suffix(".jsonl").read_text().splitlines()))
        assert (
            "".join(as_lines(project.folder)) == out.with_suffix(".jsonl").read_text()
        )
        assert "vector" not in rows.pop()
        assert np.linalg.norm(rows[0]["vector"]) == pytest.approx(1.0, abs=1e-3)
        here = project.meaning().encode([row["text"] for row in DOCUMENTS])
        assert [row["vector"] for row in rows] == here.tolist()
    with Project(new_project(tmp_path / "again", [], meaning=settings)) as again:
        import_documents(again, out.with_suffix(".jsonl"))
        there = again.meaning().encode([row["text"] for row in DOCUMENTS])
        assert there == pytest.approx(here, abs=ROUNDING)
        train(again)


def test_vectors_that_are_computed_are_not_exported(project, table, tmp_path):
    meaning.set_meaning(project, static(table))
    meaning.compute(project)
    export_documents(project, tmp_path / "out.jsonl")
    assert "vector" not in (tmp_path / "out.jsonl").read_text()


def test_categories_of_a_tree_are_described_by_words_where_vectors_are_own(tmp_path):
    names = [Category("nature"), Category("roads")]
    names += [
        Category(name, "Bees", parents=("nature",)) for name in ("bees", "honeys")
    ]
    path = write_lines(tmp_path / "docs.jsonl", with_vectors())
    with Project(new_project(tmp_path / "own", [], names)) as project:
        meaning.set_meaning(project, MeaningSettings("own"))
        import_documents(project, path)
        assert train(project).strategy == "flat"
        best = suggest(project, DOCUMENTS[4]["text"])[0]
        assert best.category == "roads"


def test_a_queue_leaves_out_what_lacks_a_vector_of_ones_own(tmp_path):
    waiting = [{"id": "w1", "text": "a bee"}, {"id": "w2", "text": "a car"}]
    rows = with_vectors([*DOCUMENTS, waiting[0]]) + waiting[1:]
    path = write_lines(tmp_path / "docs.jsonl", rows)
    with Project(new_project(tmp_path / "own", [])) as project:
        meaning.set_meaning(project, MeaningSettings("own"))
        import_documents(project, path)
        train(project)
        table = queue(project)
        assert [row["document"] for row in table.rows] == ["w1"]
        assert "left out, because they have no vector: 1; import one" in table.note
        alike = queue(project, "similar", to="bees0").rows
        assert {row["document"]: row["cosine"] for row in alike}["w2"] == 0.0


def test_own_vectors_that_do_not_fit_are_refused_with_their_place(tmp_path):
    folder = new_project(tmp_path / "own", [])
    path = tmp_path / "docs.jsonl"
    with Project(folder) as project:
        rows = with_vectors()
        note = import_documents(project, write_lines(path, rows)).note
        assert "their vectors were left out: choose the source own" in note
        with pytest.raises(Mistake, match="source of vectors is none: choose own"):
            own_vectors.import_vectors(project, path)
        meaning.set_meaning(project, MeaningSettings("own"))
        with pytest.raises(UnreadableFile, match=r"line 2: 2 numbers after vectors of"):
            import_documents(
                project, write_lines(path, [rows[0], *with_vectors(rows[1:], 2)])
            )
        own_vectors.import_vectors(project, write_lines(path, rows))
        for wrong, message in (
            (with_vectors([{"id": "y", "text": "y"}], 4), "'y': a vector of 4 numbers"),
            ([rows[0] | {"vector": [9, 9, -9]}], "'bees0': own vectors: the text"),
        ):
            with pytest.raises(Mistake, match=message):
                import_documents(project, write_lines(path, wrong), replace=True)
        write_lines(path, with_vectors(DOCUMENTS, 4))
        with pytest.raises(
            Mistake, match=r"docs\.jsonl.* a vector of 4 numbers, those"
        ):
            own_vectors.import_vectors(project, path)
        with pytest.raises(Mistake, match=r"no document 'z' in the project \(1 of 1\)"):
            own_vectors.import_vectors(
                project, write_lines(path, [{"id": "z", "vector": [1, 2, 3]}])
            )
        assert "y" not in project.store.ids()


def test_own_vectors_in_a_matrix_beside_their_ids(project, tmp_path):
    meaning.set_meaning(project, MeaningSettings("own", "my model"))
    ids = [row["id"] for row in DOCUMENTS]
    np.save(tmp_path / "own.npy", np.eye(12, 5, dtype=np.float32) + 0.1)
    (tmp_path / "own.ids").write_text("\n".join(ids))
    (row,) = own_vectors.import_vectors(project, tmp_path / "own.npy").rows
    assert row == {"vectors": 12, "new": 12}
    assert facts(meaning.status(project))["name"] == "my model"
    train(project)


@pytest.mark.needs("pyarrow")
def test_own_vectors_in_parquet(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    rows = with_vectors()
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "d.parquet")
    with Project(new_project(tmp_path / "own", [])) as project:
        meaning.set_meaning(project, MeaningSettings("own"))
        import_documents(project, tmp_path / "d.parquet")
        shown = facts(meaning.status(project))
        assert (shown["with vector"], shown["numbers"]) == (12, 3)


def test_a_backup_has_own_vectors_and_others_are_computed_again(
    project, table, tmp_path
):
    meaning.set_meaning(project, static(table))
    train(project)
    before = suggestions(project)
    back_up(project, tmp_path / "computed.zip")
    restore(tmp_path / "computed.zip", tmp_path / "computed")
    with Project(tmp_path / "computed") as again:
        assert suggestions(again) == before
        assert facts(meaning.status(again))["with vector"] == 0
        assert meaning.compute(again).new == 12
    meaning.set_meaning(project, MeaningSettings("own"))
    path = write_lines(tmp_path / "v.jsonl", with_vectors())
    own_vectors.import_vectors(project, path)
    train(project)
    before = suggestions(project)
    back_up(project, tmp_path / "own.zip")
    restore(tmp_path / "own.zip", tmp_path / "own")
    with Project(tmp_path / "own") as again:
        assert facts(meaning.status(again))["with vector"] == 12
        assert suggestions(again) == before
        assert len(list((tmp_path / "own" / "meaning").glob("*/vectors"))) == 1


def test_a_restored_project_opens_without_the_folder_of_its_source(
    project, table, tmp_path
):
    meaning.set_meaning(project, static(table))
    train(project)
    back_up(project, tmp_path / "shelf.zip")
    shutil.move(table, table.parent / "away")
    restore(tmp_path / "shelf.zip", tmp_path / "again")
    with Project(tmp_path / "again") as again:
        assert facts(info(again))["its vectors"].startswith("tiny (3 numbers")
        assert facts(meaning.status(again))["with vector"] == 0
        with pytest.raises(Mistake, match="tiny: has no model"):
            suggest(again, "honey")
        shutil.rmtree(tmp_path / "again" / "meaning")
        shown = facts(meaning.status(again))
        assert "tiny: has no model" in shown["problem"]
        assert "cannot be opened" in shown["model in service"]


@pytest.mark.parametrize("model", ["x" * 300, "a\udcffb\udc00"])
def test_a_name_that_no_folder_can_have_is_refused(project, model):
    with pytest.raises(Mistake, match=r"give the model's folder|enter one line"):
        meaning.set_meaning(project, static(model))


@pytest.mark.parametrize("url", ["http://[", "http://127.0.0.1:x/", "http://[::1 ]/"])
def test_an_address_that_is_none_is_refused(project, url):
    with pytest.raises(Mistake, match=r"give http|does not answer"):
        meaning.set_meaning(project, MeaningSettings("server", "m", url))


def test_either_store_has_vectors_beside_it(any_store, table, tmp_path):
    folder = new_project(tmp_path / "shelf", DOCUMENTS, store=any_store())
    with Project(folder) as project:
        meaning.set_meaning(project, static(table))
        assert meaning.compute(project).new == 12
        train(project)
        before = suggestions(project)
        back_up(project, tmp_path / "shelf.zip")
    restore(tmp_path / "shelf.zip", tmp_path / "again", any_store())
    with Project(tmp_path / "again") as project:
        assert suggestions(project) == before

"""Documents come and go by acts of the log: imports, deletions, additions."""

import pytest

from classmark.corpus.documents import Document
from classmark.problems import Mistake
from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.deciding.history import history
from classmark.workbench.files import importing
from classmark.workbench.files.documents import (
    add_document,
    delete_documents,
    deleted_documents,
    past_imports,
    put_document,
    restore_documents,
    undo_import,
)
from classmark.workbench.files.importing import import_files, import_records
from classmark.workbench.learning.learner import open_learner
from classmark.workbench.learning.live import learn_at_once
from classmark.workbench.project import Project
from classmark.workbench.search.index import index_project
from classmark.workbench.search.search import QueryOptions, search_in
from classmark.workbench.store.log import require_replayed
from classmark.workbench.store.undo import undo
from projects import new_project, records_of
from workbench.acts import say, weights, wrong_lessons

FIRST = [
    {"id": "a", "text": "hive", "labels": ["bees"]},
    {"id": "b", "text": "smoke"},
]
SECOND = [
    {"id": "a", "text": "a new hive", "labels": ["wax"]},
    {"id": "c", "text": "rye", "labels": ["bread"]},
]


@pytest.fixture
def project(tmp_path, any_store):
    folder = new_project(tmp_path / "shelf", [], store=any_store())
    with Project(folder) as opened:
        import_records(opened, records_of(FIRST), "first")
        yield opened
        require_replayed(opened.store)
        assert set(opened.state.ids) == opened.store.ids()
        assert opened.state.labels.keys() == opened.store.labels().keys()
        assert set(opened.state.waiting) == {d.id for d in opened.store.undecided()}


def holds(project):
    """What a project holds, without the acts that led to it."""
    store = project.store
    return (
        {record.id: (record.document, record.labels) for record in store.records()},
        [category.id for category in store.categories()],
    )


def test_an_import_is_undone_as_one_act_and_brought_back(project):
    before = holds(project)
    import_records(project, records_of(SECOND), "second", replace=True)
    after = holds(project)
    (second, first) = past_imports(project)
    assert (second.source, second.new, second.replaced) == ("second", 1, 1)
    said = undo_import(project, second.act).said
    assert said.startswith(f"undone: import (act {second.act}, and with it acts")
    assert holds(project) == before
    assert past_imports(project)[0].undone
    undo_import(project, second.act)
    assert holds(project) == after
    undo_import(project, second.act)
    undo_import(project, first.act)
    assert holds(project) == ({}, [])


def test_what_was_decided_since_goes_and_comes_with_the_import(project):
    import_records(project, records_of(SECOND), "second", replace=True)
    decide(project, "c", Decision(("bees",), reject=("wax",)), {}, "eve")
    decide(project, "c", Decision(over=(("bread", "bees"),)), {}, "eve")
    after, act = project.store.record("c"), past_imports(project)[0].act
    undo_import(project, act)
    assert "c" not in project.store.ids()
    assert project.store.preferences() == {}
    undo_import(project, act)
    assert project.store.record("c") == after


def test_categories_that_others_use_stay(project):
    import_records(project, records_of(SECOND), "second", replace=True)
    decide(project, "b", Decision(("bread",)), {}, "eve")
    undo_import(project, past_imports(project)[0].act)
    assert {"bees", "bread"} <= {c.id for c in project.store.categories()}
    assert project.store.labels()["b"] == {"bread": 1.0}


def test_an_import_that_changes_nothing_is_no_act(project):
    count = len(history(project).rows)
    import_records(project, records_of(FIRST), "again")
    assert len(history(project).rows) == count
    assert len(past_imports(project)) == 1


def test_several_files_are_one_act_or_nothing(project, tmp_path):
    one, two = tmp_path / "one.csv", tmp_path / "two.jsonl"
    one.write_text("id,text\nx,wax\n")
    two.write_text('{"id": "y", "text": "tar"}\n{"id": "y"')
    with pytest.raises(Mistake, match=r"two\.jsonl, line 2"):
        import_files(project, [one, two])
    assert "x" not in project.store.ids()
    two.write_text('{"id": "y", "text": "tar"}\n')
    table = import_files(project, [one, two])
    assert [row["new"] for row in table.rows] == [1, 1]
    undo_import(project, past_imports(project)[0].act)
    assert project.store.ids() == {"a", "b"}


def test_an_import_in_turns_is_one_act_too(project, monkeypatch):
    monkeypatch.setattr(importing, "PART", 1)
    turn = project.store.transaction
    import_records(project, records_of(SECOND), "second", turn=turn, replace=True)
    undo_import(project, past_imports(project)[0].act)
    assert project.store.ids() == {"a", "b"}


def test_a_deleted_document_goes_with_what_was_said_of_it_and_is_restored(project):
    decide(project, "b", Decision(aside=True), {}, "eve")
    before = holds(project), project.store.record("b")
    delete_documents(project, ["a", "b"], "ada")
    assert holds(project)[0] == {}
    assert project.store.labels() == {}
    assert project.store.counts()["documents"] == 0
    assert project.state.n_waiting == project.state.n_aside == 0
    assert [each.document for each in deleted_documents(project)] == ["b", "a"]
    with pytest.raises(Mistake, match="no document 'a'"):
        decide(project, "a", Decision(("bees",)), {}, "eve")
    with pytest.raises(Mistake, match="no document 'a'"):
        delete_documents(project, ["a"])
    assert {row["act"] for row in history(project, top=9).rows} >= {"delete", "remove"}
    restore_documents(project, ["a", "b"])
    assert (holds(project), project.store.record("b")) == before
    with pytest.raises(Mistake, match="not a deleted document"):
        restore_documents(project, ["a"])


def test_acts_on_a_deleted_document_are_not_undone_alone(project):
    decide(project, "b", Decision(("bees",)), {}, "eve")
    (decided,) = project.store.run("SELECT max(seq) FROM judgments").fetchone()
    delete_documents(project, ["b"])
    with pytest.raises(Mistake, match="no longer exists: undo its removal"):
        undo(project, decided)


def test_an_id_that_was_deleted_may_be_imported_again(project):
    delete_documents(project, ["a"])
    again = [{"id": "a", "text": "other", "labels": ["wax"]}]
    table = import_records(project, records_of(again), "again")
    assert (table.rows[0]["new"], table.rows[0]["replaced"]) == (1, 0)
    assert project.store.record("a").labels == {"wax": 1.0}
    undo_import(project, past_imports(project)[0].act)
    assert project.store.ids() == {"b"}
    restore_documents(project, ["a"])
    assert project.store.document("a").text == "hive"
    assert project.store.labels()["a"] == {"bees": 1.0}


def test_a_document_added_by_hand_is_an_act(project):
    id_ = add_document(project, "", {"title": "The mill", "text": " "}, "eve")
    assert project.store.document(id_) == Document(id_, {"title": "The mill"})
    assert undo(project, who="eve").said.startswith("undone: insert")
    assert id_ not in project.store.ids()
    with pytest.raises(Mistake, match="is empty"):
        add_document(project, "", {"text": " "}, "eve")
    with pytest.raises(Mistake, match="already a document 'a'"):
        add_document(project, "a", {"text": "other"}, "eve")
    put_document(project, "a", {"text": "other"}, who="eve")
    assert undo(project, who="eve").said.startswith("undone: replace")
    assert project.store.document("a").text == "hive"


def found(project, query):
    return [hit.id for hit in search_in(project, query, QueryOptions()).hits]


def test_what_is_deleted_is_not_found(tmp_path):
    with Project(new_project(tmp_path / "shelf", indexed=True)) as project:
        assert found(project, "queen") == ["b2"]
        delete_documents(project, ["b2"])
        assert found(project, "queen") == []  # the index still has it
        index_project(project)
        assert found(project, "queen") == []
        restore_documents(project, ["b2"])
        index_project(project)
        assert found(project, "queen") == ["b2"]


def test_the_live_ranker_forgets_what_is_deleted_and_learns_it_again(tmp_path):
    with Project(new_project(tmp_path / "shelf")) as project:
        for id_, name in {"b1": "bees", "d1": "bread", "b2": "bees"}.items():
            say(project, id_, name)
        before = weights(open_learner(project))
        delete_documents(project, ["b1"])
        learn_at_once(project)
        learner = open_learner(project)
        assert "b1" not in learner.ranker.handles
        assert not wrong_lessons(project)
        restore_documents(project, ["b1"])
        learn_at_once(project)
        assert not wrong_lessons(project)
        assert weights(open_learner(project)) == pytest.approx(before)

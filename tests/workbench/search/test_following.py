"""An index follows its documents, as they come, go and are replaced."""

import pytest

from classmark.index.index import Index
from classmark.storage import locked_file
from classmark.workbench.files.documents import (
    add_document,
    delete_documents,
    restore_documents,
)
from classmark.workbench.files.importing import import_records
from classmark.workbench.project import Project
from classmark.workbench.search import following
from classmark.workbench.search import index as indexing
from classmark.workbench.search.following import LOCK, Following, follow_at_once
from classmark.workbench.search.index import (
    changed_since,
    index_project,
    is_stale,
    open_project_index,
    start_indexing,
)
from classmark.workbench.store.undo import undo
from classmark.workbench.team.desk import Desk
from projects import NAMES, NOTES, new_project, records_of


@pytest.fixture
def folder(tmp_path):
    return new_project(tmp_path / "shelf", NOTES, NAMES, indexed=True)


@pytest.fixture
def project(folder):
    with Project(folder) as opened:
        yield opened


@pytest.fixture
def desk(folder, monkeypatch):
    """A desk whose background looks only when it is asked to."""
    monkeypatch.setattr(following, "SETTLED", 0.0)
    with Desk(folder, begin=False) as opened:
        yield opened


def hits(project, query):
    return {hit.id for hit in open_project_index(project).search(query)}


def changes(project):
    """Every way in which documents come, go and are replaced; after each, a turn."""
    added = add_document(project, "", {"text": "a wren in the hive"})
    yield
    last = delete_documents(project, [added, "b1"]).numbers[-1]
    yield
    restore_documents(project, [added])
    undo(project, last)
    yield
    import_records(project, records_of({"n1": "rye", "n2": "wren"}), "a file")
    yield
    records = records_of({"n1": "salt rye", "b2": "a queen wren"})
    import_records(project, records, "a file", replace=True)
    yield
    (seq,) = project.store.run(
        "SELECT max(seq) FROM judgments WHERE act = 'replace' AND document = 'b2'"
    ).fetchone()
    (act,) = project.store.run(
        "SELECT within FROM judgments WHERE seq = ?", (seq,)
    ).fetchone()
    undo(project, act)
    yield


def words_of(index):
    """What an index says of each document."""
    queries = "wren", "hive", "rye", "salt", "queen", "dough", "wick", "bee"
    return {query: {hit.id for hit in index.search(query, 50)} for query in queries}


def test_what_the_log_says_changed_is_what_did(project):
    for at, _ in enumerate(changes(project)):
        assert is_stale(project)
        follow_at_once(project)
        assert not is_stale(project) or changed_since(project) is None
        index_project(project, by_log=True)
        documents = indexing.project_documents(project, {})
        fresh = Index.build(project.folder.with_name(f"fresh-{at}"), documents)
        assert words_of(open_project_index(project)) == words_of(fresh)


def test_only_documents_of_the_log_are_read(project, monkeypatch):
    add_document(project, "new", {"text": "a wren"})
    read, digest_of = [], indexing.digest_of

    def noting(document):
        read.append(document.id)
        return digest_of(document)

    monkeypatch.setattr(indexing, "digest_of", noting)
    (row,) = index_project(project, by_log=True).rows
    assert (read, row["added"], row["documents"]) == (["new"], 1, 11)


def test_where_documents_link_to_others_all_are_compared(project):
    row = {"id": "n1", "text": "rye", "links": [["b1", "a wren"]]}
    import_records(project, records_of([row]), "a file")
    assert changed_since(project) is None
    index_project(project, by_log=True)
    assert hits(project, "wren") == {"b1"}


def test_a_command_indexes_little_at_once_and_leaves_much(project, monkeypatch):
    add_document(project, "new", {"text": "a wren"})
    monkeypatch.setattr(following, "AT_ONCE", 0)
    follow_at_once(project)
    assert hits(project, "wren") == set()
    monkeypatch.setattr(following, "AT_ONCE", 1)
    follow_at_once(project)
    assert hits(project, "wren") == {"new"}


def test_a_desk_indexes_documents_that_came(desk):
    follower = Following(desk)
    follower.look()
    assert not list(desk.jobs)
    with desk.writing() as project:
        add_document(project, "new", {"text": "a wren"}, "ada")
    follower.look()
    (job,) = desk.jobs
    assert job.wait(60).said.startswith("11 documents are indexed: 1 new")
    assert hits(desk, "wren") == {"new"}
    follower.look()
    assert list(desk.jobs) == [job]


def test_documents_that_keep_coming_are_waited_for_but_not_for_ever(desk, monkeypatch):
    monkeypatch.setattr(following, "SETTLED", 60.0)
    follower, now = Following(desk), [0.0]
    monkeypatch.setattr(following.time, "monotonic", lambda: now[0])
    for at in range(4):
        now[0] = 9.0 * at
        with desk.writing() as project:
            add_document(project, f"new-{at}", {"text": "a wren"}, "ada")
        follower.look()
        assert not list(desk.jobs)
    now[0] = following.LONGEST + 1
    follower.look()
    desk.jobs.wait(60)
    assert len(hits(desk, "wren")) == 4


def test_what_fails_is_not_tried_again_at_once(desk, monkeypatch):
    follower = Following(desk)
    monkeypatch.setattr(following, "index_project", None)
    with desk.writing() as project:
        add_document(project, "new", {"text": "a wren"}, "ada")
    for _ in range(3):
        follower.look()
        desk.jobs.wait(60)
    assert [job.state for job in desk.jobs] == ["failed"]


def test_one_server_at_a_time_follows(desk):
    with desk.writing() as project:
        add_document(project, "new", {"text": "a wren"}, "ada")
    with locked_file(desk.folder / LOCK):
        Following(desk).look()
        assert not list(desk.jobs)
    Following(desk).look()
    assert len(list(desk.jobs)) == 1


def test_who_asks_while_it_follows_gets_that_job(desk):
    with desk.writing() as project:
        add_document(project, "new", {"text": "a wren"}, "ada")
    Following(desk).look()
    assert start_indexing(desk, "ada") in list(desk.jobs)


def test_documents_that_come_while_it_is_made_are_not_forgotten(project, monkeypatch):
    noted = indexing.noted

    def meanwhile(*args):
        yield from noted(*args)
        add_document(project, "late", {"text": "a wren"})

    monkeypatch.setattr(indexing, "noted", meanwhile)
    index_project(project)
    assert is_stale(project)

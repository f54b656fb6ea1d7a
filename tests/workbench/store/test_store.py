"""The store keeps what it is given; its log can only grow."""

import sqlite3

import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.problems import DamagedFolder, Mistake
from classmark.taxonomy.category import Category
from classmark.workbench.store import schema
from classmark.workbench.store.schema import APPLICATION
from classmark.workbench.store.store import Act, Store


@pytest.fixture
def store(tmp_path, any_store):
    path = tmp_path / "store.sqlite"
    with Store(path, create=True, server=any_store()) as opened:
        opened.put_categories([Category("a", "Ä", "note", ("syn",)), Category("b")])
        opened.put_documents(
            [
                Record(Document("d1", {"title": "One"}), meta={"part": "test"}),
                Record(Document("d2", {"body": "Two"}), links=(("d1", "the first"),)),
            ]
        )
        yield opened


def test_documents_and_categories_come_back_in_order_of_arrival(store):
    first, second = store.records()
    assert (first.id, dict(first.meta)) == ("d1", {"part": "test"})
    assert second.links == (("d1", "the first"),)
    assert [store.record("d1"), store.record("d2")] == [first, second]
    with pytest.raises(Mistake, match="no document 'd9'"):
        store.record("d9")
    assert store.categories()[0] == Category("a", "Ä", "note", ("syn",))


def test_a_known_id_is_replaced_and_keeps_its_place(store):
    store.put_documents([Record(Document("d1", {"title": "Anew"}))])
    assert [record.id for record in store.records()] == ["d1", "d2"]
    assert store.document("d1").title == "Anew"


def test_labels_are_what_the_log_says_last(store):
    store.judge([Act("d1", "assign", "a", 2.0), Act("d1", "assign", "b", 1.0)], "eve")
    store.judge([Act("d1", "remove", "a"), Act("d1", "assign", "b", 2.0)], "eve")
    assert store.labels() == {"d1": {"b": 2.0}}
    assert store.counts()["judgments in the log"] == 4


@pytest.mark.parametrize(
    "sql", ["DELETE FROM judgments", "UPDATE judgments SET who=''"]
)
def test_the_log_cannot_be_changed(store, sql):
    store.judge([Act("d1", "assign", "a", 1.0)], "eve")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        store.run(sql)
    assert store.labels() == {"d1": {"a": 1.0}}


def test_a_judgment_on_something_unknown_is_refused(store):
    with pytest.raises(sqlite3.IntegrityError):
        store.judge([Act("d9", "assign", "a", 1.0)], "eve")


def test_a_transaction_is_all_or_nothing(store):
    def broken():
        yield Record(Document("d3", {}))
        raise Mistake("line 2 is not JSON")

    with pytest.raises(Mistake, match="line 2"), store.transaction():
        store.put_documents(broken())
    assert store.counts()["documents"] == 2


def test_commits_are_synced_and_readers_see_them(store):
    asked = "SHOW synchronous_commit" if store.server.url else "PRAGMA synchronous"
    assert store.run(asked).fetchone()[0] in {2, "on"}
    with Store(store.path, server=store.server) as other:
        before, own = other.state(), store.state()
        assert before == other.state()
        with store.transaction():
            store.judge([Act("d2", "assign", "b", 1.0)], "eve")
            assert store.state() != own
            assert (other.labels(), other.state()) == ({}, before)
        assert other.labels() == {"d2": {"b": 1.0}}
        assert other.state() != before


def test_missing_foreign_newer_and_damaged_files_are_told_apart(tmp_path):
    with pytest.raises(DamagedFolder, match="missing"):
        Store(tmp_path / "no.sqlite")
    foreign = tmp_path / "foreign.sqlite"
    with sqlite3.connect(foreign) as other:
        other.execute("CREATE TABLE t (x)")
    other.close()
    with pytest.raises(DamagedFolder, match="another program"):
        Store(foreign)
    newer = tmp_path / "newer.sqlite"
    Store(newer, create=True).close()
    with sqlite3.connect(newer) as other:
        other.execute("PRAGMA user_version = 99")
    other.close()
    with pytest.raises(DamagedFolder, match="upgrade classmark"):
        Store(newer)
    problem = sqlite3.OperationalError("attempt to write a readonly database")
    assert "let yourself write" in str(schema.damaged(newer, problem))
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(b"not a database at all, not even close" * 100)
    with pytest.raises(DamagedFolder, match="backup"):
        Store(damaged)


def test_check_finds_a_damaged_page(tmp_path):
    path = tmp_path / "store.sqlite"
    with Store(path, create=True) as store:
        store.put_documents(
            Record(Document(f"d{i}", {"body": "word " * 200})) for i in range(200)
        )
    content = bytearray(path.read_bytes())
    page = 4096 * (len(content) // 4096 // 2)
    content[page : page + 64] = b"\xff" * 64
    path.write_bytes(bytes(content))
    with Store(path) as store, pytest.raises(DamagedFolder, match="backup"):
        store.check()


def test_the_file_says_whose_it_is(tmp_path):
    with Store(tmp_path / "store.sqlite", create=True) as store:
        assert store.run("PRAGMA application_id").fetchone() == (APPLICATION,)

"""A store in PostgreSQL: like the file in all that the program sees."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import psycopg
import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.problems import DamagedFolder, Mistake
from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.deciding.history import history
from classmark.workbench.files.documents import (
    delete_documents,
    put_document,
    restore_documents,
)
from classmark.workbench.project import Project, create, info
from classmark.workbench.settings import FILE, Settings, StoreSettings, read_settings
from classmark.workbench.store import postgres, schema
from classmark.workbench.store.log import require_replayed
from classmark.workbench.store.postgres import refusing
from classmark.workbench.store.store import Act, Store
from classmark.workbench.store.undo import undo
from projects import new_project


@pytest.fixture
def folder(tmp_path, postgres_store):
    texts = dict.fromkeys(["d1", "d2", "É", "e"], "t")
    return new_project(tmp_path / "shelf", texts, ["a", "b"], store=postgres_store())


@pytest.fixture
def store(folder):
    with Project(folder) as project:
        yield project.store


def test_the_folder_has_no_store_and_its_settings_say_where_it_is(folder):
    assert not (folder / "store.sqlite").exists()
    assert read_settings(folder).store.url.startswith("postgresql://")
    with Project(folder) as project:
        told = info(project, check=True)
    assert "the log says what holds" in told.note
    assert told.rows[2]["value"].startswith("schema t")


def test_texts_are_ordered_as_in_sqlite(store):
    found = store.run("SELECT id FROM documents ORDER BY id")
    assert [id_ for (id_,) in found] == ["d1", "d2", "e", "É"]


def test_sums_and_means_are_numbers(store):
    said = store.run("SELECT sum(number), avg(number) FROM documents").fetchone()
    assert said == (10, 2.5)
    assert [type(value) for value in said] == [int, float]


def fail_after(store, act):
    """Do something in a transaction that comes to nothing."""
    with suppress(Mistake), store.transaction():
        act()
        raise Mistake("no")


def test_acts_are_numbered_without_gaps_whoever_writes(folder):
    def say(who):
        with Project(folder) as project:
            numbers = []
            for _ in range(25):
                act = Act("d1", "assign", "a", 1.0)
                numbers.append(tuple(project.store.judge([act, act], who)))
                fail_after(project.store, lambda: project.store.judge([act], who))  # noqa: B023 (called at once)
            return numbers

    with ThreadPoolExecutor(4) as threads:
        given = list(threads.map(say, ["one", "two", "three", "four"]))
    pairs = sorted(pair for own in given for pair in own)
    assert pairs == [(seq, seq + 1) for seq in range(3, 203, 2)]


def test_a_single_statement_is_a_transaction_of_its_own(store):
    with Store(store.path, server=store.server) as other:
        before = other.state()
        store.note_event("seen", "eve")
        assert other.state()[0] == before[0] + 1
        assert other.last_event("seen") == {}


def test_only_what_others_wrote_changes_the_first_of_the_state(store):
    others, own = store.state()
    with store.transaction():
        store.note_event("seen", "eve")
        assert store.state() == (others, own + 1)
    assert store.state() == (others, own + 1)
    fail_after(store, lambda: None)
    assert store.state()[0] == others


END = "SELECT pg_terminate_backend(pg_backend_pid())"


def lose_connection(store):
    with pytest.raises(DamagedFolder, match=r"schema t.* cannot be used"):
        store.run(END)


def test_a_lost_connection_is_made_again_between_acts(store):
    lose_connection(store)
    assert store.judge([Act("d1", "assign", "a", 1.0)], "eve") == [3]
    lose_connection(store)
    assert store.labels() == {"d1": {"a": 1.0}}


def test_a_reader_does_not_notice_a_connection_that_was_lost(folder):
    with Project(folder) as one, Project(folder) as other:
        (number,) = one.store.run("SELECT pg_backend_pid()").fetchone()
        other.store.run("SELECT pg_terminate_backend(?::integer)", (number,)).fetchone()
        assert one.store.labels() == {}
        assert one.store.judge([Act("d1", "assign", "a", 1.0)], "eve")


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [
        (psycopg.errors.DiskFull, "make room on its disk"),
        (psycopg.OperationalError, "see that the server runs"),
        (psycopg.errors.DataCorrupted, "restore a backup"),
    ],
)
def test_what_is_wrong_with_the_server_is_told_with_its_remedy(kind, remedy):
    with pytest.raises(DamagedFolder, match=remedy), refusing("schema x"):
        raise kind("no luck")


def test_a_connection_lost_within_a_transaction_loses_all_of_it(store):
    def judge():
        return store.judge([Act("d1", "assign", "a", 1.0)], "eve")

    def act_on():
        with store.transaction():
            judge()
            lose_connection(store)
            judge()

    def commit():
        with store.transaction():
            judge()
            lose_connection(store)

    with pytest.raises(DamagedFolder, match="closed"):
        act_on()
    with pytest.raises(DamagedFolder, match="look at the history"):
        commit()
    assert store.labels() == {}


def test_who_waits_too_long_is_told(store):
    with Store(store.path, server=store.server) as other, store.transaction():
        other.run("SELECT set_config('lock_timeout', '20ms', false)")
        with pytest.raises(Mistake, match="in use by another process"):
            other.note_event("x", "eve")


def test_text_that_postgresql_cannot_hold_is_told(store):
    with pytest.raises(Mistake, match="cannot keep this"):
        store.note_event("a\0b", "eve")
    store.put_documents([Record(Document("d9", {"text": "a\0b"}))])
    assert store.document("d9").text == "a\0b", "in JSON it can be written"
    with pytest.raises(OverflowError):
        store.run("SELECT 1 FROM documents WHERE number = ?", (1 << 70,))


def test_decisions_and_undoing(folder):
    with Project(folder) as project:
        decide(project, "d1", Decision(("a",), over=(("a", "b"),)), {}, "eve")
        undo(project, who="eve")
        assert project.store.preferences() == {}
        rows = history(project, "d1").rows
        assert [row["act"] for row in rows] == ["undo", "prefer", "assign"]
        assert len(history(project).rows) == 5  # with both imports


def test_what_cannot_be_reached_is_told_without_the_password(tmp_path, monkeypatch):
    url = "postgresql://eve@127.0.0.1:1/library"
    with pytest.raises(DamagedFolder, match="schema s of database library at 127"):
        Store(tmp_path / "x", server=StoreSettings(url, "s"))
    monkeypatch.setenv("CLASSMARK_STORE", "postgresql://eve:hush@127.0.0.1:1/other")
    with pytest.raises(DamagedFolder, match="database other") as told:
        Store(tmp_path / "x", server=StoreSettings(url, "s"))
    assert "hush" not in str(told.value)
    monkeypatch.setenv("CLASSMARK_STORE", "postgresql://eve:hush@[/")
    with pytest.raises(Mistake, match="cannot be read") as told:
        Store(tmp_path / "x", server=StoreSettings(url, "s"))
    assert "hush" not in str(told.value)


def test_a_schema_is_one_projects_own(tmp_path, folder):
    server = read_settings(folder).store
    with pytest.raises(Mistake, match="is there already"):
        create(tmp_path / "other", Settings("other", store=server))
    assert not (tmp_path / "other").exists()
    with pytest.raises(DamagedFolder, match="holds no Classmark project"):
        Store(tmp_path / "x", server=StoreSettings(server.url, "elsewhere"))


def test_what_fails_while_it_is_made_leaves_no_schema(tmp_path, postgres_store):
    server = postgres_store()

    def fail(*_):
        raise Mistake("no")

    with pytest.raises(Mistake, match="no"):
        create(tmp_path / "shelf", Settings("shelf", store=server), fail)
    create(tmp_path / "shelf", Settings("shelf", store=server))


def test_an_older_schema_is_brought_up_to_date(store, monkeypatch):
    more = "CREATE TABLE shelves (number $INTEGER PRIMARY KEY, height $REAL);"
    step = (range(schema.VERSION, schema.VERSION + 1), more)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, step))
    monkeypatch.setattr(postgres, "VERSION", schema.VERSION + 1)
    with Store(store.path, server=store.server) as newer:
        assert newer.run("SELECT count(height) FROM shelves").fetchone() == (0,)
    monkeypatch.undo()
    with pytest.raises(DamagedFolder, match="upgrade classmark"):
        Store(store.path, server=store.server)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('url = "mysql://x/y"', "begin it with postgresql"),
        ('url = "postgresql://eve:hush@x/y"\nschema = "s"', "holds a password"),
        ('url = "postgresql://x/y?password=hush"\nschema = "s"', "holds a password"),
        ('url = "postgresql://x/y"\nschema = "No; DROP"', "small letters"),
        ('schema = "s"', "without a url"),
    ],
)
def test_settings_of_a_store_are_checked(tmp_path, line, said):
    (tmp_path / FILE).write_text(f'format = 1\nname = "x"\n[store]\n{line}\n')
    with pytest.raises(Mistake, match=said) as told:
        read_settings(tmp_path)
    assert "hush" not in str(told.value)


AS_FORMAT_8 = """
DROP VIEW documents;
ALTER TABLE all_documents DROP COLUMN added_by;
ALTER TABLE all_documents DROP COLUMN stands;
DROP TRIGGER all_documents_are_numbered ON all_documents;
DROP FUNCTION number_all_documents;
ALTER TABLE all_documents RENAME TO documents;
CREATE FUNCTION number_documents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN IF NEW.number IS NULL THEN SELECT coalesce(max(number), 0) + 1
INTO NEW.number FROM documents; END IF; RETURN NEW; END $$;
CREATE TRIGGER documents_are_numbered BEFORE INSERT ON documents
FOR EACH ROW EXECUTE FUNCTION number_documents();
UPDATE turn SET version = 8;
"""


def test_a_store_from_before_documents_could_be_deleted_is_brought_up_to_date(folder):
    with Project(folder) as project:
        before = project.store.ids()
        connection = project.store.engine._connection  # noqa: SLF001 - as it once was
        connection.execute((schema.DROP_VIEWS + AS_FORMAT_8).encode())
    with Project(folder) as project:
        assert project.store.ids() == before
        last = max(before)
        delete_documents(project, [last])
        put_document(project, "new", {"text": "rye"})
        assert project.store.ids() == before - {last} | {"new"}
        restore_documents(project, [last])
        assert project.store.ids() == before | {"new"}
        require_replayed(project.store)

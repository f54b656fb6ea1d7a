"""A store of any older format opens, says what it said, and goes on."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from classmark.problems import DamagedFolder
from classmark.taxonomy.category import Category
from classmark.workbench.examples.searches import current_marks, open_search
from classmark.workbench.files.backup import TABLES, columns_of
from classmark.workbench.search.clicks import read_impressions
from classmark.workbench.store import schema
from classmark.workbench.store.log import require_replayed
from classmark.workbench.store.schema import VERSION
from classmark.workbench.store.store import Act, Store
from older_stores import older_store

FORMATS = range(1, VERSION)


def tables(store):
    names = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view', 'index')"
    found = {name for (name,) in store.run(names)}
    views = dict(store.run("SELECT name, sql FROM sqlite_schema WHERE type = 'view'"))
    return found, views, {table: columns_of(store, table) for table in TABLES}


@pytest.mark.parametrize("version", FORMATS)
def test_it_becomes_a_store_of_today(tmp_path, version):
    with (
        Store(older_store(tmp_path / "old.sqlite", version)) as store,
        Store(tmp_path / "new.sqlite", create=True) as new,
    ):
        assert store.run("PRAGMA user_version").fetchone() == (VERSION,)
        assert store.run("PRAGMA foreign_key_check").fetchall() == []
        store.check()
        require_replayed(store)
        assert tables(store) == tables(new)
        last = max(entry.seq for entry in store.log())
        assert store.judge([Act("d2", "note", note="seen")], "eve") == [last + 1]
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            store.run("DELETE FROM judgments")


@pytest.mark.parametrize("version", [1, 2])
def test_what_the_first_formats_said_still_holds(tmp_path, version):
    with Store(older_store(tmp_path / "old.sqlite", version)) as store:
        assert store.categories() == [
            Category("b", "B"),
            Category("a", "A"),
            Category("c", "C", parents=("a", "b")),
        ]
        assert store.labels() == {"d1": {"a": 2.0}}
        preferred = {"d2": {("c", "a"): 3.0}} if version == 2 else {}
        assert store.preferences() == preferred


@pytest.mark.parametrize("version", [3, 4, 5, 6])
def test_what_the_later_formats_said_still_holds(tmp_path, version):
    with Store(older_store(tmp_path / "old.sqlite", version)) as store:
        assert [c.id for c in store.categories()] == ["life", "apis", "wasps"]
        assert store.labels() == {
            "d1": {"wasps": 1.0, "apis": 2.0},
            "d2": {"wasps": 1.0},
        }
        assert store.preferences() == {"d2": {("wasps", "apis"): 1.0}}
        assert store.aside() == {"d4"}
        assert store.record("d3").rejected == {"apis"}
        assert [e.revisits for e in store.log(2)][:1] == [4]
        if version >= 4:
            marks = current_marks(store, open_search(store, "nests"))
            assert [mark.document for mark in marks] == ["d1", "d2"]
        if version >= 5:
            assert read_impressions(store)[0].clicked == {"d2"}


def test_many_may_open_an_older_one_at_once(tmp_path):
    path = older_store(tmp_path / "old.sqlite", 2)

    def opened(_):
        with Store(path) as store:
            return store.labels()

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(opened, range(6))) == [{"d1": {"a": 2.0}}] * 6


def test_a_migration_that_fails_leaves_the_store_as_it_was(tmp_path, monkeypatch):
    path = older_store(tmp_path / "old.sqlite", 5)
    broken = (range(6), "DROP TABLE clicks; SELECT * FROM absent;")
    with monkeypatch.context() as patched:
        patched.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, broken))
        with pytest.raises(DamagedFolder, match="no such table"):
            Store(path)
    with Store(path) as store:
        assert store.aside() == {"d4"}

"""Searches are named, their marks only grow, and every mark can be taken back."""

import json
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.problems import Mistake
from classmark.workbench.examples.searches import (
    Mark,
    add_marks,
    begin_search,
    change_settings,
    current_marks,
    delete_search,
    deleted_searches,
    list_searches,
    listed_search,
    open_search,
    rename_search,
    restore_search,
    search_by_number,
    undo_marks,
)
from classmark.workbench.store.schema import VERSION
from classmark.workbench.store.store import Store
from older_stores import empty_older_store

IDS = ["d1", "d2", "d3"]


def new_store(path, server=None):
    store = Store(path, create=True, server=server)
    store.put_documents([Record(Document(id_, {"text": id_})) for id_ in IDS])
    return store


@pytest.fixture
def store(tmp_path, any_store):
    with new_store(tmp_path / "store.sqlite", any_store()) as opened:
        yield opened


def held(store, search):
    return {mark.document: mark.act for mark in current_marks(store, search)}


def test_searches_are_opened_by_name_and_the_last_used_comes_first(store):
    first = begin_search(store, "first", {"method": "auto"}, who="eve")
    second = begin_search(store, "second")
    begin_search(store, "a screening", kind="screen")
    assert open_search(store, "first") == first
    assert open_search(store) == second
    add_marks(store, first, [Mark("d1", "example")], "eve")
    assert [search.name for search in list_searches(store)] == ["first", "second"]
    assert open_search(store, kind="screen").name == "a screening"
    changed = change_settings(store, first, C=2.0)
    assert open_search(store, "first") == changed
    assert changed.settings == {"method": "auto", "C": 2.0, "kind": "like"}


def test_names_that_are_wrong_are_refused(store):
    with pytest.raises(Mistake, match="there is no search yet"):
        open_search(store)
    begin_search(store, "bees")
    with pytest.raises(Mistake, match="did you mean 'bees'"):
        open_search(store, "beez")
    with pytest.raises(
        Mistake, match="no search 'honey': classmark like --examples begins one"
    ):
        open_search(store, "honey")
    with pytest.raises(Mistake, match="already"):
        begin_search(store, "bees", kind="screen")
    with pytest.raises(Mistake, match="needs a name"):
        begin_search(store, " ")


def test_the_last_word_on_a_document_holds(store):
    search, other = begin_search(store, "s"), begin_search(store, "t")
    add_marks(store, search, [Mark("d1", "example"), Mark("d2", "yes", "likely", 1)])
    add_marks(store, search, [Mark("d2", "no", "random", 7, 0.25)])
    add_marks(store, other, [Mark("d2", "skip")])
    assert held(store, search) == {"d1": "example", "d2": "no"}
    assert current_marks(store, search)[1] == Mark("d2", "no", "random", 7, 0.25)


def test_undo_takes_back_step_after_step_and_redo_brings_them_again(store):
    search = begin_search(store, "s")
    steps = [[Mark("d1", "example"), Mark("d2", "yes")], [Mark("d2", "no")]]
    for step in steps:
        add_marks(store, search, step, "eve")
    add_marks(store, search, [Mark("d3", "skip")], "adam")
    assert undo_marks(store, search, "eve") == steps[1]
    assert held(store, search) == {"d1": "example", "d2": "yes", "d3": "skip"}
    assert undo_marks(store, search, "eve") == steps[0]
    assert held(store, search) == {"d3": "skip"}
    with pytest.raises(Mistake, match="eve has nothing to undo in search 's'"):
        undo_marks(store, search, "eve")
    assert undo_marks(store, search, "eve", redo=True) == steps[0]
    assert undo_marks(store, search, "eve", redo=True) == steps[1]
    assert held(store, search) == {"d1": "example", "d2": "no", "d3": "skip"}
    with pytest.raises(Mistake, match="nothing to bring back"):
        undo_marks(store, search, "eve", redo=True)


@given(
    st.lists(
        st.one_of(
            st.sampled_from(["undo", "redo"]),
            st.dictionaries(
                st.sampled_from(IDS), st.sampled_from(["yes", "no"]), min_size=1
            ),
        ),
        max_size=12,
    )
)
def test_undo_and_redo_are_those_of_an_editor(acts):
    with new_store(":memory:") as store:
        search = begin_search(store, "s")
        done, undone = [], []
        for act in acts:
            if act == "undo" and done:
                undo_marks(store, search)
                undone.append(done.pop())
            elif act == "redo" and undone:
                undo_marks(store, search, redo=True)
                done.append(undone.pop())
            elif isinstance(act, dict):
                add_marks(store, search, [Mark(id_, it) for id_, it in act.items()])
                done.append(act)
                undone.clear()
            expected = {}
            for step in done:
                expected |= step
            assert held(store, search) == expected


@pytest.mark.parametrize("sql", ["DELETE FROM marks", "UPDATE marks SET who = ''"])
def test_the_log_of_marks_cannot_be_changed(store, sql):
    search = begin_search(store, "s")
    add_marks(store, search, [Mark("d1", "yes")])
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        store.run(sql)
    assert held(store, search) == {"d1": "yes"}


def test_marks_on_unknown_documents_are_refused_and_nothing_is_kept(store):
    search = begin_search(store, "s")
    with pytest.raises(Mistake, match=r"no document 'd9': did you mean d\d or d\d or"):
        add_marks(store, search, [Mark("d1", "yes"), Mark("d9", "no")])
    with pytest.raises(Mistake, match="no document 'elsewhere': correct its id"):
        add_marks(store, search, [Mark("elsewhere", "no")])
    with pytest.raises(sqlite3.IntegrityError):
        add_marks(store, search, [Mark("d1", "yes"), Mark("d2", "maybe")])
    assert held(store, search) == {}


def test_a_version_3_store_gets_searches(tmp_path):
    path = tmp_path / "store.sqlite"
    with empty_older_store(path, 3) as old:
        old.execute(
            "INSERT INTO documents (id, fields, added) VALUES ('d1', '{}', '2020')"
        )
    old.close()
    with Store(path) as store:
        assert store.run("PRAGMA user_version").fetchone() == (VERSION,)
        search = begin_search(store, "s")
        add_marks(store, search, [Mark("d1", "yes")])
        assert held(store, search) == {"d1": "yes"}


def test_a_search_is_read_without_the_others(store, monkeypatch):
    numbers = [begin_search(store, name).number for name in ("a", "b", "c")]
    screening = begin_search(store, "all", kind="screen")
    decoded, loads = [], json.loads
    monkeypatch.setattr(json, "loads", lambda s: decoded.append(s) or loads(s))
    assert search_by_number(store, numbers[1]).name == "b"
    assert search_by_number(store, screening.number) == screening
    assert open_search(store, "a").number == numbers[0]
    assert open_search(store).number == numbers[2]
    assert len(decoded) == 4
    for number in (99, 10**30):
        with pytest.raises(Mistake, match=f"there is no search {number}: choose"):
            search_by_number(store, number)
    with pytest.raises(Mistake, match="no search 'all'"):
        open_search(store, "all")


def test_a_search_is_renamed_to_a_name_that_is_new(store):
    first, second = begin_search(store, "first"), begin_search(store, "second")
    assert rename_search(store, first, " bees ").name == "bees"
    assert open_search(store, "bees").number == first.number
    for name, words in (("second", "already"), (" ", "needs a name"), ("a\nb", "line")):
        with pytest.raises(Mistake, match=words):
            rename_search(store, search_by_number(store, first.number), name)
    assert rename_search(store, second, "second") == second


def test_a_deleted_search_is_off_the_list_and_comes_back_with_its_answers(store):
    search = begin_search(store, "bees", who="eve")
    add_marks(store, search, [Mark("d1", "example"), Mark("d2", "no")], "eve")
    delete_search(store, search)
    assert list_searches(store) == []
    with pytest.raises(Mistake, match="there is no search 'bees'"):
        open_search(store, "bees")
    with pytest.raises(Mistake, match="deleted"):
        listed_search(store, search.number)
    with pytest.raises(Mistake, match="deleted already"):
        delete_search(store, search_by_number(store, search.number))
    (gone,) = deleted_searches(store)
    assert gone.settings["deleted"] == "bees"
    restored = restore_search(store, gone)
    assert restored.name == "bees"
    assert [each.name for each in list_searches(store)] == ["bees"]
    assert deleted_searches(store) == []
    assert held(store, restored) == {"d1": "example", "d2": "no"}
    with pytest.raises(Mistake, match="is not deleted"):
        restore_search(store, restored)

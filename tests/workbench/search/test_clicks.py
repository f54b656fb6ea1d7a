"""What searches showed and what was opened: kept, never changed, and preferences."""

import sqlite3

import pytest

from classmark.problems import Mistake, UnreadableFile
from classmark.workbench.project import Project
from classmark.workbench.search.clicks import (
    Click,
    log_click,
    log_impression,
    logged_preferences,
    read_impressions,
)
from classmark.workbench.settings import SearchSettings, Settings, read_settings
from classmark.workbench.settings_file import settings_text
from classmark.workbench.store.schema import VERSION
from classmark.workbench.store.store import Store
from older_stores import empty_older_store
from projects import new_project

SHOWN = [("a", 3.0), ("b", 2.5), ("3", 2.0), ("d", -0.5)]


@pytest.fixture
def project(tmp_path, monkeypatch, any_store):
    monkeypatch.setenv("CLASSMARK_USER", "ann")
    with Project(new_project(tmp_path / "p", [], store=any_store())) as opened:
        yield opened


def test_what_was_shown_and_opened_is_read_as_it_was_written(project):
    first = log_impression(project, "bees", SHOWN, ranker="lgd")
    second = log_impression(project, "wax", SHOWN[:2])
    assert log_click(project.store, first, "b") == Click(first, "b", 2)
    assert log_click(project.store, first, 4) == Click(first, "d", 4)
    assert log_click(project.store, first, "b") == Click(first, "b", 2)
    one, other = read_impressions(project.store)
    assert (one.number, one.who, one.query, one.ranker) == (first, "ann", "bees", "lgd")
    assert one.shown == tuple(SHOWN)
    assert one.clicked == {"b", "d"}
    assert one.generation == 0
    assert (other.number, other.ranker, other.clicked) == (second, "bm25", frozenset())
    assert one.at <= other.at


def test_an_id_of_digits_is_an_id_before_it_is_a_position(project):
    number = log_impression(project, "bees", SHOWN)
    assert log_click(project.store, number, "3") == Click(number, "3", 3)
    assert log_click(project.store, number, "2") == Click(number, "b", 2)


def test_clicks_become_preferences_by_a_strategy(project):
    number = log_impression(project, "bees", SHOWN)
    log_impression(project, "wax", SHOWN)
    log_click(project.store, number, "b")
    log_click(project.store, number, "d")
    found = logged_preferences(project.store, "skip-above")
    assert found == {
        "bees": [("b", "a", 1.0), ("d", "a", 1.0), ("d", "3", 1.0)], "wax": [],
    }  # fmt: skip
    looks = [1, 0.5, 0.4, 0.05]
    weighed = logged_preferences(project.store, "skip-above", looks)["bees"]
    assert weighed == [("b", "a", 2.0), ("d", "a", 10.0), ("d", "3", 10.0)]
    with pytest.raises(Mistake, match="strategy 'x'"):
        logged_preferences(project.store, "x")


@pytest.mark.parametrize(
    ("sql", "table"),
    [
        ("DELETE FROM impressions", "impressions"),
        ("UPDATE impressions SET at = ''", "impressions"),
        ("DELETE FROM clicks", "clicks"),
        ("UPDATE clicks SET position = 1", "clicks"),
    ],
)
def test_the_logs_only_grow(project, sql, table):
    number = log_impression(project, "bees", SHOWN)
    log_click(project.store, number, "a")
    with pytest.raises(sqlite3.IntegrityError, match=f"{table} is append-only"):
        project.store.run(sql)


def test_what_is_refused(project):
    with pytest.raises(Mistake, match="no impression 1: classmark search --log"):
        log_click(project.store, 1, "a")
    number = log_impression(project, "bees", SHOWN)
    with pytest.raises(Mistake, match=f"no impression 99: the last is {number}"):
        log_click(project.store, 99, "a")
    for what in ("e", 0, 5, "0", "-1"):
        with pytest.raises(Mistake, match="did not show"):
            log_click(project.store, number, what)
    with pytest.raises(Mistake, match="a document twice"):
        log_impression(project, "bees", [*SHOWN, ("a", 0.0)])
    assert read_impressions(project.store)[0].clicked == frozenset()


@pytest.mark.parametrize(
    ("log", "kept", "who"),
    [("no", False, "ann"), ("anonymous", True, ""), ("named", True, "ann")],
)
def test_the_settings_say_what_is_kept(tmp_path, monkeypatch, log, kept, who):
    monkeypatch.setenv("CLASSMARK_USER", "ann")
    folder = new_project(tmp_path / "q", [], search=SearchSettings(log))
    with Project(folder) as project:
        assert project.settings.search.is_logged() is kept
        assert project.settings.search.is_logged(True)
        assert not project.settings.search.is_logged(False)
        log_impression(project, "bees", SHOWN)
        assert read_impressions(project.store)[0].who == who


def test_a_setting_that_is_none_is_refused_and_none_is_no(tmp_path):
    path = tmp_path / "classmark.toml"
    path.write_text(settings_text(Settings("p", search=SearchSettings("yes"))))
    with pytest.raises(UnreadableFile, match="log is 'yes': use no, anonymous, named"):
        read_settings(tmp_path)
    path.write_text('format = 1\nname = "p"\n')
    assert read_settings(tmp_path).search.log == "no"


def test_a_version_4_store_gets_the_logs(tmp_path):
    path = tmp_path / "store.sqlite"
    empty_older_store(path, 4).close()
    with Store(path) as store:
        assert store.run("PRAGMA user_version").fetchone() == (VERSION,)
        assert read_impressions(store) == []

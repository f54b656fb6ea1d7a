"""Presence: shared by all who open a project, beside its store, in no backup."""

import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from zipfile import ZipFile

import pytest

from classmark.web.guard.auth import REMEMBERED, Sessions
from classmark.web.guard.errors import RefusedRequest
from classmark.web.guard.limits import PER_ADDRESS, Tries
from classmark.workbench.files.backup import back_up, restore
from classmark.workbench.project import STORE, Project
from classmark.workbench.store.presence import FILE, Presence
from classmark.workbench.store.schema import VERSION, damaged
from classmark.workbench.store.store import Store
from classmark.workbench.team.claims import HELD, Claims
from older_stores import older_store
from projects import new_project


class Clock:
    now = 1e9

    def __call__(self):
        return self.now


@pytest.fixture
def project(tmp_path, any_store):
    with Project(new_project(tmp_path / "shelf", store=any_store())) as project:
        yield project


@pytest.fixture
def two(project):
    """The presence as two processes have it open."""
    one, other = (Presence.beside(project.store) for _ in range(2))
    yield one, other
    one.close()
    other.close()


def test_what_one_says_the_other_knows(two):
    clock = Clock()
    mine, theirs = (Sessions(presence, clock) for presence in two)
    secret = mine.open("ada", "stamp")
    session = theirs.find(secret)
    assert (session.name, session.stamp) == ("ada", "stamp")
    assert session.csrf == mine.find(secret).csrf
    theirs.close(secret)
    assert theirs.find(secret) is None
    clock.now += REMEMBERED
    assert mine.find(secret) is None
    first, second = mine.open("ada"), theirs.open("ada")
    mine.close_all_of("ada")
    assert theirs.find(first) is theirs.find(second) is None
    assert two[0].mark == two[1].mark


def test_no_secret_is_stored(two):
    secret = Sessions(two[0]).open("ada", "stamp")
    session = Sessions(two[0]).find(secret)
    Tries(two[0]).failed("192.0.2.1", "a password typed as a name")
    stored = [
        str(value)
        for table in ("sessions", "failures")
        for row in two[1].run(f"SELECT * FROM {table}")  # noqa: S608 (our own)
        for value in row
    ]
    assert stored
    for text in (secret, session.csrf, "192.0.2.1", "password"):
        assert not any(text in value for value in stored)


def test_who_reads_the_clock_a_moment_before_takes_nothing_away(two):
    times = iter([100.0, 99.99, 99.99])
    claims = Claims(two[0], now=lambda: next(times))
    assert claims.take("d", "ada")
    assert not claims.take("d", "bo")
    assert claims.holder("d") == "ada"


def test_a_document_has_one_holder_whoever_asks_first(two):
    clock = Clock()
    claims = [Claims(presence, now=clock) for presence in two]
    with ThreadPoolExecutor(8) as threads:
        for at in range(20):
            clock.now += 1
            took = threads.map(
                lambda n, at=at: claims[n % 2].take(f"d{at}", f"p{n}"), range(8)
            )
            assert sum(took) == 1
    assert claims[0].holders() == claims[1].holders()
    for at in range(HELD + 2):
        clock.now += 1
        assert claims[at % 2].take(f"more {at}", "ada")
    mine = {d for d, who in claims[0].holders().items() if who == "ada"}
    assert mine == {f"more {at}" for at in range(2, HELD + 2)}
    claims[0].release("more 2", "bo")
    assert claims[1].holder("more 2") == "ada"
    claims[0].release("more 2", "ada")
    assert claims[1].holder("more 2") == ""
    clock.now += 601
    assert claims[0].holders() == {}


def test_failures_count_wherever_they_were(two):
    clock = Clock()
    mine, theirs = (Tries(presence, clock) for presence in two)
    for _ in range(PER_ADDRESS // 2):
        mine.failed("192.0.2.1", "ada")
        theirs.failed("192.0.2.1", "bo")
    for tries in (mine, theirs):
        with pytest.raises(RefusedRequest):
            tries.check("192.0.2.1", "cy")


def test_a_store_that_is_being_written_keeps_nobody_waiting(project, two):
    with project.store.transaction():
        project.store.note_event("busy", "ann")
        started = time.monotonic()
        assert Claims(two[0]).take("d", "ada")
        assert Sessions(two[0]).find(Sessions(two[1]).open("ada"))
        assert time.monotonic() - started < 5


def test_a_backup_has_no_sessions(project, two, tmp_path):
    secret = Sessions(two[0]).open("ada", "stamp of ada")
    for name in ("shelf.zip", "shelf.jsonl"):
        back_up(project, tmp_path / name)
        restore(tmp_path / name, tmp_path / f"from {name}")
        with Project(tmp_path / f"from {name}") as again:
            presence = Presence.beside(again.store)
            assert Sessions(presence).find(secret) is None
            presence.close()
    with ZipFile(tmp_path / "shelf.zip") as packed:
        assert FILE not in packed.namelist()
        packed.extract(STORE, tmp_path)
    tables = "SELECT name FROM sqlite_schema"
    names = {name for (name,) in sqlite3.connect(tmp_path / STORE).execute(tables)}
    assert "judgments" in names
    assert not names & {"sessions", "claims", "failures", "cookies"}
    assert b"stamp of ada" not in (tmp_path / "shelf.jsonl").read_bytes()


@pytest.mark.parametrize("version", range(1, VERSION))
def test_a_store_of_an_older_format_has_it_too(tmp_path, version):
    with Store(older_store(tmp_path / STORE, version)) as store:
        presence = Presence.beside(store)
        secret = Sessions(presence).open("ada")
        assert Sessions(presence).find(secret).name == "ada"
        presence.close()


def test_many_may_open_it_for_the_first_time_at_once(project):
    def marked(_):
        presence = Presence.beside(project.store)
        try:
            return presence.mark
        finally:
            presence.close()

    with ThreadPoolExecutor(6) as threads:
        assert len(set(threads.map(marked, range(6)))) == 1


def test_where_nothing_can_be_written_people_go_on(two, monkeypatch, caplog):
    sessions, claims = Sessions(two[0], clock := Clock()), Claims(two[0])
    secret = sessions.open("ada")
    run = two[0].run

    def full(sql, *values, **how):
        if sql.lstrip().startswith("SELECT"):
            return run(sql, *values, **how)
        raise damaged(FILE, "database or disk is full")

    monkeypatch.setattr(sessions, "_run", full)
    monkeypatch.setattr(claims, "_run", full)
    clock.now += 3600
    assert sessions.find(secret).name == "ada"
    assert claims.take("d", "ada")
    claims.release("d", "ada")
    assert caplog.text.count("make room") == 3
    assert secret not in caplog.text

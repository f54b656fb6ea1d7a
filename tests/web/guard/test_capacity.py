"""How much is served at once, and what is answered beyond."""

import asyncio
import errno
import resource
import socket
import sqlite3
import threading
import weakref
from types import SimpleNamespace

import h11
import pytest

from classmark.problems import Mistake
from classmark.web.guard import capacity
from classmark.web.guard.capacity import (
    CONNECTIONS,
    LONG_SILENT,
    THREADS,
    Bounded,
    Capacity,
    Listening,
    busy,
    capacity_of,
    shared_out,
)
from classmark.web.serve_projects import share_out


@pytest.mark.parametrize("besides", [40, 100, 300])
def test_what_is_shared_out_is_never_more_than_there_is(besides):
    least = besides + 3 * 4 + 16 + capacity.REFUSED
    for limit in range(least, 1600, 7):
        chosen = shared_out(limit, besides)
        taken = besides + 3 * chosen.threads + chosen.connections + capacity.REFUSED
        assert taken <= limit
        assert 4 <= chosen.threads <= THREADS
        assert 16 <= chosen.connections <= CONNECTIONS
        assert chosen.lines < chosen.connections
        assert bool(chosen.advice) is (chosen[:2] != Capacity()[:2])
    with pytest.raises(Mistake, match="ulimit -n"):
        shared_out(least - 1, besides)


@pytest.fixture
def limits(monkeypatch):
    """The limits of this process; nothing is really changed."""
    now = {"limits": (256, 4096)}
    monkeypatch.setattr(resource, "getrlimit", lambda _: now["limits"])
    change = lambda _, both: now.update(limits=both)  # noqa: E731
    monkeypatch.setattr(resource, "setrlimit", change)
    return now


def test_each_project_that_may_be_open_has_its_files(limits, tmp_path):
    capacity_of(tmp_path)
    one = limits["limits"][0]
    capacity_of(tmp_path, tmp_path)
    assert limits["limits"][0] == one + capacity.BESIDES + 2 * THREADS
    limits["limits"] = (256, 300)
    projects = SimpleNamespace(
        names=lambda: ["a", "b"], place=lambda _: tmp_path, server=tmp_path
    )
    assert share_out(projects)[1] == 1
    limits["limits"] = (256, 4096)
    assert share_out(projects) == (Capacity(), 8)


def test_the_soft_limit_is_raised_as_far_as_is_needed(limits, tmp_path):
    assert capacity_of(tmp_path) == Capacity()
    soft, hard = limits["limits"]
    assert CONNECTIONS + 3 * THREADS < soft < 1024
    assert hard == 4096


def test_the_hard_limit_is_left_alone(limits, tmp_path):
    limits["limits"] = (256, 300)
    assert capacity_of(tmp_path).connections < CONNECTIONS
    assert limits["limits"] == (300, 300)
    limits["limits"] = (256, resource.RLIM_INFINITY)
    assert capacity_of(tmp_path) == Capacity()
    limits["limits"] = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    assert capacity_of(tmp_path) == Capacity()


def test_arrays_that_stay_open_are_counted(limits, tmp_path):
    limits["limits"] = (256, 256)
    before = capacity_of(tmp_path)
    for place in ("index/segment-1", "index/segment-2", "models/1", "models/2"):
        (tmp_path / place).mkdir(parents=True)
        for number in range(10):
            (tmp_path / place / f"{number}.npy").touch()
    assert capacity_of(tmp_path).connections == before.connections - 30


def test_only_so_many_are_let_in():
    with Listening(socket.create_server(("127.0.0.1", 0))) as listening:
        listening.listen(1)
        listening.most = 2
        outside = [socket.create_connection(listening.getsockname()) for _ in range(3)]
        inside = [listening.accept()[0] for _ in range(2)]
        with pytest.raises(OSError, match="as may be") as refused:
            listening.accept()
        assert refused.value.errno == errno.EMFILE
        inside[0].close()
        inside.append(listening.accept()[0])
        for each in outside + inside:
            each.close()


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/api/v1/next", "application/problem+json"), ("/decide", "text/html")],
)
def test_who_comes_beyond_is_told_to_come_again(path, kind):
    scope = {
        "type": "http", "path": path, "raw_path": path.encode(), "query_string": b"",
        "method": "GET", "headers": [], "server": ("127.0.0.1", 80), "scheme": "http",
    }  # fmt: skip
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(busy(scope, None, send))
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    assert sent[0]["status"] == 503
    assert headers["retry-after"] == "2"
    assert headers["connection"] == "close"
    assert headers["content-type"].startswith(kind)
    assert headers["x-content-type-options"] == "nosniff"
    assert b"try again in a moment" in sent[1]["body"]


def test_only_who_waits_for_long_makes_room():
    def silent(state, seconds):
        protocol = SimpleNamespace(
            conn=SimpleNamespace(their_state=state, states={}),
            since=capacity.time.monotonic() - seconds,
        )
        return Bounded.silent.fget(protocol)

    assert silent(h11.IDLE, LONG_SILENT + 1)
    assert not silent(h11.IDLE, 0)
    assert not silent(h11.SEND_BODY, LONG_SILENT + 1)
    assert not silent(h11.DONE, LONG_SILENT + 1)


def test_a_threads_connection_ends_with_it(desk):
    stores, engines = [], []

    def reads():
        stores.append(weakref.ref(desk.store))
        engines.append(desk.store.engine)

    for _ in range(3):
        thread = threading.Thread(target=reads)
        thread.start()
        thread.join()
    assert [store() for store in stores] == [None] * 3
    for engine in engines:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            engine.run("SELECT 1")
    desk.store.check()


def test_no_more_files_is_said_to_come_again(client, app, monkeypatch):
    def none(*_args, **_named):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(app.state.desk.models, "current", none)
    answer = client.get("/settings/model")
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "2"
    assert "too many files open" in answer.text


def test_a_store_that_cannot_be_opened_for_too_many_files_says_so(monkeypatch):
    from classmark.workbench.store import schema

    monkeypatch.setattr(schema, "_may_open_none", lambda: True)
    message = str(schema.damaged("x.sqlite", "unable to open database file"))
    assert message == (
        "x.sqlite cannot be opened (this process may open no more files): raise their "
        "number (ulimit -n), or try again in a moment"
    )

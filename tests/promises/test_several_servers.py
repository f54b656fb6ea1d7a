"""Several servers over one project in PostgreSQL: what one knows, the others know."""

import asyncio
import json
import re
import shutil
import signal
import socket
import subprocess
import time
from contextlib import ExitStack, contextmanager

import httpx2 as httpx
import pytest

from classmark.web.guard.auth import REMEMBERED, csrf_of, hash_password
from classmark.workbench.project import Project, info
from classmark.workbench.team.people import add_user
from projects import new_parish
from promises.living import ask, decisions_in, served, together
from proxies import DEPLOY, for_several, nginx_file

NAME = "library.example"
PASSWORD = "a plain long sentence"  # noqa: S105 (of the tests)
SOON = 2.5  # seconds after which the others know
DOCUMENTS = [f"{name}-{n}" for name in ("bees", "bread", "candles") for n in range(8)]


@pytest.fixture
def folder(tmp_path, postgres_store):
    made = new_parish(tmp_path / "parish", store=postgres_store())
    with Project(made) as project:
        for name, role in (("ada", "admin"), ("bo", "classifier")):
            add_user(project.store, name, hash_password(PASSWORD, name), role)
    return made


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def serving(folder, name):
    """A server of the project behind a proxy, which is this test."""
    log = folder.parent / name
    words = ("--behind-proxy", "127.0.0.1", "--name", NAME, "--port", free_port())
    return served(folder, log, *words)


@pytest.fixture
def two(folder):
    with serving(folder, "one") as one, serving(folder, "two") as other:
        for each in (one, other):
            wait_until(lambda each=each: healthy(each))
        yield one, other


def healthy(server):
    try:
        return httpx.get(f"http://127.0.0.1:{server.port}/healthz").status_code == 200
    except httpx.TransportError:
        return False


def wait_until(is_so, seconds=60.0):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


class Person:
    """A browser; the proxy sends each of its requests where the test says."""

    def __init__(self, name):
        self.name, self.secret, self.cookie = name, "", ""

    def ask(self, server, method, path, **data):
        headers = {"Host": NAME, "X-Forwarded-Proto": "https"}
        headers |= {"X-Forwarded-For": "192.0.2.7", "X-CSRF": csrf_of(self.secret)}
        if self.secret:
            headers["Cookie"] = f"{self.cookie}={self.secret}"
        address = f"http://127.0.0.1:{server.port}{path}"
        data = data or None
        return httpx.request(method, address, headers=headers, data=data, timeout=30)

    def enter(self, server, password=PASSWORD):
        data = {"name": self.name, "password": password}
        answer = self.ask(server, "POST", "/enter", **data)
        if answer.status_code == 303:
            ((self.cookie, self.secret),) = answer.cookies.items()
        return answer.status_code

    def is_known(self, server):
        answer = self.ask(server, "GET", "/settings/me")
        assert answer.status_code in {200, 303}
        return answer.status_code == 200


def decide(server, document, *names, version=None):
    body = {"document": document, "assign": names, "version": version}
    return asyncio.run(ask(server, "POST", "/decide", body))


@contextmanager
def events_of(server):
    """The lines of what happens at a server, as they come."""
    headers = {"Host": NAME, "Authorization": f"Bearer {server.token}"}
    address = f"http://127.0.0.1:{server.port}/api/v1/events"
    with httpx.stream("GET", address, headers=headers, timeout=SOON) as answer:
        lines = answer.iter_lines()
        assert next(lines) == ": here"
        yield (json.loads(line[6:]) for line in lines if line.startswith("data: "))


def test_a_log_in_holds_at_every_server_and_ends_at_every_server(two):
    one, other = two
    ada, bo = Person("ada"), Person("bo")
    assert ada.enter(one) == bo.enter(other) == 303
    assert all(who.is_known(server) for who in (ada, bo) for server in two)
    assert ada.ask(other, "POST", "/leave").status_code == 303
    assert not ada.is_known(other)
    time.sleep(REMEMBERED)
    assert not ada.is_known(one)
    assert ada.enter(one) == 303
    change = {"name": "bo", "role": "reader"}
    answer = ada.ask(other, "POST", "/settings/people/change", **change)
    assert answer.status_code == 303
    time.sleep(REMEMBERED)
    assert not any(bo.is_known(server) for server in two)


def test_guesses_are_counted_at_all_servers_together(two):
    one, other = two
    bo = Person("bo")
    codes = [bo.enter(server, "a guess") for server in (one, other) * 5]
    assert codes == [401] * 10
    assert bo.enter(one) == bo.enter(other) == 429


def test_a_document_that_is_open_at_one_is_given_to_nobody_at_the_other(two):
    one, other = two
    ada, bo = Person("ada"), Person("bo")
    assert ada.enter(one) == bo.enter(other) == 303
    first = ada.ask(one, "GET", "/api/v1/next").json()["document"]
    assert first
    assert bo.ask(other, "GET", "/api/v1/next").json()["document"] != first
    rows = bo.ask(other, "GET", "/api/v1/inbox").json()["rows"]
    assert {row["id"]: row["holder"] for row in rows}[first] == "ada"


def test_a_decision_is_one_of_one_log_at_every_server(two, folder):
    """Numbers, conflicts, undoing, events and what is learned."""
    one, other = two

    async def both():
        calls = (
            ask(server, "POST", "/decide", {"document": id_, "assign": ["bees"]})
            for at, id_ in enumerate(DOCUMENTS)
            for server in (two[at % 2],)
        )
        return await together(calls)

    answers = asyncio.run(both())
    assert {answer.status for answer in answers} == {200}
    numbers = {answer.json["number"] for answer in answers}
    assert len(numbers) == len(DOCUMENTS)
    assert numbers <= decisions_in(folder)
    sheet = asyncio.run(ask(other, "GET", "/sheet/bees-1")).json
    with events_of(other) as events:
        made = decide(one, "bees-1", "bread")
        assert made.status == 200
        event = next(e for e in events if e["number"] == made.json["number"])
        assert (event["kind"], event["document"], event["who"]) == (
            "decided", "bees-1", "ann",
        )  # fmt: skip
    late = decide(other, "bees-1", "birds", version=sheet["version"])
    assert late.status == 409
    undone = asyncio.run(ask(other, "POST", "/undo", {"number": made.json["number"]}))
    assert undone.status == 200
    for server in two:
        seen = asyncio.run(ask(server, "GET", "/sheet/bees-1")).json
        assert seen["version"] == undone.json["number"]
        assert asyncio.run(ask(server, "POST", "/learn")).json["learned"]
    text = {"text": "a hive of bees and their wax", "limit": 9}
    first, second = (
        asyncio.run(ask(server, "POST", "/suggest", text)).json for server in two
    )
    assert first == second, "they have learned the same, to the bit"


def test_one_that_is_killed_loses_nothing_and_the_other_goes_on(two, folder):
    one, other = two
    ada = Person("ada")
    assert ada.enter(one) == 303
    first = ada.ask(one, "GET", "/api/v1/next").json()["document"]
    numbers = {decide(one, id_, "bees").json["number"] for id_ in DOCUMENTS[:6]}
    one.process.send_signal(signal.SIGKILL)
    one.process.wait()
    assert numbers <= decisions_in(folder)
    assert ada.is_known(other)
    made = decide(other, DOCUMENTS[7], "bread")
    assert made.status == 200
    assert asyncio.run(ask(other, "POST", "/learn")).json["learned"]
    rows = ada.ask(other, "GET", "/api/v1/inbox").json()["rows"]
    assert {row["id"]: row["holder"] for row in rows}[first] == "ada", "still hers"
    with ExitStack() as stack:
        again = stack.enter_context(serving(folder, "again"))
        wait_until(lambda: healthy(again))
        assert ada.is_known(again), "nobody logs in anew"
        assert asyncio.run(ask(again, "POST", "/learn")).json["learned"]
    with Project(folder) as project:
        info(project, check=True)


@contextmanager
def nginx_before(servers, folder):
    """nginx with the file of deploy/, in front of two servers; its port."""
    program = shutil.which("nginx")
    if program is None:
        pytest.skip("needs nginx")
    site = for_several((DEPLOY / "nginx.conf").read_text())
    for known, server in zip((8000, 8001), servers, strict=True):
        site = site.replace(f"127.0.0.1:{known}", f"127.0.0.1:{server.port}")
    port = free_port()
    site = re.sub(r"listen (\[::\]:)?80;", "", site)
    site = re.sub(r"listen \[::\]:443 ssl;", "", site)
    site = site.replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl")
    site = re.sub(r"server \{\s+server_name[^}]+return 301[^}]+\}", "", site)
    file = nginx_file(folder, site, "daemon off;\nworker_processes 1;\n")
    command = [program, "-c", str(file), "-e", str(folder / "errors")]
    process = subprocess.Popen(command)  # noqa: S603 (our own)
    try:
        yield port
    finally:
        process.terminate()
        process.wait(10)


def test_behind_nginx_people_go_to_the_other_when_theirs_is_away(two, tmp_path):
    with (
        nginx_before(two, tmp_path) as port,
        httpx.Client(
            base_url=f"https://127.0.0.1:{port}",
            headers={"Host": NAME},
            verify=False,
            timeout=30,
        ) as browser,
    ):

        def status(path, method="GET", **data):
            try:
                return browser.request(method, path, data=data or None).status_code
            except httpx.TransportError:
                return 0

        wait_until(lambda: status("/healthz") == 200)
        assert status("/enter", "POST", name="ada", password=PASSWORD) == 303
        assert [status("/settings/me") for _ in range(20)] == [200] * 20
        for each in two[:1]:
            each.process.send_signal(signal.SIGKILL)
            each.process.wait()
        assert [status("/settings/me") for _ in range(20)] == [200] * 20
        assert status("/api/v1/next") == 200

"""The server as it is started: its address, its sockets, its log, TLS."""

import io
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPSConnection
from threading import Thread
from urllib.parse import urlsplit

import psutil
import pytest

from classmark.client import Client
from classmark.web.guard.auth import hash_password
from classmark.web.serve import Entrance, listen, new_server
from classmark.workbench.project import Project
from classmark.workbench.projects import Projects
from classmark.workbench.team.people import (
    add_token,
    add_user,
    find_user,
    tokens,
    users,
)

PASSWORD = "a plain long sentence"  # noqa: S105 - of this test


@contextmanager
def started(*words):
    """Run ``classmark serve`` as its users do; yield the process and its address."""
    command = [sys.executable, "-m", "classmark.cli.main", "serve", *map(str, words)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)  # noqa: S603 (ourselves)
    try:
        address = re.search(r"https?://\S+", process.stdout.readline())
        assert address, process.stderr.read()
        yield process, address[0]
    finally:
        process.send_signal(signal.SIGTERM)
        process.said = process.communicate(timeout=30)


def asked(address, context=None, **headers):
    """Status and body of an address; its fragment is sent to nobody."""
    place = urlsplit(address)
    if place.scheme == "https":
        line = HTTPSConnection(place.hostname, place.port, context=context)
    else:
        line = HTTPConnection(place.hostname, place.port)
    with closing(line):
        line.request("GET", place.path, headers=headers)
        answer = line.getresponse()
        return answer.status, answer.read().decode()


def test_it_listens_on_this_machine_only_and_says_where(project_folder):
    with Project(project_folder) as project:
        _, secret = add_token(project.store, "robot", "reader")
    with started(project_folder, "--port", 0) as (process, address):
        place, _, code = address.partition("#")
        assert len(code) >= 43
        assert asked(address)[0] == 200
        assert asked(place.replace("/enter", "/"))[0] == 303
        spent = psutil.Process(process.pid).cpu_times()
        assert spent.user + spent.system < 8, "ready in 3 s on a quiet machine"
        bearer = {"Authorization": f"Bearer {secret}"}
        page = place.replace("/enter", "/settings/model")
        status, shown = asked(page, **bearer)
        assert status == 200
        assert "Parish notes" in shown
        assert asked(page, Host="evil.example", **bearer)[0] == 403
        family = [process.pid, *(p.pid for p in psutil.Process(process.pid).children())]
        listening = [
            c.laddr.ip
            for c in psutil.net_connections("tcp")
            if c.pid in family and c.status == psutil.CONN_LISTEN
        ]
        assert listening == ["127.0.0.1"]
    out, err = process.said
    assert process.returncode == 0, "it was asked to end, and closed the project"
    assert code not in out + err
    assert secret not in out + err


def test_the_projects_of_a_folder_are_served_together(project_folder, tmp_path):
    folder = tmp_path / "several"
    folder.mkdir()
    shutil.copytree(project_folder, folder / "notes")
    projects = Projects(folder)
    with Project(projects.server) as server:
        add_user(server.store, "ada", hash_password(PASSWORD, "ada"), "admin")
        _, secret = add_token(server.store, "ada", "admin")
    with started(folder, "--projects", "--port", 0) as (process, address):
        place = address.partition("/enter#")[0]
        with Client(f"{place}/p/notes", secret) as client:
            assert client.project()["name"] == "Parish notes"
            client.decide("new-0", assign=["bees"])
            assert client.project()["counts"]["decided"] == 41
        bearer = {"Authorization": f"Bearer {secret}"}
        status, shown = asked(f"{place}/p/notes/settings/model", **bearer)
        assert status == 200
        assert "Parish notes" in shown
        assert asked(f"{place}/p/notes/inbox")[0] == 303
    assert process.returncode == 0, "it was asked to end, and closed the projects"
    with Project(folder / "notes") as project:
        assert project.lives.current() is not None, "what was learned is saved"


def test_with_a_certificate_it_speaks_tls(project_folder, tmp_path):
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl to make a certificate")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(  # noqa: S603 (our own words)
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
         "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )  # fmt: skip
    given = (project_folder, "--port", 0, "--certificate", cert, "--key", key)
    with started(*given, "--name", "localhost") as (_, address):
        assert address.startswith("https://localhost:")
        context = ssl.create_default_context(cafile=cert)
        assert asked(address, context)[0] == 200


def test_who_says_nothing_is_not_waited_for(app, monkeypatch):
    monkeypatch.setattr("classmark.web.guard.limits.PATIENCE", 0.1)
    server = new_server(app, app, Entrance())
    with listen("127.0.0.1", 0) as listening:
        thread = Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        place = listening.getsockname()
        for said in (b"", b"GET / HTTP/1.1\r\nX: ", whole(b"/enter") + b"GET /e"):
            with socket.create_connection(place, 20) as line:
                line.sendall(said)
                heard = b"".join(iter(lambda line=line: line.recv(65_536), b""))
            assert heard.startswith(b"HTTP/1.1 200" if b"/enter" in said else b"")
            assert heard.count(b"HTTP/1.1") == said.count(b"/enter")
        with socket.create_connection(place, 20) as line:
            line.sendall(whole(b"/enter"))
            assert line.recv(65_536).startswith(b"HTTP/1.1 200")
            time.sleep(0.3)
            line.sendall(whole(b"/enter"))
            assert line.recv(65_536), "between two requests the usual time is given"
        server.should_exit = True
        thread.join(20)


def whole(path):
    return b"GET " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.fixture
def command(monkeypatch, capsys):
    """Run a command with a line of input."""
    from classmark.cli.main import main

    def running(*words, given=""):
        monkeypatch.setattr(sys, "argv", ["classmark", *map(str, words)])
        monkeypatch.setattr(sys, "stdin", io.StringIO(given))
        with pytest.raises(SystemExit) as stop:
            main()
        shown = capsys.readouterr()
        return stop.value.code or 0, shown.out, shown.err

    return running


def test_users_are_kept_by_commands(command, project_folder):
    add = ("users", "add", project_folder, "ada")
    code, out, err = command(*add, "--role", "admin", given=f"{PASSWORD}\n")
    assert (code, out, err) == (0, "ada may log in, as admin\n", "")
    code, _, err = command(*add, given=f"{PASSWORD}\n")
    assert code == 2
    assert "already" in err
    code, _, err = command("users", "add", project_folder, "bob", given="short\n")
    assert code == 2
    assert "at least 12" in err
    assert command("users", "role", project_folder, "ada", "--role", "reader")[0] == 0
    assert command("users", "role", project_folder, "ada", "--role", "king")[0] == 2
    with Project(project_folder) as project:
        before = find_user(project.store, "ada")
    assert before.role == "reader"
    change = ("users", "password", project_folder, "ada")
    assert command(*change, given="quite another sentence\n")[0] == 0
    assert command("users", "remove", project_folder, "ada")[0] == 0
    shown = command("users", "list", project_folder)[1]
    assert "ada" in shown
    assert "argon2" not in shown
    with Project(project_folder) as project:
        (after,) = users(project.store)
    assert after.disabled
    assert after.password != before.password


def test_tokens_are_kept_by_commands(command, project_folder):
    made = ("tokens", "add", project_folder, "robot", "--label", "nightly")
    code, out, _ = command(*made, "--role", "classifier", "--days", 30)
    assert code == 0
    secret = out.splitlines()[-1]
    with Project(project_folder) as project:
        (token,) = tokens(project.store)
    shown = command("tokens", "list", project_folder, "--json")[1]
    assert token.id in shown
    assert secret not in shown
    assert command("tokens", "revoke", project_folder, token.id)[0] == 0
    assert command("tokens", "revoke", project_folder, "nothing")[0] == 2
    with Project(project_folder) as project:
        assert not tokens(project.store)[0].is_open


def test_what_cannot_be_served_is_one_line(command, project_folder, tmp_path):
    everywhere = ".".join("0000")
    code, _, err = command("serve", project_folder, "--host", everywhere)
    assert code == 2
    assert "classmark users add" in err
    assert err.count("\n") == 1
    code, _, err = command("serve", tmp_path / "nowhere")
    assert (code, err.count("\n")) == (2, 1)

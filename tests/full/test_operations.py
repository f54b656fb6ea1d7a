"""The manual for administrators: its files are right, and its commands run."""

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from proxies import for_several, nginx_file

ROOT = Path(__file__).parents[2]
DEPLOY, PAGES = ROOT / "deploy", ROOT / "docs" / "operations"
IN_ORDER = ("service", "monitoring", "backups", "upgrading", "container", "proxy")
# What needs a machine of its own (users, services, packages, containers), and what is
# walked from an empty folder: a project is made, served and asked how it is.
ELSEWHERE = (
    "systemctl", "useradd", "install", "python3", "pip", "ln", "podman", "docker",
)  # fmt: skip
FROM_NOTHING = ("init", "users", "serve", "curl")
SECRET = "a plain long sentence\n"  # noqa: S105 (of a trial)


def run(*words, **options):
    return subprocess.run(  # noqa: S603, PLW1510 (our own files; callers look)
        [str(word) for word in words], capture_output=True, text=True, **options
    )


def tool(name):
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


@pytest.mark.parametrize("name", ["classmark.service", "classmark-backup.timer"])
def test_units_are_what_systemd_expects(name, tmp_path):
    for unit in DEPLOY.glob("classmark*"):
        text = re.sub(
            r"/(opt/classmark/bin|usr/local/bin)/\S+", "/bin/true", unit.read_text()
        )
        (tmp_path / unit.name).write_text(text)
    answer = run(tool("systemd-analyze"), "verify", tmp_path / name)
    ours = [line for line in answer.stderr.splitlines() if "classmark" in line]
    assert not ours


@pytest.mark.parametrize("chosen", [str, for_several])
def test_nginx_reads_its_file(tmp_path, chosen):
    nginx = tool("nginx")
    site = chosen((DEPLOY / "nginx.conf").read_text())
    site = re.sub(r"listen (\[::\]:)?(80|443)", r"listen \g<1>2\2", site)
    file = nginx_file(tmp_path, site)
    answer = run(nginx, "-t", "-c", file, "-e", tmp_path / "errors")
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("chosen", [str, for_several])
def test_caddy_reads_its_file(tmp_path, chosen):
    caddy, file = tool("caddy"), tmp_path / "Caddyfile"
    file.write_text(chosen((DEPLOY / "Caddyfile").read_text()))
    answer = run(caddy, "validate", "--adapter", "caddyfile", "--config", file)
    assert answer.returncode == 0, answer.stderr


def test_the_image_is_no_root_and_copies_what_there_is():
    text = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ")
    steps = [line.split(None, 1) for line in text.splitlines() if line[:1].isupper()]
    names = [step[0] for step in steps]
    assert names[0] == "FROM"
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert "HEALTHCHECK" in names
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    for name, rest in steps:
        if name == "COPY" and not rest.startswith("--from"):
            for source in rest.split()[:-1]:
                assert (ROOT / source).exists(), source
                assert f"!{source}" in ignored, source


@pytest.mark.parametrize("name", ["podman", "docker"])
def test_an_image_is_built_where_that_can_be_done(name):
    builder = tool(name)
    if run(builder, "info").returncode:
        pytest.skip(f"{name} has no daemon that answers")
    answer = run(
        builder, "build", "-f", DEPLOY / "Containerfile", "-t", "classmark-test", ROOT
    )
    assert answer.returncode == 0, answer.stderr


def commands():
    """Every command of the pages, without ``sudo`` and whose it runs as."""
    for page in IN_ORDER:
        text = (PAGES / f"{page}.md").read_text()
        for block in re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL):
            for line in block.replace("\\\n", " ").splitlines():
                yield re.sub(r"^sudo (-u \w+ )?", "", line)


def test_every_page_is_walked():
    assert {path.stem for path in PAGES.glob("*.md")} == {"index", *IN_ORDER}


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A project of ada's, one backup of it, and the places of the pages."""
    command, project = tmp_path / "classmark", tmp_path / "lib" / "project"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m classmark.cli.main "$@"\n')
    command.chmod(0o755)
    for folder in ("lib", "backups"):
        (tmp_path / folder).mkdir()
    texts = tmp_path / "texts.jsonl"
    texts.write_text('{"id": "a", "text": "tin combs"}\n')
    password = {"input": SECRET, "check": True}
    run(command, "init", project, check=True)
    run(command, "import", texts, "-p", project, check=True)
    run(command, "users", "add", project, "ada", "--role", "admin", **password)
    run(DEPLOY / "backup", command, project, tmp_path / "backups", check=True)
    (backup,) = (tmp_path / "backups").glob("project-*.zip")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return {
        r"/opt/classmark/bin/classmark": command,
        r"(/usr/local/bin/)?classmark-backup\b": DEPLOY / "backup",
        r"/var/lib/classmark": tmp_path / "lib",
        r"/var/backups/classmark/project-2026\S+zip": backup,
        r"/var/backups/classmark": tmp_path / "backups",
        r"/tmp/trial": tmp_path / "trial",  # noqa: S108 (of the page)
        r"\bPROJECT\b": project,
    }


def verbs(line):
    """The program of a line and its first word."""
    return {Path(word).name for word in line.split()[:2]}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def healthy(line, server):
    """Whether the command that asks for health is answered, in a minute."""
    for _ in range(240):
        assert server.poll() is None, server.stderr.read()
        answer = run("sh", "-c", f"{line} --silent --fail")
        if answer.returncode == 0:
            return answer.stdout
        time.sleep(0.25)
    return ""


def test_a_project_is_made_served_and_asked_how_it_is(machine, tmp_path):
    tool("curl")
    port, fresh = free_port(), tmp_path / "fresh"
    places = machine | {
        r"/var/lib/classmark": fresh, r"\bPROJECT\b": fresh / "project",
        r"127\.0\.0\.1:8000": f"127.0.0.1:{port}",
    }  # fmt: skip
    fresh.mkdir()
    lines = {}
    for line in commands():
        if verbs(line) & set(FROM_NOTHING) and not verbs(line) & set(ELSEWHERE):
            for place, there in places.items():
                line = re.sub(place, str(there), line)  # noqa: PLW2901
            (verb,) = verbs(line) & set(FROM_NOTHING)
            lines.setdefault(verb, line)
    assert {*lines} == {*FROM_NOTHING}
    for verb in ("init", "users"):
        answer = run("sh", "-c", lines[verb], input=SECRET)
        assert answer.returncode == 0, f"{lines[verb]}: {answer.stderr}"
    words = [*shlex.split(lines["serve"]), "--port", str(port)]
    with subprocess.Popen(  # noqa: S603 (our own page's command)
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert '"status"' in healthy(lines["curl"], server)
        finally:
            server.terminate()
        assert server.wait(60) == 0, server.stderr.read()


def test_the_commands_of_the_pages_run(machine, tmp_path):
    ran = 0
    for line in commands():
        if verbs(line) & {*ELSEWHERE, *FROM_NOTHING}:
            continue
        for place, there in machine.items():
            line = re.sub(place, str(there), line)  # noqa: PLW2901
        answer = run("sh", "-c", line)
        assert answer.returncode == 0, f"{line}: {answer.stderr}"
        ran += 1
    assert ran >= 8
    assert (tmp_path / "lib" / "project-newer").is_dir()
    assert "tin combs" in (tmp_path / "lib" / "since.jsonl").read_text()


def test_a_backup_removes_old_ones_only_after_the_new_one(tmp_path):
    old = tmp_path / "project-2020-01-01T000000Z.zip"
    old.write_text("old")
    os.utime(old, (0, 0))
    broken = run(DEPLOY / "backup", "/bin/false", tmp_path / "project", tmp_path)
    assert broken.returncode
    assert old.exists()
    assert (
        run(DEPLOY / "backup", "/bin/true", tmp_path / "project", tmp_path).returncode
        == 0
    )
    assert not old.exists()

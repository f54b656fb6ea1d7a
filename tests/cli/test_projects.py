"""``classmark projects``: several projects in one folder."""

import io
import json

import pytest

from classmark.workbench.project import Project
from classmark.workbench.projects import Projects
from classmark.workbench.team.people import users


@pytest.fixture
def folder(run, tmp_path):
    assert run("projects", "new", "all", "birds", "--title", "Bird notes")[0] == 0
    assert run("projects", "new", "all", "town")[0] == 0
    return tmp_path / "all"


@pytest.mark.usefixtures("folder")
def test_projects_are_made_renamed_and_listed(run):
    assert (
        "is now called" in run("projects", "rename", "all", "town", "--title", "T")[1]
    )
    rows = json.loads(run("projects", "list", "all", "--json")[1])
    assert [(row["name"], row["title"]) for row in rows] == [
        ("birds", "Bird notes"), ("town", "T"),
    ]  # fmt: skip
    code, _, said = run("projects", "new", "all", "../out")
    assert code == 2
    assert "small letters" in said
    assert run("projects", "rename", "all", "no", "--title", "T")[0] == 2


def test_an_archived_project_takes_nothing_until_it_is_back(run, folder, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": "a", "text": "a nest"}\n')
    assert run("projects", "archive", "all", "birds")[0] == 0
    code, _, said = run("import", "a.jsonl", "--project", "all/birds")
    assert code == 2
    assert "classmark projects unarchive" in said
    assert run("backup", "all/birds", "kept.zip")[0] == 0
    assert run("projects", "unarchive", "all", "birds")[0] == 0
    assert run("import", "a.jsonl", "--project", "all/birds")[0] == 0
    assert run("projects", "restore", "all", "kept.zip", "--title", "Again")[0] == 0
    names = [(each.name, each.documents) for each in Projects(folder).summaries()]
    assert names == [("again", 0), ("birds", 1), ("town", 0)]


def test_accounts_are_those_of_the_server(run, folder, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("a horse, a battery\n"))
    assert run("users", "add", "all", "ada", "--role", "admin")[0] == 0
    assert "ada" in run("users", "list", "all")[1]
    assert run("tokens", "add", "all", "ada")[0] == 0
    with Project(folder / ".server") as server:
        assert [user.name for user in users(server.store)] == ["ada"]
    assert "none yet" in run("users", "list", "all/birds")[1]


@pytest.mark.usefixtures("folder")
def test_what_is_to_be_served_is_said(run):
    code, _, said = run("serve", "all")
    assert code == 2
    assert "--projects" in said
    code, _, said = run("serve", "all/birds", "--projects")
    assert code == 2
    assert "a project itself" in said
    code, _, said = run("serve", "all", "--projects", "--annif")
    assert code == 2
    assert "token" in said
    code, _, said = run("serve", "all", "--projects", "--host", "0.0.0.0")  # noqa: S104
    assert code == 2
    assert "no admin" in said

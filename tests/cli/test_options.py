"""A command of a function: groups of options, the open project, the printed result."""

import json
from threading import Thread
from types import ModuleType

import pytest
from typer.testing import CliRunner

from classmark.cli.main import group
from classmark.cli.options import (
    ALL,
    DIR,
    JSON,
    argument,
    command,
    deferred,
    flag,
    option,
    options,
)
from classmark.cli.output import Text, View
from classmark.workbench.project import Project
from classmark.workbench.results import Table
from projects import new_project


@options
class Paper:
    """What is printed on."""

    size: str = option("Of a page.", "a4")
    colours: tuple[str, ...] = option("Repeatable.", (), "--colour")


@options
class Bound(Paper):
    """And how it is bound."""

    thread: bool = flag("Not glued.", "--thread")


@command(ALL | JSON)
def bind(
    *,
    title: str = argument("Of the book.", "TITLE"),
    paper: Bound,
    pages: int = option("How many.", 8, "-n"),
) -> View:
    """Bind a book."""
    return View({**vars(paper), "pages": pages}, [Text(title), f"{paper}", TABLE])


@command()
def name(project: Project = DIR, loud: bool = flag("In capitals.", "--loud")) -> str:
    """Say what a project is called."""
    title = project.settings.name
    return title.upper() if loud else title


TABLE = Table("Pages", [{"page": n} for n in (1, 2)])


@pytest.fixture
def run():
    app = group("Books.", {"bind": bind, "name": name})
    app.callback()(lambda: None)

    def running(*words):
        done = CliRunner().invoke(app, [str(word) for word in words])
        return done.exit_code, done.output

    return running


def test_the_options_of_a_group_are_one_value(run):
    code, out = run("bind", "Bees", "--colour", "red", "--colour", "blue", "--json")
    assert code == 0
    assert json.loads(out) == {
        "size": "a4",
        "colours": ["red", "blue"],
        "thread": False,
        "pages": 8,
    }


def test_without_json_people_read_the_parts_in_their_order(run):
    code, out = run("bind", "Bees", "--thread", "-n", 2)
    assert code == 0
    assert out.startswith("Bees\nBound(size='a4', colours=(), thread=True)\nPages\n")


def test_the_help_has_the_options_in_the_order_of_the_parameters(run):
    code, out = run("bind", "--help")
    assert code == 0
    names = ["TITLE", "--size", "--colour", "--thread", "-n", "--all", "--json"]
    places = [out.rindex(f" {each} ") for each in names]
    assert places == sorted(places)


def test_a_group_has_the_defaults_of_its_options():
    assert Bound() == Bound("a4", (), False)
    assert list(Bound.__options__) == ["size", "colours", "thread"]


def test_the_project_is_opened_and_closed(run, tmp_path):
    new_project(tmp_path / "shelf", name="the shelf")
    assert run("name", tmp_path / "shelf") == (0, "the shelf\n")
    assert run("name", tmp_path / "shelf", "--loud") == (0, "THE SHELF\n")
    code, out = run("name")
    assert code == 2
    assert "Missing argument 'DIR'" in out


def test_a_function_is_described_without_its_options(run):
    code, out = run("--help")
    assert code == 0
    assert "Bind a book." in out


def test_a_deferred_module_is_imported_when_it_is_first_used():
    with deferred():
        from classmark.cli import no_such_module
        from classmark.workbench import settings
    assert settings.FILE == "classmark.toml"
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        no_such_module.main()
    with pytest.raises(ImportError, match="no_such_module"):
        from classmark.cli import no_such_module


def test_other_threads_import_as_ever_while_modules_are_deferred():
    imported = []

    def import_now():
        from classmark.workbench import settings

        imported.append(settings)

    with deferred():
        thread = Thread(target=import_now)
        thread.start()
        thread.join()
    assert isinstance(imported[0], ModuleType)

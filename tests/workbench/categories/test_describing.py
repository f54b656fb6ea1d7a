"""What is said of a category is logged, undone, and comes back from files."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from classmark.cli.main import app
from classmark.formats.taxonomies import (
    read_category_csv,
    read_skos,
    write_category_csv,
    write_skos,
)
from classmark.problems import Mistake
from classmark.taxonomy.category import Category
from classmark.workbench.categories import edit
from classmark.workbench.categories.edit import describe
from classmark.workbench.project import Project
from classmark.workbench.store.log import require_replayed
from classmark.workbench.store.undo import undo
from projects import new_project

BEES = Category("bees", "Bees", "Hives.", ("apids",), ("life",), "595", guideline="?")


@pytest.fixture
def project(tmp_path):
    folder = new_project(tmp_path / "shelf", [], [Category("life"), BEES])
    with Project(folder) as opened:
        yield opened


def bees(project):
    return project.store.categories()[1]


def test_a_guideline_is_kept_logged_and_undone(project):
    assert bees(project) == BEES
    logged = describe(project, "bees", {"guideline": "Wings?", "note": ""}, who="eve")
    assert bees(project) == replace(BEES, guideline="Wings?", note="")
    (entry,) = project.store.log(logged.numbers[0] - 1)
    assert (entry.act, entry.document) == ("describe", None)
    assert entry.numbers[0] == project.store.number_of("bees")
    assert logged.said == "described bees: guideline, note"
    undo(project, logged.numbers[0])
    assert bees(project) == BEES
    require_replayed(project.store)


def test_synonyms_are_replaced(project):
    describe(project, "bees", {}, ["honeybees", " ", "apids"])
    assert bees(project).synonyms == ("honeybees", "apids")
    describe(project, "bees", {}, [])
    assert bees(project).synonyms == ()


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({}, "enter its note"),
        ({"id": "x"}, "id cannot be described"),
        ({"guideline": "?"}, "this is already so"),
    ],
)
def test_what_says_nothing_is_refused(project, said, problem):
    with pytest.raises(Mistake, match=problem):
        describe(project, "bees", said)


def test_a_split_keeps_the_guideline_of_the_new_one(project):
    new = edit.new_category("ants", "Ants", "life", "Hills.", "Six legs?")
    edit.add(project, new)
    assert project.store.categories()[2].guideline == "Six legs?"


RDF = pytest.mark.needs("rdflib")


@pytest.mark.parametrize(
    ("write", "read", "name"),
    [
        (write_category_csv, read_category_csv, "tree.csv"),
        (write_category_csv, read_category_csv, "tree.tsv"),
        pytest.param(write_skos, read_skos, "tree.ttl", marks=RDF),
        pytest.param(write_skos, read_skos, "tree.rdf", marks=RDF),
    ],
)
def test_files_keep_the_guideline(tmp_path, write, read, name):
    tree = [replace(BEES, guideline='Wings, "and" a sting?'), Category("life")]
    write(tree, tmp_path / name)
    assert sorted(read(tmp_path / name), key=lambda c: c.id) == tree


def test_a_file_without_guidelines_reads_as_before(tmp_path):
    (tmp_path / "tree.csv").write_text("id,label\nbees,Bees\n")
    assert read_category_csv(tmp_path / "tree.csv") == [Category("bees", "Bees")]


def test_on_the_command_line(project):
    folder = str(project.folder)

    def run(*words):
        done = CliRunner().invoke(app, ["taxonomy", *words, "--project", folder])
        return done.exit_code, done.stdout

    code, said = run("describe", "bees", "--guideline", "Wings?", "--synonym", "a",
                     "--synonym", "b", "--json")  # fmt: skip
    assert code == 0
    assert json.loads(said)["said"] == "described bees: guideline, synonyms"
    assert bees(project) == replace(BEES, guideline="Wings?", synonyms=("a", "b"))
    assert run("describe", "bees")[0] != 0
    assert run("add", "ants", "--guideline", "Six legs?")[0] == 0
    assert project.store.categories()[2].guideline == "Six legs?"

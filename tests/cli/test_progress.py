"""classmark progress and classmark agreement."""

import json

import pytest
import typer
from typer.testing import CliRunner

from classmark.cli.decide import agreement, progress
from classmark.workbench.deciding.decide import Decision, Seen, decide
from classmark.workbench.project import Project
from projects import new_project

app = typer.Typer()
app.command()(progress)
app.command()(agreement)


def run(*words):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def shelf(tmp_path):
    """Fifteen documents, three categories."""
    texts = {f"d{n}": "hive and oven" for n in range(15)}
    with Project(
        new_project(tmp_path / "shelf", texts, ["bees", "bread", "wax"])
    ) as project:
        yield project


def test_progress_in_words_and_numbers(shelf):
    said = run("progress", shelf.folder)
    assert "0 of 15 documents decided" in said
    assert "nothing is measured yet" in said
    for n in range(12):
        seen = {"bees": Seen("000001", 1 + n % 2)}
        decide(shelf, f"d{n}", Decision(("bees",)), seen, "ada")
    said = run("progress", shelf.folder)
    assert "12 of 15 documents decided; 3 wait" in said
    assert "1.50 categories looked at per document" in said
    assert "go on" in said
    found = json.loads(run("progress", shelf.folder, "--json"))
    assert (found["decided"], found["measured"], found["waiting"]) == (12, 12, 3)
    assert found["whole"]["one_error"] == 0.5


def test_agreement_in_words_and_numbers(shelf):
    assert "no document was read by two people" in run("agreement", shelf.folder)
    for who, names in {"ada": ("bees", "wax"), "bo": ("bees", "bread")}.items():
        for n, name in enumerate(names):
            decide(shelf, f"d{n}", Decision((name,)), {}, who)
    said = run("agreement", shelf.folder)
    assert "2 documents read by two or more of ada, bo" in said
    assert "Not settled: 1" in said
    found = json.loads(run("agreement", shelf.folder, "--json"))
    assert found["disagreements"] == ["d1"]
    assert found["pairs"][0]["same"] == 1
    assert found["masi"] == found["nominal"]

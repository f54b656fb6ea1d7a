"""The report of a project's taxonomy, from the workbench and the command line."""

import json
import re

import pytest
from typer.testing import CliRunner

from classmark.cli.main import app
from classmark.problems import Mistake
from classmark.workbench.categories.report import report_taxonomy, try_pruning
from classmark.workbench.files.importing import (
    import_documents,
    import_taxonomy,
)
from classmark.workbench.project import Project
from projects import new_library, new_project

CATEGORIES = (
    "id,parent,label\nall,,All\nbees,all,Bees\nbread,all,Bread\nrye,bread,Rye\n"
)


def printed(*words):
    done = CliRunner().invoke(app, ["taxonomy", *map(str, words)])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def bare(tmp_path):
    """Return a project with categories and no documents."""
    (tmp_path / "tree.csv").write_text(CATEGORIES)
    with Project(new_project(tmp_path / "bare", [])) as project:
        import_taxonomy(project, tmp_path / "tree.csv")
    return tmp_path / "bare"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Return the embedded library as a project."""
    return new_library(tmp_path_factory.mktemp("projects") / "library")


def test_without_documents_the_tree_is_described(bare):
    with Project(bare) as project:
        found = report_taxonomy(project)
    assert found.plot is None
    assert found.facts["leaves"] == 2
    assert found.facts["documents"] is None
    assert "documents are needed" in printed("report", "-p", bare)


def test_one_document_is_described_and_nothing_drawn(bare, tmp_path):
    (tmp_path / "one.jsonl").write_text('{"id": "1", "text": "rye", "primary": "rye"}')
    with Project(bare) as project:
        import_documents(project, tmp_path / "one.jsonl")
        found = report_taxonomy(project)
        assert found.plot is None
        assert found.facts["documents"] == 1
        assert "too few" in found.table.note
        with pytest.raises(Mistake, match="1 documents have a category"):
            try_pruning(project)


def test_the_library_is_reported_with_a_plot(library):
    facts = json.loads(printed("report", "-p", library, "--json"))
    assert facts["strategy"] in {"flat", "top-down", "pruned"}
    assert facts["why"]
    assert facts["bound_flat"]["complexity"] > facts["bound_top_down"]["complexity"]
    assert facts["class_sizes"]["exponent"] > 0
    assert facts["feature_laws"]["1"]["ranks"] == 9
    nodes = facts["node_bounds"]
    assert len(nodes) == 33
    assert [node["documents"] for node in nodes] == sorted(
        (node["documents"] for node in nodes), reverse=True
    )
    assert nodes[0]["node"] is None
    assert nodes[0]["logistic"] == nodes[0]["features"] ** 2 * 9 / nodes[0]["documents"]
    plot = library / "reports" / "taxonomy.svg"
    assert facts["plot"] == str(plot)
    drawn = plot.read_text()
    assert "documents of a leaf: slope" in drawn
    assert "features of a node, level 1" in drawn
    assert "slope −" in drawn
    assert "slope -" not in drawn


def test_bounds_that_say_nothing_are_said_to(library):
    out = " ".join(printed("report", "-p", library).split())
    assert "No limit on the errors can be proven" in out
    assert "At 0 of the 33 categories with subcategories" in out
    assert not re.search(r"million|errors 0\.\d+ \+", out)


def test_pruning_is_tried_and_the_taxonomy_stays(library):
    with Project(library) as project:
        before = project.store.categories()
        found = try_pruning(project, "meta", bold=True)
        assert project.store.categories() == before
    assert [row["what"] for row in found.table.rows][-1].startswith("theoretical bound")
    first = found.table.rows[0]
    assert (first["before"], first["after"]) == (0, len(found.facts["removed"]))
    assert "theoretical bound is not used" in found.table.note
    assert found.facts["removed"]
    assert "micro sign test" in found.table.note
    words = ("prune", "--policy", "random", "-p", library)
    out = printed(*words, "--share", "0.5")
    assert "inner categories (random)" in out
    assert ": at random" in out
    facts = json.loads(printed(*words, "--share", "0", "--json"))
    assert facts["removed"] == []
    assert facts["before"]["error"] == facts["after"]["error"]


def test_pruning_needs_documents_and_a_known_policy(bare, library):
    with Project(bare) as project, pytest.raises(Mistake, match="no labelled"):
        try_pruning(project)
    with Project(library) as project:
        with pytest.raises(Mistake, match="policy 'guess' is not known"):
            try_pruning(project, "guess")
        with pytest.raises(Mistake, match="base 'trees' is not known"):
            try_pruning(project, base="trees")
        with pytest.raises(Mistake, match="share is 2"):
            try_pruning(project, share=2)


def test_a_project_without_categories_is_told_so(tmp_path):
    folder = new_project(tmp_path / "none", [])
    with Project(folder) as project, pytest.raises(Mistake, match="import"):
        report_taxonomy(project)


def test_a_classifier_of_ones_own_is_trained_and_used(library, tmp_path):
    path = tmp_path / "meta.json"
    facts = json.loads(printed("train-meta", path, "-p", library, "--json"))
    assert facts["file"] == str(path)
    (count,) = facts["nodes"].values()
    assert count > 30
    foretold = facts["foretold"]
    assert foretold["shipped"]["nodes"] == foretold["learned"]["nodes"] == count
    out = printed("prune", "--meta", path, "--bold", "-p", library)
    assert f"(meta:{path})" in " ".join(out.split())
    assert "learned from other categories" in " ".join(out.split())
    both = ("--also", library, "--alone", "-p", library, "--json")
    facts = json.loads(printed("train-meta", path, *both))
    assert list(facts["nodes"].values()) == [count, count]
    words = ("prune", "--meta", "x", "--policy", "bound", "-p", str(library))
    done = CliRunner().invoke(app, ["taxonomy", *words])
    assert "--meta goes with --policy meta" in str(done.exception)
    out = printed("prune", "--policy", "flatten-top", "-p", library)
    assert ": layer 1" in out

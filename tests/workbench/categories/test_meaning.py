"""Proposals and trees are made of words and meaning, and named by words alone."""

import pytest

from classmark.workbench.categories.build import build
from classmark.workbench.categories.propose import METHODS, propose
from classmark.workbench.categories.report import report_taxonomy, try_pruning
from classmark.workbench.project import Project
from concepts import STATIC, use_concepts
from projects import TREE, new_project, parish

PAIRS = {  # the documents of a subject share no word, those of a town do
    "b1": "honey sold at Weston fair",
    "b2": "an apiary near Easton green",
    "l1": "a judge came to Weston fair",
    "l2": "the lawsuit about Easton green",
}
ROWS = [{"id": id_, "text": text, "labels": ["notes"]} for id_, text in PAIRS.items()]


@pytest.fixture
def source(monkeypatch):
    return use_concepts(monkeypatch)


def opened(folder, rows, meaning=True):
    parts = {"meaning": STATIC} if meaning else {}
    return Project(new_project(folder, rows, **parts))


def parts(proposals):
    return sorted(sorted(proposal.documents) for proposal in proposals)


@pytest.mark.parametrize("method", METHODS)
def test_daughters_are_proposed_by_meaning_and_named_by_words(tmp_path, source, method):
    source.weight = 2.0
    with opened(tmp_path / "shelf", ROWS) as project:
        found = propose(project, "notes", k=2, method=method)
    by_town = [["b1", "l1"], ["b2", "l2"]]
    by_subject = [["b1", "b2"], ["l1", "l2"]]
    assert parts(found) == (by_town if method == "mixture" else by_subject)
    for proposal in found:
        assert proposal.terms
        assert "meaning" not in f"{proposal.id} {proposal.label} {proposal.terms}"
        assert 0 < proposal.cohesion <= 1 + 1e-9


def test_words_alone_propose_by_towns(tmp_path):
    with opened(tmp_path / "shelf", ROWS, meaning=False) as project:
        found = propose(project, "notes", k=2)
    assert parts(found) == [["b1", "l1"], ["b2", "l2"]]


def test_a_tree_is_built_by_meaning_and_named_by_words(tmp_path, source):
    source.weight = 2.0
    rows = [row | {"labels": [row["id"]]} for row in ROWS]
    with opened(tmp_path / "shelf", rows) as project:
        groups = build(project, branching=2)
    assert sorted(sorted(group.categories) for group in groups) == [
        ["b1", "b2"],
        ["l1", "l2"],
    ]
    assert all(group.terms for group in groups)
    assert "meaning" not in str(groups)


def test_the_report_counts_words_and_pruning_sees_both(tmp_path, source):
    reports, trials = [], []
    for name, settings in (("plain", {}), ("both", {"meaning": STATIC})):
        folder = new_project(
            tmp_path / name, parish(decided=True), TREE, name="n", **settings
        )
        with Project(folder) as project:
            reports.append(report_taxonomy(project).facts)
            source.encoded.clear()
            trials.append(try_pruning(project).facts)
            assert bool(source.encoded) == bool(settings)
    assert reports[0] == reports[1]
    assert all(trial["tested"] for trial in trials)

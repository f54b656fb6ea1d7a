"""A record that came twice is screened once, and whole records go out again."""

import csv
import json

import pytest

from classmark.corpus.documents import Document
from classmark.examples.screening import StoppingRule
from classmark.formats import read_records
from classmark.formats.records import Record
from classmark.workbench.examples import screening
from classmark.workbench.examples.export import export_ranking
from classmark.workbench.examples.like import SearchStart
from classmark.workbench.project import Project
from projects import new_project

MILLS = (
    "The wind turns the sails, the sails turn the stones, and a miller with a lantern "
    "grinds rye, barley and oats all night for bakers in town"
)


def record(id_, title, abstract, labels=(), **facts):
    document = Document(id_, {"title": title, "abstract": abstract})
    return Record(document, dict.fromkeys(labels, 1.0), facts)


RECORDS = [
    record("m1", "Mills", MILLS, ["included"], year="1987", authors="Moss, G; Nye, H"),
    record("m2", "Mills.", f"{MILLS}.", year="1987"),
    record("m3", "Mills", MILLS, year="1988"),
    record("d1", "Peat", "Peat is cut.", doi="10.1000/P"),
    record("d2", "On peat", "Cut peat.", DOI="https://doi.org/10.1000/p"),
    record("t1", "Reed!", "Cut.", Authors="Oak, I", year="1990"),
    record("t2", "Reed", "Cut", authors="Oak I", year="1990"),
    record("n1", "Reply", "", ["not included"]),
    record("n2", "Reply", "", year="2001"),
    record("s1", "=Steam", "Steam & fire", notes="seen; twice", journal="Boilers"),
]


@pytest.fixture
def project(tmp_path):
    with Project(new_project(tmp_path / "review", RECORDS)) as opened:
        yield opened


def start(project, **more):
    begins = SearchStart(category="included", rule=StoppingRule(batch=20), **more)
    return screening.start_screening(project, begins)


def test_duplicates_are_hidden_counted_and_listed(project):
    status = start(project)
    assert (status.duplicates, status.progress.documents) == (3, 7)
    assert "3 duplicates are hidden" in screening.words(status)
    rows = screening.duplicates(project).rows
    pairs = {(row["hidden"], row["shown"]) for row in rows}
    assert pairs == {("m2", "m1"), ("d2", "d1"), ("t2", "t1")}
    shown = {each.id for each in screening.read_next(project)}
    assert shown == {"m3", "d1", "t1", "n2", "s1"}  # m1 and n1 are decided


def test_a_hidden_record_that_is_answered_counts_again(project):
    start(project)
    status = screening.mark(project, None, {"yes": ["d2"], "no": ["d1"]})
    assert (status.duplicates, status.progress.documents) == (2, 8)
    assert {each.id for each in screening.read_next(project)} == {
        "m3", "t1", "n2", "s1",
    }  # fmt: skip


def test_duplicates_may_be_shown(project):
    assert start(project, hide=False).progress.documents == len(RECORDS)


def test_what_was_decided_before_is_known(project):
    progress = start(project).progress
    assert (progress.read, progress.found) == (2, 1)


def test_abstracts_and_sources_are_shown(project):
    start(project)
    hits = {each.id: each for each in screening.read_next(project)}
    assert "".join(piece.text for piece in hits["m3"].text) == MILLS
    facts = project.store.record("m1").meta
    assert screening.source_of(facts) == "Moss, G; Nye, H. 1987"


@pytest.mark.parametrize("ending", [".ris", ".csv", ".jsonl"])
def test_whole_records_go_out_and_come_in_again(project, tmp_path, ending):
    start(project)
    screening.mark(project, None, {"no": ["s1"], "yes": ["t1"]})
    path = tmp_path / f"read{ending}"
    read = screening.screened(project, everything=True)
    assert export_ranking(read, path, project.store) == 4
    if ending == ".jsonl":
        rows = map(json.loads, path.read_text().splitlines())
        records = {row["id"]: row["record"] for row in rows}
        assert records["s1"]["included"] == "0"
        assert records["s1"]["abstract"] == "Steam & fire"
        return
    if ending == ".csv":
        with path.open() as file:
            rows = {row["id"]: row for row in csv.DictReader(file)}
        assert rows["s1"]["title"] == "'=Steam"  # no spreadsheet computes it
        assert (rows["m1"]["included"], rows["m1"]["year"]) == ("1", "1987")
    again = {each.document.title.strip("'"): each for each in read_records(path)}
    assert again["Mills"].document.fields["abstract"] == MILLS
    if ending == ".ris":
        assert again["Mills"].meta["authors"] == "Moss, G; Nye, H"
        decided = {title: set(each.labels) for title, each in again.items()}
        assert decided == {
            "Mills": {"included"}, "Reply": {"not included"},
            "=Steam": {"not included"}, "Reed!": {"included"},
        }  # fmt: skip
        assert again["=Steam"].meta["notes"].startswith("seen; twice")

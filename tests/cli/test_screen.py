"""Screening from the command line."""

import csv
import json

import pytest

ROWS = [
    {"id": f"b{at}", "title": f"Bees {at}", "text": "hive honey wax swarm"}
    for at in range(6)
] + [
    {"id": f"o{at}", "title": f"Oven {at}", "text": "dough yeast rye crust"}
    for at in range(24)
]


@pytest.fixture
def shelf(run, tmp_path, monkeypatch):
    rows = [row | ({"labels": ["bees"]} if row["id"][0] == "b" else {}) for row in ROWS]
    (tmp_path / "notes.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert run("init", "shelf")[0] == 0
    monkeypatch.setenv("CLASSMARK_PROJECT", "shelf")
    assert run("import", "notes.jsonl")[0] == 0
    return run


def read_a_batch(shelf):
    words = []
    for each in json.loads(shelf("screen", "next", "--json")[1]):
        words += ["--yes" if each["id"][0] == "b" else "--no", each["id"]]
    code, out, err = shelf("screen", "mark", *words, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_from_start_to_stop(shelf, tmp_path):
    code, out, err = shelf(
        *("screen", "start", "--examples", "b0", "--name", "bees", "--batch", 8),
        *("--target", 0.8, "--error", 0.2),
    )
    assert (code, err) == (0, "")
    assert out.startswith("bees\n  1 relevant found; 1 of 30 documents read (3.3 %)")
    assert "go on" in out
    code, out, _ = shelf("screen", "next", "-k", 3)
    assert code == 0
    assert out.startswith("  1. Bees ")
    assert "likely" in out
    while read_a_batch(shelf)["phase"] != "done":
        pass
    code, out, _ = shelf("screen", "status", "--plot")
    assert code == 0
    assert "stop: " in out
    assert "plot: shelf/reports/screen-bees.svg" in out
    assert (tmp_path / "shelf" / "reports" / "screen-bees.svg").exists()
    assert shelf("screen", "export", "found.csv")[0] == 0
    rows = list(csv.DictReader((tmp_path / "found.csv").read_text().splitlines()))
    assert rows[0]["id"] == "b0"
    assert {row["id"][0] for row in rows} == {"b"}
    assert shelf("screen", "export", "all.ris", "--all")[0] == 0
    assert shelf("screen", "export", "found.run")[0] == 0
    code, out, _ = shelf("screen", "mark", "--undo")
    assert code == 0
    assert out.startswith("undone: ")
    code, out, _ = shelf("screen", "status", "--all", "--json")
    assert [row["screening"] for row in json.loads(out)] == ["bees"]


def test_what_an_export_leaves_out_is_told_and_can_be_had(shelf, tmp_path):
    begin = ("screen", "start", "--examples", "b0", "--batch", 8, "--name", "bees")
    assert shelf(*begin)[0] == 0
    read_a_batch(shelf)
    out = " ".join(shelf("screen", "export", "found.run")[1].split())
    found = (tmp_path / "found.run").read_text().count("\n")
    assert f"left out, as not found relevant: {30 - found} (--all writes those" in out
    out = " ".join(shelf("screen", "export", "read.ris", "--all")[1].split())
    read = (tmp_path / "read.ris").read_text().count("TY  - ")
    assert found < read < 30
    told = f"not read, or hidden as copies: {30 - read} (--everything all of them)"
    assert told in out
    code, out, _ = shelf("screen", "export", "whole.csv", "--everything")
    assert (code, out) == (0, "wrote 30 documents to whole.csv\n")
    rows = list(csv.DictReader((tmp_path / "whole.csv").read_text().splitlines()))
    assert [row["included"] for row in rows].count("") == 30 - read


def test_a_category_is_tried_out(shelf, tmp_path):
    words = ("screen", "simulate", "bees", "--runs", 2, "--target", 0.8)
    code, out, err = shelf(*words)
    assert (code, err) == (0, "")
    assert "Screening for bees, tried out" in out
    assert "WSS@80" in out
    assert "6 of 30 documents are relevant" in out
    assert (tmp_path / "shelf" / "reports" / "screen-try-bees.svg").exists()
    found = json.loads(shelf(*words, "--json")[1])
    assert len(found["rows"]) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["start", "--examples", "x1"], "there is no document 'x1'"),
        (["start", "--target", "1"], "target is 1"),
        (["start", "--error", "0"], "error is 0"),
        (["start", "--batch", "0"], "batch is 0"),
        (["start", "--patience", "inf"], "patience is inf"),
        (["start", "--file", "strange.txt"], "none of its words is in the documents"),
        (["start", "--examples", "b0", "--name", "s"], "a search 's' already"),
        (["next", "--name", "t"], "there is no search 't'"),
        (
            ["start", "--category", "included", "--name", "t"],
            "add included; or begin from relevant documents and texts: --examples",
        ),
        (["next", "-k", "0"], "count is 0"),
        (["mark"], "nothing is marked"),
        (["mark", "--yes", "b1", "--no", "b1"], "marked twice"),
        (["mark", "--undo", "--yes", "b1"], "--undo stands alone"),
        (["export", "x.doc"], "its ending names no format"),
        (["simulate", "wasps"], "there is no category 'wasps'"),
        (["simulate", "bees", "--runs", "0"], "runs is 0"),
        (["simulate", "bees", "--random-state", "-1"], "random_state is -1"),
    ],
)
def test_mistakes_are_one_line(shelf, tmp_path, words, said):
    (tmp_path / "strange.txt").write_text("zebra")
    assert shelf("screen", "start", "--examples", "b0", "--name", "s")[0] == 0
    code, out, err = shelf("screen", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_without_a_screening_the_remedy_is_named(shelf):
    code, _, err = shelf("screen", "next")
    assert code == 2
    assert "start one with classmark screen start" in err


def test_the_target_is_changed_while_reading(shelf):
    shelf("screen", "start", "--examples", "b0", "--batch", 8)
    before = read_a_batch(shelf)
    assert [stop["target"] for stop in before["stops"]] == [0.8, 0.9, 0.95]
    more = [stop["more"] for stop in before["stops"]]
    assert more == sorted(more)
    code, out, err = shelf("screen", "target", 0.5, "--json")
    assert (code, err) == (0, "")
    now = json.loads(out)
    assert now["target"] == 0.5
    assert now["recall_bound"] == before["recall_bound"]
    code, out, _ = shelf("screen", "status")
    assert "stop at 50 %: " in out
    assert shelf("screen", "target", 1.5)[0] == 2

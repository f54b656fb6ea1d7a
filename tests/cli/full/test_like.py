"""More like these, from the command line, on the library that ships with Classmark."""

import csv
import json
import re

import pytest

from classmark.workbench.project import Project
from projects import new_library

BEES = ("r0621", "r0655")


@pytest.fixture
def shelf(run, tmp_path, monkeypatch):
    new_library(tmp_path / "library")
    monkeypatch.setenv("CLASSMARK_PROJECT", "library")

    def running(*words):
        code, out, err = run("like", *words)
        assert (code, err) == (0, "")
        return out

    return running


def test_the_ranking_is_shown_with_its_reasons(shelf):
    out = shelf("--examples", ",".join(BEES), "-k", 3)
    head, answers = out.split("\n\n")
    first, _, query = head.partition("\n  query: ")
    found = answers.splitlines()
    assert re.fullmatch(
        r"search-1: 812 documents ranked by auto: 50 % SVM \(C = 1, \d+ hopeful "
        r"documents?\), 50 % Rocchio, from 2 examples, 0 yes, 0 no",
        " ".join(first.split()),
    )
    assert re.match(r"bees \+0\.\d+  ", query)
    assert len(found) == 6
    for rank, (shown, why) in enumerate(
        zip(found[::2], found[1::2], strict=True), start=1
    ):
        assert re.fullmatch(rf"  {rank}\. .+  \(r\d{{4}}\)  0\.\d{{2,4}}", shown)
        assert re.match(r"       bees? \+|       .*  bees? \+", why)


def test_yes_no_undo_and_redo(shelf):
    shelf("-e", BEES[0], "-e", BEES[1], "--name", "bees")
    before = json.loads(shelf("--json"))
    first, second = (found["id"] for found in before["found"][:2])
    after = json.loads(shelf("--yes", first, "--no", second, "--json"))
    assert (after["search"], after["yes"], after["no"]) == ("bees", 1, 1)
    assert not {first, second} & {found["id"] for found in after["found"]}
    again = json.loads(shelf("--undo", "--json"))
    assert again["found"] == before["found"]
    assert json.loads(shelf("--redo", "--json"))["found"] == after["found"]
    everything = json.loads(shelf("--all", "--json"))
    assert len(everything["found"]) == 814
    marks = {each["id"]: each["mark"] for each in everything["found"] if each["mark"]}
    assert marks == dict.fromkeys(BEES, "example") | {first: "yes", second: "no"}
    assert "[yes]" in shelf("--all")
    rows = json.loads(shelf("--list", "--json"))
    assert [(row["search"], row["yes"]) for row in rows] == [("bees", 1)]


def test_the_k_a_sample_and_a_kernel_are_options(shelf, run):
    how = ("--method", "recall@k", "--k", 5, "--sample", 100, "--kernel", "rbf")
    out = shelf("-e", BEES[0], "--name", "bees", *how, "--gamma", 0.5, "-k", 2)
    options = "recall@k, C = 100, k = 5, sample = 100, kernel = rbf, gamma = 0.5"
    assert options in " ".join(out.split())
    assert "no reasons are shown" in out
    code, _, err = run("like", "-e", BEES[0], "--k", 5)
    assert code == 2
    assert "k is of precision@k and recall@k, not of auto" in err
    code, _, err = run("like", "--name", "bees", "--weights", "bees.tsv")
    assert code == 2
    assert "kernel rbf has no weights of words" in err


def test_a_category_and_a_file_of_ones_own(shelf, tmp_path):
    (tmp_path / "mine.txt").write_text("Swarms of bees and the queen in her hive.")
    out = shelf("--file", "mine.txt", "-k", 5, "--json")
    assert all("bee" in each["why"] or "bees" in each["why"]
               for each in json.loads(out)["found"])  # fmt: skip
    with Project(tmp_path / "library") as project:
        labels = project.store.labels()
    name = next(iter(next(iter(labels.values()))))
    told = json.loads(shelf("--category", name, "--json"))
    assert told["examples"] == sum(name in each for each in labels.values())


def test_explained_cut_and_written(shelf):
    shelf("-e", ",".join(BEES))
    told = json.loads(shelf("--explain", "r0103", "--json"))
    assert told["score"] == pytest.approx(sum(p["part"] for p in told["parts"]))
    assert "the score is the sum of the parts" in shelf("--explain", "r0103")
    out = shelf("--terms", 20, "--no", "r0001", "--weights", "w.tsv")
    assert out.startswith("the query's 20 weights are in w.tsv\n")
    assert re.search(
        r"cut to 20 of [\d,]+ terms: \d+ % of the first 10 are kept; "
        r"average precision on judged documents \d\.\d{3} before, \d\.\d{3} after",
        " ".join(out.split()),
    )
    here = json.loads(shelf("--terms", 20, "--all", "--json"))
    there = json.loads(shelf("--query", "w.tsv", "--all", "--json"))
    assert [f["id"] for f in there["found"]] == [f["id"] for f in here["found"]]
    assert shelf("--query", "w.tsv", "-k", 1).startswith("w.tsv: 814 documents ranked")


def test_what_is_found_is_written_for_others(shelf, tmp_path):
    shelf("-e", ",".join(BEES))
    first, second = (each["id"] for each in json.loads(shelf("--json"))["found"][:2])
    shelf("--yes", first, "--no", second)
    best = {each["id"] for each in json.loads(shelf("--json", "-k", 4))["found"]}
    relevant = {*BEES, first}
    everything = json.loads(shelf("--json", "--all"))["found"]
    found = [each for each in everything if each["id"] in best | relevant]
    for rank, each in enumerate(found, start=1):
        each["rank"] = rank
    for ending in ("csv", "jsonl", "run", "ris", "bib"):
        out = shelf("--to", f"x.{ending}", "-k", 4)
        assert out == f"wrote 7 documents to x.{ending}\n"
    text = {path.suffix: path.read_text() for path in tmp_path.glob("x.*")}
    rows = list(csv.DictReader(text[".csv"].splitlines()))
    assert [row["id"] for row in rows] == [each["id"] for each in found]
    assert {row["id"] for row in rows if row["mark"]} == relevant
    assert [float(row["score"]) for row in rows] == [each["score"] for each in found]
    lines = [json.loads(line) for line in text[".jsonl"].splitlines()]
    assert [{k: line[k] for k in found[0]} for line in lines] == found
    run = [line.split() for line in text[".run"].splitlines()]
    assert [line[:4] for line in run] == [
        ["search-1", "Q0", each["id"], str(each["rank"])] for each in found
    ]
    for each in found:
        assert f"ID  - {each['id']}\n" in text[".ris"]
        assert f"TI  - {each['title']}\n" in text[".ris"]
        assert f"@misc{{{each['id']},\n  title = {{{each['title']}}}" in text[".bib"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "there is no search yet"),
        (["-e", "r062x"], "no document 'r062x': did you mean r062"),
        (["-e", ""], "--examples is empty"),
        (["--name", "none"], "there is no search 'none'"),
        (["--undo"], "there is no search yet"),
        (["-e", "r0621", "--method", "guess"], "guess"),
        (["-e", "r0621", "-k", "0"], "k is 0"),
        (["-e", "r0621", "--C", "inf"], "C is inf: give a number above 0"),
        (["-e", "r0621", "--name", "a\nb"], "cannot be shown on a line"),
        (["--list", "--yes", "r0621"], "--list only lists"),
        (["--list", "--workers", "2"], "--list only lists"),
        (["--online", "--list"], "an online search is not kept"),
        (["-e", "r0621", "--explain", "none"], "no document 'none'"),
        (["-e", "r0621", "--to", "x.doc"], "x.doc: its ending names no format"),
        (["-e", "r0621", "--to", "library"], "is already there"),
        (["-e", "r0621", "--weights", "w.csv"], "use one of .tsv, .json"),
        (["--query", "none.tsv"], "none.tsv"),
        (["--query", "w.tsv", "--yes", "r0621"], "--query ranks by a file"),
        (["--file", "none.txt"], "--file none.txt: no such file"),
        (["--category", "none"], "no category 'none'"),
        (["-e", "r0621", "-p", "elsewhere"], "classmark.toml"),
    ],
)
@pytest.mark.usefixtures("shelf")
def test_mistakes_are_one_line(run, words, said):
    code, _, err = run("like", *words)
    assert code == 2
    assert said in err
    assert err.count("\n") == 1
    assert run("like", "--list", "-p", "library", "--json")[1] == "[]\n"


def test_an_empty_project_says_what_to_do(run):
    assert run("init", "empty")[0] == 0
    code, _, err = run("like", "-e", "a", "-p", "empty")
    assert code == 2
    assert "has no documents: import some" in err


def test_online_searches_read_the_index_alone(shelf, run):
    code, out, err = run("like", "--online", "--examples", ",".join(BEES))
    assert (code, out) == (2, "")
    assert "classmark index" in err
    assert run("index")[0] == 0
    out = shelf("--online", "--examples", ",".join(BEES), "-k", 5)
    assert out.startswith("online: 812 documents ranked by auto, from 2 examples")
    assert "bee" in out
    assert not set(BEES) & set(re.findall(r"\((r\d+)\)", out))
    told = json.loads(shelf("--online", "-e", BEES[0], "--no", BEES[1], "--json"))
    assert (told["examples"], told["no"], len(told["found"])) == (1, 1, 10)
    assert run("like", "--list")[1].count("search-") == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--examples", "nobody"), "'nobody' is not in the index"),
        (("--category", "bees"), "takes --examples"),
        (("--examples", BEES[0], "--all"), "goes with -k"),
        (("--examples", BEES[0], "--method", "balanced"), "whole collection"),
        (("--yes", ""), "--yes is empty"),
        (("--no", BEES[0]), "learns from examples"),
        (("--examples", BEES[0], "--terms", "0"), "terms is 0"),
        (("--examples", BEES[0], "--no", BEES[0]), "marked yes and no"),
        (("--examples", BEES[0], "--sample", "9"), "does not use sample"),
    ],
)
def test_online_mistakes_are_one_line(shelf, run, words, message):
    assert shelf("--list")
    assert run("index")[0] == 0
    code, out, err = run("like", "--online", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_an_index_of_its_own_is_enough(run, tmp_path):
    (tmp_path / "notes.jsonl").write_text(
        "".join(
            json.dumps({"id": f"n{i}", "text": f"{word} and more {word} {i}"}) + "\n"
            for i, word in enumerate(["bees", "bees", "oxen", "oxen", "bees"])
        ),
        encoding="utf-8",
    )
    assert run("index", "notes.jsonl", "--to", "made")[0] == 0
    code, out, err = run("like", "--index", "made", "-e", "n0", "-k", 2)
    assert (code, err) == (0, "")
    assert set(re.findall(r"\((n\d)\)", out)) == {"n1", "n4"}

"""Published results from the command line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import reproductions
from classmark.preferences.graph import NAMES
from reproductions.graphs_rcv1 import PAPER, Row, Table
from reproductions.plm_reuters import MAPPINGS, RANKS, Curves
from reproductions.plm_reuters import Row as Curve

ROOT = Path(__file__).parents[2]


@pytest.fixture
def quick(monkeypatch):
    """Put small found results in the place of the long experiments."""
    monkeypatch.setenv("COLUMNS", "100")
    paper = {name: dict(zip(NAMES, PAPER[name], strict=True)) for name in NAMES}
    same = dict.fromkeys(NAMES, 0.25)
    by_fold = {name: [0.25, 0.251] for name in NAMES}
    rows = [Row(name, same, paper[name], same, [1.0], by_fold) for name in NAMES]
    table = Table(rows, 10, 4, 30, 5.0, 820, ["domination is best: holds"])
    found = {"average_precision": 0.5, "coverage": 2.0}
    chance = dict.fromkeys(RANKS, 1.0)
    lines = [
        Curve(name, 1.0, None, found, [0.5 + at / 10, 1.0], chance)
        for at, name in enumerate(MAPPINGS)
    ]
    curves = Curves(lines, 20, 10, 30, ["dom is above svm: does not hold"])
    monkeypatch.setattr("reproductions.graphs_rcv1.graphs_rcv1", lambda *_, **__: table)
    monkeypatch.setattr("reproductions.plm_reuters.plm_reuters", lambda _: curves)


@pytest.mark.needs("matplotlib")
@pytest.mark.usefixtures("quick")
def test_measured_beside_published_claims_and_files(run, tmp_path):
    target = tmp_path / "out" / "graphs.json"
    code, out, _ = run("reproduce", "graphs-rcv1", "--json", target)
    assert code == 0
    assert ".2500 ± .0064 (.049)" in out
    assert "domination is best: holds" in out
    assert json.loads(target.read_text())["rows"][2]["measures"]["zero-one"] == 0.25
    assert target.with_suffix(".svg").read_text().count("<svg") == 1


@pytest.mark.usefixtures("quick")
def test_without_a_file_everything_lies_in_reports(run, tmp_path):
    code, out, _ = run("reproduce", "plm-reuters")
    assert code == 0
    assert "dom is above svm: does not hold" in out
    assert "π(1)" in out
    facts = json.loads((tmp_path / "reports" / "plm-reuters.json").read_text())
    assert facts["rows"][1]["precision"] == [0.6, 1.0]
    assert (tmp_path / "reports" / "plm-reuters.svg").exists()


def test_an_unknown_name_lists_the_known_ones(run, tmp_path):
    code, out, err = run("reproduce", "gravity")
    assert (code, out) == (2, "")
    assert "'gravity' is not known: use clicks, graphs-rcv1, " in err
    assert not list(tmp_path.iterdir())


def test_without_the_source_repository_it_is_said_where_they_are(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "reproductions", None)
    code, out, err = run("reproduce", "plm-reuters")
    assert (code, out) == (2, "")
    assert "reproductions are in the source repository" in err
    assert "make reproduce NAME=" in err


def test_as_a_program_of_its_own_it_says_the_same():
    words = [sys.executable, "-m", "reproductions", "gravity"]
    done = subprocess.run(  # noqa: S603, our own words
        words, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "'gravity' is not known: use clicks, " in done.stderr


def test_the_help_names_every_experiment(run):
    said = "".join(run("reproduce", "--help")[1].split())
    assert [name for name in reproductions.PAPERS if name not in said] == []


def test_the_file_of_values_is_json(run):
    code, _, err = run("reproduce", "plm-reuters", "--json", "values.csv")
    assert code == 2
    assert "ends in .json" in err

"""The demo: its story, its numbers, and what it says to type next."""

import json
import re
import shlex
from pathlib import Path

import pytest

from classmark.cli.research import how_good, program, typed
from classmark.workbench.collections import NAME

DOCS = Path(__file__).parents[2] / "docs"


def test_the_story_fits_the_screen_and_ends_at_the_workbench(demo):
    _, out = demo
    assert max(map(len, out.splitlines())) <= 80
    said = " ".join(out.split())
    assert f"{NAME}: 814 notes, each in one or more of 47 categories." in said
    assert "trained on 610 documents, tested on the 204 set apart" in said
    assert "13 more measures: classmark evaluate --all --project library" in said
    assert "the first suggestion is right for 9 of 10 notes it has not seen" in said
    assert "a reader looks at 4 categories, on average, until all" in said
    assert "plot: library/reports/evaluation.svg" in said
    assert "nature.animals.insects), 78 % likely for: hives, queen, honey" in said
    assert "48 new arrivals wait" in said
    assert out.splitlines()[-1].endswith("classmark serve library")


def test_what_to_type_next_works(run, demo, library, monkeypatch):
    monkeypatch.chdir(library.parent)
    _, out = demo
    typed = re.findall(r"^  classmark (.*)$", out, re.MULTILINE)
    assert len(typed) == 4
    assert typed.pop() == "serve library"
    for line in typed:
        assert run(*shlex.split(line))[::2] == (0, "")


def test_the_demo_runs_again_in_its_folder_and_its_measures_are_the_manuals(
    run, library
):
    code, out, _ = run("demo", "--no-serve", "--dir", library, "--json")
    steps = json.loads(out)
    assert code == 0
    assert [step.keys() for step in steps[:3]] == [
        {"title", "rows", "note"},
        {"title", "rows", "note"},
        {"table", "plot", "rare"},
    ]
    rows = {row["learner"]: row for row in steps[2]["table"]["rows"]}
    assert rows["plm"]["average_precision"] >= rows["rocchio"]["average_precision"]
    page = (DOCS / "library.md").read_text()
    written = re.findall(r"^\| `(\w+)`[^|]*\|([^|]+)\|([^|]+)\|", page, re.MULTILINE)
    assert {name for name, *_ in written} == set(rows)
    for name, wrong, precision in written:
        assert float(wrong) == pytest.approx(rows[name]["one_error"], abs=6e-4)
        assert float(precision) == pytest.approx(
            rows[name]["average_precision"], abs=6e-4
        )
    assert steps[3]["model"] == "000002"


def test_a_folder_with_other_things_is_refused(run, tmp_path):
    (tmp_path / "shelf").mkdir()
    (tmp_path / "shelf" / "notes.txt").write_text("mine")
    code, out, err = run("demo", "--no-serve", "--dir", "shelf")
    assert (code, out) == (2, "")
    assert "shelf has files of its own: name an empty or a new folder with --dir" in err


def test_a_project_of_ones_own_is_refused_and_left_alone(run):
    assert run("init", "shelf")[0] == 0
    code, out, err = run("demo", "--no-serve", "--dir", "shelf")
    assert (code, out) == (2, "")
    assert "shelf holds the project 'shelf': name another folder" in err
    rows = json.loads(run("info", "-p", "shelf", "--json")[1])
    assert {"what": "categories", "value": 0} in rows


def test_how_good_it_is_is_one_sentence():
    told = how_good("plm", {"one_error": 0.04, "looked_at": 1.6})
    assert told.startswith("With plm, the first suggestion is right for 10 of 10")
    assert "looks at 2 categories" in told
    assert told.count(".") == 1


def test_commands_are_written_as_they_can_be_typed(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    there = tmp_path / ".venv" / "bin" / "classmark"
    there.parent.mkdir(parents=True)
    there.touch(mode=0o755)
    monkeypatch.setattr("sys.argv", [str(there)])
    monkeypatch.setenv("PATH", "/nowhere")
    assert program() == [".venv/bin/classmark"]
    monkeypatch.setenv("PATH", str(there.parent))
    assert program() == ["classmark"]
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("PATH", "/nowhere")
    assert program() == [str(there)]
    monkeypatch.setattr("sys.argv", ["classmark/cli/main.py"])
    assert program()[1:] == ["-m", "classmark.cli.main"]
    monkeypatch.setattr("sys.argv", ["classmark"])
    assert typed("serve", "my library") == "classmark serve 'my library'"


def test_the_address_is_the_last_line(run, library, monkeypatch):
    def serve(folder, host, port, say, *, or_free):
        assert or_free, "port 8000 may be taken"
        say(f"Classmark serves {folder} at http://{host}:{port}/?code=1")

    monkeypatch.setattr("classmark.web.serve.serve_project", serve)
    monkeypatch.setattr("classmark.cli.research.demonstrate", lambda _: iter(()))
    code, out, _ = run("demo", "--dir", library)
    assert code == 0
    assert "What to type next, in another terminal:" in out
    assert out.strip().splitlines()[-1] == "  http://127.0.0.1:8000/?code=1"

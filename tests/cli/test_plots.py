"""Plots that commands draw: SVG, without a plotting package."""

import json
import sys

from defusedxml.ElementTree import fromstring


def test_evaluate_draws_without_matplotlib(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    rows = [("a hive of bees", "bees"), ("an oven of bread", "bread")] * 2
    notes = tmp_path / "notes.jsonl"
    notes.write_text(
        "\n".join(
            json.dumps({"id": str(n), "text": text, "labels": [label]})
            for n, (text, label) in enumerate(rows)
        )
    )
    assert run("init", "shelf")[0] == 0
    assert run("import", notes, "-p", "shelf")[0] == 0
    words = ("evaluate", "-p", "shelf", "--learner", "rocchio", "--folds", "2")
    code, _, err = run(*words)
    assert (code, err) == (0, "")
    drawn = (tmp_path / "shelf" / "reports" / "evaluation.svg").read_bytes()
    assert fromstring(drawn).get("aria-label") == "shelf: precision along the ranking"


def test_a_reproduction_says_what_to_install_before_it_begins(run, monkeypatch):
    monkeypatch.setattr("reproductions.report.find_spec", lambda _: None)
    code, out, err = run("reproduce", "graphs-rcv1")
    assert (code, out) == (2, "")
    assert "need an extra package: pip install 'classmark[plots]'" in err
    assert err.count("\n") == 1


def test_tune_refuses_other_files_than_svg(run):
    code, out, err = run(
        *("tune", "--dataset", "library", "--parameter", "b=0:1:0.5"),
        *("--plot", "sweep.png"),
    )
    assert (code, out) == (2, "")
    assert "sweep.png: a plot is SVG: give a file whose name ends in .svg" in err

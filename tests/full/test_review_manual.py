"""The page for reviewers: every command on it runs, in its order."""

import csv
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from classmark.cli.main import main

PAGE = (Path(__file__).parents[2] / "docs" / "review.md").read_text()


def run(line, monkeypatch, capsys):
    if not line.startswith("classmark"):
        subprocess.run(["/bin/sh", "-c", line], check=True)  # noqa: S603 (our page)
        return ""
    monkeypatch.setattr(sys, "argv", shlex.split(line))
    with pytest.raises(SystemExit) as stop:
        main()
    shown = capsys.readouterr()
    assert not stop.value.code, (line, shown.err)
    return shown.out


def test_the_review_runs_to_its_end(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    shown = {}
    for line in lines:
        shown[" ".join(line.split()[:3])] = run(line, monkeypatch, capsys)
    assert "1 duplicate is hidden" in shown["classmark screen start"]
    assert "Steam pumps of the fens" in shown["classmark screen duplicates"]
    assert "Oak, Ivy. 1990" in shown["classmark screen next"]
    assert "their sails and scoop wheels" in shown["classmark screen next"]
    assert "3 relevant found; 5 of 5 documents" in shown["classmark screen status"]
    included = Path("included.ris").read_text()
    assert included.count("ASReview_relevant") == 3
    assert "AU  - Moss, Gil" in included
    everything = Path("everything.ris").read_text()
    assert everything.count("TY  - ") == 6
    assert everything.count("ASReview_") == 5
    assert "TY  - JOUR" in everything
    with Path("read.csv").open() as file:
        decided = {row["id"]: row["included"] for row in csv.DictReader(file)}
    assert decided == {"p1": "1", "p3": "0", "p2": "1", "8": "1", "9": "0"}
    assert Path("review.zip").exists()

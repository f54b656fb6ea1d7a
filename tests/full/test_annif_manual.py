"""What the page for librarians from Annif shows, runs, from the first to the last."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "annif.md").read_text(encoding="utf-8")
ENSEMBLE = "classmark train --learner ensemble --members"
SUBJECTS = {"s1": "beekeeping", "s2": "bread", "s3": "railways"}
WORDS = {
    "s1": "hive honey comb swarm wax keeper",
    "s2": "dough oven flour crust baker yeast",
    "s3": "train track station signal engine guard",
}


def corpus(path, first, count):
    """Short texts in Annif's TSV, three words each of one subject and some others."""
    lines = []
    for at in range(first, first + count):
        name = list(WORDS)[at % 3]
        own, turn = WORDS[name].split(), at // 3
        words = [own[turn % 6], own[(turn + 2) % 6], own[(turn + 3) % 6], f"n{at % 11}"]
        lines.append(f"{' '.join(words)}\t<http://example.org/{name}>\n")
    path.write_text("".join(lines), encoding="utf-8")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = (f"<http://example.org/{id_}>\t{name}\n" for id_, name in SUBJECTS.items())
    (tmp_path / "vocabulary.tsv").write_text("".join(rows), encoding="utf-8")
    corpus(tmp_path / "train.tsv", 0, 90)
    corpus(tmp_path / "test.tsv", 90, 30)
    (tmp_path / "letter.txt").write_text("honey from the hive", encoding="utf-8")
    (tmp_path / "report.txt").write_text("the station and its track", encoding="utf-8")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("flour and yeast", encoding="utf-8")


@pytest.mark.usefixtures("files")
def test_the_commands_run(monkeypatch, capsys):
    from classmark.cli.main import main

    shown = {}
    for line in "".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)).splitlines():
        monkeypatch.setattr(sys, "argv", shlex.split(line, comments=True))
        with pytest.raises(SystemExit) as stop:
            main()
        out = capsys.readouterr()
        assert not stop.value.code, f"{line}: {out.err}"
        shown[line.split(" --project")[0].replace('"', "'")] = out.out
    assert len(shown) == 11 + 1
    assert "ensemble: the scores of plm" in shown[f"{ENSEMBLE} 'plm loglinear'"]
    assert "names" in shown["classmark train"]
    measured = shown["classmark evaluate test.tsv"]
    assert "30" in measured
    assert "nDCG@10" in measured
    letter = shown["classmark suggest letter.txt"]
    assert letter.index("beekeeping") < letter.index("railways")
    (folder,) = json.loads(shown["classmark suggest texts"])
    assert folder["suggestions"][0]["category"] == "http://example.org/s2"
    assert "s2" in shown["classmark decide train.tsv:1 --assign http://example.org/s2"]

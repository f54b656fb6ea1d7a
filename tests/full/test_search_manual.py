"""What the manual of searching shows, runs."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from crawls import town, write
from projects import new_library

PAGE = (Path(__file__).parents[2] / "docs" / "search.md").read_text()


@pytest.fixture(autouse=True)
def in_an_empty_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.mark.needs("resiliparse")
def test_the_commands_run(monkeypatch, capsys, tmp_path):
    from classmark.cli.main import main

    files = {"topics.tsv": "tsv", "topics.qrels": "qrels", "choices.csv": "csv"}
    for name, kind in files.items():
        Path(name).write_text(*blocks(kind))
    write(tmp_path / "crawl.warc.gz", town())

    shown = {}
    for line in "".join(blocks("sh")).splitlines():
        monkeypatch.setattr(sys, "argv", shlex.split(line, comments=True))
        with pytest.raises(SystemExit) as stop:
            main()
        shown[line] = capsys.readouterr().out
        assert not stop.value.code, line
    searches = [
        line
        for line in shown
        if line.startswith("classmark search") and "--topics" not in line
    ]
    assert len(searches) == 9
    for line in searches:
        assert shown[line].startswith("  1. "), line
    assert Path("comparison.svg").exists()
    assert len(Path("lm.run").read_text().splitlines()) > 2


@pytest.mark.needs("wordllama")
def test_the_commands_of_meaning_run(monkeypatch, capsys, tmp_path):
    """With the extra's own table; a word is found that no document has."""
    from classmark.cli.main import main

    new_library(tmp_path / "library", indexed=True)
    shown = []
    for line in "".join(blocks("console")).splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code, line
        shown.append(capsys.readouterr().out)
    *_, first, second, third, tuned = shown
    assert "(meaning) +" in first
    assert "ranked by words and meaning" in second
    assert "meaning" not in third
    assert "best: weight = " in tuned


def test_the_refusal_is_as_shown():
    from classmark.index.query_language import MalformedQuery, parse

    with pytest.raises(MalformedQuery) as refused:
        parse("bees AND")
    assert f"classmark: {refused.value}\n" in blocks("text")


def test_the_python_runs(capsys):
    for block in blocks("python"):
        exec(compile(block, "search.md", "exec"), {})  # noqa: S102, our own words
    *_, set_, longer, difference, new = capsys.readouterr().out.strip().split("\n")
    assert new == "True"
    assert set_.count("'") == longer.count("'") == 6
    assert float(difference) == 0


def test_every_model_and_feedback_is_listed():
    from classmark.index.feedback import FEEDBACK
    from classmark.index.models import MODELS

    features = {"tf", "idf", "tfidf", "inquery"}
    for name in [*(set(MODELS) - features), *FEEDBACK]:
        assert f"`{name}`" in PAGE

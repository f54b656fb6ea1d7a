"""What the manual of learning to rank shows, runs."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from classmark.ltr.features import FEEDBACK, PLAIN
from classmark.ltr.training import NAMES
from projects import new_library

PAGE = (Path(__file__).parents[2] / "docs" / "rank.md").read_text()


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture
def library(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    new_library(tmp_path / "library")


@pytest.mark.usefixtures("library")
def test_the_commands_and_the_python_run(monkeypatch, capsys):
    from classmark.cli.main import main

    made, *lines = "".join(blocks("sh")).splitlines()
    assert made.startswith("classmark demo")
    shown = []
    for line in filter(None, lines):
        monkeypatch.setattr(sys, "argv", shlex.split(line, comments=True))
        with pytest.raises(SystemExit) as stop:
            main()
        out = capsys.readouterr()
        assert not stop.value.code, f"{line}: {out.err}"
        shown.append(out.out)
    assert "ranker 1 is now in service" in shown[1]
    assert "ordered by ranker 1" in shown[2]
    space = {}
    for block in blocks("python"):
        exec(block, space)  # noqa: S102 (the manual's own lines)
    assert space["X"].shape == (2, len(space["names"]))


def test_every_feature_and_learner_is_named():
    for name in (*PLAIN, *(f"{model}+{kind}" for model, kind in FEEDBACK), *NAMES):
        assert f"`{name}`" in PAGE, name

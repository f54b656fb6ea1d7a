"""What the manual of finding by example shows, runs."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from classmark.examples.query import METHODS
from projects import new_library

PAGE = (Path(__file__).parents[2] / "docs" / "like.md").read_text()


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
    for line in filter(None, lines):
        monkeypatch.setattr(sys, "argv", shlex.split(line, comments=True))
        with pytest.raises(SystemExit) as stop:
            main()
        shown = capsys.readouterr()
        assert not stop.value.code, f"{line}: {shown.err}"
        assert shown.out
    (python,) = blocks("python")
    exec(compile(python, "like.md", "exec"), {})  # noqa: S102, our own words
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "1", "2", "3",
    ]  # fmt: skip


def test_every_method_is_listed():
    for name in METHODS:
        assert f"`{name}`" in PAGE

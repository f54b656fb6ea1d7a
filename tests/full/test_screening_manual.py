"""What the manual of screening shows, runs."""

import re
import shlex
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "screening.md").read_text()


def test_the_commands_run(monkeypatch, capsys, tmp_path):
    from classmark.cli.main import main

    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
    shown = {}
    for line in block.splitlines():
        monkeypatch.setattr(sys, "argv", shlex.split(line, comments=True))
        with pytest.raises(SystemExit) as stop:
            main()
        shown[" ".join(line.split()[:3])] = capsys.readouterr().out
        assert not stop.value.code, line
    assert "  1. " in shown["classmark screen next"]
    assert "yes r0621" in shown["classmark screen mark"]
    assert "0 of 2 stopped below" in shown["classmark screen simulate"]
    assert (tmp_path / "bees.csv").exists()
    assert (tmp_path / "library" / "reports" / "screen-bees.svg").exists()

"""What every test of the command line needs: to run it."""

import sys

import pytest

from classmark.cli.main import main


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run the command line in an empty folder; return code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def running(*words):
        monkeypatch.setattr(sys, "argv", ["classmark", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        shown = capsys.readouterr()
        return stop.value.code or 0, shown.out, shown.err

    return running

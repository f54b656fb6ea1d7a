"""What every test of the command line needs: to run it."""

import io
import shutil
import sys
from contextlib import redirect_stdout

import pytest

from classmark.cli import output
from classmark.cli.main import main
from classmark.cli.output import lay_out


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """Return the folder of the demo's project, made once, and what the demo printed.

    Copy the folder to change it.
    """
    place, printed = tmp_path_factory.mktemp("demo"), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.chdir(place)
        patch.setenv("COLUMNS", "80")
        patch.setattr(sys, "argv", ["classmark", "demo", "--no-serve"])
        with pytest.raises(SystemExit) as stop:
            main()
    assert not stop.value.code
    return place / "library", printed.getvalue()


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


@pytest.fixture(scope="module")
def library(demo, tmp_path_factory):
    """Return a copy of the demo's project, which the commands of a module change."""
    return shutil.copytree(demo[0], tmp_path_factory.mktemp("copy") / "library")


@pytest.fixture
def fits(run, library, monkeypatch):
    """Run a command at 80 columns; its tables are laid out for other widths, too."""
    tables, show = [], output.show_table

    def showing(table, **options):
        tables.append(table)
        show(table, **options)

    def fitting(line):
        monkeypatch.chdir(library)
        code, out, err = run(*line.split())
        assert (code, err) == (0, "")
        assert out
        assert [each for each in out.splitlines() if len(each) > 80] == []
        for table in tables:
            for width, everything in [(60, False), (100, False), (100, True)]:
                lines, _ = lay_out(table, width, everything=everything)
                assert [each for each in lines if len(each) > width] == []

    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(output, "show_table", showing)
    return fitting

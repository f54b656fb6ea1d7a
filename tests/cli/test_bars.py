"""Bars appear while work takes long, and are gone when it is done."""

import io
import time

import pytest
from rich.console import Console

from classmark.cli import main as bars
from classmark.progress import shown_by, track, working


@pytest.fixture
def screen(monkeypatch):
    file = io.StringIO()
    terminal = Console(file=file, force_terminal=True, width=80)
    monkeypatch.setattr("rich.console.Console", lambda **_: terminal)
    return file


def wait_for(screen, text):
    for _ in range(200):
        if text in screen.getvalue():
            return
        time.sleep(0.02)
    pytest.fail(f"{text!r} is not on the screen")


def test_quick_work_shows_no_bar(screen):
    with shown_by(bars.Bars()):
        assert list(track(range(3), "quick work")) == [0, 1, 2]
    assert not screen.getvalue()


def test_bars_appear_while_the_first_item_takes_long(screen, monkeypatch):
    monkeypatch.setattr(bars, "PATIENCE", -1.0)
    with shown_by(bars.Bars()):
        for item in track(range(3), "long work"):
            if item == 0:
                wait_for(screen, "long work")
            if item == 1:
                wait_for(screen, "1 of 3")


def test_nested_work_is_on_one_screen(screen, monkeypatch):
    monkeypatch.setattr(bars, "PATIENCE", -1.0)
    with shown_by(bars.Bars()), working("training"):
        for _ in track(iter(range(1)), "passes"):
            wait_for(screen, "passes")
            wait_for(screen, "training")


def test_an_error_takes_the_bars_away(screen, monkeypatch):
    monkeypatch.setattr(bars, "PATIENCE", -1.0)
    display = bars.Bars()

    def fail():
        with shown_by(display), working("training"):
            wait_for(screen, "training")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    before = screen.getvalue()
    time.sleep(0.3)
    assert screen.getvalue() == before

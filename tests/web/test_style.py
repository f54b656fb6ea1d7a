"""The colours can be read, on every ground they stand on, by day and by night."""

import re
from importlib.resources import files
from itertools import product

import pytest

STYLE = (files("classmark.web") / "static" / "style.css").read_text("utf-8")
PAIR = re.compile(r"(--[a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)")
TOKENS = {name: (light, dark) for name, light, dark in PAIR.findall(STYLE)}
INKS = ("--ink", "--ink-soft", "--accent")
GROUNDS = ("--paper", "--sheet", "--hover", "--accent-soft")
OTHERS = (
    ("--good", "--good-soft"),
    ("--good", "--paper"),
    ("--bad", "--bad-soft"),
    ("--bad", "--sheet"),
    ("--paper", "--accent"),
)
WORDS = [*product(INKS, GROUNDS), *OTHERS]
LEAST = 4.5


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_black_on_white_is_twenty_one():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("ink", "ground"), WORDS)
def test_words_stand_out(ink, ground, theme):
    assert contrast(TOKENS[ink][theme], TOKENS[ground][theme]) >= LEAST


def test_nothing_is_fetched_from_elsewhere():
    for file in (files("classmark.web") / "static").iterdir():
        if file.name.endswith(".css"):
            assert not re.search(r"url\(|@import", file.read_text("utf-8")), file.name

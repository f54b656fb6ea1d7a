"""The elements of a drawing as SVG text, in one quiet look."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from html import escape

INK, SOFT, LINE, PAPER = "#2b2a27", "#6b6860", "#d9d5cb", "#fbfaf7"
HUES = ("#1f5f8b", "#b0532a", "#4d7c3a", "#7a4d8c", "#96761d", "#2b2a27")
FONT, TITLE = 13, 16  # heights of letters
WIDE, NARROW = frozenset("mwMW%@—…"), frozenset("ijlIftr.,:;!|'()[] ")
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def document(title: str, width: float, height: float, drawn: Sequence[str]) -> str:
    """A whole SVG file: its title for screen readers, its background, its elements."""
    name = escaped(title)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img" aria-label="{name}" '
        f'font-family="system-ui, sans-serif" font-size="{FONT}" '
        'stroke-linejoin="round">\n'
        f"<title>{name}</title>\n"
        f'<rect width="{width:g}" height="{height:g}" fill="{PAPER}"/>\n'
        + "\n".join(drawn)
        + "\n</svg>\n"
    )


def text(x: float, y: float, words: str, color: str = INK, **attributes: object) -> str:
    """A line of text; y : of its base line;  attributes : of the element, with _ for -.

    >>> text(1, 2.5, "a < b", text_anchor="end")
    '<text x="1" y="2.5" fill="#2b2a27" text-anchor="end">a &lt; b</text>'
    """
    return (
        f'<text x="{x:.5g}" y="{y:.5g}" fill="{color}"{_given(attributes)}>'
        f"{escaped(words)}</text>"
    )


def line(
    start: tuple[float, float], end: tuple[float, float], color: str = LINE,
    width: float = 1.0, dash: str = "",
) -> str:  # fmt: skip
    """A straight line."""
    return polyline([start, end], color, width, dash)


def polyline(
    places: Sequence[tuple[float, float]], color: str, width: float, dash: str = ""
) -> str:
    """A line through places; dash : as SVG has it, or "" for a solid line."""
    points = " ".join(f"{x:.5g},{y:.5g}" for x, y in places)
    dashed = {"stroke_dasharray": dash} if dash else {}
    looks = {"stroke": color, "stroke_width": f"{width:g}", **dashed}
    return f'<polyline points="{points}" fill="none"{_given(looks)}/>'


def circle(place: tuple[float, float], radius: float, **attributes: object) -> str:
    """A dot or a ring."""
    x, y = place
    return f'<circle cx="{x:.5g}" cy="{y:.5g}" r="{radius:g}"{_given(attributes)}/>'


def _given(attributes: Mapping[str, object]) -> str:
    return "".join(
        f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items()
    )


def escaped(words: str) -> str:
    """Text for an element or an attribute; what XML cannot hold is replaced."""
    return escape(NOT_XML.sub("\ufffd", words))


def shortened(words: str, width: float, size: float = FONT) -> str:
    """Cut a text to a width, with an ellipsis.

    >>> shortened("precision along the ranking", 100)
    'precision al…'
    """
    if text_width(words, size) <= width:
        return words
    while words and text_width(words + "…", size) > width:
        words = words[:-1]
    return words.rstrip() + "…"


def text_width(words: str, size: float = FONT) -> float:
    """About how wide a text is in a browser's own font, rather too wide than narrow.

    >>> text_width("ab"), text_width("ill"), text_width("分類")
    (16.4, 14.0, 26.0)
    """
    return round(size * sum(map(_letter_width, words)), 1)


def _letter_width(letter: str) -> float:
    """In heights of a letter; those of DejaVu Sans, which is wide."""
    if letter in WIDE or unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    if letter in NARROW:
        return 0.36
    return 0.75 if letter.isupper() else 0.63


def number(value: float) -> str:
    """A tick's label.

    >>> number(12000.0), number(-0.25)
    ('12,000', '−0.25')
    """
    whole = value == round(value) and abs(value) < 1e9
    return (f"{value:,.0f}" if whole else f"{value:g}").replace("-", "−")

"""A ranker's report: one page that stands alone, drawn without any script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from classmark.figures import HUES, INK, LINE, PAPER, SOFT

Facts = Mapping[str, Any]
WIDTH, ROW, LEFT, RIGHT = 760, 22, 250, 70
IMPORTANT = 20
LEARNED, SERVED = "learned", "in service"
STYLE = f"""
body {{ font: 15px/1.5 system-ui, sans-serif; color: {INK}; background: {PAPER};
  max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }}
h1, h2 {{ font-weight: 600; line-height: 1.2; }} h2 {{ margin-top: 2.5rem; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .2rem .8rem .2rem 0; border-bottom: 1px solid {LINE};
  text-align: left; }} td.n, th.n {{ text-align: right; }}
p.note {{ color: {SOFT}; }} svg {{ max-width: 100%; height: auto; }}
"""


def write_page(facts: Facts, path: Path) -> None:
    """Write the report of a training to an HTML file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(facts), encoding="utf-8")


def page(facts: Facts) -> str:
    """The report of a training: measures, wins and losses, features."""
    title = f"Ranker {facts['number']}: {facts['learner']}"
    said = (
        f"Learned from the {facts['from']} of {facts['taught']} queries, compared on "
        f"{facts['held']} others; queries parted by seed {facts['seed']}; "
        f"C = {facts['C']:g}, chosen by cross-validation over queries by "
        f"{facts['measure']}."
    )
    parts = [
        f"<h1>{escape(title)}</h1><p>{escape(said)}</p>",
        *(f'<p class="note">{escape(note)}.</p>' for note in facts["notes"]),
        "<h2>Held-out queries</h2>",
        _measures(facts),
        f"<h2>Wins and losses, {escape(facts['measure'])}</h2>",
        _wins(facts),
        "<h2>What the features weigh</h2>",
        _important(facts),
        "<h2>Every query</h2>",
        _queries(facts),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body>"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _measures(facts: Facts) -> str:
    means: dict[str, dict[str, float]] = facts["means"]
    names = list(next(iter(means.values())))
    head = ["order", *(each for name in names for each in (name, "p"))]
    rows = []
    for order, values in means.items():
        chances = facts["chances"].get(order, {})
        cells = [order]
        for name in names:
            cells += [f"{values[name]:.4f}", _chance(chances.get(name))]
        rows.append(cells)
    note = f"p: two-sided randomisation test of the difference from “{LEARNED}”."
    return _table(head, rows) + f'<p class="note">{note}</p>' + _dots(means, names)


def _wins(facts: Facts) -> str:
    """One bar a query: how much the learned order gains or loses, largest first."""
    gains = sorted(
        ((row[LEARNED] - row[SERVED], row["text"]) for row in facts["queries"]),
        reverse=True,
    )
    better = sum(gain > 0 for gain, _ in gains)
    worse = sum(gain < 0 for gain, _ in gains)
    said = f"Better than what was in service for {better} queries, worse for {worse}, "
    said += f"equal for {len(gains) - better - worse}."
    middle, half = LEFT + (WIDTH - LEFT) / 2, (WIDTH - LEFT) / 2 - RIGHT
    most = max((abs(gain) for gain, _ in gains), default=0.0) or 1.0
    drawn = [_line(middle, 0, middle, ROW * len(gains))]
    for at, (gain, text) in enumerate(gains):
        size = abs(gain) / most * half
        x = middle if gain > 0 else middle - size
        drawn.append(_bar(x, at, size, HUES[0] if gain > 0 else HUES[1]))
        drawn.append(_label(LEFT - 10, at, _short(text), "end"))
        if gain:
            end = "start" if gain > 0 else "end"
            shift = size + 5 if gain > 0 else -size - 5
            drawn.append(_label(middle + shift, at, f"{gain:+.3f}", end))
    return f"<p>{said}</p>" + _svg(drawn, len(gains))


def _important(facts: Facts) -> str:
    shown = facts["importance"][:IMPORTANT]
    most = max((share for _, share in shown), default=0.0) or 1.0
    drawn = []
    for at, (name, share) in enumerate(shown):
        size = share / most * (WIDTH - LEFT - RIGHT)
        drawn.append(_bar(LEFT, at, size, HUES[0]))
        drawn.append(_label(LEFT - 10, at, name, "end"))
        drawn.append(_label(LEFT + size + 5, at, f"{share:.1%}", "start"))
    said = f"The first {len(shown)} of {len(facts['importance'])} features: the size "
    said += "of the weight times the spread within queries, as a share of all."
    return f"<p>{said}</p>" + _svg(drawn, len(shown))


def _queries(facts: Facts) -> str:
    orders = list(facts["means"])
    rows = [
        [row["query"], row["text"], *(f"{row[order]:.4f}" for order in orders)]
        for row in facts["queries"]
    ]
    return _table(["query", "text", *orders], rows)


def _dots(means: Mapping[str, Mapping[str, float]], names: Sequence[str]) -> str:
    """One line a measure, a dot an order."""
    span, drawn = WIDTH - LEFT - RIGHT, []
    for at, name in enumerate(names):
        y = (at + 0.5) * ROW
        drawn.append(_line(LEFT, y, LEFT + span, y))
        drawn.append(_label(LEFT - 10, at, f"{name}, 0 to 1", "end"))
        for hue, values in zip(HUES, means.values(), strict=False):
            x = LEFT + values[name] * span
            drawn.append(f'<circle cx="{x:.1f}" cy="{y}" r="5" fill="{hue}"/>')
    for place, (hue, order) in enumerate(zip(HUES, means, strict=False)):
        x = LEFT + place * span / len(means)
        drawn.append(_label(x, len(names), f"● {order}", "start", hue))
    return _svg(drawn, len(names) + 1)


def _svg(drawn: Sequence[str], rows: int) -> str:
    size = f'viewBox="0 0 {WIDTH} {max(rows, 1) * ROW}" width="{WIDTH}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" '
        f'font-size="12" font-family="system-ui, sans-serif">{"".join(drawn)}</svg>'
    )


def _bar(x: float, row: int, size: float, hue: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{row * ROW + 4}" width="{size:.1f}" '
        f'height="{ROW - 8}" fill="{hue}"/>'
    )


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{LINE}"/>'


def _label(x: float, row: int, text: str, end: str, hue: str = INK) -> str:
    return (
        f'<text x="{x:.1f}" y="{row * ROW + 15}" text-anchor="{end}" '
        f'fill="{hue}">{escape(text)}</text>'
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    numeric = [
        all(row[at].replace(".", "").isdigit() or not row[at] for row in rows)
        for at in range(len(head))
    ]

    def line(cells: Sequence[str], tag: str) -> str:
        shown = "".join(
            f"<{tag}{' class=n' if number else ''}>{escape(cell)}</{tag}>"
            for cell, number in zip(cells, numeric, strict=True)
        )
        return f"<tr>{shown}</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table>{line(head, 'th')}{body}</table>"


def _chance(p: float | None) -> str:
    return "" if p is None else f"{p:.4f}"


def _short(text: str, most: int = 32) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"

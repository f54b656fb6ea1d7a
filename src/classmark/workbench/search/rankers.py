"""Learned rankers of answers: stored, used, reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.figures import HUES, INK, LINE, PAPER, SOFT
from classmark.index.query_language import Belief, parse
from classmark.index.search import Hit
from classmark.ltr.reranker import Reranker, open_reranker, save_reranker
from classmark.problems import Mistake
from classmark.workbench.results import Cell, Table
from classmark.workbench.store.log import whoami

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.search.search import Searchable, Wish


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


NONE = "none"


def in_service(project: Project) -> tuple[int, Reranker] | None:
    """Open the ranker in service; None: the first stage answers alone."""
    current = project.rankers.current()
    return None if current is None else (int(current.name), open_reranker(current))


def open_ranker(project: Project, number: int) -> Reranker:
    """Open a ranker by its number."""
    return open_reranker(_place(project, number))


def keep_ranker(project: Project, ranker: Reranker) -> int:
    """Store a ranker as the next generation, and return its number."""
    place = project.rankers.next()
    save_reranker(ranker, place)
    return int(place.name)


def use_ranker(project: Project, name: str) -> str:
    """Put a ranker into service, or take it out (``none``); say what holds now."""
    rankers = project.rankers
    if name == NONE:
        if (rankers.folder / "CURRENT").exists():
            rankers.take_out_of_service()
            project.store.note_event("ranker", whoami(), number=None)
        return "no ranker is in service: classmark search orders by the model alone"
    number = ranker_number(name)
    place = _place(project, number)
    open_reranker(place)
    rankers.put_in_service(place)
    project.store.note_event("ranker", whoami(), number=number)
    return f"ranker {number} is in service: classmark search orders by it"


def ranker_number(name: str) -> int:
    """Read a ranker's number."""
    if not name.isdecimal():
        raise Mistake(f"ranker {name!r}: give its number, or {NONE}")
    return int(name)


def list_rankers(project: Project) -> Table:
    """List all rankers, with what they reached on held-out queries."""
    from classmark.ltr.training import MEASURES

    current = project.rankers.current()
    rows: list[dict[str, Cell]] = []
    for number in project.rankers.numbers():
        place = _place(project, number)
        facts = open_reranker(place).facts
        means: dict[str, dict[str, float]] = facts["means"]
        row: dict[str, Cell] = {
            "ranker": number,
            "in service": "yes" if place == current else "",
            "learner": facts["learner"],
            "C": facts["C"],
            "trained on": facts["taught"],
            "held out": facts["held"],
        }
        rows.append(row | {name: means[LEARNED][name] for name in MEASURES})
    note = "" if rows else "none yet: classmark rank train"
    return Table(f"Rankers of {project.settings.name}", rows, note)


def report_ranker(project: Project, number: int) -> tuple[Table, Path]:
    """Show how a ranker did for every held-out query, and write its page."""
    facts = open_ranker(project, number).facts
    page = project.folder / "reports" / f"ranker-{number}.html"
    write_page({**facts, "number": number}, page)
    rows: list[dict[str, Cell]] = [
        {**row, "gain": row[LEARNED] - row[SERVED]} for row in facts["queries"]
    ]
    rows.sort(key=lambda row: -float(row["gain"] or 0.0))
    wins = sum(float(row["gain"] or 0.0) > 0 for row in rows)
    losses = sum(float(row["gain"] or 0.0) < 0 for row in rows)
    note = f"{wins} wins, {losses} losses, {len(rows) - wins - losses} equal"
    return Table(f"Ranker {number}, {facts['measure']} of each query", rows, note), page


def _place(project: Project, number: int) -> Path:
    rankers = project.rankers
    if number not in rankers.numbers():
        known = ", ".join(map(str, rankers.numbers())) or "none yet"
        raise Mistake(f"there is no ranker {number}: there is {known}")
    return rankers.folder / f"{number:06d}"


Parts = dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class Ordered:
    """Which ranker orders an answer."""

    number: int
    ranker: Reranker

    @property
    def said(self) -> str:
        """The ranker in words."""
        facts = self.ranker.facts
        return (
            f"ordered by ranker {self.number} ({facts['learner']}, learned from "
            f"{facts['taught']} queries)"
        )


def ranker_for(
    project: Project, held: Searchable, query: str, wish: Wish
) -> Ordered | None:
    """Return the ranker that is to order the answer; None: the model alone does.

    One in service orders what is asked without a model, weights, feedback or prior of
    its own; a query of #operators ranks by beliefs.
    """
    if wish.ranker == NONE:
        return None
    own = [name for name, value in _asked(wish).items() if value]
    beliefs = isinstance(parse(query), Belief)
    if wish.ranker is None:
        current = None if own or beliefs else held.ranker_in_service(project)
        return None if current is None else Ordered(*current)
    if own or beliefs:
        what = own[0] if own else "an #operator"
        raise Mistake(f"--ranker and {what}: both would order the answers: leave one")
    number = ranker_number(wish.ranker)
    return Ordered(number, held.ranker(project, number))


def rerank(
    project: Project, held: Searchable, query: str, ordered: Ordered, wish: Wish
) -> tuple[list[Hit], Parts]:
    """Find the candidates, put them in the ranker's order; equals as they were found.

    Candidates are as many as the ranker was trained with, or as are asked for if more.
    """
    ranker, index = ordered.ranker, held.index
    ranker.require_fit_for(index, f"ranker {ordered.number}")
    links = held.chances(project) if ranker.recipe.pagerank else None
    if ranker.recipe.pagerank and links is None:
        raise Mistake(
            f"ranker {ordered.number} was trained with links, and no document links to "
            "another any more: train one again with classmark rank train"
        )
    model, parameters = ranker.first
    options: dict[str, Any] = dict(parameters)
    asked = index.question(query, model, **options)
    hits = asked.answer(max(ranker.depth, wish.k))
    if not hits:
        return [], {}
    weights = {
        term: max(each.get(term, 0.0) for each in asked.term_weights.values())
        for term in asked.terms()
    }
    numbers = np.array([hit.number for hit in hits], np.int64)
    raw = ranker.features(index, links).of(weights, numbers)
    scores = ranker.scores(raw)
    best = np.argsort(-scores, kind="stable")[: wish.k].tolist()
    found = [Hit(hits[at].id, float(scores[at]), hits[at].number) for at in best]
    if not wish.explain:
        return found, {}
    parts = ranker.parts(raw)
    return found, {hits[at].id: parts[at] for at in best}


def _asked(wish: Wish) -> dict[str, object]:
    return {
        "--model": wish.model,
        "--set": wish.parameters,
        "--weight": wish.weights,
        "--feedback": wish.feedback,
        "--prior": wish.prior,
    }

"""How results are printed: tables and sentences for people, JSON for programs."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from classmark.workbench.views import (
    Cell,
    Evaluated,
    Explained,
    Logged,
    Place,
    Revoted,
    Table,
    Trained,
)

if TYPE_CHECKING:
    from classmark.cli.tables import Shown
    from classmark.workbench.reproducing import Reproduced

WIDTH = 100  # columns where the output is not a terminal, and most of a sentence's line
NARROWEST = 40  # columns below which nothing is made narrower
REMEDY = "--all or --json"
BELOW = " " * 7  # before what is said of an answer, below its number
JOINED = "\N{NO-BREAK SPACE}"  # between words that stay in one line


def say(text: str = "") -> None:
    """Print one line."""
    sys.stdout.write(f"{text}\n")


def screen_width() -> int:
    """Columns of the terminal (or as COLUMNS says); 100 where there is none."""
    return max(NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns)


def tell(text: str, first: str = "", then: str | None = None) -> None:
    """Print sentences in lines that fit; a word or a path is never parted.

    first : what the first line begins with;  then : the others, as deep if not given.
    """
    then = " " * len(first) if then is None else then
    for paragraph in text.split("\n"):
        lines = textwrap.wrap(
            paragraph.replace(" %", f"{JOINED}%"),
            min(screen_width(), WIDTH),
            initial_indent=first,
            subsequent_indent=then,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in lines or [""]:
            say(line.replace(JOINED, " "))
        first = then


def show_json(value: Any) -> None:
    """Print JSON."""
    say(json.dumps(value, ensure_ascii=False, indent=1, default=str))


def show_table(
    table: Table,
    *,
    as_json: bool = False,
    everything: bool = False,
    remedy: str = REMEDY,
) -> None:
    """Print a table in lines that fit, or its rows as JSON.

    everything : every column, with whole texts;  remedy : what to type for that.
    """
    if as_json:
        show_json(list(table.rows))
        return
    from classmark.cli.tables import columns_of, lay_out

    tell(table.title)
    shown = lay_out(table, screen_width(), everything=everything)
    for line in ["", *shown.lines] if shown.lines else []:
        say(line)
    notes = [table.note] if table.note else []
    if everything:
        named = [column for column in columns_of(table) if column.meaning]
        notes += [f"{column.name}: {column.meaning}" for column in named]
    elif left_out := _left_out(table, shown):
        notes.append(f"{left_out}: {remedy}")
    if notes:
        say()
    for note in notes:
        tell(note, "  ")
    say()


def _left_out(table: Table, shown: Shown) -> str:
    """What a table does not show, in a few words."""
    from classmark.cli.tables import columns_of, heading_of

    parts = []
    if shown.left_out:
        names = ", ".join(heading_of(each) for each in shown.left_out)
        columns = "column" if len(shown.left_out) == 1 else "columns"
        parts.append(
            f"{len(shown.left_out)} {columns} left out ({' '.join(names.split())})"
        )
    more = sum(not column.brief for column in columns_of(table))
    if more:
        things = table.plural.removesuffix("s") if more == 1 else table.plural
        parts.append(f"{more} more {things}")
    if shown.cut:
        parts.append("texts that end in … go on")
    return ", ".join(parts)


def show_suggestions(suggestions: list[Explained], *, as_json: bool = False) -> None:
    """Print suggested categories with the terms for and against each."""
    if as_json:
        show_json([asdict(suggestion) for suggestion in suggestions])
        return
    if not suggestions:
        say("left to the expert: no category is as likely as was asked for")
    for suggestion in suggestions:
        path = " › ".join(suggestion.path)
        tell(f"{path}  ({suggestion.category})", f"{suggestion.rank:3}. ", BELOW)
        tell(f"{_likely(suggestion)}, score {suggestion.score:.3f}", BELOW)
        tell(parts_of(suggestion.favour), f"{BELOW}for:     ")
        tell(parts_of(suggestion.against), f"{BELOW}against: ")


def show_place(place: Place | None) -> None:
    """Print in one line where a document can be put, if that is known."""
    if place is None:
        return
    chance = in_percent(place.probability)
    if place.category is None:
        tell(f"place: left to the expert (the likeliest branch: {chance})")
        return
    where = f"{' › '.join(place.path)}  ({place.category})"
    kind = "" if place.kind == "leaf" else ", and none below it for sure"
    tell(f"place: {where}, {chance} likely{kind}", then=BELOW)


def show_trained(trained: Trained, *, as_json: bool = False) -> None:
    """Print what was trained, by which strategy and why."""
    row: dict[str, Cell] = asdict(trained)
    if as_json:
        show_json([row])
        return
    hidden = IN_NOTE if trained.base is None else (*IN_NOTE, "learner", "gap")
    shown = {name: row[name] for name in row if name not in hidden}
    if trained.base is not None:
        shown["base"] = trained.base
    show_table(Table("Model in service", [shown], _why(trained)))


IN_NOTE = (
    "why", "flat_bytes", "complexity_ratio", "pruned", "live", "later", "base", "rare",
)  # fmt: skip


def _why(trained: Trained) -> str:
    """The strategy in a sentence, with its numbers."""
    sentence = f"strategy {trained.strategy}: {trained.why}"
    if trained.strategy == "pruned":
        sentence += f"; inner categories passed over: {len(trained.pruned)}"
    if not trained.live:
        sentence += "; decisions are kept in the log and learned at the next train"
        sentence += f" ({trained.later})"
    if trained.rare is not None:
        sentence += f"\n{_rare(trained.rare)}"
    return sentence


def _rare(revoted: Revoted) -> str:
    """What the votes on rare categories change, in a sentence."""
    return (
        f"rare: the two best are asked again where their probabilities differ by Δ = "
        f"{revoted.delta:g} or less and the first has R = {revoted.ratio:g} times as "
        f"many documents or more, by {revoted.votes} votes; of held-out documents "
        f"{100 * revoted.asked_again:.1f} % are; categories detected: "
        f"{revoted.detected} → {revoted.detected_after}"
    )


def show_evaluated(
    evaluated: Evaluated,
    *,
    as_json: bool = False,
    everything: bool = False,
    remedy: str = REMEDY,
) -> None:
    """Print measures per learner and the plot's file."""
    if as_json:
        files = {"plot": str(evaluated.plot)}
        if evaluated.rare is not None:
            files["rare"] = str(evaluated.rare)
        show_json({"rows": evaluated.table.rows} | files)
        return
    table = evaluated.table
    notes = [table.note] if table.note else []
    notes.append(f"plot: {evaluated.plot}")
    if evaluated.rare is not None:
        caption = "plot of how often categories are right and chosen"
        notes.append(f"{caption}: {evaluated.rare}")
    table = replace(table, note="\n".join(notes))
    show_table(table, everything=everything, remedy=remedy)


def show_logged(logged: Logged, *, as_json: bool = False) -> None:
    """Print what was logged, under which numbers."""
    if as_json:
        show_json(asdict(logged))
        return
    first, *more = logged.numbers
    acts = f"act {first}" if not more else f"acts {first} to {max(more)}"
    tell(f"saved as {acts}: {logged.said}")
    learned = logged.learned
    if learned is None:
        if logged.later:
            tell(logged.later)
        return
    if learned.documents:
        many = _documents(learned.documents)
        say(f"learned at once from {many}, with {learned.revisits} re-visits")
    if learned.apart:
        say(f"not learned: {_documents(learned.apart)} set apart for testing")


def _documents(count: int) -> str:
    return "1 document" if count == 1 else f"{count} documents"


def show_reproduced(reproduced: Reproduced, *, everything: bool = False) -> None:
    """Print the measures, which claims hold, and the files written."""
    show_table(reproduced.table, everything=everything)
    for claim in reproduced.claims:
        tell(str(claim), "  ", "    ")
    say(f"\n  values: {reproduced.facts}\n  plot: {reproduced.plot}\n")


def _likely(suggestion: Explained) -> str:
    """The chance in whole percents, or why there is none."""
    chance = suggestion.probability
    if chance is None:
        return "not calibrated: too few decisions"
    basis = f"calibrated on {suggestion.calibrated_on:,} decisions"
    return f"{in_percent(chance)} likely ({basis})"


def in_percent(chance: float) -> str:
    """A probability in whole percents: nothing is certain, and nothing impossible.

    >>> in_percent(0.314), in_percent(0.9999)
    ('31 %', 'over 99 %')
    """
    percent = min(max(round(100 * chance), 1), 99)
    bound = "under " if chance < 0.005 else "over " if chance >= 0.995 else ""
    return f"{bound}{percent} %"


def parts_of(parts: Mapping[str, float], form: str = "+.3f") -> str:
    """What each term adds to a score; a term and its part stay in one line.

    >>> parts_of({"hives": 0.122}).replace(JOINED, " ")
    'hives +0.122'
    """
    pairs = (f"{term}{JOINED}{part:{form}}" for term, part in parts.items())
    return "  ".join(pairs) or "–"

"""How results are printed: tables for people, JSON for programs, bars for patience."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sized
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

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
    from classmark.workbench.reproducing import Reproduced

T = TypeVar("T")
PATIENCE = 1.0  # seconds before a progress bar appears


def say(text: str = "") -> None:
    """Print one line."""
    sys.stdout.write(f"{text}\n")


def show_json(value: Any) -> None:
    """Print JSON."""
    say(json.dumps(value, ensure_ascii=False, indent=1, default=str))


def show_table(table: Table, *, as_json: bool = False) -> None:
    """Print a table, or its rows as JSON."""
    if as_json:
        show_json(list(table.rows))
        return
    from rich.console import Console

    from classmark.cli.tables import grid_of, side_by_side

    say(table.title)
    console = Console(width=None if sys.stdout.isatty() else 160)
    for names in side_by_side(table.rows, console.width):
        console.print(grid_of(table.rows, names))
    if table.note:
        say(f"  {table.note}\n")


def show_suggestions(found: list[Explained], *, as_json: bool = False) -> None:
    """Print suggested categories with the terms for and against each."""
    if as_json:
        show_json([asdict(suggestion) for suggestion in found])
        return
    if not found:
        say("left to the expert: no category is as likely as was asked for")
    for suggestion in found:
        path = " › ".join(suggestion.path)
        say(f"{suggestion.rank:3}. {path}  ({suggestion.category})")
        say(f"       {_likely(suggestion)}, score {suggestion.score:.3f}")
        say(f"       for:     {_terms(suggestion.favour)}")
        say(f"       against: {_terms(suggestion.against)}")


def show_place(place: Place | None) -> None:
    """Print in one line where a document can be put, if that is known."""
    if place is None:
        return
    chance = in_percent(place.probability)
    if place.category is None:
        say(f"place: left to the expert (the likeliest branch: {chance})")
        return
    where = f"{' › '.join(place.path)}  ({place.category})"
    kind = "" if place.kind == "leaf" else ", and none below it for sure"
    say(f"place: {where}, {chance} likely{kind}")


def show_trained(trained: Trained, *, as_json: bool = False) -> None:
    """Print what was trained, by which strategy and why."""
    row: dict[str, Cell] = asdict(trained)
    if as_json:
        show_json([row])
        return
    told = TOLD if trained.base is None else (*TOLD, "learner", "gap")
    shown = {name: row[name] for name in row if name not in told}
    if trained.base is not None:
        shown["base"] = trained.base
    show_table(Table("Model in service", [shown], _why(trained)))


TOLD = (
    "why", "flat_bytes", "complexity_ratio", "pruned", "live", "later", "base", "rare",
)  # fmt: skip


def _why(trained: Trained) -> str:
    """The strategy in a sentence, with its numbers."""
    said = f"strategy {trained.strategy}: {trained.why}"
    if trained.strategy == "pruned":
        said += f"; inner categories passed over: {len(trained.pruned)}"
    if not trained.live:
        said += "; decisions are kept in the log and learned at the next train"
        said += f" ({trained.later})"
    if trained.rare is not None:
        said += f"\n  {_rare(trained.rare)}"
    return said


def _rare(found: Revoted) -> str:
    """What the votes on rare categories change, in a sentence."""
    return (
        f"rare: the two best are asked again where their probabilities differ by Δ = "
        f"{found.delta:g} or less and the first has R = {found.ratio:g} times as many "
        f"documents or more, by {found.votes} votes; of held-out documents "
        f"{100 * found.asked_again:.1f} % are; categories detected: "
        f"{found.detected} → {found.detected_after}"
    )


def show_evaluated(evaluated: Evaluated, *, as_json: bool = False) -> None:
    """Print measures per learner and the plot's file."""
    if as_json:
        files = {"plot": str(evaluated.plot)}
        if evaluated.rare is not None:
            files["rare"] = str(evaluated.rare)
        show_json({"rows": evaluated.table.rows} | files)
        return
    show_table(evaluated.table)
    say(f"  plot: {evaluated.plot}")
    if evaluated.rare is not None:
        say(f"  plot of how often categories are right and chosen: {evaluated.rare}")
    say()


def show_logged(logged: Logged, *, as_json: bool = False) -> None:
    """Print what was logged, under which numbers."""
    if as_json:
        show_json(asdict(logged))
        return
    first, *more = logged.numbers
    what = f"act {first}" if not more else f"acts {first} to {max(more)}"
    say(f"saved as {what}: {logged.said}")
    learned = logged.learned
    if learned is None:
        if logged.later:
            say(logged.later)
        return
    if learned.documents:
        many = _documents(learned.documents)
        say(f"learned at once from {many}, with {learned.revisits} re-visits")
    if learned.apart:
        say(f"not learned: {_documents(learned.apart)} set apart for testing")


def _documents(count: int) -> str:
    return "1 document" if count == 1 else f"{count} documents"


def show_reproduced(found: Reproduced) -> None:
    """Print the measures, which claims hold, and the files written."""
    show_table(found.table)
    for claim in found.claims:
        say(f"  {claim}")
    say(f"\n  values: {found.facts}\n  plot: {found.plot}\n")


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


def _terms(parts: Any) -> str:
    return "  ".join(f"{term} {part:+.3f}" for term, part in parts.items()) or "–"


class Bars:
    """Progress bars on standard error, for work that takes longer than a moment."""

    def track(self, items: Iterable[T], what: str, total: int | None) -> Iterator[T]:
        """Yield the items; after a second show how far we are."""
        if total is None and isinstance(items, Sized):
            total = len(items)
        started, bar, task, done = time.monotonic(), None, None, 0
        try:
            for item in items:
                yield item
                done += 1
                if bar is None and time.monotonic() - started > PATIENCE:
                    bar = _bar()
                    task = bar.add_task(what, total=total)
                if bar is not None and task is not None:
                    bar.update(task, completed=done)
        finally:
            if bar is not None:
                bar.stop()


def _console() -> Any:
    from rich.console import Console

    return Console(stderr=True)


def _bar() -> Any:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=_console(),
        transient=True,
    )
    bar.start()
    return bar

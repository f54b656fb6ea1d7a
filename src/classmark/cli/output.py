"""What commands print: tables and sentences in lines that fit, or JSON."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from classmark.language import several
from classmark.workbench.results import (
    Cell,
    Column,
    Evaluated,
    Logged,
    NamesTried,
    Revoted,
    Table,
    Trained,
)

INDENT = 2  # spaces before a table
BETWEEN = 2  # spaces from a column to the next
LEAST = 12  # characters that a text is never cut to less than


class Strip(NamedTuple):
    """A column as it is printed; best : how its best cell reads, to be marked."""

    heading: str
    cells: list[str]
    numeric: bool = False
    wrap: bool = False
    best: str | None = None

    @property
    def longest(self) -> int:
        """As wide as the heading and the cells are."""
        return max(map(_width, (self.heading, *self.cells)))

    @property
    def least(self) -> int:
        """What is needed: heading and numbers in full, and the beginnings of texts."""
        if self.numeric:
            return self.longest
        return max(_width(self.heading), min(self.longest, LEAST))


def columns_of(table: Table) -> list[Column]:
    """The columns of a table in their order, those that it describes first."""
    names = list(table.rows[0]) if table.rows else []
    described = [column for column in table.columns if column.name in names]
    rest = set(names) - {column.name for column in described}
    return described + [Column(name) for name in names if name in rest]


def lay_out(
    table: Table, width: int, *, everything: bool = False
) -> tuple[list[str], str]:
    """A table in lines of at most ``width`` characters; and what it does not show.

    A single row that is too wide stands upright, a column a line. Otherwise the last
    columns are left out and texts are cut, unless ``everything`` is asked for: then
    texts are wrapped, and further columns follow below, each time after the first one.
    """
    if not table.rows:
        return [], ""
    columns = columns_of(table)
    shown = [each for each in columns if everything or each.brief]
    strips, missing = [_strip(table.rows, column) for column in shown], []
    if more := len(columns) - len(shown):
        things = table.plural.removesuffix("s") if more == 1 else table.plural
        missing = [f"{more} more {things}"]
    if len(table.rows) == 1 and _total([each.longest for each in strips]) > width:
        headings = [each.heading.replace("\n", " ") for each in strips]
        cells = [each.cells[0] for each in strips]
        strips = [Strip("column", headings), Strip("cell", cells)]
        lines = _drawn(strips, _fitted(strips, width), wrap=True, heading=False)
    elif everything:
        lines = _below_each_other(strips, width)
    else:
        widths = _fitted(strips, width)
        lines = _drawn(strips, widths)
        if left_out := [each.heading for each in strips[len(widths) :]]:
            names = " ".join(", ".join(left_out).split())
            things = "column" if len(left_out) == 1 else "columns"
            missing.insert(0, f"{len(left_out)} {things} left out ({names})")
        pairs = zip(strips, widths, strict=False)
        if any(room < each.longest and not each.wrap for each, room in pairs):
            missing.append("texts that end in … go on")
    return lines, ", ".join(missing)


def _strip(rows: Sequence[Mapping[str, Cell]], column: Column) -> Strip:
    values = [row[column.name] for row in rows]
    numbers = [value for value in values if isinstance(value, int | float)]
    best = None
    if column.best and len(numbers) > 1:
        least = column.best == "least"
        best = cell_of(min(numbers) if least else max(numbers), column)
    return Strip(
        column.heading or column.name,
        [cell_of(value, column) for value in values],
        bool(numbers) and len(numbers) + values.count(None) == len(values),
        column.wrap,
        best,
    )


def _total(widths: Sequence[int]) -> int:
    """What a table takes, with the spaces before and between its columns."""
    return INDENT + sum(widths) + BETWEEN * (len(widths) - 1)


def _fitted(strips: Sequence[Strip], width: int) -> list[int]:
    """The widths of the first columns that fit, with texts as wide as there is room."""
    least = [each.least for each in strips]
    while _total(least) > width and len(least) > 1:
        least.pop()
    widths = [each.longest for each in strips[: len(least)]]
    for _ in range(_total(widths) - width):
        able = [at for at, each in enumerate(widths) if each > least[at]]
        if not able:
            break
        widths[max(able, key=widths.__getitem__)] -= 1
    return widths if len(widths) > 1 else [min(widths[0], width - INDENT)]


def _below_each_other(strips: Sequence[Strip], width: int) -> list[str]:
    """Every column, in as many groups as are needed; the first one is in each."""
    first, rest = strips[0], strips[1:]
    lines: list[str] = []
    while rest or not lines:
        group = [first, *rest]
        if rest and len(_fitted(group, width)) == 1:
            group = list(rest)
        widths = _fitted(group, width)
        rest = group[len(widths) :]
        lines += ["", *_drawn(group, widths, wrap=True)]
    return lines[1:]


def _width(text: str) -> int:
    """Of the longest line, in the places it takes on a screen."""
    from rich.cells import cell_len

    return max(map(cell_len, text.split("\n")))


def cell_of(value: Cell, column: Column) -> str:
    """A cell in words.

    >>> cell_of(0.1078, Column("one_error", format=".1%")), cell_of(None, Column("C"))
    ('10.8 %', '–')
    """
    if value is None or value != value:  # noqa: PLR0124  NaN
        return "–"
    if isinstance(value, str):
        return "".join(c if c.isprintable() else " " for c in value)
    if column.format:
        return format(value, column.format).replace("%", " %")
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 10 else f"{value:,.2f}"
    return f"{value:,}"


def _drawn(
    strips: Sequence[Strip],
    widths: Sequence[int],
    *,
    wrap: bool = False,
    heading: bool = True,
) -> list[str]:
    """The first columns in lines; the best cells are bold if the screen can do that."""
    from rich import box, text
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table as Grid

    grid = Grid(
        box=box.SIMPLE_HEAD, padding=(0, BETWEEN - 1, 0, 0), pad_edge=False,
        show_edge=False, show_header=heading, header_style="",
    )  # fmt: skip
    for strip, width in zip(strips, widths, strict=False):
        grid.add_column(
            text.Text(strip.heading),
            justify="right" if strip.numeric else "left",
            width=width,
            no_wrap=not (wrap or strip.wrap),
            overflow="fold" if wrap or strip.wrap else "ellipsis",
        )
    styled = (
        [text.Text(cell, "bold" if cell == strip.best else "") for cell in strip.cells]
        for strip in strips[: len(widths)]
    )
    for cells in zip(*styled, strict=True):
        grid.add_row(*cells)
    console = Console(width=_total(widths) + 1)
    with console.capture() as captured:
        console.print(Padding(grid, (0, 0, 0, INDENT)))
    return [line.rstrip() for line in captured.get().splitlines()]


WIDTH = 100  # columns where the output is not a terminal, and most of a sentence's line
NARROWEST = 40  # columns below which nothing is made narrower
REMEDY = "--all or --json"
BELOW = " " * 7  # before what is said of an answer, below its number
JOINED = "\N{NO-BREAK SPACE}"  # between words that stay in one line


class Text(NamedTuple):
    """Sentences in lines that fit; a word or a path is never parted.

    first : what the first line begins with;  then : the others, as deep if not given.
    """

    text: str
    first: str = ""
    then: str | None = None


@dataclass(frozen=True, slots=True)
class View:
    """What a command returns: ``facts`` for JSON, and the parts that people read.

    A string is a line as it is.  remedy : what to type to see a table in full.
    """

    facts: Any
    parts: Iterable[Table | Text | str]
    remedy: str = REMEDY


Result = View | Table | Trained | Evaluated | Logged | str | None


def show(result: Result, *, as_json: bool = False, everything: bool = False) -> None:
    """Print what a command returns; a string is printed as it is, also with JSON.

    everything : every column of the tables, with whole texts.
    """
    if result is None:
        return
    if isinstance(result, str):
        say(result)
        return
    view = view_of(result)
    if as_json:
        facts = without_nan(view.facts)
        say(json.dumps(facts, ensure_ascii=False, indent=1, default=str))
        return
    for part in view.parts:
        match part:
            case Table():
                show_table(part, everything=everything, remedy=view.remedy)
            case Text():
                tell(*part)
            case str():
                say(part)


def view_of(result: View | Table | Trained | Evaluated | Logged) -> View:
    """A result of the workbench as JSON and as people read it."""
    match result:
        case Table():
            return View(list(result.rows), [result])
        case Trained():
            return View([asdict(result)], [_trained_table(result)])
        case Evaluated():
            files = {"plot": str(result.plot)}
            if result.rare is not None:
                files["rare"] = str(result.rare)
            return View({"rows": result.table.rows} | files, [with_plots(result)])
        case Logged():
            return View(asdict(result), _logged_lines(result))
        case View():
            return result


def without_nan(value: Any) -> Any:
    """Plain values with None for what is not defined.

    >>> without_nan({"kappa": float("nan"), "pairs": (1.0,)})
    {'kappa': None, 'pairs': [1.0]}
    """
    if isinstance(value, dict):
        return {name: without_nan(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(each) for each in value]
    return None if value != value else value  # noqa: PLR0124  only NaN differs from itself


def say(text: str = "") -> None:
    """Print one line."""
    sys.stdout.write(f"{text}\n")


def screen_width() -> int:
    """Columns of the terminal (or as COLUMNS says); 100 where there is none."""
    return max(NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns)


def tell(text: str, first: str = "", then: str | None = None) -> None:
    """Print sentences as ``Text`` describes them."""
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


def show_table(table: Table, *, everything: bool = False, remedy: str = REMEDY) -> None:
    """Print a table in lines that fit.

    everything : every column, with whole texts;  remedy : what to type for that.
    """
    tell(table.title)
    lines, missing = lay_out(table, screen_width(), everything=everything)
    for line in ["", *lines] if lines else []:
        say(line)
    notes = [table.note] if table.note else []
    if everything:
        named = [column for column in columns_of(table) if column.meaning]
        notes += [f"{column.name}: {column.meaning}" for column in named]
    elif missing:
        notes.append(f"{missing}: {remedy}")
    if notes:
        say()
    for note in notes:
        tell(note, "  ")
    say()


IN_NOTE = (
    "why", "flat_bytes", "complexity_ratio", "pruned", "live", "later", "base", "rare",
    "loss", "center", "prior", "noise", "names", "members",
)  # fmt: skip


def _trained_table(trained: Trained) -> Table:
    """What was trained, by which strategy and why."""
    row: dict[str, Cell] = asdict(trained)
    hidden = IN_NOTE if trained.base is None else (*IN_NOTE, "learner", "gap")
    shown = {name: row[name] for name in row if name not in hidden}
    if trained.base is not None:
        shown["base"] = trained.base
    note = f"strategy {trained.strategy}: {trained.why}"
    if trained.loss is not None:
        note += f"; loss {trained.loss}, center {trained.center:g}"
        note += f", prior {trained.prior:g}, noise {trained.noise:g}"
    if trained.strategy == "pruned":
        note += f"; inner categories passed over: {len(trained.pruned)}"
    if not trained.live:
        note += "; decisions are kept in the log and learned at the next train"
        note += f" ({trained.later})"
    if trained.members:
        counts = ", ".join(f"{name} by {share:.3g}" for name, share in trained.members)
        note += f"\nensemble: the scores of {counts} are summed"
    if trained.names is not None:
        note += f"\n{_names(trained.names)}"
    if trained.rare is not None:
        note += f"\n{_rare(trained.rare)}"
    return Table("Model in service", [shown], note)


def _names(tried: NamesTried) -> str:
    """What names of categories add, in a sentence."""
    gain = f"{tried.before:.3f} without, {tried.after:.3f} with them"
    precision = f"average precision of held-out documents {gain}"
    if not tried.used:
        return f"names: {tried.count:,} names of categories do not count ({precision})"
    return (
        f"names: {tried.count:,} names of categories count, their words by "
        f"{tried.words:.2g} and the runs inside them by {tried.runs:.2g} ({precision})"
    )


def _rare(revoted: Revoted) -> str:
    """What the votes on rare categories change, in a sentence."""
    return (
        f"rare: the two best are asked again where their probabilities differ by Δ = "
        f"{revoted.delta:g} or less and the first has R = {revoted.ratio:g} times as "
        f"many documents or more, by {revoted.votes} votes; of held-out documents "
        f"{100 * revoted.asked_again:.1f} % are; categories detected: "
        f"{revoted.detected} → {revoted.detected_after}"
    )


def with_plots(evaluated: Evaluated) -> Table:
    """The measures per learner; the plots' files are in the note."""
    table = evaluated.table
    notes = [table.note] if table.note else []
    notes.append(f"plot: {evaluated.plot}")
    if evaluated.rare is not None:
        caption = "plot of how often categories are right and chosen"
        notes.append(f"{caption}: {evaluated.rare}")
    return replace(table, note="\n".join(notes))


def _logged_lines(logged: Logged) -> Iterator[Text | str]:
    """What was logged, under which numbers, and what was learned from it."""
    first, *more = logged.numbers
    acts = f"act {first}" if not more else f"acts {first} to {max(more)}"
    yield Text(f"saved as {acts}: {logged.said}")
    learned = logged.learned
    if logged.later:
        yield Text(logged.later)
    if learned is None:
        return
    if learned.documents:
        many = several(learned.documents, "document")
        yield f"learned at once from {many}, with {learned.revisits} re-visits"
    if learned.apart:
        yield f"not learned: {several(learned.apart, 'document')} set apart for testing"


def parts_of(parts: Mapping[str, float], form: str = "+.3f") -> str:
    """What each term adds to a score; a term and its part stay in one line.

    >>> parts_of({"hives": 0.122}).replace(JOINED, " ")
    'hives +0.122'
    """
    pairs = (f"{term}{JOINED}{part:{form}}" for term, part in parts.items())
    return "  ".join(pairs) or "–"

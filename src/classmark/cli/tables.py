"""Which columns of a table fit a screen, how wide they are, and how cells read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from classmark.workbench.views import Cell, Column, Table

Rows = Sequence[Mapping[str, Cell]]
INDENT = 2  # spaces before a table
BETWEEN = 2  # spaces from a column to the next
LEAST = 12  # characters that a text is never cut to less than


class Layout(NamedTuple):
    """Columns that stand beside each other, and how wide each is."""

    columns: list[Column]
    widths: list[int]

    @property
    def width(self) -> int:
        """What the table takes, with the spaces before and between its columns."""
        return INDENT + sum(self.widths) + BETWEEN * (len(self.widths) - 1)


class Shown(NamedTuple):
    """The lines of a table, the columns that did not fit, and whether texts are cut."""

    lines: list[str]
    left_out: list[Column]
    cut: bool


def columns_of(table: Table) -> list[Column]:
    """The columns of a table in their order, those that it describes first."""
    names = list(table.rows[0]) if table.rows else []
    described = [column for column in table.columns if column.name in names]
    rest = set(names) - {column.name for column in described}
    return described + [Column(name) for name in names if name in rest]


def lay_out(table: Table, width: int, *, everything: bool = False) -> Shown:
    """A table in lines of at most ``width`` characters.

    A single row that is too wide stands upright, a column a line. Otherwise the last
    columns are left out and texts are cut, unless ``everything`` is asked for: then
    texts are wrapped, and further columns follow below, each time after the first one.
    """
    if not table.rows:
        return Shown([], [], cut=False)
    rows, columns = table.rows, columns_of(table)
    if not everything:
        columns = [column for column in columns if column.brief]
    if len(rows) == 1 and _natural(rows, columns).width > width:
        return Shown(_upright(rows[0], columns, width), [], cut=False)
    if everything:
        groups = _below_each_other(rows, columns, width)
        return Shown(
            _joined(_drawn(rows, each, wrap=True) for each in groups), [], False
        )
    layout = _beside_each_other(rows, columns, width)
    left_out = columns[len(layout.columns) :]
    return Shown(_drawn(rows, layout), left_out, _is_cut(rows, layout))


def _is_cut(rows: Rows, layout: Layout) -> bool:
    """Whether some text is longer than its column and not wrapped."""
    return any(
        width < _longest(rows, column) and not column.wrap
        for column, width in zip(*layout, strict=True)
    )


def _natural(rows: Rows, columns: Sequence[Column]) -> Layout:
    """As wide as headings and cells are."""
    return Layout(list(columns), [_longest(rows, column) for column in columns])


def _beside_each_other(rows: Rows, columns: Sequence[Column], width: int) -> Layout:
    """The first columns that fit, with texts as wide as there is room."""
    least = _least(rows, columns)
    while least.width > width and len(least.columns) > 1:
        least = Layout(least.columns[:-1], least.widths[:-1])
    natural = _natural(rows, least.columns)
    return Layout(natural.columns, _narrowed(natural, least, width))


def _narrowed(natural: Layout, least: Layout, width: int) -> list[int]:
    """Take from the widest column that can be narrower, until all of them fit."""
    widths = list(natural.widths)
    for _ in range(natural.width - width):
        able = [at for at, each in enumerate(widths) if each > least.widths[at]]
        if not able:
            break
        widths[max(able, key=widths.__getitem__)] -= 1
    if len(widths) == 1:
        return [min(widths[0], width - INDENT)]
    return widths


def _below_each_other(
    rows: Rows, columns: Sequence[Column], width: int
) -> Iterator[Layout]:
    """Every column, in as many groups as are needed; the first one is in each."""
    first, rest = columns[0], list(columns[1:])
    while True:
        layout = _beside_each_other(rows, [first, *rest], width)
        if rest and len(layout.columns) == 1:
            layout = _beside_each_other(rows, rest, width)
            rest = rest[len(layout.columns) :]
        else:
            rest = rest[len(layout.columns) - 1 :]
        yield layout
        if not rest:
            return


def _least(rows: Rows, columns: Sequence[Column]) -> Layout:
    """What columns need: headings and numbers in full, and the beginnings of texts."""
    widths = [
        longest
        if _numeric(rows, column.name)
        else max(_width(heading_of(column)), min(longest, LEAST))
        for column in columns
        for longest in [_longest(rows, column)]
    ]
    return Layout(list(columns), widths)


def _longest(rows: Rows, column: Column) -> int:
    cells = (_width(cell_of(row[column.name], column)) for row in rows)
    return max(_width(heading_of(column)), *cells)


def _width(text: str) -> int:
    """Of the longest line, in the places it takes on a screen."""
    from rich.cells import cell_len

    return max(map(cell_len, text.split("\n")))


def _numeric(rows: Rows, name: str) -> bool:
    values = [row[name] for row in rows if row[name] is not None]
    return bool(values) and all(isinstance(value, int | float) for value in values)


def heading_of(column: Column) -> str:
    """The words above a column, perhaps in several lines."""
    return column.heading or column.name


def cell_of(value: Cell, column: Column) -> str:
    """A cell in words.

    >>> cell_of(0.1078, Column("one_error", format=".1%")), cell_of(None, Column("C"))
    ('10.8 %', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, str):
        return "".join(c if c.isprintable() else " " for c in value)
    if column.format:
        return format(value, column.format).replace("%", " %")
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 10 else f"{value:,.2f}"
    return f"{value:,}"


def _upright(
    row: Mapping[str, Cell], columns: Sequence[Column], width: int
) -> list[str]:
    """One row, a line for each of its columns."""
    rows = [
        {
            "column": heading_of(each).replace("\n", " "),
            "cell": cell_of(row[each.name], each),
        }
        for each in columns
    ]
    layout = _beside_each_other(rows, [Column("column"), Column("cell")], width)
    return _drawn(rows, layout, wrap=True, heading=False)


def _drawn(
    rows: Rows, layout: Layout, *, wrap: bool = False, heading: bool = True
) -> list[str]:
    """The lines of a table; the best values are bold where the screen can do that."""
    from rich import box
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(
        box=box.SIMPLE_HEAD, padding=(0, BETWEEN - 1, 0, 0), pad_edge=False,
        show_edge=False, show_header=heading, header_style="",
    )  # fmt: skip
    for column, width in zip(*layout, strict=True):
        grid.add_column(
            Text(heading_of(column)),
            justify="right" if _numeric(rows, column.name) else "left",
            width=width,
            no_wrap=not (wrap or column.wrap),
            overflow="fold" if wrap or column.wrap else "ellipsis",
        )
    marked = {column.name: _best(rows, column) for column in layout.columns}
    for row in rows:
        cells = [(cell_of(row[each.name], each), each) for each in layout.columns]
        grid.add_row(
            *(
                Text(text, style="bold" if text == marked[each.name] else "")
                for text, each in cells
            )
        )
    console = Console(width=layout.width + 1)
    with console.capture() as captured:
        console.print(Padding(grid, (0, 0, 0, INDENT)))
    return [line.rstrip() for line in captured.get().splitlines()]


def _best(rows: Rows, column: Column) -> str | None:
    """How the best cell of a column reads; None where none is to be marked."""
    values = [v for row in rows if isinstance(v := row[column.name], int | float)]
    if not column.best or len(values) < 2:
        return None
    return cell_of(min(values) if column.best == "least" else max(values), column)


def _joined(tables: Iterator[list[str]]) -> list[str]:
    lines: list[str] = []
    for table in tables:
        lines += ["", *table] if lines else table
    return lines

"""How wide is a table, and what goes beside each other on a screen?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from classmark.workbench.views import Cell

Rows = Sequence[Mapping[str, Cell]]
BETWEEN = 3  # spaces from a column to the next


def grid_of(rows: Rows, names: Sequence[str]) -> Any:
    """Some columns of a table; only those of words may be narrower than their cells."""
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=box.SIMPLE_HEAD)
    for name in names:
        if _numeric(rows, name):
            grid.add_column(Text(name), justify="right", no_wrap=True)
        else:
            grid.add_column(Text(name), min_width=len(name))
    for row in rows:
        grid.add_row(*(Text(_cell(row[name])) for name in names))
    return grid


def side_by_side(rows: Rows, width: int) -> list[list[str]]:
    """Which columns to print beside each other, so that no heading is cut.

    The first column is in every group.

    >>> side_by_side([{"name": "bees", "right": 0.5, "wrong": 0.5}], 20)
    [['name', 'right'], ['name', 'wrong']]
    """
    if not rows:
        return [[]]
    first, *others = ((name, BETWEEN + _least(rows, name)) for name in rows[0])
    groups, room = [[first[0]]], width - first[1]
    for name, needed in others:
        if needed > room and len(groups[-1]) > 1:
            groups.append([first[0]])
            room = width - first[1]
        groups[-1].append(name)
        room -= needed
    return groups


def _least(rows: Rows, name: str) -> int:
    """What a column needs: its heading, and its numbers; words can be wrapped."""
    cells = [_cell(row[name]) for row in rows] if _numeric(rows, name) else []
    return max(map(len, [name, *cells]))


def _numeric(rows: Rows, name: str) -> bool:
    return any(isinstance(row[name], int | float) for row in rows)


def _cell(value: Cell) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 10 else f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else value

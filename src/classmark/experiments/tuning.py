"""Which value of a parameter is best? Try them all on judged queries."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from classmark.experiments.retrieving import JudgedQueries, measure, run_queries
from classmark.index.feedback import Feedback
from classmark.index.models import resolve
from classmark.measures import parse
from classmark.problems import Mistake
from classmark.progress import track

MOST = 2000
_NAMED = re.compile(r"(\w+)=(.+)")

Grid = Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Trial:
    """One setting of the parameters, and the mean of the measure under it."""

    parameters: dict[str, float]
    value: float


def grid_of(parameters: Sequence[str]) -> dict[str, list[float]]:
    """Read ``name=first:last:step`` or ``name=value,value,…``, one each.

    >>> grid_of(["b=0:1:0.25", "k1=0.9,1.2"])
    {'b': [0.0, 0.25, 0.5, 0.75, 1.0], 'k1': [0.9, 1.2]}
    """
    grid: dict[str, list[float]] = {}
    for text in parameters:
        match = _NAMED.fullmatch(text.strip())
        if match is None or match[1] in grid:
            raise Mistake(
                f"parameter {text!r}: give each once, as name=first:last:step or "
                "name=value,value"
            )
        grid[match[1]] = _values(text, match[2])
    return grid


def _values(text: str, values: str) -> list[float]:
    cells = values.split(":") if ":" in values else values.split(",")
    try:
        numbers = [float(cell) for cell in cells]
    except ValueError as problem:
        raise Mistake(f"parameter {text!r}: {problem}: give numbers") from problem
    if ":" not in values:
        return numbers
    if len(numbers) != 3 or not numbers[2] > 0 or not numbers[1] >= numbers[0]:
        raise Mistake(f"parameter {text!r}: give first:last:step, with a step above 0")
    first, last, step = numbers
    steps = int((last - first) / step + 1e-9)
    if steps > MOST:
        raise Mistake(f"parameter {text!r} has over {MOST} values: give a larger step")
    return [round(first + step * at, 12) for at in range(steps + 1)]


def settings_of(grid: Grid) -> list[dict[str, float]]:
    """Return every setting of a grid."""
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def sweep(
    asked: JudgedQueries,
    model: str,
    settings: Sequence[dict[str, float]],
    name: str = "map",
    *,
    fixed: Mapping[str, float | str] | None = None,
    feedback: Feedback | None = None,
) -> list[Trial]:
    """Answer all queries under every setting of the model's parameters.

    settings : which are tried;  name : the measure;  fixed : parameters that stay.
    """
    parse(name)
    stay = dict(fixed or {})
    for setting in settings:
        resolve(model, stay | setting)
    trials = []
    for setting in track(settings, f"tuning {model}", len(settings)):
        run = run_queries(asked, (model, stay | setting), feedback=feedback)
        trials.append(Trial(setting, float(measure(asked, run, [name])[name].mean())))
    return trials


def best_of(trials: Sequence[Trial]) -> Trial:
    """Return the trial with the largest value, the first of equals."""
    return max(trials, key=lambda trial: trial.value)

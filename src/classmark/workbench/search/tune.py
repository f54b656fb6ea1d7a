"""Sweep a model's parameters over judged queries, and plot what comes out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from classmark.evaluation import retrieval
from classmark.evaluation.figures import sweep_curve
from classmark.figures import require_svg
from classmark.formats.judged_runs import is_graded, read_judgments, read_topics
from classmark.problems import Mistake
from classmark.workbench.results import Cell, Evaluated, Table
from classmark.workbench.search.runs import opened, opening_on
from classmark.workbench.search.search import feedback_of, named_values

if TYPE_CHECKING:
    from classmark.datasets.dataset import Dataset
    from classmark.machines.cluster import Machines
    from classmark.workbench.project import Project


REPORTS = Path("reports")
MOST = 12  # lines in a plot


@dataclass(frozen=True, slots=True)
class Sweep:
    """What to try: a model, ``name=first:last:step`` for some parameters, a measure.

    fixed : ``name=value`` for parameters that stay;  feedback : as ``search`` takes it.
    """

    model: str = "bm25"
    parameters: Sequence[str] = ()
    measure: str = "map"
    fixed: Sequence[str] = ()
    feedback: str | None = None


@dataclass(frozen=True, slots=True)
class Judgments:
    """Where queries and judgments are: two files, or a known collection."""

    queries: Path | None = None
    qrels: Path | None = None
    dataset: str | None = None
    data: Path | None = None


def tune(
    judged: retrieval.JudgedQueries, plan: Sweep, plot: Path | None = None
) -> Evaluated:
    """Try every setting; return the table, which names the best, and the plot."""
    grid = retrieval.grid_of(plan.parameters)
    if not grid:
        raise Mistake("no parameter to tune: give --parameter b=0:1:0.05")
    fixed = named_values(plan.fixed, "--set")
    grid, notes = retrieval.defined(plan.model, grid, fixed)
    path = plot or REPORTS / f"tune-{plan.model}-{'-'.join(grid)}.svg"
    require_svg(path)
    trials = retrieval.sweep(
        judged,
        plan.model,
        retrieval.settings_of(grid),
        plan.measure,
        fixed=fixed,
        feedback=None if plan.feedback is None else feedback_of(plan.feedback),
    )
    best = retrieval.best_of(trials)
    rows: list[dict[str, Cell]] = [
        {**trial.parameters, plan.measure: trial.value} for trial in trials
    ]
    values = ", ".join(f"{name} = {value:g}" for name, value in best.parameters.items())
    table = Table(
        f"{plan.model} on {judged.name}, {len(judged.queries)} queries",
        rows,
        "\n".join([f"best: {values} ({plan.measure} {best.value:.4f})", *notes]),
    )
    names = (next(iter(grid)), plan.measure)
    sweep_curve(_curves(trials, grid), path, table.title, names)
    return Evaluated(table, path)


@contextmanager
def judged_in(
    project: Project | None,
    folder: Path | None,
    judgments: Judgments,
    *,
    machines: Machines | None = None,
) -> Iterator[retrieval.JudgedQueries]:
    """Put judged queries to a project, to an index, or to their own collection.

    machines : who answers the queries, if not this process; the answers are the same.
    """
    if folder is None and project is None:
        if judgments.dataset is None or judgments.queries or judgments.qrels:
            raise Mistake(
                "nothing to tune on: give --dataset NAME, or a project or --index with "
                "--queries FILE and --qrels FILE"
            )
        with retrieval.indexed(_loaded(judgments), opening_on(machines)) as judged:
            yield judged
        return
    queries, qrels, name = read_judged(judgments)
    with opened(project, folder, machines) as index:
        yield retrieval.judged_queries(index, queries, qrels, name)


def read_judged(
    judgments: Judgments,
) -> tuple[Mapping[str, str], Mapping[str, Mapping[str, float]], str]:
    """Read query → text, query → document → grade, and what to call them."""
    if judgments.dataset is not None:
        dataset = _loaded(judgments)
        return dataset.queries, dataset.qrels, dataset.name
    if judgments.queries is None or judgments.qrels is None:
        raise Mistake(
            "judged queries are needed: give --queries FILE and --qrels FILE, or "
            "--dataset NAME for those of a known collection"
        )
    qrels = read_judgments(judgments.qrels)
    if not is_graded(qrels):
        raise Mistake(
            f"{judgments.qrels} holds preference pairs: give grades to tune or learn on"
        )
    return read_topics(judgments.queries), qrels, judgments.queries.name


def _loaded(judgments: Judgments) -> Dataset:
    from classmark.datasets import load

    name = str(judgments.dataset)
    return load(name, judgments.data, "dev" if name == "nfcorpus" else None)


def _curves(
    trials: Sequence[retrieval.Trial], grid: retrieval.Grid
) -> Mapping[str, tuple[list[float], list[float]]]:
    """Return a line against the first parameter for each setting of the others."""
    first = next(iter(grid))
    curves: dict[str, tuple[list[float], list[float]]] = {}
    for trial in trials:
        rest = [f"{k} = {v:g}" for k, v in trial.parameters.items() if k != first]
        x, y = curves.setdefault(", ".join(rest), ([], []))
        x.append(trial.parameters[first])
        y.append(trial.value)
    ordered = sorted(curves.items(), key=lambda entry: -max(entry[1][1]))
    return dict(ordered[:MOST])

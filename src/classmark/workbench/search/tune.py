"""Sweep a model's parameters over judged queries, and plot what comes out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from classmark.evaluation import retrieval
from classmark.evaluation.figures import sweep_curve
from classmark.figures import require_svg
from classmark.formats.judged_runs import (
    graded_lines,
    is_graded,
    read_judgments,
    read_topics,
)
from classmark.formats.records import gather
from classmark.formats.text_files import Numbered
from classmark.problems import Mistake, worded
from classmark.workbench.results import (
    Cell,
    Evaluated,
    Table,
    WorkResult,
    as_result,
)
from classmark.workbench.search.index import open_project_index
from classmark.workbench.search.runs import opened, opening_on
from classmark.workbench.search.search import feedback_of, named_values
from classmark.workbench.store.log import whoami

if TYPE_CHECKING:
    from classmark.datasets.dataset import Dataset
    from classmark.index.dense import DenseIndex
    from classmark.machines.cluster import Machines
    from classmark.workbench.project import Project
    from classmark.workbench.team.desk import Desk
    from classmark.workbench.team.jobs import Job


REPORTS = Path("reports")
MOST = 12  # lines in a plot
MOST_SETTINGS = 2000  # that a job tries
TUNING = "tune"  # the job
MEANING_WEIGHT = "weight"  # as a parameter


@dataclass(frozen=True, slots=True)
class Sweep:
    """What to try: a model, ``name=first:last:step`` for some parameters, a measure.

    fixed : ``name=value`` for parameters that stay;  feedback : as ``search`` takes it;
    hybrid : the weight of meaning beside words is tried;  use : the best one becomes
    the project's.
    """

    model: str = "bm25"
    parameters: Sequence[str] = ()
    measure: str = "map"
    fixed: Sequence[str] = ()
    feedback: str | None = None
    hybrid: bool = False
    use: bool = False


@dataclass(frozen=True, slots=True)
class Judgments:
    """Where queries and judgments are: two files, a known collection, or here.

    texts : query → text;  grades : query → document → grade.
    """

    queries: Path | None = None
    qrels: Path | None = None
    dataset: str | None = None
    data: Path | None = None
    texts: Mapping[str, str] | None = None
    grades: Mapping[str, Mapping[str, float]] | None = None


def judgments_of(
    queries: str | Mapping[str, str], qrels: str | Mapping[str, Mapping[str, float]]
) -> Judgments:
    """Judgments that were sent: as mappings, or as the text of such files.

    queries : an id, a tab or blanks, and the text a line;  qrels : as TREC has them.

    >>> judgments_of("1 salt road", "1 0 d7 2").grades
    {'1': {'d7': 2.0}}
    """
    texts = _query_lines(queries) if isinstance(queries, str) else queries
    if not texts or not qrels:
        raise Mistake("judged queries are empty: give some, with documents judged")
    grades = qrels
    if isinstance(qrels, str):
        grades = gather(graded_lines(_numbered(qrels, "qrels")))
    return Judgments(texts=texts, grades=cast("Any", grades))


def _query_lines(text: str) -> dict[str, str]:
    file, texts = _numbered(text, "queries"), {}
    for _, line in file:
        id_, *words = line.split(None, 1)
        if not words:
            file.refuse("an id and the words of the query are needed: mend the line")
        texts[file.new_id(id_)] = words[0].strip()
    return texts


def _numbered(text: str, name: str) -> Numbered[str]:
    rows = enumerate(text.split("\n"), 1)
    return Numbered(name, ((at, line) for at, line in rows if line.strip()))


def tune(
    judged: retrieval.JudgedQueries,
    plan: Sweep,
    plot: Path | None = None,
    dense: DenseIndex | None = None,
) -> Evaluated:
    """Try every setting; return the table, which names the best, and the plot.

    dense : the documents' vectors, where the weight of meaning is tried.
    """
    fixed, grid = named_values(plan.fixed, worded("--set")), _grid(plan)
    feedback = None if plan.feedback is None else feedback_of(plan.feedback)
    notes: list[str] = []
    if dense is None:
        grid, notes = retrieval.defined(plan.model, grid, fixed)
    path = plot or REPORTS / f"tune-{plan.model}-{'-'.join(grid)}.svg"
    require_svg(path)
    if dense is None:
        settings = retrieval.settings_of(grid)
        trials = retrieval.sweep(
            judged, plan.model, settings, plan.measure, fixed=fixed, feedback=feedback
        )
    else:
        questions = retrieval.fused_questions(
            judged.searcher, judged.queries, judged.texts, dense,
            ((plan.model, fixed), None, None), feedback=feedback,
        )  # fmt: skip
        trials = retrieval.learn_weight(
            judged, questions, grid[MEANING_WEIGHT], plan.measure
        )
    best = retrieval.best_of(trials)
    rows: list[dict[str, Cell]] = [
        {**trial.parameters, plan.measure: trial.value} for trial in trials
    ]
    values = ", ".join(f"{name} = {value:g}" for name, value in best.parameters.items())
    table = Table(
        f"{plan.model}{' and meaning' if dense else ''} on {judged.name}, "
        f"{len(judged.queries)} queries",
        rows,
        "\n".join([f"best: {values} ({plan.measure} {best.value:.4f})", *notes]),
    )
    names = (next(iter(grid)), plan.measure)
    sweep_curve(_curves(trials, grid), path, table.title, names)
    return Evaluated(table, path)


def tune_meaning(
    project: Project | None,
    judgments: Judgments,
    plan: Sweep,
    plot: Path | None = None,
    users: Project | None = None,
    who: str = "",
) -> Evaluated:
    """Learn the weight of meaning beside words from judged queries of a project.

    With ``plan.use`` it becomes the setting, of the project or of ``users``, which
    others have open.
    """
    if project is None:
        raise Mistake("--hybrid needs the vectors of a project: give --project DIR")
    from classmark.workbench.search.hybrid import Fusion, index_vectors, to_be_fused

    with judged_in(project, None, judgments) as judged:
        index = open_project_index(project)
        wish = Fusion(None, required=True)
        fused = to_be_fused(project, wish, lambda: index_vectors(project, index))
        done = tune(judged, plan, plot, fused.dense)
    table, more = done.table, list(fused.notes[1:])
    best = max(table.rows, key=lambda row: float(row[plan.measure] or 0.0))
    if plan.use:
        weight = f"{best[MEANING_WEIGHT]:g}"
        values = {"search.meaning_weight": weight}
        (users or project).change_settings(values, who or whoami())
        more.append(f"searches count meaning {weight} from now on")
    note = "\n".join([table.note, *more])
    return replace(done, table=replace(table, note=note))


def start_tuning(desk: Desk, judgments: Judgments, plan: Sweep, who: str) -> Job:
    """Try every setting as a job; too many of them are refused at once."""
    count = prod(map(len, _grid(plan).values()))
    if count > MOST_SETTINGS:
        raise Mistake(
            f"{count:,} settings are to be tried: give larger steps, so that there are "
            f"{MOST_SETTINGS:,} at most"
        )

    def work(project: Project) -> WorkResult:
        plot = project.folder / REPORTS / "tune.svg"
        if plan.hybrid:
            table = tune_meaning(project, judgments, plan, plot, desk, who).table
        else:
            with judged_in(project, None, judgments) as judged:
                table = tune(judged, plan, plot).table
        best = max(table.rows, key=lambda row: float(row[plan.measure] or 0.0))
        return as_result(table, {"best": best})

    return desk.jobs.start(TUNING, work, who)


def _grid(plan: Sweep) -> dict[str, list[float]]:
    grid = retrieval.grid_of(plan.parameters)
    if plan.hybrid:
        grid = grid or {MEANING_WEIGHT: list(retrieval.WEIGHTS)}
        if list(grid) != [MEANING_WEIGHT]:
            raise Mistake(
                f"{worded('--hybrid')} tries the weight of meaning: "
                f"{worded('give --parameter weight=0:4:0.5, or none')}"
            )
    elif plan.use:
        raise Mistake("a model's parameters are given when searching: leave use out")
    if not grid:
        raise Mistake(f"no parameter to tune: {worded('give --parameter b=0:1:0.05')}")
    return grid


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
    if judgments.texts is not None and judgments.grades is not None:
        return judgments.texts, judgments.grades, "the judged queries"
    if judgments.dataset is not None:
        dataset = _loaded(judgments)
        return dataset.queries, dataset.qrels, dataset.name
    if judgments.queries is None or judgments.qrels is None:
        remedy = worded(
            "give --queries FILE and --qrels FILE, or --dataset NAME for those of a "
            "known collection"
        )
        raise Mistake(f"judged queries are needed: {remedy}")
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

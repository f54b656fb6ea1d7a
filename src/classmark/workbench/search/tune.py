"""Sweep a model's parameters over judged queries, and plot what comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from classmark.corpus.documents import train_test
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
from classmark.index.fusion import WEIGHT
from classmark.index.models import resolve
from classmark.language import _, decimal, general, joined, whole
from classmark.problems import refusal, worded
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
    the project's;  share : of the queries, to tune on, the others being asked once, by
    what is best and by the defaults; 1: all;  seed : parts the queries.
    """

    model: str = "bm25"
    parameters: Sequence[str] = ()
    measure: str = "map"
    fixed: Sequence[str] = ()
    feedback: str | None = None
    hybrid: bool = False
    use: bool = False
    share: float = 1.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Judgments:
    """Where queries and judgments are: two files, a known collection, or here.

    texts : query → text;  grades : query → document → grade;  format_ : of the file of
    judgments, None: told by its lines.
    """

    queries: Path | None = None
    qrels: Path | None = None
    dataset: str | None = None
    data: Path | None = None
    texts: Mapping[str, str] | None = None
    grades: Mapping[str, Mapping[str, float]] | None = None
    format_: str | None = None


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
        raise refusal("judged queries are empty: give some, with documents judged")
    grades = qrels
    if isinstance(qrels, str):
        grades = gather(graded_lines(_numbered(qrels, "qrels")))
    return Judgments(texts=texts, grades=cast("Any", grades))


def _query_lines(text: str) -> dict[str, str]:
    file, texts = _numbered(text, "queries"), {}
    for _line, line in file:
        id_, *words = line.split(None, 1)
        if not words:
            raise file.refusal(
                "an id and the words of the query are needed: correct the line"
            )
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
    rest, judged = parted(judged, plan)

    def tried(part: retrieval.JudgedQueries, grid: retrieval.Grid) -> list[Any]:
        if dense is None:
            settings = retrieval.settings_of(grid)
            return retrieval.sweep(
                part, plan.model, settings, plan.measure, fixed=fixed, feedback=feedback
            )
        how = (plan.model, fixed), None, None
        words = retrieval.word_questions(part.searcher, part.queries, how, feedback)
        questions = retrieval.fused_questions(words, part.texts, dense)
        return retrieval.learn_weight(
            part, questions, grid[MEANING_WEIGHT], plan.measure
        )

    trials = tried(judged, grid)
    best = retrieval.best_of(trials)
    if rest is not None:
        notes.insert(0, _on_the_rest(rest, best, plan, tried))
    rows: list[dict[str, Cell]] = [
        {**trial.parameters, plan.measure: trial.value} for trial in trials
    ]
    title, said = _words_of(judged, plan, best, dense)
    table = Table(title, rows, joined(said, *notes, by="\n"))
    names = (next(iter(grid)), plan.measure)
    sweep_curve(_curves(trials, grid), path, table.title, names)
    return Evaluated(table, path)


def _words_of(
    judged: retrieval.JudgedQueries,
    plan: Sweep,
    best: retrieval.Trial,
    dense: DenseIndex | None,
) -> tuple[str, str]:
    """What was tuned on what, and what is best."""
    title = _(
        "%(model)s on %(queries)s, %(n)s queries",
        model=_("%(model)s and meaning", model=plan.model) if dense else plan.model,
        queries=judged.name,
        n=whole(len(judged.queries)),
    )
    return title, _(
        "best: %(values)s (%(measure)s %(value)s)",
        values=_values(best.parameters),
        measure=plan.measure,
        value=decimal(best.value, 4),
    )


def parted(
    judged: retrieval.JudgedQueries, plan: Sweep
) -> tuple[retrieval.JudgedQueries | None, retrieval.JudgedQueries]:
    """Part the queries by chance: those held out, None without any, and the others."""
    if plan.share == 1.0:
        return None, judged
    ids = list(judged.queries)
    if not 0.0 < plan.share < 1.0 or not 0 < round(plan.share * len(ids)) < len(ids):
        raise refusal(
            "share is %(share)s: give one above 0 and below 1 that leaves some "
            "of %(n)s queries to tune on and some to report, or 1 for all",
            share=general(plan.share),
            n=whole(len(ids)),
        )
    tuned, held_out = train_test(len(ids), 1.0 - plan.share, plan.seed)
    return judged.only([ids[at] for at in held_out]), judged.only(
        [ids[at] for at in tuned]
    )


def _on_the_rest(
    rest: retrieval.JudgedQueries,
    best: retrieval.Trial,
    plan: Sweep,
    tried: Callable[[retrieval.JudgedQueries, retrieval.Grid], list[retrieval.Trial]],
) -> str:
    """How good the best setting is on the queries it was not chosen by."""
    usual = {MEANING_WEIGHT: WEIGHT}
    if not plan.hybrid:
        parameters = resolve(plan.model, {})[0].parameters
        usual = {name: parameters[name.rstrip("_")].default for name in best.parameters}
    values = [
        tried(rest, {name: [value] for name, value in setting.items()})[0].value
        for setting in (best.parameters, usual)
    ]
    return _(
        "on the %(n)s queries held out: %(best)s, and %(usual)s by the default, "
        "%(defaults)s",
        n=whole(len(rest.queries)),
        best=decimal(values[0], 4),
        usual=decimal(values[1], 4),
        defaults=_values(usual),
    )


def _values(parameters: Mapping[str, float]) -> str:
    parts = [f"{name} = {value:g}" for name, value in parameters.items()]
    return ", ".join(parts)


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
        raise refusal("--hybrid needs the vectors of a project: give --project DIR")
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
        more.append(_("searches now use the weight %(weight)s", weight=weight))
    note = joined(table.note, *more, by="\n")
    return replace(done, table=replace(table, note=note))


def start_tuning(desk: Desk, judgments: Judgments, plan: Sweep, who: str) -> Job:
    """Try every setting as a job; too many of them are refused at once."""
    count = prod(map(len, _grid(plan).values()))
    if count > MOST_SETTINGS:
        raise refusal(
            "%(count)s settings would be tried: choose larger steps, so "
            "that there are at most %(most_settings)s",
            count=whole(count),
            most_settings=whole(MOST_SETTINGS),
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
            raise refusal(
                "%(remedy)s tries the weight of meaning: %(remedy2)s",
                remedy=worded("--hybrid"),
                remedy2=worded("give --parameter weight=0:4:0.5, or none"),
            )
    elif plan.use:
        raise refusal("a model's parameters are given when searching: leave use out")
    if not grid:
        raise refusal(
            "no parameter to tune: %(remedy)s",
            remedy=worded("give --parameter b=0:1:0.05"),
        )
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
            raise refusal(
                "nothing to tune on: give --dataset NAME, or a project or "
                "--index with --queries FILE and --qrels FILE"
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
        raise refusal("judged queries are needed: %(remedy)s", remedy=remedy)
    qrels = read_judgments(judgments.qrels, judgments.format_)
    if not is_graded(qrels):
        raise refusal(
            "%(qrels)s holds preference pairs: give grades to tune or learn on",
            qrels=judgments.qrels,
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

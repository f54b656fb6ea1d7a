"""From topics to a run, from runs to measures, and which run is better."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import Bools, Floats
from classmark.evaluation.figures import run_figure
from classmark.evaluation.retrieval import (
    Run,
    answer_queries,
    compare,
    fused_questions,
    require_relevant,
    run_hybrid,
    word_questions,
)
from classmark.figures import require_svg
from classmark.formats.judged_runs import (
    Grades,
    Pairs,
    is_graded,
    read_judgments,
    read_run_table,
    read_topics,
)
from classmark.formats.test_collections import write_run
from classmark.index.asking import BOOLEAN
from classmark.index.index import Index
from classmark.language import several
from classmark.measures import (
    PrecisionRecall,
    judge,
    parse,
    precision_recall,
    preference_pairs,
    retrieval_per_query,
)
from classmark.problems import Mistake
from classmark.validation import require_k
from classmark.workbench.results import Cell, Column, Table
from classmark.workbench.search.index import (
    index_folder,
    is_stale,
    require_index,
    stale_note,
)

if TYPE_CHECKING:
    from classmark.index.index import OpenIndex
    from classmark.machines.cluster import Machines
    from classmark.workbench.project import Project
    from classmark.workbench.search.hybrid import Fused, IndexVectors
    from classmark.workbench.search.search import QueryOptions

REPORTS = Path("reports")
USUAL = ("map", "mrr", "wta", "prbep", "p@10", "r@100", "ndcg@10")
CHANCES = ("t-test p", "sign test p", "randomisation p")
OF_PAIRS = ("ppref", "rpref", "wpref")


@dataclass(frozen=True, slots=True)
class Topics:
    """A file of topics, its format, and which fields of a topic are its query."""

    path: Path
    format: str | None = None
    fields: Sequence[str] = ()


def opening_on(machines: Machines | None) -> Callable[[Path], Any]:
    """Return what opens an index: here, or on machines."""
    if machines is None:
        return Index.open
    from classmark.machines.searching import SpreadIndex

    return partial(SpreadIndex, machines)


@contextmanager
def opened(
    project: Project | None, folder: Path | None, machines: Machines | None
) -> Iterator[Any]:
    """Open the index in a folder, or else that of a project, here or on machines."""
    if folder is not None:
        require_index(folder)
    elif project is not None:
        folder = index_folder(project)
    else:
        raise Mistake("no index: give --project DIR or --index DIR")
    with opening_on(machines)(folder) as index:
        yield index


def run_topics(
    index: OpenIndex,
    topics: Topics,
    out: Path,
    options: QueryOptions,
    project: Project | None = None,
) -> Table:
    """Answer topics, each word counting, and write a run in TREC's form.

    project : whose documents the index has, for ``--prior`` and notes.
    """
    if options.explain:
        raise Mistake("--explain is of a query: leave it, or --topics")
    if options.ranker not in {None, "none"}:
        raise Mistake("--ranker: a run is a model's own: leave it, or give none")
    if options.model == BOOLEAN:
        raise Mistake("--model boolean needs operators, and topics are texts: another")
    require_k(options.k, "document")
    model = options.model or "bm25"
    choices = options.for_index(index.fields, _prior(project, options))
    feedback, fields, prior = (
        choices.pop(name, None) for name in ("feedback", "fields", "prior")
    )
    texts = read_topics(topics.path, topics.format, topics.fields)
    queries = {query: index.terms(text) for query, text in texts.items()}
    how = ((model, choices), fields, prior)
    fused, members, notes = _fused(project, index, options)
    name = f"classmark-{model}"
    if fused is None:
        run = answer_queries(index.searcher, queries, how, options.k, feedback=feedback)
    else:
        name += "+meaning"
        words = word_questions(index.searcher, queries, how, feedback)
        questions = fused_questions(words, texts, fused.dense, members)
        run = run_hybrid(questions, fused.weight, options.k)
    lines = write_run(run, out, name=name)
    silent = [query for query, answers in run.items() if not answers]
    notes += _notes_of_run(project, options, silent)
    row: dict[str, Cell] = {
        "run": str(out),
        "name": name,
        "topics": len(run),
        "answered": len(run) - len(silent),
        "documents": lines,
    }
    return Table(f"Run of {topics.path.name}", [row], "; ".join(notes))


def _notes_of_run(
    project: Project | None, options: QueryOptions, silent: Sequence[str]
) -> Iterator[str]:
    """Which topics have no answer, and what else to know of the run."""
    if silent:
        some = ", ".join(silent[:5]) + (", …" if len(silent) > 5 else "")
        yield f"nothing was found for {some}"
    if project is not None and is_stale(project):
        yield stale_note()
    if project is not None and options.ranker is None and project.rankers.current():
        yield "the ranker in service was not asked: a run is a model's own"


def _fused(
    project: Project | None, index: Any, options: QueryOptions
) -> tuple[Fused | None, Bools | None, list[str]]:
    """What words are fused with, None for words alone; and what to say of that.

    Also the documents that may be answers, where machines search the words.
    """
    from classmark.workbench.search.search import fused_for

    if project is None:
        if options.hybrid not in {None, "no"}:
            raise Mistake("--hybrid needs the vectors of a project: import the file")
        return None, None, []
    members: Bools | None = None

    def look_up() -> IndexVectors | None:
        from classmark.index.fusion import alive_of
        from classmark.workbench.search.hybrid import index_vectors

        nonlocal members
        if isinstance(index, Index):
            return index_vectors(project, index)
        with Index.open(index.path) as here:
            members = alive_of(here).copy()
            return index_vectors(project, here)

    fused, notes = fused_for(project, options.hybrid, look_up)
    return fused, members, list(notes)


def _prior(project: Project | None, options: QueryOptions) -> Any:
    from classmark.workbench.search.search import ProjectIndex, links_prior

    if options.prior is None:
        return None
    if project is None:
        raise Mistake("--prior needs the links of a project: import the file into one")
    return links_prior(project, ProjectIndex(project, memory=0), options.prior)


@dataclass(frozen=True, slots=True)
class MeasuredRuns:
    """What measures say of runs.

    runs : a row each, the means;  queries : a row for each query and run;
    comparisons : a row for each measure of each run after the first, None with one run;
    graphs : precision against recall of each, empty where pairs were judged;  plot :
    the file, None where there is nothing to draw.
    """

    runs: Table
    queries: Table
    comparisons: Table | None
    graphs: Mapping[str, PrecisionRecall]
    plot: Path | None

    def facts(self, *, per_query: bool) -> dict[str, Any]:
        """The same for programs."""
        compared = [] if self.comparisons is None else list(self.comparisons.rows)
        graphs = {
            name: {
                "recall": graph.recall.tolist(),
                "precision": graph.precision.tolist(),
            }
            for name, graph in self.graphs.items()
        }
        facts = {
            "runs": list(self.runs.rows),
            "comparisons": compared,
            "precision_recall": graphs,
            "plot": self.plot,
        }
        return facts | ({"per_query": list(self.queries.rows)} if per_query else {})


@dataclass(frozen=True, slots=True)
class Measuring:
    """How runs are measured.

    measures : names, the usual ones without any;  format : of the judgments, None: told
    by the file;  trec_ties : equal scores are ordered as trec_eval orders them, by
    document id, the last first; else as the run has them;  plot : where it goes.
    """

    measures: Sequence[str] = ()
    format: str | None = None
    trec_ties: bool = False
    plot: Path | None = None


def measure_runs(
    paths: Sequence[Path], judgments: Path, how: Measuring | None = None
) -> MeasuredRuns:
    """Measure runs of the same topics, and compare each with the first."""
    how = how or Measuring()
    if how.plot is not None:
        require_svg(how.plot)
    for name in how.measures:
        parse(name)
    runs = _runs_of(paths, how)
    qrels = read_judgments(judgments, how.format)
    graded = is_graded(qrels)
    notes = _notes(runs, qrels, judgments, dict(zip(runs, paths, strict=True)))
    names = how.measures or (USUAL if graded else OF_PAIRS)
    values = {name: _values(run, qrels, names) for name, run in runs.items()}
    graphs = {}
    if is_graded(qrels):
        graphs = {
            name: precision_recall(judge(run, qrels)) for name, run in runs.items()
        }
    plot = _drawn(values, graphs, names[0], how.plot)
    rows: list[dict[str, Cell]] = [
        {
            "run": run,
            "queries": len(qrels),
            **{name: float(_array(each[name]).mean()) for name in names},
        }
        for run, each in values.items()
    ]
    columns = [Column("run"), *(Column(name, best="greatest") for name in names)]
    if plot is not None:
        notes.append(f"plot: {plot}")
    title = f"Measured against {judgments.name}, {several(len(qrels), 'query')}"
    measured = Table(title, rows, "\n".join(notes), columns, "measures")
    return MeasuredRuns(measured, _by_query(values), _compared(values), graphs, plot)


def _runs_of(paths: Sequence[Path], how: Measuring) -> dict[str, Grades]:
    """Read runs by name: that of the file, in full where two share it."""
    stems = [path.stem for path in paths]
    runs: dict[str, Grades] = {}
    for path in paths:
        name = path.stem if stems.count(path.stem) == 1 else str(path)
        if name in runs:
            raise Mistake(f"{path} is there twice: give each run once")
        runs[name] = read_run_table(path)
    if how.trec_ties:
        return {
            name: {
                query: dict(sorted(answers.items(), reverse=True))
                for query, answers in run.items()
            }
            for name, run in runs.items()
        }
    return runs


def _notes(
    runs: Mapping[str, Grades],
    qrels: Grades | Pairs,
    judgments: Path,
    paths: Mapping[str, Path],
) -> list[str]:
    """Which queries the run or the judgments lack; refused where they share nothing."""
    if is_graded(qrels):
        require_relevant(qrels, str(judgments))
        judged = {document for row in qrels.values() for document in row}
    else:
        judged = {d for pairs in qrels.values() for pair in pairs for d in pair}
    notes = []
    for name, run in runs.items():
        missing = sum(query not in run for query in qrels)
        others = sum(query not in qrels for query in run)
        if missing == len(qrels):
            raise Mistake(
                f"no query of {paths[name]} is in {judgments} (as {next(iter(run))!r} "
                f"and {next(iter(qrels))!r}): give judgments of the same topics"
            )
        if judged.isdisjoint(d for answers in run.values() for d in answers):
            raise Mistake(
                f"no document of {paths[name]} is judged in {judgments} (as "
                f"{next(iter(next(iter(run.values()))))!r} and {min(judged)!r}): give "
                "judgments of the same documents, under the same ids"
            )
        if missing:
            verbs = (
                "has no answer and counts"
                if missing == 1
                else "have no answer and count"
            )
            notes.append(f"{name}: {missing} of {len(qrels)} judged queries {verbs} 0")
        if others:
            queries = "query" if others == 1 else "queries"
            verb = "is" if others == 1 else "are"
            notes.append(
                f"{name}: {others} {queries} without judgments {verb} left out"
            )
    return notes


Values = Mapping[str, Mapping[str, float]]


def _values(run: Run, qrels: Grades | Pairs, names: Sequence[str]) -> Values:
    """Each measure of each query; pairs that grades imply are listed query by query."""
    of_pairs = [name for name in names if parse(name).declaration.pairs]
    if not is_graded(qrels) or not of_pairs:
        return retrieval_per_query(run, qrels, names)
    rest = [name for name in names if name not in of_pairs]
    if all(len(set(judged.values())) == 1 for judged in qrels.values()):
        raise Mistake(
            f"measure {of_pairs[0]}: the grades of each query are all equal, and imply "
            "no pair: give grades that differ, or pairs"
        )
    values: dict[str, dict[str, float]] = retrieval_per_query(run, qrels, rest)
    for query, judged in qrels.items():
        pairs = preference_pairs({query: judged})
        for name, each in retrieval_per_query(run, pairs, of_pairs).items():
            values.setdefault(name, {}).update(each)
    return {name: values[name] for name in names}


def _by_query(values: Mapping[str, Values]) -> Table:
    several = len(values) > 1
    first = next(iter(values.values()))
    rows: list[dict[str, Cell]] = [
        {"query": query}
        | ({"run": run} if several else {})
        | {name: of_query[query] for name, of_query in each.items()}
        for query in next(iter(first.values()))
        for run, each in values.items()
    ]
    return Table("Query by query", rows, plural="measures")


def _compared(values: Mapping[str, Values]) -> Table | None:
    """Each run against the first: differences of the means, and three tests."""
    (first, base), *others = values.items()
    if not others:
        return None
    rows: list[dict[str, Cell]] = []
    for run, each in others:
        for name in base:
            compared = compare(_array(base[name]), _array(each[name]))
            rows.append(
                {
                    "run": run,
                    "measure": name,
                    "difference": compared.difference,
                    "better": compared.better,
                    "worse": compared.worse,
                    "equal": compared.equal,
                    **dict(zip(CHANCES, compared.chances, strict=True)),
                }
            )
    title = ", ".join(f"{run} − {first}" for run, _ in others)
    note = "p-values are two-sided, each of its own comparison: not corrected for many"
    columns = (
        Column("run"), Column("measure"), Column("difference", format="+.4f"),
        Column("better", meaning="queries where the run is above the first"),
        Column("worse"), Column("equal"),
        *(Column(name, format=".3g") for name in CHANCES),
    )  # fmt: skip
    return Table(f"Differences: {title}", rows, note, columns)


def _array(of_query: Mapping[str, float]) -> Floats:
    return np.array([*of_query.values()])


def _drawn(
    values: Mapping[str, Values],
    graphs: Mapping[str, PrecisionRecall],
    name: str,
    plot: Path | None,
) -> Path | None:
    """Draw precision against recall and, of two runs, the differences of a measure."""
    runs = list(values)
    differences = None
    if len(runs) == 2:
        first, second = (_array(values[run][name]) for run in runs)
        title = f"{name}, {runs[1]} − {runs[0]}, query by query"
        differences = title, second - first
    if not graphs and differences is None:
        if plot is not None:
            raise Mistake(
                f"--plot {plot}: pairs have no graph of precision and recall: give a "
                "second run, whose differences are drawn"
            )
        return None
    path = plot or REPORTS / f"measure-{'-'.join(Path(run).stem for run in runs)}.svg"
    run_figure(graphs, differences, path, f"{', '.join(runs)}: precision and recall")
    return path

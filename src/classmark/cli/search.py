"""Commands for searching: index, search, clicks, tuning, links, learned rankers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from typer import Argument, Option

from classmark.cli.options import (
    ALL,
    DATA,
    FOLDER,
    FORMAT,
    HERE,
    JSON,
    MachineOptions,
    WorkerOptions,
    command,
    open_project,
    options,
)
from classmark.cli.output import BELOW, Text, View, parts_of
from classmark.problems import Mistake
from classmark.workbench.results import Evaluated, Table

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.search.search import Found, MalformedQuery
    from classmark.workbench.search.tune import Judgments

CHECK, MERGE = "check", "merge"
MOST = 20  # parts of a score that are printed
INDEX_FOLDER = Option(None, "--index", metavar="DIR", help="An index of a file.")
PARAMETERS = Option((), "--set", metavar="NAME=VALUE", help="A parameter; repeatable.")
FEEDBACK = Option(
    None, help="rocchio, rm3 or information, as in rm3:terms=10,documents=5"
)


@options
class IndexOptions:
    """Which index, and how it is built."""

    to: Path | None = Option(None, metavar="DIR", help="Where the index of FILE goes.")
    folder: Path | None = INDEX_FOLDER
    format_: str | None = FORMAT
    memory: str = Option("512MB", help="What the build may use, as in 64MB or 2GB.")
    positions: bool | None = Option(
        None,
        "--positions/--no-positions",
        help="Keep the places of words, for phrases.",
    )
    shards: int | None = Option(
        None, metavar="N", help="Leave N segments, one for each machine."
    )


@command(JSON)
def index(
    *,
    paths: tuple[str, ...] = Argument(
        (),
        metavar="[FILE…|check|merge]",
        help="Documents to index in --to DIR, files or addresses as in "
        "s3://shelf/part-*.jsonl; or check: verify every byte; or merge: make one "
        "segment of what updates left.",
    ),
    where: Path = FOLDER,
    options: IndexOptions,
    machines: MachineOptions,
) -> Table:
    """Index a project's documents, only what changed; or a file's; check or merge."""
    from classmark.workbench.search import index as indexing

    if paths in {(CHECK,), (MERGE,)}:
        if machines != MachineOptions() or (options.to, options.shards) != (None, None):
            raise Mistake(
                f"index {paths[0]} works on an index that is there, in this process: "
                "leave --to, --shards, --workers, --on and --dashboard"
            )
        return _check_or_merge(paths[0], where, options)
    if not paths:
        if options.to is not None or options.folder is not None:
            raise Mistake(
                "index: name the FILE to index, or leave --to and --index out"
            )
        with open_project(where) as project, machines.started() as workers:
            return indexing.index_project(
                project, options.memory, positions=options.positions,
                shards=options.shards, machines=workers,
            )  # fmt: skip
    if options.to is None:
        raise Mistake(f"index {paths[0]}: say where its index goes, with --to DIR")
    with machines.started() as workers:
        return indexing.index_file(
            list(paths) if len(paths) > 1 else paths[0], options.to, options.memory,
            format_=options.format_, positions=bool(options.positions),
            shards=options.shards, machines=workers,
        )  # fmt: skip


def _check_or_merge(act: str, where: Path, options: IndexOptions) -> Table:
    """Check or merge the index of a project, or one in a folder of its own."""
    from classmark.workbench.search import index as indexing

    if options.folder is not None:
        if act == MERGE:
            return indexing.merge_index(options.folder, options.memory)
        return indexing.check_index(options.folder)
    with open_project(where) as project:
        if act == MERGE:
            return indexing.merge_project_index(project, options.memory)
        return indexing.check_index(indexing.index_folder(project))


@options
class SearchOptions:
    """How to search, as ``Wish``."""

    model: str | None = Option(
        None, help="bm25, jm, dirichlet, pl2, lgd, cosine, boolean, …"
    )
    parameters: tuple[str, ...] = PARAMETERS
    weights: tuple[str, ...] = Option(
        (), "--weight", metavar="FIELD=NUMBER", help="What a field counts; repeatable."
    )
    k: int = Option(10, "-k", help="How many documents.")
    feedback: str | None = FEEDBACK
    prior: str | None = Option(
        None, metavar="pagerank[:WEIGHT]", help="Add what links say."
    )
    ranker: str | None = Option(
        None, metavar="N|none", help="A learned ranker; else that in service."
    )
    explain: bool = Option(
        False, "--explain", help="What each term adds to each score."
    )


@command(JSON)
def search(
    *,
    words: tuple[str, ...] = Argument(
        ...,
        metavar="QUERY",
        help='words "a phrase" field:word +must -not AND OR NOT ( ); quote one '
        "that has signs, and put one that begins with - last, after --",
    ),
    where: Path = FOLDER,
    folder: Path | None = INDEX_FOLDER,
    options: SearchOptions,
    log: bool | None = Option(
        None,
        "--log/--no-log",
        help="Keep the words and what is shown, to learn from; else as "
        "classmark.toml says: no.",
    ),
    machines: WorkerOptions,
) -> View:
    """Find documents, best first, with the words that match."""
    from classmark.cli.small_work import kernels_for
    from classmark.workbench.search import search as searching

    if folder is not None and where != HERE:
        raise Mistake("--project and --index: give one of them")
    if folder is not None and log:
        raise Mistake("--log: an index has no log; import the file into a project")
    query, wish = " ".join(words), searching.Wish(**vars(options))
    number = None
    try:
        if folder is not None:
            with machines.started() as workers:
                results = searching.search_index(folder, query, wish, machines=workers)
        else:
            with (
                open_project(where) as project,
                kernels_for(project, 0),
                machines.started() as workers,
            ):
                results = searching.search_in(project, query, wish, machines=workers)
                if results.answers and project.settings.search.is_logged(log):
                    number = _log(project, query, results, options.model)
    except searching.MalformedQuery as problem:
        _point_out(problem)
        raise typer.Exit(2) from problem
    entry = {} if number is None else {"impression": number}
    facts = [asdict(answer) | entry for answer in results.answers]
    return View(facts, _result_lines(results, number))


def _log(project: Project, query: str, results: Found, model: str | None) -> int:
    """Log the results; return their number in the log."""
    from classmark.workbench.search.clicks import log_impression

    shown = [(answer.id, answer.score) for answer in results.answers]
    number = results.answers[0].ranker
    name = model or "bm25" if number is None else f"ranker {number}"
    return log_impression(project, query, shown, ranker=name)


def _point_out(problem: MalformedQuery) -> None:
    """Say what is wrong with a query, with a caret below the place."""
    shown = str(problem) if problem.query.strip() else problem.line
    sys.stderr.write(f"classmark: {shown}\n")


def _result_lines(results: Found, impression: int | None) -> Iterator[Text | str]:
    """The results; impression : their number in the log, if logged."""
    if not results.answers:
        yield "nothing was found"
    for answer in results.answers:
        shown = f"{answer.title}  ({answer.id})  {answer.score:.4f}"
        yield Text(shown, f"{answer.rank:3}. ", BELOW)
        if answer.snippet:
            yield Text(answer.snippet, BELOW)
        if answer.parts:
            parts, rest = dict(answer.parts), list(answer.parts)[MOST:]
            others = sum(parts.pop(term) for term in rest)
            more = {f"({len(rest)} others)": others} if rest else {}
            yield Text(parts_of(parts | more, "+.4f"), f"{BELOW}= ")
    if results.note:
        yield from ("", Text(results.note, "  "))
    if impression is not None:
        click = f"logged: classmark click {impression} ID says what you opened"
        yield from ("", Text(click, "  "))


@command(JSON)
def click(
    project: Project,
    impression: int = Argument(..., help="The number a logged search printed."),
    document: str = Argument(..., help="What was opened: its id, or its position."),
) -> View:
    """Log that a document was opened from a search that was logged."""
    from classmark.workbench.search.clicks import log_click

    logged = log_click(project.store, impression, document)
    line = (
        f"{logged.document}, position {logged.position}, was opened from "
        f"impression {logged.impression}"
    )
    return View(logged._asdict(), [line])


@command(ALL | JSON)
def pagerank(
    path: Path | None = Argument(
        None, metavar="[FILE]", help="Source and target a line, instead of a project."
    ),
    where: Path = FOLDER,
    damping: float = Option(0.85, help="The chance that a reader follows a link."),
    personalise: tuple[str, ...] = Option(
        (), metavar="ID", help="Readers begin here; repeatable."
    ),
    method: str = Option("power", help="power, gauss-seidel or eigen"),
    k: int = Option(20, "-k", help="How many pages."),
) -> Table:
    """Rank documents by the links that lead to them."""
    from classmark.workbench.search import links

    reader = links.Reader(damping, personalise, method)
    if path is not None:
        return links.rank_edges(path, reader, k)
    with open_project(where) as project:
        return links.rank_documents(project, reader, k)


@options
class QueryFiles:
    """Files of judged queries."""

    queries: Path | None = Option(None, metavar="FILE", help="Queries, with ids.")
    qrels: Path | None = Option(None, metavar="FILE", help="Query, document, grade.")


@options
class KnownQueries:
    """A known collection that has judged queries."""

    dataset: str | None = Option(
        None, help="A known collection with queries, as library."
    )
    data: Path | None = DATA


def _judgments(files: QueryFiles, known: KnownQueries) -> Judgments:
    from classmark.workbench.search.tune import Judgments

    return Judgments(**vars(files), **vars(known))


@options
class TrialOptions:
    """What every trial of ``tune`` shares, and the plot of all."""

    parameters: tuple[str, ...] = PARAMETERS
    feedback: str | None = FEEDBACK
    plot: Path | None = Option(None, metavar="FILE", help="Where the plot goes (.svg).")


@command(
    ALL | JSON,
    project=Option(None, "--project", "-p", help="The project."),
)
def tune(
    *,
    parameter: tuple[str, ...] = Option(
        ..., help="name=first:last:step or name=value,value; repeatable."
    ),
    model: str = Option("bm25", help="The model."),
    files: QueryFiles,
    measure: str = Option("map", help="As in map, ndcg@10, p@5."),
    project: Project | None,
    folder: Path | None = INDEX_FOLDER,
    known: KnownQueries,
    trial: TrialOptions,
    machines: WorkerOptions,
) -> Evaluated:
    """Try values of a model's parameters on judged queries, and say which is best."""
    from classmark.workbench.search import tune as tuning

    sweep = tuning.Sweep(model, parameter, measure, trial.parameters, trial.feedback)
    judgments = _judgments(files, known)
    with (
        machines.started() as workers,
        tuning.judged_in(project, folder, judgments, machines=workers) as judged,
    ):
        evaluated, _ = tuning.tune(judged, sweep, trial.plot)
    return evaluated


@command(ALL | JSON)
def rank_features(
    *,
    to: Path = Option(..., metavar="FILE", help="The LETOR file."),
    files: QueryFiles,
    project: Project,
    known: KnownQueries,
) -> Table:
    """Write features of judged queries' candidates as a LETOR (svmlight) file."""
    from classmark.workbench.search.train_ranker import write_features

    return write_features(project, _judgments(files, known), to)


@options
class RankerSources:
    """What a ranker learns from, if not from judged queries."""

    clicks: bool = Option(False, "--clicks", help="Learn from the click log instead.")
    strategy: str = Option(
        "clicked-over-skipped",
        help="What a click prefers: clicked-over-skipped, skip-above, "
        "last-click-over-skipped-above or click-over-previous.",
    )
    propensities: bool = Option(
        False,
        "--propensities",
        help="Clicks count the more, the less their position is looked at.",
    )
    letor: Path | None = Option(
        None, metavar="FILE", help="Only compare, on the rows of a LETOR file."
    )


@options
class RankerSelection:
    """How a ranker is chosen and compared, as ``Training``."""

    measure: str = Option("ndcg@10", help="What decides, as ndcg@10, map, mrr.")
    prices: tuple[float, ...] = Option(
        (), "--C", help="Choose C among these; repeatable."
    )
    share: float = Option(0.5, help="Of the queries, to learn from.")
    seed: int = Option(0, "--random-state", help="Parts the queries.")
    force: bool = Option(
        False, "--force", help="Into service even if not surely better."
    )


@command(ALL | JSON)
def rank_train(
    *,
    files: QueryFiles,
    sources: RankerSources,
    learner: str = Option(
        "ranking-svm",
        help="ranking-svm, rsvm-ir, pointwise, listnet, logistic or lambdamart.",
    ),
    where: Path = FOLDER,
    known: KnownQueries,
    selection: RankerSelection,
) -> Table | View:
    """Learn to rank; a ranker surely better on held-out queries goes into service."""
    from classmark.workbench.search import train_ranker as training

    if sources.propensities and not sources.clicks:
        raise Mistake("--propensities weighs clicks: it goes with --clicks")
    judged = known.dataset is not None or files.qrels is not None
    if sum((sources.clicks, sources.letor is not None, judged)) > 1:
        raise Mistake("--clicks, --letor and judgments: learn from one of them")
    how = training.Training(
        learner,
        clicks=sources.strategy if sources.clicks else None,
        weighed=sources.propensities,
        **vars(selection),
    )
    if sources.letor is not None:
        return training.learn_file(sources.letor, how)
    with open_project(where) as project:
        trained = training.train_ranker(project, _judgments(files, known), how)
    facts = asdict(trained) | {"table": trained.table.facts()}
    report = f"  report: {trained.page}"
    return View(facts, [trained.table, Text(trained.said, "  "), report])


@command(ALL | JSON)
def rank_evaluate(
    *,
    number: tuple[int, ...] = Argument(..., metavar="N", help="Rankers."),
    files: QueryFiles,
    project: Project,
    known: KnownQueries,
) -> Table:
    """Measure rankers on judged queries that none of them learned from."""
    from classmark.workbench.search.train_ranker import evaluate_ranker

    return evaluate_ranker(project, _judgments(files, known), number)


@command()
def rank_use(
    project: Project,
    number: str = Argument(..., metavar="N|none", help="The ranker, or none."),
) -> View:
    """Put a ranker into service, or none: the model alone orders then."""
    from classmark.workbench.search.rankers import use_ranker

    return View(None, [Text(use_ranker(project, number))])


@command(ALL | JSON)
def rank_report(
    project: Project,
    number: int | None = Argument(None, metavar="[N]", help="A ranker; else all."),
) -> Table | View:
    """List the rankers; or show one's wins and losses, and write its page."""
    from classmark.workbench.search.rankers import list_rankers, report_ranker

    if number is None:
        return list_rankers(project)
    table, page = report_ranker(project, number)
    return View(list(table.rows), [table, f"  report: {page}"])

"""Indexing, searching and tuning on the command line."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from classmark.cli.options import (
    HERE,
    AllColumns,
    AsJson,
    Dashboard,
    Format,
    On,
    Where,
    Workers,
    machines_for,
    open_project,
)
from classmark.problems import Mistake

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.results import Table
    from classmark.workbench.search.search import Found, MalformedQuery

CHECK, MERGE = "check", "merge"
MOST = 20  # parts of a score that are printed
Folder = Annotated[
    Path | None, typer.Option("--index", metavar="DIR", help="An index of a file.")
]
Model = Annotated[
    str | None,
    typer.Option(help="bm25, jm, dirichlet, pl2, lgd, cosine, boolean, …"),
]
Fixed = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter; repeatable."),
]
FeedbackBy = Annotated[
    str | None,
    typer.Option(help="rocchio, rm3 or information, as in rm3:terms=10,documents=5"),
]


def index(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE…|check|merge]",
            help="Documents to index in --to DIR, files or addresses as in "
            "s3://shelf/part-*.jsonl; or check: verify every byte; or merge: make one "
            "segment of what updates left.",
        ),
    ] = None,
    project: Where = HERE,
    to: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the index of FILE goes.")
    ] = None,
    folder: Folder = None,
    format_: Format = None,
    memory: Annotated[
        str, typer.Option(help="What the build may use, as in 64MB or 2GB.")
    ] = "512MB",
    positions: Annotated[
        bool | None,
        typer.Option(
            "--positions/--no-positions", help="Keep the places of words, for phrases."
        ),
    ] = None,
    shards: Annotated[
        int | None,
        typer.Option(metavar="N", help="Leave N segments, one for each machine."),
    ] = None,
    workers: Workers = None,
    on: On = None,
    dashboard: Dashboard = False,
    as_json: AsJson = False,
) -> None:
    """Index a project's documents, only what changed; or a file's; check or merge."""
    from classmark.cli.output import show_table
    from classmark.workbench.search import index as index_folders
    from classmark.workbench.search import index as indexing

    if paths in ([CHECK], [MERGE]):
        if dashboard or any(each is not None for each in (to, shards, workers, on)):
            raise Mistake(
                f"index {paths[0]} works on an index that is there, in this process: "
                "leave --to, --shards, --workers, --on and --dashboard"
            )
        table = _kept(paths[0], project, folder, memory)
    elif not paths:
        if to is not None or folder is not None:
            raise Mistake(
                "index: name the FILE to index, or leave --to and --index out"
            )
        bringing = machines_for(workers, on, dashboard=dashboard)
        with open_project(project) as opened, bringing as machines:
            table = indexing.index_project(
                opened, memory, positions=positions, shards=shards, machines=machines
            )
    elif to is None:
        raise Mistake(f"index {paths[0]}: say where its index goes, with --to DIR")
    else:
        with machines_for(workers, on, dashboard=dashboard) as machines:
            table = index_folders.index_file(
                paths if len(paths) > 1 else paths[0], to, memory, format_=format_,
                positions=bool(positions), shards=shards, machines=machines,
            )  # fmt: skip
    show_table(table, as_json=as_json)


def _kept(act: str, project: Path, folder: Path | None, memory: str) -> Table:
    """Check or merge the index of a project, or one in a folder of its own."""
    from classmark.workbench.search import index as index_folders
    from classmark.workbench.search import index as indexing

    if folder is not None:
        if act == MERGE:
            return index_folders.merge_index(folder, memory)
        return index_folders.check_index(folder)
    with open_project(project) as opened:
        if act == MERGE:
            return indexing.merge_project_index(opened, memory)
        return index_folders.check_index(indexing.index_folder(opened))


def search(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="QUERY",
            help='words "a phrase" field:word +must -not AND OR NOT ( ); quote one '
            "that has signs, and put one that begins with - last, after --",
        ),
    ],
    project: Where = HERE,
    folder: Folder = None,
    model: Model = None,
    fixed: Fixed = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD=NUMBER", help="What a field counts; repeatable."),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="How many documents.")] = 10,
    feedback: FeedbackBy = None,
    prior: Annotated[
        str | None,
        typer.Option(metavar="pagerank[:WEIGHT]", help="Add what links say."),
    ] = None,
    ranker: Annotated[
        str | None,
        typer.Option(metavar="N|none", help="A learned ranker; else that in service."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="What each term adds to each score.")
    ] = False,
    log: Annotated[
        bool | None,
        typer.Option(
            "--log/--no-log",
            help="Keep the words and what is shown, to learn from; else as "
            "classmark.toml says: no.",
        ),
    ] = None,
    workers: Workers = None,
    on: On = None,
    as_json: AsJson = False,
) -> None:
    """Find documents, best first, with the words that match."""
    from classmark.workbench.search import search as searching
    from classmark.workbench.small_work import kernels_for

    if folder is not None and project != HERE:
        raise Mistake("--project and --index: give one of them")
    if folder is not None and log:
        raise Mistake("--log: an index has no log; import the file into a project")
    query = " ".join(words)
    wish = searching.Wish(
        model,
        tuple(fixed or ()),
        k,
        feedback,
        prior,
        explain,
        tuple(weight or ()),
        ranker,
    )
    number = None
    try:
        if folder is not None:
            with machines_for(workers, on) as machines:
                results = searching.search_index(folder, query, wish, machines=machines)
        else:
            with (
                open_project(project) as opened,
                kernels_for(opened, 0),
                machines_for(workers, on) as machines,
            ):
                results = searching.search_in(opened, query, wish, machines=machines)
                number = logged(opened, query, results, wish.model, log=log)
    except searching.MalformedQuery as problem:
        _point_out(problem)
        raise typer.Exit(2) from problem
    show_results(results, number, as_json=as_json)


def logged(
    project: Project,
    query: str,
    results: Found,
    ranker: str | None,
    *,
    log: bool | None,
) -> int | None:
    """Log the results, if searches are logged; return their number in the log."""
    if not results.answers or not project.settings.search.is_logged(log):
        return None
    from classmark.workbench.search.clicks import log_impression

    shown = [(answer.id, answer.score) for answer in results.answers]
    number = results.answers[0].ranker
    name = ranker or "bm25" if number is None else f"ranker {number}"
    return log_impression(project, query, shown, ranker=name)


def _point_out(problem: MalformedQuery) -> None:
    """Say what is wrong with a query, with a caret below the place."""
    shown = str(problem) if problem.query.strip() else problem.line
    sys.stderr.write(f"classmark: {shown}\n")


def show_results(
    results: Found, impression: int | None = None, *, as_json: bool = False
) -> None:
    """Print the results; impression : their number in the log, if logged."""
    from dataclasses import asdict

    from classmark.cli.output import BELOW, say, show_json, tell

    if as_json:
        log_entry = {} if impression is None else {"impression": impression}
        show_json([asdict(answer) | log_entry for answer in results.answers])
        return
    if not results.answers:
        say("nothing was found")
    for answer in results.answers:
        shown = f"{answer.title}  ({answer.id})  {answer.score:.4f}"
        tell(shown, f"{answer.rank:3}. ", BELOW)
        if answer.snippet:
            tell(answer.snippet, BELOW)
        if answer.parts:
            tell(_parts(answer.parts), f"{BELOW}= ")
    click = f"logged: classmark click {impression} ID says what you opened"
    for note in filter(None, (results.note, "" if impression is None else click)):
        say()
        tell(note, "  ")


def _parts(parts: Mapping[str, float]) -> str:
    """The parts of a score, the first of very many, and what the others add."""
    from classmark.cli.output import parts_of

    first, rest = list(parts.items())[:MOST], list(parts.values())[MOST:]
    others = {f"({len(rest)} others)": sum(rest)} if rest else {}
    return parts_of(dict(first) | others, "+.4f")


def tune(
    parameter: Annotated[
        list[str],
        typer.Option(help="name=first:last:step or name=value,value; repeatable."),
    ],
    model: Annotated[str, typer.Option(help="The model.")] = "bm25",
    queries: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Queries, with ids.")
    ] = None,
    qrels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Query, document, grade.")
    ] = None,
    measure: Annotated[str, typer.Option(help="As in map, ndcg@10, p@5.")] = "map",
    project: Annotated[
        Path | None, typer.Option("--project", "-p", help="The project.")
    ] = None,
    folder: Folder = None,
    dataset: Annotated[
        str | None, typer.Option(help="A known collection with queries, as library.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="The data sets' folder.")] = None,
    fixed: Fixed = None,
    feedback: FeedbackBy = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the plot goes (.svg).")
    ] = None,
    workers: Workers = None,
    on: On = None,
    everything: AllColumns = False,
    as_json: AsJson = False,
) -> None:
    """Try values of a model's parameters on judged queries, and say which is best."""
    from classmark.cli.output import show_evaluated
    from classmark.workbench.search import tune as tuning

    wish = tuning.Sweep(model, tuple(parameter), measure, tuple(fixed or ()), feedback)
    judgments = tuning.Judgments(queries, qrels, dataset, data)
    opening: Any = nullcontext() if project is None else open_project(project)
    with opening as opened, machines_for(workers, on) as machines:
        asking = tuning.judged_in(opened, folder, judgments, machines=machines)
        with asking as judged:
            evaluated, _ = tuning.tune(judged, wish, plot)
    show_evaluated(evaluated, as_json=as_json, everything=everything)

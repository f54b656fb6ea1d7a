"""Commands for searching: index, search, clicks, tuning, links, learned rankers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from classmark.cli.options import (
    ALL,
    DATA,
    FOLDER,
    FORMAT,
    HERE,
    JSON,
    MachineOptions,
    WorkerOptions,
    argument,
    command,
    deferred,
    flag,
    kernels_for,
    option,
    options,
)
from classmark.cli.output import BELOW, Text, View, parts_of
from classmark.problems import Mistake
from classmark.workbench.results import Evaluated, Table

with deferred():
    from classmark.index import query_language
    from classmark.workbench import project as projects
    from classmark.workbench.project import Project
    from classmark.workbench.search import (
        clicks,
        following,
        hits,
        links,
        runs,
        spelling,
    )
    from classmark.workbench.search import index as indexing
    from classmark.workbench.search import search as searching
    from classmark.workbench.search import tune as tuning
    from classmark.workbench.search.search import SearchResults

CHECK, MERGE = "check", "merge"
TOPIC_DEPTH = 1000  # documents for each topic of a run
MOST = 20  # parts of a score that are printed
INDEX_FOLDER = option("An index of a file.", None, "--index", metavar="DIR")
PARAMETERS = option("A parameter; repeatable.", (), "--set", metavar="NAME=VALUE")
TOPIC_FIELDS = option(
    "Of a topic, take this, as title; repeatable; else all.",
    (),
    "--topic-field",
    metavar="NAME",
)
TOPIC_FORMAT = option("The format of topics; otherwise detected.", None, "--format")
FEEDBACK = option("rocchio, rm3 or information, as in rm3:terms=10,documents=5")


@options
class IndexOptions:
    """Which index, and how it is built."""

    to: Path | None = option("Where the index of FILE goes.", metavar="DIR")
    folder: Path | None = INDEX_FOLDER
    format_: str | None = FORMAT
    memory: str = option("What the build may use, as in 64MB or 2GB.", "512MB")
    positions: bool | None = option(
        "Keep the places of words, for phrases.", None, "--positions/--no-positions"
    )
    shards: int | None = option("Leave N segments, one for each machine.", metavar="N")


@command(JSON)
def index(
    *,
    paths: tuple[str, ...] = argument(
        "Documents to index in --to DIR, files or addresses as in "
        "s3://shelf/part-*.jsonl; or check: verify every byte; or merge: make one "
        "segment of what updates left.",
        "[FILE…|check|merge]",
        (),
    ),
    where: Path = FOLDER,
    options: IndexOptions,
    machines: MachineOptions,
) -> Table:
    """Index a project's documents, only what changed; or a file's; check or merge."""
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
        with projects.Project(where) as project, machines.started() as workers:
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
    if options.folder is not None:
        if act == MERGE:
            return indexing.merge_index(options.folder, options.memory)
        return indexing.check_index(options.folder)
    with projects.Project(where) as project:
        if act == MERGE:
            return indexing.merge_project_index(project, options.memory)
        return indexing.check_index(indexing.index_folder(project))


@options
class SearchOptions:
    """How to search: the model, its parameters, feedback, a prior."""

    model: str | None = option("bm25, jm, dirichlet, pl2, lgd, cosine, boolean, …")
    parameters: tuple[str, ...] = PARAMETERS
    weights: tuple[str, ...] = option(
        "What a field counts; repeatable.", (), "--weight", metavar="FIELD=NUMBER"
    )
    k: int | None = option(
        "How many documents: 10, or 1000 for each of --topics.", None, "-k"
    )
    feedback: str | None = FEEDBACK
    prior: str | None = option("Add what links say.", metavar="pagerank[:WEIGHT]")
    ranker: str | None = option(
        "A learned ranker; else that in service.", metavar="N|none"
    )
    hybrid: str | None = option(
        "Meaning beside words: what it counts, by ranks alone, or not; else as "
        "classmark.toml says: where documents have vectors.",
        metavar="NUMBER|weight|ranks|no",
    )
    explain: bool = flag(
        "What each term, and meaning, adds to each score.", "--explain"
    )


@options
class TopicOptions:
    """A file of queries instead of one, and where their answers go."""

    topics: Path | None = option(
        "Answer every query of a file, as retrieve does.",
        metavar="FILE",
    )
    run: Path | None = option("Write their answers as a TREC run.", metavar="FILE")
    topic_fields: tuple[str, ...] = TOPIC_FIELDS
    format_: str | None = TOPIC_FORMAT

    def given(self) -> runs.Topics | None:
        """The topics, None without any; ``run`` goes with them."""
        if self.topics is None:
            if self.run or self.topic_fields or self.format_:
                raise Mistake(
                    "--run, --topic-field and --format are of topics: give --topics "
                    "FILE"
                )
            return None
        if self.run is None:
            raise Mistake("--topics: say where their answers go, with --run FILE")
        return runs.Topics(self.topics, self.format_, self.topic_fields)


@command(JSON)
def search(
    *,
    words: tuple[str, ...] = argument(
        'words "a phrase" field:word +must -not AND OR NOT ( ); quote one '
        "that has signs, and put one that begins with - last, after --",
        "[QUERY]",
        (),
    ),
    where: Path = FOLDER,
    folder: Path | None = INDEX_FOLDER,
    options: SearchOptions,
    topics: TopicOptions,
    log: bool | None = option(
        "Keep the words and what is shown, to learn from; else as "
        "classmark.toml says: no.",
        None,
        "--log/--no-log",
    ),
    machines: WorkerOptions,
) -> View | Table:
    """Find documents, best first, with the words that match; or answer a file."""
    place = _place(where, folder)
    if folder is not None and log:
        raise Mistake("--log: an index has no log; import the file into a project")
    if (several := topics.given()) is not None:
        if words or log:
            raise Mistake(f"{'a query' if words else '--log'} and --topics: give one")
        return _run_topics(place, several, topics.run or HERE, options, machines)
    query = _typed(words)
    wish = searching.QueryOptions(**vars(options) | {"k": _or(options.k, 10)})
    try:
        if folder is not None:
            with machines.started() as workers:
                results = searching.search_index(folder, query, wish, machines=workers)
        else:
            with (
                projects.Project(where) as project,
                kernels_for(project, 0),
                machines.started() as workers,
            ):
                following.follow_at_once(project)
                opened = searching.ProjectIndex(project, memory=0)
                results = searching.search_in(
                    project, query, wish, opened, machines=workers
                )
                meant = spelling.did_you_mean(project, opened, query)
                results = replace(results, meant=meant)
                if results.hits and project.settings.search.is_logged(log):
                    results = searching.log_results(project, query, results, wish)
    except query_language.MalformedQuery as problem:
        shown = str(problem) if problem.query.strip() else problem.line
        sys.stderr.write(f"classmark: {shown}\n")
        raise typer.Exit(2) from problem
    return View(_result_facts(results), _result_lines(results))


def _place(where: Path, folder: Path | None) -> tuple[Path, Path | None]:
    """Where to search: a project, or an index in a folder of its own."""
    if folder is not None and where != HERE:
        raise Mistake("--project and --index: give one of them")
    return where, folder


def _typed(words: tuple[str, ...]) -> str:
    if not words:
        raise Mistake(
            "a query is missing: write what to look for, or give --topics FILE"
        )
    return " ".join(words)


def _or(number: int | None, default: int) -> int:
    return default if number is None else number


def _run_topics(
    place: tuple[Path, Path | None],
    topics: runs.Topics,
    out: Path,
    options: SearchOptions,
    machines: WorkerOptions,
) -> Table:
    """Answer topics by the index of a project, or by one in a folder of its own."""
    wish = searching.QueryOptions(**vars(options) | {"k": _or(options.k, TOPIC_DEPTH)})
    where, folder = place
    with ExitStack() as stack:
        project = None
        if folder is None:
            project = stack.enter_context(projects.Project(where))
        workers = stack.enter_context(machines.started())
        index = stack.enter_context(runs.opened(project, folder, workers))
        return runs.run_topics(index, topics, out, wish, project)


@command(JSON)
def retrieve(
    *,
    topics: Path = argument(
        "Queries: TREC (also in XML), SMART, TIME, LISA, BEIR, JSONL, CSV and TSV of "
        "ids and queries, or id:query on each line.",
        "TOPICS",
    ),
    run: Path = option("Where the run goes.", ..., metavar="FILE"),
    where: Path = FOLDER,
    folder: Path | None = INDEX_FOLDER,
    options: SearchOptions,
    topic_fields: tuple[str, ...] = TOPIC_FIELDS,
    format_: str | None = TOPIC_FORMAT,
    machines: WorkerOptions,
) -> Table:
    """Answer every query of a file, and write the answers as a TREC run."""
    several = runs.Topics(topics, format_, topic_fields)
    return _run_topics(_place(where, folder), several, run, options, machines)


@options
class MeasureOptions:
    """What is measured of runs, and how it is shown."""

    measures: tuple[str, ...] = option(
        "As map, ndcg@10, p@5, ppref; repeatable; else the usual ones.",
        (),
        "--measure",
        metavar="NAME",
    )
    format_: str | None = option(
        "Of QRELS: trec, smart, time, lisa, npl, beir or pairs; otherwise detected.",
        None,
        "--format",
    )
    trec_ties: bool = flag(
        "Order equal scores as trec_eval does, by document id, the last first; else as "
        "in the file.",
        "--trec-ties",
    )
    plot: Path | None = option("Where the plot goes (.svg).", metavar="FILE")


@command(ALL | JSON)
def measure(
    *,
    run: Path = argument("Answers in TREC's form.", "RUN"),
    qrels: Path = argument(
        "Judgments: query, document, grade, in TREC's columns or others; or pairs: "
        "query, winner, loser.",
        "QRELS",
    ),
    others: tuple[Path, ...] = argument("Runs to compare with RUN.", "[RUN2…]", ()),
    options: MeasureOptions,
    per_query: bool = flag("A row for each query, too.", "--per-query"),
) -> View:
    """Measure runs against judgments; of several, say whether they differ by chance."""
    return _measured([run, *others], qrels, options, per_query=per_query)


@command(ALL | JSON)
def compare(
    *,
    qrels: Path = argument("Judgments, as measure takes them.", "QRELS"),
    run: Path = argument("Answers in TREC's form.", "RUN"),
    others: tuple[Path, ...] = argument("Runs to compare with RUN.", "RUN2…"),
    options: MeasureOptions,
    per_query: bool = flag("A row for each query, too.", "--per-query"),
) -> View:
    """Compare runs with the first: measures, and whether they differ by chance."""
    return _measured([run, *others], qrels, options, per_query=per_query)


def _measured(
    paths: list[Path], qrels: Path, options: MeasureOptions, *, per_query: bool
) -> View:
    how = runs.Measuring(
        options.measures, options.format_, options.trec_ties, options.plot
    )
    measured = runs.measure_runs(paths, qrels, how)
    tables = [measured.runs]
    if measured.comparisons is not None:
        tables.append(measured.comparisons)
    if per_query:
        tables.append(measured.queries)
    return View(measured.facts(per_query=per_query), tables)


def _result_facts(results: SearchResults) -> list[dict[str, Any]]:
    """The hits as programs read them."""
    number = results.impression
    entry = {} if number is None else {"impression": number}
    return [
        {
            "rank": hit.rank,
            "score": hit.score,
            "id": hit.id,
            "title": hit.title,
            "snippet": hits.starred(hit.text),
            "parts": hit.parts,
            **({"words": hit.words, "meaning": hit.meaning} if results.meaning else {}),
            "ranker": results.ranker,
            **entry,
        }
        for hit in results.hits
    ]


def _result_lines(results: SearchResults) -> Iterator[Text | str]:
    """The hits, and their number in the log if they were logged."""
    if not results.hits:
        yield "nothing was found"
    for hit in results.hits:
        shown = f"{hit.title}  ({hit.id})  {hit.score:.4f}"
        yield Text(shown, f"{hit.rank:3}. ", BELOW)
        if hit.text:
            yield Text(hits.starred(hit.text), BELOW)
        if hit.parts:
            parts, rest = dict(hit.parts), list(hit.parts)[MOST:]
            others = sum(parts.pop(term) for term in rest)
            more = {f"({len(rest)} others)": others} if rest else {}
            yield Text(parts_of(parts | more, "+.4f"), f"{BELOW}= ")
    if results.meant:
        yield from ("", Text(f"did you mean: {results.meant}", "  "))
    if results.note:
        yield from ("", Text(results.note, "  "))
    if results.impression is not None:
        click = f"logged: classmark click {results.impression} ID says what you opened"
        yield from ("", Text(click, "  "))


@command(JSON)
def click(
    project: Project = FOLDER,
    impression: int = argument("The number a logged search printed."),
    document: str = argument("What was opened: its id, or its position."),
) -> View:
    """Log that a document was opened from a search that was logged."""
    logged = clicks.log_click(project.store, impression, document)
    number, document, position = logged
    line = f"{document}, position {position}, was opened from impression {number}"
    return View(logged._asdict(), [line])


@command(ALL | JSON)
def pagerank(
    path: Path | None = argument(
        "Source and target a line, instead of a project.", "[FILE]", None
    ),
    where: Path = FOLDER,
    damping: float = option("The chance that a reader follows a link.", 0.85),
    personalise: tuple[str, ...] = option(
        "Readers begin here; repeatable.", (), metavar="ID"
    ),
    method: str = option("power, gauss-seidel or eigen", "power"),
    k: int = option("How many pages.", 20, "-k"),
) -> Table:
    """Rank documents by the links that lead to them."""
    reader = links.LinkReader(damping, personalise, method)
    if path is not None:
        return links.rank_edges(path, reader, k)
    with projects.Project(where) as project:
        return links.rank_documents(project, reader, k)


@options
class QueryFiles:
    """Files of judged queries."""

    queries: Path | None = option("Queries, with ids.", metavar="FILE")
    qrels: Path | None = option("Query, document, grade.", metavar="FILE")
    format_: str | None = option(
        "Of --qrels: trec, smart, time, lisa, npl or beir; otherwise detected.",
        None,
        "--format",
    )


@options
class KnownQueries:
    """A known collection that has judged queries."""

    dataset: str | None = option("A known collection with queries, as library.")
    data: Path | None = DATA


def judgments_in(files: QueryFiles, collection: KnownQueries) -> tuning.Judgments:
    """Where judged queries are, as they were typed."""
    return tuning.Judgments(**vars(files), **vars(collection))


@options
class TrialOptions:
    """What every trial of ``tune`` shares, and the plot of all."""

    parameters: tuple[str, ...] = PARAMETERS
    feedback: str | None = FEEDBACK
    plot: Path | None = option("Where the plot goes (.svg).", metavar="FILE")
    hybrid: bool = flag("Try what meaning counts beside words instead.", "--hybrid")
    use: bool = flag("Of --hybrid: let searches count meaning so.", "--use")
    share: float = option("Of the queries, to tune on; the others are asked once.", 1.0)
    seed: int = option("Parts the queries.", 0, "--random-state")


@command(ALL | JSON)
def tune(
    *,
    parameter: tuple[str, ...] = option(
        "name=first:last:step or name=value,value; repeatable.", ()
    ),
    model: str = option("The model.", "bm25"),
    files: QueryFiles,
    measure: str = option("As in map, ndcg@10, p@5.", "map"),
    project: Project | None = option("The project.", None, "--project", "-p"),
    folder: Path | None = INDEX_FOLDER,
    collection: KnownQueries,
    trial: TrialOptions,
    machines: WorkerOptions,
) -> Evaluated:
    """Try values of a model's parameters on judged queries, and say which is best."""
    how = (trial.parameters, trial.feedback, trial.hybrid, trial.use)
    parts = (trial.share, trial.seed)
    sweep = tuning.Sweep(model, parameter, measure, *how, *parts)
    judgments = judgments_in(files, collection)
    if trial.hybrid:
        if folder is not None or machines != WorkerOptions():
            raise Mistake(
                "--hybrid works in a project, in this process: leave --index, "
                "--workers and --on out"
            )
        return tuning.tune_meaning(project, judgments, sweep, trial.plot)
    with (
        machines.started() as workers,
        tuning.judged_in(project, folder, judgments, machines=workers) as judged,
    ):
        return tuning.tune(judged, sweep, trial.plot)

"""Commands for rankers that are learned from judgments, clicks or LETOR files."""

from __future__ import annotations

from pathlib import Path

from classmark.cli.options import (
    ALL,
    FOLDER,
    JSON,
    argument,
    command,
    deferred,
    flag,
    option,
    options,
)
from classmark.cli.output import Text, View
from classmark.cli.search import KnownQueries, QueryFiles, judgments_in
from classmark.problems import Mistake
from classmark.workbench.results import Table

with deferred():
    from classmark.workbench import project as projects
    from classmark.workbench.project import Project
    from classmark.workbench.search import clicks as click_log
    from classmark.workbench.search import interleaving, letor_files, rankers
    from classmark.workbench.search import train_ranker as training


@command(ALL | JSON)
def rank_features(
    *,
    to: Path = option("The LETOR file.", ..., metavar="FILE"),
    files: QueryFiles,
    project: Project = FOLDER,
    collection: KnownQueries,
) -> Table:
    """Write features of judged queries' candidates as a LETOR (svmlight) file."""
    return training.write_features(project, judgments_in(files, collection), to)


@options
class RankerSources:
    """What a ranker learns from, if not from judged queries."""

    clicks: bool = flag("Learn from the click log instead.", "--clicks")
    strategy: str = option(
        "What a click prefers: clicked-over-skipped, skip-above, "
        "last-click-over-skipped-above or click-over-previous.",
        "clicked-over-skipped",
    )
    propensities: bool = flag(
        "Clicks count the more, the less their position is looked at.", "--propensities"
    )
    letor: Path | None = option(
        "Learn from the rows of a LETOR file, outside any project.", metavar="FILE"
    )
    to: Path | None = option(
        "Of --letor: where the ranker is kept, for rank score.", metavar="DIR"
    )


@options
class RankerSelection:
    """How a ranker is chosen and compared, as ``RankerTraining``."""

    measure: str = option("What decides, as ndcg@10, map, mrr.", "ndcg@10")
    prices: tuple[float, ...] = option("Choose C among these; repeatable.", (), "--C")
    share: float = option("Of the queries, to learn from.", 0.5)
    seed: int = option("Parts the queries.", 0, "--random-state")
    force: bool = flag("Into service even if not surely better.", "--force")


@command(ALL | JSON)
def rank_train(
    *,
    files: QueryFiles,
    sources: RankerSources,
    learner: str = option(
        "ranking-svm, rsvm-ir, pointwise, listnet, logistic, svm-map, ranknet, "
        "rankboost or lambdamart.",
        "ranking-svm",
    ),
    where: Path = FOLDER,
    collection: KnownQueries,
    selection: RankerSelection,
) -> Table | View:
    """Learn to rank; a ranker surely better on held-out queries goes into service.

    With --clicks and judgments it learns from the clicks, and the judgments decide.
    """
    if sources.propensities and not sources.clicks:
        raise Mistake("--propensities weighs clicks: it goes with --clicks")
    judged = collection.dataset is not None or files.qrels is not None
    if sources.letor is not None and (sources.clicks or judged):
        raise Mistake("--letor is learned from alone: leave --clicks and judgments out")
    if sources.to is not None and sources.letor is None:
        raise Mistake("--to is of --letor: a project keeps its rankers itself")
    how = training.RankerTraining(
        learner,
        clicks=sources.strategy if sources.clicks else None,
        weighed=sources.propensities,
        **vars(selection),
    )
    if sources.letor is not None:
        return letor_files.learn_file(sources.letor, how, sources.to)
    with projects.Project(where) as project:
        trained = training.train_ranker(project, judgments_in(files, collection), how)
    facts = {
        "number": trained.number,
        "table": trained.table.facts(),
        "used": trained.used,
        "said": trained.verdict,
        "page": trained.page,
    }
    report = f"  report: {trained.page}"
    return View(facts, [trained.table, Text(trained.verdict, "  "), report])


@command(ALL | JSON)
def rank_evaluate(
    *,
    number: tuple[int, ...] = argument("Rankers.", "N"),
    files: QueryFiles,
    project: Project = FOLDER,
    collection: KnownQueries,
) -> Table:
    """Measure rankers on judged queries that none of them learned from."""
    return training.evaluate_ranker(project, judgments_in(files, collection), number)


@command()
def rank_use(
    project: Project = FOLDER,
    number: str = argument("The ranker, or none.", "N|none"),
) -> View:
    """Put a ranker into service, or none: the model alone orders then."""
    return View(None, [Text(rankers.use_ranker(project, number))])


@command(ALL | JSON)
def rank_report(
    project: Project = FOLDER,
    number: int | None = argument("A ranker; else all.", "[N]", None),
) -> Table | View:
    """List the rankers; or show one's wins and losses, and write its page."""
    if number is None:
        return rankers.list_rankers(project)
    table, page = rankers.report_ranker(project, number)
    return View(list(table.rows), [table, f"  report: {page}"])


@command(JSON)
def rank_score(
    *,
    ranker: Path = argument("What rank train --letor --to has kept.", "DIR"),
    letor: Path = argument("The rows to score, as LETOR has them.", "FILE"),
    to: Path = option("Where the scores go, one a line.", ..., metavar="FILE"),
) -> Table:
    """Score the rows of a LETOR file; measure the order where the rows are judged."""
    return letor_files.score_file(ranker, letor, to)


@command(ALL | JSON)
def rank_clicks(project: Project = FOLDER) -> Table:
    """Which of two mixed orders people prefer, and which positions are looked at."""
    return interleaving.show_clicks(project)


@command(JSON)
def rank_import(
    path: Path = argument(
        "JSONL: query, shown (ids, best first), clicked (ids), at; or CSV and TSV: "
        "list, query, document, position, clicked."
    ),
    project: Project = FOLDER,
) -> Table:
    """Import the click log of another search: lists that were shown, and clicks."""
    return click_log.import_clicks(project, path)

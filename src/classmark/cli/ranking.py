"""Learning to rank on the command line: train, compare, put into service and back."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from classmark.cli.options import HERE, AllColumns, AsJson, Where, open_project
from classmark.problems import Mistake

if TYPE_CHECKING:
    from classmark.workbench.search.tune import Judgments

Queries = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Queries, with ids.")
]
Qrels = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Query, document, grade.")
]
Known = Annotated[
    str | None, typer.Option(help="A known collection with queries, as library.")
]
Data = Annotated[Path | None, typer.Option(help="The data sets' folder.")]


def features(
    to: Annotated[Path, typer.Option(metavar="FILE", help="The LETOR file.")],
    queries: Queries = None,
    qrels: Qrels = None,
    project: Where = HERE,
    dataset: Known = None,
    data: Data = None,
    everything: AllColumns = False,
    as_json: AsJson = False,
) -> None:
    """Write features of judged queries' candidates as a LETOR (svmlight) file."""
    from classmark.cli.output import show_table
    from classmark.workbench.search.train_ranker import write_features

    judgments = _judgments(queries, qrels, dataset, data)
    with open_project(project) as opened:
        table = write_features(opened, judgments, to)
    show_table(table, as_json=as_json, everything=everything)


def train(
    queries: Queries = None,
    qrels: Qrels = None,
    clicks: Annotated[
        bool, typer.Option("--clicks", help="Learn from the click log instead.")
    ] = False,
    strategy: Annotated[
        str,
        typer.Option(
            help="What a click prefers: clicked-over-skipped, skip-above, "
            "last-click-over-skipped-above or click-over-previous."
        ),
    ] = "clicked-over-skipped",
    propensities: Annotated[
        bool,
        typer.Option(
            "--propensities",
            help="Clicks count the more, the less their position is looked at.",
        ),
    ] = False,
    letor: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Only compare, on the rows of a LETOR file."),
    ] = None,
    learner: Annotated[
        str,
        typer.Option(
            help="ranking-svm, rsvm-ir, pointwise, listnet, logistic or lambdamart."
        ),
    ] = "ranking-svm",
    project: Where = HERE,
    dataset: Known = None,
    data: Data = None,
    measure: Annotated[
        str, typer.Option(help="What decides, as ndcg@10, map, mrr.")
    ] = "ndcg@10",
    price: Annotated[
        list[float] | None,
        typer.Option("--C", help="Choose C among these; repeatable."),
    ] = None,
    share: Annotated[float, typer.Option(help="Of the queries, to learn from.")] = 0.5,
    random_state: Annotated[int, typer.Option(help="Parts the queries.")] = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Into service even if not surely better.")
    ] = False,
    everything: AllColumns = False,
    as_json: AsJson = False,
) -> None:
    """Learn to rank; a ranker surely better on held-out queries goes into service."""
    from classmark.cli.output import say, show_json, show_table, tell
    from classmark.workbench.search.train_ranker import (
        Training,
        learn_file,
        train_ranker,
    )

    judgments = _judgments(queries, qrels, dataset, data)
    prices = tuple(price or ())
    click_strategy = strategy if clicks else None
    if propensities and not clicks:
        raise Mistake("--propensities weighs clicks: it goes with --clicks")
    if sum((clicks, letor is not None, dataset is not None or qrels is not None)) > 1:
        raise Mistake("--clicks, --letor and judgments: learn from one of them")
    wish = Training(
        learner,
        measure,
        share,
        random_state,
        prices,
        click_strategy,
        propensities,
        force,
    )
    if letor is not None:
        table = learn_file(letor, wish)
        show_table(table, as_json=as_json, everything=everything)
        return
    with open_project(project) as opened:
        trained = train_ranker(opened, judgments, wish)
    if as_json:
        show_json(asdict(trained) | {"table": trained.table.facts()})
        return
    show_table(trained.table, everything=everything)
    tell(trained.said, "  ")
    say(f"  report: {trained.page}")


def evaluate(
    number: Annotated[list[int], typer.Argument(metavar="N", help="Rankers.")],
    queries: Queries = None,
    qrels: Qrels = None,
    project: Where = HERE,
    dataset: Known = None,
    data: Data = None,
    everything: AllColumns = False,
    as_json: AsJson = False,
) -> None:
    """Measure rankers on judged queries that none of them learned from."""
    from classmark.cli.output import show_table
    from classmark.workbench.search.train_ranker import evaluate_ranker

    judgments = _judgments(queries, qrels, dataset, data)
    with open_project(project) as opened:
        table = evaluate_ranker(opened, judgments, number)
    show_table(table, as_json=as_json, everything=everything)


def use(
    number: Annotated[
        str, typer.Argument(metavar="N|none", help="The ranker, or none.")
    ],
    project: Where = HERE,
) -> None:
    """Put a ranker into service, or none: the model alone orders then."""
    from classmark.cli.output import tell
    from classmark.workbench.search.rankers import use_ranker

    with open_project(project) as opened:
        tell(use_ranker(opened, number))


def report(
    number: Annotated[
        int | None, typer.Argument(metavar="[N]", help="A ranker; else all.")
    ] = None,
    project: Where = HERE,
    everything: AllColumns = False,
    as_json: AsJson = False,
) -> None:
    """List the rankers; or show one's wins and losses, and write its page."""
    from classmark.cli.output import say, show_table
    from classmark.workbench.search.rankers import list_rankers, report_ranker

    with open_project(project) as opened:
        if number is None:
            table, page = list_rankers(opened), None
        else:
            table, page = report_ranker(opened, number)
    show_table(table, as_json=as_json, everything=everything)
    if page is not None and not as_json:
        say(f"  report: {page}")


def _judgments(
    queries: Path | None, qrels: Path | None, dataset: str | None, data: Path | None
) -> Judgments:
    from classmark.workbench.search.tune import Judgments

    return Judgments(queries, qrels, dataset, data)

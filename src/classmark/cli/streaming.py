"""The stream command: a labelled stream replayed, rank first, then learn."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from classmark.cli.options import AllColumns, Format
from classmark.problems import Mistake


def stream(
    path: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Labelled documents.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="A known collection instead of a file.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="The data sets' folder.")] = None,
    format_: Format = None,
    learner: Annotated[
        list[str] | None,
        typer.Option(help="plm, mmp, perceptron or rocchio; repeatable."),
    ] = None,
    loss: Annotated[int, typer.Option(help="Of mmp: 1, 2 or 3.")] = 3,
    average: Annotated[
        bool, typer.Option("--average", help="Rank with averaged prototypes.")
    ] = False,
    price: Annotated[float, typer.Option("--C", help="Of plm.")] = 1.0,
    revisits: Annotated[
        int, typer.Option(help="Of plm: earlier documents learned again, each time.")
    ] = 100,
    time_budget: Annotated[
        float | None,
        typer.Option(help="Of plm: seconds a document, instead of --revisits."),
    ] = None,
    budget: Annotated[float | None, typer.Option(hidden=True)] = None,
    max_documents: Annotated[
        int | None, typer.Option(help="Of plm: documents kept at most.")
    ] = None,
    order: Annotated[str, typer.Option(help="file or random")] = "file",
    plot: Annotated[
        Path | None, typer.Option(help="The curves (.svg); else in reports/.")
    ] = None,
    facts: Annotated[
        Path | None, typer.Option("--json", help="Write all values here.")
    ] = None,
    everything: AllColumns = False,
) -> None:
    """Rank each document, then learn it: what a learner does from nothing."""
    from classmark.cli.output import say, show_table
    from classmark.workbench.learning import stream as streaming

    if (path is None) == (dataset is None):
        raise Mistake("give a FILE, or the name of a collection with --dataset")
    if budget is not None:
        from classmark.validation import warn_renamed

        warn_renamed("stream", "--budget (milliseconds)", "--time-budget (seconds)")
        time_budget = budget / 1000
    setting = streaming.Setting(
        tuple(dict.fromkeys(learner or ["plm"])),
        loss,
        average,
        price,
        revisits,
        time_budget,
        max_documents,
    )
    streaming.require(setting, order, plot, facts)
    if path is None:
        documents = streaming.known_stream(str(dataset), data)
    else:
        documents = streaming.read_stream(path, format_)
    source = str(dataset) if path is None else path.name
    streamed = streaming.stream(source, documents, setting, order, plot)
    show_table(streamed.table, everything=everything)
    if facts is not None:
        streaming.write_facts(streamed, facts)
        say(f"  values: {facts}")
    say(f"  plot: {streamed.plot}\n")

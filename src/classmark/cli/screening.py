"""Screening to a recall target on the command line."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from classmark.cli.options import HERE, AllColumns, AsJson, Where, open_project

if TYPE_CHECKING:
    from classmark.workbench.examples.screening import Status

Ids = list[str] | None
Name = Annotated[
    str | None, typer.Option(help="The screening; else the one used last.")
]
Target = Annotated[float, typer.Option(help="The recall wanted.")]
Error = Annotated[
    float, typer.Option(help="How often, at most, to stop before it is reached.")
]
BatchSize = Annotated[
    int, typer.Option("--batch", help="Documents read between two lessons.")
]
Share = Annotated[
    float, typer.Option(help="Of random draws while likely ones are still found.")
]
Patience = Annotated[
    float, typer.Option(help="How long to search on without a find; 1 is usual.")
]


def start(
    examples: Annotated[
        Ids, typer.Option("--examples", "-e", metavar="ID,ID", help="Relevant ones.")
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(help="A relevant text of your own, not counted; repeatable."),
    ] = None,
    category: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Its documents; not those rejected from it."),
    ] = None,
    project: Where = HERE,
    name: Annotated[str | None, typer.Option(help="A name for it.")] = None,
    target: Target = 0.95,
    error: Error = 0.05,
    batch: BatchSize = 50,
    share: Share = 0.1,
    patience: Patience = 1.0,
    as_json: AsJson = False,
) -> None:
    """Begin to screen all documents for the relevant ones."""
    from classmark.workbench.examples import screening

    begun = screening.Begun(tuple(examples or ()), tuple(file or ()), category)
    rule = screening.StoppingRule(target, error, batch, share, patience)
    with open_project(project) as opened:
        show_status(screening.start(opened, begun, rule, name), as_json=as_json)


def next_(
    project: Where = HERE,
    name: Name = None,
    count: Annotated[
        int | None, typer.Option("-k", help="How many documents; else a batch.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the documents to read next: the likely ones, then random draws."""
    from classmark.cli.output import BELOW, say, show_json, tell
    from classmark.workbench.examples import screening

    with open_project(project) as opened:
        documents = screening.read_next(opened, name, count)
    if as_json:
        show_json([asdict(each) for each in documents])
        return
    if not documents:
        say("every document is read")
    for each in documents:
        score = "" if each.score is None else f"  {each.score:.3f}"
        shown = f"{each.title}  ({each.id})  {each.origin}{score}"
        tell(shown, f"{each.rank:3}. ", BELOW)


def mark(
    yes: Annotated[Ids, typer.Option(metavar="ID,ID", help="Relevant.")] = None,
    no: Annotated[Ids, typer.Option(metavar="ID,ID", help="Not relevant.")] = None,
    skip: Annotated[Ids, typer.Option(metavar="ID,ID", help="Cannot be said.")] = None,
    undo: Annotated[
        bool, typer.Option("--undo", help="Take back what you marked last.")
    ] = False,
    project: Where = HERE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Say which documents are relevant; the last word on a document holds."""
    from classmark.cli.output import tell
    from classmark.problems import Mistake
    from classmark.workbench.examples import screening

    if undo and (yes or no or skip):
        raise Mistake("--undo stands alone: mark in another command")
    with open_project(project) as opened:
        if undo:
            back, status = screening.undo(opened, name)
            if not as_json:
                marks = ", ".join(f"{mark.act} {mark.document}" for mark in back)
                tell(f"taken back: {marks}")
        else:
            status = screening.mark(
                opened, name, {"yes": yes or [], "no": no or [], "skip": skip or []}
            )
    show_status(status, as_json=as_json)


def status(
    project: Where = HERE,
    name: Name = None,
    plot: Annotated[
        bool, typer.Option("--plot", help="Draw the recall curve in reports/.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="List all screenings.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say what is found, what may be left, and whether to stop."""
    from classmark.cli.output import say, show_table
    from classmark.workbench.examples import screening
    from classmark.workbench.examples import screening as screened

    with open_project(project) as opened:
        if everything:
            table = screening.list_screenings(opened)
            show_table(table, as_json=as_json, everything=True)
            return
        state = screening.status(opened, name)
        show_status(state, as_json=as_json)
        if plot:
            path = screened.draw_status(state, opened.folder)
            if not as_json:
                say(f"  plot: {path}")


def export(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help=".csv, .jsonl, .run, .ris or .bib")
    ],
    project: Where = HERE,
    name: Name = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All that were read, not only relevant ones.")
    ] = False,
) -> None:
    """Write the relevant documents, in the order they were found."""
    from classmark.cli.output import say
    from classmark.workbench.examples import screening
    from classmark.workbench.examples.like import export_likes

    with open_project(project) as opened:
        documents = screening.answered(opened, name, everything=everything)
    say(f"wrote {export_likes(documents, path):,} documents to {path}")


def simulate(
    category: Annotated[
        str, typer.Argument(metavar="CATEGORY", help="Its documents are relevant.")
    ],
    project: Where = HERE,
    runs: Annotated[int, typer.Option(help="How often, each from one example.")] = 5,
    random_state: Annotated[int, typer.Option(help="Of the examples and draws.")] = 0,
    target: Target = 0.95,
    error: Error = 0.05,
    batch: BatchSize = 50,
    share: Share = 0.1,
    patience: Patience = 1.0,
    everything: AllColumns = False,
    as_json: AsJson = False,
) -> None:
    """Try a screening out on a category whose documents are known."""
    from classmark.cli.output import show_evaluated
    from classmark.workbench.examples import screening
    from classmark.workbench.examples import screening as screened

    rule = screening.StoppingRule(target, error, batch, share, patience)
    with open_project(project) as opened:
        evaluated = screened.try_out(opened, category, rule, runs, random_state)
    show_evaluated(evaluated, as_json=as_json, everything=everything)


def show_status(state: Status, *, as_json: bool = False) -> None:
    """Print where a screening stands."""
    from classmark.cli.output import show_json, tell
    from classmark.workbench.examples.screening import words

    if as_json:
        progress = asdict(state.progress)
        left = state.progress.remaining
        progress["remaining"] = None if left is None else left._asdict()
        show_json({"screening": state.search, "later": state.later} | progress)
        return
    tell(state.search)
    for line in words(state):
        tell(line, "  ")

"""Deciding on the command line: decide, undo, look back, and see what is next."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from classmark.cli.commands import HERE, AsJson, Where, open_project

BRIEF = ("number", "who", "document", "act", "category", "other", "state", "note")
Names = list[str] | None


def decide(
    document: Annotated[str, typer.Argument(help="The document's id.")],
    assign: Annotated[Names, typer.Option(help="It belongs here; repeatable.")] = None,
    primary: Annotated[
        Names, typer.Option(help="It belongs here above all; repeatable.")
    ] = None,
    reject: Annotated[Names, typer.Option(help="Not this one; repeatable.")] = None,
    unsure: Annotated[
        Names, typer.Option(help="Perhaps this one, perhaps not; repeatable.")
    ] = None,
    remove: Annotated[
        Names, typer.Option(help="Take back what was said of this; repeatable.")
    ] = None,
    over: Annotated[
        Names, typer.Option(help="A:B, A should stand above B here; repeatable.")
    ] = None,
    aside: Annotated[
        bool, typer.Option("--aside", help="Unsure of all: set it aside.")
    ] = False,
    note: Annotated[str, typer.Option(help="A word on why.")] = "",
    project: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Say where a document belongs; all of it is logged, or nothing."""
    from classmark.cli.output import show_logged
    from classmark.workbench import deciding
    from classmark.workbench.learning import and_learn

    with open_project(project) as opened:
        said = deciding.Decision(
            tuple(assign or ()),
            tuple(primary or ()),
            tuple(reject or ()),
            tuple(unsure or ()),
            tuple(remove or ()),
            deciding.pairs_of(opened, over or ()),
            aside,
            note,
        )
        show_logged(
            and_learn(opened, deciding.decide(opened, document, said)), as_json=as_json
        )


def undo(
    number: Annotated[
        int | None, typer.Argument(metavar="[NUMBER]", help="Of an act; see history.")
    ] = None,
    project: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Take back an act, by default your last; undo an undoing to bring it back."""
    from classmark.cli.output import show_logged
    from classmark.workbench import undoing
    from classmark.workbench.learning import and_learn

    with open_project(project) as opened:
        show_logged(and_learn(opened, undoing.undo(opened, number)), as_json=as_json)


def history(
    document: Annotated[str | None, typer.Option(help="Only of this document.")] = None,
    top: Annotated[int, typer.Option("-n", help="How many lines.")] = 20,
    project: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """List what was decided, newest first, with the numbers that undo takes."""
    from classmark.cli.output import show_table
    from classmark.workbench import looking

    with open_project(project) as opened:
        found = looking.history(opened, document, top)
    if not as_json:
        rows = [{name: row[name] for name in BRIEF} for row in found.rows]
        found = replace(found, rows=rows)
    show_table(found, as_json=as_json)


def queue(
    order: Annotated[
        str, typer.Option(help="uncertain, likely, random or similar")
    ] = "uncertain",
    top: Annotated[int, typer.Option("-n", help="How many documents.")] = 20,
    to: Annotated[
        str | None, typer.Option(help="Similar to this document, not the last decided.")
    ] = None,
    project: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """List the documents to decide next."""
    from classmark.cli.output import show_table
    from classmark.workbench import queueing

    with open_project(project) as opened:
        show_table(queueing.queue(opened, order, top, to), as_json=as_json)


def rebuild(project: Where = HERE, as_json: AsJson = False) -> None:
    """Learn the whole log again, and say whether that gives the same ranker."""
    from classmark.cli.output import show_table
    from classmark.workbench import rebuilding

    with open_project(project) as opened:
        show_table(rebuilding.rebuild(opened), as_json=as_json)

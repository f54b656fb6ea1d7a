"""Deciding on the command line: decide, undo, look back, and see what is next."""

from __future__ import annotations

from typing import Annotated

import typer

from classmark.cli.options import HERE, AllColumns, AsJson, Where, open_project

Names = list[str] | None
Alike = Annotated[
    float, typer.Option(help="With --group: the least mean cosine within a group.")
]


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
    group: Annotated[
        bool, typer.Option("--group", help="And of those like it in the queue.")
    ] = False,
    alike: Alike = 0.8,
    project: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Say where a document belongs; all of it is logged, or nothing."""
    from classmark.cli.output import show_logged
    from classmark.workbench.deciding import decide as deciding
    from classmark.workbench.learning.live import and_learn
    from classmark.workbench.small_work import kernels_for

    with open_project(project) as opened, kernels_for(opened, 2):
        decision = deciding.Decision(
            tuple(assign or ()),
            tuple(primary or ()),
            tuple(reject or ()),
            tuple(unsure or ()),
            tuple(remove or ()),
            deciding.pairs_of(opened, over or ()),
            aside,
            note,
        )
        if group:
            from classmark.workbench.deciding.similar import decide_group

            done = decide_group(opened, document, decision, alike)
        else:
            done = deciding.decide(opened, document, decision)
        show_logged(and_learn(opened, done), as_json=as_json)


def undo(
    number: Annotated[
        int | None, typer.Argument(metavar="[NUMBER]", help="Of an act; see history.")
    ] = None,
    project: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Take back an act, by default your last; undo an undoing to bring it back."""
    from classmark.cli.output import show_logged
    from classmark.workbench.learning.live import and_learn
    from classmark.workbench.small_work import kernels_for
    from classmark.workbench.store import undo as undoing

    with open_project(project) as opened, kernels_for(opened, 2):
        show_logged(and_learn(opened, undoing.undo(opened, number)), as_json=as_json)


def history(
    document: Annotated[str | None, typer.Option(help="Only of this document.")] = None,
    top: Annotated[int, typer.Option("-n", help="How many lines.")] = 20,
    project: Where = HERE,
    everything: AllColumns = False,
    as_json: AsJson = False,
) -> None:
    """List what was decided, newest first, with the numbers that undo takes."""
    from classmark.cli.output import show_table
    from classmark.workbench.deciding import history as looking

    with open_project(project) as opened:
        table = looking.history(opened, document, top)
    show_table(table, as_json=as_json, everything=everything)


def queue(
    order: Annotated[
        str, typer.Option(help="uncertain, likely, random or similar")
    ] = "uncertain",
    k: Annotated[int, typer.Option("-k", help="How many documents.")] = 20,
    to: Annotated[
        str | None, typer.Option(help="Similar to this document, not the last decided.")
    ] = None,
    group: Annotated[
        bool, typer.Option("--group", help="One line for documents nearly the same.")
    ] = False,
    alike: Alike = 0.8,
    project: Where = HERE,
    everything: AllColumns = False,
    as_json: AsJson = False,
) -> None:
    """List the documents to decide next."""
    from classmark.cli.output import show_table
    from classmark.workbench.deciding import queue as queueing
    from classmark.workbench.small_work import kernels_for

    with open_project(project) as opened:
        if group:
            from classmark.workbench.deciding import similar

            table = similar.grouped_queue(opened, order, k, to, alike)
            table = table if as_json else similar.shortened(table)
        else:
            with kernels_for(opened, opened.store.waiting()):
                table = queueing.queue(opened, order, k, to)
    show_table(table, as_json=as_json, everything=everything)


def rebuild(project: Where = HERE, as_json: AsJson = False) -> None:
    """Learn the whole log again, and say whether that gives the same ranker."""
    from classmark.cli.output import show_table
    from classmark.workbench.learning import rebuild as rebuilding

    with open_project(project) as opened:
        show_table(rebuilding.rebuild(opened), as_json=as_json)

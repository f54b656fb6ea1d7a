"""The taxonomy on the command line: look at it, bring it in, and let it live."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from classmark.cli.options import HERE, AllColumns, AsJson, Format, Where, open_project

Id = Annotated[str, typer.Argument(metavar="ID", help="The category's id.")]
Label = Annotated[str, typer.Option(help="What people call it.")]
Parent = Annotated[str | None, typer.Option(help="The id of the category above.")]
Note = Annotated[str, typer.Option(help="What belongs there.")]
Guideline = Annotated[str, typer.Option(help="How experts decide what belongs there.")]


def show(
    below: Annotated[str | None, typer.Argument(help="Only below this id.")] = None,
    project: Where = HERE,
    everything: AllColumns = False,
    as_json: AsJson = False,
) -> None:
    """Show the tree of categories, with their documents."""
    from classmark.cli.output import show_table
    from classmark.workbench.categories.browse import show_taxonomy

    with open_project(project) as opened:
        table = show_taxonomy(opened, below)
    show_table(table, as_json=as_json, everything=everything)


def import_(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="CSV, pairs, SKOS …")],
    project: Where = HERE,
    format_: Format = None,
    as_json: AsJson = False,
) -> None:
    """Bring in a taxonomy."""
    from classmark.cli.output import show_table
    from classmark.workbench.files.importing import import_taxonomy

    with open_project(project) as opened:
        show_table(import_taxonomy(opened, path, format_), as_json=as_json)


def export(
    path: Annotated[Path, typer.Argument(metavar="FILE", help=".csv, .ttl or .rdf")],
    project: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Write the taxonomy to a file."""
    from classmark.cli.output import show_table
    from classmark.workbench.files.exporting import export_taxonomy

    with open_project(project) as opened:
        show_table(export_taxonomy(opened, path), as_json=as_json)


def add(
    id_: Id,
    label: Label = "",
    parent: Parent = None,
    note: Note = "",
    guideline: Guideline = "",
    project: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Add a category."""
    from classmark.cli.output import show_logged
    from classmark.workbench.categories import edit
    from classmark.workbench.learning.live import and_learn

    with open_project(project) as opened:
        new = edit.new_category(id_, label, parent, note, guideline)
        show_logged(and_learn(opened, edit.add(opened, new)), as_json=as_json)


def rename(
    id_: Id,
    label: Annotated[str | None, typer.Option(help="Its new label.")] = None,
    new_id: Annotated[str | None, typer.Option("--id", help="Its new id.")] = None,
    project: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Give a category another label or another id; its documents stay with it."""
    from classmark.cli.output import show_logged
    from classmark.workbench.categories import edit
    from classmark.workbench.learning.live import and_learn

    with open_project(project) as opened:
        done = edit.rename(opened, id_, label=label, new_id=new_id)
        show_logged(and_learn(opened, done), as_json=as_json)


def describe(
    id_: Id,
    note: Annotated[str | None, typer.Option(help="What belongs there.")] = None,
    guideline: Annotated[
        str | None, typer.Option(help="How experts decide what belongs there.")
    ] = None,
    notation: Annotated[str | None, typer.Option(help="Its class mark.")] = None,
    synonym: Annotated[
        list[str] | None,
        typer.Option(help="Another name; may be repeated. All others go."),
    ] = None,
    project: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Say anew what belongs to a category, and how experts decide; "" empties it."""
    from classmark.cli.output import show_logged
    from classmark.workbench.categories import edit
    from classmark.workbench.learning.live import and_learn

    options = {"note": note, "guideline": guideline, "notation": notation}
    changes = {k: v for k, v in options.items() if v is not None}
    with open_project(project) as opened:
        done = edit.describe(opened, id_, changes, synonym)
        show_logged(and_learn(opened, done), as_json=as_json)


def merge(
    id_: Id,
    into: Annotated[str, typer.Option(help="The category that takes all over.")],
    project: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Join a category to another: its documents and what is below it go there."""
    from classmark.cli.output import show_logged
    from classmark.workbench.categories import edit
    from classmark.workbench.learning.live import and_learn

    with open_project(project) as opened:
        show_logged(and_learn(opened, edit.merge(opened, id_, into)), as_json=as_json)


def split(
    id_: Id,
    new: Annotated[str, typer.Option(help="The id of the new category.")],
    documents: Annotated[
        str, typer.Option(help="Ids with commas between, or @FILE with one a line.")
    ],
    label: Label = "",
    parent: Parent = None,
    note: Note = "",
    project: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Make a new category of some documents of another."""
    from classmark.cli.output import show_logged
    from classmark.workbench.categories import edit
    from classmark.workbench.learning.live import and_learn

    with open_project(project) as opened:
        category = edit.new_category(new, label, parent, note)
        moving = edit.listed_documents(documents)
        show_logged(
            and_learn(opened, edit.split(opened, id_, category, moving)),
            as_json=as_json,
        )


def move(
    id_: Id,
    under: Annotated[
        str | None, typer.Option(help="The new parent; without it, to the top.")
    ] = None,
    project: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Put a category, with all below it, under another one."""
    from classmark.cli.output import show_logged
    from classmark.workbench.categories import edit
    from classmark.workbench.learning.live import and_learn

    with open_project(project) as opened:
        show_logged(and_learn(opened, edit.move(opened, id_, under)), as_json=as_json)


def retire(id_: Id, project: Where = HERE, as_json: AsJson = False) -> None:
    """Let no new document come to a category; those that are there stay."""
    from classmark.cli.output import show_logged
    from classmark.workbench.categories import edit
    from classmark.workbench.learning.live import and_learn

    with open_project(project) as opened:
        show_logged(and_learn(opened, edit.retire(opened, id_)), as_json=as_json)

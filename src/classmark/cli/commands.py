"""One command per verb: options in, one call of the workbench, something printed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from classmark.cli.options import (
    HERE,
    AllColumns,
    AsJson,
    Format,
    Url,
    Where,
    open_project,
    store_of,
)


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The new directory.")],
    name: Annotated[str | None, typer.Option(help="The project's name.")] = None,
    analyzer: Annotated[
        str | None, typer.Option(help="Text analysis, as in: words|lower|stop(english)")
    ] = None,
    store: Url = None,
) -> None:
    """Make a new project directory."""
    from classmark.cli.output import say
    from classmark.workbench.learning.train import require_analyzer
    from classmark.workbench.project import create
    from classmark.workbench.settings import Settings, TextSettings

    text = TextSettings()
    if analyzer is not None:
        text = TextSettings(analyzer=require_analyzer(analyzer))
    location = store_of(store, folder)
    create(folder, Settings(name or folder.resolve().name, text=text, store=location))
    say(f"made {folder}: next, classmark import FILE --project {folder}")


def info(
    project: Where = HERE,
    check: Annotated[bool, typer.Option(help="Read every byte and verify it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what is in a project."""
    from classmark.cli.output import show_table
    from classmark.workbench.info import info as describe

    with open_project(project) as opened:
        show_table(describe(opened, check=check), as_json=as_json)


def import_(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A file or a folder.")],
    project: Where = HERE,
    format_: Format = None,
    as_json: AsJson = False,
) -> None:
    """Bring in documents with their labels, or preferences (--format preferences)."""
    from classmark.cli.output import show_table
    from classmark.workbench.files.importing import import_documents

    with open_project(project) as opened:
        show_table(import_documents(opened, path, format_), as_json=as_json)


def export(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help=".jsonl, .csv, .tsv or .parquet")
    ],
    project: Where = HERE,
    raw: Annotated[
        bool, typer.Option("--raw", help="Do not guard CSV cells against formulas.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write all documents and labels to a file that imports again."""
    from classmark.cli.output import show_table
    from classmark.workbench.files.exporting import export_documents

    with open_project(project) as opened:
        show_table(export_documents(opened, path, raw=raw), as_json=as_json)


def suggest(
    path: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="A text; - for stdin.")
    ] = None,
    project: Where = HERE,
    text: Annotated[str | None, typer.Option(help="The text itself.")] = None,
    document: Annotated[str | None, typer.Option(help="A document's id.")] = None,
    k: Annotated[int, typer.Option("-k", help="How many categories.")] = 5,
    min_probability: Annotated[
        float | None,
        typer.Option(help="Leave less likely categories to the expert (0 to 1)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Suggest categories for a text, with the terms for and against each."""
    from classmark.cli.output import show_place, show_suggestions
    from classmark.workbench.deciding import suggest as suggesting
    from classmark.workbench.deciding.place import place_if_any
    from classmark.workbench.small_work import kernels_for

    with open_project(project) as opened:
        content = suggesting.wanted_text(opened, path, text, document)
        with kernels_for(opened, text=content):
            suggestions = suggesting.suggest(
                opened, content, k, min_probability=min_probability
            )
            put = None if as_json else place_if_any(opened, content)
    show_suggestions(suggestions, as_json=as_json)
    show_place(put)


def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            help="clicks, graphs-rcv1, ltr-cranfield, ltr-mq2008, mmp-reuters, "
            "plm-reuters, qbme-news20, qbme-reuters, qbme-siam, rare-lshtc, "
            "retrieval-models or taxonomy-lshtc"
        ),
    ],
    data: Annotated[Path | None, typer.Option(help="The data sets' folder.")] = None,
    facts: Annotated[
        Path | None,
        typer.Option("--json", help="Write all values here, the plot beside it."),
    ] = None,
    everything: AllColumns = False,
) -> None:
    """Compute a published result again, and say which of its claims hold."""
    from classmark.cli.output import show_reproduced
    from classmark.workbench.reproducing import reproduce_result

    show_reproduced(reproduce_result(name, data, facts), everything=everything)


def demo(
    folder: Annotated[
        Path, typer.Option("--dir", help="Where the demo project is made.")
    ] = Path("library"),
    serve: Annotated[
        bool, typer.Option("--serve/--no-serve", help="Go on to the workbench.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Do the main job on the library catalogue that ships with Classmark.

    It ends at the workbench: open the address that is printed. With --json it prints
    what each step found, and ends.
    """
    from classmark.cli.demonstration import run

    run(folder, serve=serve, as_json=as_json)


def data_list(everything: AllColumns = False, as_json: AsJson = False) -> None:
    """List the known public collections."""
    from classmark.cli.output import show_table
    from classmark.workbench.collections import list_collections

    show_table(list_collections(), as_json=as_json, everything=everything)


def data_path(
    name: str,
    data: Annotated[Path | None, typer.Option(help="Look here first.")] = None,
) -> None:
    """Print where a collection lies."""
    from classmark.cli.output import say
    from classmark.workbench.collections import collection_path

    say(collection_path(name, data))


def data_get(
    name: str,
    source: Annotated[
        Path | None, typer.Option("--from", help="Take it from this file or folder.")
    ] = None,
) -> None:
    """Download a collection, or take it from a local file or folder."""
    from classmark.cli.output import say
    from classmark.workbench.collections import get_collection

    for line in get_collection(name, source):
        say(line)

"""Commands for a project as a whole: make, fill, describe, export, back up."""

from __future__ import annotations

from pathlib import Path

from classmark.cli.options import (
    ALL,
    DIR,
    FOLDER,
    FORMAT,
    JSON,
    argument,
    command,
    deferred,
    flag,
    option,
    options,
)
from classmark.problems import Mistake
from classmark.workbench.results import Cell, Table

with deferred():
    from classmark import text as analyzing
    from classmark.workbench import project as projects
    from classmark.workbench import projects as several
    from classmark.workbench import settings, settings_file
    from classmark.workbench.files import backup as backups
    from classmark.workbench.files import exporting, importing
    from classmark.workbench.project import Project
    from classmark.workbench.store import log

NEW_FOLDER = argument("The new directory.", "DIR")
STORE = option(
    "Keep it in PostgreSQL: postgresql://user@host/database", None, "--store"
)


@command()
def init(
    folder: Path = NEW_FOLDER,
    name: str | None = option("The project's name."),
    language: str | None = option(
        "The language of the texts, as in: finnish, fi; other: one without a stemmer."
    ),
    analyzer: str | None = option("Text analysis, as in: words|lower|stop(english)"),
    store: str | None = STORE,
) -> str:
    """Make a new project directory."""
    text = settings.TextSettings()
    if analyzer is not None and language is not None:
        raise Mistake("--language beside --analyzer, which names one: use one of them")
    if analyzer is not None:
        text = settings.TextSettings(analyzer=str(analyzing.Analyzer.parse(analyzer)))
    elif language is not None:
        text = settings.TextSettings(analyzer=str(analyzing.usual_analyzer(language)))
    title = folder.resolve().name
    location = settings_file.store_at(store, title)
    projects.create(folder, settings.Settings(name or title, text=text, store=location))
    return f"made {folder}: next, classmark import FILE --project {folder}"


@command(JSON)
def info(
    project: Project = FOLDER,
    check: bool = option("Read every byte and verify it.", False),
    vocabulary: bool = flag(
        "Count the terms; fit and draw Heaps' and Zipf's laws.", "--vocabulary"
    ),
) -> Table:
    """Say what is in a project."""
    return projects.info(project, check=check, vocabulary=vocabulary)


@options
class LayoutOptions:
    """What each column of a table holds, where it is not as it is guessed."""

    column: tuple[str, ...] = option(
        "What a column holds, as in text=abstract: id, title, text, label, primary, "
        "yes-no, date, fact or ignore. Again for each.",
        (),
        "--column",
        metavar="ROLE=NAME",
    )
    label: tuple[str, ...] = option(
        "A column of labels: the same as --column label=NAME.",
        (),
        "--label",
        metavar="NAME",
    )
    encoding: str | None = option("Of the text, as in latin-1; else guessed.")
    separator: str | None = option(
        "Between cells: comma, semicolon, tab, bar or a sign; else guessed."
    )
    header: str | None = option(
        "Whether the first row names the columns, yes or no, or the row that does: 4."
    )
    sheet: str | None = option("Of a spreadsheet; else the first that has rows.")
    label_separator: str | None = option("Between labels in a cell: | ; , or none.")
    skip: bool = flag(
        "Leave out rows that cannot be read or have no text, and say which.", "--skip"
    )

    def layout(self) -> importing.Layout:
        """The layout that they say."""
        return importing.layout_of(
            self.column,
            self.label,
            encoding=self.encoding,
            delimiter=self.separator,
            header=self.header,
            sheet=self.sheet,
            separator=self.label_separator,
            skip=self.skip,
        )


@command(JSON)
def import_(
    *,
    project: Project = FOLDER,
    paths: tuple[Path, ...] = argument("Files or folders.", "FILE"),
    format_: str | None = FORMAT,
    replace: bool = flag("Replace documents that are here already.", "--replace"),
    preview: bool = flag("Show how it would be read, and import nothing.", "--preview"),
    layout: LayoutOptions,
) -> Table:
    """Bring in documents with their labels, or preferences (--format preferences)."""
    how = layout.layout()
    if preview:
        return importing.preview_files(project, paths, format_, how)
    return importing.import_files(project, paths, format_, how, replace=replace)


@command(JSON)
def export(
    project: Project = FOLDER,
    path: Path = argument(".jsonl, .csv, .tsv, .parquet, .ris or .bib", "FILE"),
    raw: bool = flag("Do not guard CSV cells against formulas.", "--raw"),
) -> Table:
    """Write all documents and labels to a file that imports again."""
    return exporting.export_documents(project, path, raw=raw)


@command(JSON)
def backup(
    project: Project = DIR,
    path: Path = argument("A new file: .zip or .jsonl", "FILE"),
) -> Table:
    """Keep a copy of a project in one file, while others work with it."""
    return backups.back_up(project, path)


@command(JSON)
def restore(
    path: Path = argument("A file of classmark backup.", "FILE"),
    folder: Path = NEW_FOLDER,
    store: str | None = STORE,
) -> Table:
    """Make a new project directory of a backup."""
    location = settings_file.store_at(store, folder.resolve().name)
    return backups.restore(path, folder, location)


PROJECTS = argument("The folder of projects.", "FOLDER")
ONE = argument("Its directory in the folder.", "NAME")
TITLE = option("What people see.")


@command(ALL | JSON)
def projects_list(folder: Path = PROJECTS) -> Table:
    """List the projects of a folder, also archived and damaged ones."""
    rows: list[dict[str, Cell]] = [
        {
            "name": each.name,
            "title": each.title,
            "documents": each.documents,
            "decided": each.decided,
            "waiting": each.waiting,
            "last changed": each.active[:16].replace("T", " "),
            "state": "archived" if each.archived else "damaged" * bool(each.problem),
            "problem": each.problem,
        }
        for each in several.Projects(folder).summaries()
    ]
    return Table("Projects", rows, "" if rows else "none yet")


@command()
def projects_new(
    folder: Path = PROJECTS, name: str = ONE, title: str | None = TITLE
) -> str:
    """Make a project in a folder, which is made too where it is missing."""
    made = several.Projects(folder).new(title or name, name)
    return f"made {folder / made}: next, classmark serve {folder} --projects"


@command()
def projects_rename(
    folder: Path = PROJECTS,
    name: str = ONE,
    title: str = option("What people see.", ...),
) -> str:
    """Call a project otherwise; its directory and its addresses stay."""
    several.Projects(folder).rename(name, title, log.whoami())
    return f"{name} is now called {title}"


@command()
def projects_archive(folder: Path = PROJECTS, name: str = ONE) -> str:
    """Close a project: it is not served, and nothing is written to it."""
    several.Projects(folder).archive(name, log.whoami())
    return f"{name} is archived: classmark projects unarchive brings it back"


@command()
def projects_unarchive(folder: Path = PROJECTS, name: str = ONE) -> str:
    """Bring an archived project back."""
    several.Projects(folder).unarchive(name, log.whoami())
    return f"{name} is back"


@command()
def projects_restore(
    folder: Path = PROJECTS,
    path: Path = argument("A file of classmark backup.", "FILE"),
    name: str = option("Its directory; else by its title.", ""),
    title: str = option("What people see; else as in the backup.", ""),
    people: bool = flag("Let in whom the backup names, with tokens.", "--people"),
) -> str:
    """Make a project of a backup, beside the others."""
    projects_there = several.Projects(folder)
    made = projects_there.restore(path, log.whoami(), title, name, people=people)
    return f"restored {folder / made}"

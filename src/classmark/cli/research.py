"""Commands for known collections, published results computed again, and the demo."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Argument, Option

from classmark.cli.options import ALL, DATA, JSON, command
from classmark.cli.output import (
    JOINED,
    Text,
    View,
    in_percent,
    say,
    show_table,
    tell,
    with_plots,
)
from classmark.problems import Mistake
from classmark.workbench.results import Cell, Evaluated, Explained, Table, Trained

if TYPE_CHECKING:
    from classmark.workbench.project import Project

REPORTS = Path("reports")
NAME = "Eskerton town library"
BEST = 3  # suggestions shown
TITLE = "How well do learners rank the categories of notes that they have not seen?"


@command(ALL | JSON)
def data_list() -> Table:
    """List the known public collections."""
    from classmark.datasets.dataset import CATALOG, find

    rows: list[dict[str, Cell]] = [
        {
            "name": name,
            "what": entry.what,
            "terms": entry.licence,
            "download": "yes" if entry.sources else "--from only",
            "here": "yes" if entry.family == "library" or find(name) else "no",
        }
        for name, entry in CATALOG.items()
    ]
    return Table("Known collections", rows)


@command()
def data_path(
    name: str,
    data: Path | None = Option(None, help="Look here first."),
) -> str:
    """Print where a collection lies."""
    from classmark.datasets.dataset import known, where

    known(name)
    return str(where(name, data))


@command()
def data_get(
    name: str,
    source: Path | None = Option(
        None, "--from", help="Take it from this file or folder."
    ),
) -> str:
    """Download a collection, or take it from a local file or folder."""
    from classmark.datasets.fetch import get

    fetched = get(name, from_=source)
    pinned = [f"pinned: {sum_}  {file}" for file, sum_ in fetched.pinned.items()]
    return "\n".join([str(fetched.path), *pinned])


@command(ALL)
def reproduce(
    name: str = Argument(
        ...,
        help="clicks, graphs-rcv1, ltr-cranfield, ltr-mq2008, mmp-reuters, "
        "plm-reuters, qbme-news20, qbme-reuters, qbme-siam, rare-lshtc, "
        "retrieval-models or taxonomy-lshtc",
    ),
    data: Path | None = DATA,
    facts: Path | None = Option(
        None, "--json", help="Write all values here, the plot beside it."
    ),
) -> View:
    """Compute a published result again, and say which of its claims hold."""
    target = REPORTS / f"{name}.json" if facts is None else facts
    if target.suffix != ".json":
        raise Mistake(f"--json {target}: give a file whose name ends in .json")
    result = _reproductions().reproduce(name, data)
    target.parent.mkdir(parents=True, exist_ok=True)
    values = {"name": name, "title": result.title, "note": result.note}
    text = json.dumps(values | dict(result.facts), ensure_ascii=False, indent=1)
    target.write_text(text + "\n", encoding="utf-8")
    plot = target.with_suffix(".svg")
    result.draw(plot)
    table = Table(result.title, result.rows, result.note)
    claims = [Text(str(claim), "  ", "    ") for claim in result.claims]
    files = f"\n  values: {target}\n  plot: {plot}\n"
    return View(None, [table, *claims, files])


def _reproductions() -> Any:
    """Import the programs that compute published results again.

    They are beside ``src`` in the source repository.
    """
    checkout = Path(__file__).parents[3]
    if str(checkout) not in sys.path and (checkout / "reproductions").is_dir():
        sys.path.append(str(checkout))
    try:
        return import_module("reproductions")
    except ModuleNotFoundError as problem:
        if problem.name != "reproductions":
            raise
        raise Mistake(
            "reproductions are in the source repository, not in the package: clone it "
            "and run make reproduce NAME=… there"
        ) from problem


@command(JSON)
def demo(
    *,
    folder: Path = Option(
        Path("library"), "--dir", help="Where the demo project is made."
    ),
    serve: bool = Option(True, "--serve/--no-serve", help="Go on to the workbench."),
    as_json: bool,
) -> View | None:
    """Do the main job on the library catalogue that ships with Classmark.

    It ends at the workbench: open the address that is printed. With --json it prints
    what each step found, and ends.
    """
    if as_json:
        return View([_facts(step) for step in demonstrate(folder)], ())
    from classmark.compiling import DEMO, compile_ahead

    story = Story(folder)
    for step in demonstrate(folder):
        story.show(step)
        compile_ahead(DEMO, say)  # once the folder has been accepted
        sys.stdout.flush()
    story.show_next(serving=serve)
    if serve:
        _serve(folder)
    else:
        say(
            f"The workbench, in the browser:\n\n  {story.command('serve', str(folder))}"
        )
    return None


@dataclass(frozen=True, slots=True)
class Unseen:
    """A document no model has seen, and the categories suggested for it."""

    text: str
    suggestions: list[Explained]


Step = Table | Trained | Evaluated | Unseen


def demonstrate(folder: Path) -> Iterator[Step]:
    """Import, evaluate, train and suggest; yield what each step gives.

    The new arrivals come in last: nobody has classified them, they wait. In a folder
    that holds the demo already, all of it is done again.
    """
    from classmark.datasets import library
    from classmark.progress import working
    from classmark.workbench.deciding.suggest import suggest
    from classmark.workbench.files.importing import import_records, put_taxonomy
    from classmark.workbench.learning.evaluate import evaluate_project
    from classmark.workbench.learning.train import train

    with _demo_project(folder) as project:
        categories, records = library.library_categories(), library.library_records()
        yield put_taxonomy(project, categories, "the embedded taxonomy")
        yield import_records(project, records, "the embedded catalogue")
        with working("measuring learners"):
            evaluated = evaluate_project(project)
        yield evaluated
        with working("training"):
            trained = train(project)
        yield trained
        yield import_records(project, library.library_arrivals(), "the new arrivals")
        note = library.unseen_note()
        with working("suggesting"):
            suggestions = suggest(project, note)
        yield Unseen(note, suggestions)


def _demo_project(folder: Path) -> Project:
    """Open the demo's project, or make it; another's would be mixed with the demo's."""
    from classmark.workbench.project import Project, create
    from classmark.workbench.settings import FILE, Settings

    if not (folder / FILE).exists():
        if folder.is_dir() and any(folder.iterdir()):
            raise Mistake(
                f"{folder} has files of its own: name an empty or a new folder with "
                "--dir"
            )
        create(folder, Settings(NAME))
    project = Project(folder)
    if project.settings.name != NAME:
        project.store.close()
        raise Mistake(
            f"{folder} holds the project {project.settings.name!r}: name another "
            "folder for the demo with --dir"
        )
    return project


class Story:
    """What the demo tells, step by step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tables: list[Table] = []
        self.measures: dict[str, Any] = {}

    def command(self, *words: str) -> str:
        """A command as it is to be typed here."""
        return shlex.join([*program(), *words])

    def show(self, step: Step) -> None:
        """Tell what a step gave."""
        match step:
            case Table():
                self.tables.append(step)
                self._show_imported()
            case Evaluated():
                self._show_evaluated(step)
            case Trained():
                tell(f"{how_good(step.learner, self.measures[step.learner])}\n")
                tell(
                    f"{step.learner} is now in service. It has learned "
                    f"{step.features:,} words from {step.documents} notes in "
                    f"{step.categories} categories."
                )
            case Unseen():
                _show_unseen(step)

    def _show_imported(self) -> None:
        (last,) = self.tables[-1].rows
        if len(self.tables) == 2:
            (tree,) = self.tables[0].rows
            tell(
                f"The catalogue of the {NAME}: {last['documents']} notes, each in one "
                f"or more of {tree['leaves']} categories. The categories are the "
                f"leaves of a tree with {tree['levels']} levels.\n"
            )
        elif len(self.tables) > 2:
            tell(f"{last['documents']} new arrivals wait for somebody to decide.\n")

    def _show_evaluated(self, evaluated: Evaluated) -> None:
        self.measures = {str(row["learner"]): row for row in evaluated.table.rows}
        remedy = self.command("evaluate", "--all", "--project", str(self.folder))
        table = replace(with_plots(evaluated), title=TITLE)
        show_table(table, remedy=remedy.replace(" ", JOINED))

    def show_next(self, *, serving: bool) -> None:
        """Name three commands that go on from here."""
        here = ("--project", str(self.folder))
        text = "A year with my bees"
        after = {
            self.command("suggest", *here, "--text", text): "a text of your own",
            self.command("queue", *here): "which of the new arrivals to decide first",
            self.command(
                "like", *here, "--category", "nature.animals.insects"
            ): "more notes like those on insects and bees",
        }
        say(f"What to type next{', in another terminal' if serving else ''}:\n")
        for typed, purpose in after.items():
            say(f"  {typed}")
            tell(purpose, "      ")
        say()


def how_good(learner: str, measures: dict[str, Cell]) -> str:
    """One sentence for people who know no measures.

    >>> how_good("plm", {"one_error": 0.108, "looked_at": 4.18})[:48]
    'With plm, the first suggestion is right for 9 of'
    """
    right = round(10 * (1 - float(measures["one_error"] or 0)))
    looked_at = round(float(measures["looked_at"] or 0))
    return (
        f"With {learner}, the first suggestion is right for {right} of 10 notes it has "
        f"not seen; a reader looks at {looked_at} categories, on average, until all "
        "that are right are found."
    )


def program() -> list[str]:
    """How this program is called here: by its name, if the shell finds it so."""
    called = Path(sys.argv[0])
    if called.suffix == ".py":
        return [sys.executable, "-m", "classmark.cli.main"]
    executable = shutil.which(called.name)
    if len(called.parts) == 1 or (executable and called.samefile(executable)):
        return [called.name]
    here = Path.cwd()
    absolute = called.absolute()
    near = absolute.is_relative_to(here)
    return [str(absolute.relative_to(here) if near else absolute)]


def _show_unseen(unseen: Unseen) -> None:
    """A text, and its categories with the words for and against each."""
    say("A note that nobody has classified yet:\n")
    tell(f"{unseen.text}\n", "  ")
    for suggestion in unseen.suggestions[:BEST]:
        chance = suggestion.probability
        likely = "" if chance is None else f", {in_percent(chance)} likely"
        path = f"{' › '.join(suggestion.path)} ({suggestion.category}){likely}"
        tell(path, f"  {suggestion.rank}. ")
        words = f"for: {', '.join(suggestion.favour) or '–'}"
        if suggestion.against:
            words += f"; against: {', '.join(suggestion.against)}"
        tell(words, "     ")
    say()


def _serve(folder: Path) -> None:
    from classmark.web.serving import serve_project

    def say_address(text: str) -> None:
        *_, address = text.split()
        tell("The workbench is ready. Open this address in a browser; Ctrl+C ends it:")
        say(f"\n  {address}\n")
        sys.stdout.flush()

    serve_project(folder, "127.0.0.1", 8000, say_address, or_free=True)


def _facts(step: Step) -> dict[str, object]:
    """What a program reads of a step."""
    match step:
        case Table():
            return step.facts()
        case Evaluated():
            return asdict(step) | {"table": step.table.facts()}
    return asdict(step)

"""Commands for known collections, published results computed again, and the demo."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from classmark.cli.options import ALL, DATA, JSON, argument, command, deferred, option
from classmark.cli.output import JOINED, Text, View, say, show, tell, with_plots
from classmark.problems import Mistake
from classmark.workbench.results import (
    Cell,
    Evaluated,
    Explained,
    Table,
    Trained,
    in_percent,
)

with deferred():
    from classmark import compiling, progress
    from classmark.web import serve as serving
    from classmark.workbench import collections
    from classmark.workbench.deciding import suggest as suggesting
    from classmark.workbench.learning import evaluate as evaluating
    from classmark.workbench.learning import train as training
    from classmark.workbench.search import index as indexing

REPORTS = Path("reports")
BEST = 3  # suggestions shown
NEXT = {
    ("suggest", "--text", "A year with my bees"): "a text of your own",
    ("queue",): "which of the new arrivals to decide first",
    ("like", "--category", "nature.animals.insects"): (
        "more notes like those on insects and bees"
    ),
}
TITLE = "How well do learners rank the categories of notes that they have not seen?"


@command(ALL | JSON)
def data_list() -> Table:
    """List the known public collections."""
    return collections.list_collections()


@command()
def data_path(
    name: str,
    data: Path | None = option("Look here first."),
) -> str:
    """Print where a collection lies."""
    return str(collections.collection_path(name, data))


@command()
def data_get(
    name: str,
    source: Path | None = option("Take it from this file or folder.", None, "--from"),
) -> str:
    """Download a collection, or take it from a local file or folder."""
    return "\n".join(collections.get_collection(name, source))


@command(ALL)
def reproduce(
    name: str = argument(
        "clicks, graphs-rcv1, graphs-rcv1-boosting, ltr-cranfield, ltr-mq2008, "
        "mmp-reuters, plm-reuters, qbme-news20, qbme-reuters, qbme-siam, rare-lshtc, "
        "retrieval-models or taxonomy-lshtc"
    ),
    data: Path | None = DATA,
    facts: Path | None = option(
        "Write all values here, the plot beside it.", None, "--json"
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
    folder: Path = option("Where the demo project is made.", Path("library"), "--dir"),
    serve: bool = option("Go on to the workbench.", True, "--serve/--no-serve"),
    as_json: bool,
) -> View | None:
    """Do the main job on the library catalogue that ships with Classmark.

    It ends at the workbench: open the address that is printed. With --json it prints
    what each step found, and ends.
    """
    if as_json:
        return View([step.facts for step in demonstrate(folder)], ())
    for step in demonstrate(folder):
        show(step)
        # once the folder has been accepted
        compiling.compile_ahead(compiling.DEMO, say)
        sys.stdout.flush()
    say(f"What to type next{', in another terminal' if serve else ''}:\n")
    for words, purpose in NEXT.items():
        say(f"  {typed(words[0], '--project', str(folder), *words[1:])}")
        tell(purpose, "      ")
    say()
    if not serve:
        say(f"The workbench, in the browser:\n\n  {typed('serve', str(folder))}")
        return None

    def say_address(text: str) -> None:
        *_, address = text.split()
        tell("The workbench is ready. Open this address in a browser; Ctrl+C ends it:")
        say(f"\n  {address}\n")
        sys.stdout.flush()

    serving.serve_project(folder, "127.0.0.1", 8000, say_address, or_free=True)
    return None


def demonstrate(folder: Path) -> Iterator[View]:
    """Import, evaluate, train and suggest; yield what each step gives.

    The new arrivals come in last: nobody has classified them, they wait. In a folder
    that holds the demo already, all of it is done again.
    """
    with collections.open_library(folder) as project:
        tree, notes = collections.import_library(project)
        yield View(tree.facts(), ())
        (notes_row,), (tree_row,), name = notes.rows, tree.rows, project.settings.name
        catalogue = (
            f"The catalogue of the {name}: {notes_row['documents']} notes, each in one "
            f"or more of {tree_row['leaves']} categories. The categories are the "
            f"leaves of a tree with {tree_row['levels']} levels.\n"
        )
        yield View(notes.facts(), [Text(catalogue)])
        with progress.working("measuring learners"):
            evaluated = evaluating.evaluate_project(project)
        yield _evaluation(evaluated, folder)
        with progress.working("training"):
            trained = training.train(project)
        yield View(asdict(trained), _service(trained, evaluated.table))
        waiting = collections.import_arrivals(project)
        (row,) = waiting.rows
        wait = f"{row['documents']} new arrivals wait for somebody to decide.\n"
        with progress.working("indexing"):
            indexing.index_project(project)
        yield View(waiting.facts(), [Text(wait)])
        note = collections.unseen_note()
        with progress.working("suggesting"):
            suggestions = suggesting.suggest(project, note)
        facts = {"text": note, "suggestions": [asdict(each) for each in suggestions]}
        yield View(facts, _unseen(note, suggestions[:BEST]))


def _evaluation(evaluated: Evaluated, folder: Path) -> View:
    measures = evaluated.table.facts()
    facts = {"table": measures, "plot": evaluated.plot, "rare": evaluated.rare}
    remedy = typed("evaluate", "--all", "--project", str(folder))
    table = replace(with_plots(evaluated), title=TITLE)
    return View(facts, [table], remedy.replace(" ", JOINED))


def _service(trained: Trained, measured: Table) -> list[Text]:
    measures = {row["learner"]: row for row in measured.rows}[trained.learner]
    learned = (
        f"{trained.learner} is now in service. It has learned {trained.features:,} "
        f"terms from {trained.documents} notes in {trained.categories} categories."
    )
    return [Text(f"{how_good(trained.learner, measures)}\n"), Text(learned)]


def _unseen(note: str, suggestions: Sequence[Explained]) -> Iterator[Text | str]:
    """A text, and its categories with the words for and against each."""
    yield "A note that nobody has classified yet:\n"
    yield Text(f"{note}\n", "  ")
    for suggestion in suggestions:
        chance = suggestion.probability
        likely = "" if chance is None else f", {in_percent(chance)} likely"
        path = f"{' › '.join(suggestion.path)} ({suggestion.category}){likely}"
        yield Text(path, f"  {suggestion.rank}. ")
        words = f"for: {', '.join(suggestion.favour) or '–'}"
        if suggestion.against:
            words += f"; against: {', '.join(suggestion.against)}"
        yield Text(words, "     ")
    yield ""


def how_good(learner: str, measures: Mapping[str, Cell]) -> str:
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


def typed(*words: str) -> str:
    """A command as it is to be typed here."""
    return shlex.join([*program(), *words])


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

"""The demo on a terminal: a short story with numbers, and what to type next."""

from __future__ import annotations

import shlex
import shutil
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from classmark.cli.output import (
    JOINED,
    in_percent,
    say,
    show_evaluated,
    show_json,
    tell,
)
from classmark.compiling import DEMO, compile_ahead
from classmark.workbench.demo import NAME, Unseen, demonstrate
from classmark.workbench.results import Cell, Evaluated, Explained, Table, Trained

BEST = 3  # suggestions shown
TITLE = "How well do learners rank the categories of notes that they have not seen?"


def run(folder: Path, *, serve: bool, as_json: bool) -> None:
    """Show every step as it is done; with ``as_json`` all of them as one JSON list."""
    if as_json:
        show_json([_facts(step) for step in demonstrate(folder)])
        return
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


class Story:
    """What the demo tells, step by step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tables: list[Table] = []
        self.measures: dict[str, Any] = {}

    def command(self, *words: str) -> str:
        """A command as it is to be typed here."""
        return shlex.join([*program(), *words])

    def show(self, step: Table | Trained | Evaluated | Unseen) -> None:
        """Tell what a step gave."""
        match step:
            case Table():
                self.tables.append(step)
                self._show_imported()
            case Evaluated():
                self._show_evaluated(step)
            case Trained():
                self._show_trained(step)
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
        table = evaluated.table
        self.measures = {str(row["learner"]): row for row in table.rows}
        remedy = self.command("evaluate", "--all", "--project", str(self.folder))
        remedy = remedy.replace(" ", JOINED)
        show_evaluated(
            replace(evaluated, table=replace(table, title=TITLE)), remedy=remedy
        )

    def _show_trained(self, trained: Trained) -> None:
        tell(f"{how_good(trained.learner, self.measures[trained.learner])}\n")
        tell(
            f"{trained.learner} is now in service. It has learned {trained.features:,} "
            f"words from {trained.documents} notes in {trained.categories} categories."
        )

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
        for command, purpose in after.items():
            say(f"  {command}")
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
    say("A note that nobody has classified yet:\n")
    tell(f"{unseen.text}\n", "  ")
    for suggestion in unseen.suggestions[:BEST]:
        _show_suggestion(suggestion)
    say()


def _show_suggestion(suggestion: Explained) -> None:
    """A category, how likely it is, and the words for and against it."""
    chance = suggestion.probability
    likely = "" if chance is None else f", {in_percent(chance)} likely"
    where = f"{' › '.join(suggestion.path)} ({suggestion.category}){likely}"
    tell(where, f"  {suggestion.rank}. ")
    words = f"for: {', '.join(suggestion.favour) or '–'}"
    if suggestion.against:
        words += f"; against: {', '.join(suggestion.against)}"
    tell(words, "     ")


def _serve(folder: Path) -> None:
    from classmark.web.serving import serve_project

    def say_address(text: str) -> None:
        *_, address = text.split()
        tell("The workbench is ready. Open this address in a browser; Ctrl+C ends it:")
        say(f"\n  {address}\n")
        sys.stdout.flush()

    serve_project(folder, "127.0.0.1", 8000, say_address, or_free=True)


def _facts(step: Table | Trained | Evaluated | Unseen) -> dict[str, object]:
    """What a program reads of a step."""
    match step:
        case Table():
            return step.facts()
        case Evaluated():
            return asdict(step) | {"table": step.table.facts()}
    return asdict(step)

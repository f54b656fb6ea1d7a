"""The command line: verbs, and errors as one line with exit code 2.

To make a command of a function, typer evaluates its annotations; to make all of them
takes longer than most commands run.
"""

from __future__ import annotations

import inspect
import os
import sqlite3
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sized
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from threading import Event, Lock, Thread
from types import ModuleType
from typing import Annotated, Any, NoReturn, TypeVar

import typer
from typer.core import TyperCommand
from typer.main import get_command

from classmark import __version__
from classmark.cli import (
    decide,
    documents,
    like,
    meaning,
    project,
    rank,
    research,
    search,
    serve,
    taxonomy,
    train,
)
from classmark.cli.options import Command, deferred
from classmark.problems import Mistake
from classmark.progress import shown_by

with deferred():
    from rich import console, progress

    from classmark import estimator

T = TypeVar("T")
PATIENCE = 1.0  # seconds before a bar appears
OFTEN = 0.1  # seconds from one look at the work to the next
SETTINGS: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
}


def group(about: str, members: Mapping[str, Command | typer.Typer]) -> typer.Typer:
    """A group of commands and of groups, by name.

    >>> greetings = group("Greet people.", {"hello": lambda: None})
    >>> [command.name for command in greetings.registered_commands]
    ['hello']
    """
    listed = typer.Typer(help=about, **SETTINGS)
    for name, member in members.items():
        if isinstance(member, typer.Typer):
            listed.add_typer(member, name=name)
        else:
            described: Any = partial(_Command, member)
            listed.command(name, cls=described, help=inspect.getdoc(member))(_run)
    return listed


def _run() -> None:
    """A command without its options: enough for a line of its group's help."""


#: Old names of options, by command: they go with version 0.2.
OLD_OPTIONS = {
    "pagerank": {"-n": "-k"},
    "queue": {"-n": "-k"},
    "rank train": {"--seed": "--random-state"},
    "screen simulate": {"--seed": "--random-state"},
    "stream": {"--keep": "--max-documents"},
    "suggest": {"--top": "-k"},
    "taxonomy propose": {"--k": "--clusters"},
    "train": {"--cost": "--loss", "--decomposition": "--loss"},
}


class _Command(TyperCommand):
    """A command that reads its options off a function when they are first needed.

    It understands the old names of its options, with a warning.
    """

    def __init__(self, function: Command, **settings: Any) -> None:
        super().__init__(**settings)
        self._function: Command | None = function

    def get_params(self, ctx: Any) -> list[Any]:
        """The options and arguments; the function runs from now on."""
        if self._function is not None:
            alone = typer.Typer(**SETTINGS)
            alone.command(self.name)(self._function)
            made = get_command(alone)
            self._function, self.params, self.callback = (
                None,
                made.params,
                made.callback,
            )
        return super().get_params(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, old names of options in their new form."""
        root = ctx.find_root().command_path
        path = ctx.command_path.removeprefix(root).strip()
        present: list[str] = []
        for arg in args:
            option, equals, value = arg.partition("=")
            new = OLD_OPTIONS.get(path, {}).get(option)
            if new is None:
                present.append(arg)
                continue
            estimator.warn_renamed(f"classmark {path}", option, new)
            present += [new, value] if equals else [new]
        return super().parse_args(ctx, present)


UsageError: Any = typer.BadParameter.__base__


def named(module: ModuleType, names: str, prefix: str = "") -> dict[str, Command]:
    """Commands of a module by name; ``import_`` is ``import``, ``a_b`` is ``a-b``."""
    functions = {name.removesuffix("_"): each for name, each in vars(module).items()}
    functions |= {name.replace("_", "-"): each for name, each in functions.items()}
    return {name: functions[prefix + name] for name in names.split()}


app = group(
    "Put texts in their place: rank categories, find by example, search.",
    {
        **named(project, "init import export"),
        **named(train, "train evaluate stream"),
        **named(decide, "suggest place"),
        **named(search, "index search retrieve measure compare click tune"),
        **named(like, "like"),
        **named(search, "pagerank"),
        **named(decide, "decide undo history queue rebuild progress agreement"),
        **named(research, "reproduce demo"),
        **named(project, "info backup restore"),
        **named(serve, "serve"),
        "document": group(
            "Add, delete and restore single documents.",
            named(documents, "add delete restore deleted"),
        ),
        "taxonomy": group(
            "Show, bring in, write or change the taxonomy.",
            named(
                taxonomy,
                "show import export add rename describe merge split move retire "
                "report prune train-meta propose accept build",
            ),
        ),
        "meaning": group(
            "Vectors of meaning beside words: their source, and what is computed.",
            named(meaning, "set status compute import drop"),
        ),
        "rank": group(
            "Learn how answers are to be ordered.",
            named(
                rank,
                "clicks features import train evaluate use report score",
                "rank_",
            ),
        ),
        "screen": group(
            "Read until a share of the relevant documents is found.",
            named(
                like,
                "start next mark status target duplicates export simulate",
                "screen_",
            ),
        ),
        "data": group(
            "Known public collections.", named(research, "list path get", "data_")
        ),
        "projects": group(
            "Several projects in one folder, served together.",
            named(project, "list new rename archive unarchive restore", "projects_"),
        ),
        "users": group(
            "Who may log in, and as what.",
            named(serve, "add list role password remove", "users_"),
        ),
        "tokens": group(
            "Keys for programs that use the calls.",
            named(serve, "add list revoke", "tokens_"),
        ),
    },
)


def _version(show_version: bool) -> None:
    if show_version:
        sys.stdout.write(f"classmark {__version__}\n")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Put texts in their place: rank categories, find by example, search."""


def main() -> None:
    """Run a command; a user's mistake is one clear line and exit code 2."""
    try:
        shown = shown_by(Bars()) if sys.stderr.isatty() else nullcontext()
        with shown, warnings.catch_warnings():
            warnings.simplefilter("default", FutureWarning)
            warnings.showwarning = _warn
            sys.exit(app(standalone_mode=False))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except (Mistake, OSError, sqlite3.OperationalError) as problem:
        _refuse(str(problem))
    except UsageError as problem:
        command = problem.ctx.command_path if problem.ctx else "classmark"
        _refuse(f"{problem.format_message()} (see {command} --help)")
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(130)


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"classmark: {' '.join(str(message).split())}\n")


def _refuse(problem: str) -> NoReturn:
    _warn(problem)
    sys.exit(2)


@dataclass(slots=True, eq=False)
class Loop:
    """One loop: how far it is, and its bar once it has one."""

    title: str
    total: int | None
    done: int = 0
    started: float = field(default_factory=time.monotonic)
    bar: Any = None

    @property
    def count(self) -> str:
        """How far it is, in numbers; nothing where there is only one thing to do."""
        if self.total == 1:
            return ""
        return f"{self.done:,}" + ("" if self.total is None else f" of {self.total:,}")


class Bars:
    """Bars on standard error, one below the other where loops are nested.

    A thread looks at the work, so that a bar appears even while the first item takes
    long; the loops themselves only count. No bar is on the screen after the last loop.
    """

    def __init__(self) -> None:
        self._loops: list[Loop] = []
        self._lock = Lock()
        self._screen: Any = None
        self._idle = Event()

    def track(self, items: Iterable[T], title: str, total: int | None) -> Iterator[T]:
        """Yield the items; after a second show how far we are."""
        if total is None and isinstance(items, Sized):
            total = len(items)
        loop = Loop(title, total)
        with self._lock:
            self._loops.append(loop)
            if len(self._loops) == 1:
                self._idle = Event()
                Thread(target=self._look, args=(self._idle,), daemon=True).start()
        try:
            for item in items:
                yield item
                loop.done += 1
        finally:
            self._end(loop)

    def _end(self, loop: Loop) -> None:
        with self._lock:
            self._loops.remove(loop)
            if loop.bar is not None:
                self._screen.remove_task(loop.bar)
            if self._loops:
                return
            self._idle.set()
            if self._screen is not None:
                self._screen.stop()
                self._screen = None

    def _look(self, idle: Event) -> None:
        """Show bars of loops that take long, until all loops have ended."""
        while not idle.wait(OFTEN):
            with self._lock:
                for loop in [] if idle.is_set() else self._loops:
                    self._show(loop)

    def _show(self, loop: Loop) -> None:
        if loop.bar is None and time.monotonic() - loop.started > PATIENCE:
            self._screen = self._screen or _screen()
            total = None if loop.total == 1 else loop.total
            loop.bar = self._screen.add_task(loop.title, total=total, count="")
        if loop.bar is not None:
            self._screen.update(loop.bar, completed=loop.done, count=loop.count)


def _screen() -> progress.Progress:
    screen = progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TextColumn("{task.fields[count]}"),
        progress.TimeElapsedColumn(),
        console=console.Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    screen.start()
    return screen


if __name__ == "__main__":
    main()

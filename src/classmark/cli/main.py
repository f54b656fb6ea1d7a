"""The command line: verbs, and errors as one line with exit code 2.

To make a command of a function, typer evaluates its annotations; to make all of them
takes longer than most commands run.
"""

from __future__ import annotations

import inspect
import os
import sqlite3
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from classmark import __version__
from classmark.cli import (
    decide,
    like,
    project,
    research,
    search,
    serve,
    taxonomy,
    train,
)
from classmark.cli.options import Command
from classmark.problems import Mistake
from classmark.progress import shown_by

SETTINGS: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
}


def group(about: str, members: Mapping[str, Command | typer.Typer]) -> typer.Typer:
    """A group of commands and of groups, by name.

    >>> listed = group("Greet people.", {"hello": lambda: None})
    >>> list(get_group(listed).commands)
    ['hello']
    """
    cls = type("LazyGroup", (_LazyGroup,), {"members": members})
    return typer.Typer(cls=cls, help=about, **SETTINGS)


class _Commands(Mapping[str, Any]):
    """The commands by name, each made when it is looked up."""

    def __init__(self, members: Mapping[str, Command | typer.Typer]) -> None:
        self._members = members

    def __getitem__(self, name: str) -> Any:
        member = self._members[name]
        if isinstance(member, typer.Typer):
            return get_group(member)
        alone = typer.Typer(**SETTINGS)
        alone.command(name, cls=_Command)(member)
        return get_command(alone)

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def described(self, name: str) -> Any:
        """A command without its options: enough for a line of its group's help."""
        member = self._members[name]
        if isinstance(member, typer.Typer):
            return get_group(member)
        return TyperCommand(name, help=inspect.getdoc(member), rich_markup_mode=None)


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
    """A command that understands the old names of its options, with a warning."""

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
            from classmark.validation import warn_renamed

            warn_renamed(f"classmark {path}", option, new)
            present += [new, value] if equals else [new]
        return super().parse_args(ctx, present)


class _LazyGroup(TyperGroup):
    """A group that makes the command that runs, and describes the others."""

    members: Mapping[str, Command | typer.Typer] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = _Commands(self.members)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a line for each command."""
        lines = {name: self.commands.described(name) for name in self.commands}
        described = TyperGroup(name=self.name, commands=lines)
        described.format_commands(ctx, formatter)


UsageError: Any = typer.BadParameter.__base__


def named(module: ModuleType, names: str, prefix: str = "") -> dict[str, Command]:
    """Commands of a module by name, in this order; ``import_`` is ``import``."""
    functions = {name.removesuffix("_"): each for name, each in vars(module).items()}
    return {name: functions[prefix + name] for name in names.split()}


app = group(
    "Put texts in their place: rank categories, find by example, search.",
    {
        **named(project, "init import export"),
        **named(train, "train evaluate stream"),
        **named(decide, "suggest place"),
        **named(search, "index search click tune"),
        **named(like, "like"),
        **named(search, "pagerank"),
        **named(decide, "decide undo history queue rebuild progress agreement"),
        **named(research, "reproduce demo"),
        **named(project, "info backup restore"),
        **named(serve, "serve"),
        "taxonomy": group(
            "Show, bring in, write or change the taxonomy.",
            named(
                taxonomy,
                "show import export add rename describe merge split move retire "
                "report prune propose accept",
            ),
        ),
        "rank": group(
            "Learn how answers are to be ordered.",
            named(search, "features train evaluate use report", "rank_"),
        ),
        "screen": group(
            "Read until a share of the relevant documents is found.",
            named(like, "start next mark status export simulate", "screen_"),
        ),
        "data": group(
            "Known public collections.", named(research, "list path get", "data_")
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
        with _progress(), warnings.catch_warnings():
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
    sys.stderr.write(f"classmark: {' '.join(problem.split())}\n")
    sys.exit(2)


def _progress() -> AbstractContextManager[None]:
    if not sys.stderr.isatty():
        return nullcontext()
    from classmark.cli.bars import Bars

    return shown_by(Bars())


if __name__ == "__main__":
    main()

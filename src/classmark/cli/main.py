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
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from classmark import __version__
from classmark.cli import (
    backup,
    branches,
    clicking,
    commands,
    decisions,
    liking,
    links,
    placing,
    progress,
    proposing,
    ranking,
    screening,
    searching,
    serving,
    streaming,
    taxonomies,
    training,
)
from classmark.problems import Mistake
from classmark.progress import shown_by

Function = Callable[..., None]
SETTINGS: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
}


def group(about: str, members: Mapping[str, Function | typer.Typer]) -> typer.Typer:
    """A group of commands and of groups, by name.

    >>> listed = group("Greet people.", {"hello": lambda: None})
    >>> list(get_group(listed).commands)
    ['hello']
    """
    cls = type("LazyGroup", (_LazyGroup,), {"members": members})
    return typer.Typer(cls=cls, help=about, **SETTINGS)


class _Commands(Mapping[str, Any]):
    """The commands by name, each made when it is looked up."""

    def __init__(self, members: Mapping[str, Function | typer.Typer]) -> None:
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

    members: Mapping[str, Function | typer.Typer] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = _Commands(self.members)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a line for each command."""
        lines = {name: self.commands.described(name) for name in self.commands}
        described = TyperGroup(name=self.name, commands=lines)
        described.format_commands(ctx, formatter)


UsageError: Any = typer.BadParameter.__base__

taxonomy = group(
    "Show, bring in, write or change the taxonomy.",
    {
        "show": taxonomies.show,
        "import": taxonomies.import_,
        "export": taxonomies.export,
        "add": taxonomies.add,
        "rename": taxonomies.rename,
        "describe": taxonomies.describe,
        "merge": taxonomies.merge,
        "split": taxonomies.split,
        "move": taxonomies.move,
        "retire": taxonomies.retire,
        "report": branches.report,
        "prune": branches.prune,
        "propose": proposing.propose,
        "accept": proposing.accept,
    },
)
rank = group(
    "Learn how answers are to be ordered.",
    {
        "features": ranking.features,
        "train": ranking.train,
        "evaluate": ranking.evaluate,
        "use": ranking.use,
        "report": ranking.report,
    },
)
screen = group(
    "Read until a share of the relevant documents is found.",
    {
        "start": screening.start,
        "next": screening.next_,
        "mark": screening.mark,
        "status": screening.status,
        "export": screening.export,
        "simulate": screening.simulate,
    },
)
data = group(
    "Known public collections.",
    {
        "list": commands.data_list,
        "path": commands.data_path,
        "get": commands.data_get,
    },
)
users = group(
    "Who may log in, and as what.",
    {
        "add": serving.users_add,
        "list": serving.users_list,
        "role": serving.users_role,
        "password": serving.users_password,
        "remove": serving.users_remove,
    },
)
tokens = group(
    "Keys for programs that use the calls.",
    {
        "add": serving.tokens_add,
        "list": serving.tokens_list,
        "revoke": serving.tokens_revoke,
    },
)
app = group(
    "Put texts in their place: rank categories, find by example, search.",
    {
        "init": commands.init,
        "import": commands.import_,
        "export": commands.export,
        "train": training.train,
        "evaluate": training.evaluate,
        "stream": streaming.stream,
        "suggest": commands.suggest,
        "place": placing.place,
        "index": searching.index,
        "search": searching.search,
        "click": clicking.click,
        "tune": searching.tune,
        "like": liking.like,
        "pagerank": links.pagerank,
        "decide": decisions.decide,
        "undo": decisions.undo,
        "history": decisions.history,
        "queue": decisions.queue,
        "rebuild": decisions.rebuild,
        "progress": progress.progress,
        "agreement": progress.agreement,
        "reproduce": commands.reproduce,
        "demo": commands.demo,
        "info": commands.info,
        "backup": backup.backup,
        "restore": backup.restore,
        "serve": serving.serve,
        "taxonomy": taxonomy,
        "rank": rank,
        "screen": screen,
        "data": data,
        "users": users,
        "tokens": tokens,
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

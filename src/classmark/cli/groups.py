"""Groups of commands, each of which is made from its function when it is asked for.

To make a command of a function, typer evaluates its annotations; to make all of them
takes longer than most commands run.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

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

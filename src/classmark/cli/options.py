"""A command is a function: its options, its open project, and its result printed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import GenericAlias, SimpleNamespace
from typing import (
    TYPE_CHECKING,
    Any,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import typer

from classmark.cli.output import show
from classmark.problems import Mistake
from classmark.workbench.results import Logged

if TYPE_CHECKING:
    from classmark.machines.cluster import Machines
    from classmark.workbench.project import Project

T = TypeVar("T")


def option(help_: str, default: Any = None, *names: str, **settings: Any) -> Any:
    """An option, as ``typer.Option``; default : ``...`` where it is required."""
    return typer.Option(default, *names, help=help_, **settings)


def flag(help_: str, name: str) -> Any:
    """An option that is false unless it is there."""
    return typer.Option(False, name, help=help_)


def argument(help_: str, metavar: str | None = None, default: Any = ...) -> Any:
    """An argument, as ``typer.Argument``; it is required without a default."""
    return typer.Argument(default, metavar=metavar, help=help_)


HERE = Path()
DATA = option("The data sets' folder.")
DIR = argument("The project.", "DIR")
FOLDER = option("The project.", HERE, "--project", "-p", envvar="CLASSMARK_PROJECT")
FORMAT = option("The file's format; else by its name.", None, "--format")
JSON = {"as_json": flag("Print JSON instead of a table.", "--json")}
ALL = {"everything": flag("Show every column, and texts in full.", "--all")}


@dataclass_transform(frozen_default=True)
def options(cls: type[T]) -> type[T]:
    """Make a group of options: a frozen dataclass whose defaults typer declares.

    >>> @options
    ... class Colours:
    ...     paper: str = option("Of the page.", "white")
    >>> Colours(), list(Colours.__options__)
    (Colours(paper='white'), ['paper'])
    """
    declared = {name: vars(cls)[name] for name in cls.__annotations__}
    for name, option in declared.items():
        setattr(cls, name, option.default)
    cls.__options__ = getattr(cls, "__options__", {}) | declared  # type: ignore[attr-defined]
    return dataclass(frozen=True)(cls)


def command(
    flags: Mapping[str, Any] | None = None,
    *,
    project: Any = FOLDER,
    documents: int | None = None,
) -> Callable[[Callable[..., Any]], Command]:
    """Make a command of a function that returns what is to be printed.

    Its parameter ``project`` is the open project. A parameter whose type is a group of
    options (``options``) has them all. What the function logs is learned at once.

    flags : how the result may be printed, ``JSON`` or ``ALL | JSON``;  project : how
    the project is named;  documents : how many of its documents are scored, as
    ``kernels_for`` takes it.
    """
    return lambda function: Command(function, flags or {}, project, documents)


class Command:
    """A function with the signature that typer reads; made when it is first read."""

    def __init__(
        self,
        function: Callable[..., Any],
        flags: Mapping[str, Any],
        project: Any,
        documents: int | None,
    ) -> None:
        self.function, self.flags = function, flags
        self.project, self.documents = project, documents
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.__annotations__: dict[str, Any] = {}

    @cached_property
    def hints(self) -> dict[str, Any]:
        """The types of the function's parameters; of flags typer alone knows."""
        types = dict(self.function.__annotations__)
        if "project" in types:
            types["project"] = "Path | None" if self.project.default is None else "Path"
        for name in ("return", *self.flags):
            types.pop(name, None)
        names = {"Path": Path, **self.function.__globals__}
        return get_type_hints(SimpleNamespace(__annotations__=types), names)

    @cached_property
    def __signature__(self) -> Signature:
        """The options, in the order of the help."""
        defaults = signature(self.function).parameters
        parameters: list[Parameter] = []
        for name, hint in self.hints.items():
            if declared := getattr(hint, "__options__", None):
                hints = get_type_hints(hint)
                parameters += [
                    _option(each, hints[each], declared[each]) for each in declared
                ]
            elif name == "project":
                parameters.append(_option(name, hint, self.project))
            else:
                parameters.append(_option(name, hint, defaults[name].default))
        return Signature(
            parameters
            + [_option(name, bool, flag) for name, flag in self.flags.items()]
        )

    def __call__(self, **values: Any) -> None:
        """Run the function on what was typed, and print its result."""
        flags = {name: values[name] for name in (*JSON, *ALL) if name in values}
        with ExitStack() as stack:
            arguments = self._arguments(values)
            if (folder := arguments.get("project")) is not None:
                arguments["project"] = stack.enter_context(open_project(folder))
            if self.documents is not None:
                from classmark.cli.small_work import kernels_for

                kernels = kernels_for(arguments["project"], self.documents)
                stack.enter_context(kernels)
            result = self.function(**arguments)
            if isinstance(result, Logged):
                from classmark.workbench.learning.live import and_learn

                result = and_learn(arguments["project"], result)
        show(result, **flags)

    def _arguments(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """What the function takes; the options of a group are one value."""
        arguments = {}
        for name in signature(self.function).parameters:
            hint: Any = self.hints.get(name)
            if hasattr(hint, "__options__"):
                hints = get_type_hints(hint)
                group = {each: _value(hints[each], values[each]) for each in hints}
                arguments[name] = hint(**group)
            else:
                arguments[name] = _value(hint, values[name])
        return arguments


def _option(name: str, hint: Any, declared: Any) -> Parameter:
    """An option as typer takes it: a tuple is a list, and None if empty."""
    if get_origin(hint) is tuple:
        items: Any = GenericAlias(list, get_args(hint)[:1])
        hint = items if declared.default is ... else items | None
        declared = copy(declared)
        declared.default = declared.default or None
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=hint, default=declared)


def _value(hint: Any, value: Any) -> Any:
    return tuple(value or ()) if get_origin(hint) is tuple else value


def open_project(folder: Path) -> Project:
    """Open a project for one command."""
    from classmark.workbench.project import Project

    return Project(folder)


@options
class WorkerOptions:
    """Which machines share the work, if any."""

    workers: int | None = option(
        "Spread the work over N processes of this machine.", metavar="N"
    )
    on: str | None = option(
        "Spread it over the machines of a Dask scheduler: dask://host:8786",
        metavar="ADDRESS",
    )

    def started(self) -> AbstractContextManager[Machines | None]:
        """Start workers, or go to those that are there; None without any.

        What is spread inside (``classmark.spreading``) is spread over them.
        """
        return _started(self.workers, self.on, dashboard=False)


@options
class MachineOptions(WorkerOptions):
    """The same, with a page that shows what they do."""

    dashboard: bool = flag("Show what the workers do, in a browser.", "--dashboard")

    def started(self) -> AbstractContextManager[Machines | None]:
        """As of ``WorkerOptions``; the address of the page is printed."""
        return _started(self.workers, self.on, dashboard=self.dashboard)


@contextmanager
def _started(
    workers: int | None, on: str | None, *, dashboard: bool
) -> Iterator[Machines | None]:
    if workers is not None and on is not None:
        raise Mistake("--workers starts machines, --on names them: give one of both")
    if dashboard and workers is None:
        raise Mistake("--dashboard is of the machines that --workers starts: give it")
    if workers is None and on is None:
        yield None
        return
    from classmark.machines.cluster import Machines, require_dask
    from classmark.spreading import spread_by

    require_dask()
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # we say it ourselves
    if on is not None:
        opened = Machines.at(on)
    else:
        opened = Machines.local(workers or 0, dashboard=dashboard)
    with opened as machines, spread_by(machines):
        if machines.dashboard is not None:
            typer.echo(f"the workers are to be seen at {machines.dashboard}", err=True)
        yield machines

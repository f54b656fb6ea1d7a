"""A command is a function: its options, its open project, and its result printed."""

from __future__ import annotations

import builtins
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from inspect import Parameter, Signature, signature
from pathlib import Path
from threading import get_ident
from types import GenericAlias, SimpleNamespace
from typing import (
    Any,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import typer

from classmark.cli.output import show
from classmark.problems import Mistake, in_words_of
from classmark.workbench.results import Logged

T = TypeVar("T")
BYTES = 4_000_000  # of the store; the demo's has 1.1 MB
CHARACTERS = 100_000  # to be read: 0.4 s
SCORES = 20_000  # documents × categories: 0.4 s


class _Deferred:
    """A module that is imported when something of it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # whoever inspects names imports nothing
            raise AttributeError(name)
        return getattr(import_module(self._name), name)


@contextmanager
def deferred() -> Iterator[None]:
    """Import the modules that are named inside when a command first uses them.

    A class may be named, too, for annotations. Other threads import as ever.

    >>> with deferred():
    ...     from classmark.workbench import collections
    >>> collections.NAME
    'Eskerton town library'
    """

    def defer(package: str, *how: Any, **named: Any) -> Any:
        if get_ident() != here:
            return load(package, *how, **named)
        return SimpleNamespace(**{n: _Deferred(f"{package}.{n}") for n in how[2]})

    load, here = builtins.__import__, get_ident()
    builtins.__import__ = defer  # type: ignore[assignment]
    try:
        yield
    finally:
        builtins.__import__ = load


with deferred():
    from classmark import compiled, progress
    from classmark.machines import cluster
    from classmark.machines.cluster import Machines
    from classmark.workbench import project as projects
    from classmark.workbench import projects as several
    from classmark.workbench.learning import live, models
    from classmark.workbench.project import Project


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
    documents: int | None = None,
    accounts: bool = False,
) -> Callable[[Callable[..., Any]], Command]:
    """Make a command of a function that returns what is to be printed.

    Its parameter ``project`` is the open project. A parameter whose type is a group of
    options (``options``) has them all. What the function logs is learned at once.

    flags : how the result may be printed, ``JSON`` or ``ALL | JSON``;  documents : how
    many of the project's documents are scored, as ``kernels_for`` takes it;  accounts :
    of a folder of projects, what is opened is the store of its server's accounts.
    """
    return lambda function: Command(function, flags or {}, documents, accounts)


# what to do where a command has not the option that a message names
INSTEAD = {
    "--encoding": {"give --encoding (encoding=)": ""},
    "--format": {
        "give --format (format=)": "rename it so that its ending fits its format"
    },
    "--allow-remote": {
        "give --allow-remote (allow_remote=)": (
            "say so with classmark meaning set URL --allow-remote"
        )
    },
}


class Command:
    """A function with the signature that typer reads; made when it is first read."""

    def __init__(
        self,
        function: Callable[..., Any],
        flags: Mapping[str, Any],
        documents: int | None,
        accounts: bool,
    ) -> None:
        self.function, self.flags, self.documents = function, flags, documents
        self.accounts = accounts
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.__annotations__: dict[str, Any] = {}

    @cached_property
    def hints(self) -> dict[str, Any]:
        """The types of the function's parameters; of flags typer alone knows."""
        types = dict(self.function.__annotations__)
        if "project" in types:
            optional = "None" in str(types["project"])
            types["project"] = "Path | None" if optional else "Path"
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
            else:
                parameters.append(_option(name, hint, defaults[name].default))
        return Signature(
            parameters
            + [_option(name, bool, flag) for name, flag in self.flags.items()]
        )

    @cached_property
    def words(self) -> dict[str, str]:
        """What messages say of options that this command has not."""
        declared = [each.default for each in self.__signature__.parameters.values()]
        own = {"--" + name.replace("_", "-") for name in self.__signature__.parameters}
        for each in declared:
            own.update(getattr(each, "param_decls", None) or ())
        others = (words for option, words in INSTEAD.items() if option not in own)
        return {command: words for each in others for command, words in each.items()}

    def __call__(self, **values: Any) -> None:
        """Run the function on what was typed, and print its result."""
        with in_words_of(self.words):
            try:
                self._run(values)
            except Mistake as problem:  # printed elsewhere, with these words
                problem.args = tuple(
                    f"{each}" if isinstance(each, str) else each
                    for each in problem.args
                )
                raise

    def _run(self, values: Mapping[str, Any]) -> None:
        flags = {name: values[name] for name in (*JSON, *ALL) if name in values}
        with ExitStack() as stack:
            arguments = self._arguments(values)
            if (folder := arguments.get("project")) is not None:
                if self.accounts:
                    folder = several.accounts_of(folder)
                arguments["project"] = stack.enter_context(projects.Project(folder))
            if self.documents is not None:
                kernels = kernels_for(arguments["project"], self.documents)
                stack.enter_context(kernels)
            result = self.function(**arguments)
            if isinstance(result, Logged):
                result = live.and_learn(arguments["project"], result)
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


def kernels_for(
    project: Project, documents: int = 1, text: str = ""
) -> AbstractContextManager[None]:
    """Run kernels as plain Python where a command does little in a small project.

    To import numba and to open the machine code of a few kernels takes about 0.7 s of
    every process. Plain Python reads a character in 4 µs and scores a document of 50
    terms on 79 categories in 1.5 ms, to the same bits.

    documents : how many of the project's are read and scored, 0 if the ranker is not
    asked;  text : another one.
    """
    small = is_small(project, documents, text)
    return compiled.plain_kernels() if small else nullcontext()


def is_small(project: Project, documents: int = 1, text: str = "") -> bool:
    """Whether so little is done in less time than numba needs to load."""
    store = project.store
    if project.settings.store.url or store.path.stat().st_size > BYTES:
        return False
    if documents:
        waiting = models.acts_waiting(project)
        documents += SCORES + 1 if waiting is None else waiting
    categories, longest, total = store.run(
        "SELECT (SELECT count(*) FROM categories), "
        "coalesce(max(length(fields)), 0), coalesce(sum(length(fields)), 0) "
        "FROM documents"
    ).fetchone()
    characters = len(text) + min(documents * longest, total)
    return documents * categories <= SCORES and bool(characters <= CHARACTERS)


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
    dashboard = False

    @contextmanager
    def started(self) -> Iterator[Machines | None]:
        """Start workers, or go to those that are there; None without any.

        What is spread inside (``classmark.progress``) is spread over them; the address
        of the page that shows what they do is printed.
        """
        if self.workers is not None and self.on is not None:
            raise Mistake(
                "--workers starts machines, --on names them: give one of both"
            )
        if self.dashboard and self.workers is None:
            raise Mistake(
                "--dashboard is of the machines that --workers starts: give it"
            )
        if self.workers is None and self.on is None:
            yield None
            return
        cluster.require_dask()
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # we say it ourselves
        if self.on is not None:
            opened = cluster.Machines.at(self.on)
        else:
            opened = cluster.Machines.local(self.workers or 0, dashboard=self.dashboard)
        with opened as machines, progress.spread_by(machines):
            if machines.dashboard is not None:
                page = machines.dashboard
                typer.echo(f"the workers are to be seen at {page}", err=True)
            yield machines


@options
class MachineOptions(WorkerOptions):
    """The same, with a page that shows what they do."""

    dashboard: bool = flag("Show what the workers do, in a browser.", "--dashboard")

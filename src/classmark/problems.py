"""Errors that a user can mend: each names the place and the remedy.

``Mistake`` is a ``ValueError``: the library raises it for bad input, the command line
prints its one line and exits with 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Any

_WORDS: ContextVar[Mapping[str, str]] = ContextVar(
    "words", default=MappingProxyType({})
)


def worded(command: str, **names: object) -> str:
    """What to do, in the words of the place where the user is.

    command : in those of the command line, which it stays where the place has no words
    of its own;  names : what stands in braces.

    >>> worded("run classmark undo {number}", number=3)
    'run classmark undo 3'
    >>> with in_words_of({"run classmark undo {number}": "undo act {number}"}):
    ...     worded("run classmark undo {number}", number=3)
    'undo act 3'
    """
    return _WORDS.get().get(command, command).format(**names)


@contextmanager
def in_words_of(place: Mapping[str, str]) -> Iterator[None]:
    """Say what to do in the words of a place: those of the command line → its own."""
    token = _WORDS.set(place)
    try:
        yield
    finally:
        _WORDS.reset(token)


class Mistake(ValueError):
    """Input that cannot be used; the message names it and says what to do."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the message and all attributes: mistakes cross machines."""
        return type(self).__new__, (type(self), *self.args), vars(self)


class UnreadableFile(Mistake):
    """A file, a line of it, and what is wrong there.

    >>> print(UnreadableFile("news.jsonl", 3, "not JSON: give one object per line"))
    news.jsonl, line 3: not JSON: give one object per line
    """

    def __init__(self, path: Path | str, line: int | None, problem: str) -> None:
        where = f"{path}" if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: {problem}")
        self.path, self.line, self.problem = str(path), line, problem


class MissingExtra(Mistake):
    """An optional package is not installed; the message gives the command.

    >>> print(MissingExtra("Parquet files", "parquet"))
    Parquet files need an extra package: pip install 'classmark[parquet]'
    """

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} need an extra package: pip install 'classmark[{extra}]'"
        )


class TooLittleMemory(Mistake):
    """What is to be learned does not fit the memory that is given for it."""


class DamagedFolder(Mistake):
    """A saved folder that does not match its manifest, or is of a newer format."""

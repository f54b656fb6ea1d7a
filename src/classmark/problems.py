"""Errors that a user can mend: each names the place and the remedy.

``Mistake`` is a ``ValueError``: the library raises it for bad input, the command line
prints its one line and exits with 2.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from classmark.language import _, joined, remade

_WORDS: ContextVar[Mapping[str, str]] = ContextVar(
    "words", default=MappingProxyType({})
)


@remade
def worded(command: str, **names: object) -> str:
    """What to do, in the words of the place where the user is.

    command : in those of the command line, which it stays where the place has no words
    of its own; nothing where these are empty;  names : what stands in braces.

    >>> worded("run classmark undo {number}", number=3)
    'run classmark undo 3'
    >>> with in_words_of({"run classmark undo {number}": "undo act {number}"}):
    ...     worded("run classmark undo {number}", number=3)
    'undo act 3'
    """
    words = _WORDS.get().get(command, command)
    return _(words).format(**names) if words else ""


@contextmanager
def in_words_of(place: Mapping[str, str]) -> Iterator[None]:
    """Say what to do in the words of a place: those of the command line → its own.

    They are translated where the place has a language.
    """
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


def refusal(message: str, /, **values: object) -> Mistake:
    """A mistake that people meet on pages, too: its message is in the catalogues.

    values : for what is in %( )s. It is in the language of whoever reads it.

    >>> refusal("there is no act %(number)s: look at the history", number=9)
    Mistake('there is no act 9: look at the history')
    """
    return Mistake(_(message, **values))


class NotFitted(Mistake, AttributeError):
    """An estimator that has learned nothing yet; the message says which."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle it without scikit-learn's class, which the reader may not have."""
        return NotFitted, self.args


def not_fitted(name: str) -> NotFitted:
    """The error of an estimator of that name that is asked before ``fit``.

    Where a program has imported scikit-learn, it is a ``NotFittedError`` of its, too.

    >>> not_fitted("Rocchio")
    NotFitted('this Rocchio is not fitted: call fit first')
    """
    return _not_fitted_class(sys.modules.get("sklearn.exceptions"))(
        f"this {name} is not fitted: call fit first"
    )


@cache
def _not_fitted_class(exceptions: Any) -> type[NotFitted]:
    """``NotFitted``, below scikit-learn's class where its module is there."""
    outside = getattr(exceptions, "NotFittedError", None)
    if outside is None:
        return NotFitted
    bases, module = (NotFitted, outside), {"__module__": __name__}
    return type("NotFitted", bases, module)


class UnreadableFile(Mistake):
    """A file, a line of it, and what is wrong there.

    >>> print(UnreadableFile("news.jsonl", 3, "not JSON: give one object per line"))
    news.jsonl, line 3: not JSON: give one object per line
    """

    def __init__(self, path: Path | str, line: int | None, problem: str) -> None:
        where = f"{path}"
        if line is not None:
            where = _("%(file)s, line %(line)s", file=where, line=line)
        super().__init__(joined(where, problem, by=": "))
        self.path, self.line, self.problem = str(path), line, problem


class MissingExtra(Mistake):
    """An optional package is not installed; the message gives the command.

    >>> print(MissingExtra("Parquet files", "parquet"))
    Parquet files need an extra package: pip install 'classmark[parquet]'
    """

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            _(
                "%(feature)s need an extra package: pip install 'classmark[%(extra)s]'",
                feature=_(feature),
                extra=extra,
            )
        )


class TooLittleMemory(Mistake):
    """What is to be learned does not fit the memory that is given for it."""


class DamagedFolder(Mistake):
    """A saved folder that does not match its manifest, or is of a newer format."""

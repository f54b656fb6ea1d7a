"""Errors that a user can mend: each names the place and the remedy.

``Mistake`` is a ``ValueError``: the library raises it for bad input, the command line
prints its one line and exits with 2.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


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

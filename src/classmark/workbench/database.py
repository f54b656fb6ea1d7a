"""Database: one SQLite file, its transactions, and what to tell when it is damaged."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from classmark.problems import Mistake
from classmark.workbench.connecting import connect, damaged


class Database:
    """An open file; a context manager that closes it."""

    def __init__(
        self, path: Path, *, create: bool = False, shared: bool = False
    ) -> None:
        self.path = path
        self._connection = connect(path, create=create, shared=shared)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that happens inside is committed together, or not at all.

        One inside another is part of it.
        """
        if self._connection.in_transaction:
            yield
            return
        self.run("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self.run("COMMIT")

    def check(self) -> None:
        """Read every page; a bad one is a ``DamagedFolder`` with its remedy."""
        for (verdict,) in self.run("PRAGMA integrity_check(1)"):
            if verdict != "ok":
                raise damaged(self.path, sqlite3.DatabaseError(verdict))

    def run(self, sql: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        """Run one statement."""
        try:
            return self._connection.execute(sql, values)
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
            raise
        except sqlite3.DatabaseError as problem:
            if getattr(problem, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
                raise Mistake(
                    f"{self.path} is in use by another process: try again in a moment"
                ) from problem
            raise damaged(self.path, problem) from problem

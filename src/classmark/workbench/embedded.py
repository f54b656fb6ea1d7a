"""Embedded: a store in one SQLite file, opened by this process."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from classmark.problems import Mistake
from classmark.workbench.connecting import connect, damaged


class Embedded:
    """An open SQLite file; place : its path, as it is shown."""

    def __init__(self, path: Path, *, create: bool, shared: bool) -> None:
        self.place = str(path)
        self._connection = connect(path, create=create, shared=shared)

    @property
    def in_transaction(self) -> bool:
        """Whether something was begun and is not at its end."""
        return self._connection.in_transaction

    def run(self, sql: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        """Run one statement."""
        try:
            return self._connection.execute(sql, values)
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
            raise
        except sqlite3.DatabaseError as problem:
            if getattr(problem, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
                raise Mistake(
                    f"{self.place} is in use by another process: try again in a moment"
                ) from problem
            raise damaged(self.place, problem) from problem

    def stream(self, sql: str) -> Iterator[Any]:
        """The rows of a statement without values, never all in memory."""
        return iter(self.run(sql))

    def fill(
        self, table: str, columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]]
    ) -> None:
        """Add rows, numbers and all, within a transaction."""
        self.run("PRAGMA defer_foreign_keys = ON")
        names, places = ", ".join(columns), ", ".join("?" * len(columns))
        self._connection.executemany(
            f"INSERT INTO {table} ({names}) VALUES ({places})",  # noqa: S608 (names of our tables)
            rows,
        )

    def look(self) -> None:
        """Begin to read what is there now, whatever others write."""
        self.run("BEGIN")

    def discard(self) -> None:
        """Leave the file to its folder."""

    def begin(self) -> None:
        """Wait until nobody else writes; then nobody else does."""
        self.run("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Sync to the disk what was written since the beginning."""
        self.run("COMMIT")

    def rollback(self) -> None:
        """Let nothing have happened since the beginning."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def state(self) -> tuple[int, int]:
        """What changes when others write, and when this connection does."""
        ((others,),) = self.run("PRAGMA data_version")
        return int(others), self._connection.total_changes

    def check(self) -> None:
        """Read every page; a bad one is a ``DamagedFolder`` with its remedy."""
        for (verdict,) in self.run("PRAGMA integrity_check(1)"):
            if verdict != "ok":
                raise damaged(self.place, sqlite3.DatabaseError(verdict))

    def copy_to(self, path: Path) -> None:
        """Write the store as it is at one moment, whole, while others write."""
        self.run("VACUUM INTO ?", (str(path),))

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

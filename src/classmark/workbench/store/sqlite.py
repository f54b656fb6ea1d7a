"""A store in an SQLite file: opened, brought up to date, written by one at a time."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from classmark.problems import DamagedFolder, Mistake, worded
from classmark.storage import locked_file
from classmark.workbench.store.schema import (
    APPLICATION,
    SQLITE,
    VERSION,
    archived,
    damaged,
    in_use,
    presence,
    script,
    statements,
    too_new,
)

if TYPE_CHECKING:
    from classmark.workbench.store.postgres import Postgres


PATIENCE = 30.0  # seconds to wait for another process that writes
SOON = 0.01  # seconds between two tries to be the one that learns
LEARNING = "learning.lock"
REPLACED = (
    "was replaced or removed while it was open, so nothing is written: put back the "
    "file that was there, or stop every program that has it open and start again"
)


class Embedded:
    """An open SQLite file: write-ahead log, every commit synced, tables of today.

    place : its path, as it is shown;  file, log : which files are there, the second is
    SQLite's log of writes;  shared : several threads may use it, one at a time;  like :
    compares with a pattern, capital letters of English as small ones.
    """

    like = "LIKE"
    patience = PATIENCE

    def __init__(self, path: Path, *, create: bool, shared: bool) -> None:
        if not create and not path.exists():
            raise DamagedFolder(
                f"{path} is missing: "
                + worded("give a project directory (classmark init makes one)")
            )
        self.place, self._path = str(path), Path(path).absolute()
        self._log_path = self._path.with_name(f"{self._path.name}-wal")
        self.file: tuple[int, int] | None = None
        self.log: tuple[int, int] | None = None
        try:
            self._connection = sqlite3.connect(
                path, self.patience, isolation_level=None, check_same_thread=not shared
            )
        except sqlite3.Error as problem:
            raise damaged(path, problem) from problem
        try:
            self.file = _identity(self._path)
            self._prepare()
            self.log = _identity(self._log_path)
        except BaseException as problem:
            self._connection.close()
            if isinstance(problem, sqlite3.DatabaseError):
                raise damaged(path, problem) from problem
            raise

    def _prepare(self) -> None:
        """Make the tables, or bring them up to date as a whole."""
        execute = self._connection.execute
        (tables,) = execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if tables and self._pragma("application_id") != APPLICATION:
            raise DamagedFolder(
                f"{self.place} is another program's database: give a Classmark project "
                "directory"
            )
        if (version := self._pragma("user_version")) > VERSION:
            raise too_new(self.place, version)
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")
        if self._pragma("user_version") < VERSION:
            with transaction(self):
                version = self._pragma("user_version")
                if version < VERSION:  # nobody else has done it meanwhile
                    for statement in statements(script(version, SQLITE)):
                        execute(statement)
                    execute(f"PRAGMA application_id = {APPLICATION}")
                    execute(f"PRAGMA user_version = {VERSION}")
        execute("PRAGMA foreign_keys = ON")

    def _pragma(self, name: str) -> int:
        ((value,),) = self.run(f"PRAGMA {name}")
        return int(value)

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
            raise self._explained(problem) from problem

    def _explained(self, problem: sqlite3.DatabaseError) -> Mistake:
        """What the engine refuses, told with the file and a remedy."""
        code = getattr(problem, "sqlite_errorcode", None)
        if code == sqlite3.SQLITE_BUSY:
            return in_use(self.place)
        if code == sqlite3.SQLITE_READONLY and self._pragma("query_only"):
            return archived(self.place)
        return damaged(self.place, problem)

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

    def close_to_writing(self) -> None:
        """Let this connection only read."""
        self.run("PRAGMA query_only = ON")

    def discard(self) -> None:
        """Leave the file to its folder."""

    def begin(self, *, write: bool) -> None:
        """Begin to write alone, or to read what is there now, whatever others write."""
        self.run("BEGIN IMMEDIATE" if write else "BEGIN")
        if write:
            try:
                self._require_unmoved()
            except DamagedFolder:
                self.rollback()
                raise

    def require_same(self, first: Embedded | Postgres) -> None:
        """Refuse files that are not those that another connection has open."""
        if not isinstance(first, Embedded):
            return
        logs = {self.log, first.log} - {None}
        if self.file != first.file or len(logs) > 1:
            raise DamagedFolder(f"{self.place} {REPLACED}")

    def _require_unmoved(self) -> None:
        """Refuse to write to files that are no longer where others look for them."""
        log = _identity(self._log_path)
        self.log = self.log or log
        if (_identity(self._path), log) != (self.file, self.log):
            raise DamagedFolder(f"{self.place} {REPLACED}")

    def commit(self) -> None:
        """Sync to the disk what was written since the beginning."""
        self.run("COMMIT")

    def rollback(self) -> None:
        """Let nothing have happened since the beginning."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def state(self) -> tuple[int, int]:
        """What changes when others write, and when this connection does."""
        return self._pragma("data_version"), self._connection.total_changes

    @contextmanager
    def learning(self) -> Iterator[None]:
        """Be the only process that learns, unless another takes very long.

        The system frees it when a process dies. Within a transaction nobody waits.
        """
        until = time.monotonic() + (0.0 if self.in_transaction else PATIENCE)
        file = locked_file(self._path.with_name(LEARNING))
        while file is None and time.monotonic() < until:
            time.sleep(SOON)
            file = locked_file(self._path.with_name(LEARNING))
        with file or nullcontext():
            yield

    def check(self) -> None:
        """Read every page; a bad one is a ``DamagedFolder`` with its remedy."""
        for (verdict,) in self.run("PRAGMA integrity_check(1)"):
            if verdict != "ok":
                raise damaged(self.place, str(verdict))

    def copy_to(self, path: Path) -> None:
        """Write the store as it is at one moment, whole, while others write."""
        closed = self._pragma("query_only")  # to writing; the copy is another file
        self.run("PRAGMA query_only = OFF")
        try:
            self.run("VACUUM INTO ?", (str(path),))
        finally:
            self.run(f"PRAGMA query_only = {closed}")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


class EmbeddedBeside(Embedded):
    """A file beside a store with the tables of presence; it waits for no disk."""

    patience = 1.0

    def __init__(self, path: Path) -> None:
        super().__init__(path, create=True, shared=True)

    def _prepare(self) -> None:
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        for statement in statements(presence(SQLITE)):
            self._connection.execute(statement)

    def rows(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Run one statement, as a transaction; return its rows."""
        try:  # one that returns rows writes as they are read
            return self._connection.execute(sql, values).fetchall()
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
            raise
        except sqlite3.DatabaseError as problem:
            raise self._explained(problem) from problem

    @contextmanager
    def syncing(self) -> Iterator[None]:
        """Inside, what is written is on disk before the next statement."""
        self.run("PRAGMA synchronous = FULL")
        try:
            yield
        finally:
            self.run("PRAGMA synchronous = NORMAL")


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file is at a path; None: none."""
    try:
        facts = path.stat()
    except FileNotFoundError:
        return None
    return facts.st_dev, facts.st_ino


@contextmanager
def transaction(engine: Embedded | Postgres, *, write: bool = True) -> Iterator[None]:
    """Begin and commit, or roll back; one inside another is part of it."""
    if engine.in_transaction:
        yield
        return
    engine.begin(write=write)
    try:
        yield
    except BaseException:
        engine.rollback()
        raise
    if write:
        engine.commit()
    else:
        engine.rollback()

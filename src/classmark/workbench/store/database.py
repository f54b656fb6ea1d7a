"""Database: a connection to a project's store, and its transactions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from classmark.problems import DamagedFolder, MissingExtra, Mistake
from classmark.workbench.settings import StoreSettings
from classmark.workbench.store.schema import (
    APPLICATION,
    SQLITE,
    VERSION,
    script,
    statements,
)

if TYPE_CHECKING:
    from classmark.workbench.store.postgres import Postgres


def connect(
    path: Path, *, create: bool = False, shared: bool = False
) -> sqlite3.Connection:
    """Open the store: write-ahead log, every commit synced, older tables migrated."""
    if not create and not path.exists():
        raise DamagedFolder(
            f"{path} is missing: give a project directory (classmark init makes one)"
        )
    try:
        connection = sqlite3.connect(
            path, timeout=30, isolation_level=None, check_same_thread=not shared
        )
    except sqlite3.Error as problem:
        raise damaged(path, problem) from problem
    try:
        _require_ours(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        _migrate(connection)
        connection.execute("PRAGMA foreign_keys = ON")
    except sqlite3.DatabaseError as problem:
        connection.close()
        raise damaged(path, problem) from problem
    except BaseException:
        connection.close()
        raise
    return connection


def damaged(path: Path | str, problem: Exception) -> DamagedFolder:
    """What to tell when the store cannot be used.

    >>> print(damaged("x.sqlite", OSError("database or disk is full")))
    x.sqlite cannot grow (database or disk is full): make room on its disk, then repeat
    """
    said = str(problem)
    if "is full" in said:
        return DamagedFolder(
            f"{path} cannot grow ({said}): make room on its disk, then repeat"
        )
    if "disk I/O" in said:
        return DamagedFolder(
            f"{path} cannot be read or written ({said}): see that its disk is well "
            "and has room, then repeat"
        )
    if "readonly" in said or "unable to open" in said:
        return DamagedFolder(
            f"{path} cannot be written: let yourself write to it and its folder, or "
            "work on a copy of the project"
        )
    return DamagedFolder(
        f"{path} cannot be used ({said}): restore it from a backup, or import an "
        "export into a new project"
    )


def _require_ours(connection: sqlite3.Connection, path: Path) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    version = _version(connection)
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if tables and application != APPLICATION:
        raise DamagedFolder(
            f"{path} is another program's database: give a Classmark project directory"
        )
    if version > VERSION:
        raise DamagedFolder(
            f"{path} has format version {version}, this program reads up to "
            f"{VERSION}: upgrade classmark"
        )


def _migrate(connection: sqlite3.Connection) -> None:
    """Make the tables, or bring them up to date, as a whole."""
    if _version(connection) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection)
        if version < VERSION:  # nobody else has done it meanwhile
            for statement in statements(script(version, SQLITE)):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


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


class Database:
    """Open tables; a context manager that closes them.

    path : the SQLite file;  server : where else they are, if its ``url`` says so; the
    path then only says which project they belong to.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: bool = False,
        shared: bool = False,
        server: StoreSettings | None = None,
    ) -> None:
        self.path = path
        self.engine: Embedded | Postgres
        if server is not None and server.url:
            self.engine = _postgres(server, create=create)
        else:
            self.engine = Embedded(path, create=create, shared=shared)
        self.server = server
        self.run = self.engine.run

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self.engine.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that happens inside is committed together, or not at all.

        One inside another is part of it. One at a time writes, whoever it is.
        """
        if self.engine.in_transaction:
            yield
            return
        self.engine.begin()
        try:
            yield
        except BaseException:
            self.engine.rollback()
            raise
        self.engine.commit()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All that is read inside is of one moment, whatever others write."""
        if self.engine.in_transaction:
            yield
            return
        self.engine.look()
        try:
            yield
        finally:
            self.engine.rollback()

    def state(self) -> tuple[int, int]:
        """Something that is another after anything was written, by anybody."""
        return self.engine.state()

    def check(self) -> None:
        """Read everything; what is bad is a ``DamagedFolder`` with its remedy."""
        self.engine.check()


def _postgres(server: StoreSettings, *, create: bool) -> Postgres:
    try:
        from classmark.workbench.store.postgres import Postgres
    except ImportError:
        raise MissingExtra("Stores in PostgreSQL", "postgres") from None
    return Postgres(server, create=create)

"""Open a project's store: is it ours, is it whole, are its tables of today?"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from classmark.problems import DamagedFolder
from classmark.workbench.schema import APPLICATION, MIGRATIONS, VERSION


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
    (version,) = connection.execute("PRAGMA user_version").fetchone()
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
    """Bring the tables up to date, one format after the other, each as a whole."""
    while True:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version >= VERSION:
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version < VERSION:  # nobody else has done it meanwhile
                for statement in statements(MIGRATIONS[version]):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {version + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def statements(script: str) -> Iterator[str]:
    """The statements of a script, one by one.

    >>> list(statements("SELECT 1; SELECT ';';"))
    ['SELECT 1;', "SELECT ';';"]
    """
    said = ""
    for piece in script.split(";")[:-1]:
        said += piece + ";"
        if sqlite3.complete_statement(said):
            yield said.strip()
            said = ""

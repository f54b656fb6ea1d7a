"""Open a project's store: is it ours, is it whole, are its tables of today?"""

from __future__ import annotations

import sqlite3
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
    connection = sqlite3.connect(
        path, timeout=30, isolation_level=None, check_same_thread=not shared
    )
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


def damaged(path: Path, problem: sqlite3.Error) -> DamagedFolder:
    """What to tell when SQLite cannot use the file."""
    if "readonly" in str(problem):
        return DamagedFolder(
            f"{path} cannot be written: let yourself write to it and its folder, or "
            "work on a copy of the project"
        )
    return DamagedFolder(
        f"{path} cannot be used ({problem}): restore it from a backup, or import an "
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
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    for number in range(version, VERSION):
        script = (
            f"BEGIN IMMEDIATE; {MIGRATIONS[number]}"
            f"PRAGMA application_id = {APPLICATION};"
            f"PRAGMA user_version = {number + 1}; COMMIT;"
        )
        connection.executescript(script)

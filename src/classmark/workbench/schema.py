"""The tables of a project's store, and how older ones are brought up to date."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from classmark.problems import DamagedFolder

APPLICATION = 0x436C4D6B  # "ClMk": the file is ours
MIGRATIONS = (
    """
CREATE TABLE documents (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  fields TEXT NOT NULL,
  meta TEXT NOT NULL DEFAULT '{}',
  links TEXT NOT NULL DEFAULT '[]',
  added TEXT NOT NULL
);
CREATE TABLE categories (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  label TEXT NOT NULL DEFAULT '',
  note TEXT NOT NULL DEFAULT '',
  synonyms TEXT NOT NULL DEFAULT '[]',
  parents TEXT NOT NULL DEFAULT '[]',
  notation TEXT NOT NULL DEFAULT '',
  status TEXT NOT NULL DEFAULT 'active'
);
CREATE TABLE judgments (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at TEXT NOT NULL,
  who TEXT NOT NULL,
  document TEXT NOT NULL REFERENCES documents (id),
  act TEXT NOT NULL,
  category TEXT REFERENCES categories (id),
  other TEXT REFERENCES categories (id),
  grade REAL,
  model TEXT NOT NULL DEFAULT '',
  rank INTEGER,
  score REAL,
  note TEXT NOT NULL DEFAULT '',
  undoes INTEGER REFERENCES judgments (seq)
);
CREATE INDEX judgments_by_pair ON judgments (document, category, seq);
CREATE INDEX judgments_undone ON judgments (undoes) WHERE undoes IS NOT NULL;
CREATE TRIGGER judgments_are_kept BEFORE DELETE ON judgments
  BEGIN SELECT RAISE (ABORT, 'the judgment log is append-only'); END;
CREATE TRIGGER judgments_do_not_change BEFORE UPDATE ON judgments
  BEGIN SELECT RAISE (ABORT, 'the judgment log is append-only'); END;
CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at TEXT NOT NULL,
  who TEXT NOT NULL,
  what TEXT NOT NULL,
  detail TEXT NOT NULL DEFAULT '{}'
);
CREATE VIEW labels AS
  SELECT document, category, grade, seq FROM (
    SELECT j.*, row_number() OVER (
      PARTITION BY document, category ORDER BY seq DESC) AS age
    FROM judgments AS j
    WHERE act IN ('assign', 'remove')
      AND NOT EXISTS (SELECT 1 FROM judgments AS u WHERE u.undoes = j.seq))
  WHERE age = 1 AND act = 'assign';
""",
    """
CREATE VIEW preferences AS
  SELECT document, category, other, grade, seq FROM (
    SELECT j.*, row_number() OVER (
      PARTITION BY document, min(category, other), max(category, other)
      ORDER BY seq DESC) AS age
    FROM judgments AS j
    WHERE act IN ('prefer', 'retract')
      AND NOT EXISTS (SELECT 1 FROM judgments AS u WHERE u.undoes = j.seq))
  WHERE age = 1 AND act = 'prefer';
""",
)
VERSION = len(MIGRATIONS)


def connect(path: Path, *, create: bool = False) -> sqlite3.Connection:
    """Open the store: write-ahead log, every commit synced, older tables migrated."""
    if not create and not path.exists():
        raise DamagedFolder(
            f"{path} is missing: give a project directory (classmark init makes one)"
        )
    connection = sqlite3.connect(path, timeout=30, isolation_level=None)
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        _require_ours(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        _migrate(connection)
    except sqlite3.DatabaseError as problem:
        connection.close()
        raise damaged(path, problem) from problem
    except BaseException:
        connection.close()
        raise
    return connection


def damaged(path: Path, problem: sqlite3.Error) -> DamagedFolder:
    """What to tell when SQLite cannot use the file."""
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

"""Stores of older formats, as the golden files have them."""

import sqlite3
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden" / "stores"
TABLES = (
    "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' "
    "ORDER BY rowid"
)


def older_store(path, version):
    """Write a store of a format, with documents, categories and acts."""
    connection = sqlite3.connect(path)
    connection.executescript((GOLDEN / f"format_{version}.sql").read_text())
    connection.close()
    return path


def empty_older_store(path, version):
    """Write a store of a format with nothing in its tables; return it open."""
    filled = sqlite3.connect(":memory:")
    filled.executescript((GOLDEN / f"format_{version}.sql").read_text())
    connection = sqlite3.connect(path, isolation_level=None)
    for (sql,) in filled.execute(TABLES):
        connection.execute(sql)
    for name in ("application_id", "user_version"):
        (value,) = filled.execute(f"PRAGMA {name}").fetchone()
        connection.execute(f"PRAGMA {name} = {value}")
    filled.close()
    return connection

"""SQLite's words in PostgreSQL's: the statements, and the tables themselves.

The program speaks SQLite. What PostgreSQL says in another way is translated here, once
for each statement; what it lacks are functions of the same name in the project's own
schema (``WORDS``). The tables are those that the migrations make, so that they are
written down once.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import count
from typing import NamedTuple

from classmark.workbench.connecting import statements
from classmark.workbench.schema import MIGRATIONS

WORDS = (
    """CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = '23000'; END $$""",
    """CREATE FUNCTION max(anyelement, anyelement) RETURNS anyelement
LANGUAGE sql IMMUTABLE STRICT AS 'SELECT greatest($1, $2)'""",
    """CREATE FUNCTION min(anyelement, anyelement) RETURNS anyelement
LANGUAGE sql IMMUTABLE STRICT AS 'SELECT least($1, $2)'""",
    """CREATE FUNCTION ifnull(anyelement, anyelement) RETURNS anyelement
LANGUAGE sql IMMUTABLE AS 'SELECT coalesce($1, $2)'""",
    """CREATE FUNCTION instr(text, text) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT AS 'SELECT strpos($1, $2)'""",
    """CREATE FUNCTION json_extract(text, text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT AS
'SELECT jsonb_path_query_first($1::jsonb, $2::jsonpath) #>> ''{}'''""",
    """CREATE FUNCTION listed_in_json(anycompatiblearray) RETURNS text
LANGUAGE sql IMMUTABLE AS 'SELECT to_json($1)::text'""",
    """CREATE AGGREGATE json_group_array(anycompatible) (SFUNC = array_append,
STYPE = anycompatiblearray, INITCOND = '{}', FINALFUNC = listed_in_json)""",
    "CREATE TABLE turn (version INTEGER NOT NULL, number BIGINT NOT NULL)",
)
_LITERAL = re.compile(r"('(?:[^']|'')*')")
_PLACE = re.compile(r"\?(\d*)")
_TRUTH = re.compile(
    r"\b(WHERE|AND|OR|NOT|ON|WHEN)\s+((?:\w+\.)?stands)\b(?!\s*(?:[=<>,]|IS\b|IN\b))",
    re.IGNORECASE,
)
_READS = re.compile(r"\s*(?:SELECT|WITH|VALUES|EXPLAIN)\b", re.IGNORECASE)
_INSERTS = re.compile(r"\s*INSERT\s+INTO\s+(\w+)", re.IGNORECASE)
_RETURNS = re.compile(r"\bRETURNING\b", re.IGNORECASE)
_OTHERWISE = (
    (_TRUTH, r"\1 \2 = 1"),
    (re.compile(r"\bLIKE\b", re.IGNORECASE), "ILIKE"),
    (re.compile(r"\bIS NOT (?=\?)", re.IGNORECASE), "IS DISTINCT FROM "),
    (re.compile(r"\bIS (?=\?)", re.IGNORECASE), "IS NOT DISTINCT FROM "),
)
_NUMBERED = re.compile(
    r"CREATE TABLE \"?(\w+)\"? \(\s*(\w+) INTEGER PRIMARY KEY(?! REFERENCES)"
)
_TRIGGER = re.compile(
    r"(CREATE TRIGGER \w+ BEFORE \w+ ON \w+)\s+BEGIN SELECT RAISE \(ABORT, (.*)\); END",
    re.DOTALL,
)
_KINDS = (
    (re.compile(r"\bINTEGER PRIMARY KEY AUTOINCREMENT\b"), "BIGINT PRIMARY KEY"),
    (re.compile(r"\bINTEGER\b"), "BIGINT"),
    (re.compile(r"\bREAL\b"), "DOUBLE PRECISION"),
    (re.compile(r"\bTEXT\b"), 'TEXT COLLATE "C"'),
)


class Spoken(NamedTuple):
    """A statement for PostgreSQL; writes : whether it changes anything."""

    sql: bytes
    writes: bool


@lru_cache(maxsize=2048)
def translated(sql: str) -> Spoken:
    """A statement of SQLite's as PostgreSQL understands it.

    >>> translated("SELECT '?' FROM documents WHERE id = ? AND number > ?").sql
    b"SELECT '?' FROM documents WHERE id = $1 AND number > $2"
    >>> translated("INSERT INTO events (at) VALUES (?)").sql
    b'INSERT INTO events (at) VALUES ($1) RETURNING seq'
    """
    numbers = count(1)

    def place(found: re.Match[str]) -> str:
        return f"${found[1] or next(numbers)}"

    pieces = _LITERAL.split(sql)
    for at in range(0, len(pieces), 2):
        for pattern, words in _OTHERWISE:
            pieces[at] = pattern.sub(words, pieces[at])
        pieces[at] = _PLACE.sub(place, pieces[at])
    said = "".join(pieces)
    inserts = _INSERTS.match(said)
    if inserts and inserts[1] in _keys() and not _RETURNS.search(said):
        said = f"{said} RETURNING {_keys()[inserts[1]]}"
    return Spoken(said.encode(), not _READS.match(said))


def tables() -> Iterator[str]:
    """What makes the tables, views and triggers of today in PostgreSQL."""
    yield from WORDS
    for sql in _schema():
        yield as_postgres(sql)
    for table, key in _keys().items():
        yield (
            f"CREATE FUNCTION number_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ "  # noqa: S608 (our own names)
            f"BEGIN IF NEW.{key} IS NULL THEN SELECT coalesce(max({key}), 0) + 1 "
            f"INTO NEW.{key} FROM {table}; END IF; RETURN NEW; END $$"
        )
        yield (
            f"CREATE TRIGGER {table}_are_numbered BEFORE INSERT ON {table} "
            f"FOR EACH ROW EXECUTE FUNCTION number_{table}()"
        )


def as_postgres(sql: str) -> str:
    """A statement that makes or changes tables, as PostgreSQL understands it.

    >>> as_postgres("CREATE TABLE t (number INTEGER PRIMARY KEY, score REAL)")
    'CREATE TABLE t (number BIGINT PRIMARY KEY, score DOUBLE PRECISION)'
    """
    if trigger := _TRIGGER.match(sql):
        return f"{trigger[1]} FOR EACH ROW EXECUTE FUNCTION refuse({trigger[2]})"
    if sql.lstrip().startswith(("CREATE TABLE", "ALTER TABLE")):
        for pattern, words in _KINDS:
            sql = pattern.sub(words, sql)
    return _TRUTH.sub(r"\1 \2 = 1", sql)


@cache
def _schema() -> list[str]:
    """Every statement of SQLite's that the tables of today are made of, in order."""
    connection = sqlite3.connect(":memory:")
    for script in MIGRATIONS:
        for statement in statements(script):
            connection.execute(statement)
    found = connection.execute(
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE "
        "'sqlite_%' ORDER BY type <> 'table', type <> 'view', rowid"
    ).fetchall()
    connection.close()
    return [sql for (sql,) in found]


@cache
def _keys() -> dict[str, str]:
    """Table → the column that numbers its rows."""
    found = (_NUMBERED.match(sql) for sql in _schema())
    return {match[1]: match[2] for match in found if match}

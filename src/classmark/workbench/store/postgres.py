"""The store on a PostgreSQL server.

The program speaks SQLite. What PostgreSQL says in another way is translated here, once
for each statement; what it lacks are functions of the same name in the project's own
schema (``WORDS``). The tables are those that the migrations make, so that they are
written down once.

One at a time writes: every transaction that writes first takes the one row of the table
``turn`` and counts it up, which tells all others that something has changed. So acts
are numbered in the order in which they are committed, without gaps, as in SQLite.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable, Iterator
from functools import cache, cached_property, lru_cache
from itertools import count
from typing import Any, NamedTuple, NoReturn

import psycopg
from psycopg import errors
from psycopg.adapt import Loader
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int8Dumper

from classmark.problems import DamagedFolder, Mistake
from classmark.workbench.settings import StoreSettings
from classmark.workbench.store.schema import MIGRATIONS, VERSION, statements

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


_REMEDIES = (
    (
        errors.InsufficientPrivilege,
        "written",
        "let this user create and change tables there",
    ),
    (errors.DiskFull, "written", "make room on its disk, then repeat"),
    (
        psycopg.OperationalError,
        "used",
        "see that the server runs and has room, then repeat",
    ),
    (psycopg.Error, "used", "see that the server is well, or restore a backup"),
)


def refuse(place: str, problem: psycopg.Error) -> NoReturn:
    """Tell a problem as it is told of SQLite's file."""
    said = first_line(problem)
    match problem:
        case psycopg.IntegrityError():
            raise sqlite3.IntegrityError(said) from problem
        case errors.NumericValueOutOfRange():
            raise OverflowError(said) from problem
        case errors.LockNotAvailable():
            raise Mistake(
                f"{place} is in use by another process: try again in a moment"
            ) from problem
        case psycopg.DataError():
            raise Mistake(f"{place} cannot keep this ({said}): correct it") from problem
        case errors.InsufficientPrivilege():
            pass
        case psycopg.ProgrammingError() | errors.InFailedSqlTransaction():
            raise problem
    done, remedy = next(told for kind, *told in _REMEDIES if isinstance(problem, kind))
    raise DamagedFolder(f"{place} cannot be {done} ({said}): {remedy}") from problem


def first_line(problem: psycopg.Error) -> str:
    """What is wrong, in a line."""
    return problem.diag.message_primary or str(problem).strip().split("\n")[0]


FROM_ENVIRONMENT = "CLASSMARK_STORE"
_SETTINGS = (
    ("lock_timeout", "30s"),
    ("synchronous_commit", "on"),
    ("client_encoding", "UTF8"),
)
_AT_ONCE = 2000  # rows fetched together
_TURN = b"UPDATE turn SET number = number + 1"
_TABLES = b"SELECT tablename FROM pg_tables WHERE schemaname = $1 ORDER BY tablename"


class _Answer(psycopg.RawCursor[Any]):
    """The rows of a statement; lastrowid : the number that a new row got."""

    @cached_property
    def lastrowid(self) -> int | None:
        row = self.fetchone() if self.description else None
        return None if row is None else int(row[0])


class _Number(Loader):
    """Sums and means of numbers as Python's own."""

    def load(self, data: Any) -> int | float:
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdecimal() else float(text)


class Postgres:
    """A connection to the server; it is made again when it was lost between acts.

    place : host, database and schema, as they are shown: without a password.
    """

    def __init__(self, server: StoreSettings, *, create: bool = False) -> None:
        self._url = os.environ.get(FROM_ENVIRONMENT) or server.url
        self._schema = server.schema
        self.place = _shown(self._url, server.schema)
        self._begun = False
        self._writes = self._turns = 0
        self._connection = self._connected()
        try:
            self._prepare(create=create)
        except psycopg.Error as problem:
            self._connection.close()
            refuse(self.place, problem)
        except BaseException:
            self._connection.close()
            raise

    @property
    def in_transaction(self) -> bool:
        """Whether something was begun and is not at its end."""
        return self._begun

    def run(self, sql: str, values: tuple[Any, ...] = ()) -> Any:
        """Run one statement of SQLite's; one that writes, as a transaction."""
        said = translated(sql)
        if not said.writes:
            return self._execute(said.sql, values)
        self._writes += 1
        if self._begun:
            return self._execute(said.sql, values)
        self.begin()
        try:
            found = self._execute(said.sql, values)
        except BaseException:
            self.rollback()
            raise
        self.commit()
        return found

    def stream(self, sql: str) -> Iterator[Any]:
        """The rows of a statement without values, never all in memory."""
        try:
            with psycopg.RawServerCursor(self._connection, "rows") as cursor:
                cursor.itersize = _AT_ONCE
                yield from cursor.execute(sql.encode())
        except psycopg.Error as problem:
            refuse(self.place, problem)

    def fill(
        self, table: str, columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]]
    ) -> None:
        """Add rows, numbers and all, within a transaction."""
        names = ", ".join(f'"{name}"' for name in columns)
        sql = f'COPY "{table}" ({names}) FROM STDIN'.encode()
        try:
            with self._connection.cursor() as cursor, cursor.copy(sql) as copy:
                for row in rows:
                    copy.write_row(row)
        except psycopg.Error as problem:
            refuse(self.place, problem)

    def look(self) -> None:
        """Begin to read what is there now, whatever others write."""
        self._execute(b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self._begun = True

    def discard(self) -> None:
        """Drop the schema that was just made."""
        self._execute(f'DROP SCHEMA "{self._schema}" CASCADE'.encode())

    def begin(self) -> None:
        """Wait until nobody else writes; then nobody else does."""
        self._execute(b"BEGIN")
        self._begun = True
        try:
            self._execute(_TURN)
        except BaseException:
            self.rollback()
            raise

    def commit(self) -> None:
        """Make durable what was written since the beginning."""
        try:
            self._execute(b"COMMIT")
            self._turns += 1
        except DamagedFolder as problem:
            raise DamagedFolder(
                f"{problem}; whether the last act was kept is not known: look at the "
                "history"
            ) from problem
        finally:
            self._begun = False

    def rollback(self) -> None:
        """Let nothing have happened since the beginning."""
        self._begun = False
        if not self._connection.closed:
            self._execute(b"ROLLBACK")

    def state(self) -> tuple[int, int]:
        """How many transactions of others have written, and statements from here."""
        row: Any = self._execute(b"SELECT number FROM turn").fetchone()
        return int(row[0]) - self._turns - self._begun, self._writes

    def check(self) -> None:
        """Read every row; one that cannot be read is a ``DamagedFolder``."""
        for (name,) in self._execute(_TABLES, (self._schema,)).fetchall():
            self._execute(f'SELECT sum(length(t::text)) FROM "{name}" AS t'.encode())  # noqa: S608 (a name of a table that is there)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _execute(
        self, sql: bytes, values: tuple[Any, ...] = (), *, again: bool = True
    ) -> _Answer:
        """Execute a statement; between acts, on a new connection if it was lost."""
        try:
            if self._connection.closed and not self._begun:
                self._connection = self._connected()
            return self._connection.execute(sql, values)  # type: ignore[return-value]
        except psycopg.Error as problem:
            if self._begun or not self._connection.closed or not again:
                refuse(self.place, problem)
        return self._execute(sql, values, again=False)

    def _connected(self) -> psycopg.Connection[Any]:
        try:
            connection = psycopg.connect(
                self._url, autocommit=True, cursor_factory=_Answer, connect_timeout=10
            )
        except psycopg.Error as problem:
            raise DamagedFolder(
                f"{self.place} cannot be reached ({first_line(problem)}): see that "
                "the server runs, and give the password by PGPASSWORD, ~/.pgpass or "
                f"{FROM_ENVIRONMENT}"
            ) from None  # the problem may show the password
        connection.adapters.register_dumper(int, Int8Dumper)
        connection.adapters.register_loader("numeric", _Number)
        for name, value in (*_SETTINGS, ("search_path", self._schema)):
            connection.execute(
                b"SELECT set_config($1::text, $2::text, false)", (name, value)
            )
        return connection

    def _prepare(self, *, create: bool) -> None:
        """Make the tables, or bring them up to date."""
        connection = self._connection
        there = [name for (name,) in connection.execute(_TABLES, (self._schema,))]
        if create:
            if there:
                raise Mistake(
                    f"{self.place} is there already: choose another name for the "
                    "project's directory, or another database"
                )
            self._make()
        elif "turn" not in there:
            raise DamagedFolder(
                f"{self.place} holds no Classmark project: correct [store] in the "
                "settings, or restore a backup"
            )
        self._migrate()

    def _make(self) -> None:
        with self._connection.transaction():
            self._connection.execute(
                f'CREATE SCHEMA IF NOT EXISTS "{self._schema}"'.encode()
            )
            self._connection.execute(";\n".join(tables()).encode())
            self._connection.execute(b"INSERT INTO turn VALUES ($1, 0)", (VERSION,))

    def _migrate(self) -> None:
        version = self._version()
        if version > VERSION:
            raise DamagedFolder(
                f"{self.place} has format version {version}, this program reads up to "
                f"{VERSION}: upgrade classmark"
            )
        if version == VERSION:
            return
        with self._connection.transaction():
            self._connection.execute(_TURN)
            for number in range(self._version(), VERSION):
                for sql in statements(MIGRATIONS[number]):
                    self._connection.execute(as_postgres(sql).encode())
            self._connection.execute(b"UPDATE turn SET version = $1", (VERSION,))

    def _version(self) -> int:
        row: Any = self._connection.execute(b"SELECT version FROM turn").fetchone()
        return int(row[0])


def _shown(url: str, schema: str) -> str:
    """The place of a store without secrets.

    >>> _shown("postgresql://eve:secret@desk/library", "shelf")
    'schema shelf of database library at desk'
    """
    try:
        said = conninfo_to_dict(url)
    except psycopg.Error:
        raise Mistake(
            "the url of the store cannot be read: write it as "
            "postgresql://user@host/database"
        ) from None  # the problem may show the password
    return (
        f"schema {schema} of database {said.get('dbname', '')} at "
        f"{said.get('host', 'this machine')}"
    )

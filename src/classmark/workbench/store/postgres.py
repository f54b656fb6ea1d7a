"""The store on a PostgreSQL server.

Statements are written so that SQLite and PostgreSQL both understand them; only their
places are marked otherwise (``numbered``), and SQLite's ``json_extract`` is made in the
project's own schema.

One at a time writes: every transaction that writes first takes the one row of the table
``turn`` and counts it up, which tells all others that something has changed. So acts
are numbered in the order in which they are committed, without gaps, as in SQLite.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import psycopg
from psycopg import errors
from psycopg.adapt import Loader
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int8Dumper

from classmark.problems import DamagedFolder, Mistake
from classmark.workbench.settings import StoreSettings
from classmark.workbench.store.schema import (
    NUMBERING,
    POSTGRES,
    VERSION,
    StoreInUse,
    archived,
    in_use,
    presence,
    script,
    too_new,
)

FUNCTIONS = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = '23000'; END $$;
CREATE FUNCTION json_extract(text, text) RETURNS text LANGUAGE sql IMMUTABLE STRICT
AS $$ SELECT jsonb_path_query_first($1::jsonb, $2::jsonpath) #>> '{}' $$;
CREATE TABLE turn (version INTEGER NOT NULL, number BIGINT NOT NULL);
"""
NUMBERED = {
    "all_documents": "number", "events": "seq", "categories": "number",
    "judgments": "seq", "searches": "number", "marks": "seq",
    "impressions": "number", "clicks": "seq",
}  # fmt: skip
READS = ("SELECT", "WITH", "VALUES", "EXPLAIN")


@lru_cache(maxsize=2048)
def numbered(sql: str) -> bytes:
    """A statement with its places as PostgreSQL marks them; no literal has a ?.

    >>> numbered("SELECT id FROM documents WHERE id = ? AND number > ?")
    b'SELECT id FROM documents WHERE id = $1 AND number > $2'
    >>> numbered("SELECT id FROM documents WHERE ?1 IN (id, fields)")
    b'SELECT id FROM documents WHERE $1 IN (id, fields)'
    """
    text, *pieces = sql.split("?")
    for at, piece in enumerate(pieces, 1):
        text += f"${piece}" if piece[:1].isdigit() else f"${at}{piece}"
    return text.encode()


def creation() -> str:
    """What makes the tables, views and triggers of today."""
    numbering = (
        NUMBERING.format(table=table, key=key) for table, key in NUMBERED.items()
    )
    return "\n".join((FUNCTIONS, script(0, POSTGRES), *numbering))


_REMEDIES = {
    errors.InsufficientPrivilege: "written ({}): let this user create and change "
    "tables there",
    errors.DiskFull: "written ({}): make room on its disk, then repeat",
    psycopg.OperationalError: "used ({}): see that the server runs and has room, then "
    "repeat",
    psycopg.Error: "used ({}): see that the server is well, or restore a backup",
}


@contextmanager
def refusing(place: str) -> Iterator[None]:
    """Raise, in the place of psycopg's errors, those that a file of SQLite's gives."""
    try:
        yield
    except psycopg.Error as problem:
        reason = first_line(problem)
        match problem:
            case psycopg.IntegrityError():
                raise sqlite3.IntegrityError(reason) from problem
            case errors.NumericValueOutOfRange():
                raise OverflowError(reason) from problem
            case errors.LockNotAvailable():
                raise in_use(place) from problem
            case psycopg.DataError():
                refused = f"{place} cannot keep this ({reason}): correct it"
                raise Mistake(refused) from problem
            case errors.InsufficientPrivilege():
                pass
            case psycopg.ProgrammingError() | errors.InFailedSqlTransaction():
                raise
        remedies = (
            text for kind, text in _REMEDIES.items() if isinstance(problem, kind)
        )
        remedy = next(remedies).format(reason)
        raise DamagedFolder(f"{place} cannot be {remedy}") from problem


def first_line(problem: psycopg.Error) -> str:
    """What is wrong, in a line."""
    return problem.diag.message_primary or str(problem).strip().split("\n")[0]


FROM_ENVIRONMENT = "CLASSMARK_STORE"
_SESSION = b"""
SELECT set_config('lock_timeout', '30s', false),
  set_config('synchronous_commit', 'on', false),
  set_config('client_encoding', 'UTF8', false),
  set_config('search_path', $1::text, false)
"""
_AT_ONCE = 2000  # rows fetched together
_LEARN = "SELECT pg_advisory_lock(hashtextextended(?, 0))"
_LEARNED = "SELECT pg_advisory_unlock(hashtextextended(?, 0))"
_PREPARE = b"SELECT pg_advisory_xact_lock(hashtextextended($1, 1))"
_WAITING = b"SELECT set_config('synchronous_commit', $1, false)"
_TURN = b"UPDATE turn SET number = number + 1"
_BEGIN_TO_READ = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_TABLES = b"SELECT tablename FROM pg_tables WHERE schemaname = $1 ORDER BY tablename"


class _Number(Loader):
    """Sums and means of numbers as Python's own."""

    def load(self, data: Any) -> int | float:
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdecimal() else float(text)


class Postgres:
    """A connection to the server; it is made again when it was lost between acts.

    place : host, database and schema, as they are shown: without a password;
    in_transaction : whether something was begun and is not at its end;  like : compares
    with a pattern, capital letters as small ones.
    """

    like = "ILIKE"

    def __init__(self, server: StoreSettings, *, create: bool = False) -> None:
        self._url = os.environ.get(FROM_ENVIRONMENT) or server.url
        self._schema = server.schema
        self.place = _shown(self._url, server.schema)
        self.in_transaction = self._archived = False
        self._writes = self._turns = 0
        self._connection = self._connected()
        try:
            with refusing(self.place):
                self._prepare(create=create)
        except BaseException:
            self._connection.close()
            raise

    def run(self, sql: str, values: tuple[Any, ...] = ()) -> Any:
        """Run one statement; one that writes, as a transaction."""
        writes = not sql.lstrip().startswith(READS)
        self._writes += writes
        if self.in_transaction or not writes:
            return self._execute(numbered(sql), values)
        self.begin(write=True)
        try:
            result = self._execute(numbered(sql), values)
        except BaseException:
            self.rollback()
            raise
        self.commit()
        return result

    def stream(self, sql: str) -> Iterator[Any]:
        """The rows of a statement without values, never all in memory."""
        cursor = psycopg.RawServerCursor(self._connection, "rows")
        with refusing(self.place), cursor:
            cursor.itersize = _AT_ONCE
            yield from cursor.execute(sql.encode())

    def fill(
        self, table: str, columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]]
    ) -> None:
        """Add rows, numbers and all, within a transaction."""
        names = ", ".join(f'"{name}"' for name in columns)
        sql = f'COPY "{table}" ({names}) FROM STDIN'.encode()
        cursor = self._connection.cursor()
        with refusing(self.place), cursor, cursor.copy(sql) as copy:
            for row in rows:
                copy.write_row(row)

    def close_to_writing(self) -> None:
        """Let this connection only read."""
        self._archived = True

    def discard(self) -> None:
        """Drop the schema that was just made."""
        self._execute(f'DROP SCHEMA "{self._schema}" CASCADE'.encode())

    def begin(self, *, write: bool) -> None:
        """Begin to write alone, or to read what is there now, whatever others write."""
        if write and self._archived:
            raise archived(self.place)
        self._execute(b"BEGIN" if write else _BEGIN_TO_READ)
        self.in_transaction = True
        try:
            if write:
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
            self.in_transaction = False

    def rollback(self) -> None:
        """Let nothing have happened since the beginning."""
        self.in_transaction = False
        if not self._connection.closed:
            self._execute(b"ROLLBACK")

    def state(self) -> tuple[int, int]:
        """How many transactions of others have written, and statements from here."""
        row: Any = self._execute(b"SELECT number FROM turn").fetchone()
        return int(row[0]) - self._turns - self.in_transaction, self._writes

    @contextmanager
    def learning(self) -> Iterator[None]:
        """Be the only process that learns, unless another takes very long.

        The server frees it with the connection. Within a transaction nobody waits.
        """
        if self.in_transaction:
            yield
            return
        try:
            self.run(_LEARN, (self._schema,))
        except StoreInUse:
            yield
            return
        try:
            yield
        finally:
            self.run(_LEARNED, (self._schema,))

    def check(self) -> None:
        """Read every row; one that cannot be read is a ``DamagedFolder``."""
        for (name,) in self._execute(_TABLES, (self._schema,)).fetchall():
            self._execute(f'SELECT sum(length(t::text)) FROM "{name}" AS t'.encode())  # noqa: S608 (a name of a table that is there)

    def require_same(self, first: object) -> None:
        """One address is one store."""

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _execute(
        self, sql: bytes, values: tuple[Any, ...] = ()
    ) -> psycopg.RawCursor[Any]:
        """Execute a statement; between acts, on a new connection if it was lost."""
        with refusing(self.place):
            try:
                if not self._connection.closed or self.in_transaction:
                    return self._connection.execute(sql, values)  # type: ignore[return-value]
            except psycopg.Error:
                if self.in_transaction or not self._connection.closed:
                    raise
            self._connection = self._connected()
            return self._connection.execute(sql, values)  # type: ignore[return-value]

    def _connected(self) -> psycopg.Connection[Any]:
        try:
            connection = psycopg.connect(
                self._url,
                autocommit=True,
                cursor_factory=psycopg.RawCursor,
                connect_timeout=10,
            )
        except psycopg.Error as problem:
            raise DamagedFolder(
                f"{self.place} cannot be reached ({first_line(problem)}): see that "
                "the server runs, and give the password by PGPASSWORD, ~/.pgpass or "
                f"{FROM_ENVIRONMENT}"
            ) from None  # the problem may show the password
        connection.adapters.register_dumper(int, Int8Dumper)
        connection.adapters.register_loader("numeric", _Number)
        connection.execute(_SESSION, (self._schema,))
        return connection

    def _prepare(self, *, create: bool) -> None:
        """Make the tables, or bring them up to date."""
        execute = self._connection.execute
        tables = [name for (name,) in execute(_TABLES, (self._schema,))]
        if create and tables:
            raise Mistake(
                f"{self.place} is there already: choose another name for the "
                "project's directory, or another database"
            )
        if not create and "turn" not in tables:
            raise DamagedFolder(
                f"{self.place} holds no Classmark project: correct [store] in the "
                "settings, or restore a backup"
            )
        version = 0 if create else self._version()
        if version > VERSION:
            raise too_new(self.place, version)
        if version == VERSION:
            return
        with self._connection.transaction():
            if create:
                execute(f'CREATE SCHEMA IF NOT EXISTS "{self._schema}"'.encode())
                execute(creation().encode())
                execute(b"INSERT INTO turn VALUES ($1, 0)", (VERSION,))
            else:
                execute(_TURN)
                if (version := self._version()) < VERSION:  # nobody else has done it
                    execute(script(version, POSTGRES).encode())
                    execute(b"UPDATE turn SET version = $1", (VERSION,))

    def _version(self) -> int:
        row: Any = self._connection.execute(b"SELECT version FROM turn").fetchone()
        return int(row[0])


class PostgresBeside(Postgres):
    """A connection to the tables of presence; without the turn, waiting for no disk."""

    def rows(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Run one statement, as a transaction; return its rows."""
        cursor = self._execute(numbered(sql), values)
        return cursor.fetchall() if cursor.description else []

    @contextmanager
    def syncing(self) -> Iterator[None]:
        """Inside, what is written is on disk before the next statement."""
        self._execute(_WAITING, ("on",))
        try:
            yield
        finally:
            self._execute(_WAITING, ("off",))

    def _connected(self) -> psycopg.Connection[Any]:
        connection = super()._connected()
        connection.execute(_WAITING, ("off",))
        return connection

    def _prepare(self, *, create: bool) -> None:  # noqa: ARG002 (where they are missing)
        tables = {n for (n,) in self._connection.execute(_TABLES, (self._schema,))}
        if "cookies" in tables:  # the last one
            return
        with self._connection.transaction():
            self._connection.execute(_PREPARE, (self._schema,))
            self._connection.execute(presence(POSTGRES).encode())


def _shown(url: str, schema: str) -> str:
    """The place of a store without secrets.

    >>> _shown("postgresql://eve:secret@desk/library", "shelf")
    'schema shelf of database library at desk'
    """
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error:
        raise Mistake(
            "the url of the store cannot be read: write it as "
            "postgresql://user@host/database"
        ) from None  # the problem may show the password
    return (
        f"schema {schema} of database {parts.get('dbname', '')} at "
        f"{parts.get('host', 'this machine')}"
    )

"""Database: the tables of one project, wherever they are kept, and its transactions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, Self

from classmark.problems import MissingExtra
from classmark.workbench.embedded import Embedded
from classmark.workbench.settings import StoreSettings


class Rows(Protocol):
    """The rows that a statement gives; lastrowid : the number that a new one got."""

    def fetchone(self) -> Any:
        """The next row, or None."""

    def fetchall(self) -> list[Any]:
        """The rows that are left."""

    def __iter__(self) -> Iterator[Any]:
        """One row after the other."""

    @property
    def lastrowid(self) -> int | None:
        """The number of the row inserted last."""

    @property
    def rowcount(self) -> int:
        """How many rows were changed."""

    @property
    def description(self) -> Any:
        """A line for each column; its first word is the name."""


class Engine(Protocol):
    """What keeps the tables: SQLite's file or PostgreSQL's server."""

    place: str

    @property
    def in_transaction(self) -> bool:
        """Whether something was begun and is not at its end."""

    def run(self, sql: str, values: tuple[Any, ...] = ()) -> Rows:
        """Run one statement of SQLite's, its places marked ? or ?1."""

    def stream(self, sql: str) -> Iterator[Any]:
        """The rows of a statement without values, never all in memory."""

    def fill(
        self, table: str, columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]]
    ) -> None:
        """Add rows, numbers and all, within a transaction."""

    def look(self) -> None:
        """Begin to read what is there now, whatever others write."""

    def discard(self) -> None:
        """Leave nothing of what was just made."""

    def begin(self) -> None:
        """Wait until nobody else writes; then nobody else does."""

    def commit(self) -> None:
        """Make durable what was written since the beginning."""

    def rollback(self) -> None:
        """Let nothing have happened since the beginning."""

    def state(self) -> tuple[int, int]:
        """What changes when anything is written, by others or here."""

    def check(self) -> None:
        """Read everything."""

    def close(self) -> None:
        """Close it."""


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
        self.engine: Engine
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


def _postgres(server: StoreSettings, *, create: bool) -> Engine:
    try:
        from classmark.workbench.postgres import Postgres
    except ImportError:
        raise MissingExtra("Stores in PostgreSQL", "postgres") from None
    return Postgres(server, create=create)

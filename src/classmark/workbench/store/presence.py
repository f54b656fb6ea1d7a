"""Presence: who is here, as all servers of a project know it; none of it is an act.

Sessions (of each secret only the digest), the documents that somebody has open, and
failed log-ins. In SQLite they are in a file of their own beside the store, so that they
wait for no import and no backup has them; in PostgreSQL in tables of the project's
schema, written without the turn. What is written waits for no disk, but where a session
ends. The program makes the tables where they are missing: the file may be removed, and
then everybody logs in again.
"""

from __future__ import annotations

import secrets
from contextlib import nullcontext
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from classmark.workbench.store.sqlite import EmbeddedBeside

if TYPE_CHECKING:
    from classmark.workbench.store.postgres import PostgresBeside
    from classmark.workbench.store.store import Store

FILE = "presence.sqlite"
MARK = "SELECT mark FROM cookies WHERE number = 1"
NEW_MARK = "INSERT INTO cookies (number, mark) VALUES (1, ?) ON CONFLICT DO NOTHING"


class Presence:
    """The tables of presence; one connection, which threads use one at a time.

    engine : where they are; None: in memory, for this process alone.

    >>> presence = Presence()
    >>> presence.mark == presence.mark
    True
    """

    def __init__(self, engine: EmbeddedBeside | PostgresBeside | None = None) -> None:
        self._lock = Lock()
        self._engine = engine or EmbeddedBeside(Path(":memory:"))

    @classmethod
    def beside(cls, store: Store) -> Self:
        """The presence of a store, in a file beside it or on its server."""
        if store.server is None or not store.server.url:
            return cls(EmbeddedBeside(store.path.with_name(FILE)))
        from classmark.workbench.store.postgres import PostgresBeside

        return cls(PostgresBeside(store.server))

    @property
    def mark(self) -> str:
        """What tells the cookies of these servers from those of others at one host."""
        self.run(NEW_MARK, (secrets.token_hex(4),))
        ((mark,),) = self.run(MARK)
        return str(mark)

    def run(
        self, sql: str, values: tuple[Any, ...] = (), *, synced: bool = False
    ) -> list[Any]:
        """Run one statement, as a transaction; return its rows.

        synced : it is on disk when this returns.
        """
        with self._lock, self._engine.syncing() if synced else nullcontext():
            return self._engine.rows(sql, values)

    def close(self) -> None:
        """Close the connection."""
        self._engine.close()

"""Who somebody is: by a session's user, or by a token."""

from __future__ import annotations

import time
from collections.abc import Callable
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from classmark.web.people import ROLES, Who
from classmark.workbench.store.log import whoami
from classmark.workbench.team.people import digest_of, find_token, find_user

if TYPE_CHECKING:
    from classmark.workbench.team.desk import Desk

REMEMBERED = 2.0
MOST = 5_000


class _Found(NamedTuple):
    """Somebody, and the stamp of their password."""

    who: Who
    stamp: str = ""


class Identity:
    """Users and tokens as the store has them; what was found is believed for 2 s.

    So a role taken away by another process holds 2 s later, one taken away on this
    server's own pages at once (``forget``).
    """

    def __init__(self, desk: Desk, now: Callable[[], float] = time.monotonic) -> None:
        self._desk, self._now = desk, now
        self._own = Who(whoami(), "admin")
        self._lock = Lock()
        self._found: dict[tuple[str, str], tuple[float, _Found | None]] = {}

    def of_user(self, name: str, stamp: str) -> Who | None:
        """A user who may log in, if their password is still the one of ``stamp``.

        name : "" is the machine's own user.
        """
        if not name:
            return self._own
        found = self._remembered(("user", name), self._user)
        return found.who if found is not None and found.stamp == stamp else None

    def of_token(self, secret: str) -> Who | None:
        """The person a token speaks for, with no more rights than they have."""
        found = self._remembered(("token", digest_of(secret)), self._token)
        return None if found is None else found.who

    def forget(self) -> None:
        """Ask the store anew."""
        with self._lock:
            self._found.clear()

    def _remembered(
        self, key: tuple[str, str], find: Callable[[str], _Found | None]
    ) -> _Found | None:
        now = self._now()
        until, found = self._found.get(key, (0.0, None))
        if now < until:
            return found
        found = find(key[1])
        with self._lock:
            if len(self._found) >= MOST:
                self._found.clear()
            self._found[key] = (now + REMEMBERED, found)
        return found

    def _user(self, name: str) -> _Found | None:
        user = find_user(self._desk.project.store, name)
        if user is None or user.disabled:
            return None
        return _Found(Who(name, user.role), stamp_of(user.password))

    def _token(self, digest: str) -> _Found | None:
        token = find_token(self._desk.project.store, digest)
        if token is None:
            return None
        owner = find_user(self._desk.project.store, token.user)
        role = token.role if owner is None else _lesser(token.role, owner.role)
        return _Found(Who(token.user, role))


def stamp_of(hashed: str) -> str:
    """What tells a password's hash from that of another, and gives it not away."""
    return sha256(hashed.encode()).hexdigest()[:16]


def _lesser(one: str, other: str) -> str:
    return min(one, other, key=ROLES.index)

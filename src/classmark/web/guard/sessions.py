"""Sessions: who has come in, kept on the server, known by a secret in a cookie."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from threading import Lock

IDLE = 12 * 3600.0
LONGEST = 7 * 24 * 3600.0
MOST = 10_000


@dataclass(slots=True)
class Session:
    """Somebody who has come in.

    name : a user's, or "" for the machine's own user;  stamp : of the password that let
    them in;  csrf : what every form of theirs carries;  began, used : seconds.
    """

    name: str
    stamp: str
    csrf: str
    began: float
    used: float


class Sessions:
    """The sessions of one server; only a digest of each secret is kept.

    >>> sessions = Sessions()
    >>> secret = sessions.open("ada")
    >>> sessions.find(secret).name
    'ada'
    >>> sessions.close(secret)
    >>> sessions.find(secret) is None
    True
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = Lock()
        self._open: dict[bytes, Session] = {}

    def open(self, name: str, stamp: str = "") -> str:
        """Begin a session; return the secret that finds it."""
        secret, now = secrets.token_urlsafe(32), self._now()
        with self._lock:
            self._forget_expired(now)
            if len(self._open) >= MOST:
                del self._open[min(self._open, key=lambda k: self._open[k].used)]
            session = Session(name, stamp, secrets.token_urlsafe(24), now, now)
            self._open[digest(secret)] = session
        return secret

    def find(self, secret: str) -> Session | None:
        """The session of a secret, unless it has expired."""
        key, now = digest(secret), self._now()
        with self._lock:
            session = self._open.get(key)
            if session is not None and _expired(session, now):
                del self._open[key]
                return None
            if session is not None:
                session.used = now
        return session

    def close(self, secret: str) -> None:
        """End a session."""
        with self._lock:
            self._open.pop(digest(secret), None)

    def close_all_of(self, name: str) -> None:
        """End all sessions of a user."""
        with self._lock:
            self._open = {k: s for k, s in self._open.items() if s.name != name}

    def _forget_expired(self, now: float) -> None:
        self._open = {k: s for k, s in self._open.items() if not _expired(s, now)}


def digest(secret: str) -> bytes:
    """What is kept of a secret of 256 random bits: it cannot be turned back."""
    return sha256(secret.encode()).digest()


def same(given: str, expected: str) -> bool:
    """Compare secrets in a time that does not tell where they differ."""
    return compare_digest(given.encode(), expected.encode())


def _expired(session: Session, now: float) -> bool:
    return now - session.used > IDLE or now - session.began > LONGEST

"""Who asks and what they may do: roles, passwords, sessions, tokens."""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from hmac import compare_digest
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, HTTPException, Request

from classmark.problems import Mistake
from classmark.workbench.store.log import whoami
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.people import ROLES, digest_of, find_token, find_user

if TYPE_CHECKING:
    from argon2 import PasswordHasher


@dataclass(frozen=True, slots=True)
class Who:
    """A person, or a program with a person's token.

    role : reader, classifier or admin.
    """

    name: str
    role: str

    def may(self, role: str) -> bool:
        """Whether this role is enough for what asks for ``role``.

        >>> Who("ada", "classifier").may("reader"), Who("ada", "reader").may("admin")
        (True, False)
        """
        return ROLES.index(self.role) >= ROLES.index(role)


@dataclass(frozen=True, slots=True)
class Caller(Who):
    """Who sent a request, and the project that is served."""

    request: Request
    desk: Desk


def caller_of(request: Request, role: str) -> Caller:
    """Who sent a request that needs a role; 403 for somebody with less."""
    who: Who = request.state.who
    if not who.may(role):
        raise HTTPException(
            403,
            f"{who.name} is here as {who.role}, and this needs the role {role}: "
            "ask an admin for it",
        )
    return Caller(who.name, who.role, request, request.app.state.desk)


def at_least(role: str) -> Callable[[Request], Awaitable[Caller]]:
    """A dependency of pages and calls that need a role."""

    async def caller(request: Request) -> Caller:
        return caller_of(request, role)

    return caller


reader, classifier, admin = map(at_least, ROLES)
Reader = Annotated[Caller, Depends(reader)]
Classifier = Annotated[Caller, Depends(classifier)]
Admin = Annotated[Caller, Depends(admin)]


IDLE = 12 * 3600.0
LONGEST_SESSION = 7 * 24 * 3600.0
MOST_SESSIONS = 10_000


@dataclass(slots=True)
class LogInSession:
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
        self._open: dict[str, LogInSession] = {}

    def open(self, name: str, stamp: str = "") -> str:
        """Begin a session; return the secret that finds it."""
        secret, now = secrets.token_urlsafe(32), self._now()
        with self._lock:
            self._open = {k: s for k, s in self._open.items() if not _expired(s, now)}
            if len(self._open) >= MOST_SESSIONS:
                del self._open[min(self._open, key=lambda k: self._open[k].used)]
            session = LogInSession(name, stamp, secrets.token_urlsafe(24), now, now)
            self._open[digest_of(secret)] = session
        return secret

    def find(self, secret: str) -> LogInSession | None:
        """The session of a secret, unless it has expired."""
        key, now = digest_of(secret), self._now()
        with self._lock:
            session = self._open.get(key)
            if session is None or _expired(session, now):
                self._open.pop(key, None)
                return None
            session.used = now
        return session

    def close(self, secret: str) -> None:
        """End a session."""
        with self._lock:
            self._open.pop(digest_of(secret), None)

    def close_all_of(self, name: str) -> None:
        """End all sessions of a user."""
        with self._lock:
            self._open = {k: s for k, s in self._open.items() if s.name != name}


def same(secret: str, expected: str) -> bool:
    """Compare secrets in a time that does not tell where they differ."""
    return compare_digest(secret.encode(), expected.encode())


def _expired(session: LogInSession, now: float) -> bool:
    return now - session.used > IDLE or now - session.began > LONGEST_SESSION


SHORTEST_PASSWORD, LONGEST_PASSWORD = 12, 1024
_AT_ONCE = BoundedSemaphore(2)  # each takes 64 MiB


def hash_password(password: str, name: str) -> str:
    """The argon2 hash of a password that is long enough and not the name.

    >>> hash_password("short", "ada")
    Traceback (most recent call last):
    ...
    classmark.problems.Mistake: the password has 5 characters: give at least 12
    """
    if len(password) < SHORTEST_PASSWORD:
        raise Mistake(
            f"the password has {len(password)} characters: "
            f"give at least {SHORTEST_PASSWORD}"
        )
    if len(password) > LONGEST_PASSWORD:
        raise Mistake(
            f"the password is longer than {LONGEST_PASSWORD} characters: shorten it"
        )
    if name.lower() in password.lower() or len(set(password)) < 5:
        raise Mistake("the password is too easy to guess: choose another")
    with _AT_ONCE:
        return _hasher().hash(password)


def fits(password: str, hashed: str | None) -> bool:
    """Whether a password is the one that was hashed; None takes as long, and never."""
    from argon2.exceptions import Argon2Error, InvalidHashError

    with _AT_ONCE:
        try:
            fitting = _hasher().verify(hashed or _nobody(), password[:LONGEST_PASSWORD])
        except (Argon2Error, InvalidHashError):
            return False
    return fitting and hashed is not None


@cache
def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher

    return PasswordHasher()


@cache
def _nobody() -> str:
    return _hasher().hash("nobody has this password")


REMEMBERED = 2.0
MOST_REMEMBERED = 5_000
Known = tuple[Who, str] | None  # somebody and the stamp of their password, or nobody


class Identity:
    """Users and tokens as the store has them; an answer is believed for 2 s.

    So a role taken away by another process holds 2 s later, one taken away on this
    server's own pages at once (``forget``).
    """

    def __init__(self, desk: Desk, now: Callable[[], float] = time.monotonic) -> None:
        self._desk, self._now = desk, now
        self._local = Who(whoami(), "admin")
        self._lock = Lock()
        self._accounts: dict[tuple[str, str], tuple[float, Known]] = {}

    def of_user(self, name: str, stamp: str) -> Who | None:
        """A user who may log in, if their password is still the one of ``stamp``.

        name : "" is the machine's own user.
        """
        if not name:
            return self._local
        account = self._remembered(("user", name), self._user)
        return account[0] if account is not None and account[1] == stamp else None

    def of_token(self, secret: str) -> Who | None:
        """The person a token speaks for, with no more rights than they have."""
        account = self._remembered(("token", digest_of(secret)), self._token)
        return None if account is None else account[0]

    def forget(self) -> None:
        """Ask the store anew."""
        with self._lock:
            self._accounts.clear()

    def _remembered(self, key: tuple[str, str], find: Callable[[str], Known]) -> Known:
        now = self._now()
        until, account = self._accounts.get(key, (0.0, None))
        if now < until:
            return account
        account = find(key[1])
        with self._lock:
            if len(self._accounts) >= MOST_REMEMBERED:
                self._accounts.clear()
            self._accounts[key] = (now + REMEMBERED, account)
        return account

    def _user(self, name: str) -> Known:
        user = find_user(self._desk.store, name)
        if user is None or user.disabled:
            return None
        return Who(name, user.role), stamp_of(user.password)

    def _token(self, digest: str) -> Known:
        token = find_token(self._desk.store, digest)
        return None if token is None else (Who(token.user, token.role), "")


def stamp_of(hashed: str) -> str:
    """What tells a password's hash from that of another, and gives it not away."""
    return sha256(hashed.encode()).hexdigest()[:16]

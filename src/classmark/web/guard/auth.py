"""Who asks and what they may do: roles, passwords, sessions, tokens."""

from __future__ import annotations

import hmac
import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from hmac import compare_digest
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, HTTPException, Request

from classmark.language import _
from classmark.problems import Mistake, refusal
from classmark.workbench.store.log import whoami
from classmark.workbench.store.presence import Presence
from classmark.workbench.store.store import Store
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.people import ROLES, digest_of, find_token, find_user

if TYPE_CHECKING:
    from argon2 import PasswordHasher


LOG = logging.getLogger("classmark.web")


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
            _(
                "%(name)s has the role %(has)s, but this needs the role %(needs)s: ask "
                "an admin for it",
                name=who.name,
                has=_(who.role),
                needs=_(role),
            ),
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
REMEMBERED = 2.0  # seconds that an answer of the store is believed
MOST_REMEMBERED = 5_000
NOTED = 60.0  # seconds between two notes that a session is used
BEGIN_SESSION = """
INSERT INTO sessions (digest, name, stamp, began, used) VALUES (?, ?, ?, ?, ?)
"""
SESSION = "SELECT name, stamp, began, used FROM sessions WHERE digest = ?"
USE_SESSION = "UPDATE sessions SET used = ? WHERE digest = ? AND used < ?"
END_OLD = "DELETE FROM sessions WHERE used < ? OR began < ?"
END_BEYOND = """
DELETE FROM sessions WHERE used <=
  (SELECT used FROM sessions ORDER BY used DESC LIMIT 1 OFFSET ?)
"""
END_SESSION = "DELETE FROM sessions WHERE digest = ?"
END_ALL_OF = "DELETE FROM sessions WHERE name = ?"


@dataclass(slots=True)
class LogInSession:
    """Somebody who has come in.

    name : a user's, or "" for the machine's own user;  stamp : of the password and role
    (or the code) that let them in;  csrf : what every form of theirs carries;  began,
    used : when, in seconds since 1970.
    """

    name: str
    stamp: str
    csrf: str
    began: float
    used: float


class Sessions:
    """The sessions of a project's servers; only a digest of each secret is stored.

    presence : where they are; None: in memory. One that another server ends is known
    for ``REMEMBERED`` seconds more.

    >>> sessions = Sessions()
    >>> secret = sessions.open("ada")
    >>> sessions.find(secret).name
    'ada'
    >>> sessions.close(secret)
    >>> sessions.find(secret) is None
    True
    """

    def __init__(
        self, presence: Presence | None = None, now: Callable[[], float] = time.time
    ) -> None:
        self._run, self._now = (presence or Presence()).run, now
        self._lock = Lock()
        self._known: dict[str, tuple[float, LogInSession]] = {}  # since when

    def open(self, name: str, stamp: str = "") -> str:
        """Begin a session; return the secret that finds it."""
        secret, now = secrets.token_urlsafe(32), self._now()
        self._run(END_OLD, (now - IDLE, now - LONGEST_SESSION))
        self._run(BEGIN_SESSION, (digest_of(secret), name, stamp, now, now))
        self._run(END_BEYOND, (MOST_SESSIONS,))
        return secret

    def find(self, secret: str) -> LogInSession | None:
        """The session of a secret, unless it has expired."""
        key, now = digest_of(secret), self._now()
        since, session = self._known.get(key, (0.0, None))
        if session is None or not 0 <= now - since < REMEMBERED:
            session = self._look_up(key, secret, now)
        if session is None or _expired(session, now):
            return None
        if now - session.used > NOTED:
            session.used = now
            try:
                self._run(USE_SESSION, (now, key, now))
            except Mistake as problem:  # such as a full disk: who reads goes on
                LOG.warning("not noted that a session is used: %s", problem)
        return session

    def _look_up(self, key: str, secret: str, now: float) -> LogInSession | None:
        with self._lock:  # so that nobody ends it between
            self._known.pop(key, None)
            rows = self._run(SESSION, (key,))
            if not rows:
                return None
            ((name, stamp, began, used),) = rows
            session = LogInSession(name, stamp, csrf_of(secret), began, used)
            while len(self._known) >= MOST_REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[key] = now, session
        return session

    def close(self, secret: str) -> None:
        """End a session, if there is one, also where the power fails next."""
        if not secret:
            return
        key = digest_of(secret)
        with self._lock:
            self._run(END_SESSION, (key,), synced=True)
            self._known.pop(key, None)

    def close_all_of(self, name: str) -> None:
        """End all sessions of a user."""
        with self._lock:
            self._run(END_ALL_OF, (name,), synced=True)
            self._known = {k: s for k, s in self._known.items() if s[1].name != name}


def csrf_of(secret: str) -> str:
    """What the forms of a session carry: made of its secret, so it is not stored."""
    return hmac.new(secret.encode(), b"csrf", sha256).hexdigest()


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
    classmark.problems.Mistake: the password has 5 characters: use at least 12
    """
    if len(password) < SHORTEST_PASSWORD:
        raise refusal(
            "the password has %(n)s characters: use at least %(least)s",
            n=len(password),
            least=SHORTEST_PASSWORD,
        )
    if len(password) > LONGEST_PASSWORD:
        raise refusal("the password has more than %(n)s characters", n=LONGEST_PASSWORD)
    if name.lower() in password.lower() or len(set(password)) < 5:
        raise refusal("the password is too easy to guess: choose another")
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


Known = tuple[Who, str] | None  # somebody and the stamp of their log-in, or nobody
Reading = Callable[[], AbstractContextManager[Store]]


class Identity:
    """Users and tokens as the store has them; an answer is believed for 2 s.

    So a role taken away by another process holds 2 s later, one taken away on this
    server's own pages at once (``forget``). code : opens the door of the machine's own
    user, who stays in as long as it is the same; "" : they have no door.
    """

    def __init__(
        self,
        reading: Reading,
        now: Callable[[], float] = time.monotonic,
        code: str = "",
    ) -> None:
        self._reading, self._now = reading, now
        self._door = stamp_of(code) if code else None
        self._local = Who(whoami(), "admin")
        self._lock = Lock()
        self._accounts: dict[tuple[str, str], tuple[float, Known]] = {}

    def of_user(self, name: str, stamp: str) -> Who | None:
        """A user who may log in, if password and role are still those of ``stamp``.

        name : "" is the machine's own user.
        """
        if not name:
            return self._local if stamp == self._door else None
        account = self._remembered(("user", name), self._user)
        return account[0] if account is not None and account[1] == stamp else None

    def named(self, name: str) -> Who | None:
        """A user who may log in; the machine's own user, where no other has the name.

        None for everybody else.
        """
        account = self._remembered(("user", name), self._user)
        if account is None:
            return self._local if name == self._local.name else None
        return account[0]

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
        with self._reading() as store:
            user = find_user(store, name)
        if user is None or user.disabled:
            return None
        return Who(name, user.role), stamp_of(user.password, user.role)

    def _token(self, digest: str) -> Known:
        with self._reading() as store:
            token = find_token(store, digest)
        return None if token is None else (Who(token.user, token.role), "")


class Members(Identity):
    """The people of one project of several: accounts are the server's, roles its own.

    An admin of the server is an admin of every project. Anybody else has the role that
    the project gives them, and none without an account of the server. A token is of the
    server, for every project of its owner, or of this project; it never may more than
    its owner in this project.
    """

    def __init__(
        self,
        server: Identity,
        reading: Reading,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(reading, now)
        self._server = server

    def of_user(self, name: str, stamp: str) -> Who | None:
        """A user of the server, in the role that they have here."""
        who = self._server.of_user(name, stamp)
        return None if who is None else self.here(who)

    def of_token(self, secret: str) -> Who | None:
        """The person a token speaks for, in the role that both have here."""
        token = self._server.of_token(secret) or super().of_token(secret)
        owner = None if token is None else self._server.named(token.name)
        here = None if owner is None else self.here(owner)
        if token is None or here is None:
            return None
        return token if here.may(token.role) else here

    def here(self, who: Who) -> Who | None:
        """A user of the server, in the role that they have here; None for none."""
        if who.role == "admin":
            return who
        account = self._remembered(("user", who.name), self._user)
        return None if account is None else account[0]


def stamp_of(*parts: str) -> str:
    """What tells a password's hash and a role from others, and gives them not away."""
    return sha256("\n".join(parts).encode()).hexdigest()[:16]

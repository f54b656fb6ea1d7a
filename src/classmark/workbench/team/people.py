"""People: who may use a project, as what, and the tokens that programs use.

Passwords come here hashed. Of a token only the digest is kept: its secret is told once.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from classmark.problems import Mistake
from classmark.workbench.store.log import now

if TYPE_CHECKING:
    from classmark.workbench.store.store import Store


ROLES = ("reader", "classifier", "admin")
_PREFIX = "cmk_"  # a secret is known for one where it is found
_USER = "SELECT name, password, role, added, disabled FROM users"
_TOKEN = "SELECT id, owner, role, label, created, expires, revoked, digest FROM tokens"  # noqa: S105 (no password)


class User(NamedTuple):
    """A person; password : its hash;  disabled : may not log in any more."""

    name: str
    password: str
    role: str
    added: str
    disabled: bool


class Token(NamedTuple):
    """A key of a program; revoked : since when it opens nothing."""

    id: str
    user: str
    role: str
    label: str
    created: str
    expires: str | None
    revoked: str | None
    digest: str

    @property
    def is_open(self) -> bool:
        """Whether it is neither revoked nor past its day."""
        return self.revoked is None and (self.expires is None or now() < self.expires)


def add_user(store: Store, name: str, password: str, role: str = "classifier") -> User:
    """Add a person. password : its hash, never the password itself."""
    if not name.strip() or not name.isprintable() or name != name.strip():
        raise Mistake(f"the name {name!r} cannot be used: give visible characters")
    _require_role(role)
    _require_hash(password)
    with store.transaction():
        if find_user(store, name) is not None:
            raise Mistake(
                f"there is a user {name!r} already: choose another name, or give a new "
                "password with classmark users password"
            )
        store.run(
            "INSERT INTO users (name, password, role, added) VALUES (?, ?, ?, ?)",
            (name, password, role, now()),
        )
    return user_of(store, name)


def users(store: Store) -> list[User]:
    """Everybody, by name; also those who may not log in any more."""
    return [_user(*row) for row in store.run(f"{_USER} ORDER BY name")]


def find_user(store: Store, name: str) -> User | None:
    """A person by name, or None."""
    row = store.run(f"{_USER} WHERE name = ?", (name,)).fetchone()
    return None if row is None else _user(*row)


def user_of(store: Store, name: str) -> User:
    """A person by name; a ``Mistake`` where there is none."""
    found = find_user(store, name)
    if found is None:
        raise Mistake(f"there is no user {name!r}: see classmark users list")
    return found


def set_password(store: Store, name: str, password: str) -> None:
    """Give a person another password. password : its hash."""
    _require_hash(password)
    _change(store, name, "UPDATE users SET password = ? WHERE name = ?", password)


def set_role(store: Store, name: str, role: str) -> None:
    """Let a person be a reader, a classifier or an admin."""
    _require_role(role)
    _change(store, name, "UPDATE users SET role = ? WHERE name = ?", role)


def disable(store: Store, name: str, *, disabled: bool = True) -> None:
    """Let a person log in no more, nor any token of theirs, or let them again.

    Their acts keep their name.
    """
    _change(store, name, "UPDATE users SET disabled = ? WHERE name = ?", int(disabled))


def add_token(
    store: Store, user: str, role: str, label: str = "", days: float | None = None
) -> tuple[str, str]:
    """Make a token; return its id and its secret, which is kept nowhere.

    user : under whose name it acts;  days : how long it opens; None, until revoked.
    """
    _require_role(role)
    if days is not None and not 0 < days < 36_500:
        raise Mistake(f"days is {days}: give a number above 0, or leave it out")
    id_, secret = secrets.token_hex(4), _PREFIX + secrets.token_urlsafe(32)
    expires = None
    if days is not None:
        end = datetime.now(UTC) + timedelta(days=days)
        expires = end.isoformat(timespec="milliseconds")
    store.run(
        "INSERT INTO tokens (id, owner, role, digest, label, created, expires) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (id_, user, role, digest_of(secret), label, now(), expires),
    )
    return id_, secret


def tokens(store: Store, user: str | None = None) -> list[Token]:
    """All tokens, or those of one person, the newest first; also revoked ones."""
    if user is None:
        found = store.run(f"{_TOKEN} ORDER BY created DESC, id")
    else:
        found = store.run(
            f"{_TOKEN} WHERE owner = ? ORDER BY created DESC, id", (user,)
        )
    return [Token._make(row) for row in found]


def find_token(store: Store, digest: str) -> Token | None:
    """The token of a digest, if it opens anything now; else None."""
    row = store.run(f"{_TOKEN} WHERE digest = ?", (digest,)).fetchone()
    if row is None:
        return None
    token = Token._make(row)
    owner = find_user(store, token.user)
    return token if token.is_open and not (owner and owner.disabled) else None


def revoke(store: Store, id_: str) -> None:
    """Let a token open nothing from now on; twice is once."""
    with store.transaction():
        if not store.run("SELECT 1 FROM tokens WHERE id = ?", (id_,)).fetchone():
            raise Mistake(f"there is no token {id_!r}: see classmark tokens list")
        store.run(
            "UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL",
            (now(), id_),
        )


def digest_of(secret: str) -> str:
    """What is kept of a token's secret.

    >>> digest_of("cmk_x")[:8]
    '37632a98'
    """
    return sha256(secret.encode()).hexdigest()


def _user(name: str, password: str, role: str, added: str, disabled: int) -> User:
    return User(name, password, role, added, bool(disabled))


def _change(store: Store, name: str, sql: str, value: str | int) -> None:
    with store.transaction():
        user_of(store, name)
        store.run(sql, (value, name))


def _require_role(role: str) -> None:
    if role not in ROLES:
        raise Mistake(f"the role {role!r} is unknown: use {', '.join(ROLES)}")


def _require_hash(password: str) -> None:
    if not password.startswith("$argon2"):
        raise Mistake("a password is kept only as its argon2 hash: hash it first")

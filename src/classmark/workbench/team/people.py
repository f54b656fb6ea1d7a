"""People: who may use a project, in which role, and the tokens that programs use.

Passwords come here hashed. Of a token only the digest is stored: its secret is shown
once.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from classmark.language import N_
from classmark.problems import refusal, worded
from classmark.workbench.store.log import now

if TYPE_CHECKING:
    from classmark.workbench.store.store import Store


ROLES = (N_("reader"), N_("classifier"), N_("admin"))
NO_PASSWORD = "$argon2-none"  # noqa: S105 - no hash: the account is another store's
PREFIX = "cmk_"  # by which a secret is recognized wherever it turns up
ACCOUNTS = "SELECT name, password, role, added, disabled FROM users"
ADD_ACCOUNT = "INSERT INTO users (name, password, role, added) VALUES (?, ?, ?, ?)"
CHANGE_ACCOUNT = """
UPDATE users SET password = coalesce(?, password), role = coalesce(?, role),
  disabled = coalesce(?, disabled)
WHERE name = ?
"""
TOKENS = """
SELECT t.id, owner, t.role, label, created, expires, revoked, digest, u.role
FROM tokens AS t LEFT JOIN users AS u ON u.name = owner
"""
ADD_TOKEN = """
INSERT INTO tokens (id, owner, role, digest, label, created, expires)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""  # noqa: S105 (no password)
REVOKE = "UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL"


class Account(NamedTuple):
    """A person; password : its hash;  disabled : may not log in any more."""

    name: str
    password: str
    role: str
    added: str
    disabled: bool


class AccessToken(NamedTuple):
    """A key of a program; revoked : since when it opens nothing.

    role : what it opens, never more than its user may.
    """

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


def add_user(
    store: Store, name: str, password: str, role: str = "classifier"
) -> Account:
    """Add a person. password : its hash, never the password itself."""
    if not name.strip() or not name.isprintable() or name != name.strip():
        raise refusal(
            "the name %(name)r cannot be used: enter visible characters", name=name
        )
    _require_role(role)
    _require_hash(password)
    with store.transaction():
        if find_user(store, name) is not None:
            raise refusal(
                "there is a user %(name)r already: choose another name, or %(remedy)s",
                name=name,
                remedy=worded("give a new password with classmark users password"),
            )
        store.run(ADD_ACCOUNT, (name, password, role, now()))
    return user_of(store, name)


def users(store: Store) -> list[Account]:
    """Everybody, by name; also those who may not log in any more."""
    return [_account(row) for row in store.run(f"{ACCOUNTS} ORDER BY name")]


def has_admin(store: Store) -> bool:
    """Whether there is an admin who may log in."""
    return any(user.role == "admin" and not user.disabled for user in users(store))


def find_user(store: Store, name: str) -> Account | None:
    """A person by name, or None."""
    row = store.run(f"{ACCOUNTS} WHERE name = ?", (name,)).fetchone()
    return None if row is None else _account(row)


def user_of(store: Store, name: str) -> Account:
    """A person by name; a ``Mistake`` where there is none."""
    user = find_user(store, name)
    if user is None:
        raise refusal(
            "there is no user %(name)r: %(remedy)s",
            name=name,
            remedy=worded("see classmark users list"),
        )
    return user


def change_user(
    store: Store,
    name: str,
    *,
    password: str | None = None,
    role: str | None = None,
    disabled: bool | None = None,
) -> None:
    """Change what is not None. password : its hash.

    disabled : they may not log in, nor any token of theirs; their acts keep their name.
    """
    if password is not None:
        _require_hash(password)
    if role is not None:
        _require_role(role)
    with store.transaction():
        user_of(store, name)
        flag = None if disabled is None else int(disabled)
        store.run(CHANGE_ACCOUNT, (password, role, flag, name))


def add_token(
    store: Store, user: str, role: str, label: str = "", days: float | None = None
) -> tuple[str, str]:
    """Make a token; return its id and its secret, which is kept nowhere.

    user : under whose name it acts;  days : how long it opens; None, until revoked.
    """
    _require_role(role)
    if days is not None and not 0 < days < 36_500:
        raise refusal(
            "the number of days is %(days)s: enter a number above 0, or none", days=days
        )
    id_, secret = secrets.token_hex(4), PREFIX + secrets.token_urlsafe(32)
    expires = None
    if days is not None:
        end = datetime.now(UTC) + timedelta(days=days)
        expires = end.isoformat(timespec="milliseconds")
    digest = digest_of(secret)
    store.run(ADD_TOKEN, (id_, user, role, digest, label, now(), expires))
    return id_, secret


def tokens(store: Store, user: str | None = None) -> list[AccessToken]:
    """All tokens, or those of one person, the newest first; also revoked ones."""
    mine = "WHERE owner = coalesce(?, owner) ORDER BY created DESC, t.id"
    return [_token(row) for row in store.run(f"{TOKENS} {mine}", (user,))]


def find_token(store: Store, digest: str) -> AccessToken | None:
    """The token of a digest, if it opens anything now; else None."""
    row = store.run(f"{TOKENS} WHERE digest = ?", (digest,)).fetchone()
    if row is None:
        return None
    token = _token(row)
    owner = find_user(store, token.user)
    return token if token.is_open and not (owner and owner.disabled) else None


def revoke(store: Store, id_: str) -> None:
    """Let a token open nothing from now on; twice is once."""
    with store.transaction():
        if not store.run("SELECT 1 FROM tokens WHERE id = ?", (id_,)).fetchone():
            remedy = worded("see classmark tokens list")
            raise refusal("there is no token %(id)r: %(remedy)s", id=id_, remedy=remedy)
        store.run(REVOKE, (now(), id_))


def digest_of(secret: str) -> str:
    """What is kept of a token's secret.

    >>> digest_of("cmk_x")[:8]
    '37632a98'
    """
    return sha256(secret.encode()).hexdigest()


def _account(row: tuple[str, str, str, str, int]) -> Account:
    return Account._make((*row[:-1], bool(row[-1])))


def _token(row: tuple[Any, ...]) -> AccessToken:
    *columns, users_role = row  # None where there is no such user
    token = AccessToken._make(columns)
    least = min(token.role, users_role or token.role, key=ROLES.index)
    return token._replace(role=least)


def _require_role(role: str) -> None:
    if role not in ROLES:
        raise refusal(
            "the role %(role)r is unknown: use %(roles)s",
            role=role,
            roles=", ".join(ROLES),
        )


def _require_hash(password: str) -> None:
    if not password.startswith("$argon2"):
        raise refusal("a password is kept only as its argon2 hash: hash it first")

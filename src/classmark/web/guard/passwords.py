"""Passwords: hashed with argon2id, compared slowly, a few at a time."""

from __future__ import annotations

from functools import cache
from threading import BoundedSemaphore
from typing import TYPE_CHECKING

from classmark.problems import Mistake

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST, LONGEST = 12, 1024
_AT_ONCE = BoundedSemaphore(2)  # each takes 64 MiB


def hash_password(password: str, name: str) -> str:
    """The argon2 hash of a password that is long enough and not the name.

    >>> hash_password("short", "ada")
    Traceback (most recent call last):
    ...
    classmark.problems.Mistake: the password has 5 characters: give at least 12
    """
    if len(password) < SHORTEST:
        raise Mistake(
            f"the password has {len(password)} characters: give at least {SHORTEST}"
        )
    if len(password) > LONGEST:
        raise Mistake(f"the password is longer than {LONGEST} characters: shorten it")
    if name.lower() in password.lower() or len(set(password)) < 5:
        raise Mistake("the password is too easy to guess: choose another")
    with _AT_ONCE:
        return _hasher().hash(password)


def fits(password: str, hashed: str | None) -> bool:
    """Whether a password is the one that was hashed; None takes as long, and never."""
    from argon2.exceptions import Argon2Error, InvalidHashError

    with _AT_ONCE:
        try:
            known = _hasher().verify(hashed or _nobody(), password[:LONGEST])
        except (Argon2Error, InvalidHashError):
            return False
    return known and hashed is not None


@cache
def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher

    return PasswordHasher()


@cache
def _nobody() -> str:
    return _hasher().hash("nobody has this password")

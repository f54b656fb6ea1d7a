"""What PostgreSQL refuses, told as it is told of SQLite's file."""

from __future__ import annotations

import sqlite3
from typing import NoReturn

import psycopg
from psycopg import errors

from classmark.problems import DamagedFolder, Mistake

_REMEDIES = (
    (
        errors.InsufficientPrivilege,
        "written",
        "let this user create and change tables there",
    ),
    (errors.DiskFull, "written", "make room on its disk, then repeat"),
    (
        psycopg.OperationalError,
        "used",
        "see that the server runs and has room, then repeat",
    ),
    (psycopg.Error, "used", "see that the server is well, or restore a backup"),
)


def refuse(place: str, problem: psycopg.Error) -> NoReturn:
    """Tell a problem as it is told of SQLite's file."""
    said = first_line(problem)
    match problem:
        case psycopg.IntegrityError():
            raise sqlite3.IntegrityError(said) from problem
        case errors.NumericValueOutOfRange():
            raise OverflowError(said) from problem
        case errors.LockNotAvailable():
            raise Mistake(
                f"{place} is in use by another process: try again in a moment"
            ) from problem
        case psycopg.DataError():
            raise Mistake(f"{place} cannot keep this ({said}): correct it") from problem
        case errors.InsufficientPrivilege():
            pass
        case psycopg.ProgrammingError() | errors.InFailedSqlTransaction():
            raise problem
    done, remedy = next(told for kind, *told in _REMEDIES if isinstance(problem, kind))
    raise DamagedFolder(f"{place} cannot be {done} ({said}): {remedy}") from problem


def first_line(problem: psycopg.Error) -> str:
    """What is wrong, in a line."""
    return problem.diag.message_primary or str(problem).strip().split("\n")[0]

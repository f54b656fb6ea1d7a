"""Times as people read them: by the clock of this machine."""

from __future__ import annotations

from datetime import datetime


def by_the_clock(at: str) -> str:
    """A time of the log in words; what is no time stays as it is.

    >>> len(by_the_clock("2026-01-02T03:04:05.678+00:00"))
    19
    """
    try:
        return f"{datetime.fromisoformat(at).astimezone():%Y-%m-%d %H:%M:%S}"
    except ValueError:
        return at

"""Tries: how often somebody may guess a password."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from threading import Lock

from classmark.web.guard.refusing import Refused

WITHIN = 300.0
PER_ADDRESS = 10
PER_NAME = 30
MOST = 10_000


class Tries:
    """Failures of the last five minutes, by address and by name.

    >>> tries = Tries(now=lambda: 0.0)
    >>> for _ in range(10):
    ...     tries.check("192.0.2.1", "ada")
    ...     tries.failed("192.0.2.1", "ada")
    >>> tries.check("192.0.2.1", "ada")
    Traceback (most recent call last):
    ...
    classmark.web.guard.refusing.Refused: 429: Too many log-ins failed: wait 300 seconds
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = Lock()
        self._failures: dict[tuple[str, str], deque[float]] = {}

    def check(self, address: str, name: str) -> None:
        """Refuse, 429, where too many have failed."""
        now = self._now()
        with self._lock:
            waits = [
                self._wait(("address", address), PER_ADDRESS, now),
                self._wait(("name", name), PER_NAME, now),
            ]
        seconds = int(max(waits))
        if seconds:
            raise Refused(
                429,
                f"Too many log-ins failed: wait {seconds} seconds",
                {"Retry-After": str(seconds)},
            )

    def failed(self, address: str, name: str) -> None:
        """Note a failure."""
        now = self._now()
        with self._lock:
            if len(self._failures) >= MOST:
                self._forget_old(now)
            for key in (("address", address), ("name", name)):
                self._failures.setdefault(key, deque(maxlen=PER_NAME)).append(now)

    def _wait(self, key: tuple[str, str], most: int, now: float) -> float:
        found = self._failures.get(key, deque())
        while found and now - found[0] >= WITHIN:
            found.popleft()
        return max(1.0, found[-most] + WITHIN - now) if len(found) >= most else 0.0

    def _forget_old(self, now: float) -> None:
        self._failures = {
            key: found
            for key, found in self._failures.items()
            if now - found[-1] < WITHIN
        }
        while len(self._failures) >= MOST:
            del self._failures[next(iter(self._failures))]

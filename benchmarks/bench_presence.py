"""What it costs a server to note who is here: open documents and sessions, in SQLite.

Run with ``python benchmarks/bench_presence.py [FOLDER]`` (FOLDER: on the disk to be
tried). Microseconds of the processor for each call, of two rounds.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from classmark.web.guard.auth import Sessions
from classmark.workbench.store.presence import FILE, Presence
from classmark.workbench.store.sqlite import EmbeddedBeside
from classmark.workbench.team.claims import Claims

TIMES, PEOPLE = 300, 20


def microseconds(call: Callable[[int], object]) -> float:
    """Processor time of one call of many."""
    started = time.thread_time()
    for at in range(TIMES):
        call(at)
    return 1e6 * (time.thread_time() - started) / TIMES


def main() -> None:
    """Measure each call twice."""
    with tempfile.TemporaryDirectory(dir=(sys.argv[1:] or [None])[0]) as folder:
        presence = Presence(EmbeddedBeside(Path(folder) / FILE))
        claims, sessions = Claims(presence), Sessions(presence)
        secret = sessions.open("ada")
        calls: dict[str, Callable[[int], object]] = {
            "open": lambda at: claims.take(f"d{at}", f"p{at % PEOPLE}"),
            "holders": lambda _: claims.holders(),
            "close": lambda at: claims.release(f"d{at}", f"p{at % PEOPLE}"),
            "session known": lambda _: sessions.find(secret),
            "session looked up": lambda _: Sessions(presence).find(secret),
        }
        for _ in range(2):
            for name, call in calls.items():
                print(f"{name}: {microseconds(call):.1f} µs", flush=True)
        presence.close()


if __name__ == "__main__":
    main()

"""Which machines does a command use? Those it names, or this process alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from classmark.machines.cluster import Machines
from classmark.problems import Mistake
from classmark.spreading import spread_by


@contextmanager
def machines_for(workers: int | None, on: str | None) -> Iterator[Machines | None]:
    """Start workers, or go to those that are there; None where nobody asked for any.

    What is spread inside (``classmark.spreading``) is spread over them.
    """
    if workers is not None and on is not None:
        raise Mistake("--workers starts machines, --on names them: give one of both")
    if workers is None and on is None:
        yield None
        return
    opened = Machines.at(on) if on is not None else Machines.local(workers or 0)
    with opened as machines, spread_by(machines):
        yield machines

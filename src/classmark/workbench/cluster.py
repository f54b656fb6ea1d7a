"""Which machines does a command use? Those it names, or this process alone."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from classmark.machines.cluster import Machines, require_dask
from classmark.problems import Mistake
from classmark.spreading import spread_by


@contextmanager
def machines_for(
    workers: int | None, on: str | None, *, dashboard: bool = False
) -> Iterator[Machines | None]:
    """Start workers, or go to those that are there; None where nobody asked for any.

    What is spread inside (``classmark.spreading``) is spread over them.
    """
    if workers is not None and on is not None:
        raise Mistake("--workers starts machines, --on names them: give one of both")
    if dashboard and workers is None:
        raise Mistake("--dashboard is of the machines that --workers starts: give it")
    if workers is None and on is None:
        yield None
        return
    require_dask()
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # we say it ourselves
    if on is not None:
        opened = Machines.at(on)
    else:
        opened = Machines.local(workers or 0, dashboard=dashboard)
    with opened as machines, spread_by(machines):
        yield machines

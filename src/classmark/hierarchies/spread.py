"""Nodes learn on many machines: what they learn from is a folder that all of them see.

The documents are written once and mapped by every worker; a task is some nodes, and
what they learn is a file written whole. Nothing but numbers travels.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Condition
from typing import Any, NamedTuple

from classmark.hierarchies.descending.pieces import Piece
from classmark.hierarchies.finished import PIECES, Finished, write_pieces
from classmark.hierarchies.lessons import Lessons, Nodes
from classmark.hierarchies.training import Plan, Settings, learn_node, plan
from classmark.problems import DamagedFolder
from classmark.progress import track
from classmark.solvers.sparse.store import bytes_in
from classmark.spreading import Spreader

LOG = logging.getLogger(__name__)
LESSONS = "lessons"  # the folder of what nodes learn from
USABLE = 0.75  # of a worker's memory: Dask lets it rest from 0.8 on
FOOTPRINT = 250e6  # bytes of a worker that has read the library and does nothing
#: Rough seconds of a node, and of each value × daughter by its base.
EACH, PER_CELL = 1e-3, {"svm": 3e-8, "logistic": 1e-7, "naive-bayes": 1e-8}
LEAST, MOST = 0.3, 30.0  # seconds of a task
FEW, MANY = 8, 64  # tasks of a worker: at least, and where all are long


class Lesson(NamedTuple):
    """An inner node that is to learn, and how."""

    at: int
    plan: Plan


class Told(NamedTuple):
    """Inner nodes that have learned, and the seconds they took together."""

    nodes: list[int]
    seconds: float


class Classroom:
    """What a worker has while nodes learn: the lessons, mapped, and so much room.

    folder : of the training;  room : bytes for all that learn here at once. It travels
    as its description, and opens the lessons where it is first asked.
    """

    def __init__(self, folder: Path, settings: Settings, room: float) -> None:
        self.folder, self.settings, self.room = folder, settings, room
        self._taken: list[float] = []
        self._lock = Condition()
        self._lessons: Lessons | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Classroom, (self.folder, self.settings, self.room)

    def lessons(self) -> Lessons:
        """What nodes learn from, once checksums are compared."""
        with self._lock:
            if self._lessons is None:
                self._lessons = Lessons.open(self.folder / LESSONS)
            return self._lessons

    @contextmanager
    def seat(self, need: float) -> Iterator[None]:
        """Wait until there is room, or nobody else."""
        with self._lock:
            self._lock.wait_for(
                lambda: sum(self._taken, need) <= self.room or not self._taken
            )
            self._taken.append(need)
        try:
            yield
        finally:
            with self._lock:
                self._taken.remove(need)
                self._lock.notify_all()


def learn_spread(
    machines: Spreader,
    nodes: Nodes,
    settings: Settings,
    left: Sequence[int],
    done: Finished,
) -> None:
    """Let workers learn the nodes that are left, given the largest first."""
    machines.require_folder(done.folder)
    room, given = _room(machines, nodes, settings)
    plans = [Lesson(at, plan(nodes, at, settings.base, room, given)) for at in left]
    folder = done.folder.absolute()
    _save(nodes, folder / LESSONS)
    (folder / PIECES).mkdir(exist_ok=True)
    tasks = batches(nodes, plans, settings.base, max(1, machines.workers))
    shared = [Classroom(folder, settings, room)]
    for _ in track(_done(machines, tasks, shared), "nodes", len(left)):
        pass
    done.look()


def _save(nodes: Lessons, folder: Path) -> None:
    """Write what nodes learn from, if it is not there and whole."""
    if folder.exists():
        try:
            Lessons.open(folder)
        except DamagedFolder:
            shutil.rmtree(folder)
        else:
            return
    nodes.save(folder)


def _done(
    machines: Spreader, tasks: Sequence[Sequence[Lesson]], shared: Sequence[Any]
) -> Iterator[int]:
    for _, told in machines.spread(learn_batch, tasks, shared):
        LOG.debug("%d nodes in %.2f s", len(told.nodes), told.seconds)
        yield from told.nodes


def learn_batch(batch: Sequence[Lesson], room: Classroom) -> Told:
    """Learn some nodes on a worker, and write what they have learned."""
    started, nodes, lessons = time.monotonic(), [n.at for n in batch], room.lessons()

    def pieces() -> Iterator[tuple[int, Piece]]:
        for at, how in batch:
            with room.seat(how.need):
                yield at, learn_node(lessons, at, room.settings, sparse=how.sparse)

    try:
        write_pieces(room.folder, nodes, pieces())
    except OSError as problem:
        raise OSError(
            problem.errno,
            f"{problem.strerror}, while nodes were written: make room and repeat the "
            "command; what is finished is kept",
            str(room.folder),
        ) from problem
    return Told(nodes, time.monotonic() - started)


def batches(
    nodes: Lessons, order: Sequence[Lesson], base: str, workers: int
) -> list[list[Lesson]]:
    """Tasks of consecutive nodes, each long enough to be worth its way.

    A task takes ``LEAST`` seconds by estimate, less where a worker would have fewer
    than ``FEW`` tasks, more where it would have more than ``MANY``.
    """
    cells = nodes.values * nodes.daughters
    seconds = [EACH + PER_CELL[base] * float(cells[lesson.at]) for lesson in order]
    total = sum(seconds)
    wanted = min(
        max(LEAST, min(total / (MANY * workers), MOST)), total / (FEW * workers)
    )
    found: list[list[Lesson]] = [[]]
    filled = 0.0
    for lesson, each in zip(order, seconds, strict=True):
        if filled >= wanted:
            found.append([])
            filled = 0.0
        found[-1].append(lesson)
        filled += each
    return found


def forget(folder: Path) -> None:
    """Remove what workers learned from: the whole model is there by now."""
    shutil.rmtree(folder / LESSONS, ignore_errors=True)


def _room(machines: Spreader, nodes: Lessons, settings: Settings) -> tuple[float, str]:
    """What learning may take on a worker beside the documents, and who says so."""
    asked, limit = bytes_in(settings.memory), machines.memory
    free = USABLE * limit - FOOTPRINT - nodes.size_bytes
    if not limit or asked <= free:
        return asked, f"memory={settings.memory!r}"
    return max(0.0, free), (
        f"workers of {limit / 1e9:.2g} GB, of which documents and library leave "
        f"{max(0.0, free) / 1e9:.2g} GB"
    )

"""All nodes of a tree learn, the largest first: here, or on many machines.

The documents are written once and mapped by every worker; a task is some nodes, and
what they learn is a file written whole. Nothing but numbers travels.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Condition
from typing import Any, NamedTuple

import numpy as np

from classmark.hierarchies.descent import NodeWeights, TrainedNodes, gather, piece_of
from classmark.hierarchies.model_files import (
    PIECES,
    Finished,
    SavedModel,
    keep_again,
    keep_pieces,
    open_model,
    tidy,
    write_pieces,
)
from classmark.hierarchies.nodes import NOWHERE, fit_margins, fit_node
from classmark.hierarchies.places import Lessons, Nodes, Places
from classmark.problems import DamagedFolder, Mistake
from classmark.progress import track
from classmark.rankers.preference import PreferenceRanker
from classmark.sparse import Rows, keep_columns
from classmark.spreading import Spreader, spreader
from classmark.validation import byte_size


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """How nodes learn: ``TopDownClassifier`` explains each."""

    base: str
    C: float
    tol: float
    drop: float
    n_jobs: int
    memory: str | float

    def learned_by(self) -> tuple[Any, ...]:
        """What decides the weights."""
        return self.base, float(self.C), float(self.tol), float(self.drop)


def train(nodes: Nodes, settings: NodeSettings) -> TrainedNodes:
    """Learn all nodes."""
    order = largest_first(nodes)
    pieces = dict(track(learned(nodes, settings, order), "nodes", len(order)))
    return gather(nodes.shape, [pieces[at] for at in range(len(nodes.shape))])


def fingerprint(nodes: Nodes, settings: NodeSettings) -> str:
    """A digest of the documents, where they stand, the tree and the settings."""
    digest = hashlib.blake2b(digest_size=16)
    rows, documents, shape = nodes.rows, nodes.places.documents, nodes.shape
    for array in (
        rows.starts, rows.columns, rows.values, documents.starts, documents.columns,
        shape.order, shape.starts, shape.codes,
    ):  # fmt: skip
        digest.update(str(array.dtype).encode())
        digest.update(np.ascontiguousarray(array).data)
    digest.update(repr((rows.width, *settings.learned_by())).encode())
    digest.update(repr(nodes.places.tree.nodes).encode())
    return digest.hexdigest()


def largest_first(nodes: Nodes) -> list[int]:
    """All inner nodes, by what there is to be done: values × daughters."""
    work = nodes.values * nodes.daughters
    return [int(at) for at in np.argsort(-work, kind="stable")]


class NodeTask(NamedTuple):
    """An inner node that is to learn, the bytes it needs, and whether sparse weights.

    Weights that are kept sparse while a node learns need less.
    """

    at: int
    need: float
    sparse: bool


def learned(
    nodes: Nodes, settings: NodeSettings, order: Sequence[int]
) -> Iterator[tuple[int, NodeWeights]]:
    """Learn nodes in ``n_jobs`` threads; a node waits until its memory is free.

    Yields each number and piece as it is done.
    """
    room: float = byte_size(settings.memory)
    limit = f"memory={settings.memory!r}"
    waiting = [plan(nodes, at, settings.base, room, limit) for at in order][::-1]
    running: dict[Future[NodeWeights], NodeTask] = {}
    with ThreadPoolExecutor(settings.n_jobs) as threads:
        while waiting or running:
            while waiting and len(running) < settings.n_jobs:
                if running and waiting[-1].need > room:
                    break
                lesson = waiting.pop()
                room -= lesson.need
                work = threads.submit(
                    learn_node, nodes, lesson.at, settings, sparse=lesson.sparse
                )
                running[work] = lesson
            for work in wait(running, return_when=FIRST_COMPLETED).done:
                lesson = running.pop(work)
                room += lesson.need
                yield lesson.at, work.result()


def plan(nodes: Nodes, at: int, base: str, room: float, limit: str) -> NodeTask:
    """How a node learns within ``room``; ``limit`` names that limit in a message."""
    need = nodes.need(at, base)
    if need > room:
        need = nodes.need(at, base, m=nodes.features(at))
    if need <= room:
        return NodeTask(at, need, sparse=False)
    lean = nodes.need(at, base, sparse=True)
    if base == "svm" and lean <= room:
        return NodeTask(at, lean, sparse=True)
    least, remedy = need, "use base='svm', whose weights can be kept sparse, "
    if base == "svm":
        least, remedy = min(need, lean), "use fewer features, "
    raise Mistake(
        f"{limit}: the node {nodes.name(at)} with {nodes.daughters[at]} daughters "
        f"needs about {least / 1e9:.2g} GB to learn: {remedy}or allow more"
    )


def learn_node(
    nodes: Lessons, at: int, settings: NodeSettings, *, sparse: bool
) -> NodeWeights:
    """What one inner node learns."""
    rows, owners = nodes.documents(at), nodes.owners(at)
    base, C, tol, drop = settings.learned_by()
    if sparse:
        return piece_of(*_sparsely(rows, owners, C, tol), base, drop)
    return piece_of(*fit_node(rows, owners, base, C, tol), base, drop)


def _sparsely(rows: Rows, owners: Rows, C: float, tol: float) -> tuple[Any, Any, Any]:
    """Learn the same as ``fit_node`` for "svm", less a part all daughters share."""
    from scipy.sparse import csr_matrix

    some = np.unique(owners.columns)
    ranker = PreferenceRanker("dom", C, tol, memory="1B")
    features, fitted, learned = fit_margins(rows, keep_columns(owners, some), ranker)
    parts: Any = (fitted.data, some[fitted.indices], fitted.indptr)
    weights = csr_matrix(parts, shape=(len(features), owners.width))
    bias = np.full(owners.width, NOWHERE)
    bias[some] = learned
    return features, weights, bias


LESSONS = "lessons"  # the folder of what nodes learn from
USABLE = 0.75  # of a worker's memory: Dask lets it rest from 0.8 on
FOOTPRINT = 250e6  # bytes of a worker that has read the library and does nothing
#: Rough seconds of a node, and of each value × daughter by its base.
EACH, PER_CELL = 1e-3, {"svm": 3e-8, "logistic": 1e-7, "naive-bayes": 1e-8}
LEAST, MOST = 0.3, 30.0  # seconds of a task
FEW, MANY = 8, 64  # tasks of a worker: at least, and where all are long


class NodeWorker:
    """What a worker has while nodes learn: their documents, mapped, and its memory.

    folder : of the training;  room : bytes for all nodes that learn here at once. It
    travels as its description, and opens the documents where they are first needed.
    """

    def __init__(self, folder: Path, settings: NodeSettings, room: float) -> None:
        self.folder, self.settings, self.room = folder, settings, room
        self._taken: list[float] = []
        self._lock = Condition()
        self._lessons: Lessons | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return NodeWorker, (self.folder, self.settings, self.room)

    def lessons(self) -> Lessons:
        """What nodes learn from, once checksums are compared."""
        with self._lock:
            if self._lessons is None:
                self._lessons = Lessons.open(self.folder / LESSONS)
            return self._lessons

    @contextmanager
    def memory(self, need: float) -> Iterator[None]:
        """Wait until there are so many bytes, or nobody else learns."""
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
    settings: NodeSettings,
    left: Sequence[int],
    done: Finished,
) -> None:
    """Let workers learn the nodes that are left, given the largest first."""
    machines.require_folder(done.folder)
    room, limit = _room(machines, nodes, settings)
    order = [plan(nodes, at, settings.base, room, limit) for at in left]
    folder = done.folder.absolute()
    try:
        if (folder / LESSONS).exists():
            Lessons.open(folder / LESSONS)
    except DamagedFolder:
        shutil.rmtree(folder / LESSONS)
    if not (folder / LESSONS).exists():
        nodes.save(folder / LESSONS)
    (folder / PIECES).mkdir(exist_ok=True)
    tasks = batches(nodes, order, settings.base, max(1, machines.workers))
    shared = [NodeWorker(folder, settings, room)]
    batches_done = machines.spread(learn_batch, tasks, shared)
    every = (at for _, batch in batches_done for at in batch)
    for _ in track(every, "nodes", len(left)):
        pass
    done.look()


def learn_batch(batch: Sequence[NodeTask], worker: NodeWorker) -> list[int]:
    """Learn some nodes on a worker, and write what they have learned; return which."""
    lessons = worker.lessons()
    nodes = [lesson.at for lesson in batch]

    def pieces() -> Iterator[tuple[int, NodeWeights]]:
        for at, need, sparse in batch:
            with worker.memory(need):
                yield at, learn_node(lessons, at, worker.settings, sparse=sparse)

    try:
        write_pieces(worker.folder, nodes, pieces())
    except OSError as problem:
        raise OSError(
            problem.errno,
            f"{problem.strerror}, while nodes were written: make room and repeat the "
            "command; what is finished is kept",
            str(worker.folder),
        ) from problem
    return nodes


def batches(
    nodes: Lessons, order: Sequence[NodeTask], base: str, workers: int
) -> list[list[NodeTask]]:
    """Tasks of consecutive nodes, each long enough to be worth its way.

    A task takes ``LEAST`` seconds by estimate, less where a worker would have fewer
    than ``FEW`` tasks, more where it would have more than ``MANY``.
    """
    cells = nodes.values * nodes.daughters
    seconds = [EACH + PER_CELL[base] * float(cells[lesson.at]) for lesson in order]
    total = sum(seconds)
    target = min(
        max(LEAST, min(total / (MANY * workers), MOST)), total / (FEW * workers)
    )
    tasks: list[list[NodeTask]] = [[]]
    filled = 0.0
    for lesson, each in zip(order, seconds, strict=True):
        if filled >= target:
            tasks.append([])
            filled = 0.0
        tasks[-1].append(lesson)
        filled += each
    return tasks


def _room(
    machines: Spreader, nodes: Lessons, settings: NodeSettings
) -> tuple[float, str]:
    """Bytes for learning on a worker beside the documents, and what limits them."""
    requested, limit = byte_size(settings.memory), machines.memory
    free = USABLE * limit - FOOTPRINT - nodes.size_bytes
    if not limit or requested <= free:
        return requested, f"memory={settings.memory!r}"
    return max(0.0, free), (
        f"workers of {limit / 1e9:.2g} GB, of which documents and library leave "
        f"{max(0.0, free) / 1e9:.2g} GB"
    )


UNTRAINED = TrainedNodes((), 0.0)


def trained_in(
    folder: Path,
    nodes: Nodes,
    settings: NodeSettings,
    to_model: Callable[[Places, TrainedNodes, int], SavedModel],
) -> TrainedNodes:
    """Go on with the training in a folder; in the end its model is there, mapped.

    What was finished here is not done again by machines, nor the other way round. A
    finished model is written again where it was kept with other settings.
    """
    with Finished(folder, fingerprint(nodes, settings)) as done:
        model, width = folder / "model", nodes.rows.width
        tidy(folder)
        if not model.exists():
            left = [at for at in largest_first(nodes) if at not in done]
            machines = spreader()
            if machines is not None and left:
                learn_spread(machines, nodes, settings, left, done)
            else:
                pieces = learned(nodes, settings, left)
                for at, piece in track(pieces, "nodes", len(left)):
                    done.add(at, piece)
            every = (done.piece(at) for at in range(len(nodes.shape)))
            unmade = to_model(nodes.places, UNTRAINED, width)
            keep_pieces(model, unmade, nodes.shape, every)
        done.forget()
        shutil.rmtree(folder / LESSONS, ignore_errors=True)
        there = open_model(model)
        current = to_model(nodes.places, there.trained, width)
        if there.settings != current.settings:
            keep_again(folder, current)
            there = open_model(model)
    return there.trained

"""Trained trees on disk, mapped and not read; a training that was killed goes on.

On many machines the documents are written once and mapped by every worker; a task is
some nodes, and what they learn is a file written whole. Nothing but numbers travels.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from threading import Condition
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np

from classmark.arrays import Array, Rows, read_only
from classmark.hierarchies.nodes import (
    NAMES,
    SIXTEEN_BITS,
    NodeSettings,
    NodeTask,
    NodeWeights,
    TrainedNodes,
    largest_first,
    learn_node,
    learned,
    plan,
)
from classmark.hierarchies.places import Lessons, Nodes, Places, Shape
from classmark.problems import DamagedFolder, Mistake
from classmark.progress import Spreader, spreader, track
from classmark.storage import (
    FolderWriter,
    is_intact,
    locked_file,
    open_folder,
    pack_strings,
    remove_unfinished,
    save,
    sync_folder,
    unpack_strings,
    written_beside,
)
from classmark.taxonomy.tree import Dummy, Taxonomy
from classmark.validation import byte_size

FORMAT, VERSION = "classmark-top-down", 1
PIECEWISE = ("bias", "slope", "features", "offsets", "weight")
AGAIN = "model-again"  # beside a model that it is to replace


class SavedModel(NamedTuple):
    """A trained tree, as a folder holds it.

    taxonomy : as it was given, without dummy leaves;  settings : the classifier's.
    """

    taxonomy: Taxonomy
    places: Places
    trained: TrainedNodes
    settings: dict[str, Any]


def keep(folder: Path, model: SavedModel) -> None:
    """Write a new folder; it appears whole or not at all."""
    arrays, facts = _about(model)
    facts["dropped"] = model.trained.dropped
    weights = dict(zip(NAMES, model.trained.arrays, strict=True))
    save(folder, FORMAT, VERSION, weights | arrays, facts)


def keep_pieces(
    folder: Path, model: SavedModel, shape: Shape, pieces: Iterable[NodeWeights]
) -> None:
    """Write the same from the pieces of all inner nodes, one after the other.

    No more than one piece is in memory; ``model.trained`` is not used.
    """
    writer = FolderWriter(folder)
    small = np.dtype(np.uint16 if shape.widest <= SIXTEEN_BITS else np.uint32)
    features, entries, lost, whole = [0], [0], 0.0, 0.0
    try:
        for piece in pieces:
            for name in PIECEWISE:
                writer.append(name, getattr(piece, name))
            writer.append("daughter", piece.daughter.astype(small, copy=False))
            features.append(features[-1] + len(piece.features))
            entries.append(entries[-1] + len(piece.weight))
            lost, whole = lost + piece.lost, whole + piece.whole
        arrays, facts = _about(model)
        arrays |= {"starts": shape.starts, "codes": shape.codes}
        arrays["feature_starts"] = np.array(features, np.int64)
        arrays["entry_starts"] = np.array(entries, np.int64)
        for name, array in arrays.items():
            writer.put(name, array)
        facts["dropped"] = lost / whole if whole else 0.0
        writer.close(FORMAT, VERSION, facts)
    except BaseException:
        writer.discard()
        raise


def tidy(folder: Path) -> None:
    """Remove or complete what a process that was killed has left."""
    model, again = folder / "model", folder / AGAIN
    if again.exists() and not model.exists():
        again.rename(model)
    shutil.rmtree(again, ignore_errors=True)
    remove_unfinished(folder)
    if model.exists():
        sync_folder(folder)


def open_model(folder: Path) -> SavedModel:
    """Open a folder; its arrays are mapped, and read where documents come by.

    Files are compared with their checksums first, which reads each once.
    """
    saved = open_folder(folder, FORMAT, VERSION)
    arrays, settings = saved.arrays, dict(saved.settings)
    texts = unpack_strings(arrays["nodes"], arrays["nodes_ends"])
    nodes = [_read(node) for node in json.loads(f"[{','.join(texts)}]")]
    upper, lower = np.array(arrays["edges"]).T
    tree = Taxonomy.of_numbers(nodes, upper, lower)
    columns = np.array(arrays["labels_columns"])
    starts = np.array(arrays["labels_starts"])
    documents = Rows(starts, columns, np.ones(len(columns)), len(tree.leaf_numbers))
    trained = TrainedNodes(
        read_only([arrays[name] for name in NAMES]), settings.pop("dropped")
    )
    taxonomy, given = tree, settings.pop("given")
    if given < len(nodes):
        own = lower < given
        taxonomy = Taxonomy.of_numbers(nodes[:given], upper[own], lower[own])
    return SavedModel(taxonomy, Places(tree, documents), trained, settings)


def _about(model: SavedModel) -> tuple[dict[str, Array], dict[str, Any]]:
    """The tree and where documents stand in it, as arrays, and the settings."""
    tree, documents = model.places.tree, model.places.documents
    nodes, ends = pack_strings(
        [json.dumps(_node_json(node), ensure_ascii=False) for node in tree.nodes]
    )
    arrays: dict[str, Array] = {
        "edges": np.column_stack(tree.edge_numbers),
        "labels_starts": documents.starts,
        "labels_columns": documents.columns,
        "nodes": nodes,
        "nodes_ends": ends,
    }
    return arrays, {**model.settings, "given": len(model.taxonomy)}


def _node_json(node: Any) -> Any:
    """A category's name as JSON."""
    if isinstance(node, Dummy):
        return {"dummy": _node_json(node.of)}
    if isinstance(node, tuple):
        return {"tuple": [_node_json(part) for part in node]}
    if isinstance(node, np.generic):
        return node.item()
    if node is None or isinstance(node, str | int | float):
        return node
    raise Mistake(
        f"taxonomy: the category {node!r} cannot be saved: name categories by text, "
        "numbers or tuples of them"
    )


def _read(written: Any) -> Any:
    if not isinstance(written, dict):
        return written
    if "dummy" in written:
        return Dummy(_read(written["dummy"]))
    return tuple(_read(part) for part in written["tuple"])


TRAINING = ("classmark-top-down-training", 1)  # format and version
HEAD = struct.Struct("<4sIQQIIddI")  # sign, node, m, entries, d, bytes, Σw² (2), crc32
SEAL = struct.Struct("<I")
SIGN = b"NODE"
PIECES = "pieces"  # the folder of what others write
EVERY = 1.0  # seconds between two syncs


class Finished:
    """Pieces on disk, each with its checksum.

    ``nodes.bin`` is appended to here; the files of ``pieces`` were written whole by
    others (``write_pieces``). A record that was cut off is not counted, and is
    overwritten. The folder belongs to one training: other documents, another tree or
    other settings are refused.
    """

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.folder = folder
        self._claim(fingerprint)
        path = folder / "nodes.bin"
        self._where: dict[int, tuple[Path, int]] = {}
        self._file = locked_file(path, "r+b" if path.exists() else "w+b")
        if self._file is None:
            raise Mistake(
                f"{path}: another training is at work here: wait for its end, or give "
                "another folder"
            )
        whole = self._scan(path)
        self._file.seek(whole)
        self._file.truncate()
        self._synced = time.monotonic()
        self.look()

    def __contains__(self, node: object) -> bool:
        return node in self._where

    def look(self) -> None:
        """Find what others have written by now."""
        for path in sorted((self.folder / PIECES).glob("*.bin")):
            self._scan(path)

    def piece(self, node: int) -> NodeWeights:
        """What a finished node has learned."""
        path, start = self._where[node]
        with path.open("rb") as file:
            file.seek(start)
            for _, piece in _records(file, path.stat().st_size):
                return piece
        raise DamagedFolder(
            f"{path} does not match its checksums: delete {self.folder}"
        )

    def add(self, node: int, piece: NodeWeights) -> None:
        """Write one more piece; it is there after a kill."""
        self._where[node] = self.folder / "nodes.bin", self._file.tell()
        for part in _node_bytes(node, piece):
            self._file.write(part)
        self._file.flush()
        if time.monotonic() - self._synced > EVERY:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()

    def forget(self) -> None:
        """Remove the pieces: the whole model is elsewhere by now."""
        self._where.clear()
        self._file.truncate(0)
        shutil.rmtree(self.folder / PIECES, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _claim(self, fingerprint: str) -> None:
        mark = self.folder / "training"
        if not mark.exists():
            if self.folder.exists() and any(self.folder.glob("[!.]*")):
                raise Mistake(
                    f"{self.folder} is not empty and holds no training: give a new "
                    "folder, or an empty one"
                )
            save(mark, *TRAINING, {}, {"fingerprint": fingerprint})
        if open_folder(mark, *TRAINING).settings["fingerprint"] != fingerprint:
            raise Mistake(
                f"{self.folder} holds a training with other documents, another "
                "taxonomy or other settings: give another folder, or delete this one"
            )

    def _scan(self, path: Path) -> int:
        """Note where the whole records of a file begin; return where the last ends."""
        whole = 0
        with path.open("rb") as file:
            for node, _ in _records(file, path.stat().st_size):
                self._where[node] = path, whole
                whole = file.tell()
        return whole


def write_pieces(
    folder: Path, nodes: Sequence[int], pieces: Iterable[tuple[int, NodeWeights]]
) -> None:
    """Write pieces where ``Finished`` looks for them, as they come: all or none.

    The same nodes have the same file, whoever learns them.
    """
    digest = blake2b(repr(list(nodes)).encode(), digest_size=12).hexdigest()
    path = folder / PIECES / f"{digest}.bin"
    with written_beside(path) as beside, beside.open("xb") as file:
        for node, piece in pieces:
            file.writelines(_node_bytes(node, piece))
        file.flush()
        os.fsync(file.fileno())


def _node_bytes(node: int, piece: NodeWeights) -> tuple[bytes, bytes, bytes]:
    """One record: its head, the head's checksum, its body."""
    body = b"".join(np.ascontiguousarray(a).tobytes() for a in piece[:6])
    head = HEAD.pack(
        SIGN, node, len(piece.features), len(piece.weight), len(piece.bias),
        piece.daughter.itemsize, piece.lost, piece.whole, zlib.crc32(body),
    )  # fmt: skip
    return head, SEAL.pack(zlib.crc32(head)), body


def _records(file: BinaryIO, size: int) -> Iterator[tuple[int, NodeWeights]]:
    """Nodes and pieces from where a file stands; after each it stands at its end."""
    room = HEAD.size + SEAL.size
    while file.tell() + room <= size:
        head = file.read(HEAD.size)
        (seal,) = SEAL.unpack(file.read(SEAL.size))
        if zlib.crc32(head) != seal:
            return
        sign, node, m, entries, d, wide, lost, whole, crc = HEAD.unpack(head)
        lengths = (m, m + 1, entries, entries, d, d)
        kinds = [np.dtype(kind) for kind in ("u4", "u4", f"u{wide}", "f4", "f8", "f8")]
        sizes = [n * kind.itemsize for n, kind in zip(lengths, kinds, strict=True)]
        body = file.read(sum(sizes))
        if sign != SIGN or zlib.crc32(body) != crc:
            return
        starts = accumulate(sizes[:-1], initial=0)
        parts = zip(kinds, lengths, starts, strict=True)
        arrays = [np.frombuffer(body, kind, n, start) for kind, n, start in parts]
        yield node, NodeWeights._make([*arrays, lost, whole])


def fingerprint(nodes: Nodes, settings: NodeSettings) -> str:
    """A digest of the documents, where they stand, the tree and the settings."""
    digest = blake2b(digest_size=16)
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
    lessons = folder / LESSONS
    if not is_intact(lessons, lambda: Lessons.open(lessons)):
        nodes.save(lessons)
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
    unmade: SavedModel,
) -> TrainedNodes:
    """Go on with the training in a folder; in the end its model is there, mapped.

    unmade : the model without what its nodes learn.
    What was finished here is not done again by machines, nor the other way round. A
    finished model is written again where it was kept with other settings.
    """
    with Finished(folder, fingerprint(nodes, settings)) as done:
        model = folder / "model"
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
            keep_pieces(model, unmade, nodes.shape, every)
        done.forget()
        shutil.rmtree(folder / LESSONS, ignore_errors=True)
        there = open_model(model)
        if there.settings != unmade.settings:
            keep(folder / AGAIN, unmade._replace(trained=there.trained))
            model.rename(folder / ".model.replaced.writing")
            tidy(folder)  # which does the same after a kill
            there = open_model(model)
    return there.trained

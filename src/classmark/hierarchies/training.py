"""All nodes of a tree learn, the largest first, several at once, within a memory."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classmark.hierarchies.descending.pieces import Piece, piece_of
from classmark.hierarchies.descending.shape import Shape
from classmark.hierarchies.descending.trained import Trained, gather
from classmark.hierarchies.finished import Finished
from classmark.hierarchies.kept import Kept, keep, keep_again, open_kept, tidy
from classmark.hierarchies.nodes import NOWHERE, fit_node, in_use
from classmark.hierarchies.places import Places
from classmark.problems import Mistake
from classmark.progress import track
from classmark.solvers.sparse.store import bytes_in
from classmark.sparse import Rows, keep_columns, take, with_constant

#: What one dense weight takes while a node learns, beside itself.
BESIDE = {"svm": 8, "logistic": 8 * 26, "naive-bayes": 8 * 4}
Weights = tuple[NDArray[np.uint32], Any, NDArray[Any]]  # features, weights, bias
PER_DOCUMENT, PER_VALUE, PER_SPARSE_VALUE = 150, 40, 200


@dataclass(frozen=True, slots=True)
class Settings:
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


class Nodes:
    """The problem of each inner node: its documents, and the daughters they are of."""

    def __init__(self, rows: Rows, places: Places, shape: Shape) -> None:
        self.rows, self.places, self.shape = rows, places, shape
        self._members: Any = places.nodes_of().tocsc()
        self._members.sort_indices()

    def members(self, node: int) -> NDArray[np.int64]:
        """The documents of a node or below it, increasing."""
        starts = self._members.indptr
        found: NDArray[np.int64] = self._members.indices[
            starts[node] : starts[node + 1]
        ]
        return found

    @cached_property
    def values(self) -> NDArray[np.int64]:
        """How many values the documents of each inner node have, shape (inner,)."""
        lengths = np.diff(self.rows.starts)
        sums = [int(lengths[self.members(int(v))].sum()) for v in self.shape.order]
        return np.array(sums, np.int64)

    @cached_property
    def daughters(self) -> NDArray[np.int64]:
        """How many daughters each inner node has, shape (inner,)."""
        return np.diff(self.shape.starts)

    def documents(self, at: int) -> Rows:
        """The rows of an inner node's documents; of all documents: no copy."""
        chosen = self.members(int(self.shape.order[at]))
        return self.rows if len(chosen) == len(self.rows) else take(self.rows, chosen)

    def owners(self, at: int) -> Rows:
        """1 where a document of the node belongs to its daughter j, shape (n, d)."""
        node = int(self.shape.order[at])
        chosen = self.members(node)
        lists = [self.members(int(u)) for u in self.places.daughters(node)]
        place = np.searchsorted(chosen, np.concatenate(lists))
        owner = np.repeat(np.arange(len(lists)), [len(found) for found in lists])
        starts = np.zeros(len(chosen) + 1, np.int64)
        np.cumsum(np.bincount(place, minlength=len(chosen)), out=starts[1:])
        columns = owner[np.argsort(place, kind="stable")].astype(np.uint32)
        return Rows(starts, columns, np.ones(len(columns), np.float32), len(lists))

    def need(
        self, at: int, base: str, *, m: int | None = None, sparse: bool = False
    ) -> float:
        """Bytes that learning takes beside the documents, by a cautious estimate.

        m : how many features are used; without it, as many as there can be.
        """
        values, size = int(self.values[at]), self.rows.values.itemsize
        count = len(self.members(int(self.shape.order[at])))
        if sparse:
            return float(count * PER_DOCUMENT + values * PER_SPARSE_VALUE)
        m, d = min(self.rows.width, values) if m is None else m, self.daughters[at]
        fixed = count * PER_DOCUMENT + values * PER_VALUE
        return float(fixed + m * d * (size + BESIDE[base]))

    def features(self, at: int) -> int:
        """How many features the documents of an inner node use."""
        used = np.zeros(self.rows.width, bool)
        used[self.documents(at).columns] = True
        return int(np.count_nonzero(used))


def train(nodes: Nodes, settings: Settings, done: Finished | None = None) -> Trained:
    """Learn all nodes, or only those that are not finished yet."""
    pieces: dict[int, Piece] = dict(done.pieces) if done else {}
    left = [at for at in _largest_first(nodes) if at not in pieces]
    finished = _together(nodes, left, settings)
    for at, piece in track(finished, "nodes", len(left)):
        pieces[at] = piece
        if done:
            done.add(at, piece)
    return gather(nodes.shape, [pieces[at] for at in range(len(nodes.shape))])


def trained_in(
    folder: Path,
    nodes: Nodes,
    settings: Settings,
    kept: Callable[[Places, Trained, int], Kept],
) -> Trained:
    """Go on with the training in a folder; in the end its model is there, mapped.

    A finished model is written again where it was kept with other settings.
    """
    with Finished(folder, fingerprint(nodes, settings)) as done:
        model = folder / "model"
        tidy(folder)
        if not model.exists():
            trained = train(nodes, settings, done)
            keep(model, kept(nodes.places, trained, nodes.rows.width))
        done.forget()
        there = open_kept(model)
        wanted = kept(nodes.places, there.trained, nodes.rows.width)
        if there.settings != wanted.settings:
            keep_again(folder, wanted)
    return open_kept(model).trained


def fingerprint(nodes: Nodes, settings: Settings) -> str:
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


def _largest_first(nodes: Nodes) -> list[int]:
    work = nodes.values * nodes.daughters
    return [int(at) for at in np.argsort(-work, kind="stable")]


def _together(
    nodes: Nodes, order: Sequence[int], settings: Settings
) -> Iterator[tuple[int, Piece]]:
    """Learn nodes in ``n_jobs`` threads; a node waits until its memory is free."""
    room = bytes_in(settings.memory)
    plans = {at: _plan(nodes, at, settings, room) for at in order}
    waiting = list(reversed(order))
    running: dict[Future[Piece], int] = {}
    with ThreadPoolExecutor(settings.n_jobs) as threads:
        while waiting or running:
            while waiting and len(running) < settings.n_jobs:
                need = plans[waiting[-1]][0]
                if running and need > room:
                    break
                at = waiting.pop()
                room -= need
                work = threads.submit(
                    learn_node, nodes, at, settings, sparse=plans[at][1]
                )
                running[work] = at
            for work in wait(running, return_when=FIRST_COMPLETED).done:
                at = running.pop(work)
                room += plans[at][0]
                yield at, work.result()


def _plan(nodes: Nodes, at: int, settings: Settings, room: float) -> tuple[float, bool]:
    """What a node needs, and whether its weights are kept sparse while it learns."""
    need = nodes.need(at, settings.base)
    if need > room:
        need = nodes.need(at, settings.base, m=nodes.features(at))
    if need <= room:
        return need, False
    lean = nodes.need(at, settings.base, sparse=True)
    if settings.base == "svm" and lean <= room:
        return lean, True
    least, remedy = need, "use base='svm', whose weights can be kept sparse, "
    if settings.base == "svm":
        least, remedy = min(need, lean), "use fewer features, "
    names, node = nodes.places.tree.nodes, int(nodes.shape.order[at])
    where = repr(names[node]) if node < len(names) else "above all roots"
    raise Mistake(
        f"memory={settings.memory!r}: the node {where} with {nodes.daughters[at]} "
        f"daughters needs about {least / 1e9:.2g} GB to learn: {remedy}or allow more"
    )


def learn_node(nodes: Nodes, at: int, settings: Settings, *, sparse: bool) -> Piece:
    """What one inner node learns."""
    rows, owners = nodes.documents(at), nodes.owners(at)
    base, C, tol, drop = settings.learned_by()
    if sparse:
        return piece_of(*_sparsely(rows, owners, C, tol), base, drop)
    return piece_of(*fit_node(rows, owners, base, C, tol), base, drop)


def _sparsely(rows: Rows, owners: Rows, C: float, tol: float) -> Weights:
    """Learn the same as ``fit_node`` for "svm", less a part all daughters share."""
    from scipy.sparse import csr_matrix

    from classmark.rankers.preference import PreferenceRanker

    features, compact = in_use(rows)
    sizes = np.bincount(owners.columns, minlength=owners.width)
    some = np.flatnonzero(sizes)
    ranker = PreferenceRanker("dom", C, tol, memory="1B")
    known = keep_columns(owners, some)
    found: Any = ranker.fit(with_constant(compact, 1.0), known).weights_
    parts: Any = (found.data, some[found.indices], found.indptr)
    weights = csr_matrix(parts, shape=(len(features) + 1, owners.width))
    bias = np.where(sizes > 0, weights[-1].toarray().ravel(), NOWHERE)
    return features, weights[:-1], bias

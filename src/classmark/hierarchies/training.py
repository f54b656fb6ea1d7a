"""All nodes of a tree learn, the largest first, several at once, within a memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Array
from classmark.hierarchies.descending.pieces import Piece, piece_of
from classmark.hierarchies.descending.trained import Trained, gather
from classmark.hierarchies.lessons import Lessons, Nodes
from classmark.hierarchies.nodes import NOWHERE, fit_node, in_use
from classmark.problems import Mistake
from classmark.progress import track
from classmark.solvers.sparse.store import bytes_in
from classmark.sparse import Rows, keep_columns, with_constant

Weights = tuple[NDArray[np.uint32], Any, Array]  # features, weights, bias


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


def train(nodes: Nodes, settings: Settings) -> Trained:
    """Learn all nodes."""
    pieces = dict(learned(nodes, settings, largest_first(nodes)))
    return gather(nodes.shape, [pieces[at] for at in range(len(nodes.shape))])


def learned(
    nodes: Nodes, settings: Settings, which: Sequence[int]
) -> Iterator[tuple[int, Piece]]:
    """Learn some nodes here; each number and piece as it is done."""
    yield from track(_together(nodes, which, settings), "nodes", len(which))


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


def largest_first(nodes: Nodes) -> list[int]:
    """All inner nodes, by what there is to be done: values × daughters."""
    work = nodes.values * nodes.daughters
    return [int(at) for at in np.argsort(-work, kind="stable")]


def _together(
    nodes: Nodes, order: Sequence[int], settings: Settings
) -> Iterator[tuple[int, Piece]]:
    """Learn nodes in ``n_jobs`` threads; a node waits until its memory is free."""
    room = bytes_in(settings.memory)
    given = f"memory={settings.memory!r}"
    plans = {at: plan(nodes, at, settings.base, room, given) for at in order}
    waiting = list(reversed(order))
    running: dict[Future[Piece], int] = {}
    with ThreadPoolExecutor(settings.n_jobs) as threads:
        while waiting or running:
            while waiting and len(running) < settings.n_jobs:
                need = plans[waiting[-1]].need
                if running and need > room:
                    break
                at = waiting.pop()
                room -= need
                work = threads.submit(
                    learn_node, nodes, at, settings, sparse=plans[at].sparse
                )
                running[work] = at
            for work in wait(running, return_when=FIRST_COMPLETED).done:
                at = running.pop(work)
                room += plans[at].need
                yield at, work.result()


class Plan(NamedTuple):
    """What a node needs, and whether its weights are kept sparse while it learns."""

    need: float
    sparse: bool


def plan(nodes: Nodes, at: int, base: str, room: float, given: str) -> Plan:
    """How a node learns within ``room``; ``given`` says in a message whose that is."""
    need = nodes.need(at, base)
    if need > room:
        need = nodes.need(at, base, m=nodes.features(at))
    if need <= room:
        return Plan(need, sparse=False)
    lean = nodes.need(at, base, sparse=True)
    if base == "svm" and lean <= room:
        return Plan(lean, sparse=True)
    least, remedy = need, "use base='svm', whose weights can be kept sparse, "
    if base == "svm":
        least, remedy = min(need, lean), "use fewer features, "
    raise Mistake(
        f"{given}: the node {nodes.name(at)} with {nodes.daughters[at]} daughters "
        f"needs about {least / 1e9:.2g} GB to learn: {remedy}or allow more"
    )


def learn_node(nodes: Lessons, at: int, settings: Settings, *, sparse: bool) -> Piece:
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

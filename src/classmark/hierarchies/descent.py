"""Documents go down a tree: nodes as arrays, walks in blocks, the way to a leaf."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from classmark.arrays import Array, Floats, Ints, ranges, read_only
from classmark.hierarchies.kernels import node_scores
from classmark.hierarchies.nodes import (
    NOWHERE,
    NodeSettings,
    NodeWeights,
    largest_first,
    learned,
)
from classmark.hierarchies.places import Nodes, Shape
from classmark.progress import track
from classmark.sparse import Rows

DOCUMENTS_AT_ONCE = 256  # documents that go down together
NAMES = (
    "starts", "codes", "bias", "slope", "feature_starts", "features", "entry_starts",
    "offsets", "daughter", "weight",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class TrainedNodes:
    """What all nodes have learned.

    arrays : as ``NAMES`` says; ``kernels`` explains them. None is ever written to.
    dropped : the share of Σ w² that was not kept.
    """

    arrays: tuple[Array, ...]
    dropped: float

    @property
    def widest(self) -> int:
        """The most daughters a node has."""
        return int(np.diff(self.arrays[0]).max())

    @cached_property
    def plain(self) -> tuple[Array, ...]:
        """The arrays as plain ndarrays: those of ``np.memmap`` are slower to index."""
        return tuple(array.view(np.ndarray) for array in self.arrays)

    @cached_property
    def _by_code(self) -> tuple[Array, Ints]:
        """The codes of all daughters, sorted, and the inner node that has each."""
        starts, codes = self.plain[:2]
        order = np.argsort(codes, kind="stable")
        owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return codes[order], owner[order]

    def mothers(self, code: int) -> list[int]:
        """The inner nodes that have a leaf, or an inner node, among their daughters."""
        codes, owner = self._by_code
        low, high = np.searchsorted(codes, [code, code + 1])
        parents: list[int] = owner[low:high].tolist()
        return parents

    def piece(self, at: int) -> NodeWeights:
        """What inner node ``at`` has learned."""
        starts, _, bias, slope, first, features, entry, offsets, daughter, weight = (
            self.plain
        )
        mine = slice(starts[at], starts[at + 1])
        entries = slice(entry[at], entry[at + 1])
        return NodeWeights(
            features[first[at] : first[at + 1]],
            offsets[first[at] + at : first[at + 1] + at + 1],
            daughter[entries], weight[entries], bias[mine], slope[mine], 0.0, 0.0,
        )  # fmt: skip

    def walk(
        self, kernel: Callable[..., None], rows: Rows, options: tuple[Any, ...],
        out: tuple[Array, ...], threads: int,
    ) -> None:  # fmt: skip
        """Let documents go down, in blocks; the kernel fills the rows of ``out``."""

        def one_block(low: int) -> None:
            high = low + DOCUMENTS_AT_ONCE
            kernel(
                rows.starts[low : high + 1], rows.columns, rows.values, self.arrays,
                *options, *(array[low:high] for array in out),
            )  # fmt: skip

        blocks = range(0, len(rows), DOCUMENTS_AT_ONCE)
        if threads == 1 or len(blocks) < 2:
            for low in track(blocks, "documents", len(blocks)):
                one_block(low)
            return
        with ThreadPoolExecutor(threads) as pool:
            for _ in track(pool.map(one_block, blocks), "documents", len(blocks)):
                pass


def gather(shape: Shape, pieces: Sequence[NodeWeights]) -> TrainedNodes:
    """Put the pieces of all inner nodes, in the order of ``shape``, together."""
    whole = sum(piece.whole for piece in pieces)
    lost = sum(piece.lost for piece in pieces)
    joined: dict[str, Any] = {"starts": shape.starts, "codes": shape.codes}
    for name in ("bias", "slope", "features", "offsets", "daughter", "weight"):
        joined[name] = np.concatenate([getattr(piece, name) for piece in pieces])
    for name, part in (("feature_starts", "features"), ("entry_starts", "weight")):
        lengths = [len(getattr(piece, part)) for piece in pieces]
        joined[name] = np.cumsum([0, *lengths]).astype(np.int64)
    arrays = tuple(joined[name] for name in NAMES)
    return TrainedNodes(read_only(arrays), lost / whole if whole else 0.0)


def train(nodes: Nodes, settings: NodeSettings) -> TrainedNodes:
    """Learn all nodes."""
    order = largest_first(nodes)
    pieces = dict(track(learned(nodes, settings, order), "nodes", len(order)))
    return gather(nodes.shape, [pieces[at] for at in range(len(nodes.shape))])


Step = tuple[int, int]  # an inner node, and the place of a daughter among its own


def path_parts(
    trained: TrainedNodes, columns: Any, values: Any, leaf: int, scale: float
) -> Floats:
    """Σ over the best path of x_f (w_{v,f} − mean over sisters w_{s,f}).

    Sisters are the daughters that have documents. Shape: that of ``columns``.
    """
    parts = np.zeros(len(columns))
    for at, j in best_path(trained, columns, values, leaf, scale):
        piece = trained.piece(at)
        if not len(piece.features):
            continue
        has_documents = piece.bias > NOWHERE / 2
        place = np.searchsorted(piece.features, columns)
        place[place == len(piece.features)] = 0
        terms = np.flatnonzero(piece.features[place] == columns)
        first, last = piece.offsets[[place[terms], place[terms] + 1]].astype(np.int64)
        where = ranges(first, last - first)  # the weights of these terms
        daughter, weight = piece.daughter[where], piece.weight[where].astype(np.float64)
        owner = np.repeat(np.arange(len(terms)), last - first)
        slope = piece.slope.astype(np.float64)
        usual = slope[j] - slope[has_documents].mean()
        share = 1.0 / max(has_documents.sum(), 1)
        lead = (daughter == j) - share * has_documents[daughter]
        more = np.bincount(owner, weight * lead, len(terms))
        parts[terms] += values[terms] * (usual + more)
    return parts


def best_path(
    trained: TrainedNodes, columns: Any, values: Any, leaf: int, scale: float
) -> list[Step]:
    """The most probable way from the root to a leaf, node by node."""
    starts, codes = trained.plain[:2]
    n_inner = len(starts) - 1
    scores = np.empty(trained.widest)
    reach = {-n_inner: 0.0}
    came: dict[int, Step] = {}
    waiting, ancestors = [leaf], set[int]()
    while waiting:
        fresh = set(trained.mothers(waiting.pop())) - ancestors
        ancestors |= fresh
        waiting += [at - n_inner for at in fresh]
    for at in sorted(ancestors):  # parents first
        count = node_scores(at, columns, values, trained.arrays, scores)
        odds = scores[:count] * scale
        odds = odds - odds.max()
        odds = odds - np.log(np.exp(odds).sum())
        for j, code in enumerate(codes[starts[at] : starts[at + 1]].tolist()):
            value = reach[at - n_inner] + float(odds[j])
            if value > reach.get(code, -np.inf):
                reach[code], came[code] = value, (at, j)
    path, code = [], leaf
    while code in came:
        path.append(came[code])
        code = came[code][0] - n_inner
    return path[::-1]

"""ImplicitDual: layered preferences of many documents; no edge is ever listed."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from classmark.arrays import Array, Floats, Ints
from classmark.problems import Mistake
from classmark.solvers.dual.center import Center
from classmark.sparse import Rows

CODES = {"dis": (0,), "dom": (1,), "dme": (2,), "dom-dme": (1, 2), "svm": (3,)}


SHARE = 8  # of what is in use, one part more is had when more room is needed
SPARE = 4  # duals per document there is room for at first
LARGEST = 2**32  # places in a pool


@dataclass(frozen=True, slots=True)
class Caps:
    """C per label for the documents that list it, and for the others (svm)."""

    listed: Floats
    rest: Floats


@dataclass(slots=True)
class Pool:
    """Room for the duals of some documents: pairs (label, alpha) per slot."""

    documents: Ints
    label: Array
    alpha: Array
    used: Ints

    def grow(self, need: int, share: int) -> None:
        """Make it a ``share``-th larger than what is in use, and ``need`` more."""
        size = int(self.used[0]) + int(self.used[0]) // share + need
        if size > LARGEST:
            raise Mistake("the duals need too many places: use a smaller C, or center")
        self.label.resize(size, refcheck=False)
        self.alpha.resize(size, refcheck=False)


class ImplicitDual:
    """min ½‖w − w₀‖² + Σ_g cap_g ξ_g over the groups of a cost mapping, by its dual.

    rows : documents (n, features);  levels : Rows (n, labels) of levels 1, 2, …, and −1
    for labels that are compared with none;
    mapping : "dis", "dom", "dme", "dom-dme" or "svm" [AiolliSebastianiSperduti08];
    caps : what a slack costs;  center : w₀, zero unless given.

    Several threads share W without locks. Each owns its documents' duals, so these stay
    feasible; before a gap is computed W is computed anew from them, so it is exact.
    """

    def __init__(
        self,
        rows: Rows,
        levels: Rows,
        mapping: str,
        caps: Caps,
        *,
        threads: int = 1,
        center: Center | None = None,
    ) -> None:
        if mapping not in CODES:
            raise Mistake(f"mapping {mapping!r} is not known: use {', '.join(CODES)}")
        self.rows, self.levels = rows, levels
        self.codes = np.array(CODES[mapping], np.int64)
        self.caps, self.rest_caps = caps.listed, caps.rest
        self.n_documents = len(rows)
        self.center = center or Center()
        self.W = np.zeros((rows.width, levels.width), rows.values.dtype)
        self.center.add_to(self.W)
        self.absent, self.share = np.empty(0, np.int64), SHARE
        self.widest = int(np.diff(levels.starts).max(initial=0))
        n_slots = max(levels.nnz, len(rows))
        self.slots = np.zeros((len(self.codes), n_slots, 3), np.uint32)
        self.naps = np.zeros((len(rows), 2), np.uint8)
        self.costs = np.zeros(len(rows), np.float32)
        self.without_words = np.flatnonzero(np.diff(rows.starts) == 0)
        self.pools = [self._pool(part, threads) for part in range(threads)]

    def learn(self, order: Ints) -> float:
        """One pass; return the cost as it was seen on the way."""
        return self._together(order, learn=True)

    def cost(self) -> float:
        """Σ cap · slack at the present weights; what is violated is woken up."""
        return self._together(np.arange(self.n_documents), learn=False)

    def visit(self, order: Array) -> None:
        """Learn from some documents, by the first pool's thread."""
        self._visit(self.pools[0], order, learn=True)

    def share_one_pool(self) -> None:
        """Let one thread own all documents from now on; W is to be settled."""
        if len(self.pools) == 1:
            return
        offset, slots = 0, self.slots.reshape(-1, 3)
        for pool in self.pools:
            mine = self._slots_of(pool)
            slots[mine, 0] += np.uint32(offset)
            offset += int(pool.used[0])
        parts = [(p.label[: p.used[0]], p.alpha[: p.used[0]]) for p in self.pools]
        label, alpha = (np.concatenate(part) for part in zip(*parts, strict=True))
        documents = np.arange(self.n_documents)
        self.pools = [Pool(documents, label, alpha, np.array([offset]))]

    def raise_caps(self, factor: float) -> None:
        """Multiply every C, by 1 or more once there are duals: they stay feasible."""
        self.caps = self.caps * factor
        self.rest_caps = self.rest_caps * factor
        self.naps[:] = 0

    def values(self) -> tuple[float, float]:
        """½‖w − w₀‖², and the dual value."""
        return self.center.values(self.W, self.total())

    def total(self) -> float:
        """Σα; an empty document's groups have slack 1 whatever w: α = cap at once."""
        total = float(self.costs[self.without_words].sum())
        return total + sum(float(pool.alpha.sum(dtype=float)) for pool in self.pools)

    def coefficients(self) -> Floats:
        """Document i's part in w_r is coefficients[i, r] · x_i, shape (n, labels)."""
        from classmark.solvers.dual.kernels import coefficients

        out = np.zeros((self.n_documents, self.levels.width))
        for pool in self.pools:
            for document in pool.documents:
                coefficients(
                    document, self.codes, self.levels.starts, self.levels.columns,
                    self.slots, pool.label, pool.alpha, out[document],
                )  # fmt: skip
        return out

    def settle(self) -> None:
        """Compute W anew from the duals, if several threads have been at it."""
        if len(self.pools) == 1:
            return
        self.W[:] = 0.0
        self.center.add_to(self.W)
        parts, k = len(self.pools), self.W.shape[1]
        ends = [part * k // parts for part in range(parts + 1)]
        with ThreadPoolExecutor(parts) as threads:
            for done in [
                threads.submit(self._rebuild, *span) for span in pairwise(ends)
            ]:
                done.result()

    def _rebuild(self, low: int, high: int) -> None:
        """Add to the weights of some labels what the duals stand for."""
        from classmark.solvers.dual.kernels import rebuild

        for pool in self.pools:
            rebuild(
                pool.documents, self.codes, self.rows.starts, self.rows.columns,
                self.rows.values, self.levels.starts, self.levels.columns, self.slots,
                pool.label, pool.alpha, self.W, low, high,
            )  # fmt: skip

    def _pool(self, part: int, threads: int) -> Pool:
        documents = np.arange(part, self.n_documents, threads)
        size = SPARE * len(self.codes) * len(documents) + self._most()
        small = np.uint16 if self.levels.width <= 2**16 else np.uint32
        return Pool(
            documents,
            np.zeros(size, small),
            np.zeros(size, self.rows.values.dtype),
            np.zeros(1, np.int64),
        )

    def _most(self) -> int:
        """What the duals of one document can need."""
        k = self.levels.width
        return 2 * len(self.codes) * (1 + self.widest) * (k + k // 4)

    def _make_room(self, pool: Pool) -> None:
        """Close the gaps; where that gains too little, take more memory."""
        from classmark.solvers.pool.kernels import compact

        slots = self.slots.reshape(-1, 3)
        mine = self._slots_of(pool)
        order = np.argsort(slots[:, 0] if mine is None else slots[mine, 0])
        order = order if mine is None else mine[order]
        pool.used[0] = compact(order, slots, pool.label, pool.alpha)
        spare = pool.used[0] // (2 * self.share) + self._most()
        if pool.used[0] + spare > len(pool.label):
            pool.grow(self._most(), self.share)

    def _slots_of(self, pool: Pool) -> Ints | None:
        """Which of all the slots are the pool's; None: all of them."""
        if len(self.pools) == 1:
            return None
        mine, n_slots = pool.documents, self.slots.shape[1]
        if CODES["svm"][0] not in self.codes:
            starts = self.levels.starts
            lengths = starts[mine + 1] - starts[mine]
            ends = np.cumsum(lengths)
            shift = np.repeat(starts[mine] - ends + lengths, lengths)
            mine = shift + np.arange(int(lengths.sum()))
        parts = len(self.codes)
        return np.concatenate([mine + part * n_slots for part in range(parts)])

    def _together(self, order: Ints, *, learn: bool) -> float:
        """Let every pool's thread visit its own documents; return the cost seen."""
        if len(self.pools) == 1:
            self._visit(self.pools[0], order, learn=learn)
        else:
            shares = [
                order[order % len(self.pools) == p] for p in range(len(self.pools))
            ]
            with ThreadPoolExecutor(len(self.pools)) as threads:
                visits = [
                    threads.submit(self._visit, pool, share, learn=learn)
                    for pool, share in zip(self.pools, shares, strict=True)
                ]
                for visit in visits:
                    visit.result()
        return float(self.costs.sum(dtype=np.float64))

    def _visit(self, pool: Pool, order: Sequence[int] | Any, *, learn: bool) -> None:
        from classmark.solvers.dual.kernels import implicit_pass

        begin = 0
        while begin < len(order):
            begin = implicit_pass(
                order, begin, self.codes, self.rows.starts, self.rows.columns,
                self.rows.values, self.levels.starts, self.levels.columns,
                self.levels.values, self.caps, self.rest_caps, self.W, self.slots,
                pool.label, pool.alpha, pool.used, self.naps, self.costs, self.widest,
                self.absent, learn,
            )  # fmt: skip
            if begin < len(order):
                self._make_room(pool)


def squares(rows: Rows) -> Floats:
    """‖x_i‖² of each row."""
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    weights = rows.values.astype(np.float64) ** 2
    return np.bincount(owner, weights, len(rows)).astype(np.float64)

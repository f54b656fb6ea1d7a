"""ImplicitDual: layered preferences of many documents; no edge is ever listed."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classmark.problems import Mistake
from classmark.solvers.dual.center import Center
from classmark.sparse import Rows

CODES = {"dis": (0,), "dom": (1,), "dme": (2,), "dom-dme": (1, 2), "svm": (3,)}


@dataclass(frozen=True, slots=True)
class Caps:
    """C per listed (document, label), and per label where it is not listed (svm)."""

    listed: NDArray[np.float64]
    rest: NDArray[np.float64]


@dataclass(slots=True)
class Pool:
    """Room for the duals of some documents: pairs (label, alpha) per slot."""

    documents: NDArray[np.int64]
    label: NDArray[np.uint32]
    alpha: NDArray[np.float64]
    used: NDArray[np.int64]

    def grow(self) -> None:
        """Double the room."""
        self.label = np.concatenate([self.label, np.zeros_like(self.label)], axis=1)
        self.alpha = np.concatenate([self.alpha, np.zeros_like(self.alpha)], axis=1)


class ImplicitDual:
    """min ½‖w − w₀‖² + Σ_g cap_g ξ_g over the groups of a cost mapping, by its dual.

    rows : documents (n, features);  levels : Rows (n, labels) of levels 1, 2, …;
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
        self.squares = squares(rows)
        n_slots = max(levels.nnz, len(rows))
        self.slots = np.zeros((len(self.codes), n_slots, 3), np.int64)
        self.naps = np.zeros((len(rows), 2), np.int64)
        self.costs = np.zeros(len(rows))
        self.pools = [self._pool(part, threads) for part in range(threads)]

    def learn(self, order: NDArray[np.int64]) -> float:
        """One pass; return the cost as it was seen on the way."""
        self._together(order, learn=True)
        return float(self.costs.sum())

    def cost(self) -> float:
        """Σ cap · slack at the present weights; what is violated is woken up."""
        order = np.arange(self.n_documents)
        self._together(order, learn=False)
        self.naps[self.costs > 0, 0] = 0
        return float(self.costs.sum())

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
        empty = float(self.costs[self.squares == 0].sum())
        return empty + sum(float(self._alphas(pool).sum()) for pool in self.pools)

    def coefficients(self) -> NDArray[np.float64]:
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
        from classmark.solvers.dual.kernels import rebuild

        self.W[:] = 0.0
        self.center.add_to(self.W)
        for pool in self.pools:
            rebuild(
                pool.documents, self.codes, self.rows.starts, self.rows.columns,
                self.rows.values, self.levels.starts, self.levels.columns, self.slots,
                pool.label, pool.alpha, self.W,
            )  # fmt: skip

    def _pool(self, part: int, threads: int) -> Pool:
        documents = np.arange(part, self.n_documents, threads)
        parts, k = len(self.codes), self.levels.width
        widest = int(np.diff(self.levels.starts).max(initial=0))
        size = max(16 * len(documents), 4 * (1 + widest) * k)
        return Pool(
            documents,
            np.zeros((parts, size), np.uint32),
            np.zeros((parts, size)),
            np.zeros((parts, 1), np.int64),
        )

    def _alphas(self, pool: Pool) -> NDArray[np.float64]:
        """The duals in use: first … first + count of each slot of the pool."""
        from classmark.solvers.dual.kernels import sum_duals

        slots = self._slots_of(pool.documents)
        return np.array(
            [
                sum_duals(slots, self.slots[part], pool.alpha[part])
                for part in range(len(self.codes))
            ]
        )

    def _slots_of(self, documents: NDArray[np.int64]) -> NDArray[np.int64]:
        if CODES["svm"][0] in self.codes:
            return documents
        starts = self.levels.starts
        lengths = starts[documents + 1] - starts[documents]
        ends = np.cumsum(lengths)
        shift = np.repeat(starts[documents] - ends + lengths, lengths)
        return shift + np.arange(int(lengths.sum()))

    def _together(self, order: NDArray[np.int64], *, learn: bool) -> None:
        """Let every pool's thread visit its own documents."""
        if len(self.pools) == 1:
            self._visit(self.pools[0], order, learn=learn)
            return
        shares = [order[order % len(self.pools) == p] for p in range(len(self.pools))]
        with ThreadPoolExecutor(len(self.pools)) as threads:
            for done in [
                threads.submit(self._visit, pool, share, learn=learn)
                for pool, share in zip(self.pools, shares, strict=True)
            ]:
                done.result()

    def _visit(self, pool: Pool, order: Sequence[int] | Any, *, learn: bool) -> None:
        from classmark.solvers.dual.kernels import implicit_pass

        begin = 0
        while begin < len(order):
            begin = implicit_pass(
                order, begin, self.codes, self.rows.starts, self.rows.columns,
                self.rows.values, self.squares, self.levels.starts,
                self.levels.columns, self.levels.values, self.caps, self.rest_caps,
                self.W, self.slots, pool.label, pool.alpha, pool.used, self.naps,
                self.costs, learn,
            )  # fmt: skip
            if begin < len(order):
                pool.grow()


def squares(rows: Rows) -> NDArray[np.float64]:
    """‖x_i‖² of each row."""
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    weights = rows.values.astype(np.float64) ** 2
    return np.bincount(owner, weights, len(rows)).astype(np.float64)

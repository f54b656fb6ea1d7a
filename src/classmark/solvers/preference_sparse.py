"""The preference learning problem for very many labels, with sparse weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from classmark.arrays import Array, Csr, Floats, Ints, Rows, ranges
from classmark.solvers.ascent import Dual
from classmark.solvers.kernels_sparse import FEW, active_pass, change_size, lay_out
from classmark.solvers.preference import Duals, squares
from classmark.validation import Seed, generator


class Documents(NamedTuple):
    """Documents as the kernels take them: rows, ‖x‖², naps, costs, labels drawn."""

    starts: Ints
    columns: Array
    values: Array
    squares: Floats
    naps: Ints
    costs: Floats
    draws: Array


class Store(NamedTuple):
    """Sparse weights: entries (label, value) of each feature, with room behind them.

    A row without room moves to the end of the entries and takes twice its size; when
    the end is reached, a new store is made (``store_of``), without gaps.

    first, length, room : of each feature where its entries begin, how many there are,
    and how many there is room for;  label, value : the entries;  used : (1,), where
    free room begins;  shared : of each feature, the part that all labels share.
    """

    first: Ints
    length: Ints
    room: Ints
    label: Array
    value: Array
    used: Ints
    shared: Floats


def store_of(matrix: Csr, kind: Any, spare: int, shared: Floats) -> Store:
    """The entries of a matrix (features, labels), half as much room behind each row."""
    lengths = np.diff(matrix.indptr).astype(np.int64)
    room = lengths + lengths // 2
    total = int(room.sum())
    store = Store(
        np.cumsum(room) - room,
        lengths,
        room,
        np.zeros(2 * total + spare, np.uint32),
        np.zeros(2 * total + spare, kind),
        np.array([total], np.int64),
        shared,
    )
    lay_out(matrix.indptr, matrix.indices, matrix.data, store)
    return store


SPARE = 1 << 16


class SparseDual(Dual):
    """min ½‖w − w₀‖² + Σ_g cap_g ξ_g, a label of a document over all below it ("dom").

    The problem of ``ImplicitDual`` with sparse weights. A visit takes the labels into a
    group that violate it most, a few at a time, beside one dual for all the rest: the
    dual value rises with each, and the gap counts every label.

    rows : documents (n, features);  levels : Rows (n, labels) of levels 1, 2, …;
    caps : C per listed label;  center : w₀, csr (features, labels);  least : labels
    that violate a margin by less are not taken in.
    """

    def __init__(
        self,
        rows: Rows,
        levels: Rows,
        caps: Floats,
        *,
        center: Csr | None = None,
        least: float = 1e-6,
        seed: Seed = 0,
    ) -> None:
        from scipy.sparse import csr_matrix

        shape, kind = (rows.width, levels.width), rows.values.dtype
        self.rows, self.levels, self.caps, self.least = rows, levels, caps, least
        self.n_documents = len(rows)
        nothing = csr_matrix(shape, dtype=kind)
        self.center = nothing if center is None else center
        self.center_arrays = (
            self.center.indptr.astype(np.int64),
            self.center.indices.astype(np.uint32),
            self.center.data.astype(kind),
        )
        self.squares = squares(rows)
        self.slots = np.zeros((levels.nnz, 3), np.int64)
        self.label = np.zeros(SPARE, np.uint32)
        self.alpha = np.zeros(SPARE)
        self.used = np.zeros(1, np.int64)
        self.naps = np.zeros((len(rows), 2), np.int64)
        self.costs = np.zeros(len(rows))
        self.spare = SPARE + 8 * rows.nnz
        self.store = store_of(nothing, kind, self.spare, np.zeros(rows.width))
        self.random = generator(seed)

    def cost(self) -> float:
        """Σ cap · slack at the present weights; what is violated is woken up."""
        total = super().cost()
        self.naps[self.costs > 0, 0] = 0
        return total

    def raise_caps(self, factor: float) -> None:
        """Multiply every C, by 1 or more once there are duals: they stay feasible."""
        self.caps = self.caps * factor
        self.naps[:] = 0

    def values(self) -> tuple[float, float]:
        """½‖w − w₀‖², and the dual value."""
        square, dot = change_size(self.store, self.center_arrays, self.levels.width)
        total = float(self.alpha[: self.used[0]].sum())
        return 0.5 * square, total - dot - 0.5 * square

    @property
    def W(self) -> Any:  # noqa: N802 (as the other duals name it)
        """The weights less the part shared by all labels, csr (features, labels)."""
        weights = self.learned()[0] + self.center
        weights.eliminate_zeros()
        return weights

    def parts(self) -> tuple[Csr, Floats]:
        """Document i adds parts[i, r] · x_i to v_r; and the same for u."""
        from scipy.sparse import csr_matrix

        starts, levels, k = self.levels.starts, self.levels.values, self.levels.width
        lengths = np.diff(starts)
        owner = np.repeat(np.arange(self.n_documents), lengths)
        counts = self.slots[:, 1]
        group = np.repeat(np.arange(len(counts)), counts)
        entries = ranges(self.slots[:, 0], counts)
        loser, dual = self.label[entries].astype(np.int64), self.alpha[entries]
        single = loser < k
        first = np.repeat(np.arange(len(owner)), lengths[owner])
        second = ranges(starts[owner], lengths[owner])
        beside = (levels[second] >= levels[first]) | (levels[second] < 0)
        ahead, fellow = first[beside], second[beside]  # the first cannot be above
        others = k - np.bincount(ahead, minlength=len(counts))
        whole = np.bincount(group[~single], dual[~single], len(counts))
        rest: Floats = whole / np.maximum(others, 1.0)
        winner = self.levels.columns
        columns = np.concatenate([winner[group], loser[single], winner[fellow]])
        values = np.concatenate([dual, -dual[single], rest[ahead]])
        documents = np.concatenate([owner[group], owner[group][single], owner[ahead]])
        coefficients = csr_matrix(
            (values, (documents, columns)), shape=(self.n_documents, k)
        )
        shared = np.bincount(owner, -rest, self.n_documents).astype(np.float64)
        return coefficients, shared

    def learned(self) -> tuple[Csr, Floats]:
        """What the duals stand for: v, and u."""
        documents = self.rows.to_scipy()
        single, shared = self.parts()
        single.eliminate_zeros()
        learned = (documents.T @ single.astype(self.rows.values.dtype)).tocsr()
        return learned, documents.T @ shared

    def _grow(self, *, stuck: bool) -> None:
        """Make room: more for the duals; a new store, of what the duals stand for."""
        if stuck or 2 * int(self.used[0]) > len(self.label):
            self.label = np.concatenate([self.label, np.zeros_like(self.label)])
            self.alpha = np.concatenate([self.alpha, np.zeros_like(self.alpha)])
        self.spare *= 2 if stuck else 1
        del self.store  # before more memory is taken
        learned, shared = self.learned()
        self.store = store_of(learned, self.rows.values.dtype, self.spare, shared)

    def _visit(self, order: Array, *, learn: bool) -> float:
        rows, levels = self.rows, self.levels
        draws = self.random.integers(
            0, levels.width, (self.n_documents, FEW), dtype=np.uint32
        )
        documents = Documents(
            rows.starts, rows.columns, rows.values, self.squares, self.naps, self.costs,
            draws,
        )  # fmt: skip
        graph = (
            levels.starts, levels.columns, levels.values, self.caps, levels.width,
        )  # fmt: skip
        begin, before = 0, -1
        while begin < len(order):
            none = self.slots[:0]  # no label is compared with a threshold
            duals = Duals(self.slots, none, self.label, self.alpha, self.used)
            begin = active_pass(
                order, begin, documents, graph, self.center_arrays, self.store,
                duals, self.least, learn,
            )  # fmt: skip
            if begin < len(order):
                self._grow(stuck=begin == before)
            before = begin
        return float(self.costs.sum())

"""The preference learning problem for very many labels, on a GPU."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np

from classmark.arrays import Array, Floats, Rows
from classmark.problems import Mistake, TooLittleMemory
from classmark.solvers.ascent import Dual
from classmark.solvers.preference import squares

ROOM = 128  # rivals of a group that have a dual, at most
BEFORE = 16  # of one in its first pass
FIRST, LARGEST = 16, 512  # groups that take a step together, at first and at most
SHARE = 32  # of all groups, one in so many at most
THREADS = 256
SPARE = 2 << 30  # bytes of the card's that are left
KERNELS = "scores", "visit", "scatter", "moved", "keep"


class GpuDual(Dual):
    """min ½‖w‖² + Σ_g cap_g ξ_g, a label of a document over all it lacks ("dom").

    The problem of ``ImplicitDual`` with dense weights in the memory of one card. A
    batch of groups takes its exact steps at the same weights; then all go as far along
    their common way as the dual value rises, the whole step at most: with L its slope
    and Q = ‖change of w‖², min(1, L / Q) of it. The gap counts every label.

    rows : documents (n, features);  labels : Rows (n, labels);  caps : C per listed
    label;  least : labels that violate a margin by less are not taken in.
    """

    def __init__(
        self, rows: Rows, labels: Rows, caps: Floats, *, least: float = 1e-6
    ) -> None:
        xp = self.xp = card()
        self.rows, self.labels = rows, labels
        owner = np.repeat(np.arange(len(rows)), np.diff(labels.starts))
        square = squares(rows)
        self.without_words = float(caps[square[owner] == 0].sum())
        self.groups = np.flatnonzero(square[owner] > 0).astype(np.int32)
        self.n_documents = len(self.groups)
        self.pitch = -(-labels.width // 4) * 4
        self._require_room()
        self.owner, self.label = owner, labels.columns.astype(np.int32)
        self.documents = (
            xp.asarray(rows.starts, np.int64),
            xp.asarray(rows.columns.astype(np.int32)),
            xp.asarray(rows.values, np.float32),
        )
        self.of_groups = (
            xp.asarray(owner, np.int32),
            xp.asarray(self.label),
            xp.asarray(labels.starts, np.int64),
            xp.asarray(self.label),
            xp.asarray(caps, np.float32),
            xp.asarray(square, np.float32),
        )
        self.weights = xp.zeros((rows.width, self.pitch), np.float32)
        self.kept_labels = xp.zeros((len(owner), ROOM), np.int32)
        self.kept_duals = xp.zeros((len(owner), ROOM), np.float32)
        self.scores = xp.empty((LARGEST, self.pitch), np.float32)
        self.largest = min(LARGEST, 1 + self.n_documents // SHARE)
        self.batch, self.most, self.least = min(FIRST, self.largest), BEFORE, least
        code = (files("classmark.solvers") / "preference_gpu.cu").read_text()
        module = xp.RawModule(code=f"#define ROOM {ROOM}\n{code}")
        self.kernels = {name: module.get_function(name) for name in KERNELS}
        self.visits = [
            xp.zeros((LARGEST, ROOM), np.int32), xp.zeros(LARGEST, np.int32),
            *(xp.zeros((LARGEST, ROOM), np.float32) for _ in range(3)),
            xp.zeros((LARGEST, 2), np.float32),
        ]  # fmt: skip

    def _require_room(self) -> None:
        width, pairs = self.rows.width, self.labels.nnz * ROOM
        need = 4 * self.pitch * (width + LARGEST) + 8 * (pairs + self.rows.nnz) + SPARE
        free = int(self.xp.cuda.Device().mem_info[0])
        if need > free:
            raise TooLittleMemory(
                f"{width} features × {self.labels.width} labels need {need / 1e9:.3g} "
                f"GB of the card's memory, {free / 1e9:.3g} GB are free: use device "
                "'cpu', or fewer features"
            )

    def raise_caps(self, factor: float) -> None:
        """Multiply every C, by 1 or more once there are duals: they stay feasible."""
        self.of_groups[4][:] *= factor
        self.without_words *= factor

    def _visit(self, order: Array, *, learn: bool) -> float:
        xp, at, total = self.xp, 0, self.xp.zeros(())
        groups = xp.asarray(self.groups[order])
        while at < len(groups):
            batch = groups[at : at + (self.batch if learn else LARGEST)]
            total += self._visit_batch(batch, learn=learn)[0]
            at += len(batch)
            if learn:
                self.batch = min(2 * self.batch, self.largest)
        if learn:
            self.most = ROOM
        return float(total) + self.without_words

    def _visit_batch(self, batch: Any, *, learn: bool) -> Any:
        totals, grid = self.xp.zeros(3), (len(batch),)
        tiles = -(-(self.pitch // 4) // THREADS)
        self.kernels["scores"](
            (len(batch), tiles), (THREADS,),
            (self.of_groups[0][batch], *self.documents, self.weights,
             np.int32(self.pitch // 4), self.scores),
        )  # fmt: skip
        rivals, counts, old, new, scores, favoured = self.visits
        self.kernels["visit"](
            grid, (THREADS,),
            (batch, *self.of_groups, np.float32(self.least),
             np.int32(self.most), np.int32(self.labels.width),
             np.int32(self.pitch), np.int32(learn), self.scores, self.kept_labels,
             self.kept_duals, rivals, counts, old, new, scores, favoured, totals),
        )  # fmt: skip
        if not learn:
            return totals
        which = (batch, *self.of_groups[:2], *self.documents, *self.visits)
        pitch = np.int64(self.pitch)
        for back in (0, 1):
            self.kernels["scatter"](
                grid, (THREADS,), (*which, totals, np.int32(back), pitch, self.weights)
            )
            if not back:
                self.kernels["moved"](
                    grid, (THREADS,), (*which, totals, pitch, self.weights)
                )
        kept = (self.kept_labels, self.kept_duals)
        self.kernels["keep"](
            grid, (ROOM,), (batch, rivals, counts, old, new, totals, *kept)
        )
        return totals

    def values(self) -> tuple[float, float]:
        """½‖w‖², and the dual value."""
        xp, step = self.xp, 1 + (1 << 26) // self.pitch
        parts = (self.weights[i : i + step] for i in range(0, self.rows.width, step))
        square = sum(float(xp.vdot(part, part)) for part in parts)
        duals = self.kept_duals.astype(np.float64)
        half = square / 2
        return half, float(duals.sum()) + self.without_words - half

    @property
    def W(self) -> Any:  # noqa: N802 (as the other duals name it)
        """The weights, csr (features, labels): what the duals add up to."""
        from scipy.sparse import coo_matrix

        rival, dual = map(_on_host, (self.kept_labels, self.kept_duals))
        group, place = np.nonzero(dual)
        shape = (len(self.rows), self.labels.width)
        owner = np.concatenate([self.owner[group], self.owner])
        label = np.concatenate([rival[group, place], self.label])
        duals = np.concatenate([-dual[group, place], dual.sum(axis=1)])
        parts = coo_matrix((duals, (owner, label)), shape=shape).tocsr()
        weights = (self.rows.to_scipy().T @ parts).tocsr()
        weights.eliminate_zeros()
        weights.sort_indices()
        return weights


def _on_host(array: Any) -> Array:
    return np.asarray(array.get() if hasattr(array, "get") else array)


def card() -> Any:
    """CuPy, where there is a card; else a ``Mistake`` with the remedy."""
    try:
        import cupy
    except ImportError as error:
        raise Mistake(
            "device 'gpu' needs CuPy: pip install 'classmark[gpu]', or use device 'cpu'"
        ) from error
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise Mistake(f"device 'gpu': no card answers ({error}): use 'cpu'") from error
    if not count:
        raise Mistake("device 'gpu': this machine has no card: use device 'cpu'")
    return cupy

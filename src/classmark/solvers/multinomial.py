"""Multinomial logistic regression by its dual: each label against those not had."""

from __future__ import annotations

import numpy as np

from classmark.arrays import Array, Floats, Rows
from classmark.solvers.ascent import Dual
from classmark.solvers.kernels_dual import odds_pass


class OddsDual(Dual):
    """min ½‖W‖² + C Σ_i (1/s_i) Σ_u −ln p(u | x_i, u or no label of i), by its dual.

    u runs over the s_i labels of document i: each against all that the document has
    not, as in the log-linear loss of domination; with one label a document it is
    multinomial logistic regression. The dual, Σ cap · entropy(p) − ½‖W‖² with W = Σ cap
    · x ⊗ (e_u − p), is climbed document by document [ShalevZhang13]. It needs a number
    for each label of each document and each label, and no gradient of all weights.

    rows : documents (n, features);  labels : Rows (n, labels), values not read;
    weights : (n,), what C is multiplied by for each document.
    """

    def __init__(
        self, rows: Rows, labels: Rows, C: float, weights: Floats | None = None
    ) -> None:
        self.rows, self.labels, self.n_documents = rows, labels, len(rows)
        sizes = np.diff(labels.starts)
        self.caps = C / np.repeat(sizes, sizes)
        if weights is not None:
            self.caps *= np.repeat(weights, sizes)
        self.W: Floats = np.zeros((rows.width, labels.width), rows.values.dtype)
        self.P = np.zeros((labels.nnz, labels.width), rows.values.dtype)
        self.P[np.arange(labels.nnz), labels.columns] = 1.0
        self.entropy = np.zeros(labels.nnz)
        self.costs = np.zeros(len(rows))
        # a document without words has even odds, whatever the weights
        silent = np.repeat(np.diff(rows.starts) == 0, sizes)
        others = 1.0 + labels.width - np.repeat(sizes, sizes)
        self.entropy[silent] = np.log(others[silent])

    def values(self) -> tuple[float, float]:
        """½‖W‖², and the dual value."""
        flat = self.W.reshape(-1)
        half = 0.5 * float(flat @ flat)
        return half, float(self.caps @ self.entropy) - half

    def _visit(self, order: Array, *, learn: bool) -> float:
        rows = self.rows.starts, self.rows.columns, self.rows.values
        odds_pass(
            order, rows, (self.labels.starts, self.labels.columns), self.caps, self.W,
            self.P, self.entropy, self.costs, learn,
        )  # fmt: skip
        return float(self.costs.sum())

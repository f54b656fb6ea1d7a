"""ExplicitDual: any groups of any edges, listed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.preferences.decompose import Groups
from classmark.solvers.dual.center import Center
from classmark.solvers.dual.implicit import squares
from classmark.sparse import Rows


class ExplicitDual:
    """min ½‖w − w₀‖² + Σ_g cap_g ξ_g, the groups of each document given as edges.

    rows : documents (n, features);  groups : per document, groups of (init, term);
    caps : C per group, in the same order, documents one after the other;
    W : weights to share with another problem, which has added w₀ already.

    An edge may name the item n_labels, the threshold: its row is the constant 1 in
    place of x, and its weight, ``tau``, is part of w.
    """

    def __init__(
        self,
        rows: Rows,
        n_labels: int,
        groups: Sequence[Groups],
        caps: Floats,
        center: Center | None = None,
        W: Floats | None = None,
    ) -> None:
        self.rows, self.caps = rows, caps
        self.n_documents = len(rows)
        self.center = center or Center()
        if W is None:
            W = np.zeros((rows.width, n_labels), rows.values.dtype)
            self.center.add_to(W)
        self.W, self.tau = W, np.zeros(1)
        self.squares = squares(rows)
        self.costs = np.zeros(len(rows))
        flat = [group for document in groups for group in document]
        self.group_starts = _starts([len(document) for document in groups])
        self.edge_starts = _starts([len(group) for group in flat])
        edges = np.array([e for group in flat for e in group], np.uint32).reshape(-1, 2)
        self.winners = np.ascontiguousarray(edges[:, 0])
        self.losers = np.ascontiguousarray(edges[:, 1])
        self.alpha = np.zeros(len(edges))
        self.has_threshold = bool((edges == n_labels).any())

    def learn(self, order: Ints) -> float:
        """One pass; return the cost as it was seen on the way."""
        return self._visit(order, learn=True)

    def cost(self) -> float:
        """Σ cap · slack at the present weights."""
        return self._visit(np.arange(self.n_documents), learn=False)

    def raise_caps(self, factor: float) -> None:
        """Multiply every C, by 1 or more once there are duals: they stay feasible."""
        self.caps = self.caps * factor

    def settle(self) -> None:
        """Leave W as it is: one thread loses nothing."""

    def values(self) -> tuple[float, float]:
        """½‖w − w₀‖², and the dual value."""
        half, dual = self.center.values(self.W, self.total())
        own = 0.5 * float(self.tau[0]) ** 2
        return half + own, dual - own

    def total(self) -> float:
        """Σα."""
        return float(self.alpha.sum())

    def add_duals(self) -> None:
        """W += what the duals stand for."""
        self.W += self.rows.to_scipy().T @ self.coefficients()

    def rebase(self, W: Floats) -> None:
        """Go on with larger weights, which hold the present ones."""
        before, after = self.W.shape[1], W.shape[1]
        for items in (self.winners, self.losers):
            items[items == before] = after
        self.W = W

    def coefficients(self) -> Floats:
        """Document i's part in w_r is coefficients[i, r] · x_i, shape (n, labels)."""
        out = np.zeros((self.n_documents, self.W.shape[1] + 1))
        group = np.repeat(np.arange(len(self.caps)), np.diff(self.edge_starts))
        document = np.searchsorted(self.group_starts, group, side="right") - 1
        np.add.at(out, (document, self.winners), self.alpha)
        np.add.at(out, (document, self.losers), -self.alpha)
        return out[:, :-1]

    def _visit(self, order: Ints, *, learn: bool) -> float:
        from classmark.solvers.dual.kernels import explicit_pass

        explicit_pass(
            order, self.rows.starts, self.rows.columns, self.rows.values, self.squares,
            self.group_starts, self.edge_starts, self.winners, self.losers, self.caps,
            self.alpha, self.W, self.tau, self.costs, learn,
        )  # fmt: skip
        return float(self.costs.sum())


def _starts(lengths: Sequence[int]) -> Ints:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

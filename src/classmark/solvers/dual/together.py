"""CompositeDual: layered and listed preferences, of different documents, in one W."""

from __future__ import annotations

import numpy as np

from classmark.arrays import Bools, Floats, Ints
from classmark.solvers.dual.explicit import ExplicitDual
from classmark.solvers.dual.implicit import ImplicitDual


class CompositeDual:
    """The sum of an implicit and an explicit problem over the same weights.

    min ½‖w − w₀‖² + Σ_g cap_g ξ_g, where the groups g of some documents follow from
    layers and those of the others are listed: only these pay for listing.

    implicit, explicit : problems that hold the same array W, w₀ of the first;
    is_listed : bool (n,), which of all documents the second has, in their order.
    """

    def __init__(
        self,
        implicit: ImplicitDual,
        explicit: ExplicitDual,
        is_listed: Bools,
    ) -> None:
        self.implicit, self.explicit = implicit, explicit
        self.is_listed = is_listed
        self.n_documents = len(is_listed)
        self.W, self.tau = implicit.W, explicit.tau
        self.has_threshold = explicit.has_threshold
        self._number = np.where(
            is_listed, np.cumsum(is_listed) - 1, np.cumsum(~is_listed) - 1
        )

    def learn(self, order: Ints) -> float:
        """One pass over each part; return the cost as it was seen on the way."""
        listed = self.is_listed[order]
        number = self._number[order]
        seen = self.implicit.learn(number[~listed])
        return seen + self.explicit.learn(number[listed])

    def settle(self) -> None:
        """Make W exactly what the duals of both parts stand for."""
        if len(self.implicit.pools) > 1:
            self.implicit.settle()
            self.explicit.add_duals()

    def cost(self) -> float:
        """Σ cap · slack at the present weights."""
        return self.implicit.cost() + self.explicit.cost()

    def raise_caps(self, factor: float) -> None:
        """Multiply every C, by 1 or more once there are duals: they stay feasible."""
        self.implicit.raise_caps(factor)
        self.explicit.raise_caps(factor)

    def values(self) -> tuple[float, float]:
        """½‖w − w₀‖², and the dual value."""
        total = self.implicit.total() + self.explicit.total()
        half, dual = self.implicit.center.values(self.W, total)
        own = 0.5 * float(self.tau[0]) ** 2
        return half + own, dual - own

    def coefficients(self) -> Floats:
        """Document i's part in w_r is coefficients[i, r] · x_i, shape (n, labels)."""
        out = np.zeros((self.n_documents, self.W.shape[1]))
        out[~self.is_listed] = self.implicit.coefficients()
        out[self.is_listed] = self.explicit.coefficients()
        return out

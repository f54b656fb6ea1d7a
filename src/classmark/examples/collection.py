"""The collection a query is learned over: rows at hand, or rows that lie elsewhere.

Learning needs little of it: scores X · w, sums Xᵀ · c, a few rows, and the ascent of
hinges over all of them. Who can do these need not bring the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats, Ints
from classmark.solvers.ascent import Solution
from classmark.solvers.cutting_planes import Linear, linear
from classmark.solvers.hinge import Hinges, ascend
from classmark.sparse import Rows, rows_from, take


class Collection(ABC):
    """Rows that lie elsewhere, numbered from 0."""

    @abstractmethod
    def __len__(self) -> int:
        """How many rows there are."""

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of features."""

    @property
    @abstractmethod
    def mean(self) -> Floats:
        """The mean row, (features,)."""

    @abstractmethod
    def product(self, weights: Floats) -> Floats:
        """The scores of all rows, (rows,)."""

    @abstractmethod
    def back(self, coefficients: Floats) -> Floats:
        """Σ coefficient · x, (features,)."""

    @abstractmethod
    def take(self, rows: ArrayLike) -> Rows:
        """A few rows, brought here, in the order given."""

    @abstractmethod
    def top(
        self, weights: Floats, k: int, hidden: ArrayLike = ()
    ) -> tuple[Ints, Floats]:
        """The best ``k`` rows that are not hidden, ties by number, and their scores."""

    @abstractmethod
    def ascend(
        self,
        few: Rows,
        hinges: Hinges,
        *,
        duals: Floats,
        weights: Floats | None = None,
        tol: float = 1e-3,
    ) -> Solution:
        """What ``ascend([few, these rows], hinges, …)`` finds, up to ``tol``.

        Of these rows each has one hinge, in order, all of one sign, box and margin but
        for boxes of 0; or none has; single ones may have more hinges after those.
        """


def taken_in(U: Any, *, name: str) -> Rows | Collection:
    """A matrix of any kind as rows; what lies elsewhere stays there."""
    return U if isinstance(U, Collection) else rows_from(U, name=name)


def some(U: Rows | Collection, rows: ArrayLike) -> Rows:
    """A few rows, at hand."""
    return take(U, rows) if isinstance(U, Rows) else U.take(rows)


def products(parts: Sequence[Rows | Collection]) -> Linear:
    """X · w and Xᵀ · c of parts one below the other, wherever they lie.

    >>> products([rows_from([[1.0, 2.0]])]).product(np.ones(2)).tolist()
    [3.0]
    """
    here = [part for part in parts if isinstance(part, Rows)]
    if len(here) == len(parts):
        return linear(here)
    each = [linear([part]) if isinstance(part, Rows) else part for part in parts]
    ends = np.cumsum([len(part) for part in parts])[:-1]

    def product(weights: Floats) -> Floats:
        return np.concatenate([part.product(weights) for part in each])

    def back(coefficients: Floats) -> Floats:
        mine = zip(each, np.split(coefficients, ends), strict=True)
        return np.asarray(sum(part.back(c) for part, c in mine))

    return Linear(product, back, max(part.width for part in parts))


def climb(
    few: Rows,
    U: Rows | Collection,
    hinges: Hinges,
    *,
    duals: Floats,
    weights: Floats | None = None,
    tol: float = 1e-3,
) -> Solution:
    """The ascent over a few rows and the collection below them."""
    if isinstance(U, Rows):
        parts = [few, U] if len(U) else [few]
        return ascend(parts, hinges, duals=duals, weights=weights, tol=tol)
    return U.ascend(few, hinges, duals=duals, weights=weights, tol=tol)

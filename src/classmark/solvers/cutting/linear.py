"""X · w and Xᵀ · c of matrices that lie one below the other, never copied into one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from classmark.arrays import Floats
from classmark.problems import Mistake
from classmark.sparse import Rows


class Linear(NamedTuple):
    """product : weights → scores;  back : coefficients → weights;  width : features."""

    product: Callable[[Floats], Floats]
    back: Callable[[Floats], Floats]
    width: int


def dot(one: Floats, other: Floats) -> float:
    """⟨one, other⟩ in this thread: for vectors like these more threads only wait.

    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float(np.einsum("i,i", one, other))


def linear(parts: Sequence[Rows]) -> Linear:
    """The two products of some matrices; rows of coefficient 0 cost nothing.

    >>> from classmark.sparse import rows_from
    >>> one = linear([rows_from([[1.0, 2.0]]), rows_from([[0.0, 3.0]])])
    >>> one.product(np.array([1.0, 1.0])).tolist(), one.back(np.ones(2)).tolist()
    ([3.0, 3.0], [1.0, 5.0])
    """
    from classmark.solvers.cutting.kernels import combine, multiply

    if not parts:
        raise Mistake("parts: none given: give at least one matrix")
    ends = np.cumsum([0, *map(len, parts)])
    width = max(part.width for part in parts)

    def product(weights: Floats) -> Floats:
        scores = np.empty(ends[-1])
        for part, begin, end in zip(parts, ends, ends[1:], strict=False):
            out = scores[begin:end]
            multiply(part.starts, part.columns, part.values, weights, out)
        return scores

    def back(coefficients: Floats) -> Floats:
        weights = np.zeros(width)
        for part, begin, end in zip(parts, ends, ends[1:], strict=False):
            mine = coefficients[begin:end]
            rows = np.flatnonzero(mine)
            combine(part.starts, part.columns, part.values, rows, mine[rows], weights)
        return weights

    return Linear(product, back, width)

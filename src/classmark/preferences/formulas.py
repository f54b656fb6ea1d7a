"""The price of one group of preferences, as the paper prints it."""

from __future__ import annotations

import math

from classmark.compiled import compiled


@compiled
def price(z: float) -> float:
    """Price a group: ln(1 + Σ_e exp(f(term e) − f(init e))) [DekelManningSinger03].

    z : ln Σ_e exp(…), the logarithm of the sum over the group's edges; the price then
    is ln(1 + eᶻ), taken without overflow. Over ln 2 it bounds the group's error.

    >>> round(price(0.0), 4)
    0.6931
    """
    if z > 0.0:
        return z + math.log1p(math.exp(-z))
    return math.log1p(math.exp(z))

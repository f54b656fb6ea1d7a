"""What is known of an item before any query: its prior, such as PageRank."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats
from classmark.index.plans import Plan, Query
from classmark.problems import Mistake


class Prior(NamedTuple):
    """What is added to every item's score: shape (items,), and the largest of it."""

    parts: Floats
    most: float


def log_prior(probabilities: ArrayLike, weight: float = 1.0) -> Prior:
    """Make weight · ln(probability) of each item, to be added to its scores.

    >>> round(log_prior([0.5, 0.25], 2.0).most, 6)
    -1.386294
    """
    given = np.asarray(probabilities, np.float64)
    if given.ndim != 1:
        raise Mistake(f"prior has {given.ndim} dimensions: give one number per item")
    bad = np.flatnonzero(~((given > 0.0) & np.isfinite(given)))
    if len(bad):
        raise Mistake(f"prior of item {bad[0]} is {given[bad[0]]}: give one above 0")
    if not np.isfinite(weight):
        raise Mistake(f"weight of the prior is {weight!r}: give a number")
    parts = np.log(given) * weight
    return Prior(parts, float(parts.max(initial=-np.inf)))


def with_prior(plan: Plan, prior: Prior, query: Query) -> tuple[Floats, float]:
    """Join the prior to the items' own parts, which the model scales by the query."""
    if len(prior.parts) != len(plan.x):
        raise Mistake(
            f"prior has {len(prior.parts)} items: the index has {len(plan.x)}"
        )
    if not plan.model.has_document_part:
        return prior.parts, prior.most
    scale = float(query.weights.sum()) if plan.model.name == "dirichlet" else 1.0
    joined = plan.extra + prior.parts / scale if scale else prior.parts
    return joined, float(joined.max(initial=-np.inf))

"""Several fields, one score: the weighted sum of the fields' scores.

An item that matches in any field takes the document's part of every field (a length of
0 where the item lacks the field). Exhaustive: every posting is added.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.index.plans import Choice, Prepared, Terms
from classmark.index.priors import Prior
from classmark.problems import Mistake

if TYPE_CHECKING:
    from classmark.index.searching import Searcher

Weights = Mapping[str, float] | None


def weighted_fields(
    known: Mapping[str, Prepared], weights: Weights
) -> list[tuple[str, Prepared, float]]:
    """Return the fields asked for with their weights; refuse unknown and negative."""
    wanted = dict.fromkeys(known, 1.0) if weights is None else weights
    for name, weight in wanted.items():
        if name not in known:
            raise Mistake(f"field {name!r} is not there: there is {', '.join(known)}")
        if not 0.0 <= weight < np.inf:
            raise Mistake(f"weight of field {name!r} is {weight!r}: give 0 or more")
    return [(name, known[name], float(weight)) for name, weight in wanted.items()]


def find_in_fields(
    searcher: Searcher,
    terms: Terms,
    k: int,
    choice: Choice,
    extras: tuple[Weights, Prior | None],
) -> tuple[Ints, Floats]:
    """Return the best items and their scores over weighted fields and a prior."""
    from classmark.index.finding.kernels import accumulate
    from classmark.index.topk.kernels import select_all

    weights, prior = extras
    fields = weighted_fields(searcher.fields, weights)
    own, offset = np.zeros(searcher.n_items), 0.0
    if prior is not None:
        own += prior.parts
    scratch = searcher.scratch()
    for _, field, weight in fields:
        asked = field.ask(terms, choice, weight)
        code, world = asked.plan.model.code, asked.plan.world
        accumulate(code, world, asked.terms, asked.data, scratch.acc)
        offset += asked.offset
        if asked.plan.model.has_document_part:
            own += asked.scale * asked.plan.extra
    k = min(k, searcher.n_items)
    items, scores = np.empty(k, np.int64), np.empty(k)
    alive = next(iter(searcher.fields.values())).alive
    rule = (alive, own, 1.0, offset)
    n = select_all(scratch.acc, False, rule, items, scores)
    searcher.release(scratch)
    return items[:n], scores[:n]

"""Why does this item have this score? Every term's part, and the item's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from classmark.index.combining import Weights, weighted_fields
from classmark.index.plans import Choice, Terms
from classmark.index.priors import Prior
from classmark.problems import Mistake

if TYPE_CHECKING:
    from classmark.index.searching import Searcher


class Part(NamedTuple):
    """What one term of the query adds to an item's score, in one field."""

    field: str
    term: str
    weight: float
    part: float


class Explanation(NamedTuple):
    """A score taken apart: the parts and ``own`` add up to it.

    own : what the item scores whatever it contains: the model's document part, the
    query's constant, and the prior.  found : whether any term occurs in it; an item in
    which none does is not ranked.
    """

    score: float
    parts: tuple[Part, ...]
    own: float
    found: bool


def explain(
    searcher: Searcher,
    terms: Terms,
    item: int,
    choice: Choice,
    extras: tuple[Weights, Prior | None],
) -> Explanation:
    """Take apart the score of one item: terms of the query in order, field by field."""
    from classmark.index.finding.kernels import parts_of

    if not 0 <= item < searcher.n_items:
        raise Mistake(f"item {item} is not there: give 0 to {searcher.n_items - 1}")
    weights, prior = extras
    parts: list[Part] = []
    own, score, found = 0.0 if prior is None else float(prior.parts[item]), 0.0, False
    for name, field, weight in weighted_fields(searcher.fields, weights):
        asked = field.ask(terms, choice, weight)
        out = np.empty(len(asked.query.numbers))
        code, world = asked.plan.model.code, asked.plan.world
        found |= parts_of(code, world, asked.terms, asked.data, item, out)
        rows = zip(*(a.tolist() for a in (*asked.query, out)), strict=True)
        parts += [Part(name, field.field.term(t), w, value) for t, w, value in rows]
        score += float(sum(out.tolist()))
        own += asked.offset
        if asked.plan.model.has_document_part:
            own += asked.scale * float(asked.plan.extra[item])
    return Explanation(score + own, tuple(parts), own, bool(found))

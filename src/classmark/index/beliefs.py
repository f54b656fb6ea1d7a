"""Inquery's operators over any fields: one belief per item and node of the tree.

A term's belief in an item is 0.4 + 0.6 · tf/(tf + 0.5 + 1.5 length/average) · ln((N +
½)/df)/ln(N + 1), and 0.4 where it does not occur [TurtleCroft91]; a word's is the mean
over its terms and the fields it is asked of. Operators join the beliefs p of their n
parts: #not 1 − p, #and Π p, #or 1 − Π (1 − p), #sum the mean, #wsum the weighted mean,
#max the largest, #combine (Π p)^(1/n). Exhaustive.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from classmark.arrays import Bools, Floats
from classmark.index.boolean import Asked
from classmark.index.plans import Prepared
from classmark.index.tree import Belief, Node, Word
from classmark.problems import Mistake

if TYPE_CHECKING:
    from classmark.index.searching import Hit, Searcher

DEFAULT = 0.4


def search_beliefs(
    searcher: Searcher, asked: Asked, tree: Belief, k: int = 10
) -> list[Hit]:
    """Return the best ``k`` items that have any of the tree's words, by belief."""
    from classmark.index.topk.kernels import select_all

    if k < 0:
        raise Mistake(f"k is {k}: give 0 or more")
    found = np.zeros(searcher.n_items, np.bool_)
    beliefs = _believe(searcher, asked, tree, found)
    if beliefs is None:
        return []
    size = min(k, searcher.n_items)
    items, best = np.empty(size, np.int64), np.empty(size)
    alive = next(iter(searcher.fields.values())).alive
    rule = (alive, np.empty(0), 1.0, 0.0)
    n = select_all(np.where(found, beliefs, -0.0), False, rule, items, best)
    return searcher.hits(items[:n], best[:n])


def _believe(
    searcher: Searcher, asked: Asked, node: Node, found: Bools
) -> Floats | None:
    """Return every item's belief, None where nothing is said; note where words are."""
    if isinstance(node, Word):
        fields = [searcher.fields[name] for name in asked.within(node)]
        terms = [term for term, _ in asked.terms(node)]
        parts = [_of_term(field, term, found) for field in fields for term in terms]
        return reduce(np.add, parts) / len(parts) if parts else None
    if not isinstance(node, Belief):
        raise Mistake(f"{node} cannot stand within an operator: give words")
    weights = node.weights or (1.0,) * len(node.parts)
    said = [_believe(searcher, asked, part, found) for part in node.parts]
    pairs = [(w, p) for w, p in zip(weights, said, strict=True) if p is not None]
    kept = [w for w, _ in pairs]
    return _joined(node.name, [p for _, p in pairs], kept) if sum(kept) else None


def _of_term(field: Prepared, term: str, found: Bools) -> Floats:
    from classmark.index.finding.kernels import accumulate
    from classmark.index.models.kernels import INQUERY

    asked = field.ask([term], ("inquery", {}))
    gained = np.full(field.field.n_items, -0.0)
    accumulate(INQUERY, asked.plan.world, asked.terms, asked.data, gained)
    found |= ~np.signbit(gained)
    return gained + DEFAULT


def _joined(name: str, parts: list[Floats], weights: list[float]) -> Floats:
    if name == "not":
        return 1.0 - parts[0]
    if name == "or":
        return 1.0 - reduce(np.multiply, [1.0 - part for part in parts])
    if name == "max":
        return reduce(np.maximum, parts)
    if name in ("and", "combine"):
        product: Floats = reduce(np.multiply, parts)
        return product if name == "and" else product ** (1.0 / len(parts))
    total = reduce(np.add, [w * p for w, p in zip(weights, parts, strict=True)])
    mean: Floats = total / sum(weights)
    return mean

"""The documents that feedback learns from, gathered from all shards as one field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from classmark.arrays import Ints
from classmark.index.collection import CountedField
from classmark.index.feedback import Feedback, Found, expand
from classmark.index.plans import Prepared
from classmark.index.reading import Lists

if TYPE_CHECKING:
    from classmark.machines.shards import Excerpt


def lengthened_by(
    excerpts: Sequence[Excerpt],
    queries: Sequence[Mapping[str, float]],
    found: Sequence[Found],
    feedback: Feedback,
) -> list[dict[str, float]]:
    """Return each query made longer by the documents found for it.

    excerpts : those documents, of each shard in order;  found : the documents by their
    numbers in the whole index.
    """
    items = numbers_of(found)
    field = Prepared(_field(excerpts, items))
    return [
        expand(field, terms, _renumbered(best, items), feedback)
        for terms, best in zip(queries, found, strict=True)
    ]


def numbers_of(found: Sequence[Found]) -> Ints:
    """Return the numbers of all documents found, each once, increasing."""
    none = np.empty(0, np.int64)
    return np.unique(np.concatenate([none, *(best.items for best in found)]))


def _renumbered(best: Found, items: Ints) -> Found:
    return Found(np.searchsorted(items, best.items), best.scores, best.model)


def _field(excerpts: Sequence[Excerpt], items: Ints) -> CountedField:
    """Make one field of the documents; terms in the order of the whole index."""
    known = {n: entry for each in excerpts for n, entry in each.known.items()}
    numbers = np.array(sorted(known), np.int64)
    entries = [known[number] for number in numbers.tolist()]
    terms = np.concatenate([each.terms for each in excerpts])
    order = np.argsort(terms, kind="stable")  # within a term by document
    owners = np.concatenate([each.items for each in excerpts])[order]
    counts = np.concatenate([each.counts for each in excerpts])[order]
    return CountedField(
        [term for term, _, _ in entries],
        np.concatenate([each.lengths for each in excerpts]),
        None,
        np.array([df for _, df, _ in entries], np.uint32),
        np.array([cf for _, _, cf in entries], np.int64),
        Lists(
            np.searchsorted(items, owners).astype(np.uint32),
            counts.astype(np.uint32),
            np.searchsorted(terms[order], numbers, side="left"),
            np.searchsorted(terms[order], numbers, side="right"),
        ),
        excerpts[0].world,
    )

"""Which terms has this document? The forward view of a few, out of inverted lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Ints
from classmark.index.plans import STRIDE, frozen, frozen_lists
from classmark.index.reading import Field
from classmark.problems import Mistake


class Postings(NamedTuple):
    """Some documents' terms, by document, then by term.

    ``items[j]`` has the term of number ``terms[j]`` ``counts[j]`` times.
    """

    items: Ints
    terms: Ints
    counts: Ints


def terms_of(field: Field, items: Sequence[int] | NDArray[np.integer]) -> Postings:
    """Read the terms of some documents, all lists being gone through once.

    >>> from classmark.index.collection import field_of
    >>> from classmark.sparse import rows_from
    >>> field = field_of(rows_from([[2, 0], [1, 1]]), ["ant", "bee"])
    >>> terms_of(field, [1]).terms.tolist()
    [0, 1]
    """
    from classmark.index.forward.kernels import gather

    wanted = np.unique(np.asarray(items, np.int64))
    if len(wanted) and not 0 <= wanted[0] <= wanted[-1] < field.n_items:
        raise Mistake(f"items: give numbers from 0 to {field.n_items - 1}")
    slots = np.zeros(field.n_items, np.uint32)
    slots[wanted] = np.arange(1, len(wanted) + 1)
    room = int(np.asarray(field.lengths)[wanted].sum(dtype=np.int64))
    out, n = np.empty((room, 3), np.int64), 0
    sorted_items = frozen(wanted.astype(np.uint32), np.uint32)
    for first in range(0, field.n_terms, STRIDE):
        last = min(first + STRIDE, field.n_terms)
        lists = frozen_lists(field.lists(np.arange(first, last, dtype=np.int64)))
        n = gather(first, *lists, sorted_items, frozen(slots, np.uint32), out, n)
    found = out[:n]
    order = np.lexsort((found[:, 1], found[:, 0]))
    slot, terms, counts = found[order].T
    return Postings(wanted[slot], terms, counts)

"""Documents of a field as unit vectors of tf · idf: a few of them, and the mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Floats
from classmark.index.plans import STRIDE, Prepared, frozen_lists
from classmark.index.terms import terms_of
from classmark.sparse import Rows, transpose


def vectors_of(field: Prepared, items: Sequence[int] | NDArray[np.integer]) -> Rows:
    """The vectors of some documents, one column a term of the field.

    They are those that ``search_vector`` multiplies with, a row for each item in the
    order given. All lists are gone through once.

    >>> from classmark.index.collection import field_of
    >>> from classmark.sparse import rows_from
    >>> field = Prepared(field_of(rows_from([[3, 4], [1, 0]]), ["ant", "bee"]))
    >>> vectors_of(field, [1]).to_scipy().toarray().tolist()
    [[1.0, 0.0]]
    """
    wanted = np.asarray(items, np.int64)
    found = terms_of(field.field, wanted)
    values = found.counts * field.idf[found.terms] * field.inverse_norms[found.items]
    distinct, slots = np.unique(wanted, return_inverse=True)
    ends = np.searchsorted(found.items, distinct, side="right")
    begins = np.searchsorted(found.items, distinct, side="left")
    spans = [np.arange(begins[slot], ends[slot]) for slot in slots]
    starts = np.cumsum([0, *map(len, spans)])
    taken = np.concatenate(spans) if spans else np.empty(0, np.int64)
    columns = found.terms[taken].astype(np.uint32)
    return Rows(starts, columns, values[taken], field.field.n_terms)


def mean_vector(field: Prepared) -> Floats:
    """The mean of the vectors of all documents that are not deleted, (terms,).

    mean_t = idf_t/N · Σ over the term's list of tf/‖d‖: one pass over the postings.

    >>> from classmark.index.collection import field_of
    >>> from classmark.sparse import rows_from
    >>> field = Prepared(field_of(rows_from([[3, 0], [1, 0]]), ["ant", "bee"]))
    >>> mean_vector(field).tolist()
    [1.0, 0.0]
    """
    each = field.inverse_norms.copy()
    if field.field.alive is not None:
        each[~field.field.alive] = 0.0
    total = np.zeros(field.field.n_terms)
    for first in range(0, field.field.n_terms, STRIDE):
        chosen = np.arange(first, min(first + STRIDE, field.field.n_terms))
        lists = frozen_lists(field.field.lists(chosen))
        sizes = lists.ends - lists.begins
        taken = np.repeat(lists.begins - (np.cumsum(sizes) - sizes), sizes)
        taken += np.arange(len(taken))
        parts = lists.counts[taken] * each[lists.items[taken]]
        owner = np.repeat(np.arange(len(chosen)), sizes)
        total[chosen] = np.bincount(owner, parts, minlength=len(chosen))
    return np.asarray(total * field.idf / max(field.field.n_alive, 1))


def unit_rows(field: Prepared, first: int, last: int) -> Rows:
    """The vectors of documents ``first`` to before ``last``, in order.

    A document that is deleted has an empty row. All lists are gone through once; bit
    for bit they are those of ``vectors_of``.

    >>> from classmark.index.collection import field_of
    >>> from classmark.sparse import rows_from
    >>> field = Prepared(field_of(rows_from([[3, 4], [1, 0]]), ["ant", "bee"]))
    >>> unit_rows(field, 1, 2).to_scipy().toarray().tolist()
    [[1.0, 0.0]]
    """
    sizes, items, values = [np.zeros(1, np.int64)], [], []
    for begin in range(0, field.field.n_terms, STRIDE):
        chosen = np.arange(begin, min(begin + STRIDE, field.field.n_terms))
        lists = frozen_lists(field.field.lists(chosen))
        lengths = lists.ends - lists.begins
        taken = np.repeat(lists.begins - (np.cumsum(lengths) - lengths), lengths)
        taken += np.arange(len(taken))
        term = np.repeat(chosen, lengths)
        here = lists.items[taken]
        inside = (here >= first) & (here < last)
        if field.field.alive is not None:
            inside &= field.field.alive[here]
        term, here, taken = term[inside], here[inside], taken[inside]
        sizes.append(np.bincount(term - begin, minlength=len(chosen)))
        items.append((here - first).astype(np.uint32))
        values.append(lists.counts[taken] * field.idf[term] * field.inverse_norms[here])
    starts = np.cumsum(np.concatenate(sizes))
    columns = np.concatenate([np.empty(0, np.uint32), *items])
    weights = np.concatenate([np.empty(0), *values])
    return transpose(Rows(starts, columns, weights, last - first))

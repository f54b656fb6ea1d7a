"""A side of the documents: one field, or several read as one, scored item by item.

Retrieval finds the best of all items; here some items are given, and any model scores
each of them. Statistics are those of the items that are alive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Floats, Ints
from classmark.index.models import Choice, Prepared, frozen, resolve
from classmark.problems import Mistake

COSINE = "cosine"


class Matches(NamedTuple):
    """The terms of a query that occur on a side, and how often in each item.

    terms : analysed, each once;  weights : those of the query;  df, cf : their
    statistics, each shape (terms,);  tf : shape (terms, items).
    """

    terms: tuple[str, ...]
    weights: Floats
    df: Floats
    cf: Floats
    tf: Floats


class Side:
    """One field, or the text that several make together.

    >>> from classmark.index.field import field_of
    >>> from classmark.sparse import rows_from
    >>> field = field_of(rows_from([[2, 0], [1, 1]]), ["ant", "bee"])
    >>> side, items = Side([Prepared(field)]), np.array([1, 0])
    >>> matches = side.matches({"ant": 1.0, "cat": 1.0}, items)
    >>> matches.tf.tolist(), side.scores(matches, items, ("tf", {})).tolist()
    ([[1.0, 2.0]], [1.0, 2.0])
    """

    def __init__(self, fields: Sequence[Prepared]) -> None:
        if not fields:
            raise Mistake("fields is empty: give at least one")
        self.fields = list(fields)
        self.n_alive = fields[0].field.n_alive
        self.tokens = sum(each.field.total_length for each in fields)
        self._alive = fields[0].alive

    def lengths(self, items: Ints) -> NDArray[np.uint32]:
        """Tokens of some items, shape (items,)."""
        parts = [each.lengths[items] for each in self.fields]
        return np.asarray(np.sum(parts, axis=0, dtype=np.uint32), np.uint32)

    def matches(self, query: Mapping[str, float], items: Ints) -> Matches:
        """Look the terms of a query up, and count them in some items."""
        names: list[str] = []
        rows: list[tuple[float, int, int]] = []
        counted: list[Floats] = []
        for term, weight in query.items():
            df, cf, tf = self._looked_up(term, items)
            if df and weight:
                names.append(term)
                rows.append((weight, df, cf))
                counted.append(tf)
        table = np.array(rows, np.float64).reshape(-1, 3)
        tf = np.array(counted).reshape(len(names), len(items))
        return Matches(tuple(names), table[:, 0], table[:, 1], table[:, 2], tf)

    def scores(self, matches: Matches, items: Ints, choice: Choice) -> Floats:
        """Return the score of each item under a model, as ``Searcher`` gives it."""
        from classmark.index import kernels_models as kernels

        model, values = resolve(*choice)
        world = np.zeros(6)
        world[:3] = self.n_alive, self.tokens, self.tokens / self.n_alive or 1.0
        world[3 : 3 + len(values)] = values
        lengths, x = frozen(self.lengths(items), np.uint32), np.empty(len(items))
        if model.name == COSINE:
            if len(self.fields) > 1:
                raise Mistake("cosine needs the norms of one field: score each alone")
            x = self.fields[0].inverse_norms[items]
        else:
            kernels.features(model.code, lengths, world, x)
        a, b = np.empty(len(matches.terms)), np.empty(len(matches.terms))
        weights, df, cf = map(
            np.ascontiguousarray, (matches.weights, matches.df, matches.cf)
        )
        scale, offset = kernels.constants(model.code, weights, df, cf, world, a, b)
        out = np.empty(len(items))
        kernels.score_items(model.code, world, (a, b), matches.tf, x, out)
        if model.has_document_part:
            document_parts = np.empty(len(items))
            kernels.document_parts(model.code, lengths, world, document_parts)
            out += scale * document_parts
        return np.asarray(out + offset)

    def _looked_up(self, term: str, items: Ints) -> tuple[int, int, Floats]:
        """Return df, cf, and how often a term occurs in each item."""
        df, cf, tf, lists = 0, 0, np.zeros(len(items)), []
        for each in self.fields:
            number = each.numbers[term]
            if number < 0:
                continue
            listed, counts, (begin,), (end,) = each.field.lists(np.array([number]))
            holders, counts = listed[begin:end], counts[begin:end]
            at = np.searchsorted(holders, items)
            at[at == len(holders)] = 0
            tf += np.where(holders[at] == items, counts[at], 0)
            df, cf = df + int(each.df[number]), cf + int(each.cf[number])
            lists.append(holders)
        if len(lists) > 1:
            union = np.unique(np.concatenate(lists))
            df = int(self._alive[union].sum()) if len(self._alive) else len(union)
        return df, cf, tf

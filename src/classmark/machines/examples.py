"""Query by examples over an index on several machines, learned from all documents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from classmark.arrays import Ints, Rows
from classmark.examples.online import IndexExamples, OnlineResult, document_numbers
from classmark.examples.query import ExampleQuery
from classmark.index.index import Index
from classmark.index.models import Prepared
from classmark.machines.cluster import Machines
from classmark.machines.portion import of_index
from classmark.machines.rows import SpreadRows
from classmark.problems import Mistake


class Offline(IndexExamples):
    """Learns queries from documents of an index and all others, which workers have.

    One field is learned from: the only one, or the one with most words. What ``Online``
    does from the mean of the documents, this does from the documents.

    rows : the documents that are not deleted, in order, as unit vectors of tf · idf.
    """

    def __init__(self, index: Index, machines: Machines) -> None:
        if not len(index):
            raise Mistake(f"{index.path} has no documents: add some (classmark index)")
        machines.require_folder(index.path)
        self.index = index
        fields = {name: index.field(name) for name in index.fields}
        name = max(fields, key=lambda each: fields[each].total_length)
        self.field = Prepared(fields[name])
        alive = fields[name].alive
        numbers = np.arange(fields[name].n_items)
        self._living = numbers if alive is None else numbers[alive]
        self.rows = SpreadRows(machines, of_index(index, name, machines.workers))

    def find(
        self,
        examples: Sequence[str],
        k: int = 10,
        rejected: Sequence[str] = (),
        method: str = "auto",
        C: float | None = None,
        terms: int | None = None,
    ) -> OnlineResult:
        """The best ``k`` documents besides the examples and the rejected ones.

        terms : how many terms of the learned query are used; None: all.
        """
        yes, no = self._row_numbers(examples), self._row_numbers(rejected)
        judged = np.concatenate([yes, no])
        query = ExampleQuery(method, C=C).fit(
            self.rows.take(yes),
            self.rows,
            self.rows.take(no) if len(no) else None,
            known=judged,
        )
        query = query if terms is None else query.cut(terms)
        best, scores = self.rows.top(query.coef_, k, judged)
        ids = [self.index.id(int(self._living[row])) for row in best]
        return OnlineResult(ids, scores.tolist(), self.term_weights(query))

    def rows_of(self, ids: Sequence[str]) -> Rows:
        """Return the vectors of documents, columns being the field's terms."""
        return self.rows.take(self._row_numbers(ids))

    def _row_numbers(self, ids: Sequence[str]) -> Ints:
        return np.searchsorted(self._living, document_numbers(self.index, ids))

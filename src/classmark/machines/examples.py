"""Query by examples over an index on several machines, learned from all documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from classmark.arrays import Ints
from classmark.examples.online import OnlineResult
from classmark.examples.query import ExampleQuery
from classmark.machines.portion import of_index
from classmark.machines.rows import SpreadRows
from classmark.problems import Mistake
from classmark.ranking import top

if TYPE_CHECKING:
    from classmark.index.index import Index
    from classmark.machines.cluster import Machines


class Offline:
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
        self.field = fields[name]
        alive = self.field.alive
        self._living = (
            np.arange(self.field.n_items) if alive is None else alive.nonzero()[0]
        )
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
        yes, no = self._numbers(examples), self._numbers(rejected)
        query = ExampleQuery(method, C=C).fit(
            self.rows.take(yes),
            self.rows,
            self.rows.take(no) if len(no) else None,
            known=np.concatenate([yes, no]),
        )
        query = query if terms is None else query.cut(terms)
        best, scores = self.rows.top(query.coef_, k, np.concatenate([yes, no]))
        weights = {
            self.field.term(int(at)): float(query.coef_[at])
            for at in np.flatnonzero(query.coef_)
        }
        ids = [self.index.id(int(self._living[row])) for row in best]
        return OnlineResult(ids, scores.tolist(), weights)

    def reasons(self, answer: OnlineResult, n: int) -> list[dict[str, float]]:
        """The ``n`` greatest parts of each document's score: term → weight · value."""
        rows = self.rows.take(self._numbers(answer.ids))
        reasons = []
        for i in range(len(rows)):
            columns, values = rows.row(i)
            terms = [self.field.term(int(column)) for column in columns]
            parts = [answer.weights.get(term, 0.0) for term in terms] * values
            best = [at for at in top(parts, n) if parts[at] > 0.0]
            reasons.append({terms[at]: float(parts[at]) for at in best})
        return reasons

    def _numbers(self, ids: Sequence[str]) -> Ints:
        """The rows of documents."""
        numbers = [self.index.number(name) for name in ids]
        for name, number in zip(ids, numbers, strict=True):
            if number is None:
                raise Mistake(
                    f"document {name!r} is not in the index: give an id it has"
                )
        return np.searchsorted(self._living, np.array(numbers, np.int64))

"""A query by examples at once: learned from them alone, answered by an index."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from classmark.arrays import Floats, Ints, Rows, rows_from, stack
from classmark.estimator import Estimator, parameters
from classmark.examples.problem import empty
from classmark.examples.query import ExampleQuery
from classmark.index.index import Index
from classmark.index.models import Prepared
from classmark.index.vectors import Products, mean_vector, vectors_of
from classmark.problems import Mistake
from classmark.ranking import top
from classmark.solvers.smooth import squared_hinges
from classmark.validation import require_numbers


@parameters()
class RelevanceQuery(Estimator):
    """A linear query from judged documents, for labels that are rare and noisy.

    Minimises ½‖w‖² + ½b² + C Σ price · max(0, 1 − y(⟨w, x⟩ + b))², price = ``ratio``
    for a relevant document and 1 for another [KeerthiDeCoste05]. C is small, so that no
    single judgment weighs much; the bias b takes up that most judged documents are not
    relevant, which weights alone could only do at the cost of the order.

    After ``fit``: ``coef_`` (features,), ``intercept_``, ``objective_``.

    >>> query = RelevanceQuery().fit([[1.0, 0.0]], N=[[0.0, 1.0]])
    >>> bool(np.diff(query.decision_function([[0.0, 1.0], [1.0, 0.0]]))[0] > 0)
    True
    """

    C: float = 0.03
    ratio: float = 10.0
    tol: float = 0.01

    def fit(
        self,
        P: Any,
        U: Any = None,  # noqa: ARG002 - as every query is asked
        N: Any = None,
    ) -> Self:
        """Learn from relevant P and irrelevant N; unjudged documents are not used."""
        require_numbers(self, "C", "ratio", over=0)
        yes = rows_from(P, name="P")
        if not len(yes):
            raise Mistake("P is empty: give at least one relevant document")
        self._yes, self._no = yes, empty(yes) if N is None else rows_from(N, name="N")
        return self._learn(None)

    def partial_fit(self, yes: Any = None, no: Any = None) -> Self:
        """Learn again with more of both kinds, starting from what is known."""
        if yes is not None:
            self._yes = stack([self._yes, rows_from(yes, name="yes")])
        if no is not None:
            self._no = stack([self._no, rows_from(no, name="no")])
        return self._learn(np.append(self.coef_, self.intercept_))

    def decision_function(self, X: Any) -> Floats:
        """⟨w, x⟩ + b of each row, shape (n,)."""
        rows = rows_from(X)
        weights = self.coef_.astype(rows.values.dtype)
        return np.asarray(rows.to_scipy() @ weights + self.intercept_, float)

    def _learn(self, start: Floats | None) -> Self:
        rows = stack([self._yes, self._no])
        positive = np.arange(len(rows)) < len(self._yes)
        prices = self.C * np.where(positive, self.ratio, 1.0)
        signs = np.where(positive, 1.0, -1.0)
        solution = squared_hinges(rows, signs, prices, start=start, tol=self.tol)
        self.coef_, self.intercept_ = solution.weights[:-1], float(solution.weights[-1])
        self.objective_ = solution.objective
        return self


ONLINE = ("auto", "centroid", "one-class", "rocchio")
TERMS = 3000  # of the heaviest are asked for


class IndexExamples(ABC):
    """Queries learned from documents of an index, by their ids, over one field."""

    index: Index
    field: Prepared

    @abstractmethod
    def rows_of(self, ids: Sequence[str]) -> Rows:
        """Return the vectors of documents, columns being the field's terms."""

    def term_weights(self, query: ExampleQuery) -> dict[str, float]:
        """Return the weights of a query that are not 0, by term."""
        term, weights = self.field.field.term, query.coef_
        return {term(int(at)): float(weights[at]) for at in np.flatnonzero(weights)}

    def reasons(self, result: OnlineResult, n: int) -> list[dict[str, float]]:
        """The ``n`` greatest parts of each document's score: term → weight · value."""
        rows, reasons = self.rows_of(result.ids), []
        for i in range(len(rows)):
            columns, values = rows.row(i)
            terms = [self.field.field.term(int(column)) for column in columns]
            parts = [result.weights.get(term, 0.0) for term in terms] * values
            best = [at for at in top(parts, n) if parts[at] > 0.0]
            reasons.append({terms[at]: float(parts[at]) for at in best})
        return reasons


def document_numbers(index: Index, ids: Sequence[str]) -> Ints:
    """The numbers of documents by their ids, all of which the index must have."""
    numbers = [index.number(name) for name in ids]
    if None in numbers:
        missing = ids[numbers.index(None)]
        raise Mistake(f"document {missing!r} is not in the index: give an id it has")
    return np.array(numbers, np.int64)


class Online(IndexExamples):
    """Learns queries from documents of an index, which knows the mean of all.

    One field is learned from: the only one, or the one with most words. Its mean is
    computed once, and kept.

    >>> from tempfile import TemporaryDirectory
    >>> from classmark import Index
    >>> with TemporaryDirectory() as folder:
    ...     index = Index.build(folder, [("a", "bee hive"), ("b", "hive"), ("c", "ox")])
    ...     Online(index).find(["a"], k=1).ids
    ['b']
    """

    def __init__(self, index: Index) -> None:
        self.index = index
        fields = index.searcher.fields.values()
        self.field = max(fields, key=lambda field: field.field.total_length)
        self.products = Products(self.field)
        self.mean: Floats | None = None

    def learn(
        self,
        examples: Sequence[str],
        rejected: Sequence[str] = (),
        *,
        method: str = "auto",
        C: float | None = None,
    ) -> ExampleQuery:
        """A query from documents' ids, its columns being the field's terms."""
        if method not in ONLINE:
            methods = ", ".join(ONLINE)
            raise Mistake(f"{method} reads the whole collection: online use {methods}")
        if self.mean is None:
            self.mean = mean_vector(self.field)
        P, N = self.rows_of(examples), self.rows_of(rejected) if rejected else None
        return ExampleQuery(method, C=C).fit(P, N=N, mean=self.mean)

    def find(
        self,
        examples: Sequence[str],
        k: int = 10,
        rejected: Sequence[str] = (),
        method: str = "auto",
        C: float | None = None,
        terms: int = TERMS,
    ) -> OnlineResult:
        """The best ``k`` documents that are not judged, by the heaviest terms.

        The query's weights, cut to ``terms`` of them, are an exact ``search_vector``.
        """
        query = self.learn(examples, rejected, method=method, C=C).cut(terms)
        weights, judged = self.term_weights(query), {*examples, *rejected}
        vector = self.products.weigh(weights)
        best = self.index.searcher.search_vector(vector, k + len(judged))
        hits = [hit for hit in best if hit.id not in judged][:k]
        return OnlineResult([h.id for h in hits], [h.score for h in hits], weights)

    def rows_of(self, ids: Sequence[str]) -> Rows:
        """Return the vectors of documents, columns being the field's terms."""
        return vectors_of(self.field, document_numbers(self.index, ids))


class OnlineResult(NamedTuple):
    """The best documents of an online query, best first; weights : of its terms."""

    ids: list[str]
    scores: list[float]
    weights: dict[str, float]

"""Whatever has an analyzer and something that ranks answers texts, in one manner."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from classmark.index.querying import QueryTerms, warn_of_language
from classmark.problems import Mistake

if TYPE_CHECKING:
    from classmark.index.combining import Weights
    from classmark.index.explaining import Explanation
    from classmark.index.plans import Terms
    from classmark.index.priors import Prior
    from classmark.index.searching import Hit


class Ranks(Protocol):
    """What answers queries of analysed terms: see ``classmark.index.searching``."""

    def search(
        self,
        terms: Terms,
        k: int = 10,
        model: str = "bm25",
        *,
        fields: Weights = None,
        prior: Prior | None = None,
        **parameters: float | str,
    ) -> list[Hit]:
        """Return the best ``k`` items."""

    def search_many(
        self,
        queries: Sequence[Terms],
        k: int = 10,
        model: str = "bm25",
        **parameters: float | str,
    ) -> list[list[Hit]]:
        """Return what ``search`` does for each query."""

    def search_vector(
        self, weights: Mapping[str, float], k: int = 10, *, every: bool = False
    ) -> list[Hit]:
        """Return the items with the largest dot products."""

    def explain(
        self,
        terms: Terms,
        item: int,
        model: str = "bm25",
        *,
        fields: Weights = None,
        prior: Prior | None = None,
        **parameters: float | str,
    ) -> Explanation:
        """Take apart the score that ``search`` gives an item."""


class Answering(ABC):
    """An index on this machine, or one on many: texts in, documents out."""

    _terms: QueryTerms

    @property
    @abstractmethod
    def searcher(self) -> Ranks:
        """What answers queries of analysed terms."""

    @property
    @abstractmethod
    def fields(self) -> list[str]:
        """The names of the fields."""

    @abstractmethod
    def number(self, name: str) -> int | None:
        """Return the number of a document by its id; None: it is not there."""

    @abstractmethod
    def ask(self, query: str, k: int = 10, **options: Any) -> list[Hit]:
        """Answer a query as people type it."""

    def terms(self, query: str) -> list[str]:
        """Return the terms of a query, analysed as the documents were."""
        if not isinstance(query, str):
            raise Mistake(f"query is {type(query).__name__}: give a string")
        return self._terms.of(query)

    def search(
        self, query: str, k: int = 10, model: str = "bm25", **options: Any
    ) -> list[Hit]:
        """Return the best ``k`` documents for a text, best first; ties by number.

        query : words, a title, a whole document: every word counts, and nothing in it
            is an operator. What people type, as in ``title:"wind tunnel" -drag``, is
            for ``ask``. The model "boolean" needs operators, and gives it to ``ask``.
        options : parameters, ``fields`` and ``prior``: as ``Searcher.search`` takes.
        """
        if model == "boolean":
            return self.ask(query, k, model=model, **options)
        terms = self.terms(query)
        if ":" in query or "#" in query:
            warn_of_language(query, self.fields)
        if "feedback" in options:
            raise Mistake("search takes no feedback: index.ask(query, feedback=…) does")
        return self.searcher.search(terms, k, model, **options)

    def search_many(
        self, queries: Sequence[str], k: int = 10, model: str = "bm25", **options: Any
    ) -> list[list[Hit]]:
        """Return what ``search`` does for each of many queries."""
        if model == "boolean" or len(self.fields) > 1 or "prior" in options:
            return [self.search(query, k, model, **options) for query in queries]
        asked = [self.terms(query) for query in queries]
        return self.searcher.search_many(asked, k, model, **options)

    def search_vector(
        self, weights: Mapping[str, float], k: int = 10, *, every: bool = False
    ) -> list[Hit]:
        """Return the documents with the largest dot product with ``weights``.

        weights : analysed term → weight, any sign; documents are unit tf·idf vectors.
        every : documents that share no term with ``weights`` are ranked too.
        """
        return self.searcher.search_vector(weights, k, every=every)

    def explain(
        self, query: str, name: str, model: str = "bm25", **options: Any
    ) -> Explanation:
        """Return what each term adds to the score of the document with this id."""
        number = self.number(name)
        if number is None:
            raise Mistake(f"document {name!r} is not in the index: give an id it has")
        return self.searcher.explain(self.terms(query), number, model, **options)

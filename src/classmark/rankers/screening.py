"""Screening: read the likely documents first, learn, and stop when enough is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from classmark.arrays import Array, Bools, Floats, Ints
from classmark.problems import Mistake
from classmark.randomness import Seed, generator
from classmark.rankers.reading import Answer, Progress, Reading, Rule
from classmark.rankers.relevance import RelevanceQuery
from classmark.ranking import top
from classmark.sparse import Rows, rows_from, stack, take


class Query(Protocol):
    """What learns from examples and scores documents, as ``RelevanceQuery`` does."""

    def fit(self, P: Any, U: Any = None, N: Any = None) -> Any:
        """Learn from relevant P, unjudged U and irrelevant N."""

    def partial_fit(self, yes: Any = None, no: Any = None) -> Any:
        """Learn more of both kinds, going on from what is known."""

    def decision_function(self, X: Any) -> Array:
        """Return the scores, shape (n,): the higher, the likelier relevant."""


class Batch(NamedTuple):
    """Documents to read, in this order: the likely ones, then those drawn at random.

    documents : numbers, shape (b,);  random : whether drawn, shape (b,);  scores :
    shape (b,), NaN before anything was learned.
    """

    documents: Ints
    random: Bools
    scores: Floats


class Screening:
    """Read until a share of the relevant documents is found, provably.

    rows : the documents, shape (n, features), float32 to save memory;  relevant :
    numbers of those known to be so;  examples : relevant rows that are not among the
    documents;  rule : what is wanted;  query : makes what learns,
    ``RelevanceQuery`` by default.

    Random draws follow one random order of all documents: a document that was drawn and
    not answered is drawn again.

    >>> X = np.eye(40, dtype=np.float32)
    >>> X[:8, 0] = 1
    >>> screening = Screening(X, relevant=[0], rule=Rule(batch=8))
    >>> while not screening.progress().stop:
    ...     shown = screening.next()
    ...     screening.answer(shown.documents, shown.documents < 8, shown.random)
    >>> screening.progress().found
    8
    """

    def __init__(
        self,
        rows: Any,
        relevant: Iterable[int] = (),
        *,
        examples: Any = None,
        rule: Rule | None = None,
        query: Callable[[], Query] | None = None,
        random_state: Seed = 0,
    ) -> None:
        self.rows = rows_from(rows, name="rows")
        self.examples = (
            None if examples is None else rows_from(examples, name="examples")
        )
        self.reading = Reading(len(self.rows), Rule() if rule is None else rule)
        order = generator(random_state).permutation(len(self.rows))
        self._order: Ints = order.astype(np.int64)
        self._make: Callable[[], Query] = query or RelevanceQuery
        self._query: Query | None = None
        self._learned = 0
        self._scores: Array | None = None
        given = list(relevant)
        if given:
            self.answer(given, [True] * len(given))

    def next(self, count: int | None = None) -> Batch:
        """Return the documents to read next, by default a batch of the rule.

        The same until something is answered; fewer than ``count`` at the end.
        """
        if count is not None and count < 1:
            raise Mistake(f"count is {count}: ask for at least one document")
        unread = len(self.rows) - len(self.reading)
        wanted = min(self.reading.rule.batch if count is None else count, unread)
        scores = self.learn()
        drawn = wanted if scores is None else self.reading.draws_wanted(wanted)
        likely = np.empty(0, np.int64)
        if scores is not None and drawn < wanted:
            likely = top(np.where(self.reading.read, -np.inf, scores), wanted - drawn)
        documents = np.concatenate([likely, self._drawn(drawn, likely)])
        shown = np.full(wanted, np.nan) if scores is None else scores[documents]
        return Batch(documents, np.arange(wanted) >= len(likely), shown.astype(float))

    def answer(
        self,
        documents: Sequence[int] | Ints,
        relevant: Sequence[bool | None] | Bools,
        random: Sequence[bool] | Bools | None = None,
    ) -> None:
        """Take answers in, in reading order.

        relevant : True, False, or None where the reader cannot say;  random : whether
        the document was drawn so, as ``next`` said.
        """
        self.reading.answer(documents, relevant, random)
        self._scores = None

    def undo(self) -> list[Answer]:
        """Take the answers of the last ``answer`` back, and return them."""
        back = self.reading.undo()
        if self._learned > len(self.reading):
            self._query, self._learned = None, 0
        self._scores = None
        return back

    def learn(self) -> Array | None:
        """Learn what was answered since; return all scores, None without an example."""
        if self._scores is None:
            self._teach()
            if self._query is not None:
                self._scores = self._query.decision_function(self.rows)
        return self._scores

    def progress(self) -> Progress:
        """Say where the screening stands."""
        return self.reading.progress()

    @property
    def query(self) -> Query | None:
        """What was learned; None without an example."""
        return self._query

    @property
    def found(self) -> Ints:
        """The relevant documents, in the order they were found."""
        found: Ints = self.reading.numbers[self.reading.said == 1]
        return found

    def _drawn(self, count: int, likely: Ints) -> Ints:
        """The next ``count`` unread documents in the random order, without these."""
        closed = self.reading.read.copy()
        closed[likely] = True
        places = np.flatnonzero(~closed[self._order])[:count]
        drawn: Ints = self._order[places]
        return drawn

    def _teach(self) -> None:
        """Let the query learn the new answers, or begin one if there are examples."""
        fresh, said = (
            values[self._learned :]
            for values in (self.reading.numbers, self.reading.said)
        )
        yes, no = fresh[said == 1], fresh[said == 0]
        if self._query is None:
            parts = [] if self.examples is None else [self.examples]
            parts += [take(self.rows, yes)] if len(yes) else []
            if not parts:
                return
            self._query = self._make()
            self._query.fit(stack(parts), self.rows, self._taken(no))
        elif len(yes) or len(no):
            self._query.partial_fit(self._taken(yes), self._taken(no))
        self._learned = len(self.reading)

    def _taken(self, numbers: Ints) -> Rows | None:
        return take(self.rows, numbers) if len(numbers) else None

"""Screening: read the likely documents first, learn, and stop when enough is found."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from classmark.arrays import Array, Bools, Floats, Ints, Rows, rows_from, stack, take
from classmark.examples.query import RelevanceQuery
from classmark.measures.stopping import (
    PATIENCE,
    PRIOR,
    Draws,
    Remaining,
    Standing,
    Totals,
    draws_in,
    draws_left,
    dry_after,
    forecasts,
    is_dry,
    missing_total,
    most_relevant,
    refuted,
    remaining,
    require_share,
)
from classmark.problems import Mistake
from classmark.ranking import top
from classmark.validation import Seed, generator, require_numbers

SKIPPED = -1
TARGETS = (0.8, 0.9, 0.95)


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """The target of a screening, and how documents are chosen for reading.

    target : the recall wanted;  error : how often, at most, reading may stop before it;
    batch : how many documents are read between two lessons;  share : of random draws
    while likely documents are still found, for the estimate;  patience : how long the
    search goes on without a find (``measures.stopping.dry_after``).
    """

    target: float = 0.95
    error: float = 0.05
    batch: int = 50
    share: float = 0.05
    patience: float = PATIENCE

    def __post_init__(self) -> None:
        require_numbers(self, "target", least=0.01, under=1)
        require_share("error", self.error)
        require_numbers(self, "share", least=0, most=1)
        require_numbers(self, "batch", whole=True, least=1)
        require_numbers(self, "patience", least=0, under=math.inf)


class ScreeningAnswer(NamedTuple):
    """The judgment of a document; relevant : None where the reader could not say."""

    document: int
    relevant: bool | None
    random: bool = False


class StopForecast(NamedTuple):
    """What a target asks for; more : about how many documents, 0 once it is proved."""

    target: float
    more: int


class RecallPoint(NamedTuple):
    """The recall after so many documents: as estimated, and as proved by now."""

    read: int
    estimated: float
    proved: float


@dataclass(frozen=True, slots=True)
class ScreeningProgress:
    """The progress of a screening.

    documents : how many there are, those skipped left out;  drawn : how many were read
    because of a random draw;  remaining : None before any draw;  recall_bound : with
    chance 1 − error, the recall is not below it, nor was it ever below its bound;
    chance : were the target missed, one would ever see this at most so often;  phase :
    ``searching`` for likely ones, ``proving`` by random draws, or ``done``;  stops :
    how much reading is left to several targets, the screening's own among them.
    """

    documents: int
    read: int
    found: int
    skipped: int
    drawn: int
    target: float
    error: float
    remaining: Remaining | None
    recall_bound: float
    chance: float
    phase: str
    stops: tuple[StopForecast, ...] = ()

    @property
    def unread(self) -> int:
        """How many documents nobody has read."""
        return self.documents - self.read

    @property
    def stop(self) -> bool:
        """Whether reading may stop."""
        return self.phase == "done"


class Reading:
    """The answers so far of a reader who screens a collection by a rule.

    read : whether each document was answered, shape (documents,);  numbers, judgments,
    random : of the answers, in order: document, 1, 0 or SKIPPED, whether drawn.

    >>> reading = Reading(10, StoppingRule(batch=5))
    >>> reading.answer([3, 1, 4], [True, False, None])
    >>> reading.progress().found, reading.progress().unread
    (1, 7)
    >>> [answer.document for answer in reading.undo()]
    [3, 1, 4]
    """

    def __init__(self, documents: int, rule: StoppingRule) -> None:
        self.rule = rule
        self.read = np.zeros(documents, bool)
        self.numbers = np.empty(0, np.int64)
        self.judgments = np.empty(0, np.int8)
        self.random = np.empty(0, bool)
        self._steps: list[int] = []

    def __len__(self) -> int:
        return len(self.numbers)

    def answer(
        self,
        documents: Sequence[int] | Ints,
        relevant: Sequence[bool | None] | Bools,
        random: Sequence[bool] | Bools | None = None,
    ) -> None:
        """Take answers in, in reading order.

        relevant : True, False, or None where the reader cannot say;  random : whether
        the document was drawn so.
        """
        numbers = np.asarray(documents, np.int64)
        drawn = np.zeros(len(numbers), bool) if random is None else np.asarray(random)
        judgments = np.array(
            [SKIPPED if yes is None else yes for yes in relevant], np.int8
        )
        if not numbers.shape == judgments.shape == drawn.shape:
            raise Mistake(
                f"documents, relevant and random have {len(numbers)}, "
                f"{len(judgments)} and {len(drawn)} entries: give one each for every "
                "document"
            )
        self._require_new(numbers)
        self.numbers = np.concatenate([self.numbers, numbers])
        self.judgments = np.concatenate([self.judgments, judgments])
        self.random = np.concatenate([self.random, drawn.astype(bool)])
        self.read[numbers] = True
        self._steps.append(len(numbers))
        self._forget()

    def undo(self) -> list[ScreeningAnswer]:
        """Take the answers of the last ``answer`` back, and return them."""
        if not self._steps:
            raise Mistake("there is nothing to undo")
        n_before = len(self) - self._steps.pop()
        back = self.since(n_before)
        self.read[self.numbers[n_before:]] = False
        self.numbers = self.numbers[:n_before]
        self.judgments = self.judgments[:n_before]
        self.random = self.random[:n_before]
        self._forget()
        return back

    def since(self, first: int = 0) -> list[ScreeningAnswer]:
        """The answers from the ``first`` on."""
        parts = (self.numbers[first:], self.judgments[first:], self.random[first:])
        return [
            ScreeningAnswer(
                int(number),
                None if judgment == SKIPPED else bool(judgment),
                bool(random),
            )
            for number, judgment, random in zip(*parts, strict=True)
        ]

    @cached_property
    def relevant(self) -> Bools:
        """Whether each document read was relevant, in order, skipped ones left out."""
        return np.asarray(self.judgments[self.judgments != SKIPPED] == 1)

    @cached_property
    def drawn(self) -> Bools:
        """Whether each of these documents was drawn at random."""
        return np.asarray(self.random[self.judgments != SKIPPED])

    @property
    def documents(self) -> int:
        """How many documents there are, skipped ones left out."""
        return len(self.read) - int((self.judgments == SKIPPED).sum())

    @cached_property
    def draws(self) -> Draws:
        """The random draws."""
        return draws_in(self.relevant, self.drawn, self.documents)

    @cached_property
    def totals(self) -> Totals:
        """How far each total of relevant documents is refuted."""
        return refuted(self.draws, int(self.relevant.sum()), self.unread)

    @property
    def unread(self) -> int:
        """How many documents nobody has answered."""
        return len(self.read) - len(self)

    @cached_property
    def dry(self) -> bool:
        """Whether the likely documents have run dry: draws come next."""
        rule = self.rule.target, self.rule.patience, self.rule.batch
        return is_dry(self.relevant, self.drawn, self.documents, rule)

    def draws_wanted(self, count: int) -> int:
        """How many of the next ``count`` documents are to be drawn at random."""
        if self.dry:
            return count
        owed = math.floor(self.rule.share * (len(self.relevant) + count) + 1e-9)
        return min(max(owed - len(self.draws.hits), 0), count)

    @property
    def chance(self) -> float:
        """Were the target missed, one would ever see this at most so often."""
        least = missing_total(int(self.relevant.sum()), self.rule.target)
        against = self.totals.evidence[self.totals.most >= least]
        return min(1.0, math.exp(-float(against.min(initial=math.inf))))

    @property
    def stop(self) -> bool:
        """Whether reading may stop."""
        return self.chance <= self.rule.error

    def progress(self) -> ScreeningProgress:
        """Say where the screening stands."""
        rule, draws = self.rule, self.draws
        n_relevant = int(self.relevant.sum())
        most = most_relevant(self.totals, n_relevant, rule.error)
        going_on = "proving" if self.dry else "searching"
        left = remaining(draws, n_relevant, self.unread) if len(draws.hits) else None
        bound = n_relevant / most if most else 1.0
        return ScreeningProgress(
            self.documents,
            len(self.relevant),
            n_relevant,
            len(self) - len(self.relevant),
            len(draws.hits),
            rule.target,
            rule.error,
            left,
            bound,
            self.chance,
            "done" if self.stop else going_on,
            self._stops(bound, left),
        )

    def _stops(self, bound: float, left: Remaining | None) -> tuple[StopForecast, ...]:
        targets = sorted({*TARGETS, self.rule.target})
        return tuple(
            StopForecast(
                target, 0 if bound >= target - 1e-12 else self._more(target, left)
            )
            for target in targets
        )

    def _more(self, target: float, left: Remaining | None) -> int:
        """About how many documents are to be read until a target is proved."""
        rule, n_found = self.rule, int(self.relevant.sum())
        hits, trials = (int(part[-1]) for part in forecasts(self.relevant, self.drawn))
        missing = missing_total(n_found, target) - n_found
        likely = int(np.count_nonzero(~self.drawn[len(self.drawn) + 1 - trials :]))
        owed = dry_after(n_found, self.unread, target, rule.patience) - likely
        search = math.ceil(min(max(owed, 0.0), self.unread))
        expected = PRIOR * missing if left is None else left.estimate
        if search:  # what is left then is what the likely ones did not find
            expected = min(expected, PRIOR * missing)
        standing = Standing(
            self.draws, n_found, self.unread - search, hits, trials + search
        )
        return search + draws_left(standing, expected, target, rule.error)

    def _require_new(self, numbers: Ints) -> None:
        outside = (numbers < 0) | (numbers >= len(self.read))
        if outside.any():
            raise Mistake(
                f"document {numbers[outside][0]}: give numbers from 0 to "
                f"{len(self.read) - 1}"
            )
        if len(np.unique(numbers)) < len(numbers) or self.read[numbers].any():
            raise Mistake("documents: one of them was answered before: undo that first")

    def _forget(self) -> None:
        for name in ("relevant", "drawn", "draws", "dry", "totals"):
            self.__dict__.pop(name, None)


class ScreeningQuery(Protocol):
    """A query that learns from examples and scores documents (``RelevanceQuery``)."""

    def fit(self, P: Any, U: Any = None, N: Any = None) -> Any:
        """Learn from relevant P, unjudged U and irrelevant N."""

    def partial_fit(self, yes: Any = None, no: Any = None) -> Any:
        """Learn more of both kinds, going on from what is known."""

    def decision_function(self, X: Any) -> Array:
        """Return the scores, shape (n,): the higher, the likelier relevant."""


class ScreeningBatch(NamedTuple):
    """Documents to read, in this order: the likely ones, then those drawn at random.

    documents : numbers, shape (b,);  random : whether drawn, shape (b,);  scores :
    shape (b,), NaN before anything was learned.
    """

    documents: Ints
    random: Bools
    scores: Floats


class Screening(Reading):
    """Read until a share of the relevant documents is found, provably.

    rows : the documents, shape (n, features), float32 to save memory;  relevant :
    numbers of those known to be so;  examples : relevant rows that are not among the
    documents;  rule : what is wanted;  query : makes what learns, ``RelevanceQuery`` by
    default; the attribute is the fitted one, None without an example.

    Random draws follow one random order of all documents: a document that was drawn and
    not answered is drawn again.

    >>> X = np.eye(40, dtype=np.float32)
    >>> X[:8, 0] = 1
    >>> screening = Screening(X, relevant=[0], rule=StoppingRule(batch=8))
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
        rule: StoppingRule | None = None,
        query: Callable[[], ScreeningQuery] | None = None,
        random_state: Seed = 0,
    ) -> None:
        self.rows = rows_from(rows, name="rows")
        self.examples = (
            None if examples is None else rows_from(examples, name="examples")
        )
        super().__init__(len(self.rows), StoppingRule() if rule is None else rule)
        self._order: Ints = generator(random_state).permutation(len(self.rows))
        self._make: Callable[[], ScreeningQuery] = query or RelevanceQuery
        self.query: ScreeningQuery | None = None
        self._learned = 0
        self._scores: Array | None = None
        seeds = list(relevant)
        if seeds:
            self.answer(seeds, [True] * len(seeds))

    def next(self, count: int | None = None) -> ScreeningBatch:
        """Return the documents to read next, by default a batch of the rule.

        The same until something is answered; fewer than ``count`` at the end.
        """
        if count is not None and count < 1:
            raise Mistake(f"count is {count}: ask for at least one document")
        unread = len(self.rows) - len(self)
        size = min(self.rule.batch if count is None else count, unread)
        scores = self.learn()
        drawn = size if scores is None else self.draws_wanted(size)
        likely = np.empty(0, np.int64)
        if scores is not None and drawn < size:
            likely = top(np.where(self.read, -np.inf, scores), size - drawn)
        closed = self.read.copy()
        closed[likely] = True
        unread_order = self._order[~closed[self._order]]
        documents = np.concatenate([likely, unread_order[:drawn]])
        shown = np.full(size, np.nan) if scores is None else scores[documents]
        return ScreeningBatch(
            documents, np.arange(size) >= len(likely), shown.astype(float)
        )

    def learn(self) -> Array | None:
        """Learn the new answers; return all scores, None without an example."""
        if self._scores is None:
            self._teach()
            if self.query is not None:
                self._scores = self.query.decision_function(self.rows)
        return self._scores

    @property
    def found(self) -> Ints:
        """The relevant documents, in the order they were found."""
        return np.asarray(self.numbers[self.judgments == 1])

    def _forget(self) -> None:
        super()._forget()
        self._scores = None
        if self._learned > len(self):
            self.query, self._learned = None, 0

    def _teach(self) -> None:
        """Let the query learn the new answers, or begin one if there are examples."""
        fresh, judgments = (
            self.numbers[self._learned :],
            self.judgments[self._learned :],
        )
        yes, no = fresh[judgments == 1], fresh[judgments == 0]
        if self.query is None:
            parts = [] if self.examples is None else [self.examples]
            parts += [take(self.rows, yes)] if len(yes) else []
            if not parts:
                return
            self.query = self._make()
            self.query.fit(stack(parts), self.rows, self._taken(no))
        elif len(yes) or len(no):
            self.query.partial_fit(self._taken(yes), self._taken(no))
        self._learned = len(self)

    def _taken(self, numbers: Ints) -> Rows | None:
        return take(self.rows, numbers) if len(numbers) else None

"""Reading: which documents were read, what was said of them, and is it enough?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from classmark.arrays import Bools, Ints
from classmark.measures.stopping import (
    PATIENCE,
    Draws,
    Remaining,
    bets,
    draws_in,
    evidence,
    is_dry,
    missing_total,
    most_relevant,
    remaining,
    require_share,
)
from classmark.problems import Mistake

SKIPPED = -1


@dataclass(frozen=True, slots=True)
class Rule:
    """What is wanted, and how it is gone after.

    target : the recall wanted;  error : how often, at most, reading may stop before it;
    batch : how many documents are read between two lessons;  share : of random draws
    while likely documents are still found, for the estimate;  patience : how long the
    search goes on without a find (``measures.stopping.dry_after``).
    """

    target: float = 0.95
    error: float = 0.05
    batch: int = 50
    share: float = 0.1
    patience: float = PATIENCE

    def __post_init__(self) -> None:
        require_share("target", self.target)
        require_share("error", self.error)
        if not 0 <= self.share <= 1:
            raise Mistake(f"share is {self.share}: give a share from 0 to 1")
        if self.batch < 1:
            raise Mistake(f"batch is {self.batch}: give at least 1")
        if not 0 <= self.patience < math.inf:
            raise Mistake(f"patience is {self.patience}: give a number from 0 up")


class Answer(NamedTuple):
    """What was said of a document; relevant : None where the reader could not say."""

    document: int
    relevant: bool | None
    random: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a screening stands.

    documents : how many there are, those skipped left out;  drawn : how many were read
    because of a random draw;  remaining : None before any draw;  recall_bound : with
    chance 1 − error, the recall is not below it, nor was it ever below its bound;
    chance : were the target missed, one would ever see this at most so often;  phase :
    ``searching`` for likely ones, ``proving`` by random draws, or ``done``.
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

    @property
    def unread(self) -> int:
        """How many documents nobody has read."""
        return self.documents - self.read

    @property
    def stop(self) -> bool:
        """Whether reading may stop."""
        return self.phase == "done"


class Reading:
    """The answers so far, of one who reads a collection by a rule.

    read : whether each document was answered, shape (documents,);  answers : in order.

    >>> reading = Reading(10, Rule(batch=5))
    >>> reading.answer([3, 1, 4], [True, False, None])
    >>> reading.progress().found, reading.progress().unread
    (1, 7)
    >>> [answer.document for answer in reading.undo()]
    [3, 1, 4]
    """

    def __init__(self, documents: int, rule: Rule) -> None:
        self.rule = rule
        self.read = np.zeros(documents, bool)
        self.numbers = np.empty(0, np.int64)
        self.said = np.empty(0, np.int8)
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
        """Take answers in, in reading order; random : whether they were drawn so."""
        numbers = np.asarray(documents, np.int64)
        drawn = np.zeros(len(numbers), bool) if random is None else np.asarray(random)
        said = np.array([SKIPPED if yes is None else yes for yes in relevant], np.int8)
        if not numbers.shape == said.shape == drawn.shape:
            raise Mistake(
                f"documents, relevant and random have {len(numbers)}, {len(said)} and "
                f"{len(drawn)} entries: give one each for every document"
            )
        self._require_new(numbers)
        self.numbers = np.concatenate([self.numbers, numbers])
        self.said = np.concatenate([self.said, said])
        self.random = np.concatenate([self.random, drawn.astype(bool)])
        self.read[numbers] = True
        self._steps.append(len(numbers))
        self._forget()

    def undo(self) -> list[Answer]:
        """Take the answers of the last ``answer`` back, and return them."""
        if not self._steps:
            raise Mistake("there is nothing to undo")
        kept = len(self) - self._steps.pop()
        back = self.since(kept)
        self.read[self.numbers[kept:]] = False
        self.numbers, self.said = self.numbers[:kept], self.said[:kept]
        self.random = self.random[:kept]
        self._forget()
        return back

    def since(self, first: int = 0) -> list[Answer]:
        """The answers from the ``first`` on."""
        parts = (self.numbers[first:], self.said[first:], self.random[first:])
        return [
            Answer(int(number), None if said == SKIPPED else bool(said), bool(random))
            for number, said, random in zip(*parts, strict=True)
        ]

    @cached_property
    def relevant(self) -> Bools:
        """Whether each document read was relevant, in order, skipped ones left out."""
        found: Bools = self.said[self.said != SKIPPED] == 1
        return found

    @cached_property
    def drawn(self) -> Bools:
        """Whether each of these documents was drawn at random."""
        kept: Bools = self.random[self.said != SKIPPED]
        return kept

    @property
    def documents(self) -> int:
        """How many documents there are, skipped ones left out."""
        return len(self.read) - int((self.said == SKIPPED).sum())

    @cached_property
    def draws(self) -> Draws:
        """The random draws."""
        rule = self.rule
        flags = self.relevant, self.drawn
        return draws_in(*flags, self.documents, rule.target, rule.patience)

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

    @cached_property
    def chance(self) -> float:
        """Were the target missed, one would ever see this at most so often."""
        found = int(self.relevant.sum())
        least = missing_total(found, self.rule.target)
        if least > found + len(self.read) - len(self):
            return 0.0
        theta = bets(self.draws, self.rule.target)
        return min(1.0, math.exp(-evidence(self.draws, theta, least)))

    @property
    def stop(self) -> bool:
        """Whether reading may stop."""
        return self.chance <= self.rule.error

    def progress(self) -> Progress:
        """Say where the screening stands."""
        rule, draws = self.rule, self.draws
        found, unread = int(self.relevant.sum()), len(self.read) - len(self)
        most = most_relevant(draws, found, unread, rule.error, rule.target)
        going_on = "proving" if self.dry else "searching"
        return Progress(
            self.documents,
            len(self.relevant),
            found,
            len(self) - len(self.relevant),
            len(draws.hits),
            rule.target,
            rule.error,
            remaining(draws, found, unread) if len(draws.hits) else None,
            found / most if most else 1.0,
            self.chance,
            "done" if self.stop else going_on,
        )

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
        for name in ("relevant", "drawn", "draws", "dry", "chance"):
            self.__dict__.pop(name, None)

"""Who decided what, with which ranks before them: the log, decision by decision.

New acts are taken up one by one; where something was undone, the log is read again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from classmark.arrays import Floats
from classmark.taxonomy.category import ACTIVE
from classmark.workbench.deciding.opinions import IMPORTED
from classmark.workbench.store.log import LABELS

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.store.state import State
    from classmark.workbench.store.store import Store


STATED = """
SELECT seq, within, at, who, document, category, act, rank FROM judgments
WHERE act IN ('assign', 'primary', 'remove', 'reject', 'unsure')
  AND category IS NOT NULL AND document IS NOT NULL AND seq > ? AND seq <= ?
ORDER BY seq
"""
AROUND = "SELECT seq FROM judgments WHERE document IS NULL OR act = 'settle'"


class Stated(NamedTuple):
    """A line of the log that says something of a document and a category."""

    seq: int
    within: int | None
    at: str
    who: str
    document: str
    category: int
    act: str
    rank: int | None


class DecisionLog:
    """The decisions of people up to act ``upto``.

    made : the labels that people gave at once, in order;  quality : of each that is
    measured;  documents : the number of a category → how many documents have it;
    readers : document → the people who said something of it.
    """

    def __init__(self, categories: int) -> None:
        self.categories, self.upto = categories, -1
        self.made: list[LabelsGiven] = []
        self.quality: list[tuple[float, ...]] = []
        self.documents: Counter[int] = Counter()
        self.readers: dict[str, set[str]] = {}
        self._uses = Counter[int]()
        self._at_least = Counter({0: categories})  # uses → how many have them, or more
        self._stands: set[tuple[str, int]] = set()
        self._labelled: set[str] = set()
        self._last: Stated | None = None

    def goes_on(self, store: Store, state: State, categories: int) -> bool:
        """Whether the acts since can be taken up by themselves."""
        if categories != self.categories or not (
            state.last_undo <= self.upto <= state.upto
        ):
            return False
        last = self._last
        if last is None or last.seq < self.upto:
            return True
        sql = "SELECT 1 FROM judgments WHERE seq = ? AND who = ? AND document = ?"
        following = store.run(sql, (last.seq + 1, last.who, last.document))
        return following.fetchone() is None

    def take(self, store: Store, upto: int) -> None:
        """Take up all that came until an act."""
        undone = {seq for (seq,) in store.run("SELECT seq FROM undone")}
        around = {seq for (seq,) in store.run(AROUND)}
        rows = store.run(STATED, (self.upto, upto))
        lines = (Stated._make(row) for row in rows if row[0] not in undone)
        for group in at_once(self._noted(lines, around)):
            self._give(group)
        self.upto = upto

    def _noted(self, lines: Iterable[Stated], around: set[int]) -> Iterator[Stated]:
        """What stands after each line; the labels that are somebody's own go on."""
        for line in lines:
            change = self._stands.add if line.act in LABELS else self._stands.discard
            stood = len(self._stands)
            change((line.document, line.category))
            self.documents[line.category] += len(self._stands) - stood
            if line.within not in around:
                if not line.who.endswith(IMPORTED):
                    self.readers.setdefault(line.document, set()).add(line.who)
                if line.act in LABELS:
                    yield line

    def _give(self, group: list[Stated]) -> None:
        first, names = group[0], [line.category for line in group]
        if not first.who.endswith(IMPORTED):
            is_first = first.document not in self._labelled
            popular = max(map(self._place, names)) if is_first else 0.0
            ranks = tuple([line.rank for line in group])
            decision = LabelsGiven(first.at, first.who, ranks, is_first, popular)
            self.made.append(decision)
            if decision.is_measured:
                self.quality.append(quality(decision.ranks))
        self._labelled.add(first.document)
        for name in names:
            self._uses[name] += 1
            self._at_least[self._uses[name]] += 1
        self._last = group[-1]

    def _place(self, category: int) -> float:
        """The place among the most used so far, the mean one of those used as often."""
        uses = self._uses[category]
        above = self._at_least[uses + 1]
        return above + (max(self._at_least[uses] - above, 1) + 1) / 2


@contextmanager
def decision_log(project: Project) -> Iterator[DecisionLog]:
    """The decisions up to now; one thread at a time may look at them."""
    state, store = project.state, project.store
    categories = sum(c.status == ACTIVE for c in project.categories.values())
    with state.lock:
        log: DecisionLog | None = state.derived.get(DecisionLog)
        if log is None or not log.goes_on(store, state, categories):
            log = DecisionLog(categories)
        if log.upto < state.upto:
            log.take(store, state.upto)
        state.derived[DecisionLog] = log
        yield log


def at_once(lines: Iterable[Stated]) -> Iterator[list[Stated]]:
    """Labels of one decision: within one act, or one right after the other."""
    group: list[Stated] = []
    for line in lines:
        if group and not (
            (group[0].who, group[0].document) == (line.who, line.document)
            and (line.within == group[0].seq or line.seq == group[-1].seq + 1)
        ):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


FIVE = 5


class LabelsGiven(NamedTuple):
    """The labels that somebody gave a document at once.

    ranks : where the ranker had put them, None where it did not rank them;  first :
    whether the document had no label before;  popular : how far down the last of them
    is in a list of the categories used most so far, of first ones.
    """

    at: str
    who: str
    ranks: tuple[int | None, ...]
    first: bool
    popular: float

    @property
    def is_measured(self) -> bool:
        """Whether a ranker had suggested something, not having learned it."""
        return self.first and any(rank is not None for rank in self.ranks)


@dataclass(frozen=True, slots=True)
class Step:
    """Means over some decisions, one after the other; upto : how many were before.

    effort : the rank of the last right label, how many categories were looked at;
    first, five : precision@1 and @5;  found : the share of the right labels among the
    first five;  one_error : how often the first suggestion is wrong;
    average_precision : the mean over right labels of the precision at their rank.
    """

    upto: int
    documents: int
    effort: float
    first: float
    five: float
    found: float
    one_error: float
    average_precision: float


def quality(ranks: Iterable[int | None]) -> tuple[float, ...]:
    """The measures of ``Step`` for the right labels of one document, by their ranks.

    A label without a rank is never found; the effort is NaN then.

    >>> [round(value, 2) for value in quality([1, 4])]
    [4, 1.0, 0.4, 1.0, 0.0, 0.75]
    """
    labels = list(ranks)
    places = sorted(rank for rank in labels if rank is not None)
    among = sum(rank <= FIVE for rank in places)
    right = float(bool(places) and places[0] == 1)
    precise = sum(place / rank for place, rank in enumerate(places, start=1))
    return (
        places[-1] if len(places) == len(labels) else float("nan"),
        right,
        among / FIVE,
        among / len(labels),
        1 - right,
        precise / len(labels),
    )


def steps(values: Floats, most: int = 24, least: int = 10) -> list[Step]:
    """The means of stretches of equal length.

    values : shape (decisions, 6), as ``quality`` gives them, in order.
    """
    many = max(1, min(most, len(values) // least))
    edges = np.linspace(0, len(values), many + 1).round().astype(int)
    return [
        step(values[low:high], high)
        for low, high in pairwise(edges.tolist())
        if high > low
    ]


def step(values: Floats, upto: int) -> Step:
    """The means of one stretch; efforts that are unknown are left out of theirs."""
    efforts = values[~np.isnan(values[:, 0]), 0]
    effort = float(efforts.mean()) if len(efforts) else float("nan")
    return Step(upto, len(values), effort, *values[:, 1:].mean(axis=0).tolist())

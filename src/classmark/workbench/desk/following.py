"""Follow the log: who decided what, with which ranks, and what stands; act by act.

What comes new is taken up; where something was undone, the log is read again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from classmark.taxonomy.category import ACTIVE
from classmark.workbench.desk.effort import Given, Used, quality
from classmark.workbench.desk.opinions import IMPORTED
from classmark.workbench.log import LABELS

if TYPE_CHECKING:
    from classmark.workbench.desk.desk import Desk
    from classmark.workbench.store import Store

STATED = """
SELECT seq, within, at, who, document, category, act, model, rank FROM judgments
WHERE act IN ('assign', 'primary', 'remove', 'reject', 'unsure')
  AND category IS NOT NULL AND document IS NOT NULL AND seq > ? AND seq <= ?
ORDER BY seq
"""
AROUND = "SELECT seq FROM judgments WHERE document IS NULL OR act = 'settle'"
_FOLLOWED: WeakKeyDictionary[Desk, Followed] = WeakKeyDictionary()
_ONE_AT_A_TIME = Lock()


class Stated(NamedTuple):
    """A line of the log that says something of a document and a category."""

    seq: int
    within: int | None
    at: str
    who: str
    document: str
    category: int
    act: str
    model: str
    rank: int | None


class Followed:
    """What the log has told up to act ``upto``.

    made : what people gave at once, in order;  quality : of each that is measured;
    documents : the number of a category → how many have it;  readers : document → the
    people who said something of it.
    """

    def __init__(self, categories: int) -> None:
        self.categories, self.upto = categories, -1
        self.made: list[Given] = []
        self.quality: list[tuple[float, ...]] = []
        self.documents: Counter[int] = Counter()
        self.readers: dict[str, set[str]] = {}
        self._used = Used(categories)
        self._stands: set[tuple[str, int]] = set()
        self._labelled: set[str] = set()
        self._last: Stated | None = None

    def goes_on(self, store: Store, upto: int, categories: int) -> bool:
        """Whether what came since can be taken up by itself."""
        if categories != self.categories or upto < self.upto:
            return False
        sql = "SELECT seq, who, document, undoes FROM judgments WHERE seq > ?"
        came = store.run(f"{sql} ORDER BY seq", (self.upto,)).fetchall()
        if any(undoes is not None for *_, undoes in came):
            return False
        last = self._last
        return last is None or all(
            (last.seq + 1, last.who, last.document) != (seq, who, document)
            for seq, who, document, _ in came[:1]
        )

    def take(self, store: Store, upto: int) -> None:
        """Take up all that came until an act."""
        undone = {seq for (seq,) in store.run("SELECT seq FROM undone")}
        around = {seq for (seq,) in store.run(AROUND)}
        rows = store.run(STATED, (self.upto, upto))
        lines = (Stated._make(row) for row in rows if row[0] not in undone)
        for said in at_once(self._noted(lines, around)):
            self._give(said)
        self.upto = upto

    def _noted(self, lines: Iterable[Stated], around: set[int]) -> Iterator[Stated]:
        """What stands after each line; the labels that are somebody's own go on."""
        for line in lines:
            self._stand(line)
            if line.within not in around:
                if not line.who.endswith(IMPORTED):
                    self.readers.setdefault(line.document, set()).add(line.who)
                if line.act in LABELS:
                    yield line

    def _stand(self, line: Stated) -> None:
        pair, stood = (line.document, line.category), len(self._stands)
        if line.act in LABELS:
            self._stands.add(pair)
        else:
            self._stands.discard(pair)
        self.documents[line.category] += len(self._stands) - stood

    def _give(self, said: list[Stated]) -> None:
        first, names = said[0], [line.category for line in said]
        if not first.who.endswith(IMPORTED):
            is_first = first.document not in self._labelled
            places = map(self._used.place, names if is_first else ())
            made = Given(
                first.seq, first.at, first.who, first.document, first.model,
                tuple([line.rank for line in said]), is_first, max(places, default=0.0),
            )  # fmt: skip
            self.made.append(made)
            if made.is_measured:
                self.quality.append(quality(made.ranks))
        self._labelled.add(first.document)
        self._used.add(names)
        self._last = said[-1]


@contextmanager
def following(desk: Desk) -> Iterator[Followed]:
    """What the log has told up to now; one thread at a time may look at it."""
    store = desk.project.store
    (upto,) = store.run("SELECT coalesce(max(seq), 0) FROM judgments").fetchone()
    categories = sum(c.status == ACTIVE for c in desk.categories.values())
    with _ONE_AT_A_TIME:
        found = _FOLLOWED.get(desk)
        if found is None or not found.goes_on(store, upto, categories):
            found = Followed(categories)
        if found.upto < upto:
            found.take(store, upto)
        _FOLLOWED[desk] = found
        yield found


def at_once(lines: Iterable[Stated]) -> Iterator[list[Stated]]:
    """Labels of one decision: within one act, or one right after the other."""
    group: list[Stated] = []
    for line in lines:
        if group and _continues(group, line):
            group.append(line)
            continue
        if group:
            yield group
        group = [line]
    if group:
        yield group


def _continues(group: list[Stated], line: Stated) -> bool:
    last = group[-1]
    if (last.who, last.document) != (line.who, line.document):
        return False
    return line.within == group[0].seq or line.seq == last.seq + 1

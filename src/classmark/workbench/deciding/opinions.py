"""What does each person say of a document, and where do they differ?

An opinion is somebody's last word on each category of a document. Who has given it a
label has read it, and says no to whatever they did not name. What a merge, a split or
a settlement moved is nobody's opinion, and neither is an import.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from classmark.workbench.learning.models import present_ids
from classmark.workbench.store.log import (
    ASSIGN,
    PRIMARY,
    REJECT,
    REMOVE,
    SETTLE,
    STATEMENTS,
    UNSURE,
)

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.store.store import Store


IMPORTED = " (import)"  # how the name ends that imported labels are logged under
FILES = f"%{IMPORTED}"
SPOKEN = """
SELECT j.document, j.who, j.category, j.act, j.seq, j.at, j.note FROM judgments AS j
LEFT JOIN judgments AS p ON p.seq = j.within
WHERE j.act IN ('assign', 'remove', 'primary', 'reject', 'unsure')
  AND j.category IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM undone AS u WHERE u.seq = j.seq)
  AND (p.seq IS NULL OR (p.document IS NOT NULL AND p.act <> 'settle'))
  AND {} ORDER BY j.seq
"""
TWICE = """j.document IN (
  SELECT document FROM judgments
  WHERE act IN ('assign', 'remove', 'primary', 'reject', 'unsure')
    AND category IS NOT NULL AND lower(who) NOT LIKE ?
  GROUP BY document HAVING count(DISTINCT who) > 1)"""
SETTLED = """
SELECT document, max(seq) FROM judgments AS j WHERE act = ?
  AND NOT EXISTS (SELECT 1 FROM undone AS u WHERE u.seq = j.seq) GROUP BY document
"""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one person says of a document; number, at : of the last act of it.

    labels : with the primary ones;  refused : said no to, or taken back.
    """

    who: str
    number: int
    at: str
    labels: frozenset[str] = frozenset()
    primary: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    unsure: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()

    @property
    def imported(self) -> bool:
        """Whether a file said so, and no person."""
        return self.who.endswith(IMPORTED)

    @property
    def main(self) -> str | None:
        """The one label, or the one that is primary; None: there is no such one."""
        labels = self.primary or self.labels
        return next(iter(labels)) if len(labels) == 1 else None

    def opposes(self, category: str) -> bool:
        """Whether this person has read the document and does not say so."""
        if category in self.labels:
            return False
        return bool(self.labels) or category in self.refused | self.unsure


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A document of which people differ, and nobody has settled it since.

    over : the categories that one gives and another does not, in order of their ids;
    number : of the last word on it.
    """

    document: str
    opinions: tuple[Opinion, ...]
    over: tuple[str, ...]

    @property
    def number(self) -> int:
        """The last word on it."""
        return max(opinion.number for opinion in self.opinions)

    @property
    def people(self) -> tuple[str, ...]:
        """Who differs."""
        return tuple(opinion.who for opinion in self.opinions)


def opinions(project: Project, document: str) -> list[Opinion]:
    """What each person says of a document, the first to speak first; imports too."""
    store = project.store
    store.require_document(document)
    rows = store.run(SPOKEN.format("j.document = ?"), (document,))
    return next(iter(_by_document(store, rows).values()), [])


def disagreements(project: Project) -> list[Disagreement]:
    """Documents of which people differ and nobody has settled it since, newest last."""
    store = project.store
    settled: dict[str, int] = dict(store.run(SETTLED, (SETTLE,)).fetchall())
    differences = [
        Disagreement(document, tuple(opinions), differing(opinions))
        for document, opinions in readings(store).items()
    ]
    since = [
        d for d in differences if d.over and d.number > settled.get(d.document, -1)
    ]
    return sorted(since, key=attrgetter("number"))


def readings(store: Store) -> dict[str, list[Opinion]]:
    """Document → the opinions of people, where several have one."""
    documents = _by_document(store, store.run(SPOKEN.format(TWICE), (FILES,)))
    people = {
        document: [opinion for opinion in opinions if not opinion.imported]
        for document, opinions in documents.items()
    }
    return {document: several for document, several in people.items() if several[1:]}


def differing(opinions: Sequence[Opinion]) -> tuple[str, ...]:
    """The categories that one gives and another, having read it, does not.

    >>> ada = Opinion("ada", 1, "", labels=frozenset({"bees"}))
    >>> differing([ada, Opinion("bo", 2, "", labels=frozenset({"bees", "wax"}))])
    ('wax',)
    """
    labels = {name for opinion in opinions for name in opinion.labels}
    return tuple(sorted(n for n in labels if any(o.opposes(n) for o in opinions)))


def _by_document(store: Store, rows: Iterable[Any]) -> dict[str, list[Opinion]]:
    """Document → opinions, from the acts of people in order."""
    last: dict[str, dict[str, dict[int, list[Any]]]] = {}
    for document, who, category, *act in rows:
        acts = last.setdefault(document, {}).setdefault(who, {})
        acts.pop(category, None)  # so that the last act is at the end
        acts[category] = act
    names = present_ids(store) if last else {}
    return {
        document: [_opinion(who, acts, names) for who, acts in people.items()]
        for document, people in last.items()
    }


def _opinion(who: str, acts: dict[int, list[Any]], names: dict[int, str]) -> Opinion:
    """What somebody says; acts : category → its last act, number, time and note."""
    _, number, at, _ = list(acts.values())[-1]
    shown = [
        (names[n], act, note) for n, (act, _, _, note) in acts.items() if n in names
    ]
    by = {
        act: frozenset(name for name, last, _ in shown if last == act)
        for act in STATEMENTS
    }
    labels = by[ASSIGN] | by[PRIMARY]
    refused = (by[REJECT] | by[REMOVE]) - labels
    notes = dict.fromkeys(note for _, _, note in shown if note)
    return Opinion(
        who, number, at, labels, by[PRIMARY], refused, by[UNSURE] - labels, tuple(notes)
    )

"""The judgment log: acts on documents and categories, and what holds after each.

The log is append-only, so every act can be taken back: it is enough that nothing it
changed was changed again since.
"""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from classmark.formats.records import THRESHOLD, Record
from classmark.problems import refusal
from classmark.progress import track
from classmark.taxonomy.category import Category, taxonomy_above, taxonomy_of
from classmark.taxonomy.tree import Taxonomy
from classmark.workbench.store.schema import damaged

if TYPE_CHECKING:
    from classmark.workbench.store.store import Store

ASSIGN, REMOVE, PRIMARY, REJECT, UNSURE = STATEMENTS = (
    "assign", "remove", "primary", "reject", "unsure",
)  # fmt: skip
PREFER, RETRACT, UNDO = "prefer", "retract", "undo"
SKIP, NOTE, SETTLE, REPLACE = TELLING = (  # they change no label
    "skip", "note", "settle", "replace",
)  # fmt: skip
DELETE, INSERT, IMPORT = "delete", "insert", "import"
CHANGED = "documents changed"  # the event: some came, went, or say something else
LABELS = (ASSIGN, PRIMARY)

Row = dict[str, Any]  # of the table of categories, by column
Changes = dict[int, dict[str, tuple[Any, Any]]]  # number → column → before, after
PLAIN = ("id", "label", "note", "notation", "status", "guideline")
BLANK: Row = {
    "id": "", "label": "", "note": "", "synonyms": "[]", "parents": "[]",
    "notation": "", "status": "active", "stands": 0, "joined": None,
    "guideline": "",
}  # fmt: skip

PARENTS, STANDS = (1 + list(BLANK).index(name) for name in ("parents", "stands"))
CATEGORIES = f"SELECT number, {', '.join(BLANK)} FROM categories"  # noqa: S608 (our own names)


@dataclass(frozen=True, slots=True)
class JudgedRecord(Record):
    """A document with the statements of the log on it.

    primary : those of its labels that an expert called primary;  rejected : «not this
    one»;  unsure : neither this nor not this;  aside : the document as a whole is left
    for later. A category is in one of labels, rejected and unsure at most.
    """

    primary: frozenset[str] = frozenset()
    rejected: frozenset[str] = frozenset()
    unsure: frozenset[str] = frozenset()
    aside: bool = False

    def among_categories(self) -> JudgedRecord:
        """The record without what compares categories with thresholds."""
        pairs = {p: w for p, w in self.preferences.items() if THRESHOLD not in p}
        return replace(self, rejected=frozenset(), preferences=pairs)


def sorted_out(statements: Mapping[str, tuple[str, float | None]]) -> dict[str, Any]:
    """Category → (act, grade) as the fields of a ``JudgedRecord``.

    >>> sorted_out({"a": ("primary", 2.0), "b": ("reject", None)})["labels"]
    {'a': 2.0}
    """
    by: dict[str, list[str]] = {act: [] for act in STATEMENTS}
    for name, (act, _) in statements.items():
        by[act].append(name)
    return {
        "labels": {name: g for name, (act, g) in statements.items() if act in LABELS},
        "primary": frozenset(by[PRIMARY]),
        "rejected": frozenset(by[REJECT]),
        "unsure": frozenset(by[UNSURE]),
    }


def as_row(category: Category, number: Mapping[str, int]) -> Row:
    """A category as a row that stands; ``number`` : id → number of its parents."""
    for parent in category.parents:
        if parent not in number:
            raise refusal(
                "category %(id)r names the parent %(parent)r, which is not among "
                "the categories: add it or leave the parent empty",
                id=category.id,
                parent=parent,
            )
    return BLANK | {
        **{column: getattr(category, column) for column in PLAIN},
        "synonyms": as_json(category.synonyms),
        "parents": as_json([number[parent] for parent in category.parents]),
        "stands": 1,
    }


def stored_rows(
    store: Store, numbers: Iterable[int] | None = None
) -> list[tuple[Any, ...]]:
    """The numbers of all categories, or some, and the columns of BLANK, by number."""
    if numbers is None:
        return list(store.run(f"{CATEGORIES} ORDER BY number"))
    each = (store.run(f"{CATEGORIES} WHERE number = ?", (n,)) for n in numbers)
    return [row for cursor in each for row in cursor]


class StoredCategories(Mapping[str, Category]):
    """The categories that stand, by id and in order of arrival.

    Each is made when it is first looked at. rows : as ``stored_rows`` has them.
    """

    def __init__(self, rows: Sequence[tuple[Any, ...]]) -> None:
        ids = {row[0]: row[1] for row in rows}
        self._rows = {row[1]: row for row in rows if row[STANDS]}
        self._made: dict[str, Category] = {}
        listed = self._listed = cache(lambda text: tuple(json.loads(text)))
        self._above = cache(
            lambda text: tuple(ids[p] for p in listed(text) if p in ids)
        )

    def __getitem__(self, id_: str) -> Category:
        made = self._made.get(id_)
        if made is None:
            _, _, label, note, synonyms, parents, notation, status, _, _, guideline = (
                self._rows[id_]
            )
            made = self._made[id_] = Category(
                id_, label, note, self._listed(synonyms), self._above(parents),
                notation, status, guideline,
            )  # fmt: skip
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def tree(self) -> Taxonomy:
        """The tree of ``taxonomy_of``, without making a category."""
        place = {id_: at for at, id_ in enumerate(self._rows)}
        above = cache(lambda text: [place[p] for p in dict.fromkeys(self._above(text))])
        try:
            places = [above(row[PARENTS]) for row in self._rows.values()]
        except KeyError:  # a parent that does not stand
            return taxonomy_of(self.values())
        return taxonomy_above(place, places)


def as_categories(rows: Sequence[tuple[Any, ...]]) -> list[Category]:
    """The categories that stand; rows : as ``stored_rows`` has them."""
    return list(StoredCategories(rows).values())


def difference(before: Mapping[int, Row], after: Mapping[int, Row]) -> Changes:
    """What changes the rows before into those after; a new number was blank.

    >>> difference({1: BLANK}, {1: BLANK | {"label": "Bees"}})
    {1: {'label': ('', 'Bees')}}
    """
    changes = {}
    for number, row in after.items():
        old = before.get(number, BLANK)
        fields = {f: (old[f], row[f]) for f in BLANK if old[f] != row[f]}
        if fields:
            changes[number] = fields
    return changes


def reversed_changes(changes: Changes) -> Changes:
    """What takes the changes back."""
    return {
        number: {field: (after, before) for field, (before, after) in fields.items()}
        for number, fields in changes.items()
    }


def unpacked(text: str) -> Changes:
    """The changes of a text in JSON.

    >>> unpacked(as_json({1: {"label": ("", "Bees")}}))
    {1: {'label': ('', 'Bees')}}
    """
    return {
        int(number): {field: (pair[0], pair[1]) for field, pair in fields.items()}
        for number, fields in json.loads(text).items()
    }


def as_json(value: Any) -> str:
    """Compact JSON; a number that JSON has no word for is refused, not written."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class Act(NamedTuple):
    """One line of the judgment log, before it has a number.

    act : ``assign`` (with a grade), ``primary`` (the same, and above the document's
    other labels), ``reject`` (not this one), ``unsure`` (neither; without a category
    the document as a whole) or ``remove``, which takes back any of them; ``prefer``
    (category over other, the grade being the weight; one of the two may be the word
    ``threshold``) or ``retract``, which takes back what was preferred between the two;
    ``skip``, ``note``, ``settle`` and ``replace`` (what the document says), without a
    category, leave what holds as it is; ``delete`` takes the document away, ``insert``
    brings one; without a document, an act on categories, or an ``import`` of documents;
    model, rank, score : what the expert saw when deciding;  undoes : the number of the
    act taken back;  within : the number of the act this one is part of;  changes :
    what it does to categories.
    """

    document: str | None
    act: str
    category: str | None = None
    grade: float | None = None
    model: str = ""
    rank: int | None = None
    score: float | None = None
    note: str = ""
    other: str | None = None
    undoes: int | None = None
    within: int | None = None
    changes: Changes | None = None


class LogEntry(NamedTuple):
    """One line of the judgment log as it is read again.

    revisits : how many the learner made on it;  numbers : of its category and other.
    """

    seq: int
    document: str | None
    act: str
    grade: float | None
    undoes: int | None
    within: int | None
    revisits: int | None
    changes: Changes
    numbers: tuple[int | None, int | None]


def now() -> str:
    """The time, as it is logged."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def whoami() -> str:
    """The name that acts are logged under: CLASSMARK_USER, or the login name."""
    return os.environ.get("CLASSMARK_USER") or getpass.getuser()


class LogReplay:
    """The categories and judgments after each entry taken, in order.

    texts : document → what it said before acts that replaced it, by their numbers, in
    order;  upto : the number of the last entry, of those given at first at most this
    one;  skip : which entries are passed over;  acts : how many were taken or passed
    over;  rows : number → the row of a category;  names : number → id of those that
    stand, or the number as text (``by_number``): where entries are passed over, two
    categories may have one id for a while.

    >>> from classmark.corpus.documents import Document
    >>> acts = [LogEntry(1, "d", "assign", 1.0, None, None, None, {}, (1, None))]
    >>> replay = LogReplay(acts)
    >>> replay.names[1] = "a"
    >>> replay.judged(Record(Document("d", {}))).labels
    {'a': 1.0}
    """

    def __init__(
        self,
        entries: Iterable[LogEntry] = (),
        upto: int | None = None,
        skip: Callable[[LogEntry], bool] = lambda _: False,
        *,
        by_number: bool = False,
    ) -> None:
        self.rows: dict[int, Row] = {}
        self.names: dict[int, str] = {}
        self.by_number = by_number
        self.texts: Mapping[str, list[tuple[int, Record]]] = {}
        self.upto, self.acts = -1, 0
        self._undone: set[int] = set()
        self._undoes: dict[int | None, int] = {}
        self._entries: dict[str, list[LogEntry]] = {}
        self._naming: dict[int, list[LogEntry]] = {}
        for entry in entries:
            if upto is not None and entry.seq > upto:
                break
            (self.skip if skip(entry) else self.take)(entry)

    def skip(self, entry: LogEntry) -> None:
        """Pass over the next entry."""
        self.upto = entry.seq
        self.acts += 1

    def take(self, entry: LogEntry) -> None:
        """Take the next entry."""
        self.skip(entry)
        for number, fields in entry.changes.items():
            row = self.rows.setdefault(number, dict(BLANK))
            row.update({field: after for field, (_, after) in fields.items()})
            if row["stands"]:
                self.names[number] = str(number) if self.by_number else row["id"]
            else:
                self.names.pop(number, None)
        if entry.undoes is not None:
            self._undoes[entry.seq] = entry.undoes
            seq: int | None = entry.undoes
            while seq is not None:  # what an undone act undid holds again, and so on
                self._undone ^= {seq}
                seq = self._undoes.get(seq)
        elif entry.document is not None:
            self._note(entry)

    def _note(self, entry: LogEntry) -> None:
        """Have an act on a document at hand."""
        self._entries.setdefault(str(entry.document), []).append(entry)
        for category in filter(None, entry.numbers):
            self._naming.setdefault(category, []).append(entry)

    def _on(self, document: str) -> Iterable[LogEntry]:
        """The acts on a document, in order."""
        return self._entries.get(document, ())

    def _naming_acts(self, number: int) -> Iterable[LogEntry]:
        """The acts on documents that name a category, in order."""
        return self._naming.get(number, ())

    def holds(self, seq: int) -> bool:
        """Whether an act is not undone."""
        return seq not in self._undone

    def naming(self, number: int) -> dict[str, None]:
        """The documents of which an act that holds names a category."""
        entries = self._naming_acts(number)
        return {str(e.document): None for e in entries if self.holds(e.seq)}

    def categories(self) -> list[Category]:
        """The categories that stand, in order of arrival."""
        rows = sorted(self.rows.items())
        return as_categories([(n, *(row[name] for name in BLANK)) for n, row in rows])

    def numbers(self) -> dict[str, int]:
        """Id → number of the categories that stand."""
        return {name: number for number, name in self.names.items()}

    def judged(self, record: Record) -> JudgedRecord:
        """A document with the statements on it that hold, as it was then."""
        later = (old for seq, old in self.texts.get(record.id, ()) if seq > self.upto)
        record = next(later, record)
        entries = [e for e in self._on(record.id) if self.holds(e.seq)]
        last = _last_by(entries, STATEMENTS, lambda entry: entry.numbers[0])
        statements = {
            self.names[number]: (entry.act, entry.grade)
            for number, entry in last.items()
            if number in self.names
        }
        return JudgedRecord(
            record.document,
            meta=record.meta,
            links=record.links,
            preferences=self._preferences(entries),
            aside=_is_aside(entries),
            **sorted_out(statements),
        )

    def _preferences(self, entries: list[LogEntry]) -> dict[tuple[str, str], float]:
        pairs = _last_by(entries, (PREFER, RETRACT), lambda e: frozenset(e.numbers))
        preferences = {}
        for entry in pairs.values():
            winner, loser = (
                THRESHOLD if n is None else self.names.get(n) for n in entry.numbers
            )
            if entry.act == PREFER and winner is not None and loser is not None:
                preferences[winner, loser] = float(entry.grade or 0.0)
        return preferences


ON_CATEGORIES = """
SELECT seq, undoes, undoes IS NULL AND seq NOT IN (SELECT seq FROM undone)
FROM judgments WHERE changes IS NOT NULL
"""
UNDOING = "AND seq <= ? AND undoes IS NOT NULL"
CHANGING = "AND seq <= ? AND (undoes IS NOT NULL OR changes IS NOT NULL)"
ON_DOCUMENTS = "AND seq <= ? AND undoes IS NULL AND document IS NOT NULL"
ON_DOCUMENT, OF_CATEGORY, COMPARING = (
    f"{ON_DOCUMENTS} AND {which}"
    for which in ("document = ?", "category = ?", "other IS NOT NULL")
)
TODAY = """
SELECT number, id, parents, status, stands FROM categories
WHERE id <> '' ORDER BY number
"""
UP_TO = "SELECT count(*) FROM judgments WHERE seq <= ?"


class StoredReplay(LogReplay):
    """As ``LogReplay`` by number, while acts on documents stay in the store.

    They are read when a document is asked for. Where no act since ``upto`` changes
    categories, these are those of today, and only undoings are read at first.
    rows : of those, id, parents, status and stands;
    skip : says of an act ever after what it said when the act was taken.
    """

    def __init__(
        self,
        store: Store,
        upto: int = -1,
        skip: Callable[[LogEntry], bool] = lambda _: False,
    ) -> None:
        super().__init__(by_number=True)
        self._store, self._skips = store, skip
        self._compared: dict[int, list[LogEntry]] | None = None
        with store.snapshot():
            of_today = self._is_of_today(upto)
            if of_today:
                self.rows = {
                    n: {"id": id_, "parents": parents, "status": status, "stands": here}
                    for n, id_, parents, status, here in store.run(TODAY).fetchall()
                }
                here = (n for n, row in self.rows.items() if row["stands"])
                self.names = {number: str(number) for number in here}
            for entry in store.log(-1, UNDOING if of_today else CHANGING, upto):
                taken = entry._replace(changes={}) if of_today else entry
                (self.skip if skip(entry) else self.take)(taken)
            (self.acts,) = store.run(UP_TO, (upto,)).fetchone()
        self.upto = upto

    def _is_of_today(self, upto: int) -> bool:
        """Whether acts up to a number, less those passed over, make today's categories.

        An act that is undone, and its undoing, make them with and without each other.
        """
        for seq, undoes, holds in self._store.run(ON_CATEGORIES):
            entry = LogEntry(seq, None, "", None, undoes, None, None, {}, (None, None))
            if seq > upto or (holds and self._skips(entry)):
                return False
        return True

    def _note(self, entry: LogEntry) -> None:
        if self._compared is not None and entry.numbers[1] is not None:
            self._compared.setdefault(entry.numbers[1], []).append(entry)

    def _on(self, document: str) -> Iterable[LogEntry]:
        return self._read(ON_DOCUMENT, document)

    def _naming_acts(self, number: int) -> Iterable[LogEntry]:
        if self._compared is None:
            self._compared = {}
            for entry in self._read(COMPARING):
                self._note(entry)
        entries = [*self._read(OF_CATEGORY, number), *self._compared.get(number, ())]
        return sorted(entries, key=lambda entry: entry.seq)

    def _read(self, which: str, *of: object) -> Iterator[LogEntry]:
        """Acts up to the present one that were not passed over."""
        entries = self._store.log(-1, which, self.upto, *of)
        return (entry for entry in entries if not self._skips(entry))


def _last_by(
    entries: list[LogEntry], acts: tuple[str, ...], key: Callable[[LogEntry], Any]
) -> dict[Any, LogEntry]:
    """Key → the last of the entries with such acts, in the order of the log."""
    last: dict[Any, LogEntry] = {}
    for entry in entries:
        if entry.act in acts:
            last.pop(key(entry), None)
            last[key(entry)] = entry
    return last


def _is_aside(entries: list[LogEntry]) -> bool:
    acts = [e for e in entries if e.within is None and e.act not in {UNDO, *TELLING}]
    return bool(acts) and acts[-1].act == UNSURE and acts[-1].numbers[0] is None


def require_replayed(store: Store) -> None:
    """Refuse a store in which what holds is not the result of its log."""
    replay = LogReplay(track(store.log(), "reading the log again"))
    names = [category.id for category in store.categories()]
    if sorted(names) != sorted(replay.names.values()):
        raise damaged(store.engine.place, "categories and log differ")
    for record in store.records():
        if replay.judged(record) != record:
            reason = f"document {record.id!r} and the log differ"
            raise damaged(store.engine.place, reason)

"""A document with its suggestions and their evidence, laid out for one person."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from classmark.corpus.documents import Document
from classmark.taxonomy.category import path_names
from classmark.text.tokens import words
from classmark.workbench.deciding.decide import (
    UNTRAINED,
    LoggedAct,
    Seen,
    acts_since,
    version_of,
)
from classmark.workbench.results import in_percent
from classmark.workbench.store.log import JudgedRecord
from classmark.workbench.store.store import title_of

if TYPE_CHECKING:
    from classmark.formats.records import Record
    from classmark.rankers.text_ranker import Suggestion, TextRanker
    from classmark.workbench.project import Project
    from classmark.workbench.store.store import Store
    from classmark.workbench.team.desk import Desk


SHOWN = 10
SOON = 0.05  # seconds that a document may wait for what was decided just before
SHORT = 60  # characters of a field that is told beside the title
NOTES = """
SELECT seq, who, at, note FROM judgments AS j WHERE document = ? AND act = 'note'
AND NOT EXISTS (SELECT 1 FROM undone WHERE seq = j.seq) ORDER BY seq
"""
_RUN = re.compile(r"\w+")
_ADDRESS = re.compile(r"https?://\S{1,2000}")
STRENGTHS = 4
LEAST = 0.005  # a part of the score that rounds to more than 0.00


@dataclass(frozen=True, slots=True)
class EvidencePiece:
    """Some text; side : "for" or "against" a category, or ""; strength : 1 to 4."""

    text: str
    side: str = ""
    strength: int = 0
    says: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A category that may be chosen, as it is shown.

    likely : "87 %", or "" where it is not known;  rank : None where it is not ranked;
    note, guideline : the category's own;  examples : two documents in it, (id, title);
    stands : what was said of it before: assign, primary, reject, unsure, or "".
    """

    category: str
    path: tuple[str, ...]
    likely: str = ""
    favour: tuple[tuple[str, float], ...] = ()
    against: tuple[tuple[str, float], ...] = ()
    note: str = ""
    stands: str = ""
    rank: int | None = None
    score: float | None = None
    probability: float | None = None
    guideline: str = ""
    examples: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The category's own label, without its path."""
        return self.path[-1]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A document, and what may be said of it.

    texts : for each choice its number and the text in pieces;  choices : the best ten;
    others : what else was said of it before;  more : how many categories are not shown,
    in words;  calibrated : what the percentages rest on, in words;  version : the
    number of the last act on the document;  ranked : how many categories are ranked;
    learned : the last act the ranker had learned;
    preferred : (winner, loser) pairs that stand;  notes, past : what was written on it,
    and said of it, oldest first;  blind : what others said of it is not shown.
    """

    id: str
    title: str
    about: tuple[tuple[str, str], ...]
    texts: tuple[tuple[int, tuple[EvidencePiece, ...]], ...]
    choices: tuple[Choice, ...]
    more: str
    version: int
    others: tuple[Choice, ...] = ()
    calibrated: str = ""
    ranked: int = 0
    model: str = ""
    aside: bool = False
    preferred: tuple[tuple[str, str], ...] = ()
    notes: tuple[LoggedAct, ...] = ()
    past: tuple[LoggedAct, ...] = ()
    blind: bool = False
    learned: int = -1


def lay_out(
    desk: Desk,
    document: str,
    who: str = "",
    *,
    blind: bool = False,
    ahead: bool = False,
) -> Sheet:
    """Lay a document on the desk for somebody.

    Laid out again, it is the same until something is said of it. blind : for a second
    reading, nothing that was said before is on it. ahead : before they look at it; when
    they do, it is what was learned until then that counts.
    """
    if not ahead and desk.sheets.is_unseen(who, document, blind=blind):
        if desk.service.learner is not None:
            desk.learned(SOON)
        desk.sheets.show(who, document, desk.service.upto, blind=blind)
    version = version_of(desk.store, document)
    sheet = desk.sheets.get(who, document, version, blind=blind)
    if sheet is None:
        new = _laid_out(desk, document, version, blind=blind)
        sheet = desk.sheets.put(who, new, ahead=ahead)
    desk.claims.take(document, who)
    return sheet


def _laid_out(desk: Desk, document: str, version: int, *, blind: bool) -> Sheet:
    store = desk.store
    record = store.record(document)
    text = desk.text_of(record)
    past = () if blind else acts_since(store, document, -1)
    if blind:
        record = JudgedRecord(record.document, meta=record.meta, links=record.links)
    model, learned = desk.model(), desk.service.upto
    suggestions = [] if model is None else model.suggest(text, SHOWN)
    choices = tuple(_choice(desk, record, suggestion) for suggestion in suggestions)
    title, about, body = in_parts(record.document, record.meta)
    shown = {choice.category for choice in choices}
    ranked = 0 if model is None else len(model.categories)
    return Sheet(
        document,
        title,
        about,
        in_pieces(body or text, choices),
        choices,
        f"{len(desk.categories) - len(choices):,} more",
        version,
        tuple(_spoken(desk, record, name) for name in _said(record) - shown),
        _rests_on(model),
        ranked,
        desk.service.base or UNTRAINED if model is not None else "",
        record.aside,
        tuple(record.preferences),
        () if blind else notes_on(store, document),
        past,
        blind,
        learned,
    )


def in_parts(
    document: Document, meta: Mapping[str, str]
) -> tuple[str, tuple[tuple[str, str], ...], str]:
    """The title of a document, its short fields with its facts, and its text.

    >>> in_parts(Document("d", {"title": "Bees", "by": "Ada"}), {"year": "1901"})
    ('Bees', (('by', 'Ada'), ('year', '1901')), '')
    """
    fields = dict(document.fields)
    title = fields.pop("title", "") or document.id
    body = "\n\n".join(v for v in fields.values() if not _is_short(v))
    facts = [*fields.items(), *meta.items()]
    about = tuple((k, v) for k, v in facts if v and _is_short(v))
    return title, about, body


def _is_short(value: str) -> bool:
    return len(value) < SHORT or bool(_ADDRESS.fullmatch(value))


def choice_of(desk: Desk, document: str, category: str) -> Choice:
    """A category that was searched for, as it is shown beside the others."""
    record = desk.store.record(document)
    return _spoken(desk, record, category)


def notes_on(store: Store, document: str) -> tuple[LoggedAct, ...]:
    """The notes on a document that are not undone, oldest first."""
    rows = store.run(NOTES, (document,))
    return tuple(
        LoggedAct(seq, who, at, "note", note=note) for seq, who, at, note in rows
    )


def _choice(desk: Desk, record: JudgedRecord, suggestion: Suggestion) -> Choice:
    return replace(
        _spoken(desk, record, suggestion.category),
        likely=""
        if suggestion.probability is None
        else in_percent(suggestion.probability),
        favour=_told(suggestion.favour),
        against=_told(suggestion.against),
        rank=suggestion.rank,
        score=suggestion.score,
        probability=suggestion.probability,
    )


def _told(parts: Iterable[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    return tuple((term, part) for term, part in parts if abs(part) >= LEAST)


def _spoken(desk: Desk, record: JudgedRecord, name: str) -> Choice:
    """A category with all that does not depend on the ranker."""
    found_category = desk.categories.get(name)
    return Choice(
        name,
        path_names(desk.categories, desk.tree, name),
        note="" if found_category is None else found_category.note,
        guideline=""
        if found_category is None
        else getattr(found_category, "guideline", ""),
        stands=_stands(record, name),
        examples=desk.examples.near(desk, name, record),
    )


def _stands(record: JudgedRecord, name: str) -> str:
    if name in record.labels:
        return "primary" if name in record.primary else "assign"
    if name in record.rejected:
        return "reject"
    return "unsure" if name in record.unsure else ""


def _said(record: JudgedRecord) -> set[str]:
    return {*record.labels, *record.rejected, *record.unsure}


def _rests_on(model: TextRanker | None) -> str:
    if model is None or model.calibrator is None:
        return ""
    return f"calibrated on {model.calibrator.decisions_:,} decisions"


def marked(text: str, parts: Mapping[str, float]) -> Iterator[EvidencePiece]:
    """Cut a text where its words speak for or against a category.

    parts : a word as it stands in the text, in small letters → its part in the score.

    >>> [piece.side for piece in marked("Bees, not ants", {"bees": 2.0, "ants": -1.0})]
    ['for', '', 'against']
    """
    largest = max(map(abs, parts.values()), default=1.0)
    at = 0
    for run in _RUN.finditer(text):
        part = parts.get(run[0].lower())
        if part is None:
            continue
        if run.start() > at:
            yield EvidencePiece(text[at : run.start()])
        strength = max(1, round(STRENGTHS * abs(part) / largest))
        side = "for" if part > 0 else "against"
        yield EvidencePiece(run[0], side, strength, f"{part:+.2f}".replace("-", "−"))
        at = run.end()
    if at < len(text):
        yield EvidencePiece(text[at:])


def in_pieces(
    text: str, choices: Sequence[Choice]
) -> tuple[tuple[int, tuple[EvidencePiece, ...]], ...]:
    """The text once for each choice, its own words marked."""
    pieces = [
        (number, tuple(marked(text, dict(choice.favour) | dict(choice.against))))
        for number, choice in enumerate(choices, start=1)
    ]
    return tuple(pieces) or ((1, (EvidencePiece(text),)),)


Key = tuple[str, str, bool]  # who, document, blind
SHEETS = 512
MINUTES = 30


class Sheets:
    """The sheets laid out last, by person and document.

    A sheet that was shown does not change by being asked for again: nothing on it moves
    while somebody reads.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: dict[Key, tuple[float, Sheet]] = {}
        self._ahead: set[Key] = set()

    def put(self, who: str, sheet: Sheet, *, ahead: bool = False) -> Sheet:
        """Keep a sheet; return the one that is kept already, if there is one.

        ahead : nobody has seen it yet.
        """
        key = (who, sheet.id, sheet.blind)
        with self._lock:
            since, there = self._kept.get(key, (0.0, None))
            if there is not None and there.version == sheet.version and _holds(since):
                return there
            self._kept.pop(key, None)
            self._kept[key] = time.monotonic(), sheet
            (self._ahead.add if ahead else self._ahead.discard)(key)
            while len(self._kept) > SHEETS:
                del self._kept[next(iter(self._kept))]
            self._ahead &= self._kept.keys()
        return sheet

    def is_unseen(self, who: str, document: str, *, blind: bool = False) -> bool:
        """Whether a sheet was laid out ahead, and nobody has looked at it yet."""
        return (who, document, blind) in self._ahead

    def show(self, who: str, document: str, learned: int, *, blind: bool) -> None:
        """Somebody looks at it from now on; it is dropped if more is learned now."""
        key = (who, document, blind)
        with self._lock:
            if key in self._ahead:
                self._ahead.discard(key)
                if self._kept[key][1].learned != learned:
                    del self._kept[key]

    def get(
        self, who: str, document: str, version: int, *, blind: bool = False
    ) -> Sheet | None:
        """The sheet laid out for somebody, unless something was said since."""
        with self._lock:
            since, sheet = self._kept.get((who, document, blind), (0.0, None))
        if sheet is None or sheet.version != version:
            return None
        return sheet if _holds(since) else None

    def seen(self, document: str, who: str) -> dict[str, Seen]:
        """What somebody was shown of categories: the model, ranks and scores."""
        with self._lock:
            both = [self._kept.get((who, document, blind)) for blind in (False, True)]
        shown = [entry for entry in both if entry is not None]
        if not shown:
            return {}
        _, sheet = max(shown, key=lambda entry: entry[0])
        return {
            choice.category: Seen(sheet.model, choice.rank, choice.score)
            for choice in sheet.choices
            if choice.rank is not None
        }

    def clear(self) -> None:
        """Lay everything out anew: categories or the model are others."""
        with self._lock:
            self._kept.clear()
            self._ahead.clear()


def _holds(since: float) -> bool:
    return time.monotonic() - since < 60 * MINUTES


EXAMPLES = 2
SPARE_EXAMPLES = 8  # of a category
CATEGORIES = 2000  # that are kept
LONG = 400  # characters of a text that are compared
SHORT_WORD = 3  # letters of words that say little
NEWEST = """
SELECT document FROM judgments
WHERE category = (SELECT number FROM categories WHERE id = ? AND stands = 1)
AND act IN ('assign', 'primary') GROUP BY document ORDER BY max(seq) DESC LIMIT ?
"""
HOLDS = "SELECT 1 FROM labels WHERE document = ? AND category = ?"


class _Example(NamedTuple):
    id: str
    title: str
    words: frozenset[str]


class CategoryExamples:
    """A few documents of each category that was looked at, newest first."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: dict[str, list[_Example]] = {}

    def near(
        self, project: Project, category: str, record: Record
    ) -> tuple[tuple[str, str], ...]:
        """Id and title of two documents in a category, the most alike first."""
        vocabulary = _words(" ".join(record.document.fields.values()))
        others = [e for e in self._of(project, category) if e.id != record.id]
        others.sort(key=lambda e: -len(e.words & vocabulary))
        return tuple((example.id, example.title) for example in others[:EXAMPLES])

    def forget(self, categories: Iterable[str]) -> None:
        """Look at the documents of these anew: some came, or went."""
        with self._lock:
            for category in categories:
                self._kept.pop(category, None)

    def clear(self) -> None:
        """Look at the documents anew."""
        with self._lock:
            self._kept.clear()

    def _of(self, project: Project, category: str) -> list[_Example]:
        examples = self._kept.get(category)
        if examples is None:
            run = project.store.run
            ids = [id_ for (id_,) in run(NEWEST, (category, SPARE_EXAMPLES)).fetchall()]
            labelled = [id_ for id_ in ids if run(HOLDS, (id_, category)).fetchone()]
            examples = [_example(project.store.document(id_)) for id_ in labelled]
            with self._lock:
                while len(self._kept) >= CATEGORIES:
                    del self._kept[next(iter(self._kept))]
                self._kept[category] = examples
        return examples


def _example(document: Document) -> _Example:
    return _Example(document.id, title_of(document), _words(document.text))


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in words(text[:LONG]) if len(word) > SHORT_WORD)

"""A document with its suggestions and their evidence, laid out for one person."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import itemgetter
from threading import Lock, RLock
from typing import TYPE_CHECKING, NamedTuple

from classmark.corpus.documents import Document
from classmark.taxonomy.category import ACTIVE, path_names
from classmark.text import words
from classmark.workbench.deciding.decide import (
    SAID,
    UNTRAINED,
    LoggedAct,
    Seen,
    acts_since,
    version_of,
)
from classmark.workbench.results import in_percent
from classmark.workbench.store.log import ASSIGN, PRIMARY, REJECT, UNSURE, JudgedRecord
from classmark.workbench.store.store import Store, title_of

if TYPE_CHECKING:
    from classmark.formats.records import Record
    from classmark.rankers.text_ranker import Suggestion
    from classmark.workbench.project import Project
    from classmark.workbench.team.desk import Desk


SHOWN = 10
FIRST = 10  # decisions before which a few categories are not ranked
SOON = 0.05  # seconds that a document may wait for what was decided just before
TEXT = "text"  # the field that is read below the title, however short
SHORT = 60  # characters of a field that is told beside the title
NOTES = "= 'note' AND NOT EXISTS (SELECT 1 FROM undone WHERE seq = j.seq)"
_RUN = re.compile(r"\w+")
_ADDRESS = re.compile(r"https?://\S{1,2000}")
STRENGTHS = 4
LEAST = 0.005  # a part of the score that rounds to more than 0.00


class EvidencePiece(NamedTuple):
    """Some text of a document.

    marks : for each choice that it speaks of, «number:side:strength:part», with spaces
    between;  side : "for" or "against" the first choice, or "";  strength : 1 to 4.
    """

    text: str
    marks: str = ""
    side: str = ""
    strength: int = 0
    says: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A category that may be chosen, as it is shown.

    likely : "87 %", or "" where it is not known;  rank : None where it is not ranked;
    note, guideline : the category's own;  examples : two documents in it, (id, title);
    stands : what was said of it before: assign, primary, reject, unsure, or "";
    belongs : whether its score is above its threshold, None where there is none;
    words, meaning : what either adds to its lead, None where words are all there is;
    name : which of its names the text has, and what it adds.
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
    belongs: bool | None = None
    words: float | None = None
    meaning: float | None = None
    name: tuple[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Sheet:
    """A document, and what may be said of it.

    words : the text, in pieces;  choices : the best ten, or all of a few;
    others : what else was said of it before;  more : how many categories are not shown,
    in words;  calibrated, calibrated_on : what the percentages rest on, in words, and
    how many decisions that is;  version : the number of the last act on the document;
     ranked : how many categories are ranked;
    learned : the last act the ranker had learned;
    preferred : (winner, loser) pairs that stand;  notes, past : what was written on it,
    and said of it, oldest first;  blind : what others said of it is not shown.
    """

    id: str
    title: str
    about: tuple[tuple[str, str], ...]
    words: tuple[EvidencePiece, ...]
    choices: tuple[Choice, ...]
    more: str
    version: int
    others: tuple[Choice, ...] = ()
    calibrated: str = ""
    calibrated_on: int = 0
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
    sheets, key = desk.sheets, (who, document, blind)
    if not ahead and sheets.is_unseen(key):
        if desk.service.learner is not None:
            desk.learned(SOON)
        sheets.show(key, desk.service.upto, _model_name(desk))
    version = version_of(desk.store, document)
    sheet = sheets.get(key, version)
    if sheet is None:
        new = _laid_out(desk, document, version, blind=blind)
        sheet = sheets.put(key, new, ahead=ahead)
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
    if not text.strip() or _is_beginning(desk):
        model = None
    suggestions = [] if model is None else model.suggest(text, SHOWN)
    choices = tuple(choice_of(desk, record, s.category, s) for s in suggestions)
    choices += _unranked(desk, record, choices)
    title, about, body = in_parts(record.document, record.meta)
    parts = [dict(choice.favour + choice.against) for choice in choices]
    decisions = 0
    if model is not None and model.calibrator is not None:
        decisions = model.calibrator.decisions_
    return Sheet(
        document,
        title,
        about,
        tuple(marked(body or text, parts)),
        choices,
        f"{more:,} more" if (more := len(desk.categories) - len(choices)) else "",
        version,
        _others(desk, record, choices),
        f"calibrated on {decisions:,} decisions" if decisions else "",
        decisions,
        0 if model is None else model.n_ranked,
        _model_name(desk),
        record.aside,
        tuple(record.preferences),
        () if blind else notes_on(store, document),
        past,
        blind,
        learned,
    )


def _is_beginning(desk: Desk) -> bool:
    """Whether so little is learned that a few categories keep their places and keys."""
    decided = len(desk.state.labels)
    return not desk.service.base and decided < FIRST and len(_few(desk)) <= SHOWN


def _few(desk: Desk) -> list[str]:
    """The categories that may be chosen, in order; of many the first."""
    active = (id_ for id_, each in desk.categories.items() if each.status == ACTIVE)
    return list(islice(active, SHOWN + 1))


def _unranked(
    desk: Desk, record: JudgedRecord, ranked: Iterable[Choice]
) -> tuple[Choice, ...]:
    """Of a few categories all are shown: after those ranked, the others in order."""
    names = _few(desk)
    if len(names) > SHOWN:
        return ()
    shown = {choice.category for choice in ranked}
    return tuple(choice_of(desk, record, id_) for id_ in names if id_ not in shown)


def _model_name(desk: Desk) -> str:
    """The model that is asked, as decisions name it; "" where there is none."""
    return "" if desk.model() is None else desk.service.base or UNTRAINED


def _others(
    desk: Desk, record: JudgedRecord, choices: Iterable[Choice]
) -> tuple[Choice, ...]:
    """What was said of categories that are not among the choices."""
    shown = {choice.category for choice in choices}
    names = {*record.labels, *record.rejected, *record.unsure} - shown
    return tuple(
        choice_of(desk, record, name, alike=number < EXEMPLIFIED)
        for number, name in enumerate(names)
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
    body = "\n\n".join(v for k, v in fields.items() if not _is_fact(k, v))
    facts = [*fields.items(), *meta.items()]
    about = tuple((k, v) for k, v in facts if v and _is_fact(k, v))
    return title, about, body


def _is_fact(name: str, value: str) -> bool:
    """Whether a field is told beside the title: it is short, and not the text."""
    return name != TEXT and (len(value) < SHORT or bool(_ADDRESS.fullmatch(value)))


def notes_on(store: Store, document: str) -> tuple[LoggedAct, ...]:
    """The notes on a document that are not undone, oldest first."""
    rows = store.run(SAID.format(NOTES), (document, -1))
    return tuple(LoggedAct(*row) for row in rows)


def choice_of(
    desk: Desk,
    record: JudgedRecord,
    name: str,
    suggestion: Suggestion | None = None,
    *,
    alike: bool = True,
) -> Choice:
    """A category as it is shown, with what the ranker says of it, if anything.

    alike : with documents in it that are like this one.
    """
    category = desk.categories.get(name)
    statements = {
        PRIMARY: record.primary,
        ASSIGN: record.labels,
        REJECT: record.rejected,
        UNSURE: record.unsure,
    }
    choice = Choice(
        name,
        path_names(desk.categories, desk.tree, name),
        note="" if category is None else category.note,
        guideline="" if category is None else category.guideline,
        stands=next((act for act, names in statements.items() if name in names), ""),
        examples=desk.examples.near(desk, name, record) if alike else (),
    )
    if suggestion is None:
        return choice
    chance = suggestion.probability
    words, meaning = suggestion.parts or (None, None)
    return replace(
        choice,
        likely="" if chance is None else in_percent(chance),
        favour=_told(suggestion.favour),
        against=_told(suggestion.against),
        rank=suggestion.rank,
        score=suggestion.score,
        probability=chance,
        belongs=suggestion.belongs,
        words=words,
        meaning=meaning,
        name=suggestion.name,
    )


def _told(parts: Iterable[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    return tuple((term, part) for term, part in parts if abs(part) >= LEAST)


def marked(text: str, parts: Sequence[Mapping[str, float]]) -> Iterator[EvidencePiece]:
    """Cut a text where its words speak for or against categories.

    parts : of each category, a word as it stands in the text, in small letters → its
    part in the score.

    >>> words = marked("Bees, not ants", [{"bees": 2.0}, {"bees": 1.0, "ants": -0.1}])
    >>> [word.marks for word in words]
    ['1:for:4:+2.00 2:for:4:+1.00', '', '2:against:1:−0.10']
    """
    largest = [max(map(abs, each.values()), default=1.0) for each in parts]
    at = 0
    for run in _RUN.finditer(text):
        marks: dict[int, tuple[str, int, str]] = {}
        for number, (each, most) in enumerate(zip(parts, largest, strict=True), 1):
            if part := each.get(run[0].lower()):
                strength = max(1, round(STRENGTHS * abs(part) / most))
                says = f"{part:+.2f}".replace("-", "−")
                marks[number] = "for" if part > 0 else "against", strength, says
        if marks:
            if run.start() > at:
                yield EvidencePiece(text[at : run.start()])
            at = run.end()
            words = " ".join(f"{n}:{a}:{b}:{c}" for n, (a, b, c) in marks.items())
            yield EvidencePiece(run[0], words, *marks.get(1, ()))
    if at < len(text):
        yield EvidencePiece(text[at:])


Key = tuple[str, str, bool]  # who, document, blind
SHEETS = 512
MINUTES = 30


class Sheets:
    """The sheets laid out last, by person and document.

    A sheet that was shown does not change by being asked for again: nothing on it moves
    while somebody reads.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._kept: dict[Key, tuple[float, Sheet, bool]] = {}  # since when; unseen

    def put(self, key: Key, sheet: Sheet, *, ahead: bool = False) -> Sheet:
        """Keep a sheet; return the one that is kept already, if there is one.

        ahead : nobody has seen it yet.
        """
        with self._lock:
            if there := self.get(key, sheet.version):
                return there
            self._kept.pop(key, None)
            self._kept[key] = time.monotonic(), sheet, ahead
            while len(self._kept) > SHEETS:
                del self._kept[next(iter(self._kept))]
        return sheet

    def is_unseen(self, key: Key) -> bool:
        """Whether a sheet was laid out ahead, and nobody has looked at it yet."""
        return self._kept.get(key, (0.0, None, False))[2]

    def show(self, key: Key, learned: int, model: str) -> None:
        """Somebody looks at it from now on; it is dropped if more is learned now.

        learned, model : the last act learned, and the model in service, now.
        """
        with self._lock:
            since, sheet, ahead = self._kept.get(key, (0.0, None, False))
            if ahead and sheet is not None:
                self._kept[key] = since, sheet, False
                if (sheet.learned, sheet.model) != (learned, model):
                    del self._kept[key]

    def get(self, key: Key, version: int) -> Sheet | None:
        """The sheet laid out for somebody, unless something was said since."""
        with self._lock:
            since, sheet, _ = self._kept.get(key, (0.0, None, False))
        recent = time.monotonic() - since < 60 * MINUTES
        return sheet if sheet and sheet.version == version and recent else None

    def seen(self, document: str, who: str) -> dict[str, Seen]:
        """What somebody was shown of categories: the model, ranks and scores."""
        with self._lock:
            both = [self._kept.get((who, document, blind)) for blind in (False, True)]
        shown = sorted((e for e in both if e is not None), key=itemgetter(0))
        return {
            choice.category: Seen(sheet.model, choice.rank, choice.score)
            for _, sheet, _ in shown[-1:]
            for choice in sheet.choices
            if choice.rank is not None
        }

    def clear(self) -> None:
        """Lay everything out anew: categories or the model are others."""
        with self._lock:
            self._kept.clear()


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
Example = tuple[str, str, frozenset[str]]  # id, title, words
COMPARED = 100_000  # letters of a text that are compared with other texts
EXEMPLIFIED = 200  # labels of a document that are shown with examples
HOLDS = "SELECT 1 FROM labels WHERE document = ? AND category = ?"


class CategoryExamples:
    """A few documents of each category that was looked at, newest first."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: dict[str, list[Example]] = {}

    def near(
        self, project: Project, category: str, record: Record
    ) -> tuple[tuple[str, str], ...]:
        """Id and title of two documents in a category, the most alike first."""
        vocabulary = _words(" ".join(record.document.fields.values())[:COMPARED])
        others = [e for e in self._of(project, category) if e[0] != record.id]
        others.sort(key=lambda example: -len(example[2] & vocabulary))
        return tuple((id_, title) for id_, title, _ in others[:EXAMPLES])

    def forget(self, categories: Iterable[str] | None = None) -> None:
        """Look at the documents of these anew, or of all: some came, or went."""
        with self._lock:
            for category in list(self._kept) if categories is None else categories:
                self._kept.pop(category, None)

    def _of(self, project: Project, category: str) -> list[Example]:
        examples = self._kept.get(category)
        if examples is None:
            store = project.store
            rows = store.run(NEWEST, (category, SPARE_EXAMPLES)).fetchall()
            documents = [
                store.document(id_)
                for (id_,) in rows
                if store.run(HOLDS, (id_, category)).fetchone()
            ]
            examples = [
                (d.id, title_of(d), _words(d.text[:COMPARED])) for d in documents
            ]
            with self._lock:
                while len(self._kept) >= CATEGORIES:
                    del self._kept[next(iter(self._kept))]
                self._kept[category] = examples
        return examples


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in words(text[:LONG]) if len(word) > SHORT_WORD)

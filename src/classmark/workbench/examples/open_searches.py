"""Searches by example that people have open: in memory, one thread at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import Floats
from classmark.problems import Mistake
from classmark.workbench.examples.example_search import (
    FOR,
    READ,
    REASONS,
    Liking,
    Reader,
    Reasons,
    title_of,
)
from classmark.workbench.examples.screening import (
    RELEVANT,
    Status,
    ToRead,
    advice,
    flags_of,
    keep_shown,
    next_batch,
    note,
    opened,
    words,
)
from classmark.workbench.examples.searches import (
    LIKE,
    Search,
    list_searches,
    open_search,
    standing_marks,
)
from classmark.workbench.examples.vectors import (
    collection_of,
    kept_collection,
    state_of,
)
from classmark.workbench.search.search import Piece, Searchable, cut_out

if TYPE_CHECKING:
    from classmark.corpus.documents import Document
    from classmark.text.analyzer import Analyzer
    from classmark.workbench.examples.searches import Mark, Said
    from classmark.workbench.examples.vectors import Collection
    from classmark.workbench.project import Project
    from classmark.workbench.team.desk import Desk


LETTERS = 20_000  # letters of a document that are looked through for its best lines
OWN = "own"


@dataclass(frozen=True, slots=True)
class Example:
    """Something in the basket.

    act : example, yes, no, skip, or ``own``: a text that is no document, its name the
    id.
    """

    id: str
    title: str
    act: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document that may be wanted.

    text : its best lines, in pieces;  why : word → its part of the score;  origin :
    ``likely``, or drawn at ``random``;  mark : what was said of it, or nothing.
    """

    rank: int
    id: str
    title: str
    text: tuple[Piece, ...]
    why: tuple[tuple[str, float], ...] = ()
    score: float | None = None
    origin: str = "likely"
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Basket:
    """A search by examples, as it stands.

    screening : it goes for nearly all, by a rule;  examples, against : what it learned
    from;  words : the heaviest of the query, of ``terms`` in all;  documents : how many
    are ranked;  told : how far it is, a line each;  advice : whether to go on;  stop :
    it may stop.
    """

    number: int
    name: str
    screening: bool
    learned: str
    examples: tuple[Example, ...]
    against: tuple[Example, ...]
    words: tuple[tuple[str, float], ...]
    terms: int
    documents: int
    found: tuple[Candidate, ...]
    told: tuple[str, ...] = ()
    advice: str = ""
    stop: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Saved:
    """A search that was kept, as it is listed."""

    number: int
    name: str
    screening: bool
    examples: int
    yes: int
    no: int
    begun: str
    who: str


def best_lines(
    document: Document, words: Iterable[str], analyzer: Analyzer
) -> tuple[Piece, ...]:
    """The lines of a document with most of these words; its first ones without any."""
    fields = document.fields.items()
    body = "\n".join(text for name, text in fields if name != "title")[:LETTERS]
    terms = {term for word in words for term in analyzer.terms([word]) if term}
    return tuple(cut_out(body, terms, analyzer))


def in_basket(
    project: Project, marks: Mapping[str, str], texts: Mapping[str, str], *acts: str
) -> tuple[Example, ...]:
    """The documents with one of these marks, the last first; then one's own texts."""
    chosen = [(id_, act) for id_, act in reversed([*marks.items()]) if act in acts]
    found = [
        Example(id_, title_of(project.store.document(id_)), act) for id_, act in chosen
    ]
    own = [Example(name, " ".join(text.split()), OWN) for name, text in texts.items()]
    return (*found, *own)


class Likeness:
    """A ``Liking`` that threads take turns with, each lending its own project."""

    def __init__(
        self, project: Project, search: Search, collection: Collection
    ) -> None:
        self._liking = Liking(project, search, collection)

    def lend(self, project: Project, who: str) -> None:
        """Work with this project, for this person, from now on."""
        self._liking.project = self._liking.reader.project = project
        self._liking.who = who

    def note(self, said: Mapping[str, Said]) -> None:
        """Write what is said; at least one example has to be left."""
        left = {**self._liking.marks, **said}
        if not self._liking.texts and not any(act in FOR for act in left.values()):
            raise Mistake(
                "that would leave the search without an example: add another first"
            )
        self._liking.note(said)

    def take_in(self, said: Mapping[str, Said]) -> None:
        """Learn from what was written."""
        self._liking.take_in(said)

    def take_back(self, back: Sequence[Mark]) -> None:
        """Unlearn what was taken back, or learn again what was brought back."""
        self._liking.take_back(back)

    def basket(self, project: Project, k: int) -> Basket:
        """The search as it stands, with the best k documents."""
        held = self._liking
        found: tuple[Candidate, ...] = ()
        notes: tuple[str, ...] = ()
        left = len(held.scores) - len(held.marks)
        if left > 0:
            likes = held.rank(k)
            notes = tuple(likes.notes)
            analyzer = held.collection.vectorizer.analyzer_
            found = tuple(
                Candidate(
                    each.rank,
                    each.id,
                    each.title,
                    best_lines(project.store.document(each.id), each.why, analyzer),
                    tuple(each.why.items()),
                    each.score,
                )
                for each in likes.found
            )
        words = held.reader.heaviest(held.weights)
        return Basket(
            held.search.number, held.search.name, False, self._learned(),
            in_basket(project, held.marks, held.texts, *FOR),
            in_basket(project, held.marks, {}, "no"),
            tuple(words.items()), int((held.weights != 0).sum()), left, found,
            notes=notes,
        )  # fmt: skip

    def explain(self, document: str) -> Reasons:
        """Every word's part of a document's score."""
        return self._liking.explain(document)

    @property
    def liking(self) -> Liking:
        """The search itself, to be written to a file."""
        return self._liking

    def _learned(self) -> str:
        cost = self._liking.query.C_
        how = "" if cost is None else f", C = {cost:g}"
        return f"{self._liking.query.method_}{how}"


BATCH = 10
KIND = "screen"


class Sifting:
    """A ``Screening`` that threads take turns with, each lending its own project."""

    def __init__(
        self, project: Project, search: Search, collection: Collection
    ) -> None:
        self.search, self.project, self.who = search, project, ""
        self.texts: dict[str, str] = dict(search.settings["texts"])
        self._collection = collection
        self._reader = Reader(project, collection)
        self._screening, self._ids = opened(project, search, collection)
        self._number = {id_: at for at, id_ in enumerate(self._ids)}
        self._marks = self._standing()
        self._noted: Sequence[Mark] = ()
        for id_ in [i for i, act in self._marks.items() if act in RELEVANT][:READ]:
            self._reader.read(project.store.document(id_))

    def lend(self, project: Project, who: str) -> None:
        """Work with this project, for this person, from now on."""
        self.project = self._reader.project = project
        self.search = open_search(project.store, self.search.name, KIND)
        self.who = who

    def note(self, said: Mapping[str, Said]) -> None:
        """Write answers; what is shown stays until all of it is answered."""
        late = [id_ for id_ in said if id_ not in self._number]
        if late:
            raise Mistake(
                f"document {late[0]!r} is not part of this screening: it came later, "
                "or is not there; begin another screening"
            )
        self._noted = note(self.project, self.search, said, self.who)

    def take_in(self, said: Mapping[str, Said]) -> None:
        """Know what was written; the next batch learns from it."""
        if any(id_ in self._marks for id_ in said):
            self._anew()
            return
        numbers = [self._number[mark.document] for mark in self._noted]
        self._screening.answer(numbers, *flags_of(self._noted))
        self._marks = self._standing()

    def take_back(self, back: Sequence[Mark]) -> None:
        """Forget what was taken back; know again what was brought back."""
        del back
        self._anew()

    def shown_again(self, back: Sequence[Mark]) -> list[ToRead]:
        """What was taken back, to be read again, before what is shown."""
        first = [
            ToRead(rank, mark.document, "", mark.origin, mark.score)
            for rank, mark in enumerate(back, 1)
            if mark.document not in self._marks and mark.origin != "given"
        ]
        again = {each.id for each in first}
        return [*first, *(each for each in self._shown() if each.id not in again)]

    @property
    def waits(self) -> bool:
        """Whether nothing is shown although something is left to read."""
        left = len(self._marks) < len(self._ids)
        return left and all(each.id in self._marks for each in self._shown())

    def next_batch(self) -> list[ToRead]:
        """What to read next, by all that was answered."""
        return next_batch(self.project, self._screening, self._ids, BATCH)

    def keep(self, shown: Sequence[ToRead]) -> None:
        """Write down what is shown from now on."""
        self.search = keep_shown(self.project, self.search, shown)

    def basket(self, project: Project, k: int) -> Basket:
        """The screening as it stands, with what is to be read now."""
        del k
        progress = self._screening.progress()
        (now,) = project.store.run("SELECT count(*) FROM documents").fetchone()
        status = Status(
            self.search.name, progress, self._screening, now - len(self._ids)
        )
        weights = self._weights()
        return Basket(
            self.search.number, self.search.name, True, "screening",
            in_basket(project, self._marks, self.texts, *RELEVANT),
            in_basket(project, self._marks, {}, "no"),
            tuple(self._reader.heaviest(weights).items()), int((weights != 0).sum()),
            len(self._ids) - len(self._marks),
            tuple(self._candidates(project, weights)),
            tuple(words(status)[:-1]), advice(progress), progress.stop,
        )  # fmt: skip

    def explain(self, document: str) -> Reasons:
        """Every word's part of a document's score, the bias left out."""
        return self._reader.reasons(document, self._weights())

    def _candidates(self, project: Project, weights: Floats) -> list[Candidate]:
        found, analyzer = [], self._collection.vectorizer.analyzer_
        for rank, each in enumerate(self._shown(), 1):
            document = project.store.document(each.id)
            why = self._why(each.id, weights)
            text = best_lines(document, dict(why), analyzer)
            mark = self._marks.get(each.id, "")
            title, origin = title_of(document), each.origin
            found.append(
                Candidate(rank, each.id, title, text, why, each.score, origin, mark)
            )
        return found

    def _why(self, document: str, weights: Floats) -> tuple[tuple[str, float], ...]:
        parts = self._reader.reasons(document, weights).parts
        best = [(part.word, part.part) for part in parts if part.part > 0]
        return tuple(best[:REASONS])

    def _weights(self) -> Floats:
        self._screening.learn()
        query = self._screening.query
        width = self._collection.rows.width
        found = getattr(query, "coef_", None)
        return np.zeros(width) if found is None else np.asarray(found, np.float64)

    def _shown(self) -> list[ToRead]:
        rows = enumerate(self.search.settings["shown"], 1)
        return [ToRead(rank, id_, "", o, score) for rank, (id_, o, score) in rows]

    def _standing(self) -> dict[str, str]:
        found = standing_marks(self.project.store, self.search)
        return {each.mark.document: each.mark.act for each in found}

    def _anew(self) -> None:
        self._screening, _ = opened(self.project, self.search, self._collection)
        self._marks = self._standing()


AT_ONCE = 5_000  # documents that are made vectors while somebody waits
WARM = 8  # searches that stay in memory
READING = "reading the documents"


class BeingRead(Mistake):
    """The documents are made vectors by a job: it takes a while the first time."""


class Slot:
    """A search in memory, and what it knows: one thread at a time has it."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.held: Likeness | Sifting | None = None
        self.collection: Collection | None = None
        self.version: tuple[Any, ...] = ()


class Shelf:
    """What one desk keeps open for all its threads."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._searchable: Searchable | None = None
        self._collection: Collection | None = None
        self._state: dict[str, Any] | None = None
        self._slots: OrderedDict[int, Slot] = OrderedDict()

    def searchable(self, desk: Desk) -> Searchable:
        """The index in service; opened anew when another came into service."""
        with self._lock:
            held = self._searchable
            if held is None or not held.is_current(desk.project):
                held = self._searchable = Searchable(desk.project)
            return held

    def collection(self, desk: Desk) -> Collection:
        """The documents as vectors: of now, or of before while a job reads them."""
        state = state_of(desk.project)
        with self._lock:
            if self._collection is not None and self._state == state:
                return self._collection
            if not desk.jobs.running(READING):
                found = kept_collection(desk.project)
                if found is None and state["documents"][0] <= AT_ONCE:
                    found = collection_of(desk.project)
                if found is not None:
                    self._collection, self._state = found, state
                    return found
                with suppress(Mistake):
                    desk.jobs.start(READING, _read)
            if self._collection is None:
                raise BeingRead("the documents are being read: come back in a moment")
            return self._collection

    def is_behind(self, desk: Desk) -> bool:
        """Whether documents came that are not vectors yet."""
        return self._state is not None and self._state != state_of(desk.project)

    @contextmanager
    def taken(
        self, desk: Desk, number: int, who: str = ""
    ) -> Iterator[Likeness | Sifting]:
        """A search, for this thread alone; read anew if others marked in it."""
        search, collection = search_of(desk.project, number), self.collection(desk)
        slot = self._slot(number)
        with slot.lock:
            version = _version(desk.project, search)
            if slot.collection is not collection or slot.version != version:
                slot.held = None
            try:
                held = slot.held = slot.held or _opened(desk, search, collection)
                held.lend(desk.project, who)
                yield held
                slot.collection = collection
                slot.version = _version(desk.project, search_of(desk.project, number))
            except BaseException:
                slot.held = None
                raise

    def _slot(self, number: int) -> Slot:
        with self._lock:
            slot = self._slots.setdefault(number, Slot())
            self._slots.move_to_end(number)
            while len(self._slots) > WARM:
                self._slots.popitem(last=False)
            return slot


def search_of(project: Project, number: int) -> Search:
    """A search by its number."""
    for kind in (LIKE, KIND):
        for search in list_searches(project.store, kind):
            if search.number == number:
                return search
    raise Mistake(f"there is no search {number}: the list has those that there are")


def _opened(desk: Desk, search: Search, collection: Collection) -> Likeness | Sifting:
    made = Sifting if search.settings.get("kind") == KIND else Likeness
    return made(desk.project, search, collection)


def _version(project: Project, search: Search) -> tuple[Any, ...]:
    """What a search in memory depends on: its marks, and its settings."""
    last = "SELECT coalesce(max(seq), 0) FROM marks WHERE search = ?"
    (seq,) = project.store.run(last, (search.number,)).fetchone()
    settings = {name: each for name, each in search.settings.items() if name != "shown"}
    return seq, settings


def _read(project: Project) -> str:
    return f"{len(collection_of(project).ids):,} documents are read"

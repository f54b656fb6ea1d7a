"""Searches by example of several people: in memory, one thread at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, Literal

from classmark.examples.screening import StoppingRule
from classmark.language import N_, _, ngettext, whole
from classmark.problems import Mistake, refusal
from classmark.workbench.examples import searches
from classmark.workbench.examples.example_search import ExampleSearch
from classmark.workbench.examples.export import export_ranking, export_weights
from classmark.workbench.examples.like import SearchStart, begin
from classmark.workbench.examples.screening import (
    ScreeningSearch,
    change_target,
    marked_documents,
)
from classmark.workbench.examples.searches import Mark, MarkAct, StoredSearch
from classmark.workbench.examples.vectors import (
    RUNS,
    WORDS,
    rows_of_texts,
    saved_vectors,
    state_of,
    vectors_of,
)
from classmark.workbench.search.search import ProjectIndex

if TYPE_CHECKING:
    from classmark.workbench.examples.example_search import (
        ExampleRanking,
        ScoreReasons,
        SearchView,
    )
    from classmark.workbench.examples.vectors import DocumentVectors
    from classmark.workbench.project import Project
    from classmark.workbench.team.desk import Desk


AT_ONCE = 5_000  # documents that are made vectors while somebody waits
ENCODED_AT_ONCE = 200  # of them without a vector of meaning, which may take seconds
WARM = 8  # searches that stay in memory
READING = N_("reading the documents")
SHOWN = 20
BEHIND = N_("documents came that are not ranked yet: they are being read")
LONGEST = 200_000  # letters of a text of one's own
ACTS = ("example", "yes", "no", "skip")
ManageAct = Literal["rename", "delete", "restore"]
AnswerFilter = Literal["relevant", "rejected", "skipped", "answered"]
SHOWS: dict[AnswerFilter, tuple[str, ...]] = {
    "relevant": searches.FOR,
    "rejected": searches.AGAINST,
    "skipped": ("skip",),
    "answered": ACTS,
}


class BeingRead(Mistake):
    """The documents are made vectors by a job: it takes a while the first time."""


class _Slot:
    """A search in memory, and the version it was read from: for one thread at a time.

    search : None where it is to be read anew.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.search: ExampleSearch | ScreeningSearch | None = None
        self.version: tuple[Any, ...] = ()


class SearchCache:
    """The index, the vectors and the searches by example that a desk has open."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._index: ProjectIndex | None = None
        self._vectors: dict[str, tuple[DocumentVectors, dict[str, Any]]] = {}
        self._slots: OrderedDict[int, _Slot] = OrderedDict()

    def index(self, desk: Desk) -> ProjectIndex:
        """The index in service; opened anew when another came into service."""
        with self._lock:
            index = self._index
            if index is None or not index.is_current(desk):
                index = self._index = ProjectIndex(desk)
            return index

    def vectors(self, desk: Desk, reading: str = WORDS) -> DocumentVectors:
        """The documents as vectors: of now, or of before while a job reads them."""
        state = state_of(desk, reading)
        with self._lock:
            before, its_state = self._vectors.get(reading, (None, {}))
            if before is not None and its_state == state:
                return before
            if its_state.get("meaning") != state.get("meaning"):
                before = None  # its source is sent no text any more
            if not desk.jobs.running(READING):
                vectors = saved_vectors(desk, reading)
                if vectors is None and _is_quick(desk, state["documents"][0]):
                    vectors = vectors_of(desk, reading)
                if vectors is not None:
                    self._vectors[reading] = vectors, state
                    return vectors
                with suppress(Mistake):
                    desk.jobs.start(READING, partial(_read, reading=reading))
            if before is None:
                raise BeingRead(
                    _("the documents are still being read: try again in a moment")
                )
            return before

    @property
    def has_vectors(self) -> bool:
        """Whether the documents were read, at some time."""
        return WORDS in self._vectors

    def is_behind(self, desk: Desk) -> bool:
        """Whether documents came that are not vectors yet."""
        return WORDS in self._vectors and self._vectors[WORDS][1] != state_of(desk)

    @contextmanager
    def search(
        self, desk: Desk, number: int, who: str = ""
    ) -> Iterator[ExampleSearch | ScreeningSearch]:
        """A search, for this thread alone; read anew if others marked in it."""
        screens = searches.listed_search(desk.store, number).kind == searches.SCREEN
        vectors = self.vectors(desk, RUNS if screens else WORDS)
        with self._lock:
            slot = self._slots.setdefault(number, _Slot())
            self._slots.move_to_end(number)
            while len(self._slots) > WARM:
                self._slots.popitem(last=False)
        with slot.lock:
            stored = searches.search_by_number(desk.store, number)
            search, slot.search = slot.search, None
            version = _version(desk, stored)
            if not search or search.vectors is not vectors or slot.version != version:
                kind = ScreeningSearch if screens else ExampleSearch
                search = kind(desk, stored, vectors)
            search.use(stored, who)
            yield search
            slot.search, slot.version = search, _version(desk, search.search)


def _version(project: Project, search: StoredSearch) -> tuple[Any, ...]:
    """What a search in memory depends on: its marks, and its settings."""
    settings = {name: each for name, each in search.settings.items() if name != "shown"}
    return searches.last_mark(project.store, search), settings


def _is_quick(project: Project, documents: int) -> bool:
    """Whether so many documents are made vectors while somebody waits."""
    meaning = project.meaning()
    missing = 0 if meaning is None else documents - len(meaning)
    return documents <= AT_ONCE and missing <= ENCODED_AT_ONCE


def _read(project: Project, reading: str) -> str:
    return ngettext(
        "%(n)s document is read",
        "%(n)s documents are read",
        len(vectors_of(project, reading).ids),
    )


def warm_vectors(desk: Desk) -> None:
    """Have the documents read before somebody waits for it."""
    with suppress(BeingRead):
        desk.search_cache.vectors(desk)


def begin_for(desk: Desk, who: str, start: SearchStart) -> int:
    """Begin a search, all of it or nothing; return its number."""
    vectors = desk.search_cache.vectors(desk, RUNS if start.rule else WORDS)
    for text in start.texts.values():
        _require_text(text)
    if not start.has_examples:
        raise refusal("there is no example: choose a document, or paste a text")
    with desk.writing():
        searches.require_documents(desk.store, [*start.examples, *start.no])
        name = (start.name or "").strip() or start.name_from_examples(desk.store)
        return begin(desk, replace(start, name=name), vectors, who).number


def show(desk: Desk, number: int, k: int = SHOWN) -> SearchView:
    """A search as it is now, with what it finds."""
    with desk.search_cache.search(desk, number) as search:
        _write_shown(desk, search)
        view = search.view(k)
    if view.screening or not desk.search_cache.is_behind(desk):
        return view
    return replace(view, notes=(*view.notes, _(BEHIND)))


def mark(
    desk: Desk,
    who: str,
    number: int,
    acts: Mapping[str, MarkAct],
    version: int | None = None,
) -> None:
    """Mark documents as example, yes, no or skip; durable, then learned.

    The last mark of a document holds.  version : of the view they were answered on;
    what was marked since is refused.
    """
    if not acts:
        raise refusal("no document is marked: mark one with yes or no")
    for act in acts.values():
        if act not in ACTS:
            raise refusal(
                "%(act)r is not a mark: use one of %(acts)s",
                act=act,
                acts=", ".join(ACTS),
            )
    with desk.search_cache.search(desk, number, who) as search:
        with desk.writing():
            if version is not None:
                searches.require_as_shown(desk.store, search.search, acts, version)
            search.note(acts)
        search.take_in(acts)
        _write_shown(desk, search)


def undo(desk: Desk, who: str, number: int, *, redo: bool = False) -> list[Mark]:
    """Take back what this person marked last, or bring it back; return it."""
    with desk.search_cache.search(desk, number, who) as search:
        with desk.writing():
            marks = searches.undo_marks(desk.store, search.search, who, redo=redo)
            if not redo or search.search.kind == searches.LIKE:
                searches.require_example(desk.store, search.search)
        if redo:
            search.learn()
        else:
            search.take_back(marks)
        _write_shown(desk, search, marks)
    return marks


def screen(desk: Desk, who: str, number: int, rule: StoppingRule | None = None) -> int:
    """Begin a screening with what a search knows; return its number."""
    store = desk.store
    search = searches.search_by_number(store, number)
    acts = searches.acts_by_document(store, search)
    names = {each.name for each in searches.summaries(desk.store)}
    name = f"{search.name}, all"
    while name in names:
        name += "'"
    examples, rejected = (
        tuple(id_ for id_, act in acts.items() if act in side)
        for side in (searches.FOR, searches.AGAINST)
    )
    start = SearchStart(
        examples, rejected, search.texts, name=name, rule=rule or StoppingRule()
    )
    return begin_for(desk, who, start)


def set_target(desk: Desk, number: int, target: float) -> None:
    """Aim a screening at another share of the relevant documents."""
    with desk.writing():
        search = searches.search_by_number(desk.store, number)
        if search.kind != searches.SCREEN:
            raise refusal("only a screening has a target: start one first")
        change_target(desk.store, search, target)


def manage(desk: Desk, number: int, act: ManageAct, name: str = "") -> str:
    """Rename, delete or restore a saved search; return the name it has on the list."""
    with desk.writing():
        search = searches.search_by_number(desk.store, number)
        match act:
            case "rename":
                search = searches.rename_search(desk.store, search, name)
            case "delete":
                searches.delete_search(desk.store, search)
            case "restore":
                search = searches.restore_search(desk.store, search)
    return search.name


def answered(desk: Desk, number: int, show: AnswerFilter) -> ExampleRanking:
    """The documents of a search that were answered so, in the order of the answers."""
    search = searches.listed_search(desk.store, number)
    return marked_documents(desk, search, SHOWS[show])


def write_answered(desk: Desk, number: int, show: AnswerFilter, path: Path) -> None:
    """Write what a filter of the answers shows."""
    export_ranking(answered(desk, number, show), path, desk.store)


def add_text(desk: Desk, number: int, text: str) -> None:
    """Put a text of one's own into the basket."""
    _require_text(text)
    vectors = desk.search_cache.vectors(desk)
    with desk.writing():
        search = searches.search_by_number(desk.store, number)
        names = (f"text {at}" for at in range(1, len(search.texts) + 2))
        name = next(name for name in names if name not in search.texts)
        rows_of_texts(desk, vectors, {name: text})
        texts = {**search.texts, name: text}
        searches.change_settings(desk.store, search, texts=texts)


def drop_text(desk: Desk, number: int, name: str) -> None:
    """Take a text of one's own out of the basket."""
    with desk.writing():
        search = searches.search_by_number(desk.store, number)
        if name not in search.texts:
            raise refusal("there is no text %(name)r in the basket", name=name)
        texts = {each: text for each, text in search.texts.items() if each != name}
        search = searches.change_settings(desk.store, search, texts=texts)
        searches.require_example(desk.store, search)


def explain(desk: Desk, number: int, document: str) -> ScoreReasons:
    """Every word's part of the score of a document in a search."""
    with desk.search_cache.search(desk, number) as search:
        return search.explain(document)


def write_hits(desk: Desk, number: int, path: Path, k: int = 1000) -> None:
    """Write what a search found: .csv .jsonl .run .ris .bib, or .tsv for its words."""
    with desk.search_cache.search(desk, number) as search:
        if isinstance(search, ExampleSearch) and path.suffix == ".tsv":
            export_weights(search, path)
        else:
            export_ranking(search.found(k), path, desk.store)


def _write_shown(
    desk: Desk, search: ExampleSearch | ScreeningSearch, undone: Sequence[Mark] = ()
) -> None:
    """Write what a screening shows from now on, where that is something else."""
    if isinstance(search, ScreeningSearch):
        shown = search.next_shown(undone)
        if shown is not None:
            with desk.writing():
                search.write_shown(shown)


def _require_text(text: str) -> None:
    if not text.strip():
        raise refusal("the text is empty: paste one, or pick documents")
    if len(text) > LONGEST:
        raise refusal(
            "the text has %(n)s characters: at most %(longest)s are read",
            n=whole(len(text)),
            longest=whole(LONGEST),
        )

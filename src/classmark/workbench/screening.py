"""Screen a project's documents: begin, read on, say yes or no, see how far it is.

A screening is a search of the kind ``screen``: its rule and the random order of its
draws are in the settings, its answers are marks, on the disk before they are
acknowledged. Whatever stops in between, it goes on from the marks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from secrets import randbits
from typing import TYPE_CHECKING

from classmark.problems import Mistake
from classmark.rankers.reading import Progress, Reading, Rule
from classmark.rankers.screening import Screening
from classmark.sparse import Rows, rows_from
from classmark.workbench.examples import ids_of, marks_of_category, texts_of
from classmark.workbench.likes import Liked, Likes, title_of
from classmark.workbench.searches import (
    Mark,
    Said,
    Search,
    Standing,
    add_marks,
    begin_search,
    change_settings,
    list_searches,
    open_search,
    standing_marks,
    undo_marks,
)
from classmark.workbench.vectors import Collection, collection_of, rows_of_texts
from classmark.workbench.views import Cell, Table

if TYPE_CHECKING:
    from classmark.workbench.project import Project

__all__ = [
    "Begun",
    "Rule",
    "Status",
    "ToRead",
    "answered",
    "list_screenings",
    "mark",
    "read_next",
    "start",
    "status",
    "undo",
]

KIND = "screen"
NAME = "screening-{}"
RELEVANT = ("example", "yes")


@dataclass(frozen=True, slots=True)
class Begun:
    """What a screening begins with; category : its documents, and those rejected."""

    examples: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    category: str | None = None


@dataclass(frozen=True, slots=True)
class ToRead:
    """A document to be read; origin : ``likely``, or drawn at ``random``."""

    rank: int
    id: str
    title: str
    origin: str
    score: float | None


@dataclass(frozen=True, slots=True)
class Status:
    """Where a screening stands; later : documents that came after it had begun."""

    search: str
    progress: Progress
    reading: Reading
    later: int = 0


def start(
    project: Project, begun: Begun, rule: Rule, name: str | None = None
) -> Status:
    """Begin a screening of all documents that the project has now."""
    store = project.store
    collection = collection_of(project)
    texts = texts_of(project, begun.files)
    rows_of_texts(project, collection, texts)
    settings = {
        "rule": asdict(rule),
        "order": randbits(53),
        "documents": len(collection.ids),
        "texts": texts,
        "shown": [],
    }
    with store.transaction():
        if name is None:
            name = NAME.format(len(list_searches(store, KIND)) + 1)
        search = begin_search(store, name, settings, kind=KIND)
        marks = [
            Mark(id_, "example") for id_ in ids_of(begun.examples, store, "--examples")
        ]
        if begun.category is not None:
            known = {mark.document for mark in marks}
            found = marks_of_category(store, begun.category)
            marks += [mark for mark in found if mark.document not in known]
        add_marks(store, search, marks)
    return status(project, name)


def read_next(
    project: Project, name: str | None = None, count: int | None = None
) -> list[ToRead]:
    """The documents to read next, by all that was answered; the same until then."""
    search = _open(project, name)
    collection = collection_of(project)
    screening, ids = _screening(project, search, collection)
    batch = screening.next(count)
    shown = [
        ToRead(
            rank,
            ids[document],
            title_of(project.store.document(ids[document])),
            "random" if by_chance else "likely",
            None if score != score else score,  # noqa: PLR0124, NaN
        )
        for rank, (document, by_chance, score) in enumerate(
            zip(*(part.tolist() for part in batch), strict=True), start=1
        )
    ]
    kept = [[each.id, each.origin, each.score] for each in shown]
    change_settings(project.store, search, {**search.settings, "shown": kept})
    return shown


def mark(
    project: Project, name: str | None, said: Mapping[Said, Sequence[str]]
) -> Status:
    """Log answers, in the order in which their documents were shown.

    said : act → ids, with commas between them. A document may be marked anew: the last
    word holds.
    """
    search, store = _open(project, name), project.store
    acts: dict[str, Said] = {}
    for act, texts in said.items():
        for id_ in ids_of(texts, store, f"--{act}"):
            if acts.setdefault(id_, act) != act:
                raise Mistake(f"document {id_!r}: {acts[id_]} and {act}: say one")
    if not acts:
        raise Mistake("nothing is said: give ids with --yes, --no or --skip")
    seen = {
        id_: Mark(id_, "skip", origin, rank, score)
        for rank, (id_, origin, score) in enumerate(search.settings["shown"], start=1)
    }
    seen |= {s.mark.document: s.mark for s in standing_marks(store, search)}
    unseen = set(acts) - set(seen)
    if unseen:
        _require_within(project, search, unseen)
    marks = [
        seen.get(id_, Mark(id_, act))._replace(act=act) for id_, act in acts.items()
    ]
    add_marks(store, search, sorted(marks, key=lambda mark: mark.rank or 0))
    return status(project, search.name)


def undo(project: Project, name: str | None = None) -> tuple[list[Mark], Status]:
    """Take back what this user marked last, all of one command."""
    search = _open(project, name)
    back = undo_marks(project.store, search)
    return back, status(project, search.name)


def status(project: Project, name: str | None = None) -> Status:
    """Where a screening stands."""
    search = _open(project, name)
    said = [found.mark for found in standing_marks(project.store, search)]
    reading = Reading(int(search.settings["documents"]), _rule(search))
    reading.answer(range(len(said)), *_flags(said))
    now = len(project.store.ids())
    later = now - int(search.settings["documents"])
    return Status(search.name, reading.progress(), reading, later)


def list_screenings(project: Project) -> Table:
    """Every screening, the one used last first."""
    rows: list[dict[str, Cell]] = []
    for search in list_searches(project.store, KIND):
        progress = status(project, search.name).progress
        rows.append(
            {
                "screening": search.name,
                "documents": progress.documents,
                "read": progress.read,
                "found": progress.found,
                "recall at least": progress.recall_bound,
                "phase": progress.phase,
                "begun": search.created,
                "by": search.who,
            }
        )
    note = "" if rows else "none yet: classmark screen start --examples a1 begins one"
    return Table("Screenings", rows, note)


def answered(
    project: Project, name: str | None = None, *, everything: bool = False
) -> Likes:
    """The relevant documents in the order they were found; or all that were read."""
    search = _open(project, name)
    standing = standing_marks(project.store, search)
    wanted = [s for s in standing if everything or s.mark.act in RELEVANT]
    acts = [s.mark.act for s in standing]
    found = [_liked(project, rank, one) for rank, one in enumerate(wanted, start=1)]
    return Likes(
        search.name, KIND, None, acts.count("example"), acts.count("yes"),
        acts.count("no"), 0, {}, int(search.settings["documents"]), found,
    )  # fmt: skip


def _liked(project: Project, rank: int, one: Standing) -> Liked:
    """The place in the order is the rank, and its inverse the score."""
    title = title_of(project.store.document(one.mark.document))
    return Liked(rank, one.mark.document, title, 1 / rank, mark=one.mark.act)


def _open(project: Project, name: str | None) -> Search:
    return open_search(project.store, name, KIND)


def _rule(search: Search) -> Rule:
    return Rule(**search.settings["rule"])


def _flags(marks: Iterable[Mark]) -> tuple[list[bool | None], list[bool]]:
    said = list(marks)
    answers = [None if m.act == "skip" else m.act in RELEVANT for m in said]
    return answers, [mark.origin == "random" for mark in said]


def _screening(
    project: Project, search: Search, collection: Collection
) -> tuple[Screening, list[str]]:
    """The screening as its marks have it, and the ids of its documents."""
    many = int(search.settings["documents"])
    ids = collection.ids[:many]
    texts = list(search.settings["texts"].values())
    screening = Screening(
        _first(collection.rows, many),
        examples=rows_from(collection.vectorizer.transform(texts)) if texts else None,
        rule=_rule(search),
        random_state=int(search.settings["order"]),
    )
    said = [found.mark for found in standing_marks(project.store, search)]
    number = {id_: at for at, id_ in enumerate(ids)}
    screening.answer([number[mark.document] for mark in said], *_flags(said))
    return screening, ids


def _first(rows: Rows, count: int) -> Rows:
    end = int(rows.starts[count])
    return Rows(
        rows.starts[: count + 1], rows.columns[:end], rows.values[:end], rows.width
    )


def _require_within(project: Project, search: Search, ids: set[str]) -> None:
    """Refuse documents that came after the screening had begun."""
    collection = collection_of(project)
    late = ids & set(collection.ids[int(search.settings["documents"]) :])
    if late:
        raise Mistake(
            f"document {min(late)!r} came after screening {search.name!r} had begun, "
            "which does not cover it: begin another with classmark screen start"
        )

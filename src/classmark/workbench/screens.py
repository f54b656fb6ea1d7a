"""A screening as it is kept: how it begins, what is shown, what was answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from secrets import randbits
from typing import TYPE_CHECKING

from classmark.examples.screening import Rule, Screening
from classmark.problems import Mistake
from classmark.sparse import Rows, rows_from
from classmark.workbench.examples import ids_of, marks_of_category, texts_of
from classmark.workbench.likes import title_of
from classmark.workbench.searches import (
    Mark,
    Said,
    Search,
    add_marks,
    begin_search,
    change_settings,
    list_searches,
    standing_marks,
)
from classmark.workbench.vectors import Collection, collection_of, rows_of_texts

if TYPE_CHECKING:
    from classmark.workbench.project import Project

KIND = "screen"
NAME = "screening-{}"
RELEVANT = ("example", "yes")


@dataclass(frozen=True, slots=True)
class Begun:
    """What a screening begins with; category : its documents, and those rejected.

    texts : by name, of one's own;  no : ids of what is known not to be relevant;
    who : begins it, the user of this process if nobody is named.
    """

    examples: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    category: str | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    no: tuple[str, ...] = ()
    who: str = ""


@dataclass(frozen=True, slots=True)
class ToRead:
    """A document to be read; origin : ``likely``, or drawn at ``random``."""

    rank: int
    id: str
    title: str
    origin: str
    score: float | None


def begin(
    project: Project, begun: Begun, rule: Rule, name: str | None, collection: Collection
) -> Search:
    """Begin a screening of the documents of a collection."""
    store = project.store
    texts = {**texts_of(project, begun.files), **begun.texts}
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
        search = begin_search(store, name, settings, kind=KIND, who=begun.who)
        marks = [
            Mark(id_, "example") for id_ in ids_of(begun.examples, store, "--examples")
        ]
        if begun.category is not None:
            known = {mark.document for mark in marks}
            found = marks_of_category(store, begun.category)
            marks += [mark for mark in found if mark.document not in known]
        marks += [Mark(id_, "no") for id_ in begun.no]
        add_marks(store, search, marks, begun.who)
    return search


def next_batch(
    project: Project, screening: Screening, ids: Sequence[str], count: int | None
) -> list[ToRead]:
    """The documents to read next, as they are shown."""
    batch = screening.next(count)
    return [
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


def keep_shown(project: Project, search: Search, shown: Sequence[ToRead]) -> Search:
    """Remember what is shown, so that an answer knows why it was."""
    kept = [[each.id, each.origin, each.score] for each in shown]
    settings = {**search.settings, "shown": kept}
    return change_settings(project.store, search, settings)


def note(
    project: Project, search: Search, acts: Mapping[str, Said], who: str = ""
) -> list[Mark]:
    """Log answers by document; return them as they were logged."""
    store = project.store
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
    marks.sort(key=lambda mark: mark.rank or 0)
    add_marks(store, search, marks, who)
    return marks


def rule_of(search: Search) -> Rule:
    """What a screening wants."""
    return Rule(**search.settings["rule"])


def flags_of(marks: Iterable[Mark]) -> tuple[list[bool | None], list[bool]]:
    """Of each mark, whether it says relevant (None: skipped), and was drawn."""
    said = list(marks)
    answers = [None if m.act == "skip" else m.act in RELEVANT for m in said]
    return answers, [mark.origin == "random" for mark in said]


def opened(
    project: Project, search: Search, collection: Collection
) -> tuple[Screening, list[str]]:
    """The screening as its marks have it, and the ids of its documents."""
    many = int(search.settings["documents"])
    ids = collection.ids[:many]
    texts = list(search.settings["texts"].values())
    screening = Screening(
        _first(collection.rows, many),
        examples=rows_from(collection.vectorizer.transform(texts)) if texts else None,
        rule=rule_of(search),
        random_state=int(search.settings["order"]),
    )
    said = [found.mark for found in standing_marks(project.store, search)]
    number = {id_: at for at, id_ in enumerate(ids)}
    screening.answer([number[mark.document] for mark in said], *flags_of(said))
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

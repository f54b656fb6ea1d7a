"""Which documents a search may answer, how many do, and which categories they have."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from classmark.arrays import Bools, Ints
from classmark.index.asking import QueryContext, documents_of
from classmark.index.index import context_of
from classmark.index.query_language import Belief, positive_texts
from classmark.problems import refusal

if TYPE_CHECKING:
    from classmark.index.index import Index
    from classmark.index.search import Question
    from classmark.workbench.project import Project
    from classmark.workbench.search.search import ProjectIndex


Shows = Literal["all", "decided", "undecided", "aside"]
SHOWS: tuple[Shows, ...] = ("all", "decided", "undecided", "aside")
FACETS = 12
DATES = """
SELECT id, coalesce(
  json_extract(meta, '$.date'), json_extract(fields, '$.date'),
  json_extract(meta, '$.year'), json_extract(fields, '$.year'), added)
FROM documents
"""
_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")


@dataclass(frozen=True, slots=True)
class SearchFilters:
    """Which documents may be answers.

    category : in it or below;  show : all, decided, undecided, or set aside;  since,
    until : the first and the last date, such as 2024 or 2024-05-01, of the field
    ``date`` or ``year``, else of when it came;  field : where the words must stand.
    """

    category: str = ""
    show: Shows = "all"
    since: str = ""
    until: str = ""
    field: str = ""

    def __post_init__(self) -> None:
        if self.show not in SHOWS:
            raise refusal(
                "show is %(show)r: use %(shows)s",
                show=self.show,
                shows=", ".join(SHOWS),
            )
        for name in ("since", "until"):
            value = getattr(self, name)
            if value and not _DATE.fullmatch(value):
                raise refusal(
                    "%(name)s is %(value)r: write a date such as 2024-05-01",
                    name=name,
                    value=value,
                )

    @property
    def chosen(self) -> dict[str, str]:
        """Those that leave something out."""
        plain = asdict(SearchFilters())
        return {k: v for k, v in asdict(self).items() if v != plain[k]}


@dataclass(frozen=True, slots=True)
class Facet:
    """A category of the answers, and how many of them have it."""

    category: str
    name: str
    count: int


class IndexedDocuments:
    """The documents of one generation of an index: ids by number, numbers, dates."""

    def __init__(self, project: Project, index: Index) -> None:
        name = index.names()
        n = next(iter(context_of(index, "").fields.values())).n_items
        self.ids = [name(number) for number in range(n)]
        self.numbers = {id_: number for number, id_ in enumerate(self.ids)}
        self.dates: Any = np.full(n, "", "U10")
        for id_, date in project.store.run(DATES):
            if (number := self.numbers.get(id_)) is not None:
                self.dates[number] = str(date)[:10]

    def mask(self, ids: Iterable[str]) -> Bools:
        """Whether each document is among these."""
        found = np.fromiter(map(self.numbers.get, ids, repeat(-1)), np.int64)
        chosen = np.zeros(len(self.ids), np.bool_)
        chosen[found[found >= 0]] = True
        return chosen


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What filters leave of an index; members : shape (items,), None: all."""

    filters: SearchFilters
    members: Bools | None

    def apply(self, question: Question) -> Question:
        """The same question, answered by what the filters leave."""
        field, members = self.filters.field, self.members
        if field:
            weights = {
                name: each if name == field else {}
                for name, each in question.term_weights.items()
            }
            question = replace(question, term_weights=weights)
        if members is not None and question.members is not None:
            members = members & question.members
        return question if members is None else replace(question, members=members)

    def leaves(self, number: int) -> bool:
        """Whether a document may be an answer."""
        return self.members is None or bool(self.members[number])


def documents_by_number(project: Project, opened: ProjectIndex) -> IndexedDocuments:
    """The documents of an open index."""
    made: IndexedDocuments = opened.cached(
        "documents", lambda: IndexedDocuments(project, opened.index)
    )
    return made


def narrowing(
    project: Project, opened: ProjectIndex, query: str, filters: SearchFilters
) -> Narrowing:
    """Look up which documents the filters leave."""
    if not filters.chosen:
        return Narrowing(filters, None)
    documents = documents_by_number(project, opened)
    masks = list(_stand(project, documents, filters))
    if filters.since:
        masks.append(documents.dates >= filters.since)
    if filters.until:
        dates = documents.dates.astype(f"U{len(filters.until)}")
        masks.append((dates != "") & (dates <= filters.until))
    if filters.field:
        masks.append(_in_field(opened.index, query, filters.field))
    members = np.logical_and.reduce(masks)
    alive = getattr(opened.index.searcher, "alive", None)
    if alive is not None and len(alive):
        members &= alive
    return Narrowing(filters, np.ascontiguousarray(members))


def _stand(
    project: Project, documents: IndexedDocuments, filters: SearchFilters
) -> Iterator[Bools]:
    """Which documents a category, and whether they are decided, leave."""
    state = project.state
    if filters.category:
        of_category, below = state.documents, _below(project, filters.category)
        yield documents.mask(id_ for each in below for id_ in of_category.get(each, ()))
    match filters.show:
        case "decided":
            yield documents.mask(state.labels)
        case "undecided":
            yield ~documents.mask([*state.labels, *state.aside])
        case "aside":
            yield documents.mask(state.aside - state.labels.keys())


def _below(project: Project, category: str) -> set[str]:
    if category not in project.categories:
        raise refusal(
            "there is no category %(category)r: choose one from the taxonomy",
            category=category,
        )
    return {category, *project.tree.descendants(category)}


def _in_field(index: Index, query: str, field: str) -> Bools:
    context = context_of(index, query)
    if field not in context.fields:
        raise refusal(
            "there is no field %(field)r: choose one of %(names)s",
            field=field,
            names=", ".join(context.fields),
        )
    only = QueryContext(
        query, {field: context.fields[field]}, context.analyzer, context.has_positions
    )
    found = np.zeros(only.fields[field].n_items, np.bool_)
    found[documents_of(only)] = True
    return found


def answers_to(index: Index, query: str, narrow: Narrowing) -> Ints:
    """The numbers of all documents that a query describes and the filters leave.

    Of an #operator, all documents that have one of its words.
    """
    context = context_of(index, query)
    if isinstance(context.tree, Belief):
        words = " ".join(positive_texts(context.tree))
        context = context_of(index, words)
    numbers = documents_of(context).astype(np.int64)
    return numbers if narrow.members is None else numbers[narrow.members[numbers]]


def facets_of(
    project: Project, opened: ProjectIndex, numbers: Ints
) -> tuple[Facet, ...]:
    """The most frequent categories of some documents of an index."""
    ids, labels = documents_by_number(project, opened).ids, project.state.labels
    names = map(ids.__getitem__, numbers.tolist())
    none: tuple[str, ...] = ()
    counts = Counter(chain.from_iterable(map(labels.get, names, repeat(none))))
    categories = project.categories
    return tuple(
        Facet(id_, categories[id_].name, count)
        for id_, count in counts.most_common(FACETS)
        if id_ in categories
    )

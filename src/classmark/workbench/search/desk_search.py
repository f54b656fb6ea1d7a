"""Search for people who are connected: pages, counts, facets, and what is logged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from classmark.language import whole
from classmark.problems import refusal
from classmark.workbench.search import index as indexing
from classmark.workbench.search.filters import (
    Narrowing,
    SearchFilters,
    answers_to,
    documents_by_number,
    facets_of,
    narrowing,
)
from classmark.workbench.search.interleaving import search_with
from classmark.workbench.search.search import (
    ProjectIndex,
    QueryOptions,
    SearchResults,
    log_results,
    search_in,
)
from classmark.workbench.search.spelling import did_you_mean

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.team.desk import Desk

MOST_HITS = 100  # on a page, and in an answer of the API
DEEPEST = 1000  # documents that are paged through


def counted(
    project: Project,
    opened: ProjectIndex,
    query: str,
    results: SearchResults,
    narrow: Narrowing,
) -> SearchResults:
    """Results with labels, how many answer, their categories, and what was meant."""
    labels, names = project.state.labels, project.categories
    hits = tuple(
        replace(
            hit,
            labels=tuple(
                (id_, names[id_].name) for id_ in labels.get(hit.id, ()) if id_ in names
            ),
        )
        for hit in results.hits
    )
    numbers = answers_to(opened.index, query, narrow)
    return replace(
        results,
        hits=hits,
        total=len(numbers),
        facets=facets_of(project, opened, numbers),
        meant=did_you_mean(project, opened, query),
    )


def all_answers(
    desk: Desk, query: str, filters: SearchFilters, most: int | None = None
) -> list[str]:
    """The ids of all documents that a query describes and the filters leave.

    most : more of them are refused.
    """
    opened = desk.search_cache.index(desk)
    numbers = answers_to(opened.index, query, narrowing(desk, opened, query, filters))
    if most is not None and len(numbers) > most:
        raise refusal(
            "%(n)s documents were found, but at most %(most)s can be used "
            "at once: add words or filters",
            n=whole(len(numbers)),
            most=whole(most),
        )
    ids, here = map(opened.index.id, numbers.tolist()), desk.state.ids
    return [id_ for id_ in ids if id_ in here]


def search_desk(
    desk: Desk, query: str, options: QueryOptions, who: str = ""
) -> SearchResults:
    """Search for somebody who is connected; logged where the settings say so.

    First pages without filters are logged: a click elsewhere says little of the order.
    """
    if options.k > MOST_HITS:
        raise refusal(
            "the number of results is %(k)s: enter at most %(most_hits)s",
            k=options.k,
            most_hits=MOST_HITS,
        )
    if options.page < 1 or options.depth > DEEPEST:
        raise refusal(
            "page %(page)s is beyond the first %(deepest)s documents: add "
            "words or filters",
            page=options.page,
            deepest=whole(DEEPEST),
        )
    opened = desk.search_cache.index(desk)
    narrow = narrowing(desk, opened, query, options.filters)
    wish = replace(options, explain=None)
    results = search_with(desk, query, wish, opened, narrow, who)
    results = counted(desk, opened, query, results, narrow)
    plain = options.page == 1 and not options.filters.chosen
    if results.hits and plain and desk.settings.search.is_logged():
        with desk.writing():
            results = log_results(desk, query, results, options, who)
    return replace(
        results, notes=tuple(n for n in results.notes if n != indexing.stale_note())
    )


def warm_index(desk: Desk) -> None:
    """Open the index and load what searches it, before somebody waits for it."""
    if desk.index.current() is None:
        return
    opened = desk.search_cache.index(desk)
    fields = opened.index.fields
    first = opened.index.field(fields[0]) if fields else None
    if first is not None and first.n_terms:
        word = first.term(int(first.df.argmax()))
        search_in(desk, word, QueryOptions(k=1), opened)
        documents_by_number(desk, opened)


@dataclass(frozen=True, slots=True)
class SearchState:
    """What is indexed, which rankers there are, and whether searches are logged.

    log : no, anonymous or named;  ranker : the learned ranker in service, if any;
    meaning : whether vectors are stored;  hybrid : how they count: no, auto, weight or
    ranks.
    """

    ready: bool
    stale: bool
    documents: int
    fields: tuple[str, ...]
    positions: bool
    ranker: int | None
    rankers: tuple[int, ...]
    log: str
    meaning: bool
    hybrid: str


def search_state(desk: Desk) -> SearchState:
    """What can be searched now, and by which rankers."""
    current = desk.rankers.current()
    number = None if current is None else int(current.name)
    search, meaning = desk.settings.search, False
    if desk.settings.meaning.remembered:
        from classmark.workbench.search.hybrid import has_vectors

        meaning = has_vectors(desk)
    last = number, tuple(desk.rankers.numbers()), search.log, meaning, search.hybrid
    if desk.index.current() is None:
        return SearchState(False, False, 0, (), False, *last)
    index = desk.search_cache.index(desk).index
    return SearchState(
        True, indexing.is_stale(desk), len(index), tuple(index.fields),
        index.has_positions, *last,
    )  # fmt: skip

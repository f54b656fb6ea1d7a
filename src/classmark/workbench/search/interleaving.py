"""Two orders of answers tried against each other while people search.

Where the setting ``search.experiment`` asks for it, a logged search mixes the order in
service with a rival's by team draft, or interchanges neighbours by coins. What is then
opened says which order is preferred, and how likely each position is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from classmark.language import _
from classmark.ltr.training import SURE
from classmark.measures.off_policy import (
    Interleaved,
    interleaving_test,
    sequential_p_value,
    team_draft,
)
from classmark.problems import Mistake, refusal, worded
from classmark.workbench.results import Cell, Table
from classmark.workbench.search.clicks import (
    Impression,
    estimated_propensities,
    read_impressions,
)
from classmark.workbench.search.rankers import open_ranker, ranker_number
from classmark.workbench.search.search import (
    QueryOptions,
    SearchResults,
    name_of_order,
    search_in,
)
from classmark.workbench.settings import SearchSettings
from classmark.workbench.store.log import now

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.search.filters import Narrowing
    from classmark.workbench.search.hits import DocumentHit
    from classmark.workbench.search.search import ProjectIndex
    from classmark.workbench.store.store import Store
    from classmark.workbench.team.desk import Desk


NO, SWAPS, MODEL, WORDS = "no", "swaps", "model", "words"
WITH = " | "  # between the names of two orders that are mixed


def require_experiment(project: Project, name: str) -> None:
    """Refuse an experiment that means nothing, or a ranker that is not there."""
    if name in {NO, SWAPS, MODEL, WORDS}:
        return
    if problem := SearchSettings(experiment=name).problem:
        raise Mistake(problem)
    open_ranker(project, ranker_number(name))


def begin_experiment(desk: Desk, name: str, who: str) -> str:
    """Set what searches try out; where they are not logged yet, log them unnamed.

    Return what holds then, in words.
    """
    require_experiment(desk, name)
    current = desk.rankers.current()
    if name.isdecimal() and current is not None and int(current.name) == int(name):
        raise refusal(
            "ranker %(name)s is already in service: choose another order",
            name=int(name),
        )
    values, said = {"search.experiment": name}, _("searches use the usual order")
    if name != NO:
        said = _("the experiment has started: searches and clicks are logged")
        if not desk.settings.search.is_logged():
            values["search.log"] = "anonymous"
    desk.change_settings(values, who)
    return said


def search_with(
    project: Project,
    query: str,
    options: QueryOptions,
    opened: ProjectIndex,
    narrow: Narrowing,
    who: str,
) -> SearchResults:
    """Search as ``search_in`` does; in an experiment, with what it does to the order.

    Pages of one day and one person fit together. Whoever chooses a model or filters
    gets what they ask for.
    """
    name, logged = (s := project.settings.search).experiment, s.is_logged()
    plain = replace(options, k=10, page=1, explain=False) == QueryOptions()
    if name == NO or not (logged and plain) or (name == SWAPS and options.page > 1):
        return search_in(project, query, options, opened, narrow=narrow)
    seed = _seed(query, who)
    if name == SWAPS:
        results = search_in(project, query, options, opened, narrow=narrow)
        return _interchanged(results, seed)
    whole = replace(options, k=options.depth, page=1)
    results = search_in(project, query, whole, opened, narrow=narrow)
    try:
        require_experiment(project, name)
        other = search_in(project, query, _rival(whole, name), opened, narrow=narrow)
    except Mistake as problem:
        notes = (
            *results.notes,
            _("no other order is mixed in: %(problem)s", problem=problem),
        )
        return _page(replace(results, notes=notes), options)
    return _page(_mixed(results, other, seed), options)


def _rival(options: QueryOptions, name: str) -> QueryOptions:
    """How the rival searches."""
    if name == WORDS:
        return replace(options, ranker="none", hybrid="no")
    return replace(options, ranker="none" if name == MODEL else name)


def _seed(query: str, who: str) -> int:
    """One for a query, a person and a day."""
    text = f"{query}\0{who}\0{now()[:10]}"
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())


def _page(results: SearchResults, options: QueryOptions) -> SearchResults:
    first = options.depth - options.k
    return replace(results, hits=results.hits[first:], marks=results.marks[first:])


def _mixed(a: SearchResults, b: SearchResults, seed: int) -> SearchResults:
    """One list of two, each hit marked with the order that picked it."""
    names = name_of_order(a), name_of_order(b)
    if not a.hits or names[0] == names[1]:
        return a
    hits = {hit.id: hit for hit in (*b.hits, *a.hits)}
    first, second = ([hit.id for hit in each.hits] for each in (a, b))
    both = team_draft(first, second, len(a.hits), seed)
    note = _(
        "mixed with those of %(name)s: what is opened says which order is better",
        name=names[1],
    )
    return replace(
        a,
        hits=_ranked([hits[id_] for id_ in both.shown]),
        notes=(*a.notes, note),
        marks=both.teams,
        order=WITH.join(names),
    )


def _ranked(hits: Sequence[DocumentHit]) -> tuple[DocumentHit, ...]:
    return tuple(replace(hit, rank=at) for at, hit in enumerate(hits, 1))


def _interchanged(results: SearchResults, seed: int) -> SearchResults:
    """Neighbours interchanged by coins; each marked with its place before.

    Pairs begin at the first or the second, by a coin, so that all are tied to the
    first; 0 marks who has no partner.
    """
    rng, hits = np.random.default_rng(seed), list(results.hits)
    marks = [0] * len(hits)
    for at in range(int(rng.integers(2)), len(hits) - 1, 2):
        places = [at + 1, at]
        if not rng.integers(2):
            places.reverse()
        hits[at : at + 2] = [results.hits[place] for place in places]
        marks[at : at + 2] = [place + 1 for place in places]
    return replace(results, hits=_ranked(hits), marks=tuple(marks))


@dataclass(frozen=True, slots=True)
class OrderComparison:
    """Which of two orders people prefer, by what they opened from mixed lists.

    shown, opened : lists, and those from which something was opened;  wins, losses,
    ties : for the first;  p_value : the chance of such a difference if people preferred
    neither, however often one looks.
    """

    first: str
    second: str
    shown: int
    opened: int
    wins: int
    losses: int
    ties: int
    p_value: float

    @property
    def verdict(self) -> str:
        """In words."""
        if self.p_value >= SURE:
            return _("not certain yet")
        better = self.first if self.wins > self.losses else self.second
        return _("%(name)s is preferred", name=better)


@dataclass(frozen=True, slots=True)
class ClickReport:
    """What clicks say: orders compared, and how likely each position is looked at.

    looks : of positions 1, 2, … beside the first; empty where that is not known, and
    ``unknown`` says why.
    """

    comparisons: tuple[OrderComparison, ...]
    looks: tuple[float, ...]
    unknown: str = ""


def click_report(store: Store) -> ClickReport:
    """What clicks say of orders and positions so far."""
    lists: dict[str, list[Impression]] = {}
    for seen in read_impressions(store):
        if WITH in seen.ranker and all(mark in ("a", "b") for mark in seen.marks):
            lists.setdefault(seen.ranker, []).append(seen)
    looks, unknown = np.empty(0), ""
    try:
        looks = estimated_propensities(store)
    except Mistake as problem:
        unknown = str(problem)
    comparisons = tuple(_compared(name, seen) for name, seen in lists.items())
    return ClickReport(comparisons, tuple(map(float, looks)), unknown)


def _compared(names: str, lists: Sequence[Impression]) -> OrderComparison:
    first, _with, second = names.partition(WITH)
    opened = [seen for seen in lists if seen.clicked]
    credit = [
        Interleaved(tuple(seen.ids), tuple(map(str, seen.marks))).credit(seen.clicked)
        for seen in opened
    ]
    if not credit:
        return OrderComparison(first, second, len(lists), 0, 0, 0, 0, 1.0)
    test, p_value = interleaving_test(credit), sequential_p_value(credit)
    counts = test.wins, test.losses, test.ties
    return OrderComparison(first, second, len(lists), len(opened), *counts, p_value)


def _why_unknown(store: Store, reason: str) -> str:
    """Why positions are not known yet while neighbours are interchanged."""
    if any(isinstance(mark, int) for s in read_impressions(store) for mark in s.marks):
        return reason
    return (
        "no list of interchanged neighbours was shown yet: searches on the server take "
        "part, those of the command line do not"
    )


def show_clicks(project: Project) -> Table:
    """Which orders people prefer, and how likely each position is looked at."""
    report = click_report(project.store)
    rows: list[dict[str, Cell]] = [
        {
            "order": each.first, "against": each.second, "lists": each.shown,
            "opened from": each.opened, "won": each.wins, "lost": each.losses,
            "equal": each.ties, "p": each.p_value, "verdict": each.verdict,
        }
        for each in report.comparisons
    ]  # fmt: skip
    looks = ", ".join(f"{each:.2f}" for each in report.looks)
    note = f"looked at, by position: {looks}" if looks else report.unknown
    if not rows and project.settings.search.experiment == SWAPS:
        note = note if looks else _why_unknown(project.store, note)
        note = f"the experiment interchanges neighbours, and mixes no orders; {note}"
    elif not rows:
        how = worded("classmark.toml, [search] experiment, mixes two orders")
        note = f"no two orders were mixed yet: {how}; {note}"
    return Table("What clicks say", rows, note)

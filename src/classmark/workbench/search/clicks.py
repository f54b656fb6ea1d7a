"""The click log: what a search showed, and what was opened from it.

A line is on the disk before it is acknowledged, and is never changed. A search is
logged only if the settings, or whoever searches, ask for it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from classmark.arrays import Floats
from classmark.formats.jsonl import json_lines
from classmark.formats.tables import dictionaries
from classmark.formats.text_files import FilePlace, plain_name
from classmark.language import _, whole
from classmark.preferences.labels import click_preferences
from classmark.problems import Mistake, refusal, worded
from classmark.workbench.results import Cell, Table
from classmark.workbench.store.log import as_json, now, whoami

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from classmark.ltr.training import DocumentPreference
    from classmark.workbench.project import Project
    from classmark.workbench.store.store import Store


IMPRESSIONS = """
SELECT number, at, who, query, ranker, generation, shown
FROM impressions ORDER BY number
"""


INSERT = (
    "INSERT INTO impressions (at, who, query, ranker, generation, shown) "
    "VALUES (?, ?, ?, ?, ?, ?) RETURNING number"
)
CLICKED = "INSERT INTO clicks (impression, document, position, at) VALUES (?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Impression:
    """One list that was shown: ids and scores, best first, and the ids clicked.

    who : nobody ("") where the log is anonymous;  ranker, generation : which ranking
    of which index it was;  marks : of each document, in an experiment, the order that
    picked it ("a" or "b"), or its place before neighbours were interchanged, 0 where
    they were not to be.
    """

    number: int
    at: str
    who: str
    query: str
    ranker: str
    generation: int
    shown: tuple[tuple[str, float], ...]
    clicked: frozenset[str] = frozenset()
    marks: tuple[str | int, ...] = ()

    @property
    def ids(self) -> list[str]:
        """The ids that were shown, best first."""
        return [id_ for id_, _ in self.shown]


class Click(NamedTuple):
    """A document opened from a list; position : where it stood, from 1."""

    impression: int
    document: str
    position: int


def log_impression(
    project: Project,
    query: str,
    shown: Sequence[tuple[str, float]],
    *,
    marks: Sequence[str | int] = (),
    ranker: str = "bm25",
    who: str = "",
) -> int:
    """Log what a search showed; return the number to log clicks under.

    shown : ids and scores, best first;  marks : of each, in an experiment.  The index
    in service says the generation.
    """
    current = project.index.current()
    generation = 0 if current is None else int(current.name)
    ids = [id_ for id_, _ in shown]
    if len(set(ids)) < len(ids):
        raise refusal("shown has a document twice: give each once, best first")
    who = "" if project.settings.search.log == "anonymous" else who or whoami()
    ((number,),) = project.store.run(
        INSERT,
        (
            now(), who, query, ranker, generation,
            as_json([[*each] for each in _marked(shown, marks)]),
        ),
    )  # fmt: skip
    return int(number)


def _marked(
    shown: Sequence[tuple[str, float]], marks: Sequence[str | int]
) -> list[tuple[str | int | float, ...]]:
    pairs = [(id_, float(score)) for id_, score in shown]
    if not marks:
        return list(pairs)
    return [(*pair, mark) for pair, mark in zip(pairs, marks, strict=True)]


def log_click(store: Store, impression: int, document: str | int) -> Click:
    """Log that a document was opened from a list.

    document : its id, or its position, from 1; where digits are both, the id is meant.
    """
    row = store.run(
        "SELECT shown FROM impressions WHERE number = ?",
        (min(impression, 2**63 - 1),),  # stores take no larger integers
    ).fetchone()
    if row is None:
        (last,) = store.run("SELECT max(number) FROM impressions").fetchone()
        makes = worded("classmark search --log makes one")
        remedy = f"the last is {last}" if last else makes
        raise refusal(
            "there is no impression %(impression)s: %(remedy)s",
            impression=impression,
            remedy=remedy,
        )
    ids, text = [id_ for id_, *_ in json.loads(row[0])], str(document)
    if document in ids:
        click = Click(impression, text, ids.index(text) + 1)
    elif text.isdecimal() and 1 <= int(text) <= len(ids):
        click = Click(impression, ids[int(text) - 1], int(text))
    else:
        raise refusal(
            "impression %(impression)s did not show %(text)r: give an id of its "
            "%(n)s documents, or a position from 1",
            impression=impression,
            text=text,
            n=whole(len(ids)),
        )
    store.run(CLICKED, (*click, now()))
    return click


IMPORTED = "imported"  # the ranker of lists that another search has shown
YES = {"1", "true", "yes", "y", "x"}


def import_clicks(project: Project, path: Path) -> Table:
    """Import lists that another search has shown, and what was opened from them.

    JSONL: ``query``, ``shown`` (ids, best first), ``clicked`` (ids) and, where it is
    known, ``at``. CSV and TSV: ``list``, ``query``, ``document``, ``position`` and
    ``clicked``, rows of a list one after another. A list that is there already, with
    its time, is left out.
    """
    is_table = plain_name(path).suffix in {".csv", ".tsv", ".tab"}
    lists = list(_lists_in_table(path) if is_table else _lists_in_lines(path))
    there = {
        (seen.at, seen.query, *seen.ids) for seen in read_impressions(project.store)
    }
    new = [each for each in lists if (each.at, each.query, *each.ids) not in there]
    with project.store.transaction():
        for each in new:
            ((number,),) = project.store.run(
                INSERT,
                (each.at or now(), "", each.query, IMPORTED, 0, as_json(each.shown)),
            )
            for document in each.ids:
                if document in each.clicked:
                    place = each.ids.index(document) + 1
                    values = (number, document, place, each.at or now())
                    project.store.run(CLICKED, values)
    shown = {id_ for each in new for id_ in each.ids}
    here = project.store.contents([*shown])
    row: dict[str, Cell] = {
        "lists": len(new),
        "there already": len(lists) - len(new),
        "queries": len({each.query for each in new}),
        "clicks": sum(len(each.clicked) for each in new),
        "documents shown": len(shown),
        "not in the project": len(shown) - len(here),
    }
    return Table(f"Click log of {path.name}", [row])


def _lists_in_lines(path: Path) -> Iterator[Impression]:
    """The lists of a JSONL file."""
    file = json_lines(path)
    for _line, row in file:
        query, shown = row.get("query", ""), row.get("shown", [])
        clicked, at = row.get("clicked", []), row.get("at", "")
        texts = [query, at, *(shown or ()), *(clicked or ())]
        is_list = isinstance(shown, list) and isinstance(clicked, list)
        if not is_list or not all(isinstance(text, str) for text in texts):
            raise file.refusal(
                "query, shown and clicked are needed, a string and two lists "
                "of ids: correct the line"
            )
        yield _listed(file, (at, query), shown, clicked)


def _lists_in_table(path: Path) -> Iterator[Impression]:
    """The lists of a table with a row for each document shown."""
    file = dictionaries(path)
    rows = groupby(file, lambda each: (each[1].get("list"), each[1].get("query")))
    names = {"list", "query", "document", "position", "clicked"}
    for (_list, query), group in rows:
        places: dict[int, str] = {}
        clicked, at = list[str](), ""
        for _line, row in group:
            if missing := sorted(names - row.keys()):
                raise file.refusal(
                    "no column %(missing)s: begin with %(names)s",
                    missing=missing[0],
                    names=", ".join(names),
                )
            place, at = row["position"].strip(), row.get("at", "")
            if not place.isdecimal() or int(place) in places:
                raise file.refusal(
                    "position %(place)r: give 1, 2, …, each once in a list",
                    place=place,
                )
            places[int(place)] = row["document"]
            clicked += [row["document"]] * (row["clicked"].strip().lower() in YES)
        shown = [places[place] for place in sorted(places)]
        yield _listed(file, (at, query or ""), shown, clicked)


def _listed(
    file: FilePlace,
    text: tuple[str, str],
    shown: list[str],
    clicked: list[str],
) -> Impression:
    """Check a list and what was opened from it."""
    if not text[1].strip() or not shown or len({*shown}) < len(shown):
        raise file.refusal(
            "a query and the documents shown, each once, are needed: correct it"
        )
    if strange := sorted({*clicked} - {*shown}):
        raise file.refusal(
            "%(strange)r was clicked but not shown: correct the list",
            strange=strange[0],
        )
    scored = tuple((id_, -float(rank)) for rank, id_ in enumerate(shown, 1))
    at, query = text
    return Impression(0, at, "", query, IMPORTED, 0, scored, frozenset(clicked))


def read_impressions(store: Store) -> list[Impression]:
    """Every list that was shown, in order, with what was opened from it."""
    clicked: dict[int, set[str]] = defaultdict(set)
    for impression, document in store.run("SELECT impression, document FROM clicks"):
        clicked[impression].add(document)
    return [
        Impression(
            number, at, who, query, ranker, generation,
            tuple((id_, score) for id_, score, *_ in rows), frozenset(clicked[number]),
            tuple(mark for _, _, *marks in rows for mark in marks),
        )
        for number, at, who, query, ranker, generation, shown in store.run(IMPRESSIONS)
        for rows in [json.loads(shown)]
    ]  # fmt: skip


def estimated_propensities(store: Store) -> Floats:
    """The chance of a look at each position, as the click log itself tells it.

    By neighbours that were interchanged on purpose, where there are any: as far down as
    every pair was clicked, and alike below. Else by the position-based click model, for
    which documents must have stood at several positions. A ``Mistake`` says what lacks.
    """
    from classmark.ltr.propensity import fit_click_model

    impressions = read_impressions(store)
    if not impressions:
        wrong = _("no search has been logged yet")
        remedy = worded(
            "log searches with classmark search --log, and what is opened with "
            "classmark click"
        )
        raise Mistake(f"{wrong}: {remedy}")
    trials = [trial for seen in impressions for trial in _swap_trials(seen)]
    if trials:
        return _by_swaps(trials, max(len(seen.shown) for seen in impressions))
    looks = [
        (f"{seen.query}\t{id_}", position, id_ in seen.clicked)
        for seen in impressions
        for position, id_ in enumerate(seen.ids, 1)
    ]
    pairs, positions, clicks = zip(*looks, strict=True) if looks else ((), (), ())
    return fit_click_model(pairs, positions, clicks).propensities


class SwapTrial(NamedTuple):
    """Two neighbouring positions, whether they were interchanged, and clicks."""

    positions: tuple[int, int]
    swapped: bool
    clicks: tuple[bool, bool]


def _swap_trials(seen: Impression) -> list[SwapTrial]:
    """The pairs of a list that were interchanged or not by a coin."""
    if not all(isinstance(mark, int) for mark in seen.marks):
        return []
    paired = [at for at, mark in enumerate(seen.marks) if mark]
    hits = [id_ in seen.clicked for id_ in seen.ids]
    return [
        SwapTrial((at + 1, at + 2), seen.marks[at] != at + 1, (hits[at], hits[at + 1]))
        for at in paired[::2]
    ]


def _by_swaps(trials: Sequence[SwapTrial], most: int) -> Floats:
    """Estimates for as many positions as have clicks enough; the others as the last."""
    from classmark.ltr.propensity import swap_propensities

    problem = refusal("no results at the first two positions have been swapped yet")
    for last in range(max(trial.positions[1] for trial in trials), 1, -1):
        known = [trial for trial in trials if trial.positions[1] <= last]
        if not known:
            break
        try:
            looks = swap_propensities(*zip(*known, strict=True))
        except Mistake as lacking:
            problem = lacking
            continue
        return np.pad(looks, (0, most - last), "edge")
    raise problem


def logged_preferences(
    store: Store,
    strategy: str = "clicked-over-skipped",
    propensities: ArrayLike | None = None,
) -> dict[str, list[DocumentPreference]]:
    """Query → what the clicks prefer to what, once for each time they say so.

    propensities : the chance of a look at positions 1, 2, …; with it a preference
    counts 1/θ of its winner's position, 10 at most.
    """
    from classmark.ltr.propensity import propensity_weights
    from classmark.ltr.training import DocumentPreference

    preferences: dict[str, list[DocumentPreference]] = {}
    for seen in read_impressions(store):
        ids = seen.ids
        weight = dict.fromkeys(ids, 1.0)
        if propensities is not None:
            places = [at for at, id_ in enumerate(ids, 1) if id_ in seen.clicked]
            weights = propensity_weights(propensities, places).tolist()
            weight |= {ids[at - 1]: w for at, w in zip(places, weights, strict=True)}
        preferences.setdefault(seen.query, []).extend(
            DocumentPreference(winner, loser, weight[winner])
            for winner, loser in click_preferences(ids, seen.clicked, strategy)
        )
    return preferences

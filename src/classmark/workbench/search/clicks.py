"""The click log: what a search showed, and what was opened from it.

A line is on the disk before it is acknowledged, and is never changed. A search is
logged only if the settings, or whoever searches, ask for it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from classmark.arrays import Floats
from classmark.preferences.labels import click_preferences
from classmark.problems import Mistake, worded
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


@dataclass(frozen=True, slots=True)
class Impression:
    """One list that was shown: ids and scores, best first, and the ids clicked.

    who : nobody ("") where the log is anonymous;  ranker, generation : which ranking
    of which index it was.
    """

    number: int
    at: str
    who: str
    query: str
    ranker: str
    generation: int
    shown: tuple[tuple[str, float], ...]
    clicked: frozenset[str] = frozenset()

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
    ranker: str = "bm25",
    who: str = "",
) -> int:
    """Log what a search showed; return the number to log clicks under.

    shown : ids and scores, best first.  The index in service says the generation.
    """
    current = project.index.current()
    generation = 0 if current is None else int(current.name)
    ids = [id_ for id_, _ in shown]
    if len(set(ids)) < len(ids):
        raise Mistake("shown has a document twice: give each once, best first")
    who = "" if project.settings.search.log == "anonymous" else who or whoami()
    ((number,),) = project.store.run(
        "INSERT INTO impressions (at, who, query, ranker, generation, shown) "
        "VALUES (?, ?, ?, ?, ?, ?) RETURNING number",
        (
            now(), who, query, ranker, generation,
            as_json([[id_, float(score)] for id_, score in shown]),
        ),
    )  # fmt: skip
    return int(number)


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
        raise Mistake(f"there is no impression {impression}: {remedy}")
    ids, text = [id_ for id_, _ in json.loads(row[0])], str(document)
    if document in ids:
        click = Click(impression, text, ids.index(text) + 1)
    elif text.isdecimal() and 1 <= int(text) <= len(ids):
        click = Click(impression, ids[int(text) - 1], int(text))
    else:
        raise Mistake(
            f"impression {impression} did not show {text!r}: give an id of its "
            f"{len(ids)} documents, or a position from 1"
        )
    store.run(
        "INSERT INTO clicks (impression, document, position, at) VALUES (?, ?, ?, ?)",
        (*click, now()),
    )
    return click


def read_impressions(store: Store) -> list[Impression]:
    """Every list that was shown, in order, with what was opened from it."""
    clicked: dict[int, set[str]] = defaultdict(set)
    for impression, document in store.run("SELECT impression, document FROM clicks"):
        clicked[impression].add(document)
    return [
        Impression(
            number, at, who, query, ranker, generation,
            tuple((id_, score) for id_, score in json.loads(shown)),
            frozenset(clicked[number]),
        )
        for number, at, who, query, ranker, generation, shown in store.run(IMPRESSIONS)
    ]  # fmt: skip


def estimated_propensities(store: Store) -> Floats:
    """The chance of a look at each position, as the click log itself tells it.

    Estimated by the position-based click model, for which documents must have stood at
    several positions; a ``Mistake`` says where they have not.
    """
    from classmark.ltr.propensity import fit_click_model

    looks = [
        (f"{seen.query}\t{id_}", position, id_ in seen.clicked)
        for seen in read_impressions(store)
        for position, id_ in enumerate(seen.ids, 1)
    ]
    pairs, positions, clicks = zip(*looks, strict=True) if looks else ((), (), ())
    return fit_click_model(pairs, positions, clicks).propensities


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

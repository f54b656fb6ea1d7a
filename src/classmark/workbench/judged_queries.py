"""The queries a ranker learns from: judged by people, or by what was clicked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from classmark.evaluation.retrieval import JudgedQueries, judged_queries
from classmark.ltr.training import Preferred
from classmark.problems import Mistake
from classmark.workbench.impressions import (
    estimated_propensities,
    logged_preferences,
    read_impressions,
)
from classmark.workbench.tuning import Judgments, read_judged

if TYPE_CHECKING:
    from classmark.index.index import Index
    from classmark.workbench.project import Project

Grades = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Judged queries, their texts, what clicks prefer (or None), and what to say."""

    asked: JudgedQueries
    texts: Mapping[str, str]
    preferences: Mapping[str, list[Preferred]] | None = None
    notes: tuple[str, ...] = ()


def judged_by_people(index: Index, judgments: Judgments) -> Judged:
    """Read judgments; those of unknown queries and documents are left out, and said."""
    queries, qrels, name = read_judged(judgments)
    notes = []
    strange = [query for query in qrels if query not in queries]
    if strange:
        notes.append(
            f"judgments of {len(strange)} queries that are not there are left out "
            f"({_some(strange)})"
        )
    kept, missing = _within(index, {q: qrels[q] for q in qrels if q in queries})
    if missing:
        notes.append(
            f"judgments of {len(missing)} documents that are not in the index are left "
            f"out ({_some(missing)})"
        )
    if missing and not any(kept.values()):
        raise Mistake(
            f"{name}: no judged document is in the index ({_some(missing)} are not): "
            "give judgments of this project's documents"
        )
    asked = judged_queries(index, queries, kept, name)
    _require_grades(asked.qrels, name)
    return Judged(asked, queries, None, tuple(notes))


def judged_by_clicks(
    project: Project, index: Index, strategy: str, *, weighed: bool = False
) -> Judged:
    """Read the click log: a query is its text, and what was clicked is relevant.

    weighed : a preference counts the more, the less its winner's position is looked at.

    That a document was never clicked may only say that nobody was shown it: measures
    on clicks favour what was shown.
    """
    clicked: dict[str, dict[str, float]] = {}
    for seen in read_impressions(project.store):
        for document in seen.clicked:
            clicked.setdefault(seen.query, {})[document] = 1.0
    if not clicked:
        raise Mistake(
            "nothing was clicked yet: log searches with classmark search --log, and "
            "what is opened with classmark click"
        )
    kept, missing = _within(index, clicked)
    preferences: dict[str, list[Preferred]] = {}
    looks = estimated_propensities(project.store) if weighed else None
    for each in logged_preferences(project.store, strategy, looks):
        query, winner, loser, weight = each
        preferences.setdefault(query, []).append(Preferred(winner, loser, weight))
    notes = ["held-out queries are judged by clicks, which favour what was shown"]
    if missing:
        notes.append(f"clicks on {len(missing)} documents that are gone are left out")
    texts = {query: query for query in clicked}
    asked = judged_queries(index, texts, kept, "the click log")
    return Judged(asked, texts, preferences, tuple(notes))


def _within(
    index: Index, qrels: Grades
) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Keep the judgments of documents that are in the index; name the others."""
    judged = dict.fromkeys(id_ for grades in qrels.values() for id_ in grades)
    missing = [id_ for id_ in judged if id_ not in index]
    gone = set(missing)
    kept = {
        query: {id_: grade for id_, grade in grades.items() if id_ not in gone}
        for query, grades in qrels.items()
    }
    return kept, missing


def _require_grades(qrels: Grades, name: str) -> None:
    """Refuse judgments in which nothing is relevant."""
    grades = {grade for judged in qrels.values() for grade in judged.values()}
    if not any(grade > 0 for grade in grades):
        raise Mistake(
            f"{name}: no document has a grade above 0: judge some as relevant"
        )


def _some(ids: list[str]) -> str:
    return ", ".join(ids[:3]) + (", …" if len(ids) > 3 else "")

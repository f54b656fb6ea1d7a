"""Records that came several times, as from two databases: one of each is screened."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING

import numpy as np

from classmark.arrays import keep_columns
from classmark.clusters.agglomerative import near_duplicates
from classmark.formats.citations import standard_column
from classmark.formats.column_names import plain
from classmark.workbench.results import Table
from classmark.workbench.store.store import titles

if TYPE_CHECKING:
    from classmark.workbench.examples.searches import StoredSearch
    from classmark.workbench.examples.vectors import DocumentVectors
    from classmark.workbench.project import Project

ALIKE = 0.95  # the cosine of two records from which they are one
TERMS = 8  # of a record; of fewer, the words tell nothing


def duplicates_of(
    project: Project, vectors: DocumentVectors, marked: Container[str] = ()
) -> dict[str, str]:
    """Hidden id → the id that is shown in its place.

    Two records are one where they have the same DOI, or title, authors and year, or
    where they are of one year and their words have a cosine of ``ALIKE``. The first of
    them is shown, or the first that is marked.
    """
    stored = "SELECT fields, meta FROM documents ORDER BY number"
    facts = [_facts(*map(json.loads, row)) for row in project.store.run(stored)]
    words = keep_columns(vectors.rows, np.arange(vectors.first_run))
    groups = near_duplicates(words, ALIKE, linkage="average")
    long = np.diff(words.starts) >= TERMS
    shown: dict[tuple[str, str], str] = {}
    hidden: dict[str, str] = {}
    order = sorted(
        range(len(vectors.ids)), key=lambda at: vectors.ids[at] not in marked
    )
    for at in order:
        id_, (doi, year, heading) = vectors.ids[at], facts[at]
        keys = [(name, text) for name, text in (("doi", doi), heading) if text]
        keys += [(str(groups[at]), year)] if long[at] else []
        first = next((shown[key] for key in keys if key in shown), id_)
        if first != id_ and id_ not in marked:
            hidden[id_] = first
        shown |= {key: first for key in keys if key not in shown}
    return hidden


def _facts(
    fields: Mapping[str, str], meta: Mapping[str, str]
) -> tuple[str, str, tuple[str, str]]:
    """The DOI, the year, and what is told of title, authors and year together."""
    facts = {standard_column(name).casefold(): text for name, text in meta.items()}
    doi = facts.get("doi", "").strip().casefold().removeprefix("https://doi.org/")
    title, authors, year = (
        fields.get("title", ""),
        facts.get("authors"),
        facts.get("year"),
    )
    known = plain(title) if title and authors and year else ""
    return doi, year or "", (f"{plain(authors or '')} {year}", known)


def hidden_in(search: StoredSearch, marked: Container[str]) -> Mapping[str, str]:
    """The records that a screening hides, each with the one shown in its place."""
    hidden = search.settings.get("duplicates", {})
    return {id_: first for id_, first in hidden.items() if id_ not in marked}


def list_duplicates(project: Project, hidden: Mapping[str, str], name: str) -> Table:
    """Every hidden record beside the one that is shown."""
    title = titles(project.store, [*hidden, *hidden.values()])
    rows = [
        {
            "hidden": id_,
            "shown": first,
            "title": title[id_],
            "title shown": title[first],
        }
        for id_, first in hidden.items()
        if id_ in title and first in title
    ]
    note = "answer one by its id, and it is shown again" if rows else "none is hidden"
    return Table(f"Duplicates in {name}", rows, note)

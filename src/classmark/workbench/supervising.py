"""What do a project's judgments teach? Labels, and where more was said, graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from classmark.preferences.edges import from_edges
from classmark.preferences.graph import PreferenceGraph
from classmark.preferences.levels import graphs_from
from classmark.problems import Mistake
from classmark.sparse import Rows

if TYPE_CHECKING:
    from classmark.formats.record import Record

GRADES = ("equal", "layered")


def taught(
    records: Sequence[Record], categories: Sequence[str], grades: str = "equal"
) -> list[PreferenceGraph] | None:
    """A graph per document, or None where the labels say everything.

    A document's labels stand above all other categories, and with ``grades`` "layered"
    its primary labels above its secondary ones. An explicit preference is added; where
    it contradicts the labels, it replaces what they say of its two categories.
    """
    if grades not in GRADES:
        raise Mistake(f"grades is {grades!r}: use {' or '.join(GRADES)}")
    if grades == "equal" and not any(record.preferences for record in records):
        return None
    number = {name: index for index, name in enumerate(categories)}
    starts = np.cumsum([0, *(len(record.labels) for record in records)])
    pairs = [
        (number[name], grade if grades == "layered" else 1.0)
        for record in records
        for name, grade in sorted(record.labels.items(), key=lambda p: number[p[0]])
    ]
    columns = np.array([column for column, _ in pairs], np.uint32)
    values = np.array([grade for _, grade in pairs], float)
    given = Rows(starts.astype(np.int64), columns, values, len(categories))
    edges = (
        (record.id, *pair, weight)
        for record in records
        for pair, weight in record.preferences.items()
    )
    ids = [record.id for record in records]
    return from_edges(edges, ids, categories, graphs_from(given))

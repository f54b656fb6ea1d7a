"""Which documents are most like one that is on the desk, and where do they stand?"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakSet

import numpy as np

from classmark.arrays import Floats
from classmark.problems import Mistake
from classmark.ranking import top
from classmark.workbench.desk.held import AT_ONCE

if TYPE_CHECKING:
    from classmark.sparse import Rows
    from classmark.workbench.desk.desk import Desk

SHOWN = 6
NEARLY = 0.8  # the cosine of documents that are nearly the same
LONGEST = 160  # letters of a beginning


class Alike(NamedTuple):
    """A document like another; cosine : how much, 0 to 1;  labels : names."""

    document: str
    title: str
    beginning: str
    cosine: float
    labels: tuple[str, ...]


_READ: WeakSet[Desk] = WeakSet()  # desks whose documents are vectors in memory


def alike(desk: Desk, document: str, top_k: int = SHOWN) -> list[Alike]:
    """The documents whose words are most like those of one, the most like first."""
    desk.project.store.document(document)
    rows, ids, _ = desk.shelf.collection(desk)
    _READ.add(desk)
    try:
        at = ids.index(document)
    except ValueError:
        raise Mistake(
            f"{document} came in after the documents were read: try again in a moment"
        ) from None
    found = cosines_to(rows, at)
    found[at] = -1.0
    best = [int(i) for i in top(found, min(top_k, len(ids))) if found[i] > 0]
    return [_shown(desk, ids[i], float(found[i])) for i in best]


def nearly_same(desk: Desk, document: str) -> list[Alike]:
    """The documents that are nearly the same as one.

    Of a large collection only once somebody has asked for similar ones: nobody waits
    until it is read.
    """
    if len(desk.ledger.ids) > AT_ONCE and desk not in _READ:
        return []
    return [one for one in alike(desk, document) if one.cosine >= NEARLY]


def cosines_to(rows: Rows, at: int) -> Floats:
    """⟨x, c⟩ for each row x of unit length and the row c at a place, shape (n,).

    >>> from classmark.sparse import rows_from
    >>> cosines_to(rows_from([[0.6, 0.8], [1.0, 0.0]]), 0).round(1).tolist()
    [1.0, 0.6]
    """
    dense = np.zeros(rows.width)
    columns, values = rows.row(at)
    dense[columns] = values
    return np.asarray(rows.to_scipy() @ dense, float)


def _shown(desk: Desk, document: str, cosine: float) -> Alike:
    record = desk.project.store.record(document)
    fields = dict(record.document.fields)
    title = fields.pop("title", "") or document
    longest = max(fields.values(), key=len, default="")
    cut = longest[:LONGEST].rsplit(" ", 1)[0] + " …" if longest[LONGEST:] else longest
    names = (desk.categories.get(id_) for id_ in record.labels)
    labels = tuple(category.name for category in names if category is not None)
    return Alike(document, title, cut, cosine, labels)

"""What was said of one category, to be said of another that takes it over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from classmark.workbench.changes import rows_of
from classmark.workbench.judged import ASSIGN, LABELS, PREFER, PRIMARY, UNSURE
from classmark.workbench.log import Act

if TYPE_CHECKING:
    from classmark.workbench.store import Store


def carried(store: Store, number: int, target: int, into: str) -> Iterator[Act]:
    """What was said of the one, as said of the other, where it says more.

    number, target : of the two categories;  into : the id of the other.
    """
    said = {
        document: (act, grade)
        for document, act, grade in store.run(
            "SELECT document, act, grade FROM statements WHERE category = ?", (target,)
        )
    }
    for document, act, grade in store.run(
        "SELECT document, act, grade FROM statements WHERE category = ? ORDER BY seq",
        (number,),
    ).fetchall():
        had, had_grade = said.get(document, ("", 0.0))
        higher = had == ASSIGN and (grade or 0.0) > had_grade
        more = {
            PRIMARY: had != PRIMARY,
            ASSIGN: had not in LABELS or higher,
            UNSURE: had not in {*LABELS, UNSURE},
        }
        if more.get(act):
            yield Act(document, act, into, grade)
    yield from _carried_preferences(store, number, target, into)


def _carried_preferences(
    store: Store, number: int, target: int, into: str
) -> Iterator[Act]:
    compared = {
        (document, frozenset(pair))
        for document, *pair in store.run(
            "SELECT document, category, other FROM comparisons WHERE ? IN "
            "(category, other)", (target,)
        )
    }  # fmt: skip
    for document, winner, loser, weight in store.run(
        "SELECT document, category, other, grade FROM comparisons WHERE ? IN "
        "(category, other) ORDER BY seq",
        (number,),
    ).fetchall():
        third = loser if winner == number else winner
        row = rows_of(store, {third})[third]
        known = (document, frozenset({target, third})) in compared
        if third == target or known or not row["stands"]:
            continue
        pair = (into, str(row["id"])) if winner == number else (str(row["id"]), into)
        yield Act(document, PREFER, pair[0], weight, other=pair[1])

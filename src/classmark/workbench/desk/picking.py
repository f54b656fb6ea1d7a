"""Which documents do the filters of the inbox leave, and in which order?"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from classmark.problems import Mistake
from classmark.workbench.desk.holdings import holdings_of
from classmark.workbench.desk.opinions import disagreements
from classmark.workbench.queueing import ORDERS, shuffled

if TYPE_CHECKING:
    from classmark.workbench.desk.desk import Desk
    from classmark.workbench.project import Project

UNDECIDED, DECIDED, ASIDE, DISAGREED, ALL = SHOWS = (
    "undecided",
    "decided",
    "aside",
    "disagreed",
    "all",
)
_ODD = re.compile(r"""[^!-~]+|[%"\\]""")  # may be written otherwise in JSON
BY = """
SELECT DISTINCT document FROM judgments AS j
WHERE who = ? AND document IS NOT NULL AND act <> 'undo'
AND NOT EXISTS (SELECT 1 FROM undone AS u WHERE u.seq = j.seq)
"""


@dataclass(frozen=True, slots=True)
class Filters:
    """Which documents to show.

    show : undecided, decided, aside, disagreed (by several people) or all;  branch : in
    this category or below it, by label or else by best guess;  words : in the text, in
    a row;  who : somebody has said something of it.
    """

    show: str = UNDECIDED
    branch: str = ""
    words: str = ""
    who: str = ""

    @property
    def chosen(self) -> dict[str, str]:
        """Those that are not as they begin, as an address has them."""
        plain = {"show": UNDECIDED, "branch": "", "words": "", "who": ""}
        return {
            name: value
            for name in plain
            if (value := getattr(self, name)) != plain[name]
        }


def documents_in(desk: Desk, order: str, filters: Filters) -> list[str]:
    """The ids of the documents that the filters leave, in an order.

    What waits is in the order as far as it was looked at, the rest at random; what does
    not wait is in order of arrival, the last first, or at random.
    """
    ids = _shown(desk, order, filters.show)
    if filters.branch:
        inside = _inside(desk, filters.branch)
        ids = [id_ for id_ in ids if inside(id_)]
    store = desk.project.store
    if filters.who:
        theirs = {id_ for (id_,) in store.run(BY, (filters.who,))}
        ids = [id_ for id_ in ids if id_ in theirs]
    if filters.words.strip():
        having = _having(desk.project, filters.words.strip())
        ids = [id_ for id_ in ids if id_ in having]
    return ids


def require_known(desk: Desk, order: str, filters: Filters) -> None:
    """Refuse an order or a filter that means nothing."""
    if order not in ORDERS:
        raise Mistake(f"order is {order!r}: use {', '.join(ORDERS)}")
    if filters.show not in SHOWS:
        raise Mistake(f"show is {filters.show!r}: use {', '.join(SHOWS)}")
    if filters.branch and filters.branch not in desk.categories:
        raise Mistake(
            f"there is no category {filters.branch!r}: choose one from the taxonomy"
        )


def _shown(desk: Desk, order: str, show: str) -> list[str]:
    ledger = desk.ledger
    if show == UNDECIDED:
        return desk.queues.ordered(order)
    ids = list(ledger.ids)[::-1]
    if order == "random" and ids:
        ids = [ids[at] for at in shuffled(ids, desk.project.settings.name)]
    if show == ALL:
        return ids
    if show == DISAGREED:
        kept = {each.document for each in disagreements(desk)}
    else:
        kept = ledger.labelled if show == DECIDED else ledger.aside
    return [id_ for id_ in ids if id_ in kept]


def _inside(desk: Desk, branch: str) -> Callable[[str], bool]:
    """Whether a document is in a category or below it, by label or else best guess."""
    below = {branch, *desk.tree.descendants(branch)}
    labels, guesses = holdings_of(desk).labels, desk.guesses

    def inside(document: str) -> bool:
        if document in labels:
            return not below.isdisjoint(labels[document])
        guess = guesses.get(document)
        return guess is not None and guess.category in below

    return inside


def _having(project: Project, words: str) -> set[str]:
    """Documents in whose fields the words stand one after the other.

    The database knows the fields as JSON, and small letters of English only: it is
    asked for what may fit.
    """
    wanted = _plain(words)
    told = _ODD.sub("%", wanted).replace("!", "!!").replace("_", "!_")
    rows = project.store.run(
        "SELECT id, fields FROM documents WHERE lower(fields) LIKE ? ESCAPE '!'",
        (f"%{told}%",),
    )
    return {
        id_
        for id_, fields in rows
        if any(wanted in _plain(text) for text in json.loads(fields).values())
    }


def _plain(text: str) -> str:
    return " ".join(text.lower().split())

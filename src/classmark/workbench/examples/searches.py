"""Searches by example and screenings as they are stored: settings and marks.

A mark is on the disk before it is acknowledged, and is never changed: taking it back
writes one more line. The last mark of a search on a document holds.
"""

from __future__ import annotations

import json
import os.path
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from classmark.language import N_, _, general, joined, ngettext, percent
from classmark.problems import Mistake, refusal, worded
from classmark.workbench.store.log import as_json, now, whoami

if TYPE_CHECKING:
    from classmark.examples.auto import QueryPart
    from classmark.workbench.store.store import Store


MarkAct = Literal["example", "yes", "no", "skip"]
Origin = Literal["given", "likely", "random"]
LIKE, SCREEN = "like", "screen"
FOR, AGAINST = ("example", "yes"), ("no",)
BEGINS = {LIKE: "classmark like --examples", SCREEN: "classmark screen start"}
KINDS = {
    "rocchio": N_("Rocchio"),
    "svm": N_("SVM"),
    "squared": N_("squared hinges"),
}
LARGEST = 2**63 - 1  # stores take no larger integers
SEARCH = "SELECT number, name, created, who, settings FROM searches WHERE "
SEARCHES = """
SELECT number, name, created, s.who, settings FROM searches AS s
LEFT JOIN marks AS m
ON m.seq = (SELECT seq FROM marks WHERE search = number ORDER BY seq DESC LIMIT 1)
WHERE coalesce(json_extract(settings, '$.kind'), 'like') = ?
AND json_extract(settings, '$.deleted') IS NULL
ORDER BY CASE WHEN at > created THEN at ELSE created END DESC,
  coalesce(seq, 0) DESC, number DESC
"""
DELETED = """
SELECT number, name, created, who, settings FROM searches
WHERE json_extract(settings, '$.deleted') IS NOT NULL ORDER BY number DESC
"""
COUNTS = "SELECT search, act, count(*) FROM marked GROUP BY search, act"
LAST = """
SELECT step FROM marks AS m
WHERE search = ? AND who = ? AND act <> 'undo'
AND (SELECT count(*) FROM marks AS u WHERE u.undoes = m.seq) % 2 = 0
ORDER BY seq DESC LIMIT 1
"""
LAST_UNDONE = """
SELECT m.step FROM marks AS u JOIN marks AS m ON m.seq = u.undoes
WHERE u.search = ?1 AND u.who = ?2 AND u.seq > coalesce((
  SELECT seq FROM marks WHERE search = ?1 AND who = ?2 AND act <> 'undo'
  ORDER BY seq DESC LIMIT 1), 0)
GROUP BY m.step HAVING count(DISTINCT u.step) % 2 = 1
ORDER BY max(u.step) DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class StoredSearch:
    """A named search; settings : what its verb keeps with it, as JSON has it."""

    number: int
    name: str
    created: str
    who: str
    settings: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """``like`` or ``screen``."""
        return str(self.settings.get("kind", LIKE))

    @property
    def texts(self) -> Mapping[str, str]:
        """Examples that are no documents, by name."""
        return dict(self.settings.get("texts", {}))


@dataclass(frozen=True, slots=True)
class SearchSummary:
    """A search as it is listed; examples, yes, no : how many."""

    number: int
    name: str
    screening: bool
    method: str
    examples: int
    yes: int
    no: int
    begun: str
    who: str


class MarkedMeanwhile(Mistake):
    """A document was marked after it was shown to who answers now."""


class Mark(NamedTuple):
    """What somebody said of a document in a search, and why it was shown.

    act : ``example`` (given to begin with), ``yes``, ``no`` or ``skip``;  origin :
    ``given``, or shown as ``likely`` or by a ``random`` draw;  rank, score : where the
    search had put it then.
    """

    document: str
    act: MarkAct
    origin: Origin = "given"
    rank: int | None = None
    score: float | None = None


class BasketItem(NamedTuple):
    """An example of a search.

    act : example, yes, no, skip, or ``own``: a text that is no document, its name the
    id.
    """

    id: str
    title: str
    act: str


def acts_of(yes: Iterable[str], no: Iterable[str]) -> dict[str, MarkAct]:
    """Document → yes or no; a document that is both is refused."""
    acts: dict[str, MarkAct] = dict.fromkeys(yes, "yes")
    if both := sorted(acts.keys() & set(no)):
        raise refusal(
            "document %(both)r is marked yes and no: choose one", both=both[0]
        )
    return acts | dict.fromkeys(no, "no")


def begin_search(
    store: Store,
    name: str,
    settings: Mapping[str, Any] | None = None,
    *,
    kind: str = LIKE,
    who: str = "",
) -> StoredSearch:
    """Make a search; its name must be new. kind : the verb that made it."""
    settings = {**(settings or {}), "kind": kind}
    row = (name, now(), who or whoami(), as_json(settings))
    with store.transaction():
        _require_name(store, name)
        ((number,),) = store.run(
            "INSERT INTO searches (name, created, who, settings) VALUES (?, ?, ?, ?) "
            "RETURNING number",
            row,
        )
    return StoredSearch(number, row[0], row[1], row[2], settings)


def _require_name(store: Store, name: str) -> None:
    """Refuse what is no name, and one that is taken."""
    if not name.strip():
        raise refusal(
            "a search needs a name: %(remedy)s",
            remedy=worded("give one with --name"),
        )
    if not name.isprintable():
        raise refusal(
            "the name %(name)r cannot be shown on a line: give another", name=name
        )
    if store.run("SELECT 1 FROM searches WHERE name = ?", (name,)).fetchone():
        raise refusal(
            "there is a search %(name)r already: choose another name, or "
            "continue that one",
            name=name,
        )


def rename_search(store: Store, search: StoredSearch, name: str) -> StoredSearch:
    """Give a search another name, which must be new."""
    name = name.strip()
    if name == search.name:
        return search
    with store.transaction():
        _require_name(store, name)
        row = (name, search.number)
        store.run("UPDATE searches SET name = ? WHERE number = ?", row)
    return replace(search, name=name)


def delete_search(store: Store, search: StoredSearch) -> None:
    """Take a search off the list; its answers stay, so that it can be restored."""
    if search.settings.get("deleted") is not None:
        raise refusal("search %(number)s is deleted already", number=search.number)
    with store.transaction():
        rename_search(store, search, f"{search.name} (deleted {search.number})")
        change_settings(store, search, deleted=search.name)


def restore_search(store: Store, search: StoredSearch) -> StoredSearch:
    """Put a deleted search back on the list, under its name if that is free."""
    name = search.settings.get("deleted")
    if name is None:
        raise refusal("search %(name)r is not deleted: see the list", name=search.name)
    with store.transaction():
        taken = "SELECT 1 FROM searches WHERE name = ?"
        while store.run(taken, (name,)).fetchone():
            name += "'"
        return change_settings(store, rename_search(store, search, name), deleted=None)


def deleted_searches(store: Store) -> list[StoredSearch]:
    """The searches that were deleted, the newest first."""
    return [_search(row) for row in store.run(DELETED)]


def list_searches(store: Store, kind: str = LIKE) -> list[StoredSearch]:
    """All searches of a kind, the one begun or marked last first."""
    return [_search(row) for row in store.run(SEARCHES, (kind,))]


def summaries(
    store: Store, kinds: Sequence[str] = (LIKE, SCREEN)
) -> list[SearchSummary]:
    """The searches of some kinds with their counts, of each the last used first."""
    counts = Counter({(search, act): n for search, act, n in store.run(COUNTS)})
    return [
        SearchSummary(
            search.number, search.name, search.kind == SCREEN,
            str(search.settings.get("method", "auto")),
            counts[search.number, "example"] + len(search.texts),
            counts[search.number, "yes"], counts[search.number, "no"],
            search.created, search.who,
        )
        for kind in kinds
        for search in list_searches(store, kind)
    ]  # fmt: skip


def search_by_number(store: Store, number: int) -> StoredSearch:
    """A search of any kind by its number."""
    row = store.run(SEARCH + "number = ?", (min(number, LARGEST),)).fetchone()
    if row is None:
        raise refusal(
            "there is no search %(number)s: choose one from the list",
            number=number,
        )
    return _search(row)


def listed_search(store: Store, number: int) -> StoredSearch:
    """A search by its number, refused where it was deleted."""
    search = search_by_number(store, number)
    if search.settings.get("deleted") is not None:
        raise refusal(
            "search %(number)s was deleted: restore it from the list first",
            number=number,
        )
    return search


def open_search(
    store: Store, name: str | None = None, kind: str = LIKE
) -> StoredSearch:
    """A search by its name; without one, the search begun or marked last."""
    if name is None:
        row = store.run(SEARCHES + "LIMIT 1", (kind,)).fetchone()
    else:
        row = store.run(SEARCH + "name = ?", (name,)).fetchone()
    search = None if row is None else _search(row)
    if search is not None and search.kind == kind:
        return search
    if name is None:
        raise refusal(
            "there is no search yet: start one with %(begins)s", begins=BEGINS[kind]
        )
    names = [search.name for search in list_searches(store, kind)]
    close = get_close_matches(name, names)
    remedy = (
        _("did you mean %(meant)s?", meant=repr(close[0]))
        if close
        else _("%(begins)s begins one", begins=BEGINS[kind])
    )
    raise refusal("there is no search %(name)r: %(remedy)s", name=name, remedy=remedy)


def _search(row: Any) -> StoredSearch:
    number, name, created, who, settings = row
    return StoredSearch(number, name, created, who, json.loads(settings))


def change_settings(store: Store, search: StoredSearch, **changes: Any) -> StoredSearch:
    """Change some settings of a search; return it as it is now."""
    settings = {**search.settings, **changes}
    store.run(
        "UPDATE searches SET settings = ? WHERE number = ?",
        (as_json(settings), search.number),
    )
    return replace(search, settings=settings)


def add_marks(
    store: Store, search: StoredSearch, marks: Iterable[Mark], who: str = ""
) -> list[int]:
    """Append marks, together one step, all or nothing; return the numbers given."""
    rows = [(mark, None) for mark in marks]
    with store.transaction():
        require_documents(store, [mark.document for mark, _ in rows])
        return _append(store, search, rows, who or whoami())


def undo_marks(
    store: Store, search: StoredSearch, who: str = "", *, redo: bool = False
) -> list[Mark]:
    """Take back the last step of this user that holds; return its marks.

    redo : bring back the step taken back last instead, nothing being marked since.
    """
    who = who or whoami()
    with store.transaction():
        statement = LAST_UNDONE if redo else LAST
        last = store.run(statement, (search.number, who)).fetchone()
        if last is None:
            nothing = N_("%(who)s has nothing to undo in search %(name)r")
            if redo:
                nothing = N_("%(who)s has nothing to bring back in search %(name)r")
            raise refusal(nothing, who=who, name=search.name)
        rows = store.run(
            "SELECT seq, document, act, origin, rank, score FROM marks "
            "WHERE search = ?1 AND seq >= ?2 AND step = ?2 ORDER BY seq",
            (search.number, last[0]),
        ).fetchall()
        marks = [(Mark(*columns), int(seq)) for seq, *columns in rows]
        _append(store, search, marks, who)
    return [mark for mark, _ in marks]


def current_marks(store: Store, search: StoredSearch) -> list[Mark]:
    """The marks that hold, one a document, in the order they were made."""
    rows = store.run(
        "SELECT document, act, origin, rank, score FROM marked "
        "WHERE search = ? ORDER BY seq",
        (search.number,),
    )
    return [Mark(*columns) for columns in rows]


def acts_by_document(store: Store, search: StoredSearch) -> dict[str, MarkAct]:
    """Document → the act of its mark that holds, in the order they were made."""
    return {mark.document: mark.act for mark in current_marks(store, search)}


def last_mark(store: Store, search: StoredSearch) -> int:
    """The number of the last mark made in a search, or taken back; 0: none."""
    last = "SELECT coalesce(max(seq), 0) FROM marks WHERE search = ?"
    (number,) = store.run(last, (search.number,)).fetchone()
    return int(number)


def require_as_shown(
    store: Store, search: StoredSearch, ids: Iterable[str], version: int
) -> None:
    """Refuse documents that were marked since; version : the last mark then."""
    since = (
        "SELECT who FROM marks WHERE search = ? AND document = ? AND seq > ? "
        "ORDER BY seq DESC LIMIT 1"
    )
    for id_ in ids:
        newer = store.run(since, (search.number, id_, version)).fetchone()
        if newer is not None:
            raise MarkedMeanwhile(
                _(
                    "document %(id)r was marked meanwhile, by %(who)s, and nothing was "
                    "changed: look at the list as it is now, and answer again",
                    id=id_,
                    who=newer[0],
                )
            )


def require_example(store: Store, search: StoredSearch) -> None:
    """Refuse what leaves a search without an example; called before the commit."""
    acts = set(acts_by_document(store, search).values())
    if not search.texts and not acts & set(FOR):
        raise refusal(
            "that would leave the search without an example: add another first"
        )


def _append(
    store: Store,
    search: StoredSearch,
    rows: Iterable[tuple[Mark, int | None]],
    who: str,
) -> list[int]:
    (last,) = store.run("SELECT max(seq) FROM marks").fetchone()
    step, at, numbers = (last or 0) + 1, now(), []
    for mark, undoes in rows:
        act = mark.act if undoes is None else "undo"
        ((number,),) = store.run(
            "INSERT INTO marks (at, who, search, document, act, undoes, origin, rank, "
            "score, step) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq",
            (
                at, who, search.number, mark.document, act, undoes, mark.origin,
                mark.rank, mark.score, step,
            ),
        )  # fmt: skip
        numbers.append(int(number))
    return numbers


def require_documents(store: Store, ids: list[str]) -> None:
    """Refuse ids that the project does not have; suggest the nearest."""
    unknown = [
        id_
        for id_ in dict.fromkeys(ids)
        if not store.run("SELECT 1 FROM documents WHERE id = ?", (id_,)).fetchone()
    ]
    if unknown:
        sql = "SELECT id FROM documents WHERE abs(length(id) - ?) <= 2 LIMIT 20000"
        near = [row[0] for row in store.run(sql, (len(unknown[0]),))]
        close = get_close_matches(unknown[0], near, n=50, cutoff=0.5)
        alike = {id_: os.path.commonprefix([id_, unknown[0]]) for id_ in close}  # noqa: RUF071 (letters)
        close.sort(key=lambda id_: -len(alike[id_]))
        remedy = (
            _("did you mean %(meant)s?", meant=joined(*close[:3], by=_(" or ")))
            if close
            else _("correct its id")
        )
        raise refusal(
            "there is no document %(unknown)r: %(remedy)s",
            unknown=unknown[0],
            remedy=remedy,
        )


def learned(
    method: str,
    C: float | None,
    params: Mapping[str, Any],
    averaged: Sequence[QueryPart] = (),
) -> str:
    """How a query was learned, in a line.

    averaged : the queries that "auto" has chosen.

    >>> from classmark.examples.auto import QueryPart
    >>> learned("recall@k", 100.0, {"k": 5, "kernel": "rbf"})
    'recall@k, C = 100, k = 5, kernel = rbf'
    >>> parts = QueryPart("svm", 0.6, 4.0, hopeful=9), QueryPart("rocchio", 0.4)
    >>> learned("auto", 1.0, {}, parts)
    'auto: 60 % SVM (C = 4, 9 hopeful documents), 40 % Rocchio'
    """
    chosen = {"C": None if C is None or averaged else f"{C:g}", **params}
    parts = [f"{name} = {value}" for name, value in chosen.items() if value is not None]
    if averaged:
        method = f"{method}: {', '.join(map(_part_in_words, averaged))}"
    return ", ".join([method, *parts])


def _part_in_words(part: QueryPart) -> str:
    """One of the averaged queries: its share, its form and its numbers."""
    facts = [] if part.C is None else [f"C = {general(part.C, 3)}"]
    if part.hopeful:
        facts.append(
            ngettext("%(n)s hopeful document", "%(n)s hopeful documents", part.hopeful)
        )
    if part.gamma != 1:
        facts.append(_("others × %(gamma)s", gamma=general(part.gamma, 3)))
    words = f"{percent(part.share)} {_(KINDS[part.kind])}"
    return f"{words} ({', '.join(facts)})" if facts else words

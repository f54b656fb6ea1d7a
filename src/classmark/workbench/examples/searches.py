"""Searches by examples: each a name, its settings, and what people marked in it.

A mark is on the disk before it is acknowledged, and is never changed: taking it back
writes one more line. What holds is the last word of a search on a document.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from classmark.problems import Mistake
from classmark.workbench.store.log import as_json, now, whoami

if TYPE_CHECKING:
    from classmark.workbench.store.store import Store


Said = Literal["example", "yes", "no", "skip"]
Origin = Literal["given", "likely", "random"]
LIKE = "like"
BEGINS = {LIKE: "classmark like --examples", "screen": "classmark screen start"}
SEARCHES = """
SELECT number, name, created, s.who, settings FROM searches AS s
LEFT JOIN marks AS m
ON m.seq = (SELECT seq FROM marks WHERE search = number ORDER BY seq DESC LIMIT 1)
WHERE coalesce(json_extract(settings, '$.kind'), 'like') = ?
ORDER BY CASE WHEN at > created THEN at ELSE created END DESC,
  coalesce(seq, 0) DESC, number DESC
"""
LAST = """
SELECT step FROM marks AS m
WHERE search = ? AND who = ? AND act <> 'undo'
AND (SELECT count(*) FROM marks AS u WHERE u.undoes = m.seq) % 2 = 0
ORDER BY seq DESC LIMIT 1
"""
UNDOINGS = """
SELECT DISTINCT u.step, m.step FROM marks AS u JOIN marks AS m ON m.seq = u.undoes
WHERE u.search = ?1 AND u.who = ?2 AND u.seq > coalesce((
  SELECT seq FROM marks WHERE search = ?1 AND who = ?2 AND act <> 'undo'
  ORDER BY seq DESC LIMIT 1), 0)
ORDER BY u.step
"""


@dataclass(frozen=True, slots=True)
class Search:
    """A named search; settings : what its verb keeps with it, as JSON has it."""

    number: int
    name: str
    created: str
    who: str
    settings: Mapping[str, Any]


class Mark(NamedTuple):
    """What was said of a document in a search, and why it was shown.

    act : ``example`` (given to begin with), ``yes``, ``no`` or ``skip``;  origin :
    ``given``, or shown as ``likely`` or by a ``random`` draw;  rank, score : where the
    search had put it then.
    """

    document: str
    act: Said
    origin: Origin = "given"
    rank: int | None = None
    score: float | None = None


class Standing(NamedTuple):
    """A mark that holds: its number in the log, when, by whom, and itself."""

    seq: int
    at: str
    who: str
    mark: Mark


def begin_search(
    store: Store,
    name: str,
    settings: Mapping[str, Any] | None = None,
    *,
    kind: str = LIKE,
    who: str = "",
) -> Search:
    """Make a search; its name must be new. kind : the verb that made it."""
    if not name.strip():
        raise Mistake("a search needs a name: give one with --name")
    if not name.isprintable():
        raise Mistake(f"the name {name!r} cannot be shown on a line: give another")
    kept = {**(settings or {}), "kind": kind}
    row = (name, now(), who or whoami(), as_json(kept))
    with store.transaction():
        if store.run("SELECT 1 FROM searches WHERE name = ?", (name,)).fetchone():
            raise Mistake(
                f"there is a search {name!r} already: choose another name, or go on "
                "with it"
            )
        ((number,),) = store.run(
            "INSERT INTO searches (name, created, who, settings) VALUES (?, ?, ?, ?) "
            "RETURNING number",
            row,
        )
    return Search(number, row[0], row[1], row[2], kept)


def list_searches(store: Store, kind: str = LIKE) -> list[Search]:
    """All searches of a kind, the one begun or marked last first."""
    return [
        Search(number, name, created, who, json.loads(settings))
        for number, name, created, who, settings in store.run(SEARCHES, (kind,))
    ]


def open_search(store: Store, name: str | None = None, kind: str = LIKE) -> Search:
    """A search by its name; without one, the search begun or marked last."""
    found = list_searches(store, kind)
    for search in found:
        if name in {None, search.name}:
            return search
    if name is None:
        raise Mistake(f"there is no search yet: begin one with {BEGINS[kind]}")
    close = get_close_matches(name, [search.name for search in found])
    remedy = f"did you mean {close[0]!r}?" if close else f"{BEGINS[kind]} begins one"
    raise Mistake(f"there is no search {name!r}: {remedy}")


def change_settings(
    store: Store, search: Search, settings: Mapping[str, Any]
) -> Search:
    """Replace what is kept with a search; return it as it is now."""
    kept = {**settings, "kind": search.settings["kind"]}
    store.run(
        "UPDATE searches SET settings = ? WHERE number = ?",
        (as_json(kept), search.number),
    )
    return Search(search.number, search.name, search.created, search.who, kept)


def add_marks(
    store: Store, search: Search, marks: Iterable[Mark], who: str = ""
) -> list[int]:
    """Append marks, together one step, all or nothing; return the numbers given."""
    rows = [(mark, None) for mark in marks]
    with store.transaction():
        require_documents(store, [mark.document for mark, _ in rows])
        return _append(store, search, rows, who or whoami())


def undo_marks(store: Store, search: Search, who: str = "") -> list[Mark]:
    """Take back the last step of this user that holds; return its marks."""
    who = who or whoami()
    with store.transaction():
        last = store.run(LAST, (search.number, who)).fetchone()
        if last is None:
            raise Mistake(f"{who} has nothing to undo in search {search.name!r}")
        return _toggle(store, search, int(last[0]), who)


def redo_marks(store: Store, search: Search, who: str = "") -> list[Mark]:
    """Bring back the step that this user took back last, nothing being marked since."""
    who = who or whoami()
    with store.transaction():
        back: dict[int, None] = {}
        for _, step in store.run(UNDOINGS, (search.number, who)):
            if step in back:
                del back[step]
            else:
                back[step] = None
        if not back:
            raise Mistake(f"{who} has nothing to bring back in search {search.name!r}")
        return _toggle(store, search, list(back)[-1], who)


def standing_marks(store: Store, search: Search) -> list[Standing]:
    """The marks that hold, one a document, in the order they were made."""
    return [
        Standing(seq, at, who, Mark(*columns))
        for seq, at, who, *columns in store.run(
            "SELECT seq, at, who, document, act, origin, rank, score FROM marked "
            "WHERE search = ? ORDER BY seq",
            (search.number,),
        )
    ]


def documents_of(store: Store, search: Search, *acts: Said) -> list[str]:
    """The documents whose mark that holds is one of these acts, in order."""
    return [
        found.mark.document
        for found in standing_marks(store, search)
        if found.mark.act in acts
    ]


def _toggle(store: Store, search: Search, step: int, who: str) -> list[Mark]:
    found = store.run(
        "SELECT seq, document, act, origin, rank, score FROM marks "
        "WHERE search = ?1 AND seq >= ?2 AND step = ?2 ORDER BY seq",
        (search.number, step),
    ).fetchall()
    marks = [(Mark(*columns), int(seq)) for seq, *columns in found]
    _append(store, search, marks, who)
    return [mark for mark, _ in marks]


def _append(
    store: Store, search: Search, rows: Iterable[tuple[Mark, int | None]], who: str
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
        close = _nearest(store, unknown[0])
        remedy = f"did you mean {' or '.join(close)}?" if close else "correct its id"
        raise Mistake(f"there is no document {unknown[0]!r}: {remedy}")


def _nearest(store: Store, id_: str) -> list[str]:
    """Up to three ids like one that is not there; those that begin like it first."""
    sql = "SELECT id FROM documents WHERE abs(length(id) - ?) <= 2 LIMIT 20000"
    ids = [found for (found,) in store.run(sql, (len(id_),))]
    close = get_close_matches(id_, ids, n=50, cutoff=0.5)
    return sorted(close, key=lambda found: -_shared(found, id_))[:3]


def _shared(one: str, other: str) -> int:
    """How many letters two words begin with in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))

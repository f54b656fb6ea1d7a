"""Take back a whole range of the log, after a look at what that would change.

What the range did is gone then: its acts hold no more, and what was undone in it,
having been said before, holds again. All of it, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from classmark.problems import Mistake
from classmark.workbench.deciding.history import Wanted, conditions
from classmark.workbench.results import Logged
from classmark.workbench.store.log import LABELS
from classmark.workbench.store.undo import undo

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.store.store import Store
    from classmark.workbench.team.desk import Desk


MOST = 2000  # acts of a range
Labels = Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Change:
    """What would be different of a document: labels that go, and that come back."""

    document: str
    goes: tuple[str, ...]
    comes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TakenBack:
    """What taking back a range does, or would do.

    acts : those that hold no more;  again : those that hold again;  written : how many
    lines the log gets;  problem : why it cannot be done, else "";  documents : all
    that the acts are about.
    """

    first: int
    last: int
    acts: tuple[int, ...] = ()
    again: tuple[int, ...] = ()
    changes: tuple[Change, ...] = ()
    on_categories: int = 0
    written: int = 0
    problem: str = ""
    documents: tuple[str, ...] = ()


class _OnlyLooking(Exception):
    """Nothing is wrong, but nothing is to be kept: the transaction goes back."""


def look_at_range(
    desk: Desk, first: int, last: int, wanted: Wanted | None = None
) -> TakenBack:
    """What taking back the acts of a range would do; nothing is written."""
    found = TakenBack(first, last)
    with suppress(_OnlyLooking), desk.writing() as project:
        try:
            found = _take_back(project, first, last, wanted, "preview")
        except Mistake as problem:
            found = TakenBack(first, last, problem=str(problem))
        raise _OnlyLooking
    return found


def first_not_own(
    desk: Desk, first: int, last: int, who: str, wanted: Wanted | None = None
) -> int | None:
    """The first act of a range that is another's, or is on categories; None: none.

    What somebody may take back without being asked is what they said themselves.
    """
    where, values = conditions(wanted or Wanted())
    where = ["j.seq BETWEEN ? AND ?", "(j.who <> ? OR j.document IS NULL)", *where]
    (found,) = desk.store.run(
        f"SELECT min(j.seq) FROM judgments AS j WHERE {' AND '.join(where)}",  # noqa: S608 (our own words; the values are bound)
        (first, last, who, *values),
    ).fetchone()
    return None if found is None else int(found)


def undo_range(
    desk: Desk, first: int, last: int, who: str, wanted: Wanted | None = None
) -> TakenBack:
    """Take back the acts of a range that are asked for: all of them, or nothing."""
    done = desk.write(lambda open_: _take_back(open_, first, last, wanted, who))
    logged = Logged((last,), f"{done.written} acts undone")
    desk.after_write(done.documents, who, logged)
    return done


def _take_back(
    project: Project, first: int, last: int, wanted: Wanted | None, who: str
) -> TakenBack:
    store = project.store
    flips = _to_flip(store, first, last, wanted or Wanted())
    documents = _documents(store, flips)
    before = _labels(store, documents)
    written, categories = 0, 0
    for root in sorted(flips, key=flips.__getitem__, reverse=True):
        numbers = undo(project, flips[root], who).numbers
        written += len(numbers)
        categories += _is_on_categories(store, root)
    documents |= _documents(store, flips)
    after = _labels(store, documents)
    held = {root: _holds(store, root) for root in flips}
    return TakenBack(
        first,
        last,
        tuple(sorted(root for root in flips if not held[root])),
        tuple(sorted(root for root in flips if held[root])),
        tuple(_changes(before, after)),
        categories,
        written,
        documents=tuple(sorted(documents)),
    )


def _to_flip(store: Store, first: int, last: int, wanted: Wanted) -> dict[int, int]:
    """Act → the last word on it, where taking back the range turns it round."""
    rows = _rows(store, first, last, wanted)
    chosen = {seq for seq, _ in rows}
    flips = {}
    for root in {_root(store, seq) for seq in chosen}:
        chain = _chain(store, root)
        kept = {seq: undoes for seq, undoes in chain.items() if seq not in chosen}
        stays = root in kept and _stands(kept, root)
        if stays != _holds(store, root):
            flips[root] = max(chain)
    if not flips:
        raise Mistake(
            f"acts {first} to {last}: none that is asked for holds: there is nothing "
            "to take back"
        )
    return flips


def _rows(store: Store, first: int, last: int, wanted: Wanted) -> list[Any]:
    if first > last:
        raise Mistake(f"from act {first} to act {last}: the first is to be the lower")
    where, values = conditions(wanted)
    where = ["j.seq BETWEEN ? AND ?", "j.within IS NULL", "j.act <> 'import'", *where]
    found = store.run(
        f"SELECT j.seq, j.undoes FROM judgments AS j WHERE {' AND '.join(where)} "  # noqa: S608 (our own words; the values are bound)
        "ORDER BY j.seq LIMIT ?",
        (first, last, *values, MOST + 1),
    ).fetchall()
    if len(found) > MOST:
        raise Mistake(
            f"acts {first} to {last}: more than {MOST:,} acts at once: take back a "
            "part of them first"
        )
    return found


def _root(store: Store, seq: int) -> int:
    """The act that a chain of undoings is about."""
    while True:
        sql = "SELECT undoes FROM judgments WHERE seq = ?"
        (undoes,) = store.run(sql, (seq,)).fetchone()
        if undoes is None:
            return seq
        seq = int(undoes)


def _chain(store: Store, root: int) -> dict[int, int | None]:
    """An act and every undoing of it, or of one of these → what it undoes, in order."""
    found: dict[int, int | None] = {root: None}
    waiting = [root]
    while waiting:
        at = waiting.pop()
        sql = "SELECT seq FROM judgments WHERE undoes = ?"
        for (seq,) in store.run(sql, (at,)).fetchall():
            found[int(seq)] = at
            waiting.append(int(seq))
    return dict(sorted(found.items()))


def _stands(chain: Mapping[int, int | None], root: int) -> bool:
    """Whether an act would hold, had only these been said."""
    undone: set[int] = set()
    for seq in chain:
        at, falls = chain[seq], True
        while at is not None and at in chain:
            undone.add(at) if falls else undone.discard(at)
            at, falls = chain[at], not falls
    return root not in undone


def _holds(store: Store, seq: int) -> bool:
    return store.run("SELECT 1 FROM undone WHERE seq = ?", (seq,)).fetchone() is None


def _is_on_categories(store: Store, seq: int) -> bool:
    sql = "SELECT document FROM judgments WHERE seq = ?"
    return bool(store.run(sql, (seq,)).fetchone()[0] is None)


def _documents(store: Store, roots: Iterable[int]) -> set[str]:
    """The documents that acts, and what is within them, are about."""
    sql = (
        "SELECT document FROM judgments WHERE document IS NOT NULL "
        "AND (seq = ? OR within = ?)"
    )
    return {
        str(id_) for root in roots for (id_,) in store.run(sql, (root, root)).fetchall()
    }


def _labels(store: Store, documents: Iterable[str]) -> dict[str, frozenset[str]]:
    return {
        id_: frozenset(
            name
            for name, (act, _) in store.standing(id_).get(id_, {}).items()
            if act in LABELS
        )
        for id_ in documents
    }


def _changes(before: Labels, after: Labels) -> Iterable[Change]:
    for document in sorted(after):
        old, new = before.get(document, frozenset()), after[document]
        if old != new:
            yield Change(document, tuple(sorted(old - new)), tuple(sorted(new - old)))

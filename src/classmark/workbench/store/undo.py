"""Take back any act of the log, also an undoing: the log gets one more line."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING, NamedTuple

from classmark.language import _
from classmark.problems import Mistake, refusal, worded
from classmark.taxonomy.category import taxonomy_of
from classmark.workbench.results import Logged
from classmark.workbench.store import log
from classmark.workbench.store.store import taken_back

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.store.store import Store


IN_USE = """
SELECT count(*) + (
  SELECT count(*) FROM comparisons WHERE ?1 IN (category, other)
  AND (SELECT joined FROM categories WHERE number = ?1) IS NULL)
FROM statements AS s
WHERE category = ?1 AND act IN ('assign', 'primary') AND NOT EXISTS (
  SELECT 1 FROM statements AS t JOIN categories AS c
  ON c.number = ?1 AND c.joined = t.category
  WHERE t.document = s.document AND t.act IN ('assign', 'primary'))
"""
CHAIN = """
WITH RECURSIVE undone_by (seq, undoes) AS (
  SELECT seq, undoes FROM judgments WHERE seq = ?
  UNION ALL SELECT j.seq, j.undoes FROM judgments AS j JOIN undone_by AS u
  ON j.seq = u.undoes),
chain (seq, undoes) AS (
  SELECT seq, undoes FROM undone_by WHERE undoes IS NULL
  UNION ALL SELECT j.seq, j.undoes FROM judgments AS j JOIN chain
  ON j.undoes = chain.seq)
SELECT seq, undoes FROM chain ORDER BY seq
"""
_ON_DOCUMENTS = (log.IMPORT, log.DELETE, log.INSERT, log.UNDO)
PARTS = (
    "SELECT seq FROM judgments AS j WHERE within = ? AND NOT EXISTS "
    "(SELECT 1 FROM undone WHERE seq = j.seq) ORDER BY seq DESC"
)
SPOKEN_OF = """
SELECT id FROM all_documents WHERE added_by = ? AND stands = 1 AND (
  id IN (SELECT document FROM standing) OR id IN (SELECT document FROM preferences))
"""
FALL = "INSERT INTO undone VALUES (?)", "DELETE FROM undone WHERE seq = ?"
SHOWN = 20  # acts undone with another, by number
PLACES = {"parents", "stands"}  # what a taxonomy's shape rests on


class _Line(NamedTuple):
    seq: int
    document: str | None
    act: str
    category: int | None
    other: int | None
    changes: log.Changes


TEXT = "SELECT fields, meta, links FROM texts WHERE seq = ?"
REPLACED_SINCE = """
SELECT max(seq) FROM judgments AS j WHERE document = ? AND act = 'replace'
AND seq > ? AND NOT EXISTS (SELECT 1 FROM undone WHERE seq = j.seq)
"""


def undo(
    project: Project,
    number: int | None = None,
    who: str = "",
    within: int | None = None,
) -> Logged:
    """Undo an act; without a number, the last of this user that is not undone.

    Undoing an undoing brings the act back. What belongs to the act goes with it: the
    documents that a merge or a split moved. within : the act that this is part of.
    """
    store, who = project.store, who or log.whoami()
    with store.transaction():
        line = _line(store, _last(store, who) if number is None else number)
        seqs = _undo(store, line, who, within)
    verb = "brought back" if line.act == log.UNDO else "undone"
    return Logged(tuple(seqs), f"{verb}: {line.act} ({_acts(store, seqs)})")


def _acts(store: Store, seqs: list[int]) -> str:
    """Which acts some undoings are about, the one asked for first."""
    first, *parts = (chain_of(store, seq)[seq] for seq in seqs)
    within = [part for part in parts if part is not None]
    if not within:
        return f"act {first}"
    named = ", ".join(map(str, sorted(within)[:SHOWN]))
    more = f" and {len(within) - SHOWN} more" if len(within) > SHOWN else ""
    which = "act" if len(within) == 1 else "acts"
    return f"act {first}, and with it {which} {named}{more}"


def _last(store: Store, who: str) -> int:
    last = store.run(
        "SELECT max(seq) FROM judgments AS j WHERE who = ? AND act <> 'undo' AND "
        "within IS NULL AND NOT EXISTS (SELECT 1 FROM undone WHERE seq = j.seq)",
        (who,),
    ).fetchone()[0]
    if last is None:
        raise refusal(
            "%(who)s has nothing to undo: %(remedy)s",
            who=who,
            remedy=worded(
                "give the number of another's act (classmark history lists them)"
            ),
        )
    return int(last)


def _line(store: Store, seq: int) -> _Line:
    row = store.run(
        "SELECT undoes, changes, seq, document, act, category, other FROM judgments "
        "WHERE seq = ?",
        (seq,),
    ).fetchone()
    if row is None:
        numbers = worded("see the numbers with classmark history")
        raise refusal("there is no act %(seq)s: %(numbers)s", seq=seq, numbers=numbers)
    undoes, changes, *columns = row
    newest = max(chain_of(store, seq))
    if is_undone(store, seq) or (newest != seq and undoes is not None):
        raise refusal(
            "act %(seq)s is undone already, last by act %(newest)s: to "
            "take that back, %(remedy)s",
            seq=seq,
            newest=newest,
            remedy=worded("run classmark undo {number}", number=newest),
        )
    return _Line._make([*columns, log.unpacked(changes) if changes else {}])


def _undo(store: Store, line: _Line, who: str, within: int | None) -> list[int]:
    """Undo one act, and the acts within it; return the numbers given."""
    changes = log.reversed_changes(line.changes)
    if changes:
        _require_untouched(store, line)
    elif within is None:
        _require_standing(store, line)
        _require_here(store, line)
    act = log.Act(
        line.document, log.UNDO, undoes=line.seq, within=within, changes=changes
    )
    text = _text_before(store, line)
    seqs = [_append(store, act, line, who)]
    if text is not None:
        store.replace_text(str(line.document), seqs[0], text)
    chain, at = chain_of(store, line.seq), line.seq
    for sql in cycle(FALL):  # what an undone act undid holds again, and so on
        store.run(sql, (at,))
        if (undoes := chain[at]) is None:
            break
        at = undoes
    seqs += _undo_parts(store, line, who, seqs[0])
    _require_kept(store, changes, line)
    _follow_documents(store, min(chain), line)
    if within is None and (text is not None or line.act in _ON_DOCUMENTS):
        store.note_event(log.CHANGED, who, undone=line.seq)
    return seqs


def _follow_documents(store: Store, root: int, line: _Line) -> None:
    """Let documents come or go with the act that brought or took them."""
    ((act,),) = store.run("SELECT act FROM judgments WHERE seq = ?", (root,))
    if act == log.IMPORT:
        store.stand("added_by", root)
    elif act in (log.DELETE, log.INSERT):
        store.stand("id", str(line.document))


def _undo_parts(store: Store, line: _Line, who: str, within: int) -> list[int]:
    """Undo the acts within an act, those on categories at the end.

    Categories that came with an import stay while others use them.
    """
    seqs: list[int] = []
    on_categories: list[_Line] = []
    for (part,) in store.run(PARTS, (line.seq,)).fetchall():
        chain = chain_of(store, part)
        chosen = _line(store, part if chain[part] is None else max(chain))
        if chosen.act == log.IMPORT and chosen.changes:
            on_categories.append(chosen)
        else:
            seqs += _undo(store, chosen, who, within)
    if line.act == log.IMPORT:
        seqs += _take_back_later(store, line.seq, within, who)
    for chosen in on_categories:
        store.run("SAVEPOINT part")
        try:
            seqs += _undo(store, chosen, who, within)
        except Mistake:
            store.run("ROLLBACK TO part")
        store.run("RELEASE part")
    return seqs


def _take_back_later(store: Store, root: int, within: int, who: str) -> list[int]:
    """Take back what was said since of documents that go with their import.

    These acts are part of the undoing: who brings the import back brings them back.
    """
    seqs: list[int] = []
    for (id_,) in store.run(SPOKEN_OF, (root,)).fetchall():
        acts = taken_back(id_, store.standing(id_), store.preferences(id_), within)
        seqs += store.judge(acts, who)
    return seqs


def _append(store: Store, act: log.Act, line: _Line, who: str) -> int:
    """Append an undoing, if the categories can be as it leaves them."""
    refused = _("act %(seq)s (%(act)s) cannot be undone", seq=line.seq, act=line.act)
    try:
        seq = store.append(act, who, (line.category, line.other))
        if not PLACES.isdisjoint(set[str]().union(*(act.changes or {}).values())):
            taxonomy_of(store.categories())
    except sqlite3.IntegrityError:
        raise refusal(
            "%(refused)s: another category has its id now: rename that one first",
            refused=refused,
        ) from None
    except Mistake as problem:
        raise refusal(
            "%(refused)s now: %(problem)s",
            refused=refused,
            problem=problem,
        ) from None
    return seq


def _text_before(store: Store, line: _Line) -> tuple[str, ...] | None:
    """What a document said before the act, if that replaced it."""
    contents = store.run(TEXT, (line.seq,)).fetchone()
    if contents is None:
        return None
    first = min(chain_of(store, line.seq))
    (last,) = store.run(REPLACED_SINCE, (line.document, first)).fetchone()
    if last is not None:
        raise refusal(
            "act %(seq)s cannot be undone alone: act %(last)s replaced the "
            "text of %(document)r since: undo %(last)s first",
            seq=line.seq,
            last=last,
            document=line.document,
        )
    return tuple(contents)


def chain_of(store: Store, seq: int) -> dict[int, int | None]:
    """The act that undoings are about, first, and every undoing → what it undoes.

    seq : any of them.
    """
    return dict(store.run(CHAIN, (seq,)).fetchall())


def is_undone(store: Store, seq: int) -> bool:
    """Whether an act does not hold."""
    sql = "SELECT 1 FROM undone WHERE seq = ?"
    return store.run(sql, (seq,)).fetchone() is not None


def holds_by(chain: Mapping[int, int | None], seq: int) -> bool:
    """Whether an act would hold, were these undoings the only ones."""
    undoings = (act for act, undoes in chain.items() if undoes == seq)
    return not any(holds_by(chain, act) for act in undoings)


def _require_untouched(store: Store, line: _Line) -> None:
    """What the act changed is as it left it, and no other act since rests on it."""
    refused = _(
        "act %(seq)s (%(act)s) cannot be undone alone", seq=line.seq, act=line.act
    )
    cells = {
        (number, field) for number, fields in line.changes.items() for field in fields
    }
    for seq, text in store.run(
        "SELECT seq, changes FROM judgments AS j WHERE seq > ? AND changes IS NOT NULL "
        "AND undoes IS NULL AND NOT EXISTS (SELECT 1 FROM undone WHERE seq = j.seq) "
        "ORDER BY seq DESC",
        (min(chain_of(store, line.seq)),),
    ):
        later = log.unpacked(text)
        if any(field in later.get(number, {}) for number, field in cells):
            raise refusal(
                "%(refused)s: act %(seq)s changed the same category since: undo "
                "%(seq)s first",
                refused=refused,
                seq=seq,
            )
    now = store.category_rows(line.changes)
    if any(now[n][field] != line.changes[n][field][1] for n, field in cells):
        raise refusal(
            "%(refused)s: the category has changed since: make the change again",
            refused=refused,
        )


def _require_standing(store: Store, line: _Line) -> None:
    pair = {number for number in (line.category, line.other) if number is not None}
    for row in store.category_rows(pair).values():
        if not row["stands"]:
            raise refusal(
                "act %(seq)s is about the category %(row)r, which no longer "
                "exists: undo its removal first, or decide again",
                seq=line.seq,
                row=row["id"],
            )


def _require_here(store: Store, line: _Line) -> None:
    """The document of the act is here, unless the act is what took it away."""
    if line.document is None or store.contents([line.document]):
        return
    root = min(chain_of(store, line.seq))
    ((act,),) = store.run("SELECT act FROM judgments WHERE seq = ?", (root,))
    if act not in (log.DELETE, log.INSERT):
        raise refusal(
            "act %(seq)s is about the document %(document)r, which no "
            "longer exists: undo its removal first",
            seq=line.seq,
            document=line.document,
        )


def _require_kept(store: Store, changes: log.Changes, line: _Line) -> None:
    """No label is lost with a category that goes, unless another has taken it over."""
    for number, fields in changes.items():
        if fields.get("stands") != (1, 0):
            continue
        (judgments,) = store.run(IN_USE, (number,)).fetchone()
        if judgments:
            raise refusal(
                "act %(seq)s (%(act)s) cannot be undone: the category that "
                "would be removed is in use (%(judgments)s labels): merge it "
                "into another, or retire it",
                seq=line.seq,
                act=line.act,
                judgments=judgments,
            )

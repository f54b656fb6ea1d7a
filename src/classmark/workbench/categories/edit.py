"""Edits of the taxonomy as logged acts.

Each is one transaction and one act of the judgment log, with what it changed; the
taxonomy is checked before anything is kept. A merge lets the documents of the one
follow to the other, and a split lets some go: these are acts on the documents, logged
within the act, and undone with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from classmark.formats.text_files import open_bytes, whole_text
from classmark.problems import Mistake
from classmark.taxonomy import edits
from classmark.taxonomy.category import ACTIVE, DEPRECATED, Category, taxonomy_of
from classmark.workbench.results import Logged
from classmark.workbench.store.log import (
    ASSIGN,
    LABELS,
    PREFER,
    PRIMARY,
    REMOVE,
    UNSURE,
    Act,
    Row,
    as_json,
    as_row,
    difference,
    rows_of,
    whoami,
    write,
)

if TYPE_CHECKING:
    from classmark.taxonomy.tree import Taxonomy
    from classmark.workbench.project import Project
    from classmark.workbench.store.store import Store


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


DESCRIBED = frozenset({"note", "guideline", "notation"})


def new_category(
    id_: str,
    label: str = "",
    parent: str | None = None,
    note: str = "",
    guideline: str = "",
) -> Category:
    """A category as a command line describes it."""
    above = () if parent is None else (parent,)
    return Category(id_, label, note, parents=above, guideline=guideline)


def listed_documents(text: str) -> list[str]:
    """Ids with commas between, or, after @, the lines of a file."""
    if text.startswith("@"):
        with open_bytes(text[1:]) as stream:
            lines = whole_text(stream, text[1:]).splitlines()
    else:
        lines = text.split(",")
    return [line.strip() for line in lines if line.strip()]


def add(project: Project, category: Category, who: str = "") -> Logged:
    """Add a category under its parents, or at the top."""
    _require_name(category.id)
    store = project.store
    with store.transaction():
        seq = _add(store, category, who or whoami())
    return Logged((seq,), f"added {category.id}")


def rename(
    project: Project,
    id_: str,
    *,
    label: str | None = None,
    new_id: str | None = None,
    who: str = "",
) -> Logged:
    """Give a category another label, another id, or both; all else stays."""
    if label is None and new_id is None:
        raise Mistake(f"{id_}: give it a new label, a new id, or both")
    store = project.store
    with store.transaction():
        number, row = _one(store, id_)
        after = dict(row)
        if label is not None:
            after["label"] = label
        if new_id is not None:
            _require_name(new_id)
            edits.rename(_tree(store), id_, new_id)
            after["id"] = new_id
        seq = _log(store, "rename", {number: after}, who, (number, None))
    return Logged((seq,), f"renamed {id_} to {new_id or label}")


def describe(
    project: Project,
    id_: str,
    said: Mapping[str, str],
    synonyms: Sequence[str] | None = None,
    who: str = "",
) -> Logged:
    """Say anew what belongs to a category, and how experts decide.

    said : any of note, guideline and notation → what is to stand there;  synonyms : its
    other names, None to leave them;  "" empties.
    """
    if unknown := said.keys() - DESCRIBED:
        raise Mistake(
            f"{', '.join(sorted(unknown))} cannot be described: give "
            f"{', '.join(sorted(DESCRIBED))}"
        )
    if not said and synonyms is None:
        raise Mistake(f"{id_}: say its note, guideline, class mark or other names")
    after: Row = dict(said)
    if synonyms is not None:
        after["synonyms"] = as_json([name for name in synonyms if name.strip()])
    store = project.store
    with store.transaction():
        number, row = _one(store, id_)
        seq = _log(store, "describe", {number: row | after}, who, (number, None))
    return Logged((seq,), f"described {id_}: {', '.join(sorted(after))}")


def move(project: Project, id_: str, under: str | None, who: str = "") -> Logged:
    """Put a category, with all below it, under another one, or at the top."""
    store = project.store
    with store.transaction():
        number, row = _one(store, id_)
        above = None if under is None else store.number_of(under)
        edits.move(_tree(store), id_, under)
        after = row | {"parents": as_json([] if above is None else [above])}
        seq = _log(store, "move", {number: after}, who, (number, above))
    return Logged((seq,), f"moved {id_} under {under or 'nothing'}")


def retire(project: Project, id_: str, who: str = "") -> Logged:
    """Let no new document come to a category; those that are there stay."""
    store = project.store
    with store.transaction():
        number, row = _one(store, id_)
        after: Row = row | {"status": DEPRECATED}
        seq = _log(store, "retire", {number: after}, who, (number, None))
    return Logged((seq,), f"retired {id_}")


def merge(project: Project, id_: str, into: str, who: str = "") -> Logged:
    """Let one category take over the documents and the daughters of another."""
    store, who = project.store, who or whoami()
    with store.transaction():
        (number, row), target = _one(store, id_), store.number_of(into)
        edits.merge(_tree(store), id_, into)
        after: dict[int, Row] = {number: row | {"stands": 0, "joined": target}}
        for child, there in rows_of(store).items():
            parents = json.loads(str(there["parents"]))
            if there["stands"] and number in parents:
                kept = [target if p == number else p for p in parents]
                after[child] = there | {"parents": as_json(list(dict.fromkeys(kept)))}
        following = list(carried(store, number, target, into))
        seq = _log(store, "merge", after, who, (number, target))
        followed = store.judge((act._replace(within=seq) for act in following), who)
    said = f"merged {id_} into {into} (judgments carried over: {len(followed)})"
    return Logged((seq, *followed), said)


def split(
    project: Project,
    id_: str,
    new: Category,
    documents: Sequence[str],
    who: str = "",
) -> Logged:
    """Move documents from a category to a new one, its sister unless it says else."""
    _require_name(new.id)
    store, who = project.store, who or whoami()
    with store.transaction():
        number, row = _one(store, id_)
        there = _labelled(store, number)
        for name in dict.fromkeys(documents):
            store.document(name)
            if name not in there:
                raise Mistake(
                    f"document {name!r} is not in {id_!r}: leave it out, or assign it "
                    "first"
                )
        if not documents:
            raise Mistake(f"no documents to move from {id_!r}: name some, or use add")
        made = new if new.parents else _sister(store, new, row)
        seq = _add(store, made, who, "split", number)
        acts = [
            act
            for name in dict.fromkeys(documents)
            for act in (
                Act(name, REMOVE, id_, within=seq),
                Act(name, there[name][0], new.id, there[name][1], within=seq),
            )
        ]
        moved = store.judge(acts, who)
    said = f"split {new.id} off from {id_} (documents moved: {len(moved) // 2})"
    return Logged((seq, *moved), said)


def require_open(store: Store, names: Iterable[str]) -> None:
    """Refuse categories that are not there or are retired."""
    for name in names:
        number = store.number_of(name)
        if rows_of(store, {number})[number]["status"] != ACTIVE:
            raise Mistake(
                f"category {name!r} is retired: choose another, or undo its retirement"
            )


def _add(
    store: Store, new: Category, who: str, act: str = "add", of: int | None = None
) -> int:
    tree = _tree(store)
    edits.add(tree, new.id)
    number = {parent: store.number_of(parent) for parent in new.parents}
    (last,) = store.run("SELECT coalesce(max(number), 0) FROM categories").fetchone()
    fresh = int(last) + 1
    pair = (fresh, None) if of is None else (of, fresh)
    return _log(store, act, {fresh: as_row(new, number)}, who, pair)


def _sister(store: Store, new: Category, row: Row) -> Category:
    rows = rows_of(store)
    parents = tuple(str(rows[p]["id"]) for p in json.loads(str(row["parents"])))
    return replace(new, parents=parents)


def _log(
    store: Store,
    act: str,
    after: dict[int, Row],
    who: str,
    pair: tuple[int | None, int | None],
) -> int:
    """Make the changes, and append them to the log as one act."""
    changes = difference(rows_of(store, set(after)), after)
    if not changes:
        raise Mistake(f"nothing to {act}: it is so already")
    write(store, changes)
    return store.append(Act(None, act, changes=changes), who or whoami(), pair)


def _one(store: Store, id_: str) -> tuple[int, Row]:
    number = store.number_of(id_)
    return number, rows_of(store, {number})[number]


def _tree(store: Store) -> Taxonomy:
    return taxonomy_of(store.categories())


def _labelled(store: Store, number: int) -> dict[str, tuple[str, float]]:
    """Document → (act, grade) of the labels that are this category."""
    return {
        document: (act, grade)
        for document, act, grade in store.run(
            "SELECT document, act, grade FROM statements WHERE category = ?", (number,)
        )
        if act in LABELS
    }


def _require_name(id_: str) -> None:
    if not id_.strip():
        raise Mistake("a category needs an id: give one or more visible characters")

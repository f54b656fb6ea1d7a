"""Changes of the taxonomy: foreseen in sentences, then carried out as logged acts.

Each is one transaction and one act of the judgment log, with what it changed; the
taxonomy is checked before anything is written. A merge lets the documents of the one
follow to the other, and a split lets some go: these are acts on the documents, logged
within the act, and undone with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from classmark.formats.records import THRESHOLD
from classmark.formats.text_files import open_bytes, whole_text
from classmark.language import _, whole
from classmark.problems import refusal
from classmark.taxonomy import edits
from classmark.taxonomy.category import DEPRECATED, Category, path_names, taxonomy_of
from classmark.workbench.categories.browse import branch_counts
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
    whoami,
)

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.store.store import Store


Sentences = Iterator[str]
JOIN, OTHER = "use merge to join the two", "use move, or another name"
DESCRIBED = frozenset({"note", "guideline", "notation"})
SPLITS = 5000  # documents that a form may split off at once
SPOKEN = "SELECT document, act, grade FROM statements WHERE category = ? ORDER BY seq"
COMPARED = (
    "SELECT document, category, other, grade FROM comparisons WHERE ? IN "
    "(category, other) ORDER BY seq"
)


def new_category(
    id_: str,
    label: str = "",
    parent: str | None = None,
    note: str = "",
    guideline: str = "",
) -> Category:
    """A category under a parent, or at the top (None)."""
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
    return Logged((_add(project.store, category, who),), f"added {category.id}")


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
        raise refusal("%(id)s: give it a new label, a new id, or both", id=id_)
    fields: Row = {} if label is None else {"label": label}
    with project.store.transaction():
        if new_id is not None:
            _require_name(new_id)
            project.store.number_of(id_)
            if new_id != id_ and project.store.has_category(new_id):
                raise refusal(
                    "%(new_id)r is already a category: %(join)s",
                    new_id=new_id,
                    join=JOIN,
                )
            fields["id"] = new_id
        seq = _change_fields(project.store, "rename", id_, fields, who)
    return Logged((seq,), f"renamed {id_} to {new_id or label}")


def describe(
    project: Project,
    id_: str,
    description: Mapping[str, str],
    synonyms: Sequence[str] | None = None,
    who: str = "",
) -> Logged:
    """Say anew what belongs to a category, and how experts decide.

    description : any of note, guideline and notation → its new text;  synonyms : its
    other names, None to leave them;  "" empties.
    """
    if unknown := description.keys() - DESCRIBED:
        raise refusal(
            "%(names)s cannot be described: give %(names2)s",
            names=", ".join(sorted(unknown)),
            names2=", ".join(sorted(DESCRIBED)),
        )
    if not description and synonyms is None:
        raise refusal(
            "%(id)s: enter its note, guideline, class mark or other names", id=id_
        )
    fields: Row = dict(description)
    if synonyms is not None:
        fields["synonyms"] = as_json([name for name in synonyms if name.strip()])
    seq = _change_fields(project.store, "describe", id_, fields, who)
    return Logged((seq,), f"described {id_}: {', '.join(sorted(fields))}")


def move(project: Project, id_: str, under: str | None, who: str = "") -> Logged:
    """Put a category, with all below it, under another one, or at the top."""
    store = project.store
    with store.transaction():
        number = store.number_of(id_)
        above = None if under is None else store.number_of(under)
        if above is not None and number in _and_above(store, above):
            edits.move(taxonomy_of(store.categories()), id_, under)  # names the cycle
        parents = as_json([] if above is None else [above])
        seq = _change_fields(store, "move", id_, {"parents": parents}, who, above)
    return Logged((seq,), f"moved {id_} under {under or 'nothing'}")


def retire(project: Project, id_: str, who: str = "") -> Logged:
    """Let no new document come to a category; those that are there stay."""
    seq = _change_fields(project.store, "retire", id_, {"status": DEPRECATED}, who)
    return Logged((seq,), f"retired {id_}")


def merge(project: Project, id_: str, into: str, who: str = "") -> Logged:
    """Let one category take over the documents and the daughters of another."""
    store, who = project.store, who or whoami()
    with store.transaction():
        number, target = store.number_of(id_), store.number_of(into)
        edits.merge(taxonomy_of(store.categories()), id_, into)
        rows = store.category_rows()
        after: dict[int, Row] = {number: rows[number] | {"stands": 0, "joined": target}}
        for child, row in rows.items():
            parents = json.loads(str(row["parents"]))
            if row["stands"] and number in parents:
                parents = dict.fromkeys(target if p == number else p for p in parents)
                after[child] = row | {"parents": as_json(list(parents))}
        carried = list(carried_acts(store, number, target, into))
        seq = log_changes(store, "merge", after, who, (number, target))
        numbers = store.judge((act._replace(within=seq) for act in carried), who)
    sentence = f"merged {id_} into {into} (judgments carried over: {len(numbers)})"
    return Logged((seq, *numbers), sentence)


def split(
    project: Project,
    id_: str,
    new: Category,
    documents: Sequence[str],
    who: str = "",
) -> Logged:
    """Move documents from a category to a new one, its sister unless it says else."""
    store, who = project.store, who or whoami()
    with store.transaction():
        number = store.number_of(id_)
        labels = {
            document: (act, grade)
            for document, act, grade in store.run(SPOKEN, (number,))
            if act in LABELS
        }
        for document in dict.fromkeys(documents):
            store.require_document(document)
            if document not in labels:
                raise refusal(
                    "document %(document)r is not in %(id)r: leave it out, or "
                    "assign it first",
                    document=document,
                    id=id_,
                )
        if not documents:
            raise refusal(
                "no documents to move from %(id)r: select some, or add an "
                "empty category",
                id=id_,
            )
        if not new.parents:
            rows = store.category_rows()
            parents = json.loads(str(rows[number]["parents"]))
            new = replace(new, parents=tuple(str(rows[p]["id"]) for p in parents))
        seq = _add(store, new, who, "split", number)
        acts = []
        for document in dict.fromkeys(documents):
            act, grade = labels[document]
            acts.append(Act(document, REMOVE, id_, within=seq))
            acts.append(Act(document, act, new.id, grade, within=seq))
        numbers = store.judge(acts, who)
    sentence = f"split {new.id} off from {id_} (documents moved: {len(numbers) // 2})"
    return Logged((seq, *numbers), sentence)


def carried_acts(store: Store, number: int, target: int, into: str) -> Iterator[Act]:
    """What was said of a category, as said of another, where that says more.

    number, target : of the two categories;  into : the id of the other.
    """
    there = {
        document: (act, grade) for document, act, grade in store.run(SPOKEN, (target,))
    }
    for document, act, grade in store.run(SPOKEN, (number,)).fetchall():
        act_there, grade_there = there.get(document, ("", 0.0))
        higher = act_there == ASSIGN and (grade or 0.0) > grade_there
        says_more = {
            PRIMARY: act_there != PRIMARY,
            ASSIGN: act_there not in LABELS or higher,
            UNSURE: act_there not in {*LABELS, UNSURE},
        }
        if says_more.get(act):
            yield Act(document, act, into, grade)
    compared = {
        (document, frozenset(pair))
        for document, *pair, _ in store.run(COMPARED, (target,))
    }
    for document, winner, loser, weight in store.run(COMPARED, (number,)).fetchall():
        third = loser if winner == number else winner
        row: Row = {"id": THRESHOLD, "stands": 1}
        if third is not None:
            row = store.category_rows([third])[third]
        if (
            third != target
            and row["stands"]
            and (document, frozenset({target, third})) not in compared
        ):
            pair = (into, str(row["id"]))
            winner_id, loser_id = pair if winner == number else pair[::-1]
            yield Act(document, PREFER, winner_id, weight, other=loser_id)


def _add(
    store: Store, new: Category, who: str, act: str = "add", of: int | None = None
) -> int:
    _require_name(new.id)
    sql = "SELECT coalesce(max(number), 0) + 1 FROM categories"
    with store.transaction():
        if store.has_category(new.id):
            raise refusal(
                "%(id)r is already a category: %(other)s", id=new.id, other=OTHER
            )
        parents = {parent: store.number_of(parent) for parent in new.parents}
        number = int(store.run(sql).fetchone()[0])
        pair = (number, None) if of is None else (of, number)
        return log_changes(store, act, {number: as_row(new, parents)}, who, pair)


def _and_above(store: Store, number: int) -> set[int]:
    """A category and all that stand above it, by number."""
    reached, waiting = set[int](), [number]
    while waiting:
        rows = store.category_rows(set(waiting) - reached)
        reached |= rows.keys()
        waiting = [p for row in rows.values() for p in json.loads(str(row["parents"]))]
        waiting = [parent for parent in waiting if parent not in reached]
    return reached


def _change_fields(
    store: Store, act: str, id_: str, fields: Row, who: str, other: int | None = None
) -> int:
    with store.transaction():
        number = store.number_of(id_)
        row = store.category_rows([number])[number]
        return log_changes(store, act, {number: row | fields}, who, (number, other))


def log_changes(
    store: Store,
    act: str,
    after: dict[int, Row],
    who: str,
    pair: tuple[int | None, int | None] = (None, None),
) -> int:
    """Make the changes, and append them to the log as one act."""
    changes = difference(store.category_rows(after), after)
    if not changes:
        raise refusal("nothing to %(act)s: this is already so", act=act)
    return store.append(Act(None, act, changes=changes), who or whoami(), pair)


def _require_name(id_: str) -> None:
    if not id_.strip():
        raise refusal("a category needs an id: give one or more visible characters")


@dataclass(frozen=True, slots=True)
class TaxonomyChange:
    """A change of the taxonomy, as a form has it.

    act : one of ``CHANGES``;  category : of which, or, for add, the one above ("": the
    top);  to : where it goes;  id, label : new ones;  documents : that go with a split;
    description : note, guideline, notation, and synonyms, one a line.
    """

    act: str
    category: str = ""
    to: str = ""
    id: str = ""
    label: str = ""
    documents: tuple[str, ...] = ()
    description: Mapping[str, str] | None = None


def foresee(project: Project, change: TaxonomyChange) -> tuple[str, ...]:
    """What a change would do, in sentences; a ``Mistake`` where it cannot be done."""
    _require_act(change)
    if change.act != "add" or change.category:
        _require_category(project, change.category)
    return tuple(CHANGES[change.act](project, change))


def carry_out(project: Project, change: TaxonomyChange, who: str) -> Logged:
    """Write a change to the log; it can be undone."""
    _require_act(change)
    id_, to, label = change.category, change.to, change.label
    match change.act:
        case "add":
            logged = add(project, new_category(change.id, label, id_ or None), who)
        case "rename":
            new_id = change.id or None
            logged = rename(project, id_, label=label or None, new_id=new_id, who=who)
        case "move":
            logged = move(project, id_, to or None, who)
        case "merge":
            logged = merge(project, id_, to, who)
        case "split":
            new = new_category(change.id, label)
            logged = split(project, id_, new, change.documents, who)
        case "retire":
            logged = retire(project, id_, who)
        case _:
            texts = dict(change.description or {})
            lines = texts.pop("synonyms", None)
            names = None if lines is None else [n.strip() for n in lines.splitlines()]
            logged = describe(project, id_, texts, names, who)
    return logged


def _require_act(change: TaxonomyChange) -> None:
    if change.act not in CHANGES:
        raise refusal(
            "act is %(act)r: use %(changes)s",
            act=change.act,
            changes=", ".join(CHANGES),
        )


def _require_category(project: Project, id_: str) -> None:
    if id_ not in project.categories:
        raise refusal(
            "there is no category %(id)r: search for it, and choose one", id=id_
        )


def _path(project: Project, id_: str) -> str:
    return " › ".join(path_names(project.categories, project.tree, id_))


def _foresee_add(project: Project, change: TaxonomyChange) -> Sentences:
    edits.add(project.tree, change.id)
    _require_name(change.id)
    name = change.label or change.id
    if not change.category:
        yield _("“%(name)s” becomes a new top-level category.", name=name)
        return
    under = _path(project, change.category)
    yield _(
        "“%(name)s” becomes a new category under %(under)s.", name=name, under=under
    )
    documents = project.state.counts[change.category]
    if project.tree.is_leaf(change.category) and documents:
        yield _("Documents that stay in the category above: %(n)s.", n=whole(documents))


def _foresee_rename(project: Project, change: TaxonomyChange) -> Sentences:
    if not (change.label or change.id):
        raise refusal("give a new label, a new id, or both")
    if change.id:
        edits.rename(project.tree, change.category, change.id)
    documents = project.state.counts[change.category]
    old = _path(project, change.category)
    yield _("%(old)s is renamed “%(new)s”.", old=old, new=change.label or change.id)
    if change.id and change.id != change.category:
        yield _("Its id %(old)s becomes %(new)s.", old=change.category, new=change.id)
    yield _("Its decisions and documents (%(n)s) stay with it.", n=whole(documents))


def _foresee_move(project: Project, change: TaxonomyChange) -> Sentences:
    if change.to:
        _require_category(project, change.to)
    edits.move(project.tree, change.category, change.to or None)
    below = len(project.tree.descendants(change.category))
    documents = branch_counts(project).get(change.category, 0)
    target = _path(project, change.to) if change.to else _("the top level")
    moved = {"name": _path(project, change.category), "target": target}
    yield _("%(name)s moves to %(target)s.", **moved)
    if below:
        yield _("Its subcategories (%(n)s) move with it.", n=whole(below))
    yield _(
        "Documents that move with it: %(n)s. No decision changes.", n=whole(documents)
    )


def _foresee_merge(project: Project, change: TaxonomyChange) -> Sentences:
    _require_category(project, change.to)
    edits.merge(project.tree, change.category, change.to)
    store = project.store
    numbers = store.number_of(change.category), store.number_of(change.to)
    acts = sum(1 for _ in carried_acts(store, *numbers, change.to))
    labelled = project.state.documents
    moving, there = (labelled.get(id_, []) for id_ in (change.category, change.to))
    both = len(set(moving) & set(there))
    name, into = (_path(project, id_) for id_ in (change.category, change.to))
    yield _("%(name)s is merged into %(into)s.", name=name, into=into)
    yield _("Documents that move there: %(n)s.", n=whole(len(moving)))
    if both:
        yield _("Of these, already there: %(n)s.", n=whole(both))
    yield _("Decisions carried over: %(n)s.", n=whole(acts))
    if daughters := len(project.tree.children(change.category)):
        yield _("Subcategories that move with it: %(n)s.", n=whole(daughters))


def _foresee_split(project: Project, change: TaxonomyChange) -> Sentences:
    if not change.id.strip():
        raise refusal("the new category needs an id: give one")
    edits.add(project.tree, change.id)
    moving = len(change.documents)
    if not 1 <= moving <= SPLITS:
        raise refusal(
            "select the documents for the new category (1 to %(splits)s)",
            splits=SPLITS,
        )
    staying = max(0, project.state.counts[change.category] - moving)
    name, beside = change.label or change.id, _path(project, change.category)
    yield _("“%(name)s” becomes a new category next to %(old)s.", name=name, old=beside)
    counts = {"moving": whole(moving), "staying": whole(staying)}
    yield _("Documents that move there: %(moving)s; that stay: %(staying)s.", **counts)


def _foresee_retire(project: Project, change: TaxonomyChange) -> Sentences:
    if project.categories[change.category].status == DEPRECATED:
        raise refusal("%(category)s is retired already", category=change.category)
    documents = project.state.counts[change.category]
    name = _path(project, change.category)
    yield _("%(name)s is no longer suggested and takes no new documents.", name=name)
    yield _("Documents that stay there: %(n)s.", n=whole(documents))


def _foresee_describe(project: Project, change: TaxonomyChange) -> Sentences:
    fields = ", ".join(sorted(change.description or ()))
    name = _path(project, change.category)
    yield _(
        "The description of %(name)s changes: %(fields)s.", name=name, fields=fields
    )


CHANGES: Mapping[str, Callable[[Project, TaxonomyChange], Sentences]] = {
    "add": _foresee_add,
    "rename": _foresee_rename,
    "move": _foresee_move,
    "merge": _foresee_merge,
    "split": _foresee_split,
    "retire": _foresee_retire,
    "describe": _foresee_describe,
}

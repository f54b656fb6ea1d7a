"""More like these at once, by an index: nothing is read but examples and postings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from classmark.examples.online import TERMS, Online
from classmark.problems import Mistake
from classmark.ranking import top
from classmark.workbench.index_folders import open_index
from classmark.workbench.indexing import is_stale, open_project_index
from classmark.workbench.likes import (
    HEAVIEST,
    REASONS,
    Liked,
    Likes,
    require_count,
    require_terms,
    title_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    from classmark.index.index import Index
    from classmark.machines.cluster import Machines
    from classmark.machines.examples import Offline
    from classmark.workbench.liking import Given
    from classmark.workbench.project import Project

LITTLE = "1MB"  # of postings kept decoded here, where machines read them
STALE = "documents were imported since: classmark index brings the index up to date"


def like_in_index(
    folder: Path, given: Given, k: int = 10, *, machines: Machines | None = None
) -> Likes:
    """Rank the documents of an index in a folder of its own.

    machines : learn from all documents, not from their mean alone, each machine having
    some; every method will do.
    """
    if machines is None:
        return _found(open_index(folder), given, k)
    from classmark.machines.examples import Offline

    _asked(given)
    index = open_index(folder, LITTLE)
    return replace(_found(index, given, k, Offline(index, machines)), search="index")


def like_online(project: Project, given: Given, k: int = 10) -> Likes:
    """Rank the documents of a project by its index; nothing is kept of it."""
    index = open_project_index(project)
    found = _found(index, given, k)
    liked = [
        replace(each, title=title_of(project.store.document(each.id)))
        for each in found.found
    ]
    notes = [STALE] if is_stale(project) else []
    return replace(found, found=liked, notes=notes)


def _asked(given: Given) -> tuple[list[str], list[str], list[str]]:
    """The examples, and what was said yes and no to."""
    if given.files or given.category is not None or given.undo or given.redo:
        raise Mistake(
            "an online search takes --examples, --yes and --no, documents of the index"
        )
    examples, yes, no = (_ids(some) for some in (given.examples, given.yes, given.no))
    _require_sides([*examples, *yes], no)
    return examples, yes, no


def _found(index: Index, given: Given, k: int, offline: Offline | None = None) -> Likes:
    examples, yes, no = _asked(given)
    method = given.method or "auto"
    wanted = [*examples, *(id_ for id_ in yes if id_ not in examples)]
    terms = None if given.terms is None else require_terms(given.terms)
    k = require_count(k)
    finder = offline or Online(index)
    if isinstance(finder, Online):
        found = finder.find(wanted, k, no, method, given.C, terms or TERMS)
    else:
        found = finder.find(wanted, k, no, method, given.C, terms)
    names, sizes = list(found.weights), [abs(w) for w in found.weights.values()]
    heaviest = {names[at]: found.weights[names[at]] for at in top(sizes, HEAVIEST)}
    each = zip(found.ids, found.scores, finder.reasons(found, REASONS), strict=True)
    liked = [Liked(i, id_, id_, s, why) for i, (id_, s, why) in enumerate(each, 1)]
    return Likes(
        "online", method, given.C, len(examples), len(yes), len(no),
        len(found.weights), heaviest, len(index) - len({*wanted, *no}), liked,
    )  # fmt: skip


def _require_sides(wanted: list[str], no: list[str]) -> None:
    """Refuse a search without examples, or one that wants what it does not want."""
    if not wanted:
        raise Mistake("an online search learns from examples: give ids with --examples")
    if both := set(wanted) & set(no):
        raise Mistake(f"document {min(both)!r}: yes and no: say one of them")


def _ids(texts: tuple[str, ...]) -> list[str]:
    """Ids with commas between them, each once."""
    parts = [part.strip() for text in texts for part in text.split(",")]
    return list(dict.fromkeys(part for part in parts if part))

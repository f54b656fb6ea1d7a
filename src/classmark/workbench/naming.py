"""What shall a proposed category be called? By words of its documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from classmark.formats.records import Record
from classmark.workbench.collecting import text_of
from classmark.workbench.vectors import Collection, words_behind

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.store import Store


def words_of(
    project: Project,
    collection: Collection,
    documents: Sequence[str],
    terms: Sequence[str],
) -> tuple[str, ...]:
    """The terms as words that people recognise."""
    analyzer = collection.vectorizer.analyzer_
    behind: dict[str, str] = {}
    for id_ in documents:
        if all(term in behind for term in terms):
            break
        text = text_of(project, Record(project.store.document(id_)))
        behind = words_behind(text, analyzer) | behind
    return tuple(behind.get(term, term) for term in terms)


def beginning_of_ids(store: Store, node: str) -> str:
    """What the ids of daughters begin with, if most ids tell of parents: «nature.»."""
    pairs = [(c.id, parent) for c in store.categories() for parent in c.parents]
    signs = [
        id_[len(parent)]
        for id_, parent in pairs
        if id_.startswith(parent) and len(id_) > len(parent)
    ]
    told = [sign for sign in signs if not sign.isalnum()]
    return node + told[0] if 2 * len(told) > len(pairs) else ""


def free_id(before: str, terms: Sequence[str], taken: set[str]) -> str:
    """An id of the first term, of more of them, or with a number, not yet taken.

    >>> free_id("nature.", ("bees", "hive"), {"nature.bees"})
    'nature.bees-hive'
    """
    names = ["-".join(terms[:count]) for count in range(1, len(terms) + 1)]
    tries = [before + name.replace(" ", "-") for name in names]
    for name in tries:
        if name not in taken:
            return name
    return next(
        name
        for name in (f"{tries[0]}-{count}" for count in range(2, len(taken) + 3))
        if name not in taken
    )

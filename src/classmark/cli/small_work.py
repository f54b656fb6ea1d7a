"""Which work is so small that plain Python does it before numba would be loaded?

To import numba and to open the machine code of a few kernels takes about 0.7 s of every
process. Plain Python reads a character in 4 µs and scores a document of 50 terms on 79
categories in 1.5 ms, to the same bits.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from classmark.compiled import plain_kernels
from classmark.storage import saved_settings

if TYPE_CHECKING:
    from classmark.workbench.project import Project

BYTES = 4_000_000  # of the store; the demo's has 1.1 MB
CHARACTERS = 100_000  # to be read: 0.4 s
SCORES = 20_000  # documents × categories: 0.4 s
QUICK = frozenset(
    {"auto", "centroid", "rocchio", "one-class", "balanced", "precision@k", "recall@k"}
)  # methods that learn from a few examples in 0.3 s


def kernels_for(
    project: Project, documents: int = 1, text: str = ""
) -> AbstractContextManager[None]:
    """Run kernels as plain Python where a command does little in a small project.

    documents : how many of the project's are read and scored, 0 if the ranker is not
    asked;  text : another one.
    """
    small = is_small(project, documents, text)
    return plain_kernels() if small else nullcontext()


def kernels_to_learn(
    project: Project, method: str | None
) -> AbstractContextManager[None]:
    """The same where a query is learned from examples, over vectors made before.

    method : None for that of the search, which is taken for a quick one.
    """
    from classmark.workbench.examples.vectors import are_saved

    quick = method is None or method in QUICK
    if quick and is_small(project, 0) and are_saved(project):
        return plain_kernels()
    return nullcontext()


def is_small(project: Project, documents: int = 1, text: str = "") -> bool:
    """Whether so little is done in less time than numba needs to load."""
    store = project.store
    if project.settings.store.url or store.path.stat().st_size > BYTES:
        return False
    if documents:
        documents += _to_learn(project)
    categories, longest, total = store.run(
        "SELECT (SELECT count(*) FROM categories), "
        "coalesce(max(length(fields)), 0), coalesce(sum(length(fields)), 0) "
        "FROM documents"
    ).fetchone()
    characters = len(text) + min(documents * longest, total)
    return documents * categories <= SCORES and bool(characters <= CHARACTERS)


def _to_learn(project: Project) -> int:
    """How many acts the live ranker learns first; many where the ranker is not live."""
    live = project.lives.current()
    if live is None and project.models.current() is not None:
        return SCORES + 1
    upto = -1 if live is None else saved_settings(live)["facts"]["upto"]
    acts = "SELECT count(*) FROM judgments WHERE seq > ?"
    return int(project.store.run(acts, (upto,)).fetchone()[0])

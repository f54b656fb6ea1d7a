"""Which categories for this text, and why?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from classmark.formats.text_files import open_bytes, whole_text
from classmark.problems import Mistake
from classmark.rankers.calibration import ENOUGH
from classmark.taxonomy.category import Category, taxonomy_of
from classmark.workbench.views import Explained

if TYPE_CHECKING:
    from classmark.rankers.text_ranker import TextRanker
    from classmark.taxonomy.tree import Taxonomy
    from classmark.workbench.project import Project


T = TypeVar("T")
Tree = tuple[Mapping[str, Category], "Taxonomy"]
_READ: WeakKeyDictionary[Project, dict[Any, tuple[Any, Any]]] = WeakKeyDictionary()


class Served(NamedTuple):
    """Who answers for a project that is kept open: its model, and its categories."""

    model: Callable[[], TextRanker | None]
    tree: Callable[[], Tree]


_SERVED: WeakKeyDictionary[Project, Served] = WeakKeyDictionary()


def serve(project: Project, served: Served) -> None:
    """Let somebody answer for a project from now on, instead of its files."""
    _SERVED[project] = served


def model_in_service(project: Project) -> TextRanker:
    """The ranker that has learned from every decision; else the one last trained.

    Its categories are called by their present ids; those that were merged are one, and
    those that were retired are not ranked.
    """
    found = model_if_any(project)
    if found is None:
        raise Mistake(
            f"{project.folder} has no model yet: decide on a document, or import "
            "labelled ones and run classmark train"
        )
    return found


def model_if_any(project: Project) -> TextRanker | None:
    """As ``model_in_service``; None where nothing was learned yet.

    It is opened once, and again when something has changed in the project.
    """
    served = _SERVED.get(project)
    return remembered(project, _opened) if served is None else served.model()


def categories_in_tree(project: Project) -> Tree:
    """The categories of today by id, and their tree; read once, as the model is."""
    served = _SERVED.get(project)
    return remembered(project, _in_tree) if served is None else served.tree()


def _in_tree(project: Project) -> Tree:
    known = {category.id: category for category in project.store.categories()}
    return known, taxonomy_of(known.values())


def remembered(project: Project, read: Callable[[Project], T]) -> T:
    """What is read of a project, until something changes in it."""
    before = _state(project)
    kept = _READ.setdefault(project, {})
    if read in kept and kept[read][0] == before:
        found: T = kept[read][1]
        return found
    found = read(project)
    after = _state(project)
    if after[0] == before[0]:
        kept[read] = after, found
    return found


def _state(project: Project) -> tuple[Any, ...]:
    """What changes with every act: by others, by this process, and the models."""
    others, own = project.store.state()
    return others, own, project.models.current(), project.lives.current()


def _opened(project: Project) -> TextRanker | None:
    from classmark.workbench.live import learner_in_service
    from classmark.workbench.models import with_votes

    learner = learner_in_service(project)
    if learner is not None:
        return with_votes(project, learner.model())
    return trained_model(project)


def trained_model(project: Project) -> TextRanker | None:
    """The model last trained, in the categories of today; None before the first."""
    from classmark.workbench.models import as_of_now, open_model, with_votes

    folder = project.models.current()
    if folder is None:
        return None
    return as_of_now(project, with_votes(project, open_model(folder)))


def suggest(
    project: Project,
    text: str,
    k: int = 5,
    terms: int = 5,
    min_probability: float | None = None,
) -> list[Explained]:
    """The best categories of the current model, with path and evidence.

    min_probability : leave out what is less likely; an empty list is an abstention.
    """
    if not text.strip():
        raise Mistake("the text is empty: give some words to place")
    if k < 1:
        raise Mistake(f"k is {k}: ask for at least one category")
    model = model_in_service(project)
    least = _least(model, min_probability)
    decisions = None if model.calibrator is None else model.calibrator.decisions_
    known, tree = categories_in_tree(project)
    return [
        Explained(
            found.category,
            path_names(known, tree, found.category),
            found.rank,
            found.score,
            dict(found.favour),
            dict(found.against),
            found.probability,
            decisions,
        )
        for found in model.suggest(text, k, terms)
        if found.probability is None or found.probability >= least
    ]


def _least(model: TextRanker, wanted: float | None) -> float:
    """The least probability to be shown, once it is known that it can be told."""
    if wanted is None:
        return 0.0
    if not 0 <= wanted <= 1:
        raise Mistake(f"min-probability is {wanted}: give a number from 0 to 1")
    if model.calibrator is None:
        raise Mistake(
            "min-probability needs a calibrated model: train again with "
            f"{ENOUGH} or more labelled documents"
        )
    return wanted


def path_names(
    known: Mapping[str, Category], tree: Taxonomy, category: str
) -> tuple[str, ...]:
    """The labels from the root to the category; its id where it is unknown."""
    if category not in known:
        return (category,)
    return tuple(known[node].name for node in tree.path(category))


def wanted_text(
    project: Project, path: Path | None, text: str | None, document: str | None
) -> str:
    """The one text that was named: a file, standard input (``-``), words, or an id."""
    named = [choice for choice in (path, text, document) if choice is not None]
    if len(named) != 1:
        raise Mistake(
            "name one text: a FILE (- for standard input), --text or --document"
        )
    if text is not None:
        return text
    if document is not None:
        return project.store.document(document).text
    if str(path) == "-":
        return sys.stdin.read()
    with open_bytes(path or "") as stream:
        return whole_text(stream, str(path))

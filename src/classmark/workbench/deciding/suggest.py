"""Which categories for this text, and why?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from classmark.formats.text_files import open_bytes, whole_text
from classmark.problems import Mistake
from classmark.rankers.calibration import ENOUGH
from classmark.taxonomy.category import path_names
from classmark.workbench.results import Explained

if TYPE_CHECKING:
    from classmark.rankers.text_ranker import TextRanker
    from classmark.workbench.project import Project
    from classmark.workbench.team.desk import Desk


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
    model = project.require_model()
    least = _least(model, min_probability)
    decisions = None if model.calibrator is None else model.calibrator.decisions_
    categories, tree = project.categories, project.tree
    return [
        Explained(
            suggestion.category,
            path_names(categories, tree, suggestion.category),
            suggestion.rank,
            suggestion.score,
            dict(suggestion.favour),
            dict(suggestion.against),
            suggestion.probability,
            decisions,
        )
        for suggestion in model.suggest(text, k, terms)
        if suggestion.probability is None or suggestion.probability >= least
    ]


def _least(model: TextRanker, probability: float | None) -> float:
    """The least probability to be shown, once it is known that it can be told."""
    if probability is None:
        return 0.0
    if not 0 <= probability <= 1:
        raise Mistake(f"min-probability is {probability}: give a number from 0 to 1")
    if model.calibrator is None:
        raise Mistake(
            "min-probability needs a calibrated model: train again with "
            f"{ENOUGH} or more labelled documents"
        )
    return probability


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


MOST = 1000  # categories for a text


def suggest_for(
    desk: Desk,
    text: str,
    k: int = 5,
    terms: int = 5,
    min_probability: float | None = None,
) -> list[Explained]:
    """The best categories for a text, with path and evidence; see ``suggest``."""
    if k > MOST:
        raise Mistake(f"k is {k}: ask for at most {MOST} categories")
    return suggest(desk, text, k, terms, min_probability)

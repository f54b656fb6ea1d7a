"""Where in the tree can a document be put for sure: a leaf, higher up, or nowhere?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.formats.record import Record
from classmark.problems import Mistake
from classmark.rankers.calibration import ENOUGH
from classmark.taxonomy.category import taxonomy_of
from classmark.workbench.collecting import text_of
from classmark.workbench.models import how_to_place
from classmark.workbench.suggesting import model_in_service, path_names
from classmark.workbench.views import Cell, Place, Table

if TYPE_CHECKING:
    from classmark.rankers.text import TextRanker
    from classmark.workbench.project import Project

PRECISION = 0.95
CELLS = 1 << 23  # scores held at once: 64 MiB


def place(
    project: Project,
    documents: Sequence[str] = (),
    precision: float = PRECISION,
    top: int = 20,
) -> Table:
    """Put documents in the tree, as deep as can be said; without names, those waiting.

    top : how many of those waiting, 0 for all.
    """
    if top < 0:
        raise Mistake(f"n is {top}: ask for one document or more, or 0 for all")
    store = project.store
    chosen = [store.document(id_) for id_ in documents]
    if not documents:
        chosen = list(islice(store.undecided(), top or None))
    texts = [text_of(project, Record(document)) for document in chosen]
    found = places_of_texts(project, texts, precision)
    rows: list[dict[str, Cell]] = [
        {
            "document": document.id,
            "kind": put.kind,
            "category": put.category,
            "place": " › ".join(put.path) or None,
            "probability": put.probability,
        }
        for document, put in zip(chosen, found, strict=True)
    ]
    return Table("Places", rows, _note(found, precision))


def place_if_any(project: Project, text: str) -> Place | None:
    """The place of a text; None where the model cannot say where to stop."""
    if how_to_place(project) is None:
        return None
    return places_of_texts(project, [text])[0]


def places_of_texts(
    project: Project, texts: Sequence[str], precision: float = PRECISION
) -> list[Place]:
    """The place of each text, in the tree the model was trained with."""
    model = model_in_service(project)
    learned = how_to_place(project)
    if learned is None:
        raise Mistake(
            "the model in service cannot say where to stop in a tree: train it on "
            f"{ENOUGH} or more labelled documents, with a taxonomy of several levels"
        )
    back_off, now = learned
    known = {category.id: category for category in project.store.categories()}
    tree = taxonomy_of(known.values())
    back_off = back_off.at(precision)
    column = {id_: at for at, id_ in enumerate(model.categories)}
    column |= {now(id_): at for id_, at in column.items()}
    columns = np.array([column.get(now(c), -1) for c in back_off.classes_], np.int64)
    found = []
    for scores in _blocks(model, texts):
        wide = np.pad(scores, ((0, 0), (0, 1)), constant_values=-inf)
        for node, kind, chance in zip(*back_off.place(wide[:, columns]), strict=True):
            category = None if node is None else now(node)
            path = () if category is None else path_names(known, tree, category)
            found.append(Place(kind, category, path, float(chance)))
    return found


def _blocks(model: TextRanker, texts: Sequence[str]) -> Iterable[Any]:
    size = max(1, CELLS // max(1, len(model.categories)))
    for low in range(0, len(texts), size):
        yield model.scores(texts[low : low + size])


def _note(found: Sequence[Place], precision: float) -> str:
    if not found:
        return "no document is waiting: every one is decided or set aside"
    count = Counter(put.kind for put in found)
    shares = ", ".join(
        f"{count[kind]} {what}"
        for kind, what in (
            ("leaf", "at a leaf"),
            ("inner", "higher up"),
            ("left", "left to the expert"),
        )
    )
    return f"{shares}; {precision:.0%} of those placed are to be right or above it"

"""Where in the tree can a document be put for sure: a leaf, higher up, or nowhere?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import Ints
from classmark.formats.records import Record
from classmark.problems import Mistake
from classmark.rankers.calibration import ENOUGH
from classmark.taxonomy.category import ACTIVE, Category, path_names
from classmark.workbench.learning.models import HowToPlace, how_to_place
from classmark.workbench.results import Cell, Place, Table

if TYPE_CHECKING:
    from classmark.rankers.text_ranker import TextRanker
    from classmark.taxonomy.tree import Taxonomy
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
    texts = [project.text_of(Record(document)) for document in chosen]
    places = places_of_texts(project, texts, precision)
    rows: list[dict[str, Cell]] = [
        {
            "document": document.id,
            "kind": put.kind,
            "category": put.category,
            "place": " › ".join(put.path) or None,
            "probability": put.probability,
        }
        for document, put in zip(chosen, places, strict=True)
    ]
    return Table("Places", rows, _note(places, precision))


def place_if_any(project: Project, text: str) -> Place | None:
    """The place of a text; None where the model cannot say where to stop."""
    learned = project.once(how_to_place)
    return None if learned is None else _placed(project, learned, [text], PRECISION)[0]


def places_of_texts(
    project: Project, texts: Sequence[str], precision: float = PRECISION
) -> list[Place]:
    """The place of each text, in the tree the model was trained with."""
    project.require_model()  # the first thing that may be missing
    learned = project.once(how_to_place)
    if learned is None:
        raise Mistake(
            "the model in service cannot say where to stop in a tree: train it on "
            f"{ENOUGH} or more labelled documents, with a taxonomy of several levels"
        )
    return _placed(project, learned, texts, precision)


def _placed(
    project: Project, learned: HowToPlace, texts: Sequence[str], precision: float
) -> list[Place]:
    model = project.require_model()
    back_off, now = learned[0].at(precision), learned[1]
    categories, tree = project.categories, project.tree
    columns = _columns(model.categories, back_off.classes_, now)
    found = []
    for scores in _blocks(model, texts):
        wide = np.pad(scores, ((0, 0), (0, 1)), constant_values=-inf)
        for node, kind, chance in zip(*back_off.place(wide[:, columns]), strict=True):
            there = None if node is None else now(node)
            category = _open_one(categories, tree, there)
            score_name = kind if category == there else "inner" if category else "left"
            path = () if category is None else path_names(categories, tree, category)
            found.append(Place(score_name, category, path, float(chance)))
    return found


def _columns(
    categories: Sequence[str], classes: Sequence[str], now: Callable[[str], str]
) -> Ints:
    """The column of each class, −1 if it has none; of merged ones, one has it.

    That is the one whose id has stayed, else the first.
    """
    column = {id_: at for at, id_ in enumerate(categories)}
    owner: dict[str, str] = {}
    for class_ in classes:
        id_ = now(class_)
        owner[id_] = class_ if class_ == id_ else owner.get(id_, class_)
    mine = (now(class_) if owner[now(class_)] == class_ else "" for class_ in classes)
    return np.array([column.get(id_, -1) for id_ in mine], np.int64)


def _open_one(
    categories: Mapping[str, Category], tree: Taxonomy, category: str | None
) -> str | None:
    """The category, or the nearest above it that is not retired; None if none is."""
    path = tree.path(category) if category in categories else []
    return next((v for v in reversed(path) if categories[v].status == ACTIVE), None)


def _blocks(model: TextRanker, texts: Sequence[str]) -> Iterable[Any]:
    size = max(1, CELLS // max(1, len(model.categories)))
    for low in range(0, len(texts), size):
        yield model.scores(texts[low : low + size])


def _note(places: Sequence[Place], precision: float) -> str:
    if not places:
        return "no document is waiting: every one is decided or set aside"
    count = Counter(put.kind for put in places)
    shares = ", ".join(
        f"{count[kind]} {words}"
        for kind, words in (
            ("leaf", "at a leaf"),
            ("inner", "higher up"),
            ("left", "left to the expert"),
        )
    )
    return (
        f"{shares}; {100 * precision:g} % of the documents placed are to be right: "
        "at a right category or one above it"
    )

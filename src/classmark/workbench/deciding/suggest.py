"""Which categories for a text, and why; and where in the tree it can be put for sure.

The place of a document is a leaf, a category higher up, or nowhere.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from classmark.arrays import take
from classmark.formats import read_records
from classmark.formats.feature_lines import line_text
from classmark.formats.records import Record
from classmark.formats.text_files import EITHER, open_bytes, whole_text
from classmark.problems import refusal
from classmark.rankers.calibration import ENOUGH
from classmark.ranking import order as ranked
from classmark.taxonomy.category import ACTIVE, path_names
from classmark.workbench.deciding.decide import version_of
from classmark.workbench.learning.models import how_to_place
from classmark.workbench.results import Cell, Explained, Place, Table

if TYPE_CHECKING:
    from classmark.arrays import Floats, Rows
    from classmark.rankers.text_ranker import TextRanker
    from classmark.workbench.project import Project


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
    text = as_read(project, text)
    if not text.strip():
        raise refusal("the text is empty: enter some words")
    if k < 1:
        raise refusal("the number of categories is %(k)s: enter at least 1", k=k)
    model = project.require_model()
    if min_probability is not None and not 0 <= min_probability <= 1:
        raise refusal(
            "min-probability is %(min_probability)s: give a number from 0 to 1",
            min_probability=min_probability,
        )
    if min_probability is not None and model.calibrator is None:
        raise refusal(
            "min-probability needs a calibrated model: train again with "
            "%(enough)s or more labelled documents",
            enough=ENOUGH,
        )
    decisions = None if model.calibrator is None else model.calibrator.decisions_
    return [
        Explained(
            suggestion.category,
            path_names(project.categories, project.tree, suggestion.category),
            suggestion.rank,
            suggestion.score,
            dict(suggestion.favour),
            dict(suggestion.against),
            suggestion.probability,
            decisions,
            suggestion.belongs,
            suggestion.parts and suggestion.parts.words,
            suggestion.parts and suggestion.parts.meaning,
            suggestion.name,
        )
        for suggestion in model.suggest(text, k, terms)
        if (suggestion.probability or 0.0) >= (min_probability or 0.0)
    ]


def wanted_text(
    project: Project, path: Path | None, text: str | None, document: str | None
) -> str:
    """The one text that was named: a file, standard input (``-``), words, or an id."""
    named = [choice for choice in (path, text, document) if choice is not None]
    if len(named) != 1:
        raise refusal(
            "name one text: a FILE (- for standard input), --text or --document"
        )
    if text is not None:
        return text
    if document is not None:
        return project.store.document(document).text
    if str(path) == "-":
        return sys.stdin.read()
    with open_bytes(path or "") as stream:
        return whole_text(stream, str(path), EITHER)


def several_texts(project: Project, paths: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Name and text of each file, and of each document of a folder.

    A folder is read as ``classmark import`` reads it; its labels are not looked at.
    """
    for path in paths:
        if not path.is_dir():
            yield str(path), wanted_text(project, path, None, None)
            continue
        for record in read_records(path):
            yield record.id, project.text_of(record)


PRECISION = 0.95
BELONGS = "belongs"  # the kind of a place whose score is above its threshold
CELLS = 1 << 23  # scores held at once: 64 MiB


@dataclass(frozen=True, slots=True)
class PlacedDocument(Place):
    """The place of a document; version : its last act then."""

    document: str
    version: int


def placed(
    project: Project,
    documents: Sequence[str] = (),
    precision: float = PRECISION,
    top: int = 20,
) -> list[PlacedDocument]:
    """Put documents in the tree, as deep as can be said; without names, those waiting.

    Where the model has thresholds, a document goes to every category that belongs, and
    to a place in the tree only if none does. top : how many of those waiting, 0 for
    all.
    """
    if top < 0:
        raise refusal(
            "n is %(top)s: ask for one document or more, or 0 for all", top=top
        )
    store = project.store
    chosen = [store.document(id_) for id_ in documents]
    if not documents:
        chosen = list(islice(store.undecided(), top or None))
    texts = [project.text_of(Record(document)) for document in chosen]
    places = all_places(project, texts, precision)
    return [
        PlacedDocument(
            put.kind, put.category, put.path, put.probability,
            document.id, version_of(store, document.id),
        )
        for document, each in zip(chosen, places, strict=True)
        for put in each
    ]  # fmt: skip


def place(
    project: Project,
    documents: Sequence[str] = (),
    precision: float = PRECISION,
    top: int = 20,
) -> Table:
    """The places of documents, as ``placed`` finds them."""
    places = placed(project, documents, precision, top)
    rows: list[dict[str, Cell]] = [
        {
            "document": put.document,
            "kind": put.kind,
            "category": put.category,
            "place": " › ".join(put.path) or None,
            "probability": put.probability,
        }
        for put in places
    ]
    return Table("Places", rows, places_in_words(places, precision))


def places_in_words(places: Sequence[PlacedDocument], precision: float) -> str:
    """How many documents were put where, and how far to rely on it."""
    if not places:
        return "no document is waiting: all are decided or postponed"
    count = Counter({put.document: put.kind for put in places}.values())
    note = (
        f"{count['leaf']} at a leaf, {count['inner']} higher up, {count['left']} "
        "left to the expert"
    )
    if count[BELONGS]:
        note = f"{count[BELONGS]} where categories belong, {note}"
    if count["leaf"] or count["inner"] or not count[BELONGS]:
        note += (
            f"; {100 * precision:g} % of all documents placed are to be right, at a "
            "right category or one above it; a single one can be less likely"
        )
    return note


def all_places(
    project: Project, texts: Sequence[str], precision: float
) -> list[list[Place]]:
    """The categories that belong to each text, best first; else its place in the tree.

    Without a tree, a text to which none belongs is left to the expert.
    """
    model = project.require_model()
    if model.ranker.limits is None:
        return [[put] for put in places_of_texts(project, texts, precision)]
    places: list[list[Place]] = []
    size = max(1, CELLS // max(1, len(model.categories)))
    for low in range(0, len(texts), size):
        scores = model.scores(texts[low : low + size])
        rows = model.vectorizer.rows(texts[low : low + size])
        places += [
            _belonging(project, model, each, take(rows, [at]))
            for at, each in enumerate(scores)
        ]
    rest = [at for at, each in enumerate(places) if not each]
    if project.once(how_to_place) is None:
        backed_off = [Place("left", None, (), 0.0) for _ in rest]
    else:
        backed_off = places_of_texts(project, [texts[at] for at in rest], precision)
    for at, put in zip(rest, backed_off, strict=True):
        places[at] = [put]
    return places


def _belonging(
    project: Project, model: TextRanker, scores: Floats, X: Rows
) -> list[Place]:
    """The categories whose scores are above their thresholds, best first."""
    shown = np.flatnonzero(np.isfinite(scores))
    chances = model.probabilities(scores[None, shown], shown, X)
    limits, places = model.ranker.limits, []
    for at in ranked(model.ordered_by(scores[None, shown], shown))[0].tolist():
        column = shown[at]
        if limits is None or scores[column] <= limits[column]:
            continue
        category = model.categories[column]
        path = path_names(project.categories, project.tree, category)
        chance = None if chances is None else float(chances[0, at])
        places.append(Place(BELONGS, category, path, chance))
    return places


def place_if_any(project: Project, text: str) -> Place | None:
    """The place of a text; None where the model cannot say where to stop."""
    if project.once(how_to_place) is None:
        return None
    return places_of_texts(project, [as_read(project, text)], PRECISION)[0]


def as_read(project: Project, text: str) -> str:
    """A text; where documents are vectors, what a line of pairs stands for."""
    vector = project.has_vectors_alone and ":" in text
    return line_text(text) if vector else text


def places_of_texts(
    project: Project, texts: Sequence[str], precision: float
) -> list[Place]:
    """The place of each text, in the tree the model was trained with."""
    model = project.require_model()
    learned = project.once(how_to_place)
    if learned is None:
        raise refusal(
            "the model in service cannot say where to stop in a tree: train it "
            "on %(enough)s or more labelled documents, with a taxonomy of "
            "several levels",
            enough=ENOUGH,
        )
    back_off, now = learned[0].at(precision), learned[1]
    categories, tree = project.categories, project.tree
    owner: dict[
        str, str
    ] = {}  # of merged classes: the one whose id stayed, or the first
    for class_ in back_off.classes_:
        id_ = now(class_)
        owner[id_] = class_ if class_ == id_ else owner.get(id_, class_)
    column = {owner.get(id_): at for at, id_ in enumerate(model.categories)}
    columns = [column.get(class_, -1) for class_ in back_off.classes_]
    places = []
    size = max(1, CELLS // max(1, len(model.categories)))
    for low in range(0, len(texts), size):
        scores = model.scores(texts[low : low + size])
        wide = np.pad(scores, ((0, 0), (0, 1)), constant_values=-inf)
        for node, kind, chance in zip(*back_off.place(wide[:, columns]), strict=True):
            there = None if node is None else now(node)
            above = tree.path(there) if there in categories else []
            while above and categories[above[-1]].status != ACTIVE:
                above.pop()
            category = above[-1] if above else None
            moved = "inner" if category else "left"
            path = () if category is None else path_names(categories, tree, category)
            shown = kind if category == there else moved
            places.append(Place(shown, category, path, float(chance)))
    return places

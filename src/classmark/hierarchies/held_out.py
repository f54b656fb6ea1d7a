"""What does a classifier say of documents it has not learned from?"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.corpus.splits import folds
from classmark.hierarchies.flat import categories_in, owners_of
from classmark.problems import Mistake
from classmark.rankers.linear import LinearRanker
from classmark.sparse import Rows, rows_from, take
from classmark.spreading import spread


@dataclass(frozen=True, eq=False)
class Fitted:
    """A classifier that has learned, and what each column of its scores stands for."""

    model: Any
    classes: list[Any]

    def scores(self, X: Any, classes: Sequence[Hashable] | None = None) -> Floats:
        """Scores (n, classes), in the order given; −inf where a class is unknown."""
        found = np.asarray(self.model.decision_function(X), np.float64)
        if classes is None or list(classes) == self.classes:
            return found
        place = {name: at for at, name in enumerate(self.classes)}
        columns = np.array([place.get(name, -1) for name in classes], np.int64)
        known = columns >= 0
        wide = np.full((len(found), len(columns)), -np.inf)
        wide[:, known] = found[:, columns[known]]
        return wide


def fitted(base: Any, X: Any, y: Iterable[Any]) -> Fitted:
    """A copy of ``base``, fitted; ``base`` itself stays as it is.

    base : anything with ``fit(X, y)``, ``decision_function`` and ``classes_``; or a
    ``LinearRanker``, which learns from label numbers: its ``categories``, or the nodes
    of its ``taxonomy``, say what they stand for; else they are the classes of y.

    >>> from classmark.rankers.rocchio import Rocchio
    >>> fitted(Rocchio(), [[1.0, 0.0], [0.0, 1.0]], ["bees", "ants"]).classes
    ['ants', 'bees']
    """
    rows, given = rows_from(X), categories_in(y)
    if len(given) != len(rows):
        raise Mistake(
            f"X has {len(rows)} rows, y {len(given)}: give each document its class"
        )
    copy = type(base)(**base.get_params(deep=False))
    if not isinstance(base, LinearRanker):
        copy.fit(rows.to_scipy(), given)
        return Fitted(copy, list(copy.classes_))
    classes = _numbered_as(base, given)
    copy.fit(rows, numbered(given, classes))
    return Fitted(copy, classes)


def _numbered_as(base: LinearRanker, given: list[list[Any]]) -> list[Any]:
    """What a ranker's label numbers stand for."""
    categories, tree = (
        getattr(base, name, None) for name in ("categories", "taxonomy")
    )
    if categories is not None:
        return list(categories)
    if tree is not None:
        return list(tree.nodes)
    return owners_of(given, len(given))[0]


def out_of_fold(
    base: Any, X: Any, y: Iterable[Any], classes: Sequence[Hashable], n_folds: int = 5
) -> Floats:
    """Scores of every document by a classifier that learned from the other folds.

    Shape (n, classes); −inf where a fold's classifier does not know the class.
    """
    rows, given = rows_from(X), categories_in(y)
    found = np.empty((len(rows), len(classes)))
    parts = list(folds(len(rows), n_folds, random_state=0))
    shared = (base, rows, given, classes)
    scores = spread(_fold_scores, parts, shared, "scoring held-out documents")
    for (_, ask), own in zip(parts, scores, strict=True):
        found[ask] = own
    return found


def _fold_scores(
    part: tuple[Ints, Ints],
    base: Any,
    rows: Rows,
    given: list[list[Any]],
    classes: Sequence[Hashable],
) -> Floats:
    learn, ask = part
    model = fitted(base, take(rows, learn), [given[i] for i in learn])
    return model.scores(take(rows, ask).to_scipy(), classes)


def parted(
    labels: Rows, share: float, random: np.random.Generator
) -> tuple[Ints, Ints]:
    """Documents to learn from and documents to ask, so that no class is only asked.

    A document is asked while each of its classes keeps another one to learn from.

    >>> from classmark.sparse import rows_from
    >>> labels = rows_from([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> learn, ask = parted(labels, 0.5, np.random.default_rng(0))
    >>> len(ask), 2 in learn
    (1, True)
    """
    left = np.bincount(labels.columns, minlength=labels.width)
    asked = np.zeros(len(labels), np.bool_)
    wanted = round(share * len(labels))
    for document in random.permutation(len(labels)):
        own = labels.row(int(document))[0].astype(np.int64)
        if wanted and len(own) and (left[own] > 1).all():
            left[own] -= 1
            asked[document] = True
            wanted -= 1
    return np.flatnonzero(~asked), np.flatnonzero(asked)


def numbered(y: Iterable[Any], classes: Sequence[Hashable]) -> Rows:
    """The classes of each document as Rows (n, classes), value 1.

    >>> numbered(["b", ["a", "b"]], ["a", "b"]).columns.tolist()
    [1, 0, 1]
    """
    place = {name: at for at, name in enumerate(classes)}
    columns = []
    for row, own in enumerate(categories_in(y)):
        unknown = [name for name in own if name not in place]
        if unknown:
            raise Mistake(
                f"y, row {row}: {unknown[0]!r} is not one of the classes: check its "
                "spelling; several classes of a document are a list"
            )
        columns.append(sorted({place[name] for name in own}))
    starts = np.cumsum([0, *map(len, columns)]).astype(np.int64)
    flat = np.array([at for line in columns for at in line], np.uint32)
    return Rows(starts, flat, np.ones(len(flat)), len(classes))

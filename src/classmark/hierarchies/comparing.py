"""Flat or down the tree: how often does each err on documents held out?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import Bools
from classmark.corpus.splits import train_test
from classmark.hierarchies.bounds import Bound, bound, complexity
from classmark.hierarchies.trials import CENTROIDS, Documents, Learner, Scorer
from classmark.measures.significance import Outcome, sign_test
from classmark.problems import Mistake
from classmark.randomness import generator
from classmark.sparse import take

if TYPE_CHECKING:
    from classmark.hierarchies.places import Places

HELD_OUT = 0.25
MOST = 20_000  # documents looked at
ROOM = 1 << 30  # bytes that flat weights may take; beyond it centroids are compared
MEANT = 3  # documents that are worth a comparison


@dataclass(frozen=True, eq=False)
class Tried:
    """What one strategy did.

    error : share of the training documents that are put wrong, g ≤ 0;  right : whether
    each document held out came to a leaf of its own;  bound : on its error.
    """

    error: float
    right: Bools
    bound: Bound

    @property
    def held_out(self) -> float:
        """Share of the documents held out that came to a leaf not theirs."""
        return float(1.0 - self.right.mean())


@dataclass(frozen=True, eq=False)
class Compared:
    """Both strategies on the same documents.

    base : what learned at the nodes;  trained, tested : documents.
    """

    flat: Tried
    top_down: Tried
    base: str
    trained: int
    tested: int

    @property
    def ratio(self) -> float:
        """Errors of the top-down strategy over those of flat, on documents held out."""
        return _ratio(self.top_down.held_out, self.flat.held_out)

    @property
    def training_ratio(self) -> float:
        """The same on the training documents, as the paper has it [Babbar13]."""
        return _ratio(self.top_down.error, self.flat.error)

    @property
    def chance(self) -> Outcome:
        """Sign test over the documents held out: is top-down right more often?"""
        return sign_test(self.top_down.right, self.flat.right)


def compare(
    places: Places, X: Any, learner: Learner | None = None, seed: int = 0
) -> Compared:
    """Train both on three quarters of the documents and try them on the others.

    A document with several leaves is right at any of them; at most 20,000 documents,
    drawn at random, are looked at. Where flat weights would take over 1 GB, unit
    centroids take the place of the learner, for both strategies.
    """
    learner = learner or Learner()
    documents = Documents(places, X)
    placed = np.flatnonzero(np.diff(places.documents.starts))
    if len(placed) < MEANT:
        raise Mistake(
            f"y: {len(placed)} documents have a category: give at least {MEANT}"
        )
    if len(placed) > MOST:
        placed = np.sort(generator(seed).permutation(placed)[:MOST])
    learn, ask = (placed[part] for part in train_test(len(placed), HELD_OUT, seed))
    among = np.zeros(len(documents), np.bool_)
    among[learn] = True
    features = len(np.unique(take(documents.rows, learn).columns))
    size = documents.rows.values.itemsize * features * len(places.leaves)
    if size > ROOM:
        learner = Learner(CENTROIDS)
    return Compared(
        _tried(documents.flattened(), learner, among, ask),
        _tried(documents, learner, among, ask),
        learner.base,
        len(learn),
        len(ask),
    )


def _tried(documents: Documents, learner: Learner, among: Bools, ask: Any) -> Tried:
    models = documents.trained(learner, among)
    wrong = documents.margins(models, among)[among] <= 0
    right = documents.belong(ask, documents.descend(models, ask))
    limit = bound_of(documents, models, among)
    return Tried(float(wrong.mean()), right, limit)


def bound_of(documents: Documents, models: Mapping[int, Scorer], among: Bools) -> Bound:
    """The bound on the error of a trained tree, from its training documents.

    B is the length of all weights together, R the longest training document, and A(g) =
    min(1, max(0, 1 − g)) [Babbar13].
    """
    rows = take(documents.rows, among).to_scipy()
    lengths = np.asarray(rows.multiply(rows).sum(axis=1))
    g = documents.margins(models, among)[among]
    squares = sum(_squares(model.weights) for model in models.values())
    return bound(
        float(np.clip(1.0 - g, 0.0, 1.0).mean()),
        complexity([len(below) for below in documents.daughters.values()]),
        len(g),
        norm=float(np.sqrt(squares)),
        radius=float(np.sqrt(lengths.max(initial=0.0))),
    )


def _squares(weights: Any) -> float:
    values = weights.data if hasattr(weights, "toarray") else weights
    return float(np.square(values, dtype=np.float64).sum())


def _ratio(above: float, below: float) -> float:
    if below == 0:
        return 1.0 if above == 0 else np.inf
    return above / below

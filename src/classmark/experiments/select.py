"""Which C? Cross-validation on the training documents, by the mapping's own cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.corpus.splits import folds
from classmark.losses.mapping import violated_groups
from classmark.preferences.levels import levels_from
from classmark.problems import Mistake
from classmark.rankers.preference import PreferenceRanker
from classmark.sparse import Rows, rows_from, take
from classmark.spreading import spread

GRID = tuple(10.0 ** np.arange(-2, 2.5, 0.5))


@dataclass(frozen=True, slots=True)
class Selected:
    """The C with the least mean cost on the documents held out, and all costs.

    costs : shape (Cs,), violated groups per document, mean over all documents.
    """

    C: float
    Cs: tuple[float, ...]
    costs: Floats


def select_cost(
    ranker: PreferenceRanker,
    X: Any,
    Y: Any,
    Cs: Sequence[float] = GRID,
    n_folds: int = 5,
) -> Selected:
    """Choose C by k-fold cross-validation on the cost the mapping stands for.

    Each fold is one path over C, warm-started [AiolliSebastianiSperduti08].
    """
    if not isinstance(ranker.mapping, str):
        raise Mistake("select_cost needs a mapping by name: a function has no own cost")
    rows = rows_from(X)
    levels = levels_from(Y, len(rows))
    costs = np.zeros((len(Cs), len(rows)))
    parts = list(folds(len(rows), n_folds, random_state=0))
    fresh = type(ranker)(**ranker.get_params(deep=False))
    shared = (fresh, rows, levels, sorted(Cs))
    found = spread(_fold_costs, parts, shared, "cross-validating")
    for (_, test), values in zip(parts, found, strict=True):
        costs[:, test] = values
    mean = costs.mean(axis=1)
    best = int(np.argmin(mean))
    return Selected(float(sorted(Cs)[best]), tuple(sorted(Cs)), mean)


def _fold_costs(
    part: tuple[Ints, Ints],
    ranker: PreferenceRanker,
    rows: Rows,
    levels: Rows,
    Cs: Sequence[float],
) -> Floats:
    """The costs of a fold's documents, shape (Cs, documents), along one path."""
    train, test = part
    held_out, truth = take(rows, test), take(levels, test)
    path = ranker.path(take(rows, train), take(levels, train), Cs)
    mapping = str(ranker.mapping)
    return np.array(
        [
            violated_groups(each.decision_function(held_out), truth, mapping)
            for each in path
        ]
    )

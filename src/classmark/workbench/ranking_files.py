"""Learn to rank the rows of a LETOR file: no index, no project, only numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from classmark.arrays import Floats
from classmark.formats.letor import read_letor
from classmark.ltr import normalise_per_query, select_over_queries
from classmark.ltr.judged import order_measured
from classmark.ltr.training import MEASURES, Compared, learner_of, part_queries
from classmark.ltr.training import tested as chances_against
from classmark.measures import parse
from classmark.workbench.ranking import Training, compared_table
from classmark.workbench.views import Table

LEARNED, BEST = "learned", "best single feature"


def learn_file(path: Path, wish: Training) -> Table:
    """Learn from some queries of a LETOR file, and compare on the others.

    Features are scaled to 0 … 1 within each query; the best single feature, rising or
    falling, is that of the queries learned from.
    """
    parse(wish.measure)
    learner = learner_of(wish.learner)
    judged = read_letor(path)
    qids = np.array(judged.qids)
    parting = part_queries(list(dict.fromkeys(judged.qids)), wish.share, wish.seed)
    X = normalise_per_query(judged.rows, judged.qids)
    own = np.isin(qids, parting.taught)
    taught = X[own], judged.grades[own], qids[own]
    held = X[~own], judged.grades[~own], qids[~own]
    prices = wish.prices or learner.prices
    price = prices[0]
    if len(prices) > 1:
        folds = min(5, len(parting.taught))
        chosen = select_over_queries(
            learner.make(price), *taught, prices, folds=folds, measure=wish.measure
        )
        price = float(chosen.parameters["C"])
    ranker = learner.make(price).fit(*taught)
    column, sign = _best_feature(*taught, wish.measure)
    names = tuple(dict.fromkeys((*MEASURES, wish.measure)))
    values = {
        LEARNED: order_measured(ranker.decision_function(held[0]), *held[1:], names),
        BEST: order_measured(sign * held[0][:, column], *held[1:], names),
    }
    compared = Compared(parting.held_out, values, chances_against(values))
    way = "rising" if sign > 0 else "falling"
    notes = [
        f"{BEST}: {column + 1}, {way}",
        f"{wish.learner}, C {price:g}, learned from {len(parting.taught)} queries",
    ]
    return compared_table(path.name, compared, notes)


def _best_feature(X: Floats, grades: Floats, qids: Any, name: str) -> tuple[int, float]:
    """Return the feature that orders best by itself, and whether it rises or falls."""
    tried = {
        (column, sign): float(
            order_measured(sign * X[:, column], grades, qids, [name])[name].mean()
        )
        for column in range(X.shape[1])
        for sign in (1.0, -1.0)
    }
    return max(tried, key=tried.__getitem__)

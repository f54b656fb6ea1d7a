"""Rankers of LETOR files: learned, compared, kept; and files scored by them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from classmark.arrays import Floats
from classmark.formats.svmlight import read_letor
from classmark.formats.text_files import write_lines
from classmark.language import (
    several,
)
from classmark.ltr import normalise_per_query, training
from classmark.ltr.judged import order_measured, select_over_queries
from classmark.ltr.saved import LetorRanker
from classmark.workbench.results import Cell, Table
from classmark.workbench.search.rankers import LEARNED
from classmark.workbench.search.train_ranker import (
    RankerTraining,
    compared_table,
    learner_from,
)

BEST_FEATURE = "best single feature"


def learn_file(path: Path, options: RankerTraining, to: Path | None = None) -> Table:
    """Learn from some queries of a LETOR file, and compare on the others.

    to : a folder in which the ranker is kept, for ``score_file``.

    Features are scaled to 0 … 1 within each query; the best single feature, rising or
    falling, is that of the queries learned from.
    """
    learner, judged = learner_from(options), read_letor(path)
    qids = np.array(judged.qids)
    parting = training.part_queries(
        list(dict.fromkeys(judged.qids)), options.share, options.seed
    )
    X = normalise_per_query(judged.rows, judged.qids)
    in_training = np.isin(qids, parting.taught)
    taught, held_out = (
        (X[rows], judged.grades[rows], qids[rows])
        for rows in (in_training, ~in_training)
    )
    prices, folds = learner.prices, min(5, len(parting.taught))
    price = prices[0]
    if len(prices) > 1:
        chosen = select_over_queries(
            learner.make(price), *taught, prices, folds=folds, measure=options.measure
        )
        price = float(chosen.parameters["C"])
    ranker = learner.make(price).fit(*taught)
    column, sign = _best_feature(*taught, options.measure)
    names = tuple(dict.fromkeys((*training.MEASURES, options.measure)))
    X, grades, queries = held_out
    scores = {LEARNED: ranker.decision_function(X), BEST_FEATURE: sign * X[:, column]}
    values = {
        order: order_measured(each, grades, queries, names)
        for order, each in scores.items()
    }
    chances = training.tested(values)
    compared = training.RankerComparison(parting.held_out, values, chances)
    name = f"{learner.name}, C {price:g}" if learner.has_price else learner.name
    notes = [
        f"{BEST_FEATURE}: {column + 1}, {'rising' if sign > 0 else 'falling'}",
        f"{name}, learned from {several(len(parting.taught), 'query')}",
    ]
    if to is not None:
        facts = {"file": path.name, "C": price, "taught": len(parting.taught)}
        facts["means"] = {name: compared.mean(LEARNED, name) for name in names}
        LetorRanker.of(ranker, options.learner, facts=facts).save(to)
        notes.append(f"kept in {to}")
    return compared_table(path.name, compared, notes)


def score_file(ranker: Path, path: Path, to: Path) -> Table:
    """Score the rows of a LETOR file by a ranker that was kept; one score a line.

    Where rows are judged, the order is measured, too.
    """
    opened, judged = LetorRanker.open(ranker), read_letor(path)
    scores = opened.scores(judged.rows, judged.qids)
    write_lines((f"{score!r}\n" for score in scores.tolist()), to)
    row: dict[str, Cell] = {
        "file": path.name, "rows": len(scores), "queries": len({*judged.qids}),
    }  # fmt: skip
    if (judged.grades > 0).any():
        names = training.MEASURES
        values = order_measured(scores, judged.grades, judged.qids, names)
        row |= {name: float(each.mean()) for name, each in values.items()}
    note = f"by {opened.learner}; scores in {to}, in the order of the rows"
    return Table(f"Scores of {path.name}", [row], note)


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

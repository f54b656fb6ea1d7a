"""What an order costs against preferences: edges and groups that it violates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Array, Floats, Rows
from classmark.estimator import renamed
from classmark.measures import categories as measured
from classmark.preferences.graph import (
    NAMES,
    Loss,
    PreferenceGraph,
    decompose,
    long_name,
)
from classmark.problems import Mistake
from classmark.ranking import numbers


@renamed(decomposition="loss")
def ranking_error(scores: ArrayLike, graph: PreferenceGraph, loss: Loss) -> float:
    """Return the share of the graph's groups that the scores violate, in [0, 1].

    err = (1/s) · #{k : f(init e) ≤ f(term e) for some edge e of group k}; a tie
    violates; a graph without edges has none [DekelManningSinger03]. Layered graphs are
    measured layer by layer, without listing their edges.

    scores : shape (n_labels,);  loss : "zero-one", "disagreement" ("dis"),
    "domination" ("dom"), "dominated" ("dme"), or a function from a graph to groups of
    its edges.

    >>> graph = PreferenceGraph.multilabel(4, [0, 1])
    >>> ranking_error([4.0, 2.0, 3.0, 1.0], graph, "domination")
    0.5
    >>> ranking_error([4.0, 2.0, 3.0, 1.0], graph, "disagreement")
    0.25
    """
    f = numbers(scores)
    if f.shape != (graph.n_labels,):
        raise Mistake(
            f"scores has shape {f.shape}, the graph {graph.n_labels} labels: give the "
            "scores of one document, one for each label"
        )
    if graph.levels is None or callable(loss) or long_name(loss) not in NAMES:
        return measured.ranking_error(f, decompose(graph, loss))
    compared = graph.levels >= 0
    f, levels = f[compared], graph.levels[compared]
    steps = np.unique(levels)
    if long_name(loss) == "disagreement":
        wrong, groups = _misplaced_pairs(f, levels)
    else:
        if long_name(loss) == "dominated":
            f, levels, steps = -f, -levels, -steps[::-1]
        wrong = _not_above(f[np.newaxis], levels[np.newaxis], steps[1:])[0]
        groups = int(np.count_nonzero(levels > steps[:1]))
    if long_name(loss) == "zero-one":
        return float(wrong > 0)
    return float(wrong / groups) if groups else 0.0


def violated_groups(scores: Floats, levels: Rows, loss: str) -> Floats:
    """Per document, the groups of the loss with an unsatisfied preference.

    scores : (n, labels), for "svm" with the thresholds taken off;  levels : Rows of
    levels 1, 2, … as :func:`classmark.preferences.labels.levels_from` gives them
    [AiolliSebastianiSperduti08]. Ties are violations.

    >>> from classmark.preferences.labels import levels_from
    >>> violated_groups(np.array([[1.0, 2.0, 0.0]]), levels_from([[0, 2]]), "dom")
    array([2.])
    """
    place = levels.to_scipy().toarray()
    if loss == "svm":
        wrong = np.where(place > 0, scores <= 0, scores >= 0)
        return np.asarray(wrong.sum(axis=1), dtype=np.float64)
    positive = np.unique(place[place > 0])
    not_highest = np.concatenate([[0.0], positive[:-1]])
    rows = zip(scores, np.maximum(place, 0), strict=True)
    counts: dict[str, Callable[[], Floats]] = {
        "dis": lambda: np.array([_misplaced_pairs(*row)[0] for row in rows]),
        "dom": lambda: _not_above(scores, place, positive),
        "dme": lambda: _not_above(-scores, -place, -not_highest),
    }
    if loss not in {*counts, "dom-dme"}:
        names = [*counts, "dom-dme"]
        raise Mistake(f"loss {loss!r} has no count of its own: use {names}")
    return np.asarray(sum(counts[name]() for name in loss.split("-")), np.float64)


def _not_above(scores: Floats, place: Array, levels: Array) -> Floats:
    """Labels of these levels that are not above all labels of lower levels."""
    wrong = np.zeros(len(scores))
    for level in levels:
        best_below = np.where(place < level, scores, -np.inf).max(axis=1)
        here = place == level
        wrong += (here & (scores <= best_below[:, None])).sum(axis=1)
    return wrong


def _misplaced_pairs(f: Floats, levels: Array) -> tuple[int, int]:
    """Labels that are not above one of a lower level, pair by pair; and all pairs."""
    wrong = edges = 0
    lower = np.empty(0)
    for step in np.unique(levels):
        level_scores = f[levels == step]
        wrong += int((len(lower) - np.searchsorted(lower, level_scores)).sum())
        edges += len(lower) * len(level_scores)
        lower = np.sort(np.concatenate([lower, level_scores]))
    return wrong, edges

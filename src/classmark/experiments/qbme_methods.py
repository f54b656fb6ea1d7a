"""The methods of query by examples as rows of a table, and how their costs compare.

Every method's C can be told as C_P, what an example that scores 0 costs once w is
scaled so that examples are to score 1:

    SVM_1c  C = C_P l;   SVM_2c  C = C_P n;   SVM_ba  C = C_P;
    SVM_pr, weighted  C = C_P;   SVM_ba, literal  C = C_P n/4l;
    SVM_pr, SVM_p@k and SVM_r@k  C = C_P n/2l.

The paper's C for the weighted form of SVM_ba is read as ½‖w‖² + C (1/2l Σ_P ξ +
1/2u Σ_U ξ), which is C_P = C/2l.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import process_time
from typing import NamedTuple

import numpy as np

from classmark.arrays import Ints
from classmark.examples.auto import FEWEST
from classmark.examples.query import ExampleQuery
from classmark.experiments.qbme_tasks import measure
from classmark.randomness import Seed, generator
from classmark.sparse import Rows, take

COST = 100.0  # the paper's C, for every method and collection
FIXED = {"one": 1.0, "tenth": 0.1}  # C_P
GRID = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # of C_P


@dataclass(frozen=True, slots=True)
class Method:
    """A row: a method of ``ExampleQuery`` and where its C comes from.

    cost : "none" where there is no C to give, "paper", "one" for C_P = 1, "tenth" for
    C_P = 0.1, or "tuned".
    """

    name: str
    method: str
    cost: str = "none"


METHODS = (
    Method("Centroid", "centroid"),
    Method("Rocchio", "rocchio"),
    Method("SVM_1c", "one-class", "paper"),
    Method("SVM_2c", "two-class", "paper"),
    Method("SVM_ba", "balanced", "paper"),
    Method("SVM_ba, literal", "balanced-literal", "paper"),
    Method("SVM_pr", "precision-recall", "paper"),
    Method("SVM_ba", "balanced", "one"),
    Method("SVM_pr", "precision-recall", "one"),
    Method("SVM_pr, weighted", "precision-recall-balanced", "one"),
    Method("SVM_p@k, SVM_r@k", "precision@k", "tenth"),
    Method("SVM_1c", "one-class", "tuned"),
    Method("SVM_2c", "two-class", "tuned"),
    Method("SVM_ba", "balanced", "tuned"),
    Method("SVM_ba, literal", "balanced-literal", "tuned"),
    Method("SVM_pr", "precision-recall", "tuned"),
    Method("SVM_pr, weighted", "precision-recall-balanced", "tuned"),
    Method("Biased-SVM", "biased"),
    Method("auto", "auto"),
)


class Asked(NamedTuple):
    """A learned query, its C_P where there is one, and processor seconds it took."""

    query: ExampleQuery
    cost: float | None
    seconds: float


def ask(method: Method, P: Rows, U: Rows, seed: Seed = 0) -> Asked:
    """Learn a query; choosing C is part of the seconds.

    Biased-SVM keeps examples back: where there are too few of them for it, its query is
    Rocchio's.
    """
    begin = process_time()
    cost = _cost(method, P, U, seed)
    if method.method == "biased" and len(P) < FEWEST:
        query = ExampleQuery("rocchio").fit(P, U)
    else:
        query = _query(method.method, cost, P, U)
    return Asked(query, cost, process_time() - begin)


def in_units(method: str, cost: float, examples: int, others: int) -> float:
    """C as a method has it, an example costing C_P.

    >>> in_units("balanced", 1.0, 50, 1000), in_units("precision-recall", 1.0, 50, 950)
    (1.0, 10.0)
    """
    n = examples + others
    scale = {
        "one-class": float(examples),
        "two-class": float(n),
        "balanced": 1.0,
        "precision-recall-balanced": 1.0,
        "balanced-literal": n / (4 * examples),
    }
    return cost * scale.get(method, n / (2 * examples))


def chosen_cost(method: str, P: Rows, U: Rows, seed: Seed = 0) -> float:
    """C_P by documents held out: learn from half of P and U, judge by the others.

    The held examples are ranked among the held part of U, of which no label is used:
    its relevant documents, unknown, lower the average precision for every C_P alike. U
    has to be halved too: documents that were learned as others have sunk below those
    that were not. With one example, 1.
    """
    if len(P) == 1:
        return 1.0
    random = generator(seed)
    halves = [_halves(random.permutation(len(rows))) for rows in (P, U)]
    turns = [(take(P, p), take(U, u)) for p, u in zip(*halves, strict=True)]
    return max(GRID, key=lambda cost: held_out(method, cost, turns))


def held_out(method: str, cost: float, halves: Sequence[tuple[Rows, Rows]]) -> float:
    """Mean average precision of held examples among held others, half by half.

    halves : two pairs of examples and others; each is learned from, and judged by the
    other.
    """
    found = []
    for (P, U), (held, among) in (halves, halves[::-1]):
        query = _query(method, cost, P, U)
        scores = [query.decision_function(rows) for rows in (among, held)]
        relevant = [np.zeros(len(among)), np.ones(len(held))]
        found.append(measure(np.concatenate(scores), np.concatenate(relevant)).ap)
    return float(np.mean(found))


def _halves(order: Ints) -> list[Ints]:
    return [np.sort(order[at::2]) for at in range(2)]


def _cost(method: Method, P: Rows, U: Rows, seed: Seed) -> float | None:
    if method.cost == "none":
        return None
    if method.cost == "tuned":
        return chosen_cost(method.method, P, U, seed)
    if method.cost in FIXED:
        return FIXED[method.cost]
    if method.method == "balanced":
        return COST / (2 * len(P))
    return COST / in_units(method.method, 1.0, len(P), len(U))


def _query(method: str, cost: float | None, P: Rows, U: Rows) -> ExampleQuery:
    C = None if cost is None else in_units(method, cost, len(P), len(U))
    return ExampleQuery(method, C=C).fit(P, U)

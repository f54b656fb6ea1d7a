"""Biased-SVM: two costs, found by a criterion that needs no negatives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from classmark.problems import Mistake
from classmark.randomness import generator
from classmark.rankers.examples.collection import climb, products
from classmark.rankers.examples.given import Given
from classmark.rankers.examples.hinges import Prices, hinges_of
from classmark.solvers.hinge.problem import Solution
from classmark.sparse import take

OTHERS = (0.01, 0.03, 0.1, 0.3)  # costs of an unlabelled document
TIMES = (10.0, 30.0, 100.0, 200.0)  # an example costs so many times more
HELD = 0.3  # of the examples are kept back to judge
FEWEST = 4


def biased(
    all_: Given, C: float | None, tol: float, random_state: int
) -> tuple[Solution, float]:
    """½‖w‖² + C₊ Σ_P max(0, 1 − w·x) + C₋ Σ_U max(0, 1 + w·x) [LiuEtAl03].

    The costs are those with the largest r²/Pr(w·x > 0), r being the recall of examples
    that were kept back: it grows with the product of precision and recall [LeeLiu03].
    C : of an example, where it is not to be searched. Return the query and C₊.
    """
    if len(all_.P) < FEWEST:
        raise Mistake(
            f"biased keeps back examples to choose its costs: give at least {FEWEST}"
        )
    order = generator(random_state).permutation(len(all_.P))
    held = max(1, round(HELD * len(order)))
    learn = replace(all_, P=take(all_.P, np.sort(order[held:])))
    judge = products([take(all_.P, order[:held]), all_.U])
    best, found = -1.0, (1.0, 1.0)
    for example, other in _costs(C):
        scores = judge.product(_fit(learn, example, other, tol).weights)
        recall = float((scores[:held] > 0).mean())
        criterion = recall**2 / max(float((scores > 0).mean()), 1e-12)
        if criterion > best:
            best, found = criterion, (example, other)
    return _fit(all_, *found, tol), found[0]


def _costs(C: float | None) -> list[tuple[float, float]]:
    if C is not None:
        return [(C, C / times) for times in TIMES]
    return [(other * times, other) for other in OTHERS for times in TIMES]


def _fit(all_: Given, example: float, other: float, tol: float) -> Solution:
    hinges = hinges_of(all_, Prices(example, other))
    return climb(all_.judged(), all_.U, hinges, duals=hinges.boxes, tol=tol)

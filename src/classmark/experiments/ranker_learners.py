"""Who can learn an order, by the names people type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from classmark.problems import Mistake

PRICES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
LARGER = (1e-2, 1e-1, 1.0, 10.0, 100.0)
NAMES = ("ranking-svm", "rsvm-ir", "pointwise", "listnet", "logistic", "lambdamart")


@dataclass(frozen=True, slots=True)
class Learner:
    """How to make a learner at a price C, and which prices to try."""

    name: str
    make: Callable[[float], Any]
    prices: tuple[float, ...] = PRICES


def learner_of(name: str) -> Learner:
    """Return the learner of a name.

    Prices are small where a query costs the sum over its pairs, of which there are
    hundreds; trees have no price.
    """
    from classmark import ltr

    if name not in NAMES:
        raise Mistake(f"learner {name!r} is not known: use {', '.join(NAMES)}")
    if name == "lambdamart":
        return Learner(name, lambda _: ltr.LambdaMART(), (1.0,))
    if name == "rsvm-ir":
        return Learner(name, lambda C: ltr.RankingSVM(C=C, weighting="ir"), LARGER)
    kind = {
        "ranking-svm": ltr.RankingSVM,
        "pointwise": ltr.PointwiseSVM,
        "listnet": ltr.ListNet,
        "logistic": ltr.PairwiseLogistic,
    }[name]
    prices = LARGER if name == "listnet" else PRICES
    return Learner(name, lambda C: kind(C=C), prices)

"""Which hinges a method prices: examples above their margin, the collection below."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from classmark.arrays import Ints
from classmark.rankers.examples.given import Given
from classmark.solvers.hinge.problem import Hinges


class Prices(NamedTuple):
    """What one hinge of each kind costs, and the margin it asks for.

    examples, others : the box of an example, of an unlabelled document; rejected ones
    cost what an example does, together no more than all;  margins : of examples, of
    all others.
    """

    examples: float
    others: float
    margins: tuple[float, float] = (1.0, 1.0)


def one_class(all_: Given, C: float) -> Prices:
    """SVM_1c: ½‖w‖² + (C/l) Σ_P max(0, 1 − w·x) [ZhangLee09]."""
    return Prices(C / len(all_.P), 0.0)


def two_class(all_: Given, C: float) -> Prices:
    """SVM_2c: ½‖w‖² + (C/n) Σ max(0, 1 − y w·x), n = l + u [ZhangLee09]."""
    share = C / (len(all_.P) + all_.unknown)
    return Prices(share, share)


def balanced(all_: Given, C: float) -> Prices:
    """SVM_ba: ½‖w‖² + C Σ_P max(0, 1 − w·x) + C (l/u) Σ_U max(0, 1 + w·x)."""
    return Prices(C, C * len(all_.P) / max(all_.unknown, 1))


def literal(all_: Given, C: float) -> Prices:
    """OP 5 as printed: (C/n) Σ max(0, λ − y w·x), λ = 1/4l on P, 1/4u on U."""
    examples, others = len(all_.P), all_.unknown
    share = C / (examples + others)
    return Prices(share, share, (0.25 / examples, 0.25 / max(others, 1)))


PRICES = {
    "one-class": one_class,
    "two-class": two_class,
    "balanced": balanced,
    "balanced-literal": literal,
}


class Hopeful(NamedTuple):
    """Unlabelled documents that are taken for examples, each at a small price.

    rows : of U;  box : what each costs, as an example, beside what it costs as others.
    """

    rows: Ints
    box: float


NOBODY = Hopeful(np.empty(0, np.int64), 0.0)


def hinges_of(all_: Given, prices: Prices, hopeful: Hopeful = NOBODY) -> Hinges:
    """Hinges over the rows of [P; N] and U, in this order, then the hopeful ones."""
    examples, judged = len(all_.P), len(all_.P) + len(all_.N)
    known = judged + (len(all_.U) if prices.others > 0.0 else 0)
    n = known + len(hopeful.rows)
    rows = np.arange(n, dtype=np.uint32)
    rows[known:] = judged + hopeful.rows
    signs, boxes = np.full(n, -1.0), np.full(n, prices.others)
    margins = np.full(n, prices.margins[1])
    for some in (slice(examples), slice(known, None)):
        signs[some], margins[some] = 1.0, prices.margins[0]
    boxes[:judged], boxes[known:] = prices.examples, hopeful.box
    boxes[examples:judged] *= min(1.0, examples / max(1, judged - examples))
    if known > judged:
        boxes[judged + all_.known] = 0.0
    return Hinges(rows, signs, boxes, margins)

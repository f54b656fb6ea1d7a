"""One pass of each on-line algorithm over sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from classmark.compiled import compiled
from classmark.scores.kernels import scores_of


@compiled
def perceptron_pass(
    starts: Any, columns: Any, values: Any, label_starts: Any, labels: Any,
    W: Any, U: Any, t: int,
) -> int:  # fmt: skip
    """One pass of k independent perceptrons; return the number of mistakes.

    A topic errs when its sign is wrong or zero; then w_r ± x. ``U`` sums t · update, so
    that the average of all prototypes so far is W − U / t: no cost per step.
    """
    k = W.shape[1]
    scores = np.empty(k)
    sign = np.empty(k)
    step = np.empty(k)
    mistakes = 0
    for i in range(len(starts) - 1):
        row = slice(starts[i], starts[i + 1])
        scores_of(columns[row], values[row], W, scores)
        sign[:] = -1.0
        for p in range(label_starts[i], label_starts[i + 1]):
            sign[labels[p]] = 1.0
        wrong = 0
        for r in range(k):
            step[r] = sign[r] if sign[r] * scores[r] <= 0.0 else 0.0
            wrong += step[r] != 0.0
        if wrong:
            for p in range(starts[i], starts[i + 1]):
                W[columns[p]] += values[p] * step
                U[columns[p]] += (t + i) * values[p] * step
        mistakes += wrong
    return mistakes

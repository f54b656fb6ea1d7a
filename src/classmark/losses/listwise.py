"""What does the score of a whole list cost, against its grades?"""

from __future__ import annotations

import numpy as np

from classmark.arrays import Floats, Ints


def top_one(
    scores: Floats, grades: Floats, starts: Ints, counts: Floats
) -> tuple[float, Floats]:
    """Cross entropy of who stands first, and −∂/∂score, (n,) [Cao07].

    −Σ_i count_i P_i ln Q_i, P and Q being e^grade and e^score of the rows of one list
    divided by their sums; list q holds the rows starts[q] … starts[q + 1] − 1, at least
    one.

    >>> loss, pull = top_one(*np.zeros((2, 2)), np.array([0, 2]), np.ones(2))
    >>> round(loss, 4), pull.tolist()
    (0.6931, [0.0, 0.0])
    """
    wanted = np.exp(_log_shares(grades, starts)) * counts
    logs = _log_shares(scores, starts)
    mass = np.repeat(np.add.reduceat(wanted, starts[:-1]), np.diff(starts))
    return float(-(wanted @ logs)), wanted - mass * np.exp(logs)


def _log_shares(values: Floats, starts: Ints) -> Floats:
    sizes = np.diff(starts)
    down = values - np.repeat(np.maximum.reduceat(values, starts[:-1]), sizes)
    sums = np.log(np.add.reduceat(np.exp(down), starts[:-1]))
    return np.asarray(down - np.repeat(sums, sizes), np.float64)

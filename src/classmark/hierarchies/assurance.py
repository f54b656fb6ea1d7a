"""How sure can one be of a node, given what speaks for it?"""

from __future__ import annotations

from typing import Any

import numpy as np

from classmark.arrays import Bools, Floats, Ints
from classmark.randomness import generator

KNOTS = 6  # of each feature, at its quantiles
PENALTY = 5.0  # on the squares of the weights
MANY = 5000  # documents are enough to learn from


class Assurance:
    """A logistic model of "this node is right", additive in bent lines.

    logit q = b + Σ_features Σ_pieces w · (how far the feature has come in the piece,
    from 0 to 1), the pieces lying between quantiles: a feature may say much where it is
    small and nothing where it is large. Weights and bias minimise the log-loss plus ½
    ``PENALTY`` ‖w‖².

    knots : (features, KNOTS);  weights : (features · (KNOTS − 1) + 1,), the bias last.

    >>> x = np.linspace(0.0, 1.0, 5000)[:, np.newaxis]
    >>> sure = Assurance.learned(x, x[:, 0] > 0.5)
    >>> sure.of(np.array([[0.1], [0.9]])).round(1).tolist()
    [0.0, 1.0]
    """

    def __init__(self, knots: Floats, weights: Floats) -> None:
        self.knots = knots
        self.weights = weights

    @classmethod
    def learned(cls, features: Floats, right: Bools) -> Assurance:
        """Learn from features (m, f) and whether each was right, (m,)."""
        from scipy.optimize import minimize

        shares = np.linspace(0.0, 1.0, KNOTS)
        knots = np.quantile(features, shares, axis=0).T
        design, y = _come(features, knots), right.astype(np.float64)

        def cost(w: Floats) -> tuple[float, Floats]:
            margin = design @ w
            held = np.append(w[:-1], 0.0)
            loss = np.logaddexp(0.0, margin) - y * margin
            slope = design.T @ (_chance(margin) - y) + PENALTY * held
            return float(loss.sum() + 0.5 * PENALTY * held @ held), slope

        start = np.zeros(design.shape[1])
        found: Any = minimize(
            cost, start, jac=True, method="L-BFGS-B", options={"maxiter": 100}
        )
        return cls(knots, found.x)

    def of(self, features: Floats) -> Floats:
        """The probability that each is right: features (m, f)."""
        return _chance(_come(features, self.knots) @ self.weights)


def crossed(
    features: Floats,
    right: Bools,
    told: Bools,
    n_folds: int = 5,
) -> Floats:
    """Probabilities (n, steps), each by a model that learned from other documents.

    features : (n, steps, f);  right, told : (n, steps), the latter where there is
    something to say; elsewhere 0.
    """
    n = len(features)
    fold = generator(0).permutation(n) % min(n_folds, max(n, 1))
    found = np.zeros(right.shape)
    for at in range(int(fold.max(initial=-1)) + 1):
        here, others = fold == at, np.flatnonzero(fold != at)
        model = learned_from(features, right, told, others if len(others) else None)
        found[here] = spread(model, features[here], told[here])
    return found


def learned_from(
    features: Floats,
    right: Bools,
    told: Bools,
    documents: Ints | None = None,
) -> Assurance:
    """Learn from all steps of some documents; of very many, of MANY spread evenly."""
    which = np.arange(len(features)) if documents is None else documents
    which = which[:: max(1, -(-len(which) // MANY))]
    mask = told[which]
    return Assurance.learned(features[which][mask], right[which][mask])


def spread(model: Assurance, features: Floats, told: Bools) -> Floats:
    """Probabilities (n, steps); what is right below is right above, so they fall."""
    found = np.zeros(told.shape)
    if told.any():
        found[told] = model.of(features[told])
    return np.maximum.accumulate(found[:, ::-1], axis=1)[:, ::-1]


def _come(features: Floats, knots: Floats) -> Floats:
    """How far each feature has come in each piece, and a 1 for the bias."""
    low, high = knots[:, :-1], knots[:, 1:]
    wide = np.maximum(high - low, 1e-12)
    come = np.clip((features[:, :, np.newaxis] - low) / wide, 0.0, 1.0)
    return np.column_stack((come.reshape(len(features), -1), np.ones(len(features))))


def _chance(margin: Floats) -> Floats:
    half: Floats = np.tanh(margin / 2)
    return (1 + half) / 2

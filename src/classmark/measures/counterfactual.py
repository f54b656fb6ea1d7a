"""How good would another policy have been, by the log of this one?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats
from classmark.problems import Mistake

CLIP = 100.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean reward, its standard error, and an interval.

    effective : how many rewards of equal weight would say as much,
    (Σ w)² / Σ w²;  mean_weight : 1 on average where the chances logged are true and
    nothing is clipped.
    """

    value: float
    error: float
    low: float
    high: float
    effective: float
    mean_weight: float


def ips(
    rewards: ArrayLike,
    wanted: ArrayLike,
    logged: ArrayLike,
    *,
    confidence: float = 0.95,
) -> Estimate:
    """Inverse propensity score: mean of w·r, w = wanted/logged [HorvitzThompson52].

    Without bias where whatever the other policy may do was done with a chance above 0.

    rewards : what was gained, shape (n,), n ≥ 2;  wanted : the chance with which the
    other policy would have done what was done;  logged : that with which it was done.

    >>> ips([1, 0, 1, 0], [0.5] * 4, [0.25, 0.25, 0.5, 0.5]).value
    0.75
    """
    r, w = _weighted(rewards, wanted, logged)
    return _mean(r, w, confidence)


def clipped_ips(
    rewards: ArrayLike,
    wanted: ArrayLike,
    logged: ArrayLike,
    clip: float = CLIP,
    *,
    confidence: float = 0.95,
) -> Estimate:
    """Inverse propensity score, no weight above ``clip``: steadier, and too low.

    mean of min(w, clip)·r [SwaminathanJoachims15], for rewards of 0 and more.

    >>> clipped_ips([1, 0, 1, 0], [0.5] * 4, [0.25, 0.25, 0.5, 0.5], 1.5).value
    0.625
    """
    if not clip > 0:
        raise Mistake(f"clip is {clip}: give the greatest weight, above 0")
    r, w = _weighted(rewards, wanted, logged)
    return _mean(r, np.minimum(w, clip), confidence)


def snips(
    rewards: ArrayLike,
    wanted: ArrayLike,
    logged: ArrayLike,
    *,
    confidence: float = 0.95,
) -> Estimate:
    """Self-normalised: Σ w·r / Σ w [SwaminathanJoachims15].

    Never outside the rewards seen, and unmoved by a shift of them all; a small bias
    that vanishes with n. The error is √(Σ w²(r − v)²) / Σ w.

    >>> round(snips([1, 0, 1, 0], [0.5] * 4, [0.25, 0.25, 0.5, 0.5]).value, 3)
    0.5
    """
    r, w = _weighted(rewards, wanted, logged)
    total = w.sum()
    if total == 0:
        raise Mistake("wanted is 0 everywhere: the log says nothing of that policy")
    value = float((w * r).sum() / total)
    error = float(np.sqrt((w**2 * (r - value) ** 2).sum()) / total)
    return _estimate(value, error, w, confidence)


def _weighted(
    rewards: ArrayLike, wanted: ArrayLike, logged: ArrayLike
) -> tuple[Floats, Floats]:
    r, target, chance = (
        np.asarray(given, np.float64) for given in (rewards, wanted, logged)
    )
    if not r.shape == target.shape == chance.shape or r.ndim != 1 or len(r) < 2:
        raise Mistake(
            f"rewards {r.shape}, wanted {target.shape} and logged {chance.shape} do "
            "not go together: give one number each for two rows or more"
        )
    bad = np.flatnonzero(~((chance > 0) & (chance <= 1)))
    if len(bad):
        raise Mistake(
            f"logged[{bad[0]}] is {chance[bad[0]]:g}: what was done had a chance above "
            "0, up to 1"
        )
    if not np.all((target >= 0) & (target <= 1)) or not np.isfinite(r).all():
        raise Mistake("wanted holds chances, 0 to 1, and rewards finite numbers")
    return r, target / chance


def _mean(r: Floats, w: Floats, confidence: float) -> Estimate:
    terms = w * r
    error = float(terms.std(ddof=1) / np.sqrt(len(terms)))
    return _estimate(float(terms.mean()), error, w, confidence)


def _estimate(value: float, error: float, w: Floats, confidence: float) -> Estimate:
    from scipy.special import ndtri

    if not 0 < confidence < 1:
        raise Mistake(f"confidence is {confidence}: give a share between 0 and 1")
    wide = float(ndtri((1 + confidence) / 2)) * error
    squares = float((w**2).sum())
    effective = float(w.sum()) ** 2 / squares if squares else 0.0
    return Estimate(
        value, error, value - wide, value + wide, effective, float(w.mean())
    )

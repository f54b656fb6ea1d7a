"""Does a probability of .8 come true eight times in ten?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.problems import Mistake

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class Reliability:
    """What was promised and what came true, in bins of equal width.

    promised, kept : mean probability and share that came true, NaN in empty bins;
    counts : how many; each of shape (bins,).
    """

    promised: Floats
    kept: Floats
    counts: Ints


def reliability(
    probabilities: ArrayLike, came_true: ArrayLike, bins: int = 15
) -> Reliability:
    """Sort promises into bins of equal width, each closed above; 0 is in the first.

    probabilities : in [0, 1];  came_true : 0 or 1;  of one shape.

    >>> reliability([0.1, 0.9, 0.9], [0, 1, 0], bins=2).kept.tolist()
    [0.0, 0.5]
    """
    p = np.ravel(np.asarray(probabilities, dtype=np.float64))
    true = np.ravel(np.asarray(came_true, dtype=np.float64))
    if p.shape != true.shape or not p.size:
        raise Mistake(
            f"probabilities has {p.size} values, came_true {true.size}: "
            "give one for one"
        )
    if not ((p >= 0) & (p <= 1)).all():
        at = int(np.argmin((p >= 0) & (p <= 1)))
        raise Mistake(f"probabilities, place {at}: {p[at]}: give numbers from 0 to 1")
    if bins < 1:
        raise Mistake(f"bins is {bins}: give 1 or more")
    edges = np.linspace(0, 1, bins + 1)[1:-1]
    place = np.searchsorted(edges, p, side="left")
    counts = np.bincount(place, minlength=bins)
    some = np.where(counts > 0, counts, np.nan)
    promised = np.bincount(place, p, minlength=bins) / some
    return Reliability(
        promised, np.bincount(place, true, minlength=bins) / some, counts
    )


def calibration_error(
    probabilities: ArrayLike, came_true: ArrayLike, bins: int = 15
) -> float:
    """Return the expected calibration error [Guo17].

    ECE = Σ over bins of (n_b / n) · abs(kept_b − promised_b).

    >>> round(calibration_error([0.1, 0.9, 0.9], [0, 1, 0], bins=2), 3)
    0.3
    """
    seen = reliability(probabilities, came_true, bins)
    gaps = np.abs(seen.kept - seen.promised)
    return float(np.nansum(gaps * seen.counts) / seen.counts.sum())

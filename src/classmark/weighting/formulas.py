"""How much a term says in a text: each weighting as its paper prints it.

Every function takes numbers or arrays that broadcast. The letters are the papers':
``tf`` how often the term occurs in the document, ``df`` in how many of the ``n``
documents it occurs at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Array, Floats


def binary(tf: Any) -> Any:
    """Presence: 1 where the term occurs [SaltonBuckley88].

    >>> float(binary(3.0))
    1.0
    """
    return np.minimum(tf, 1.0)


def relative(tf: Any, length: Any) -> Any:
    """Count over length: tf / (tokens of the document) [SaltonBuckley88].

    >>> relative(2.0, 8.0)
    0.25
    """
    return tf / length


def logarithmic(tf: Any) -> Any:
    """Dampened count: 1 + ln tf, for tf ≥ 1 [SaltonBuckley88].

    >>> float(logarithmic(1.0))
    1.0
    """
    return 1.0 + np.log(tf)


def smooth_idf(df: Any, n: Any) -> Any:
    """Rarity, as if one more document held every term [SparckJones72].

    ln((1 + n) / (1 + df)) + 1, scikit-learn's default.

    >>> round(float(smooth_idf(1, 9)), 6)
    2.609438
    """
    return np.log((1.0 + n) / (1.0 + df)) + 1.0


def plain_idf(df: Any, n: Any) -> Any:
    """Rarity: ln(n / df) [SparckJones72].

    >>> round(float(plain_idf(1, 10)), 6)
    2.302585
    """
    return np.log(n / df)


def pivoted_tf(tf: Any, average_tf: Any) -> Any:
    """Dampened count against the document's mean count [Singhal96].

    (1 + ln tf) / (1 + ln avgtf), the mean being over the document's own terms.

    >>> float(pivoted_tf(2.0, 2.0))
    1.0
    """
    return (1.0 + np.log(tf)) / (1.0 + np.log(average_tf))


def pivoted_length(unique: Any, average_unique: Any, slope: Any) -> Any:
    """Length factor that turns about the average document [Singhal96].

    1 / ((1 − s) + s · u / avgu), with u the different terms of the document.

    >>> round(pivoted_length(20.0, 10.0, 0.3), 6)
    0.769231
    """
    return 1.0 / ((1.0 - slope) + slope * unique / average_unique)


def rocchio_weights(
    inside: Array,
    total: Array,
    n_inside: ArrayLike,
    n: int,
    beta: float = 16.0,
    gamma: float = 4.0,
) -> Floats:
    """max(0, β · mean over a label's documents − γ · mean over the others) [Rocchio71].

    inside, total : sums over the label's documents and over all n, of one shape;
    n_inside : how many documents have the label. A mean over none is 0; β = 16 and
    γ = 4 are those of [CrammerSinger03].

    >>> rocchio_weights(np.array([3.0, 0.0]), np.array([3.0, 2.0]), 1, 3).tolist()
    [48.0, 0.0]
    """
    size = np.asarray(n_inside)
    favour = beta * inside / np.maximum(size, 1)
    against = gamma * (total - inside) / np.maximum(n - size, 1)
    return np.asarray(np.maximum(0.0, favour - against))

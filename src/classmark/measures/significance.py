"""Could this difference be chance?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from classmark.arrays import Floats
from classmark.measures.classification import contingency, indicators
from classmark.measures.stopping import require_share
from classmark.problems import Mistake
from classmark.progress import track
from classmark.validation import Seed, generator

Alternative = Literal["two-sided", "greater", "less"]
BLOCK = 1 << 22  # random numbers drawn together


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a test found: statistic, chance of one as extreme, number of pairs."""

    statistic: float
    p_value: float
    pairs: int


def paired_t_test(
    a: ArrayLike, b: ArrayLike, alternative: Alternative = "two-sided"
) -> Outcome:
    """Student's t-test of the mean of a − b [Student08].

    t = mean(a − b) / (s / √n), with n − 1 degrees of freedom. ``greater``: a is better.
    No difference anywhere: t = 0, p = 1.

    a, b : values of the same queries, documents or categories, shape (n,), n ≥ 2.

    >>> round(paired_t_test([3.0, 4.0, 6.0], [1.0, 3.0, 3.0]).p_value, 4)
    0.0742
    """
    from scipy.special import stdtr

    d = _differences(a, b, least=2)
    spread = d.std(ddof=1) / np.sqrt(len(d))
    if spread == 0:
        t = 0.0 if d[0] == 0 else float(np.copysign(np.inf, d[0]))
    else:
        t = float(d.mean() / spread)
    lower = float(stdtr(len(d) - 1, t))
    return Outcome(t, _tail(lower, float(stdtr(len(d) - 1, -t)), alternative), len(d))


def sign_test(
    a: ArrayLike, b: ArrayLike, alternative: Alternative = "two-sided"
) -> Outcome:
    """Exact sign test: is a above b as often as below? Ties are left out [YangLiu99].

    The statistic is how often a is above, of ``pairs`` that differ; under chance it is
    binomial with probability 1/2.

    >>> sign_test([1, 1, 1, 0, 1], [0, 0, 0, 0, 0], "greater")
    Outcome(statistic=4.0, p_value=0.0625, pairs=4)
    """
    from scipy.special import bdtr

    d = _differences(a, b, least=1)
    wins, n = int((d > 0).sum()), int((d != 0).sum())
    lower = float(bdtr(wins, n, 0.5)) if n else 1.0
    upper = float(bdtr(n - wins, n, 0.5)) if n else 1.0
    return Outcome(float(wins), _tail(lower, upper, alternative), n)


def micro_sign_test(
    truth: Any,
    predicted_a: Any,
    predicted_b: Any,
    alternative: Alternative = "two-sided",
) -> Outcome:
    """Micro s-test: of all decisions that differ, who is right more often?

    A decision is a pair (document, label) [YangLiu99]; the exact binomial takes the
    place of the paper's normal approximation. Labels as in ``classification``.

    >>> micro_sign_test([0, 1, 1], [0, 1, 1], [0, 0, 1]).pairs
    2
    """
    true, a, b = indicators(truth, predicted_a, predicted_b)
    if not true.shape == a.shape == b.shape:
        raise Mistake(
            f"truth, predicted_a and predicted_b have {true.shape[0]}, {a.shape[0]} "
            f"and {b.shape[0]} documents: give the same ones"
        )
    differ = (a - b).multiply(2 * true - a - b)  # 1 where a is right, −1 where b is
    if not differ.nnz:
        return Outcome(0.0, 1.0, 0)
    return sign_test(differ.data, np.zeros(differ.nnz), alternative)


def macro_t_test(
    truth: Any,
    predicted_a: Any,
    predicted_b: Any,
    alternative: Alternative = "two-sided",
) -> Outcome:
    """Macro t-test: paired t over the F1 of the labels [YangLiu99].

    A pair for each label that occurs in the truth or in either prediction.

    >>> macro_t_test([0, 1, 2, 2], [0, 1, 2, 2], [0, 1, 2, 0]).pairs
    3
    """
    k = indicators(truth, predicted_a, predicted_b)[0].shape[1]
    a, b = (contingency(truth, Y, k) for Y in (predicted_a, predicted_b))
    occurring = a.occurring | b.occurring
    return paired_t_test(a.f1()[occurring], b.f1()[occurring], alternative)


def randomisation_test(
    a: ArrayLike,
    b: ArrayLike,
    alternative: Alternative = "two-sided",
    *,
    rounds: int = 10_000,
    seed: Seed = 0,
) -> Outcome:
    """Fisher's randomisation test of the mean difference [Smucker07].

    Under chance each difference could as well have the other sign. All 2ⁿ signs are
    tried when they are at most ``rounds``; else ``rounds`` random ones, and p =
    (1 + as extreme) / (1 + rounds).

    >>> randomisation_test([1.0, 2.0, 3.0], [0.0, 0.0, 0.0], "greater").p_value
    0.125
    """
    d = _differences(a, b, least=1)
    observed = float(d.sum())
    slack = 1e-12 * float(np.abs(d).sum())  # equal sums, added in another order
    lower = upper = tried = 0
    exact = len(d) < 63 and 2 ** len(d) <= rounds
    rng = generator(seed)
    signs: Iterable[NDArray[np.int8]] = (
        1 - 2 * rng.integers(2, size=(size, len(d)), dtype=np.int8)
        for size in _sizes(len(d), rounds)
    )
    if exact:
        bits = (np.arange(2 ** len(d))[:, np.newaxis] >> np.arange(len(d))) & 1
        signs = [(1 - 2 * bits).astype(np.int8)]
    for block in signs:
        sums = block @ d
        lower += int((sums <= observed + slack).sum())
        upper += int((sums >= observed - slack).sum())
        tried += len(sums)
    pseudo_count = 0 if exact else 1
    low, high = (
        (pseudo_count + count) / (pseudo_count + tried) for count in (lower, upper)
    )
    return Outcome(observed / len(d), _tail(low, high, alternative), len(d))


def bootstrap_interval(
    values: ArrayLike,
    other: ArrayLike | None = None,
    *,
    confidence: float = 0.95,
    rounds: int = 10_000,
    seed: Seed = 0,
) -> tuple[float, float]:
    """Percentile interval of the mean, or of the mean difference [EfronTibshirani93].

    The values (or the differences values − other) are drawn again with replacement,
    ``rounds`` times; the result is the middle share of the means.

    >>> bootstrap_interval([0.5, 0.5, 0.5])
    (0.5, 0.5)
    """
    require_share("confidence", confidence)
    x = np.asarray(values, dtype=np.float64)
    d = _differences(x, np.zeros_like(x) if other is None else other, least=1)
    rng = generator(seed)
    means = [
        d[rng.integers(len(d), size=(size, len(d)))].mean(axis=1)
        for size in _sizes(len(d), rounds)
    ]
    tail = (1 - confidence) / 2
    low, high = np.quantile(np.concatenate(means), [tail, 1 - tail])
    return float(low), float(high)


def _differences(a: ArrayLike, b: ArrayLike, *, least: int) -> Floats:
    first = np.asarray(a, dtype=np.float64)
    second = np.asarray(b, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1 or len(first) < least:
        raise Mistake(
            f"a and b have shapes {first.shape} and {second.shape}: give two values, a "
            f"and b, for each of at least {least} queries, documents or categories"
        )
    difference: Floats = first - second
    if not np.isfinite(difference).all():
        at = int(np.argmin(np.isfinite(difference)))
        raise Mistake(f"a and b, place {at}: not finite: leave this pair out of both")
    return difference


def _tail(lower: float, upper: float, alternative: Alternative) -> float:
    if alternative == "two-sided":
        return min(1.0, 2 * min(lower, upper))
    if alternative not in {"greater", "less"}:
        raise Mistake(f"alternative {alternative!r}: give two-sided, greater or less")
    return lower if alternative == "less" else upper


def _sizes(width: int, rounds: int) -> Iterator[int]:
    if rounds < 1:
        raise Mistake(f"rounds is {rounds}: give 1 or more")
    step = max(1, BLOCK // width)
    sizes = [min(step, rounds - done) for done in range(0, rounds, step)]
    return iter(track(sizes, "drawing", len(sizes)))

"""Could this be chance? Differences of systems, and agreement of people."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from classmark.arrays import Floats, Ints
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


NOMINAL = "nominal"
SETS = ("jaccard", "masi")


def jaccard_distance(a: AbstractSet[Any], b: AbstractSet[Any]) -> float:
    """Return 1 − ∣a ∩ b∣ / ∣a ∪ b∣; 0 for two empty sets [Jaccard12].

    >>> jaccard_distance({1, 2}, {2, 3, 4})
    0.75
    """
    return 1 - len(a & b) / len(a | b) if a or b else 0.0


def masi_distance(a: AbstractSet[Any], b: AbstractSet[Any]) -> float:
    """Return 1 − J · M [Passonneau06].

    J = ∣a ∩ b∣ / ∣a ∪ b∣; M is 1 for the same sets, 2/3 where one holds the other, 1/3
    where they share some and each has others, 0 where they share nothing.

    >>> round(masi_distance({1, 2}, {1, 2, 3, 4}), 3)
    0.667
    """
    if a == b:
        return 0.0
    monotonicity = 2 / 3 if len(a & b) == min(len(a), len(b)) else 1 / 3
    return 1 - (1 - jaccard_distance(a, b)) * monotonicity


def _similarities(
    kinds: Sequence[Any], distance: str | Callable[[Any, Any], float]
) -> Any:
    """1 − distance of all kinds of decisions, shape (kinds, kinds).

    Dense for a function; else sparse: only sets that share something are compared.
    """
    from scipy.sparse import csr_matrix, eye

    if callable(distance):
        return 1 - np.array([[distance(a, b) for b in kinds] for a in kinds], float)
    if distance == NOMINAL:
        return eye(len(kinds), format="csr")
    if distance not in SETS:
        names = ", ".join((NOMINAL, *SETS))
        raise Mistake(f"distance is {distance!r}: use {names}, or a function")
    for decision in kinds:
        if not isinstance(decision, AbstractSet):
            raise Mistake(
                f"decisions: {decision!r} is no set: give sets of labels, or use "
                "the distance nominal"
            )
    number: dict[Any, int] = {}
    columns = [number.setdefault(x, len(number)) for labels in kinds for x in labels]
    sizes = np.array([len(labels) for labels in kinds])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    shape = (len(kinds), max(1, len(number)))
    holds = csr_matrix((np.ones(len(columns)), columns, starts), shape=shape)
    shared = (holds @ holds.T).tocoo()
    first, second = shared.row, shared.col
    smaller = np.minimum(sizes[first], sizes[second])
    union = sizes[first] + sizes[second] - shared.data
    alike = shared.data / union
    if distance == "masi":
        monotonicity = np.where(shared.data == smaller, 2 / 3, 1 / 3)
        alike *= np.where(union == shared.data, 1.0, monotonicity)
    empty = np.flatnonzero(sizes == 0)  # shares nothing with itself, and is alike
    cells: Any = (np.append(first, empty), np.append(second, empty))
    values = np.append(alike, np.ones(len(empty)))
    return csr_matrix((values, cells), shape=(len(kinds), len(kinds)))


Decisions = Sequence[Hashable | None]


def cohen_kappa(first: Decisions, second: Decisions) -> float:
    """Return the agreement of two people beyond chance: (p − c) / (1 − c) [Cohen60].

    p is the share of items on which they agree, c the share expected if each kept his
    habits and drew lots. NaN when both always say the same one thing (c = 1).

    >>> round(cohen_kappa(["a", "a", "b", "b"], ["a", "b", "b", "b"]), 3)
    0.5
    """
    codes, _ = _coded([first, second], name="first and second")
    if (codes < 0).any():
        item = int(np.argmax((codes < 0).any(axis=0)))
        raise Mistake(
            f"item {item} has no decision: drop it, or use krippendorff_alpha, which "
            "allows for missing ones"
        )
    kinds = int(codes.max()) + 1
    habits = [np.bincount(codes[who], minlength=kinds) for who in (0, 1)]
    n = codes.shape[1]
    chance = float(habits[0] @ habits[1]) / n**2
    agreed = float((codes[0] == codes[1]).mean())
    return math.nan if chance == 1 else (agreed - chance) / (1 - chance)


def kappa_of(table: ArrayLike) -> float:
    """Return Cohen's κ of a table of counts [Cohen60].

    table : shape (k, k), how often the first person said the row's category and the
    second the column's.

    >>> round(kappa_of([[20, 5], [10, 15]]), 3)
    0.4
    """
    counts = np.asarray(table, dtype=np.float64)
    square = counts.ndim == 2 and counts.shape[0] == counts.shape[1]
    if not square or not (counts >= 0).all() or not counts.sum() > 0:
        raise Mistake(
            f"table has the shape {counts.shape}: give a square of counts, not all 0"
        )
    shares = counts / counts.sum()
    chance = float(shares.sum(axis=1) @ shares.sum(axis=0))
    if chance >= 1:
        return math.nan
    return (float(np.trace(shares)) - chance) / (1 - chance)


def krippendorff_alpha(
    decisions: Sequence[Decisions],
    distance: str | Callable[[Any, Any], float] = NOMINAL,
) -> float:
    """Return the agreement of any number of people, with gaps [Krippendorff04].

    α = 1 − D_observed / D_expected, the mean distance of two decisions on one item and
    of any two; items with fewer than two decisions say nothing. NaN when everybody
    always says the same one thing.

    decisions : one sequence a person, of one length, None where there is no decision.
    distance : "nominal" (0 or 1); for decisions that are sets "jaccard" or "masi"
    [Passonneau06]; or a function of two decisions, 0 for the same.

    >>> round(krippendorff_alpha([["a", "b", None, "b"], ["a", "b", "b", "a"]]), 3)
    0.444
    >>> ab, b = frozenset("ab"), frozenset("b")
    >>> round(krippendorff_alpha([[ab, b, b], [ab, ab, b]], "masi"), 3)
    0.444
    """
    codes, kinds = _coded(decisions, name="decisions")
    codes = codes[:, (codes >= 0).sum(axis=0) >= 2]
    if not codes.size:
        raise Mistake("decisions: no item has two of them: nothing can be compared")
    alike = _similarities(kinds, distance)
    counts = np.bincount(codes[codes >= 0], minlength=len(kinds)).astype(np.float64)
    total = float(counts.sum())
    expected = (total**2 - float(counts @ (alike @ counts))) / (total * (total - 1))
    if expected == 0:
        return math.nan
    n_decisions = (codes >= 0).sum(axis=0)
    observed = 0.0
    for first, second in combinations(codes, 2):
        both = (first >= 0) & (second >= 0)
        if both.any():
            far = 1 - np.asarray(alike[first[both], second[both]]).ravel()
            observed += float((2 * far / (n_decisions[both] - 1)).sum())
    return 1 - observed / total / expected


def _coded(decisions: Sequence[Decisions], *, name: str) -> tuple[Ints, list[Any]]:
    """Number the categories, −1 where there is no decision; and what is numbered."""
    lengths = {len(person) for person in decisions}
    if len(lengths) != 1 or lengths == {0}:
        raise Mistake(
            f"{name}: the numbers of items are {sorted(lengths)}: give the same items, "
            "at least one, for everybody, None where there is no decision"
        )
    numbered: dict[Hashable | None, int] = {None: -1}
    codes = np.array(
        [
            [
                -1
                if decision != decision  # noqa: PLR0124  only NaN differs from itself
                else numbered.setdefault(decision, len(numbered) - 1)
                for decision in person
            ]
            for person in decisions
        ]
    )
    if (codes < 0).all():
        raise Mistake(f"{name}: there is no decision at all")
    return codes, [kind for kind, code in numbered.items() if code >= 0]

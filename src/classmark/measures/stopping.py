"""When has enough been read? Work saved, and proof by random draws that little is left.

Somebody reads a collection of N documents for the relevant ones: mostly those that look
relevant, and now and then one drawn at random from all that are unread. Were there ρ
relevant in all and r of them found, such a draw would be relevant with chance
p = (ρ − r)/n, n being how many are unread, whatever was read before and why. Let q be a
forecast of that chance, made before the draw. Then the evidence against ρ,

    E(ρ) = Π over draws with q < p: q/p if relevant, else (1 − q)/(1 − p),

is a product of fair bets if ρ is the truth: it ever reaches 1/α with chance at most α,
however often one looks [Ville39] [WaudbyRamdas20]. The totals not refuted so far hold
the truth at all times together, so one reading proves every target, in the order in
which they come, and the target may be changed while reading. Compare the test of
[CallaghanMullerHansen20], which is meant for one look.

No rule that holds for every collection can do with little: were m more relevant
documents hidden anywhere, a reader of the share s of all would miss them with chance
(1 − s)^m (``least_reading``).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Bools, Floats, Ints
from classmark.problems import Mistake


def recall_curve(relevant: ArrayLike) -> Floats:
    """Return the recall after reading 0, 1, … n documents in the order given.

    relevant : shape (n,), whether the documents are relevant, in reading order (from
    scores: ``relevant[order(scores)]``). The result has shape (n + 1,).

    >>> recall_curve([1, 0, 1]).tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    hits = np.asarray(relevant).astype(bool)
    if hits.ndim != 1 or not hits.any():
        raise Mistake(
            "relevant: give one flag a document, in reading order, at least one true"
        )
    return np.concatenate([[0.0], np.cumsum(hits) / hits.sum()])


def documents_read(relevant: ArrayLike, recall: float = 0.95) -> int:
    """Return how many documents are read until the recall is reached.

    >>> documents_read([1, 0, 1, 0], recall=0.5)
    1
    """
    if not 0 < recall <= 1:
        raise Mistake(f"recall is {recall}: give a share above 0 and up to 1")
    counts = np.cumsum(np.asarray(relevant).astype(bool))
    recall_curve(relevant)
    target = math.ceil(round(recall * int(counts[-1]), 9))
    return int(np.searchsorted(counts, target)) + 1


def work_saved(relevant: ArrayLike, recall: float = 0.95) -> float:
    """Return the work saved over sampling, WSS@recall [CohenHersh06].

    WSS@r = (n − read)/n − (1 − r), read = documents read until the recall is r. Reading
    at random saves 0 on average.

    >>> round(work_saved([1, 1, 0, 0, 0, 0, 0, 0, 0, 0], recall=0.95), 2)
    0.75
    """
    n = len(np.asarray(relevant))
    return (n - documents_read(relevant, recall)) / n - (1 - recall)


PATIENCE = 0.5
PRIOR = 0.25
_BLOCK = 1 << 12
_EVERY = 128  # up to here every count has its place in the grid of totals
_COARSE = 400


class Draws(NamedTuple):
    """Documents drawn at random from all unread ones, in order; each of shape (m,).

    unread, n_found : unread documents, and relevant ones found, before the draw;
    hits : whether it was relevant;  forecast : the chance of that, forecast before.
    """

    unread: Ints
    n_found: Ints
    hits: Bools
    forecast: Floats


class Totals(NamedTuple):
    """How far totals of relevant documents are refuted; each of shape (g,).

    least, most : of the totals of an interval;  evidence : ln E of none is below.
    """

    least: Ints
    most: Ints
    evidence: Floats


class Remaining(NamedTuple):
    """How many relevant documents are unread: the likeliest number, and an interval."""

    estimate: int
    low: int
    high: int
    level: float


def missing_total(n_found: int, target: float) -> int:
    """Return the least number of relevant documents that would miss the target.

    The least ρ with n_found/ρ < target.

    >>> missing_total(19, 0.95), missing_total(20, 0.95), missing_total(0, 0.95)
    (21, 22, 1)
    """
    return math.floor(n_found / target + 1e-9) + 1


def dry_after(n_found: int, unread: int, target: float, patience: float) -> float:
    """Return after how many likely documents without a find sampling should begin.

    patience · n/(ρ − r), ρ the least that would miss the target: in so many random
    draws one would expect a find if it were missed. Where the likely ones find less
    than that, reading on is worth less than proving.

    >>> dry_after(95, 900, 0.95, patience=1.0)
    150.0
    """
    return patience * unread / (missing_total(n_found, target) - n_found)


def least_reading(n_relevant: int, target: float, error: float) -> float:
    """Return the share of all documents that every rule reads at least, on average.

    Let a rule stop with all R relevant documents of a collection found. With
    m = ρ − R more hidden anywhere, ρ the least total that would miss the target, it
    reads the same until it meets one, so it stops too early with chance (1 − s)^m on
    average over where they are, s being the share it reads. Where the error is at most
    α wherever they are, E(1 − s)^m ≤ α, and E s ≥ 1 − α^(1/m) by Jensen's inequality.

    >>> [round(least_reading(40, target, 0.05), 2) for target in (0.8, 0.9, 0.95)]
    [0.24, 0.45, 0.63]
    """
    missing = missing_total(n_relevant, target) - n_relevant
    return 1.0 - math.pow(error, 1.0 / missing)


def draws_in(relevant: ArrayLike, drawn: ArrayLike, documents: int) -> Draws:
    """Pick the random draws out of a reading, with a forecast of each.

    relevant, drawn : shape (t,), in reading order, whether each document was relevant,
    and whether it was drawn at random;  documents : how many there are in all.

    The forecast is (¼ + h)/(1 + l + m): since the last likely document that was
    relevant, l likely ones were not, and m were drawn, h of these relevant. A draw is
    taken to be no better than the likely ones were lately. Where that is wrong it costs
    evidence, never the error rate.

    >>> draws = draws_in([1, 0, 0, 1], [0, 0, 1, 1], documents=10)
    >>> draws.unread.tolist(), draws.n_found.tolist(), draws.forecast.round(3).tolist()
    ([8, 7], [1, 1], [0.125, 0.083])
    """
    hit, random = np.asarray(relevant, bool), np.asarray(drawn, bool)
    if hit.shape != random.shape or hit.ndim != 1 or len(hit) > documents:
        raise Mistake(
            f"relevant and drawn have shapes {hit.shape} and {random.shape}: give one "
            f"flag each for every document read, at most {documents}"
        )
    hits, trials = forecasts(hit, random)
    unread = documents - np.arange(len(hit), dtype=np.int64)
    forecast = (PRIOR + hits[:-1]) / trials[:-1]
    parts = unread, np.cumsum(hit) - hit, hit, forecast
    return Draws(*(part[random] for part in parts))


def forecasts(relevant: Bools, drawn: Bools) -> tuple[Ints, Ints]:
    """Return h and 1 + l + m of the forecast before each document, and of the next."""
    at = np.arange(len(relevant) + 1, dtype=np.int64)
    likely = np.concatenate([[0], np.where(relevant & ~drawn, at[1:], 0)])
    first = np.maximum.accumulate(likely)
    sums = np.concatenate([[0], np.cumsum(relevant & drawn)])
    return sums - sums[first], 1 + at - first


def is_dry(
    relevant: ArrayLike,
    drawn: ArrayLike,
    documents: int,
    rule: tuple[float, float, int],
) -> bool:
    """Return whether the next documents should be drawn at random, all of them.

    rule : target, patience and batch. So many likely documents in a row were not
    relevant (``dry_after``); after a find among the draws, at least a batch of likely
    ones is read, with what was learned from it.

    >>> is_dry([1, 0, 0], [0, 0, 0], 10, rule=(0.95, 0.1, 2))
    True
    """
    target, patience, batch = rule
    hit, random = np.asarray(relevant, bool), np.asarray(drawn, bool)
    last = [int(np.flatnonzero(x).max(initial=-1)) for x in (hit & ~random, hit)]
    since = [int(np.count_nonzero(~random[at + 1 :])) for at in last]
    unread = documents - len(hit)
    enough = dry_after(int(hit.sum()), unread, target, patience)
    return since[0] >= enough and since[1] >= min(batch, enough)


def evidence(draws: Draws, least: ArrayLike, most: ArrayLike) -> Floats:
    """Return a bound of ln E(ρ) from below over least ≤ ρ ≤ most, exact where equal.

    least, most : shape (g,). Misses speak the louder the greater ρ is, hits the less.

    >>> draws = draws_in([1, 0, 0, 0], [0, 0, 1, 1], documents=10)
    >>> evidence(draws, [3], [3]).round(3)  # ln (7/8)/(6/8) + ln (11/12)/(5/7)
    array([0.404])
    """
    low, high = np.asarray(least, np.int64), np.asarray(most, np.int64)
    total = np.zeros(len(low))
    for start in range(0, len(draws.hits), _BLOCK):
        hits = draws.hits[start : start + _BLOCK]
        for hit, totals in ((True, high), (False, low)):
            at = start + np.flatnonzero(hits == hit)
            unread, before = draws.unread[at, None], draws.n_found[at, None]
            p = np.clip((totals - before) / unread, 0, 1)
            total += _steps(draws.forecast[at, None], p, hit=hit).sum(axis=0)
    return total


def _steps(q: Floats, p: Floats, *, hit: bool) -> Floats:
    """The logarithm of a bet's outcome where it is made, q < p, else 0."""
    with np.errstate(divide="ignore"):
        if hit:
            return np.asarray(np.minimum(np.log(q) - np.log(p), 0.0))
        return np.asarray(np.maximum(np.log1p(-q) - np.log1p(-p), 0.0))


def refuted(draws: Draws, n_found: int, unread: int) -> Totals:
    """Return how far each total above ``n_found`` is refuted.

    >>> draws = draws_in([1] * 19 + [0] * 61, [0] * 30 + [1] * 50, 100)
    >>> refuted(draws, n_found=19, unread=20).evidence[:3].round(2)
    array([0.85, 2.12, 3.45])
    """
    counts = n_found + _grid(unread)
    least, most = counts[:-1] + 1, counts[1:]
    return Totals(least, most, evidence(draws, least, most))


def _grid(unread: int) -> Ints:
    """Counts from 0 to ``unread``, every one up to 128, and 400 more."""
    small = np.arange(min(unread, _EVERY) + 1)
    large = np.geomspace(_EVERY, max(unread, _EVERY), _COARSE).round()
    counts = np.unique(np.concatenate([small, large[large <= unread]]))
    return counts.astype(np.int64)


def most_relevant(totals: Totals, n_found: int, error: float) -> int:
    """Return the greatest number of relevant documents that is not refuted.

    With chance 1 − error never below the truth, at whatever moment: n_found/ρ bounds
    the recall from below.

    >>> draws = draws_in([1] * 19 + [0] * 61, [0] * 30 + [1] * 50, 100)
    >>> most_relevant(refuted(draws, 19, 20), 19, error=0.05)
    21
    """
    held = totals.most[totals.evidence < -math.log(error)]
    return int(held.max(initial=n_found))


class Standing(NamedTuple):
    """Where a reading stands: its draws, and what the next one would be forecast from.

    hits, trials : the next forecast is (¼ + hits)/trials.
    """

    draws: Draws
    n_found: int
    unread: int
    hits: int
    trials: int


def draws_left(standing: Standing, left: float, target: float, error: float) -> int:
    """Forecast how many more draws prove a target if ``left`` relevant ones are left.

    The draws are taken to find their share, and bets to yield what they do on average.

    >>> draws = draws_in([1] * 40 + [0] * 80, [0] * 100 + [1] * 20, 1000)
    >>> standing = Standing(draws, 40, 880, 0, 81)
    >>> [draws_left(standing, 0.0, target, 0.05) for target in (0.8, 0.9, 0.95)]
    [218, 435, 609]
    """
    low, high = 0, standing.unread
    while low < high:
        middle = (low + high) // 2
        if _growth(standing, left, target, middle) >= -math.log(error):
            high = middle
        else:
            low = middle + 1
    return low


def _growth(standing: Standing, left: float, target: float, more: int) -> float:
    """The evidence against missing the target after so many more draws."""
    draws, n_found, unread, hits, trials = standing
    share = min(left / max(unread, 1), 1.0)
    least = missing_total(math.floor(n_found + share * more), target)
    at = np.arange(more)
    p = np.clip((least - n_found - share * at) / (unread - at), 0.0, 1.0)
    q = (PRIOR + hits + share * at) / (trials + at)
    on_average = share * _steps(q, p, hit=True) + (1 - share) * _steps(q, p, hit=False)
    return float(evidence(draws, [least], [least])[0] + on_average.sum())


def remaining(draws: Draws, n_found: int, unread: int, level: float = 0.9) -> Remaining:
    """Estimate how many of the unread are relevant, from all draws.

    The median and the equal-tailed interval of k under its likelihood
    Π p^hit (1 − p)^miss, p = (k + n_found − found before the draw) / unread before
    it, with weights 1/√(k + ½) [Jeffreys46]. Not for looking until it pleases: the
    interval is meant for one look.

    >>> draws = draws_in([1] * 40 + [0] * 40 + [1] * 5, [0] * 40 + [1] * 45, 1085)
    >>> remaining(draws, n_found=45, unread=1000)
    Remaining(estimate=112, low=50, high=205, level=0.9)
    """
    counts = _grid(unread)
    middles = (counts[1:] + counts[:-1]) / 2
    widths = np.diff(np.concatenate([[-0.5], middles, [unread + 0.5]]))
    logs = np.log(widths) - 0.5 * np.log(counts + 0.5)
    for start in range(0, len(draws.hits), _BLOCK):
        part = slice(start, start + _BLOCK)
        since = (n_found - draws.n_found[part])[:, None]
        chance = np.minimum((counts + since) / draws.unread[part, None], 1.0)
        hits = draws.hits[part, None]
        with np.errstate(divide="ignore"):
            logs += np.log(np.where(hits, chance, 1 - chance)).sum(axis=0)
    mass = np.exp(logs - logs.max())
    below = np.cumsum(mass) / mass.sum()
    tail = (1 - level) / 2
    low, middle, high = np.searchsorted(below, [tail, 0.5, 1 - tail])
    return Remaining(int(counts[middle]), int(counts[low]), int(counts[high]), level)


def require_share(name: str, value: float) -> None:
    """Refuse what is not strictly between 0 and 1."""
    if not 0 < value < 1:
        raise Mistake(f"{name} is {value}: give a share above 0 and below 1")

"""When has enough been read? Work saved, and proof by random draws that little is left.

Somebody reads a collection of N documents for the relevant ones: mostly those that look
relevant, and now and then one drawn at random from all that are unread. Were there ρ
relevant in all and r of them found, such a draw would be relevant with chance
p = (ρ − r)/n, n being how many are unread, whatever was read before and why. So for any
bet θ ∈ [0, 1] chosen before the draw, the evidence against ρ,

    E(ρ) = Π over draws: θ if relevant, else (1 − θp)/(1 − p),

is a product of fair bets if ρ is the truth: it ever reaches 1/α with chance at most α,
however often one looks [Ville39] [WaudbyRamdas20]. E grows with ρ. Reading may stop
when it is at least 1/α at the least ρ that would miss the target, as in the test of
[CallaghanMullerHansen20], which this makes safe to look at after every answer.
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


PATIENCE = 1.0
_BLOCK = 1 << 12
_EVERY = 128  # up to here every count has its place in the grid of `remaining`


class Draws(NamedTuple):
    """Documents drawn at random from all unread ones, in order; each of shape (m,).

    unread, n_found : unread documents, and relevant ones found, before the draw;
    hits : whether it was relevant;  rounds : 0 where nothing is bet, else 1, 2, …: each
    time the reading of likely documents had run dry, a new round of bets begins.
    """

    unread: Ints
    n_found: Ints
    hits: Bools
    rounds: Ints


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


def _missing(n_found: Ints, target: float) -> Floats:
    """How many unread relevant documents, at least, would miss the target."""
    return np.floor(n_found / target + 1e-9) + 1 - n_found


def draws_in(
    relevant: ArrayLike,
    drawn: ArrayLike,
    documents: int,
    target: float = 0.95,
    patience: float = PATIENCE,
) -> Draws:
    """Pick the random draws out of a reading.

    relevant, drawn : shape (t,), in reading order, whether each document was relevant,
    and whether it was drawn at random;  documents : how many there are in all.

    >>> draws = draws_in([1, 0, 0, 1], [0, 0, 1, 1], documents=10, patience=0.1)
    >>> draws.unread.tolist(), draws.n_found.tolist(), draws.rounds.tolist()
    ([8, 7], [1, 1], [1, 1])
    """
    require_share("target", target)
    hit, random = np.asarray(relevant, bool), np.asarray(drawn, bool)
    if hit.shape != random.shape or hit.ndim != 1 or len(hit) > documents:
        raise Mistake(
            f"relevant and drawn have shapes {hit.shape} and {random.shape}: give one "
            f"flag each for every document read, at most {documents}"
        )
    n_found = np.cumsum(hit) - hit
    likely = np.cumsum(~random) - ~random
    likely_hits = np.where(hit & ~random, np.arange(len(hit)), -1)
    last = np.maximum.accumulate(np.concatenate([[-1], likely_hits]))[:-1]
    unread = documents - np.arange(len(hit), dtype=np.int64)
    since = likely - np.where(last < 0, 0, likely[last] + 1)
    dry = (since >= patience * unread / _missing(n_found, target))[random]
    rounds = np.zeros(int(random.sum()), np.int64)
    rounds[dry] = np.unique(last[random][dry], return_inverse=True)[1] + 1
    return Draws(unread[random], n_found[random], hit[random], rounds)


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


def bets(draws: Draws, target: float = 0.95) -> Floats:
    """Return θ of each draw: hits over expected hits in its round so far, at most 1.

    θ = (¼ + hits)/(1 + Σ p), p at the least ρ that would miss the target by then: the
    predictable plug-in of [WaudbyRamdas20]; 1, which risks nothing, outside of rounds.
    Without a hit it costs an eighth more draws than a test with one look.

    >>> draws = draws_in([1, 0, 0, 0], [0, 0, 1, 1], documents=10, patience=0.1)
    >>> bets(draws).round(3).tolist()
    [0.25, 0.222]
    """
    chance = np.minimum(_missing(draws.n_found, target) / draws.unread, 1.0)
    expected = np.cumsum(chance) - chance
    hits: Ints = np.cumsum(draws.hits) - draws.hits
    opens = np.diff(draws.rounds, prepend=0) != 0
    first = np.maximum.accumulate(np.where(opens, np.arange(len(opens)), 0))
    expected, hits = expected - expected[first], hits - hits[first]
    return np.where(
        draws.rounds > 0, np.minimum((0.25 + hits) / (1 + expected), 1), 1.0
    )


def evidence(draws: Draws, bets: ArrayLike, total: int) -> float:
    """Return ln E(ρ), the evidence against ``total`` relevant documents in all.

    >>> draws = draws_in([1, 0, 0, 0], [0, 0, 1, 1], documents=10, patience=0.1)
    >>> round(math.exp(evidence(draws, [0, 0], total=3)), 3)  # 1 / (6/8 · 5/7)
    1.867
    """
    theta = np.asarray(bets, float)
    risked = theta < 1
    theta, hits = theta[risked], draws.hits[risked]
    chance = np.clip((total - draws.n_found) / draws.unread, 0.0, 1.0)[risked]
    with np.errstate(divide="ignore"):
        missed = np.log1p(-theta * chance) - np.log1p(-chance)
        steps = np.where(hits, np.log(theta), missed)
    return -math.inf if (steps == -math.inf).any() else float(steps.sum())


def most_relevant(
    draws: Draws, n_found: int, unread: int, error: float, target: float
) -> int:
    """Return the greatest number of relevant documents that is not refuted.

    The greatest ρ ≤ n_found + unread with E(ρ) < 1/error: with chance 1 − error never
    below the truth, at whatever moment. n_found/ρ bounds the recall from below.

    >>> draws = draws_in([1] * 19 + [0] * 61, [0] * 30 + [1] * 50, 100, patience=0.1)
    >>> most_relevant(draws, n_found=19, unread=20, error=0.05, target=0.95)
    21
    """
    theta = bets(draws, target)
    limit = -math.log(error)
    low, high = n_found, n_found + unread
    while low < high:
        middle = (low + high + 1) // 2
        if evidence(draws, theta, middle) < limit:
            low = middle
        else:
            high = middle - 1
    return low


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
    small = np.arange(min(unread, _EVERY) + 1)
    large = np.geomspace(_EVERY, max(unread, _EVERY), 400).round()
    counts = np.unique(np.concatenate([small, large[large <= unread]])).astype(np.int64)
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

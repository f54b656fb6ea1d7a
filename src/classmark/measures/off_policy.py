"""Which ranker is better, by clicks: estimates from another's log, and interleaving."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats
from classmark.measures.significance import sign_test
from classmark.measures.stopping import require_share
from classmark.preferences.labels import require_shown
from classmark.problems import Mistake
from classmark.validation import Seed, generator

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
    return clipped_ips(rewards, wanted, logged, np.inf, confidence=confidence)


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
    w = np.minimum(w, clip)
    terms = w * r
    error = float(terms.std(ddof=1) / np.sqrt(len(terms)))
    return _estimate(float(terms.mean()), error, w, confidence)


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
        np.asarray(values, np.float64) for values in (rewards, wanted, logged)
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


def _estimate(value: float, error: float, w: Floats, confidence: float) -> Estimate:
    from scipy.special import ndtri

    require_share("confidence", confidence)
    wide = float(ndtri((1 + confidence) / 2)) * error
    squares = float((w**2).sum())
    effective = float(w.sum()) ** 2 / squares if squares else 0.0
    return Estimate(
        value, error, value - wide, value + wide, effective, float(w.mean())
    )


Item = TypeVar("Item", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Interleaved(Generic[Item]):
    """One list made of two, and whose each result is: ``"a"`` or ``"b"``."""

    shown: tuple[Item, ...]
    teams: tuple[str, ...]

    def credit(self, clicked: Collection[Item]) -> int:
        """Return +1 if a has more clicks than b, −1 if fewer, else 0."""
        require_shown(self.shown, clicked)
        mine = [
            team
            for item, team in zip(self.shown, self.teams, strict=True)
            if item in clicked
        ]
        return int(np.sign(mine.count("a") - mine.count("b")))


def team_draft(
    a: Sequence[Item], b: Sequence[Item], k: int, seed: Seed = None
) -> Interleaved[Item]:
    """Interleave as captains choose teams [Radlinski08].

    In each round a coin says who picks first; each ranker picks its best result that
    is not on the list yet. A click counts for the ranker that picked.

    >>> team_draft("ab", "ab", 2, 0).shown
    ('a', 'b')
    """
    _require_lists(a, b, k)
    rng = generator(seed)
    lists = {"a": a, "b": b}
    shown: dict[Item, str] = {}
    while len(shown) < k:
        before = len(shown)
        for team in ("ab", "ba")[int(rng.integers(2))]:
            pick = next((item for item in lists[team] if item not in shown), None)
            if pick is not None and len(shown) < k:
                shown[pick] = team
        if len(shown) == before:
            break
    return Interleaved(tuple(shown), tuple(shown.values()))


def balanced(
    a: Sequence[Item], b: Sequence[Item], k: int, seed: Seed = None
) -> tuple[Item, ...]:
    """Interleave so that each beginning has as much of a's as of b's [Joachims03].

    The one with fewer results taken is next; a coin, tossed once, settles ties.

    >>> balanced("abc", "bca", 3, 3) in {("a", "b", "c"), ("b", "a", "c")}
    True
    """
    _require_lists(a, b, k)
    a_first = bool(generator(seed).integers(2))
    shown: dict[Item, None] = {}
    at_a = at_b = 0
    while len(shown) < k and (at_a < len(a) or at_b < len(b)):
        a_next = at_a < at_b or (at_a == at_b and a_first)
        if (a_next and at_a < len(a)) or at_b >= len(b):
            shown[a[at_a]], at_a = None, at_a + 1
        else:
            shown[b[at_b]], at_b = None, at_b + 1
    return tuple(shown)


def balanced_credit(
    a: Sequence[Item],
    b: Sequence[Item],
    shown: Sequence[Item],
    clicked: Collection[Item],
) -> int:
    """Return whose beginnings hold more of the clicks: +1 a's, −1 b's, else 0.

    Both are cut at the least rank at which one of them has the lowest clicked result.

    >>> balanced_credit("abc", "bca", "abc", {"a"})
    1
    """
    require_shown(shown, clicked)
    hits = [item for item in shown if item in clicked]
    if not hits:
        return 0
    ranks = [list(ranker).index(hits[-1]) for ranker in (a, b) if hits[-1] in ranker]
    if not ranks:
        raise Mistake(f"{hits[-1]!r} is in neither a nor b: give the lists shown is of")
    cut = min(ranks) + 1
    of_a, of_b = (sum(item in hits for item in islice(each, cut)) for each in (a, b))
    return int(np.sign(of_a - of_b))


@dataclass(frozen=True, slots=True)
class InterleavingResult:
    """How often each ranker won; could it be chance?

    preference : (wins + ties/2)/n − 1/2, above 0 where a is preferred;  p_value : of
    the two-sided sign test over the lists that were no tie.
    """

    wins: int
    losses: int
    ties: int
    preference: float
    p_value: float


def interleaving_test(credits_: Iterable[int]) -> InterleavingResult:
    """Judge the credits of many lists: +1 for a, −1 for b, 0 for a tie [Radlinski08].

    >>> result = interleaving_test([1, 1, 1, 1, 1, 0])
    >>> result.wins, result.losses, result.ties, result.p_value
    (5, 0, 1, 0.0625)
    """
    signs = [int(np.sign(credit)) for credit in credits_]
    if not signs:
        raise Mistake("there is no credit: give one for each list that was shown")
    wins, losses, ties = (signs.count(value) for value in (1, -1, 0))
    p_value = sign_test(signs, [0] * len(signs)).p_value
    return InterleavingResult(
        wins, losses, ties, (wins - losses) / (2 * len(signs)), p_value
    )


def sequential_p_value(credits_: Iterable[int]) -> float:
    """The chance of credits so far from even if neither is preferred, at any time.

    1 / max_t M_t, at most 1, of the martingale that bets on the winner of the next list
    by Jeffreys' prior: M = 2^n B(w + ½, l + ½) / B(½, ½), ties left out [Ville39]
    [Jeffreys46]. So one may look after every list and stop when it is small.

    >>> round(sequential_p_value([1] * 12), 4)
    0.0015
    """
    from scipy.special import betaln

    signs = np.array([np.sign(credit) for credit in credits_ if credit], np.int64)
    wins, losses = np.cumsum(signs > 0), np.cumsum(signs < 0)
    bets = betaln(wins + 0.5, losses + 0.5) - betaln(0.5, 0.5)
    gains = (wins + losses) * np.log(2) + bets
    return float(np.exp(-max(0.0, float(gains.max(initial=0.0)))))


def _require_lists(a: Sequence[Item], b: Sequence[Item], k: int) -> None:
    if k < 1:
        raise Mistake(f"k is {k}: ask for at least one result")
    for name, ranker in (("a", a), ("b", b)):
        if len(set(ranker)) < len(ranker):
            raise Mistake(f"{name} has a document twice: give each once, best first")

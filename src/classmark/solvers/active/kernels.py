"""One label over very many: a step on the duals of a few of them.

A document's labels are active where a weight meets one of its words; ``touched[:n]``
lists them and ``mark`` is 1 there. All others have the score 0. Of a group's duals a
few belong to single labels, and one to the rest: shared equally by all labels that may
lose, it is listed as label k, and its score f[k] is their mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from classmark.compiled import compiled
from classmark.solvers.groups.kernels import group_threshold, step_group

MOST, FEW = 20, 2  # labels that a visit may take into a group: active ones, and others


@compiled
def _survey(f: Any, touched: Any, n: int, hidden: Any) -> Any:
    """The largest score of a label not hidden, and their mean; hidden ones are −∞."""
    k = len(f) - 1
    worst, total = -np.inf, 0.0
    if n < k:
        worst = 0.0
    for t in range(n):
        score = f[touched[t]]
        if score > -np.inf:
            worst = max(worst, score)
            total += score
    return worst, total / max(1, k - len(hidden))


@compiled
def _add_largest(
    f: Any, touched: Any, n: int, limit: float, mark: Any, place: Any, m: int
) -> int:
    """List in place[m:] the MOST active labels above the limit with largest scores."""
    end = lowest = m
    for t in range(n):
        s = touched[t]
        if f[s] > limit and mark[s] == 1:
            if end < m + MOST:
                place[end] = s
                end += 1
            else:
                place[lowest] = s
            if end == m + MOST:
                lowest = m
                for j in range(m + 1, end):
                    if f[place[j]] < f[place[lowest]]:
                        lowest = j
                limit = f[place[lowest]]
    return end


@compiled
def _add_others(
    draws: Any, touched: Any, n: int, mark: Any, place: Any, end: int
) -> Any:
    """List the labels drawn that are not active: now they are."""
    for t in range(len(draws)):
        s = draws[t]
        if mark[s] == 0:
            mark[s] = 1
            touched[n], place[end] = s, s
            n, end = n + 1, end + 1
    return n, end


@compiled
def _choose(
    m: int, mine: float, q: float, cap: float, rest: bool, work: Any, n: int,
    draws: Any, least: float,
) -> Any:  # fmt: skip
    """List beside the m labels held those that would rise, and z of all of them.

    A label would rise if z = base + f/q is over the threshold of those held.
    """
    f, _, mark, touched, place, a, z = work
    k = len(f) - 1
    base = a[:m].sum() + (1.0 - mine) / q
    for j in range(m):
        z[j] = base + a[j] + f[place[j]] / q
        mark[place[j]] = 2
    theta = group_threshold(z, m, cap) if m else 0.0
    limit = (theta - base) * q + least
    end = _add_largest(f, touched, n, limit, mark, place, m)
    if limit < 0.0:
        n, end = _add_others(draws, touched, n, mark, place, end)
    if rest and mark[k] == 0 and f[k] > limit:
        place[end] = k
        end += 1
    for j in range(m, end):
        z[j], a[j] = base + f[place[j]] / q, 0.0
    for j in range(m):
        mark[place[j]] = 1
    mark[k] = 0
    return end, n


@compiled
def _move(r: int, hidden: Any, q: float, m: int, total: float, work: Any) -> Any:
    """Change scores and coefficients by the step z; return the shared part's change.

    The rest's dual takes an equal part from every label: from the hidden ones, which
    cannot lose, it is given back.
    """
    f, delta, _, _, place, _, z = work
    k, shift = len(f) - 1, 0.0
    for j in range(m):
        s = place[j]
        if s == k:
            shift = z[j] / (k - len(hidden))
        else:
            f[s] -= q * z[j]
            delta[s] -= z[j]
    f[r] += q * total
    delta[r] += total
    for j in range(len(hidden)):
        f[hidden[j]] += q * shift
        delta[hidden[j]] += shift
    return -shift


@compiled
def _restore(f: Any, hidden: Any, scores: Any) -> None:
    """Give the hidden labels their scores again."""
    for j in range(len(hidden)):
        f[hidden[j]] = scores[j]


@compiled
def visit_active(
    r: int, hidden: Any, q: float, cap: float, m: int, work: Any, n: int, draws: Any,
    least: float, learn: bool,
) -> Any:  # fmt: skip
    """Label r over all labels not hidden: a step on the duals held and a few more.

    The rest's part in the Hessian is not the identity's; with q larger by √m/N it is
    below that of ``step_group``, so that the dual value rises. Return the slack, how
    many duals are held and labels active, and the shared part's change. A document
    without words can only pay: its dual is at the cap.
    """
    f, place, a, z = work[0], work[4], work[5], work[6]
    k = len(f) - 1
    others = k - len(hidden)
    mine, scores = f[r], np.empty(len(hidden), f.dtype)
    for j in range(len(hidden)):
        scores[j] = f[hidden[j]]
        f[hidden[j]] = -np.inf
    worst, f[k] = _survey(f, work[3], n, hidden)
    slack = max(0.0, 1.0 - mine + worst)
    if not learn or others == 0 or q == 0.0 or (slack == 0.0 and m == 0):
        _restore(f, hidden, scores)
        if learn and others > 0 and q == 0.0:
            place[0], a[0], m = k, cap, 1
        return slack, m, n, 0.0
    rest = others > MOST
    wide = q * (1.0 + np.sqrt(m + MOST + FEW + 1) / others) if rest else q
    end, n = _choose(m, mine, wide, cap, rest, work, n, draws, least)
    total = step_group(a, z, end, cap)
    _restore(f, hidden, scores)
    shift = _move(r, hidden, q, end, total, work)
    m = 0
    for j in range(end):
        if a[j] > 0.0:
            a[m], place[m] = a[j], place[j]
            m += 1
    return slack, m, n, shift

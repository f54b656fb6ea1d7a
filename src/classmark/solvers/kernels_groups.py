"""The exact step on one group of preferences, and the pool that stores its duals.

slots[p] holds where its pairs begin, how many there are, and how many there is room
for; ``used`` is the pool's end. What belongs to no slot has alpha 0, so that Σα is the
sum over the pool. Labels, places and numbers are unsigned and small.

Throughout: f the scores of the document's labels, delta the change of its coefficients
(label r gains delta_r · x), level the place of each label (−1: not compared),
q = ‖x‖², or 0 where the group is only looked at; cap = C.
docs/mathematics.md, section 6, derives the steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from classmark.compiled import compiled
from classmark.kernels import fill, kth_largest


@compiled
def most_room(parts: int, listed: int, k: int) -> int:
    """What the duals of a document can need at most."""
    return parts * (1 + listed) * (k + k // 4)


@compiled
def room_for(m: int, slot: Any, alpha: Any, used: Any) -> Any:
    """Where a slot's m duals go: where they were, or, with a few to spare, the end."""
    first = np.int64(slot[0])
    for t in range(first, first + np.int64(slot[1])):
        alpha[t] = 0.0
    if m > np.int64(slot[2]):
        slot[0], slot[2] = used[0], m + m // 4
        used[0] += m + m // 4
    slot[1] = m
    return np.int64(slot[0])


@compiled
def load_duals(a: Any, slots: Any, label: Any, alpha: Any) -> None:
    """Spread the duals of each slot over a (zero) row of ``a``."""
    for j in range(len(slots)):
        first = np.int64(slots[j, 0])
        for t in range(first, first + np.int64(slots[j, 1])):
            a[j, label[t]] = alpha[t]


@compiled
def store_duals(a: Any, slots: Any, label: Any, alpha: Any, used: Any) -> None:
    """Keep the duals that are not zero, and make ``a`` zero again."""
    k = a.shape[1]
    for j in range(len(slots)):
        m = 0
        for s in range(k):
            m += a[j, s] != 0.0
        t = room_for(m, slots[j], alpha, used)
        for s in range(k):
            if a[j, s] != 0.0:
                label[t] = s
                alpha[t] = a[j, s]
                a[j, s] = 0.0
                t += 1


@compiled
def compact(order: Any, slots: Any, label: Any, alpha: Any) -> int:
    """Close the gaps of a pool, its slots in the order they lie in; return its end."""
    used = 0
    for o in range(len(order)):
        slot = slots[order[o]]
        first, count = np.int64(slot[0]), np.int64(slot[1])
        for t in range(count):
            label[used + t] = label[first + t]
            alpha[used + t] = alpha[first + t]
        slot[0], slot[2] = used, count
        used += int(count)
    fill(alpha[used:], 0.0)
    return used


@compiled
def sum_of_slots(begins: Any, ends: Any, slots: Any, alpha: Any, out: Any) -> None:
    """out_i += Σα over the slots begins_i … ends_i − 1 of every part."""
    for i in range(len(out)):
        for part in range(len(slots)):
            for p in range(begins[i], ends[i]):
                first = np.int64(slots[part, p, 0])
                for t in range(first, first + np.int64(slots[part, p, 1])):
                    out[i] += alpha[t]


MOST = 32  # labels that one visit takes into a group
LEAST = 1e-9  # what a group must be allowed for a step
NO_ITEM = 1 << 62  # beyond all items: none of them is a threshold


@compiled
def group_threshold(z: Any, m: int, cap: float) -> Any:
    """θ of the exact step: a_s = max(0, z_s − θ) with Σa = θ, or Σa = cap where less.

    Both sums are convex and decrease in θ, so Newton's method from the left ends after
    finitely many steps [AiolliSebastianiSperduti08].
    """
    theta, capped = 0.0, False
    while True:
        total, count = 0.0, 0
        for j in range(m):
            if z[j] > theta:
                total += z[j]
                count += 1
        better = (total - cap) / count if capped else total / (1 + count)
        if better <= theta * (1.0 + 1e-15):
            if capped or theta <= cap:
                return theta
            capped = True
        else:
            theta = better


@compiled
def step_group(a: Any, z: Any, m: int, cap: float) -> Any:
    """Move the m duals ``a`` of a group to their optimum; z becomes the change."""
    theta = group_threshold(z, m, cap)
    total = 0.0
    for j in range(m):
        new = max(0.0, z[j] - theta)
        z[j] = new - a[j]
        a[j] = new
        total += z[j]
    return total


@compiled
def visit_dom(
    f: Any, delta: Any, hidden: Any, r: int, q: float, cap: float, place: Any, m: int,
    buffers: Any,
) -> Any:  # fmt: skip
    """Label r over all labels not hidden: one group, one exact step.

    The group's m duals that are not zero are a[:m], a = buffers[0], of the labels
    place[:m]; the step may add others. Return the slack before it, and how many there
    are now. The end of z = buffers[1], which no candidate can reach, keeps the scores
    of the hidden.
    """
    mine, worst, held = np.float64(f[r]), -np.inf, 0.0
    a, z = buffers[0], buffers[1]
    last = len(z) - 1
    for j in range(len(hidden)):
        z[last - j] = f[hidden[j]]
        f[hidden[j]] = -np.inf
    for s in range(len(f)):
        worst = max(worst, np.float64(f[s]))
    for j in range(m):
        held += a[j]
    slack = max(0.0, 1.0 - mine + worst)
    if q > 0.0 and cap > LEAST and (slack > 0.0 or m > 0):
        m = _candidates(f, held + (1.0 - mine) / q, q, a, place, m, z)
        total = step_group(a, z, m, cap)
        for j in range(m):
            f[place[j]] -= q * z[j]
            delta[place[j]] -= z[j]
        mine += q * total
        delta[r] += total
        n, m = m, 0
        for j in range(n):
            if a[j] > 0.0:
                a[m], place[m] = a[j], place[j]
                m += 1
    for j in range(len(hidden)):
        f[hidden[j]] = z[last - j]
    f[r] = mine
    return slack, m


@compiled
def _candidates(
    f: Any, base: float, q: float, a: Any, place: Any, m: int, z: Any
) -> int:
    """List beside the m labels held those whose z is positive: z = base + a + f/q."""
    held = m
    for j in range(held):
        z[j] = base + a[j] + f[place[j]] / q
        f[place[j]] = -np.inf
    limit = -base * q
    for s in range(len(f)):
        if f[s] > limit:
            place[m] = s
            m += 1
    m = _keep_largest(f, place, held, m)
    for j in range(held, m):
        z[j], a[j] = base + f[place[j]] / q, 0.0
    for j in range(held):
        f[place[j]] = (z[j] - base - a[j]) * q
    return m


@compiled
def _keep_largest(f: Any, place: Any, held: int, m: int) -> int:
    """Of the labels place[held:m] keep the MOST with the largest scores."""
    if m - held <= MOST:
        return m
    scores = np.empty(m - held, f.dtype)
    for j in range(held, m):
        scores[j - held] = f[place[j]]
    least = kth_largest(scores, m - held, MOST)
    ties = MOST
    for j in range(len(scores)):
        ties -= scores[j] > least
    end = held
    for j in range(held, m):
        score = f[place[j]]
        if score > least or (score == least and ties > 0):
            ties -= score == least
            place[end] = place[j]
            end += 1
    return end


@compiled
def visit_dme(
    a: Any, f: Any, delta: Any, level: Any, above: Any, s: int, q: float, cap: float,
    buffers: Any,
) -> Any:  # fmt: skip
    """All labels above s over s: one group; ``a`` holds the duals, a row per label."""
    held, worst, z, duals = 0.0, np.inf, buffers[0], buffers[1]
    for j in range(len(above)):
        if level[above[j]] > level[s]:
            held += a[j, s]
            worst = min(worst, np.float64(f[above[j]]))
        else:
            cap -= a[j, s]  # of a label that is not compared any more: it stays
    slack = max(0.0, 1.0 - worst + f[s])
    if q == 0.0 or cap <= LEAST or (slack == 0.0 and held == 0.0):
        return slack
    m = 0
    for j in range(len(above)):
        if level[above[j]] > level[s]:
            z[m] = held + a[j, s] + (1.0 - np.float64(f[above[j]]) + f[s]) / q
            duals[m] = a[j, s]
            m += 1
    total = step_group(duals, z, m, cap)
    m = 0
    for j in range(len(above)):
        if level[above[j]] > level[s]:
            a[j, s] = duals[m]
            f[above[j]] += q * z[m]
            delta[above[j]] += z[m]
            m += 1
    f[s] -= q * total
    delta[s] -= total
    return slack


@compiled
def visit_dis(
    f: Any, delta: Any, level: Any, r: int, q: float, cap: float, place: Any, m: int,
    buffers: Any,
) -> Any:  # fmt: skip
    """Label r over each label below it alone; return the sum of the slacks.

    Its m duals that are not zero are a[:m], a = buffers[0], of the labels place[:m];
    the steps may add others. Returned, too: how many there are now. buffers[1] is zero,
    and so again. A label that neither violates its margin nor has a dual costs a look.
    """
    slack, mine, a, held = 0.0, np.float64(f[r]), buffers[0], buffers[1]
    for t in range(m):
        held[place[t]] = a[t]
    m, half = 0, 0.5 / q if q > 0.0 else 0.0
    for s in range(len(f)):
        dual = held[s]
        if dual == 0.0 and f[s] <= mine - 1.0:
            continue
        held[s] = 0.0
        if 0.0 <= level[s] < level[r]:
            gap = 1.0 - mine + f[s]
            slack += max(0.0, gap)
            change = min(cap, max(0.0, dual + gap * half)) - dual if q > 0.0 else 0.0
            if change != 0.0:
                dual += change
                mine += q * change
                f[s] -= q * change
                delta[r] += change
                delta[s] -= change
        if dual != 0.0:
            place[m], a[m] = s, dual
            m += 1
    f[r] = mine
    return slack, m


@compiled
def visit_svm(
    a: Any, f: Any, tau: Any, delta: Any, level: Any, q: float, learn: bool, caps: Any,
    rest_caps: Any,
) -> Any:  # fmt: skip
    """Each label above or below its threshold, alone; caps : of listed and others.

    tau : a threshold per label, one for all, or none (zero). Its feature is −1 where x
    is a label's, so that a preference's square is q + 1. Labels at −1 are left alone.
    """
    cost, squared = 0.0, q + 1.0 if len(tau) > 0 else q
    for c in range(len(f)):
        if level[c] < 0.0:
            continue
        sign, cap = (1.0, caps[c]) if level[c] > 0.0 else (-1.0, rest_caps[c])
        t = 0 if len(tau) == 1 else c
        shift = tau[t] if len(tau) > 0 else 0.0
        gap = 1.0 - sign * (np.float64(f[c]) - shift)
        cost += cap * max(0.0, gap)
        if learn and squared > 0.0 and (gap > 0.0 or a[c] > 0.0):
            change = min(cap, max(0.0, a[c] + gap / squared)) - a[c]
            a[c] += change
            f[c] += sign * q * change
            delta[c] += sign * change
            if len(tau) > 0:
                tau[t] -= sign * change
    return cost


@compiled
def visit_edges(
    winners: Any, losers: Any, a: Any, f: Any, delta: Any, q: float, cap: float,
    learn: bool, unit: int = NO_ITEM,
) -> Any:  # fmt: skip
    """A group of any edges: move mass to the worst edge from the best, to the optimum.

    unit : the first item whose row is the constant 1 in place of x, a threshold.

    One more variable, cap − Σa, whose preference is the zero vector, makes Σa ≤ cap an
    equality; each step solves exactly for the pair that violates it most.
    """
    spare, slack = cap, 0.0
    for e in range(len(a)):
        spare -= a[e]
        slack = max(slack, 1.0 - np.float64(f[winners[e]]) + f[losers[e]])
    if not learn:
        return slack
    for _ in range(200 + 4 * len(a)):
        up, down, high, low = -1, -1, 0.0, np.inf
        if spare > 0.0:
            low = 0.0
        for e in range(len(a)):
            gap = 1.0 - np.float64(f[winners[e]]) + f[losers[e]]
            if gap > high:
                up, high = e, gap
            if a[e] > 0.0 and gap < low:
                down, low = e, gap
        if high - low <= 1e-10:
            break
        apart = _distance(winners, losers, up, down, q, unit)
        step = (high - low) / apart if apart > 0.0 else cap
        if down >= 0:
            step = min(step, a[down])
            _shift(winners[down], losers[down], -step, f, delta, q, unit)
            a[down] -= step
        else:
            step = min(step, spare)
        if up >= 0:
            _shift(winners[up], losers[up], step, f, delta, q, unit)
            a[up] += step
        spare += step * (int(up < 0) - int(down < 0))
    return slack


@compiled
def _distance(winners: Any, losers: Any, e: int, g: int, q: float, unit: int) -> Any:
    """‖ψ_e − ψ_g‖² of two edges; the index −1 stands for the zero vector."""
    total = 0.0
    for edge in (e, g):
        if edge >= 0:
            total += _square(winners[edge], q, unit) + _square(losers[edge], q, unit)
    if e >= 0 and g >= 0:
        for item, other, sign in (
            (winners[e], winners[g], -2.0),
            (losers[e], losers[g], -2.0),
            (winners[e], losers[g], 2.0),
            (losers[e], winners[g], 2.0),
        ):
            if item == other:
                total += sign * _square(item, q, unit)
    return total


@compiled
def _square(item: int, q: float, unit: int) -> Any:
    """‖row‖² of an item: that of x, or 1."""
    return 1.0 if item >= unit else q


@compiled
def _shift(
    u: int, v: int, step: float, f: Any, delta: Any, q: float, unit: int
) -> None:
    """Change the dual of the preference u over v by ``step``."""
    f[u] += _square(u, q, unit) * step
    f[v] -= _square(v, q, unit) * step
    delta[u] += step
    delta[v] -= step

"""Loops of the cutting planes: products, the worst table, the small dual, the ascent.

A part is (starts, columns, values); row r of the second comes after all of the first.
A scale is (loss, example, other): what Δ, a missed example and a found other count.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from classmark.compiled import compiled
from classmark.kernels import dot, shuffle, square

NONE = 1e-300  # a curvature that is none


@compiled
def multiply(starts: Any, columns: Any, values: Any, w: Any, out: Any) -> None:
    """Write ⟨w, x⟩ of every row."""
    for i in range(len(out)):
        span = slice(starts[i], starts[i + 1])
        out[i] = dot(columns[span], values[span], w)


@compiled
def combine(
    starts: Any, columns: Any, values: Any, rows: Any, coefficients: Any, w: Any
) -> None:
    """The weights gain Σ coefficient · x_row."""
    for i in range(len(rows)):
        for j in range(starts[rows[i]], starts[rows[i] + 1]):
            w[columns[j]] += coefficients[i] * values[j]


@compiled
def product_loss(a: float, b: float, n: int) -> Any:
    """Δ = 1 − precision · recall = 1 − a² / ((a + b) n), and 1 where a = 0."""
    return 1.0 - a * (a / ((a + b) * n)) if a > 0.0 else 1.0


@compiled
def worst_table(losable: Any, findable: Any, n: int, a: int, b: int) -> Any:
    """The table that maximises Δ − Σ missed + Σ found, Δ = 1 − precision · recall.

    losable : gains of the examples that may be missed or not, rising;  findable : of
    the others that may be found, falling;  n : how many examples there are;  a, b :
    found examples and others if all that are losable are missed and none of the
    findable is found. Both kinds of gain divided by what Δ counts. The best b never
    falls as a rises, so one walk suffices. Return how many to miss, how many to find.
    """
    missed, found, value = len(losable), 0, 0.0
    best, best_missed, best_found = -np.inf, 0, 0
    for gain in losable:
        value -= gain
    while True:
        while found < len(findable):
            more = product_loss(a, b + 1, n) - product_loss(a, b, n) + findable[found]
            if more <= 0.0:
                break
            value += findable[found]
            found, b = found + 1, b + 1
        total = product_loss(a, b, n) + value
        if total > best:
            best, best_missed, best_found = total, missed, found
        if missed == 0:
            return best_missed, best_found
        missed, a = missed - 1, a + 1
        value += losable[missed]


@compiled
def _pair(G: Any, slopes: Any, alpha: Any) -> Any:
    """Which dual to raise, and which to lower for it: the pair that gains most.

    Return both, the step, and how far from optimal the duals are.
    """
    up, down, step, best, violation = int(np.argmax(slopes)), -1, 0.0, 0.0, 0.0
    for i in range(len(slopes)):
        rise = slopes[up] - slopes[i]
        if alpha[i] > 0.0 and rise > 0.0:
            violation = max(violation, rise)
            curve = max(G[up, up] + G[i, i] - 2.0 * G[up, i], NONE)
            length = min(rise / curve, alpha[i])
            gain = length * (rise - 0.5 * curve * length)
            if gain > best:
                down, step, best = i, length, gain
    return up, down, step, violation


@compiled
def maximise_dual(G: Any, losses: Any, alpha: Any, tol: float, steps: int) -> int:
    """Move α, α ≥ 0 with Σα as it is, to the maximum of Σ α·loss − ½ αᵀGα.

    Two duals at a time, those that gain most; until no exchange promises more than
    ``tol`` for each unit. Return the steps made.
    """
    slopes = losses.copy()
    for j in range(len(slopes)):
        if alpha[j] > 0.0:
            for i in range(len(slopes)):
                slopes[i] -= alpha[j] * G[j, i]
    for done in range(steps):
        up, down, step, violation = _pair(G, slopes, alpha)
        if down < 0 or violation <= tol:
            return done
        alpha[up] += step
        alpha[down] = 0.0 if step == alpha[down] else alpha[down] - step
        for i in range(len(slopes)):
            slopes[i] -= step * (G[i, up] - G[i, down])
    return steps


@compiled
def margins_of(table: Any, n: int, scale: Any) -> Any:
    """The margins of examples and of others while the table is (a, b).

    With p = a / (a + b): (2p − p²) / n and p² / n of what a loss counts, divided by
    what the scores count.
    """
    total = table[0] + table[1]
    p = table[0] / total if total > 0.0 else 0.0
    each = scale[0] / n
    return each * p * (2.0 - p) / scale[1], each * p * p / scale[2]


@compiled
def _curvature(table: Any, n: int, scale: Any, C: float, of: int) -> Any:
    """How fast a margin falls while its own dual rises; of : 0 examples, 1 others."""
    total, count = max(table[0] + table[1], 1.0), scale[1 + of]
    others, cube = table[1 - of] * table[1 - of], total * total * total
    return 2.0 * scale[0] * others / (n * cube * C * count * count)


@compiled
def _visit(problem: Any, state: Any, i: int, limits: Any) -> Any:
    """A step on one dual; return its slope, its gap, the gain; and is it at rest."""
    first, second, scale, C = problem
    duals, w, squares, table = state
    n = len(first[0]) - 1
    example = i < n
    part, r = (first, i) if example else (second, i - n)
    columns = part[1][part[0][r] : part[0][r + 1]]
    values = part[2][part[0][r] : part[0][r + 1]]
    sign, count = (1.0, scale[1]) if example else (-1.0, scale[2])
    mine, theirs = margins_of(table, n, scale)
    g = sign * dot(columns, values, w) - (mine if example else theirs)
    old, box = duals[i], C * count
    if (old == 0.0 and g > limits[1]) or (old == box and g < limits[0]):
        return 0.0, 0.0, 0.0, True
    if (old == 0.0 and g >= 0.0) or (old == box and g <= 0.0):
        return 0.0, 0.0, 0.0, False
    if squares[i] < 0.0:
        squares[i] = square(values)
    q = squares[i] + _curvature(table, n, scale, C, 0 if example else 1)
    duals[i] = min(max(old - g / max(q, NONE), 0.0), box)
    step = duals[i] - old
    table[0 if example else 1] -= sign * step / box
    for j in range(len(columns)):
        w[columns[j]] += sign * step * values[j]
    return g, box * max(0.0, -g) + old * g, -step * (g + 0.5 * q * step), False


@compiled
def climb_product(
    problem: Any, state: Any, order: Any, limits: Any, tol: float, value: float,
    seed: int, passes: int,
) -> Any:  # fmt: skip
    """Passes over the rows of ``order`` until the gap seen is tol · objective.

    problem : (examples, others, scale, C), both matrices (starts, columns, values);
    state : (duals, w, squares, table), ‖x‖² of each row, −1 at first, and (a, b), the
    retrieved examples and others, which the margins follow;  limits : (2,), slopes
    beyond which a dual at its bound rests, changed by each pass;  value : the dual
    value. Return the passes made, the dual value, and the next seed.
    """
    n = len(order)
    for done in range(passes):
        seed = shuffle(order, n, seed)
        seen, gained, least, most, k = 0.0, 0.0, 0.0, 0.0, 0
        while k < n:
            g, gap, gain, rests = _visit(problem, state, order[k], limits)
            if rests:
                n -= 1
                order[k], order[n] = order[n], order[k]
                continue
            k += 1
            seen, gained = seen + gap, gained + gain
            least, most = min(least, g), max(most, g)
        value += gained
        if gained <= 0.0 or seen <= tol * (value + seen):
            return done + 1, value, seed
        limits[0] = least if least < 0.0 else -np.inf
        limits[1] = most if most > 0.0 else np.inf
    return passes, value, seed

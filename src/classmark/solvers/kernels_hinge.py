"""Steps on one dual at a time, over rows that lie in two parts or in a Gram matrix.

``parts`` are two matrices, each (starts, columns, values); the rows of the second come
after those of the first.
Hinges are (rows, signs, boxes, margins). A hinge's slope is g = sign · ⟨w, x⟩ − margin:
the dual value grows by −g for each unit of the dual. Its part in the duality gap is
box · max(0, −g) + dual · g, never negative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from classmark.compiled import compiled
from classmark.kernels import add, dot, shuffle, square


@compiled
def _row(parts: Any, row: Any) -> Any:
    """Columns and values of a row."""
    first, second = parts
    r, split = np.int64(row), len(first[0]) - 1
    if r < split:
        span = slice(first[0][r], first[0][r + 1])
        return first[1][span], first[2][span]
    span = slice(second[0][r - split], second[0][r - split + 1])
    return second[1][span], second[2][span]


@compiled
def combine(parts: Any, rows: Any, coefficients: Any, w: Any) -> None:
    """The weights gain Σ coefficient · x_row."""
    for i in range(len(rows)):
        if coefficients[i] != 0.0:
            columns, values = _row(parts, rows[i])
            add(columns, values, coefficients[i], w)


@compiled
def survey(
    parts: Any, hinges: Any, duals: Any, w: Any, center: Any, slopes: Any
) -> Any:
    """Write the slope of every hinge; return the objective and the gap, exactly."""
    rows, signs, boxes, margins = hinges
    norm, cost, gap = 0.0, 0.0, 0.0
    for j in range(len(w)):
        apart = w[j] - center[j]
        norm += apart * apart
    for i in range(len(rows)):
        g = 0.0
        if boxes[i] > 0.0:
            columns, values = _row(parts, rows[i])
            g = signs[i] * dot(columns, values, w) - margins[i]
            loss = boxes[i] * max(0.0, -g)
            cost += loss
            gap += max(0.0, loss + duals[i] * g)
        slopes[i] = g
    return 0.5 * norm + cost, gap


@compiled
def _stepped(dual: float, g: float, q: float, box: float) -> Any:
    """The best value of a dual, the others staying; ``q`` = ‖x‖²."""
    if q > 0.0:
        return min(max(dual - g / q, 0.0), box)
    return box if g < 0.0 else 0.0


@compiled
def _visit_all(
    parts: Any, hinges: Any, state: Any, order: Any, n: int, low: float, high: float
) -> Any:
    """A step on each of order[:n]; those sure of their bound go to the end of order.

    Sure is a dual of 0 with a slope over ``high``, and a full one with a slope under
    ``low``. Return how many stay, the gap as seen before each step, the growth of the
    dual value, and the extreme slopes of duals that could move.
    """
    rows, signs, boxes, margins = hinges
    duals, w, squares = state
    seen, gained, least, most, k = 0.0, 0.0, 0.0, 0.0, 0
    while k < n:
        i = order[k]
        a, box = duals[i], boxes[i]
        columns, values = _row(parts, rows[i])
        g = signs[i] * dot(columns, values, w) - margins[i]
        if (a == 0.0 and g > high) or (a == box and g < low):
            n -= 1
            order[k], order[n] = order[n], i
            continue
        k += 1
        if (a == 0.0 and g >= 0.0) or (a == box and g <= 0.0):
            continue
        seen += box * max(0.0, -g) + a * g
        least, most = min(least, g), max(most, g)
        if squares[i] < 0.0:
            squares[i] = square(values)
        duals[i] = _stepped(a, g, squares[i], box)
        step = duals[i] - a
        if step != 0.0:
            gained -= step * (g + 0.5 * squares[i] * step)
            add(columns, values, signs[i] * step, w)
    return n, seen, gained, least, most


@compiled
def climb(
    parts: Any, hinges: Any, state: Any, order: Any, limits: Any, tol: float,
    value: float, seed: int, passes: int,
) -> Any:  # fmt: skip
    """Passes over the hinges of ``order`` until the gap seen is tol · objective.

    state : (duals, w, squares), ‖x‖² of each hinge's row, −1 at first;  limits : (2,),
    the slopes beyond which a dual is sure of its bound, changed by each pass;  value :
    the dual value at the start. Return how many hinges of ``order`` are left to visit,
    0 if it is time to look at all, the passes made, the growth of the dual value, and
    the next seed. [HsiehEtAl08]
    """
    n, gained, done = len(order), 0.0, 0
    while done < passes and n > 0:
        seed = shuffle(order, n, seed)
        n, seen, more, least, most = _visit_all(
            parts, hinges, state, order, n, limits[0], limits[1]
        )
        done += 1
        gained += more
        if more <= 0.0 or seen <= tol * (value + gained + seen):
            n = 0
        limits[0] = least if least < 0.0 else -np.inf
        limits[1] = most if most > 0.0 else np.inf
    return n, done, gained, seed


@compiled
def _look(hinges: Any, duals: Any, squares: Any, scores: Any, gains: Any) -> Any:
    """Write what a step on each dual would gain; return cost, gap, the best hinge."""
    rows, signs, boxes, margins = hinges
    cost, gap, best = 0.0, 0.0, 0
    for i in range(len(rows)):
        g = signs[i] * scores[rows[i]] - margins[i]
        loss = boxes[i] * max(0.0, -g)
        cost += loss
        gap += max(0.0, loss + duals[i] * g)
        q = squares[rows[i]]
        step = _stepped(duals[i], g, q, boxes[i]) - duals[i]
        gains[i] = -step * (g + 0.5 * q * step)
        if gains[i] > gains[best]:
            best = i
    return cost, gap, best


@compiled
def climb_gram(
    hinges: Any, duals: Any, squares: Any, scores: Any, gains: Any, gram: Any,
    tol: float, value: float, steps: int,
) -> Any:  # fmt: skip
    """Steps on the dual that gains most, until the gap is small or a row is missed.

    scores : K · Σ sign · dual of each row;  gains : what a step on each hinge would
    gain, as seen last;  gram : (slots, table, used), where in ``table`` a row of K is,
    −1 where it is not, and when a place of the table was last of use;  value : the dual
    value at the start. Return the steps made, the dual value, Σ box · slack, the gap,
    and the hinge whose row is missed, −1 if none is.
    """
    rows, signs, boxes, margins = hinges
    slots, table, used = gram
    cost, gap, best = _look(hinges, duals, squares, scores, gains)
    done, clock = 0, used.max()
    while done < steps and gains[best] > 0.0 and gap > tol * (value + gap):
        place = slots[rows[best]]
        if place < 0:
            return done, value, cost, gap, best
        done += 1
        used[place] = clock + done
        g = signs[best] * scores[rows[best]] - margins[best]
        old = duals[best]
        duals[best] = _stepped(old, g, squares[rows[best]], boxes[best])
        value += gains[best]
        step, row = signs[best] * (duals[best] - old), table[place]
        for r in range(len(scores)):
            scores[r] += step * row[r]
        cost, gap, best = _look(hinges, duals, squares, scores, gains)
    return done, value, cost, gap, -1

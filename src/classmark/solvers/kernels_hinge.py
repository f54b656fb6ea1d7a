"""Steps on one dual at a time, over rows in two parts or in a Gram matrix, and tables.

``parts`` are two matrices, each (starts, columns, values, tail); the rows of the second
come after those of the first. ``tail`` is how many entries rows end with whose columns
follow each other, as those of meaning do; a row that does not is read by its columns.
Hinges are (rows, signs, boxes, margins). A hinge's slope is g = sign · ⟨w, x⟩ − margin:
the dual value grows by −g for each unit of the dual. Its part in the duality gap is
box · max(0, −g) + dual · g, never negative. Where a ``Table`` has counts, they say the
margins instead, and change with the duals (docs/mathematics.md, section 11).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from classmark.compiled import compiled, reordered
from classmark.kernels import LINE, add, dot, prefetch, shuffle, square

NONE = 1e-300  # a curvature that is none
AHEAD = 4  # rows with a tail are fetched: their columns lie far apart


@compiled
def _row(parts: Any, row: Any) -> Any:
    """Columns and values of a row, and the tail of its part."""
    first, second = parts
    r, split = np.int64(row), len(first[0]) - 1
    if r < split:
        span = slice(first[0][r], first[0][r + 1])
        return first[1][span], first[2][span], first[3]
    span = slice(second[0][r - split], second[0][r - split + 1])
    return second[1][span], second[2][span], second[3]


@compiled
def _head(columns: Any, tail: int) -> Any:
    """How many of a row's entries come before its tail; all where it has none."""
    n = len(columns)
    if tail <= n and np.int64(columns[n - 1]) - np.int64(columns[n - tail]) < tail:
        return n - tail
    return n


@reordered
def _tail_dot(values: Any, head: Any, w: Any, first: Any, tail: int) -> Any:
    """Σ of the products of a row's tail, several at a time."""
    total, at, column = 0.0, np.uint64(head), np.uint64(first)
    for j in range(np.uint64(tail)):
        total += values[at + j] * w[column + j]
    return total


@compiled
def _dot(columns: Any, values: Any, tail: int, w: Any) -> Any:
    """⟨w, x⟩ of a row that may have a tail."""
    head, total = _head(columns, tail), 0.0
    for j in range(head):
        total += values[j] * w[columns[j]]
    if head < len(columns):
        total += _tail_dot(values, head, w, np.int64(columns[head]), tail)
    return total


@compiled
def _add(columns: Any, values: Any, tail: int, step: float, w: Any) -> None:
    """The weights gain step · x; the row may have a tail."""
    head = _head(columns, tail)
    for j in range(head):
        w[columns[j]] += step * values[j]
    if head < len(columns):
        at, first = np.uint64(head), np.uint64(columns[head])
        for j in range(np.uint64(tail)):
            w[first + j] += step * values[at + j]


@compiled
def _fetch(part: Any, row: Any) -> None:
    """Have at hand what is read of a row with a tail: its values, few columns."""
    starts, columns, values, tail = part
    begin, end = starts[row], starts[row + 1]
    for at in range(begin, end - tail, LINE):
        prefetch(columns, at)
    prefetch(columns, end - 1)
    for at in range(begin, end, LINE):
        prefetch(values, at)


@compiled
def _fetch_row(parts: Any, row: Any) -> None:
    """The same of a row of either part, where its part has a tail."""
    first, second = parts
    r, split = np.int64(row), len(first[0]) - 1
    if r < split and first[3]:
        _fetch(first, r)
    elif r >= split and second[3]:
        _fetch(second, r - split)


@compiled
def multiply(parts: Any, w: Any, out: Any) -> None:
    """Write ⟨w, x⟩ of every row."""
    at = 0
    for part in parts:
        starts, columns, values, tail = part
        for i in range(len(starts) - 1):
            span = slice(starts[i], starts[i + 1])
            if tail:
                _fetch(part, min(i + AHEAD, len(starts) - 2))
                out[at] = _dot(columns[span], values[span], tail, w)
            else:
                out[at] = dot(columns[span], values[span], w)
            at += 1


@compiled
def combine(parts: Any, rows: Any, coefficients: Any, w: Any) -> None:
    """The weights gain Σ coefficient · x_row."""
    first, split = 0, 0
    for part in parts:
        starts, columns, values, tail = part
        split += len(starts) - 1
        for i in range(len(rows)):
            if first <= rows[i] < split:
                r = np.int64(rows[i]) - first
                span = slice(starts[r], starts[r + 1])
                if tail:
                    later = np.int64(rows[min(i + AHEAD, len(rows) - 1)])
                    if first <= later < split:
                        _fetch(part, later - first)
                    _add(columns[span], values[span], tail, coefficients[i], w)
                else:
                    add(columns[span], values[span], coefficients[i], w)
        first = split


@compiled
def survey(
    parts: Any, hinges: Any, duals: Any, w: Any, center: Any, slopes: Any
) -> Any:
    """Write the slope of every hinge; return the objective and the gap, exactly."""
    rows, signs, boxes, margins = hinges
    norm, cost, gap, first, split = 0.0, 0.0, 0.0, 0, 0
    for j in range(len(w)):
        apart = w[j] - center[j]
        norm += apart * apart
    for part in parts:  # a row's part is not asked row by row
        starts, columns, values, tail = part
        split += len(starts) - 1
        for i in range(len(rows)):
            if first <= rows[i] < split:
                r = np.int64(rows[i]) - first
                span = slice(starts[r], starts[r + 1])
                if boxes[i] == 0.0:
                    slopes[i] = 0.0
                elif tail:
                    later = np.int64(rows[min(i + AHEAD, len(rows) - 1)])
                    if first <= later < split:
                        _fetch(part, later - first)
                    score = _dot(columns[span], values[span], tail, w)
                    slopes[i] = signs[i] * score - margins[i]
                else:
                    score = dot(columns[span], values[span], w)
                    slopes[i] = signs[i] * score - margins[i]
        first = split
    for i in range(len(rows)):
        loss = boxes[i] * max(0.0, -slopes[i])
        cost += loss
        gap += max(0.0, loss + duals[i] * slopes[i])
    return 0.5 * norm + cost, gap


@compiled
def _stepped(dual: float, g: float, q: float, box: float) -> Any:
    """The best value of a dual, the others staying; ``q`` = ‖x‖²."""
    if q > 0.0:
        return min(max(dual - g / q, 0.0), box)
    return box if g < 0.0 else 0.0


@compiled
def margins_of(table: Any) -> Any:
    """The margins of examples and of others while the table's counts are (a, b).

    With p = a / (a + b): (2p − p²) / n and p² / n of what a loss counts, divided by
    what the scores count.
    """
    total = table.counts[0] + table.counts[1]
    p = table.counts[0] / total if total > 0.0 else 0.0
    each = table.loss / table.n
    return each * p * (2.0 - p) / table.example, each * p * p / table.other


@compiled
def _curvature(table: Any, of: int) -> Any:
    """How fast a margin falls while its own dual rises; of : 0 examples, 1 others."""
    total = max(table.counts[0] + table.counts[1], 1.0)
    count = table.other if of else table.example
    others, cube = table.counts[1 - of] * table.counts[1 - of], total * total * total
    return 2.0 * table.loss * others / (table.n * cube * table.C * count * count)


@compiled
def _visit_all(  # noqa: PLR0915 (the loop of the algorithm)
    parts: Any, hinges: Any, state: Any, order: Any, n: int, low: float, high: float
) -> Any:
    """A step on each of order[:n]; those sure of their bound go to the end of order.

    Sure is a dual of 0 with a slope over ``high``, and a full one with a slope under
    ``low``. Return how many stay, the gap as seen before each step, the growth of the
    dual value, and the extreme slopes of duals that could move.
    """
    rows, signs, boxes, margins = hinges
    duals, w, squares, table = state
    moving = len(table.counts) > 0
    seen, gained, least, most, k = 0.0, 0.0, 0.0, 0.0, 0
    while k < n:
        i = order[k]
        _fetch_row(parts, rows[order[min(k + AHEAD, n - 1)]])
        a, box, of = duals[i], boxes[i], int(signs[i] < 0.0)
        columns, values, tail = _row(parts, rows[i])
        margin = margins_of(table)[of] if moving else margins[i]
        score = _dot(columns, values, tail, w) if tail else dot(columns, values, w)
        g = signs[i] * score - margin
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
        q = squares[i] + (_curvature(table, of) if moving else 0.0)
        duals[i] = _stepped(a, g, q, box)
        step = duals[i] - a
        if step != 0.0:
            gained -= step * (g + 0.5 * q * step)
            if tail:
                _add(columns, values, tail, signs[i] * step, w)
            else:
                add(columns, values, signs[i] * step, w)
            if moving:
                table.counts[of] -= signs[i] * step / box
    return n, seen, gained, least, most


@compiled
def climb(
    parts: Any, hinges: Any, state: Any, order: Any, limits: Any, tol: float,
    value: float, seed: int, passes: int,
) -> Any:  # fmt: skip
    """Passes over the hinges of ``order`` until the gap seen is tol · objective.

    state : (duals, w, squares, table), squares being ‖x‖² of each hinge's row, −1 at
    first;  limits : (2,), the slopes beyond which a dual is sure of its bound, changed
    by each pass;  value : the dual value at the start. Return how many hinges of
    ``order`` are left to visit, 0 if it is time to look at all, the passes made, the
    growth of the dual value, and the next seed. [HsiehEtAl08]
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

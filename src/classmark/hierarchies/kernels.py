"""Documents go down a tree: scores of daughters, a beam, the best paths, all leaves.

A model is ten arrays (``Trained.arrays``). Inner node ``at`` has the daughters
starts[at]:starts[at + 1]; where a daughter leads is a code: a leaf's number from 0 up,
or, below 0, an inner node's number less their count. Inner nodes are numbered parents
first, the root is 0. Its features, increasing, are feature_starts[at]:…; feature ``p``
has the entries (daughter, weight) from entry_starts[at] + offsets[p + at] on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from classmark.compiled import compiled
from classmark.kernels import fill, gallop

SLACK = 1e-9  # of a bound: far above rounding


@compiled
def node_scores(at: int, columns: Any, values: Any, model: Any, out: Any) -> Any:
    """Scores of the daughters of an inner node in ``out``; return how many there are.

    bias_j + Σ_f x_f (weights[f, j] + slope_j) over the features f of the node.
    """
    starts, _, bias, slope = model[0], model[1], model[2], model[3]
    features, offsets = model[5], model[7]
    daughter, weight = model[8], model[9]
    first, count = starts[at], starts[at + 1] - starts[at]
    for j in range(count):
        out[j] = bias[first + j]
    place, high = model[4][at], model[4][at + 1]
    entry, total = model[6][at], 0.0
    for t in range(len(columns)):
        place = gallop(features, place, high, columns[t])
        if place == high:
            break
        if features[place] == columns[t]:
            x = np.float64(values[t])
            total += x
            begin, end = offsets[place + at], offsets[place + at + 1]
            for e in range(entry + np.int64(begin), entry + np.int64(end)):
                out[daughter[e]] += x * weight[e]
            place += 1
    for j in range(count):
        out[j] += slope[first + j] * total
    return count


@compiled
def _log_probabilities(scores: Any, count: int, scale: float) -> None:
    """Scores of sisters become scale · score − ln Σ e^(scale · score)."""
    best = -np.inf
    for j in range(count):
        scores[j] *= scale
        best = max(best, scores[j])
    total = 0.0
    for j in range(count):
        total += np.exp(scores[j] - best)
    shift = best + np.log(total)
    for j in range(count):
        scores[j] -= shift


@compiled
def _margins(scores: Any, count: int) -> None:
    """Scores of sisters become their distances from the best other one's."""
    best, second, where = -np.inf, -np.inf, 0
    for j in range(count):
        if scores[j] > best:
            best, second, where = scores[j], best, j
        else:
            second = max(second, scores[j])
    for j in range(count):
        scores[j] -= second if j == where else best


@compiled
def _before(value: float, code: int, other: float, its_code: int) -> Any:
    """Whether the first stands before: the higher value, then the lower code."""
    return value > other or (value == other and code < its_code)


@compiled
def _enter(values: Any, codes: Any, size: int, value: float, code: int) -> int:
    """Put a path into a list in order, unless all there are better; its new size.

    Of two paths to one place the better stays.
    """
    full = size == len(values)
    if full and not _before(value, code, values[size - 1], codes[size - 1]):
        return size
    for p in range(size):
        if codes[p] == code:
            if values[p] >= value:
                return size
            for q in range(p, size - 1):
                values[q], codes[q] = values[q + 1], codes[q + 1]
            size, full = size - 1, False
            break
    if full:
        size -= 1
    p = size
    while p > 0 and _before(value, code, values[p - 1], codes[p - 1]):
        values[p], codes[p] = values[p - 1], codes[p - 1]
        p -= 1
    values[p], codes[p] = value, code
    return size + 1


@compiled
def descend(
    starts: Any, columns: Any, values: Any, model: Any, scale: float, beam: int,
    widest: int, found: Any, scores: Any,
) -> None:  # fmt: skip
    """Leaves that a beam search ends in, best first, and their log-probabilities.

    The best paths are expanded until all end in leaves. found, scores : shape (n,
    kept); where fewer are reached, −1 and −∞.
    """
    held, new, sisters = np.empty(beam), np.empty(beam), np.empty(widest)
    codes, new_codes = np.empty(beam, np.int64), np.empty(beam, np.int64)
    n_inner = len(model[0]) - 1
    for i in range(len(starts) - 1):
        row = slice(starts[i], starts[i + 1])
        held[0], codes[0] = 0.0, -n_inner
        size, going = 1, True
        while going:
            going, fresh = False, 0
            for p in range(size):
                if codes[p] >= 0:
                    fresh = _enter(new, new_codes, fresh, held[p], codes[p])
                    continue
                at = codes[p] + n_inner
                count = node_scores(at, columns[row], values[row], model, sisters)
                _log_probabilities(sisters, count, scale)
                for j in range(count):
                    code = model[1][model[0][at] + j]
                    fresh = _enter(new, new_codes, fresh, held[p] + sisters[j], code)
            size = fresh
            for p in range(size):
                held[p], codes[p] = new[p], new_codes[p]
                going = going or codes[p] < 0
        for p in range(found.shape[1]):
            found[i, p] = codes[p] if p < size else -1
            scores[i, p] = held[p] if p < size else -np.inf


@compiled
def _push(values: Any, codes: Any, size: int, value: float, code: int) -> None:
    """Put a path into the heap."""
    p = size
    while p > 0:
        up = (p - 1) >> 1
        if not _before(value, code, values[up], codes[up]):
            break
        values[p], codes[p] = values[up], codes[up]
        p = up
    values[p], codes[p] = value, code


@compiled
def _pop(values: Any, codes: Any, size: int) -> None:
    """Take the best path out of the heap; ``size`` is what is left."""
    value, code, p = values[size], codes[size], 0
    while 2 * p + 1 < size:
        down = 2 * p + 1
        right = down + 1
        if right < size and _before(
            values[right], codes[right], values[down], codes[down]
        ):
            down = right
        if not _before(values[down], codes[down], value, code):
            break
        values[p], codes[p] = values[down], codes[down]
        p = down
    values[p], codes[p] = value, code


@compiled
def best_first(
    starts: Any, columns: Any, values: Any, model: Any, scale: float, ratio: float,
    n_leaves: int, found: Any, scores: Any,
) -> None:  # fmt: skip
    """The most probable leaves, best first, and their log-probabilities: exactly.

    The best open path is taken out and expanded until enough leaves are found:
    log-probabilities never grow downwards, so leaves come out in order.

    found, scores : shape (n, kept), −1 and −∞ where there are no more leaves or where
    the log-probability is less than the best one's plus ``ratio``.
    """
    n_inner, edges = len(model[0]) - 1, len(model[1])
    held, codes = np.empty(edges + 1), np.empty(edges + 1, np.int64)
    seen, sisters = np.zeros(n_inner + n_leaves, np.int64), np.empty(edges)
    for i in range(len(starts) - 1):
        row = slice(starts[i], starts[i + 1])
        held[0], codes[0] = 0.0, -n_inner
        size, n = 1, 0
        while size and n < found.shape[1]:
            value, code = held[0], codes[0]
            size -= 1
            _pop(held, codes, size)
            if seen[code + n_inner] == i + 1:
                continue
            seen[code + n_inner] = i + 1
            if code >= 0:
                if n and value < scores[i, 0] + ratio:
                    break
                found[i, n], scores[i, n] = code, value
                n += 1
                continue
            at = code + n_inner
            count = node_scores(at, columns[row], values[row], model, sisters)
            _log_probabilities(sisters, count, scale)
            for j in range(count):
                where = model[1][model[0][at] + j]
                _push(held, codes, size, value + sisters[j], where)
                size += 1
        for p in range(n, found.shape[1]):
            found[i, p], scores[i, p] = -1, -np.inf


@compiled
def all_leaves(
    starts: Any, columns: Any, values: Any, model: Any, scale: float, margins: bool,
    out: Any,
) -> None:  # fmt: skip
    """Every leaf's log-probability, or its least margin, along its best path.

    out : shape (n, leaves).
    """
    n_inner = len(model[0]) - 1
    reach, sisters = np.empty(n_inner), np.empty(len(model[1]))
    for i in range(len(starts) - 1):
        row = slice(starts[i], starts[i + 1])
        fill(reach, -np.inf)
        reach[0] = np.inf if margins else 0.0
        fill(out[i], -np.inf)
        for at in range(n_inner):
            count = node_scores(at, columns[row], values[row], model, sisters)
            if margins:
                _margins(sisters, count)
            else:
                _log_probabilities(sisters, count, scale)
            for j in range(count):
                code, value = model[1][model[0][at] + j], sisters[j]
                value = min(reach[at], value) if margins else reach[at] + value
                if code >= 0:
                    out[i, code] = max(out[i, code], value)
                else:
                    reach[code + n_inner] = max(reach[code + n_inner], value)


@compiled
def _sisters(
    at: int, columns: Any, values: Any, model: Any, scale: float, reach: float, out: Any
) -> Any:
    """Log-probabilities of the ways to the daughters of an inner node; how many."""
    count = node_scores(at, columns, values, model, out)
    _log_probabilities(out, count, scale)
    for j in range(count):
        out[j] += reach
    return count


@compiled
def leaf_scores(
    columns: Any, values: Any, model: Any, scale: float, nodes: Any, widest: int,
    out: Any,
) -> None:  # fmt: skip
    """Log-probabilities of leaves whose ways all lead through some inner nodes.

    nodes : parents first;  out : (leaves,), raised to the best way's.
    """
    n_inner = len(model[0]) - 1
    reach, sisters = np.empty(n_inner), np.empty(widest)
    fill(reach, -np.inf)
    reach[0] = 0.0
    for at in nodes:
        count = _sisters(at, columns, values, model, scale, reach[at], sisters)
        for j in range(count):
            code = model[1][model[0][at] + j]
            if code < 0:
                reach[code + n_inner] = max(reach[code + n_inner], sisters[j])
            else:
                out[code] = max(out[code], sisters[j])


@compiled
def leaves_before(
    columns: Any, values: Any, model: Any, scale: float, score: float, numbers: Any,
    target: int, widest: int, moved: Any,
) -> int:  # fmt: skip
    """How many categories are before one of a score, ties by number.

    Nodes that cannot lead to a better one are not looked at.

    numbers : of each leaf, the category it stands for, or −1;  target : its number;
    moved : what is added to the score of each category; empty: nothing.
    """
    n_inner, count_before, highest, most = len(model[0]) - 1, 0, 0, 0.0
    reach, sisters = np.empty(n_inner), np.empty(widest)
    for i in range(len(numbers)):
        highest = max(highest, numbers[i])
    for i in range(len(moved)):
        most = max(most, moved[i])
    least = score - most - SLACK * (most + abs(score)) if most > 0.0 else score
    seen = np.zeros(highest + 1, np.bool_)
    fill(reach, -np.inf)
    reach[0] = 0.0
    for at in range(n_inner):
        if reach[at] < least:
            continue
        count = _sisters(at, columns, values, model, scale, reach[at], sisters)
        for j in range(count):
            code, value = model[1][model[0][at] + j], sisters[j]
            if value < least:
                continue
            if code < 0:
                reach[code + n_inner] = max(reach[code + n_inner], value)
                continue
            number = numbers[code]
            if number < 0 or number == target or seen[number]:
                continue
            value += moved[number] if len(moved) else 0.0
            if value > score or (value == score and number < target):
                seen[number] = True
                count_before += 1
    return count_before

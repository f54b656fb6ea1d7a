"""One pass of the on-line algorithms: they differ in the steps τ_r of a round only."""

from __future__ import annotations

from typing import Any

import numpy as np

from classmark.compiled import compiled
from classmark.kernels import add_to_rows, fill, scores_of, sort_by

PERCEPTRON, ERRORS, ONE, PAIRS = 0, 1, 2, 3  # the rule; of MMP: what divides the counts
DENSE = 8  # from k / DENSE changed labels on, whole rows are added


@compiled
def count_errors(f: Any, relevant: Any, counts: Any) -> int:
    """How many pairs of E = {(r, s) : r ∈ Y, s ∉ Y, f_r ≤ f_s} each label is in.

    Return #E; where it is 0, ``counts`` is not touched: that costs one look at f. Else
    the scores of Y are sorted and those of the others looked up: O(k log k).
    """
    m = len(relevant)
    if m == 0 or m == len(f):
        return 0
    lowest = f[relevant[0]]
    for p in range(1, m):
        lowest = min(lowest, f[relevant[p]])
    reached = 0
    for s in range(len(f)):
        reached += f[s] >= lowest
    if reached == m:
        return 0
    ordered, passed = relevant.copy(), np.zeros(m, np.int64)
    sort_by(f, ordered, m)
    fill(counts, 0)
    for p in range(m):
        counts[relevant[p]] = -1
    for s in range(len(f)):
        if f[s] >= lowest and counts[s] == 0:
            counts[s] = _reached(f, ordered, s)
            passed[counts[s] - 1] += 1
    above, errors = 0, 0
    for p in range(m - 1, -1, -1):
        above += passed[p]
        errors += above
        counts[ordered[p]] = above
    return errors


@compiled
def _reached(f: Any, ordered: Any, s: int) -> int:
    """How many of the labels, by rising score, have no higher score than s."""
    low, high = 0, len(ordered)
    while low < high:
        middle = (low + high) // 2
        if f[ordered[middle]] <= f[s]:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def steps_of(
    rule: int, f: Any, relevant: Any, tau: Any, changed: Any, counts: Any, losses: Any
) -> int:
    """Find the steps τ of a round; return how many there are, listed in ``changed``.

    MMP: τ_r = n_r/c in Y, −n_s/c outside, c = #E, 1 or #Y·(k − #Y). Perceptron: τ_r =
    y_r where y_r f_r ≤ 0. ``losses`` gets [E ≠ ∅], #E and #E/(#Y·(k − #Y)).
    """
    k, m = len(f), len(relevant)
    errors = count_errors(f, relevant, counts)
    pairs = max(m * (k - m), 1)
    losses[0], losses[1], losses[2] = errors > 0, errors, errors / pairs
    if rule == PERCEPTRON:  # 1 for each label whose score has the wrong sign, or none
        for r in range(k):
            counts[r] = f[r] >= 0.0
        for p in range(m):
            counts[relevant[p]] = f[relevant[p]] <= 0.0
    elif errors == 0:
        return 0
    c = pairs if rule == PAIRS else errors if rule == ERRORS else 1
    fill(tau, -1.0)
    for p in range(m):
        tau[relevant[p]] = 1.0
    n = 0
    for r in range(k):
        tau[r] *= counts[r] / c
        changed[n] = r
        n += counts[r] > 0
    return n


@compiled
def online_pass(
    rule: int, rows: Any, label_lists: Any, W: Any, U: Any, k: int, t: int, losses: Any
) -> int:
    """Rank each document, then learn from it; return how many prototypes moved in all.

    rows : (starts, columns, values);  label_lists : (starts, labels), the relevant
    labels of each document;  W : (features, k or more), the rest being padding;
    losses : (documents, 3);  U : sums t · update, so that the mean of the prototypes
    after each round is W − U / rounds: one more addition per update, none per round;
    or no rows: not kept.
    """
    starts, columns, values = rows
    label_starts, labels = label_lists
    f, tau = np.empty(W.shape[1], W.dtype), np.zeros(W.shape[1], W.dtype)
    late = np.empty_like(tau)
    changed, counts = np.empty(k + 1, np.uint32), np.empty(k, np.int64)
    moved = 0
    for i in range(len(starts) - 1):
        row = slice(starts[i], starts[i + 1])
        scores_of(columns[row], values[row], W, f)
        relevant = labels[label_starts[i] : label_starts[i + 1]]
        n = steps_of(rule, f[:k], relevant, tau[:k], changed, counts, losses[i])
        if n > 0:
            _add(columns[row], values[row], W, tau, changed, n)
            if len(U) > 0:
                for r in range(len(tau)):
                    late[r] = (t + i) * tau[r]
                _add(columns[row], values[row], U, late, changed, n)
        moved += n
    return moved


@compiled
def _add(columns: Any, values: Any, W: Any, tau: Any, changed: Any, n: int) -> None:
    """W[j] += x_j τ: label by label where few change, else row by row."""
    if n * DENSE < len(tau):
        add_to_rows(columns, values, W, tau, changed, n)
        return
    for j in range(len(columns)):
        value, row = values[j], W[columns[j]]
        for r in range(len(tau)):
            row[r] += value * tau[r]


@compiled
def support_pass(
    rule: int, similar: Any, label_lists: Any, T: Any, rounds: Any, sizes: Any,
    budget: int, t: int, losses: Any,
) -> None:  # fmt: skip
    """The same with similarities in place of dot products.

    The first documents of T, (S + n, k), are the known supports, the rest are the n new
    ones; similar : (n, S + n). ``rounds`` holds the round of a document's update, −1
    for none; ``sizes`` how much it moved: ‖τ‖² k(x, x) where the loss is graded, 0
    where every mistake counts alike. Beyond ``budget`` supports, the one of the
    smallest size is dropped, among equal ones the oldest.
    """
    label_starts, labels = label_lists
    n, k = len(similar), T.shape[1]
    known = len(T) - n
    f, tau = np.empty(k), np.zeros(k)
    changed, counts = np.empty(k + 1, np.uint32), np.empty(k, np.int64)
    held = 0
    for s in range(len(rounds)):
        held += rounds[s] >= 0
    for i in range(n):
        fill(f, 0.0)
        for s in range(known + i):
            if rounds[s] >= 0:
                for r in range(k):
                    f[r] += similar[i, s] * T[s, r]
        relevant = labels[label_starts[i] : label_starts[i + 1]]
        if steps_of(rule, f, relevant, tau, changed, counts, losses[i]) == 0:
            continue
        new = known + i
        size = 0.0
        for r in range(k):
            T[new, r] = tau[r]
            size += tau[r] * tau[r]
        rounds[new] = t + i
        graded = rule in (ONE, PAIRS)
        sizes[new] = size * similar[i, new] if graded else 0.0
        held += 1
        if held > budget:
            _drop_smallest(rounds[: new + 1], sizes)
            held -= 1


@compiled
def _drop_smallest(rounds: Any, sizes: Any) -> None:
    """Drop the support of the smallest size; among equal ones the oldest."""
    worst = -1
    for s in range(len(rounds)):
        if rounds[s] >= 0 and (worst < 0 or sizes[s] < sizes[worst]):
            worst = s
    rounds[worst] = -1


@compiled
def vote_pass(similar: Any, T: Any, survived: Any, points: Any) -> None:
    """Add up the Borda points each document's labels get from all prototypes.

    Prototype s has had the first s updates of T, (updates, k), and ranks with the
    weight survived[s]; the label in place p of k gets k − p points. The order of one
    prototype is that of the one before, mended.
    """
    k = T.shape[1]
    for i in range(len(similar)):
        f, order = np.zeros(k), np.arange(k)
        for s in range(len(T) + 1):
            if s > 0:
                for r in range(k):
                    f[r] += similar[i, s - 1] * T[s - 1, r]
                for p in range(1, k):  # falling scores, ties by number
                    r, q = order[p], p
                    while q > 0 and (
                        f[order[q - 1]] < f[r]
                        or (f[order[q - 1]] == f[r] and order[q - 1] > r)
                    ):
                        order[q] = order[q - 1]
                        q -= 1
                    order[q] = r
            for p in range(k):
                points[i, order[p]] += survived[s] * (k - 1 - p)

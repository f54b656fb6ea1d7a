"""Passes over documents that move every group's duals to their optimum in turn.

The duals of a document's listed labels lie in a pool (solvers.pool), those of its j-th
label of a kind at slots[part, level_starts[i] + j], those of all its labels against
their thresholds at own[i]. A label at level −1 is compared with no other.

A document's score of label r while it is learned is ⟨w_r, x⟩ + noise · a_r − self_r:
a_r is its own coefficient, as a feature √noise that no other document has would give,
and self_r what the document itself has in the center's score.

The group of a document's label u is u and all labels that the document has not; its
dual is a distribution p over the group, and w gains cap · x ⊗ (e_u − p) from it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from classmark.compiled import compiled
from classmark.kernels import add_to_rows, fill, scores_of, square
from classmark.solvers.kernels_groups import (
    load_duals,
    most_room,
    room_for,
    store_duals,
    visit_dis,
    visit_dme,
    visit_dom,
    visit_edges,
    visit_svm,
)

DIS, DOM, DME, SVM = 0, 1, 2, 3
LONGEST_NAP = 8


@compiled
def _visit_dominations(
    f: Any, delta: Any, level: Any, above: Any, q: float, caps: Any, slots: Any,
    duals: Any, room: Any,
) -> Any:  # fmt: skip
    """Each listed label over all below it; duals come as lists and go as lists.

    Those of labels that are not compared wait at the end of ``a``, and stay.
    """
    (_, _, label, alpha, used), (hidden, place, buffers) = duals, room
    cost, a, end = 0.0, buffers[0], len(place)
    for j in range(len(above)):
        r, n = above[j], 0
        if level[r] < 0.0:
            continue
        for h in range(len(above)):
            if level[above[h]] >= level[r] or level[above[h]] < 0.0:
                hidden[n] = above[h]
                n += 1
        first, m, still, cap = np.int64(slots[j, 0]), 0, end, caps[r]
        for t in range(first, first + np.int64(slots[j, 1])):
            if level[label[t]] < 0.0:
                still -= 1
                place[still], a[still] = label[t], alpha[t]
                cap -= alpha[t]
            else:
                place[m], a[m] = label[t], alpha[t]
                m += 1
        slack, m = visit_dom(f, delta, hidden[:n], r, q, cap, place, m, buffers)
        cost += caps[r] * slack
        for t in range(still, end):
            place[m], a[m] = place[t], a[t]
            m += 1
        first = room_for(m, slots[j], alpha, used)
        for t in range(m):
            label[first + t], alpha[first + t] = place[t], a[t]
    return cost


@compiled
def _visit_pairs(
    f: Any, delta: Any, level: Any, above: Any, q: float, caps: Any, slots: Any,
    duals: Any, room: Any,
) -> Any:  # fmt: skip
    """Each listed label over each below it; duals come as lists and go as lists."""
    (_, _, label, alpha, used), (_, place, buffers) = duals, room
    cost, a = 0.0, buffers[0]
    fill(buffers[1], 0.0)
    for j in range(len(above)):
        r, first = above[j], np.int64(slots[j, 0])
        m = int(slots[j, 1]) if q > 0.0 else 0
        if level[r] < 0.0:
            continue
        for t in range(m):
            place[t], a[t] = label[first + t], alpha[first + t]
        slack, m = visit_dis(f, delta, level, r, q, caps[r], place, m, buffers)
        cost += caps[r] * slack
        if q > 0.0:
            first = room_for(m, slots[j], alpha, used)
            for t in range(m):
                label[first + t], alpha[first + t] = place[t], a[t]
    return cost


@compiled
def _visit_lists(
    code: int, f: Any, delta: Any, level: Any, above: Any, q: float, caps: Any,
    slots: Any, duals: Any, room: Any,
) -> Any:  # fmt: skip
    """The groups of listed labels, alone or together, whose duals come as lists."""
    if code == DIS:
        return _visit_pairs(f, delta, level, above, q, caps, slots, duals, room)
    return _visit_dominations(f, delta, level, above, q, caps, slots, duals, room)


@compiled
def _visit_document(
    code: int, a: Any, marks: Any, above: Any, q: float, learn: bool, layers: Any,
    tau: Any, buffers: Any,
) -> Any:  # fmt: skip
    """One step on each group of a document; return Σ cap · slack before the steps."""
    (f, delta, level), caps, cost, a = marks, layers.caps, 0.0, a[: max(1, len(above))]
    if code == SVM:
        return visit_svm(
            a[0], f, tau, delta, level, q, learn, caps, layers.rest_caps
        )  # fmt: skip
    total, count, lowest = 0.0, 0, _lowest(f, above)
    for j in range(len(above)):
        if level[above[j]] > 0.0:
            total += caps[above[j]]
            count += 1
    cap = total / max(1, count)  # the mean of those that are compared
    for s in range(len(f)):
        if level[s] >= 0.0 and (1.0 - lowest + f[s] > 0.0 or _has_dual(a, s)):
            cost += cap * visit_dme(a, f, delta, level, above, s, q, cap, buffers)
            lowest = _lowest(f, above)
    return cost


@compiled
def _has_dual(a: Any, s: int) -> bool:
    """Whether any listed label has a dual over label s."""
    has = False
    for j in range(len(a)):
        has = has or a[j, s] != 0.0
    return has


@compiled
def _lowest(f: Any, above: Any) -> Any:
    """The lowest score among the listed labels."""
    lowest = np.inf
    for j in range(len(above)):
        lowest = min(lowest, np.float64(f[above[j]]))
    return lowest


@compiled
def _mark(i: int, layers: Any, duals: Any, f: Any, parts: Any, level: Any) -> None:
    """Write the levels of document i; absent labels are in none of its groups.

    f_r += noise · a_r − self_r; ``parts`` is zero, and so again.
    """
    for j in range(layers.starts[i], layers.starts[i + 1]):
        r = layers.labels[j]
        level[r] = layers.levels[j]
        if len(layers.self_scores) > 0:
            f[r] -= layers.self_scores[j]
    if layers.noise > 0.0:
        coefficients(i, layers, duals, parts, np.empty(0))
        for r in range(len(parts)):
            f[r] += layers.noise * parts[r]
            parts[r] = 0.0
    for j in range(len(layers.absent)):
        f[layers.absent[j]], level[layers.absent[j]] = -np.inf, -1.0


@compiled
def _unmark(level: Any, above: Any) -> None:
    """Make the levels of a document zero again."""
    for j in range(len(above)):
        level[above[j]] = 0.0


@compiled
def implicit_pass(
    order: Any, begin: int, rows: Any, layers: Any, duals: Any, weights: Any, naps: Any,
    costs: Any, learn: bool,
) -> int:  # fmt: skip
    """Visit the documents of ``order`` from ``begin`` on.

    Return how far it came: less than all of them when the pool has to grow first.
    rows, layers, duals : see ``preference.Layers`` and ``preference.Duals``; their
    arrays are taken out once, which the parts of a visit would pay for each time.
    ``naps`` holds, per document, the visits to leave out and the last nap's length:
    a document whose visit changed nothing is left out ever longer, up to LONGEST_NAP;
    one that pays is woken up. ``costs`` is Σ cap · slack of each when it was last seen.
    weights : W and the thresholds.
    """
    (starts, columns, values), (W, tau) = rows, weights
    codes, level_starts, labels, _, caps, _, _, widest, noise, _ = layers
    (slots, own, label, alpha, used), k = duals, W.shape[1]
    f, delta, level = np.empty(k, W.dtype), np.zeros(k), np.zeros(k)
    a, place = np.zeros((widest, k)), np.empty(k + 1, np.uint32)
    room = np.empty(widest, np.uint32), place, np.empty((2, k + 1))
    for o in range(begin, len(order)):
        i, cost = order[o], 0.0
        if learn and naps[i, 0] > 0:
            naps[i, 0] -= 1
            continue
        row, listed = (
            slice(starts[i], starts[i + 1]),
            slice(level_starts[i], level_starts[i + 1]),
        )
        above, q = labels[listed], square(values[row]) + noise if learn else 0.0
        if used[0] + most_room(len(codes), len(above), k) > len(label):
            return o
        scores_of(columns[row], values[row], W, f)
        _mark(i, layers, duals, f, delta, level)
        for part in range(len(codes)):
            code = codes[part]
            mine = own[i : i + 1] if code == SVM else slots[part, listed]
            if code in (DIS, DOM):
                cost += _visit_lists(
                    code, f, delta, level, above, q, caps, mine, duals, room
                )
            else:
                load_duals(a, mine, label, alpha)
                cost += _visit_document(
                    code, a, (f, delta, level), above, q, learn, layers, tau, room[2]
                )
                store_duals(a, mine, label, alpha, used)
        _unmark(level, above)
        costs[i] = cost
        if learn:
            _apply(columns[row], values[row], W, delta, place, naps[i])
        elif cost > 0.0:
            naps[i, 0] = 0
    return len(order)


@compiled
def private_values(documents: Any, layers: Any, duals: Any, k: int) -> Any:
    """Σ a² and Σ a · self over documents and labels."""
    parts, squares, dot = np.zeros(k), 0.0, 0.0
    for o in range(len(documents)):
        i = documents[o]
        coefficients(i, layers, duals, parts, np.empty(0))
        if len(layers.self_scores) > 0:
            for j in range(layers.starts[i], layers.starts[i + 1]):
                dot += parts[layers.labels[j]] * np.float64(layers.self_scores[j])
        for r in range(k):
            squares += parts[r] * parts[r]
            parts[r] = 0.0
    return squares, dot


@compiled
def listed_scores(rows: Any, starts: Any, labels: Any, W: Any, out: Any) -> None:
    """out_j = ⟨w_r, x⟩ for each listed label r of each document."""
    row_starts, columns, values = rows
    for i in range(len(starts) - 1):
        for j in range(starts[i], starts[i + 1]):
            total = 0.0
            for t in range(row_starts[i], row_starts[i + 1]):
                total += np.float64(values[t]) * np.float64(W[columns[t], labels[j]])
            out[j] = total


@compiled
def _apply(columns: Any, values: Any, W: Any, delta: Any, place: Any, nap: Any) -> None:
    """Add a document's change to W; a document without change takes a nap."""
    n = 0
    for s in range(len(delta)):
        if delta[s] != 0.0:
            place[n] = s
            n += 1
    add_to_rows(columns, values, W, delta, place, n)
    fill(delta, 0.0)
    nap[1] = 0 if n else min(LONGEST_NAP, 2 * nap[1] + 1)
    nap[0] = nap[1]


@compiled
def coefficients(document: int, layers: Any, duals: Any, out: Any, tau: Any) -> None:
    """out_r = Σ ± alpha over the document's duals: w_r gains out_r · x from it.

    tau : one per label, one for all, or none, gains what its thresholds gain.
    """
    first, last = layers.starts[document], layers.starts[document + 1]
    mine, label, alpha = layers.labels[first:last], duals.label, duals.alpha
    for part in range(len(layers.codes)):
        svm = layers.codes[part] == SVM
        for j in range(1 if svm else len(mine)):
            slot = duals.own[document] if svm else duals.slots[part, first + j]
            begin = np.int64(slot[0])
            for t in range(begin, begin + np.int64(slot[1])):
                s, change = np.int64(label[t]), np.float64(alpha[t])
                if svm:
                    change = change if _lists(mine, s) else -change
                    out[s] += change
                    if len(tau) > 0:
                        tau[0 if len(tau) == 1 else s] -= change
                else:
                    out[mine[j]] += change
                    out[s] -= change


@compiled
def _lists(mine: Any, label: Any) -> bool:
    """Whether a label is among those that a document has."""
    listed = False
    for m in range(len(mine)):
        listed = listed or mine[m] == label
    return listed


@compiled
def explicit_pass(
    order: Any, rows: Any, squares: Any, edges: Any, alpha: Any, weights: Any,
    costs: Any, noise: float, learn: bool,
) -> None:  # fmt: skip
    """Visit documents whose groups list their edges: document → groups → edges.

    edges : see ``preference.Edges``;  squares : ‖x‖² + noise of each document;
    weights : W and the thresholds, which edges name as the items after the last label.
    """
    starts, columns, values = rows
    group_starts, edge_starts, winners, losers, caps = edges
    W, tau = weights
    k = W.shape[1]
    f, delta = np.empty(k + len(tau), W.dtype), np.zeros(k + len(tau))
    place = np.empty(k, np.uint32)
    nap = np.zeros(2, np.int64)
    for o in range(len(order)):
        i = order[o]
        row = slice(starts[i], starts[i + 1])
        scores_of(columns[row], values[row], W, f[:k])
        costs[i] = 0.0
        for t in range(len(tau)):
            f[k + t] = tau[t]
        if noise > 0.0:
            first, last = edge_starts[group_starts[i]], edge_starts[group_starts[i + 1]]
            for e in range(first, last):
                if winners[e] < k:
                    f[winners[e]] += noise * alpha[e]
                if losers[e] < k:
                    f[losers[e]] -= noise * alpha[e]
        for g in range(group_starts[i], group_starts[i + 1]):
            span = slice(edge_starts[g], edge_starts[g + 1])
            costs[i] += caps[g] * visit_edges(
                winners[span], losers[span], alpha[span], f, delta, squares[i], caps[g],
                learn, k,
            )  # fmt: skip
        if learn:
            for t in range(len(tau)):
                tau[t] += delta[k + t]
            _apply(columns[row], values[row], W, delta[:k], place, nap)
            fill(delta[k:], 0.0)


@compiled
def rebuild(
    documents: Any,
    rows: Any,
    layers: Any,
    duals: Any,
    weights: Any,
    low: int,
    high: int,
) -> None:
    """W += Σ over the documents of x ⊗ coefficients: what the duals stand for.

    weights : W and the thresholds, to which their part is added.

    Only of the labels from ``low`` to ``high`` − 1, so that threads can share the work.
    """
    (starts, columns, values), (W, tau) = rows, weights
    k = W.shape[1]
    delta, place, shift = np.zeros(k), np.empty(k, np.uint32), np.zeros(len(tau))
    nap = np.zeros(2, np.int64)
    for o in range(len(documents)):
        i = documents[o]
        coefficients(i, layers, duals, delta, shift)
        fill(delta[:low], 0.0)
        fill(delta[high:], 0.0)
        row = slice(starts[i], starts[i + 1])
        _apply(columns[row], values[row], W, delta, place, nap)
    for t in range(low, min(high, len(tau))):
        tau[t] += shift[t]


@compiled
def square_and_dot(w: Any, places: Any, known: Any) -> Any:
    """‖w‖² and ⟨w, w₀⟩, w₀ having the values ``known`` in ``places``."""
    square, dot = 0.0, 0.0
    for j in range(len(w)):
        square += np.float64(w[j] * w[j])
    for t in range(len(places)):
        dot += w[places[t]] * known[t]
    return square, dot


@compiled
def odds_pass(
    order: Any, rows: Any, label_lists: Any, caps: Any, W: Any, P: Any, entropy: Any,
    costs: Any, learn: bool,
) -> None:  # fmt: skip
    """Visit the documents of ``order``: one step for each of their groups.

    P : (groups, labels), the duals, rows summing to 1;  entropy : −Σ p ln p of each;
    caps : what a group's loss costs;  costs : Σ cap · loss of each document as seen.
    """
    starts, columns, values = rows
    label_starts, labels = label_lists
    k = W.shape[1]
    f, d = np.empty(k, W.dtype), np.empty(k)
    for o in range(len(order)):
        i = order[o]
        row = slice(starts[i], starts[i + 1])
        q = square(values[row])
        scores_of(columns[row], values[row], W, f)
        costs[i] = 0.0
        for g in range(label_starts[i], label_starts[i + 1]):
            u = labels[g]
            for h in range(label_starts[i], label_starts[i + 1]):
                if h != g:
                    d[labels[h]] = f[labels[h]]
                    f[labels[h]] = -np.inf
            total = _log_sum(f)
            costs[i] += caps[g] * (total - f[u])
            kept = d.copy() if label_starts[i + 1] - label_starts[i] > 1 else d
            step = 0.0
            if learn and q > 0.0:
                step = _step(f, total, P[g], entropy[g], caps[g] * q, d)
            for h in range(label_starts[i], label_starts[i + 1]):
                if h != g:
                    f[labels[h]] = kept[labels[h]]
            if step > 0.0:
                entropy[g] = _move(P[g], d, step)
                _add(columns[row], values[row], W, d, -caps[g] * step)
                for r in range(k):
                    f[r] -= caps[g] * step * q * d[r]


@compiled
def _log_sum(f: Any) -> Any:
    """Return ln Σ exp(f)."""
    largest, total = -np.inf, 0.0
    for r in range(len(f)):
        largest = max(largest, f[r])
    for r in range(len(f)):
        total += math.exp(f[r] - largest)
    return largest + math.log(total)


@compiled
def _step(f: Any, total: float, p: Any, entropy: float, curve: float, d: Any) -> Any:
    """How far to go from p towards t = softmax(f); d becomes t − p.

    The dual gains at least s KL(p‖t) + ½ s(1 − s)‖d‖₁² − ½ s² curve ‖d‖₂², the entropy
    being 1-strongly concave in the first norm [ShalevZhang13]; s makes that largest.
    """
    one, two, apart = 0.0, 0.0, -entropy
    for r in range(len(f)):
        log = f[r] - total
        d[r] = math.exp(log) - p[r]
        one += abs(d[r])
        two += d[r] * d[r]
        if p[r] > 0.0:
            apart -= p[r] * log
    flat = one * one
    if flat + curve * two <= 0.0:
        return 0.0
    return min(1.0, (max(0.0, apart) + 0.5 * flat) / (flat + curve * two))


@compiled
def _move(p: Any, d: Any, step: float) -> Any:
    """Go from p a share of the way d; return the new entropy."""
    entropy = 0.0
    for r in range(len(p)):
        p[r] = max(0.0, p[r] + step * d[r])
        if p[r] > 0.0:
            entropy -= p[r] * math.log(p[r])
    return entropy


@compiled
def _add(columns: Any, values: Any, W: Any, d: Any, share: float) -> None:
    """W[j] += share · x_j · d."""
    for j in range(len(columns)):
        row, value = W[columns[j]], share * values[j]
        for r in range(len(d)):
            row[r] += value * d[r]

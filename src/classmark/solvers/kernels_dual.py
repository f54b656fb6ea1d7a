"""Passes over documents that move every group's duals to their optimum in turn.

The duals of a document's listed labels lie in a pool (solvers.pool), those of its j-th
label of a kind at slots[part, level_starts[i] + j]. A label at level −1 is compared
with no other.

The group of a document's label u is u and all labels that the document has not; its
dual is a distribution p over the group, and w gains cap · x ⊗ (e_u − p) from it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from classmark.compiled import compiled
from classmark.kernels import add_to_rows, fill, scores_of, square
from classmark.solvers.kernels_groups import (
    Workspace,
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
LEAST = 1e-9  # what a group must be allowed for a step


class Layered(NamedTuple):
    """Documents with layered labels, and what their slacks cost.

    codes : the kinds of groups;  rows : the documents;  level_starts, labels, levels :
    the labels listed of each, and their levels;  caps, rest_caps : C per label for the
    documents that list it, and for the others;  absent : columns of W that no label
    has, which are in no group;  widest : the most labels listed of a document.
    """

    codes: Any
    rows: Any
    level_starts: Any
    labels: Any
    levels: Any
    caps: Any
    rest_caps: Any
    absent: Any
    widest: int


class Listed(NamedTuple):
    """Documents whose groups list their edges: document → groups → edges.

    squares : ‖x‖² of each document;  winners, losers : of each edge;  caps : C of each
    group.
    """

    rows: Any
    squares: Any
    group_starts: Any
    edge_starts: Any
    winners: Any
    losers: Any
    caps: Any


class Seen(NamedTuple):
    """What is remembered of each document from its last visit.

    naps : the visits to leave out, and the last nap's length: a document whose visit
    changed nothing is left out ever longer, up to LONGEST_NAP; one that pays is woken
    up.  costs : Σ cap · slack.
    """

    naps: Any
    costs: Any


@compiled
def _visit_dominations(
    problem: Any, above: Any, q: float, slot: int, slots: Any, duals: Any, work: Any,
    learn: bool,
) -> Any:  # fmt: skip
    """Each listed label over all below it; duals come as lists and go as lists.

    Those of labels that are not compared wait at the end of ``a``, and stay.
    """
    level, a, place, caps = work.level, work.a, work.place, problem.caps
    label, alpha = duals.label, duals.alpha
    cost, end = 0.0, len(place)
    hidden = np.empty(len(above), np.uint32)
    for j in range(len(above)):
        r, p, n = above[j], slot + j, 0
        if level[r] < 0.0:
            continue
        for h in range(len(above)):
            if level[above[h]] >= level[r] or level[above[h]] < 0.0:
                hidden[n] = above[h]
                n += 1
        first, m, still, cap = np.int64(slots[p, 0]), 0, end, caps[r]
        for t in range(first, first + np.int64(slots[p, 1])):
            if level[label[t]] < 0.0:
                still -= 1
                place[still], a[still] = label[t], alpha[t]
                cap -= alpha[t]
            else:
                place[m], a[m] = label[t], alpha[t]
                m += 1
        slack, m = visit_dom(work, hidden[:n], r, q, cap, m, learn and cap > LEAST)
        cost += caps[r] * slack
        for t in range(still, end):
            place[m], a[m] = place[t], a[t]
            m += 1
        first = room_for(m, slots[p], alpha, duals.used)
        for t in range(m):
            label[first + t], alpha[first + t] = place[t], a[t]
    return cost


@compiled
def _visit_document(
    code: int, a: Any, problem: Any, above: Any, q: float, work: Any, learn: bool
) -> Any:
    """One step on each group of a document; return Σ cap · slack before the steps."""
    f, delta, level, z, caps = work.f, work.delta, work.level, work.z, problem.caps
    cost = 0.0
    if code == SVM:
        for s in range(len(f)):
            z[s] = problem.rest_caps[s]
        for j in range(len(above)):
            z[above[j]] = caps[above[j]] if level[above[j]] > 0.0 else 0.0
        return visit_svm(a[0], f, delta, level, q, z, learn)
    if code == DIS:
        for j in range(len(above)):
            r = above[j]
            cost += caps[r] * visit_dis(a[j], f, delta, level, r, q, caps[r], learn)
        return cost
    cap, lowest = _mean_cap(caps, above, level), _lowest(f, above)
    for s in range(len(f)):
        if level[s] >= 0.0 and (1.0 - lowest + f[s] > 0.0 or _has_dual(a, s)):
            cost += cap * visit_dme(a, work, above, s, q, cap, learn)
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
def _mean_cap(caps: Any, above: Any, level: Any) -> Any:
    """The mean cap of the labels listed, those that are not compared left out."""
    total, count = 0.0, 0
    for j in range(len(above)):
        if level[above[j]] > 0.0:
            total += caps[above[j]]
            count += 1
    return total / max(1, count)


@compiled
def _lowest(f: Any, above: Any) -> Any:
    """The lowest score among the listed labels."""
    lowest = np.inf
    for j in range(len(above)):
        lowest = min(lowest, np.float64(f[above[j]]))
    return lowest


@compiled
def _visit_part(
    i: int, part: int, problem: Any, above: Any, q: float, duals: Any, work: Any,
    learn: bool,
) -> Any:  # fmt: skip
    """A document's groups of one kind, their duals taken from the pool and put back."""
    code, slots, slot = problem.codes[part], duals.slots[part], problem.level_starts[i]
    if code == DOM:
        return _visit_dominations(problem, above, q, slot, slots, duals, work, learn)
    n = len(above)
    if code == SVM:
        slot, n = i, 1
    mine = slots[slot : slot + n]
    load_duals(work.table, mine, duals.label, duals.alpha)
    cost = _visit_document(code, work.table[:n], problem, above, q, work, learn)
    store_duals(work.table, mine, duals.label, duals.alpha, duals.used)
    return cost


@compiled
def _workspace(W: Any, problem: Any) -> Any:
    """Room for the visits, the absent labels marked."""
    k = W.shape[1]
    f, delta, level = np.empty(k, W.dtype), np.zeros(k), np.zeros(k)
    for j in range(len(problem.absent)):
        level[problem.absent[j]] = -1.0
    table = np.zeros((max(1, problem.widest), k))
    a, z, place = np.empty(k + 1), np.empty(k + 1), np.empty(k + 1, np.uint32)
    return Workspace(f, delta, level, table, a, z, place)


@compiled
def implicit_pass(
    order: Any, begin: int, problem: Any, W: Any, duals: Any, seen: Any, learn: bool
) -> int:
    """Visit the documents of ``order`` from ``begin`` on.

    The duals of a document's j-th label of a kind are at slots[part, level_starts[i] +
    j].  Return how far it came: less than all of them when the pool has to grow first.
    """
    rows, level_starts, absent = problem.rows, problem.level_starts, problem.absent
    work = _workspace(W, problem)
    f, level = work.f, work.level
    for o in range(begin, len(order)):
        i = order[o]
        if learn and seen.naps[i, 0] > 0:
            seen.naps[i, 0] -= 1
            continue
        row = slice(rows.starts[i], rows.starts[i + 1])
        above = problem.labels[level_starts[i] : level_starts[i + 1]]
        q, cost = square(rows.values[row]), 0.0
        need = most_room(len(problem.codes), len(above), len(f))
        if duals.used[0] + need > len(duals.label):
            return o
        scores_of(rows.columns[row], rows.values[row], W, f)
        for j in range(len(above)):
            level[above[j]] = problem.levels[level_starts[i] + j]
        for j in range(len(absent)):
            f[absent[j]], level[absent[j]] = -np.inf, -1.0
        able = learn and q > 0.0
        for part in range(len(problem.codes)):
            cost += _visit_part(i, part, problem, above, q, duals, work, able)
        for j in range(len(above)):
            level[above[j]] = 0.0
        seen.costs[i] = cost
        if learn:
            nap = seen.naps[i]
            _apply(rows.columns[row], rows.values[row], W, work.delta, work.place, nap)
        elif cost > 0.0:
            seen.naps[i, 0] = 0
    return len(order)


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
def coefficients(document: int, problem: Any, duals: Any, out: Any) -> None:
    """out_r = Σ ± alpha over the document's duals: w_r gains out_r · x from it."""
    starts, label, alpha = problem.level_starts, duals.label, duals.alpha
    mine = problem.labels[starts[document] : starts[document + 1]]
    for part in range(len(problem.codes)):
        svm = problem.codes[part] == SVM
        for j in range(1 if svm else len(mine)):
            p = document if svm else starts[document] + j
            first = np.int64(duals.slots[part, p, 0])
            for t in range(first, first + np.int64(duals.slots[part, p, 1])):
                if svm:
                    s = label[t]
                    sign = -1.0
                    for m in range(len(mine)):
                        if mine[m] == s:
                            sign = 1.0
                    out[s] += sign * alpha[t]
                else:
                    out[mine[j]] += alpha[t]
                    out[label[t]] -= alpha[t]


@compiled
def explicit_pass(
    order: Any, problem: Any, alpha: Any, W: Any, tau: Any, costs: Any, learn: bool
) -> None:
    """Visit documents whose groups list their edges.

    alpha : a dual per edge;  tau : (1,), the threshold, which edges name as the item
    after the last label.
    """
    rows, edge_starts, caps = problem.rows, problem.edge_starts, problem.caps
    k = W.shape[1]
    f, delta, place = np.empty(k + 1, W.dtype), np.zeros(k + 1), np.empty(k, np.uint32)
    nap = np.zeros(2, np.int64)
    for o in range(len(order)):
        i = order[o]
        row = slice(rows.starts[i], rows.starts[i + 1])
        scores_of(rows.columns[row], rows.values[row], W, f[:k])
        costs[i], f[k] = 0.0, tau[0]
        for g in range(problem.group_starts[i], problem.group_starts[i + 1]):
            edges = slice(edge_starts[g], edge_starts[g + 1])
            costs[i] += caps[g] * visit_edges(
                problem.winners[edges], problem.losers[edges], alpha[edges], f, delta,
                problem.squares[i], caps[g], learn, k,
            )  # fmt: skip
        if learn:
            tau[0] += delta[k]
            _apply(rows.columns[row], rows.values[row], W, delta[:k], place, nap)
            delta[k] = 0.0


@compiled
def rebuild(
    documents: Any, problem: Any, duals: Any, W: Any, low: int, high: int
) -> None:
    """W += Σ over the documents of x ⊗ coefficients: what the duals stand for.

    Only of the labels from ``low`` to ``high`` − 1, so that threads can share the work.
    """
    k, rows = W.shape[1], problem.rows
    delta, place = np.zeros(k), np.empty(k, np.uint32)
    nap = np.zeros(2, np.int64)
    for o in range(len(documents)):
        i = documents[o]
        coefficients(i, problem, duals, delta)
        fill(delta[:low], 0.0)
        fill(delta[high:], 0.0)
        row = slice(rows.starts[i], rows.starts[i + 1])
        _apply(rows.columns[row], rows.values[row], W, delta, place, nap)


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
    order: Any, rows: Any, groups: Any, W: Any, P: Any, entropy: Any, costs: Any,
    learn: bool,
) -> None:  # fmt: skip
    """Visit the documents of ``order``: one step for each of their groups.

    groups : (label_starts, labels, caps), a group for each label of a document and what
    its loss costs;  P : (groups, labels), the duals, rows summing to 1;  entropy :
    −Σ p ln p of each;  costs : Σ cap · loss of each document as seen.
    """
    k, (label_starts, labels, caps) = W.shape[1], groups
    f, d = np.empty(k, W.dtype), np.empty(k)
    for o in range(len(order)):
        i = order[o]
        row = slice(rows.starts[i], rows.starts[i + 1])
        q = square(rows.values[row])
        scores_of(rows.columns[row], rows.values[row], W, f)
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
                _add(rows.columns[row], rows.values[row], W, d, -caps[g] * step)
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

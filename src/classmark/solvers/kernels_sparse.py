"""Passes for very many labels: steps on a few duals, weights only where not zero.

A document's labels are active where a weight meets one of its words; ``touched[:n]``
lists them and ``mark`` is 1 there. All others have the score 0. Of a group's duals a
few belong to single labels, and one to the rest: shared equally by all labels that may
lose, it is listed as label k, and its score f[k] is their mean.

The weights are w_r = c_r + v_r + u: the center's, sparse; what was learned of label r,
sparse; and a part shared by all labels, which no order of labels can see.

documents, store : see ``preference_sparse``;  duals : ``preference.Duals``;  graph :
starts, labels, levels and caps of those listed, and how many labels there are;  center
: starts, labels and weights of each feature.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from classmark.compiled import compiled
from classmark.solvers.kernels_groups import group_threshold, room_for, step_group

MOST, FEW = 20, 2  # labels that a visit may take into a group: active ones, and others


class Work(NamedTuple):
    """Room for one document; ``place``, ``a`` and ``z`` are of the group at hand.

    f, delta : (labels + 1,), scores, and the change of coefficients;  mark : 1 for
    active labels, 2 for those of the group;  touched : the active labels;  place : the
    labels of the group;  a, z : their duals, and where these go.
    """

    f: Any
    delta: Any
    mark: Any
    touched: Any
    place: Any
    a: Any
    z: Any


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
def _choose(
    m: int, mine: float, q: float, cap: float, rest: bool, work: Any, n: int,
    draws: Any, least: float,
) -> Any:  # fmt: skip
    """List beside the m labels held those that would rise, and z of all of them.

    A label would rise if z = base + f/q is over the threshold of those held.
    """
    f, mark, place, a, z = work.f, work.mark, work.place, work.a, work.z
    k = len(f) - 1
    base = a[:m].sum() + (1.0 - mine) / q
    for j in range(m):
        z[j] = base + a[j] + f[place[j]] / q
        mark[place[j]] = 2
    theta = group_threshold(z, m, cap) if m else 0.0
    limit = (theta - base) * q + least
    end = _add_largest(f, work.touched, n, limit, mark, place, m)
    if limit < 0.0:
        for t in range(len(draws)):
            s = draws[t]
            if mark[s] == 0:  # not active: now it is
                mark[s] = 1
                work.touched[n], place[end] = s, s
                n, end = n + 1, end + 1
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
    f, delta, place, z = work.f, work.delta, work.place, work.z
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
def visit_active(
    r: int, hidden: Any, q: float, cap: float, m: int, work: Any, n: int, draws: Any,
    least: float,
) -> Any:  # fmt: skip
    """Label r over all labels not hidden: a step on the duals held and a few more.

    The rest's part in the Hessian is not the identity's; with q larger by √m/N it is
    below that of ``step_group``, so that the dual value rises. Return the slack, how
    many duals are held and labels active, and the shared part's change. A document
    without words can only pay: its dual is at the cap. Where ``least`` is ∞, the group
    is only looked at.
    """
    f, place, a = work.f, work.place, work.a
    k = len(f) - 1
    others = k - len(hidden)
    mine, scores = f[r], np.empty(len(hidden), f.dtype)
    for j in range(len(hidden)):
        scores[j] = f[hidden[j]]
        f[hidden[j]] = -np.inf
    worst, total = 0.0 if n < k else -np.inf, 0.0
    for t in range(n):
        score = f[work.touched[t]]
        if score > -np.inf:
            worst = max(worst, score)
            total += score
    f[k] = total / max(1, others)  # the mean of all that may lose
    slack = max(0.0, 1.0 - mine + worst)
    learn, moves = least < np.inf and others > 0, slack > 0.0 or m > 0
    if learn and moves and q > 0.0:
        rest = others > MOST
        wide = q * (1.0 + np.sqrt(m + MOST + FEW + 1) / others) if rest else q
        end, n = _choose(m, mine, wide, cap, rest, work, n, draws, least)
        total = step_group(a, work.z, end, cap)
    for j in range(len(hidden)):
        f[hidden[j]] = scores[j]
    if not (learn and moves and q > 0.0):
        if learn and q == 0.0:
            place[0], a[0], m = k, cap, 1
        return slack, m, n, 0.0
    shift = _move(r, hidden, q, end, total, work)
    m = 0
    for j in range(end):
        if a[j] > 0.0:
            a[m], place[m] = a[j], place[j]
            m += 1
    return slack, m, n, shift


LONGEST_NAP = 8


@compiled
def _gather(
    x: float, labels: Any, weights: Any, f: Any, touched: Any, mark: Any, n: int
) -> int:
    """Add x · weights to the scores; list the labels not yet listed."""
    for t in range(len(labels)):
        s = labels[t]
        if mark[s] == 0:
            mark[s] = 1
            touched[n] = s
            n += 1
        f[s] += x * weights[t]
    return n


@compiled
def _score(
    columns: Any, values: Any, store: Any, center: Any, work: Any, n: int
) -> Any:
    """Scores of a document's active labels, without the shared part."""
    f, mark, touched = work.f, work.mark, work.touched
    first, length, label, value = store.first, store.length, store.label, store.value
    starts, labels, weights = center
    for j in range(len(columns)):
        c, x = columns[j], values[j]
        row = slice(first[c], first[c] + length[c])
        n = _gather(x, label[row], value[row], f, touched, mark, n)
        row = slice(starts[c], starts[c + 1])
        n = _gather(x, labels[row], weights[row], f, touched, mark, n)
    return n


@compiled
def _visit_document(
    i: int,
    q: float,
    graph: Any,
    duals: Any,
    work: Any,
    n: int,
    draws: Any,
    least: float,
) -> Any:
    """One step on each group of a document; duals come as lists and go as lists."""
    level_starts, labels, levels, caps, _ = graph
    slots, _, label, alpha, used = duals
    place, a = work.place, work.a
    mine = slice(level_starts[i], level_starts[i + 1])
    cost = shift = 0.0
    for p in range(level_starts[i], level_starts[i + 1]):
        if levels[p] < 0.0:
            continue
        first, m = slots[p, 0], slots[p, 1]
        for t in range(m):
            place[t], a[t] = label[first + t], alpha[first + t]
        hidden = labels[mine][(levels[mine] >= levels[p]) | (levels[mine] < 0)]
        slack, m, n, change = visit_active(
            labels[p], hidden, q, caps[p], m, work, n, draws, least
        )
        cost += caps[p] * slack
        shift += change
        first = room_for(m, slots[p], alpha, used)
        for t in range(m):
            label[first + t], alpha[first + t] = place[t], a[t]
    return cost, shift, n


@compiled
def _has_room(columns: Any, slots: Any, store: Any, duals: Any) -> Any:
    """Whether duals and weights have room for all that one visit may add."""
    length, room, need = store.length, store.room, store.used[0]
    new = len(slots) * (MOST + FEW + 1)
    for j in range(len(columns)):
        c = columns[j]
        if length[c] + new > room[c]:
            need += 2 * (length[c] + new)
    held = slots[:, 1].sum() + new
    enough = duals.used[0] + 2 * held <= len(duals.label)
    return enough and need <= len(store.label)


@compiled
def _add_to_row(
    c: int, x: float, store: Any, delta: Any, changed: Any, n: int, mark: Any
) -> None:
    """Add x · delta to the weights of a feature; a label not in its row is appended."""
    first, length, room, label, value, used, _ = store
    known = 0
    for t in range(first[c], first[c] + length[c]):
        s = label[t]
        if delta[s] != 0.0:
            value[t] += x * delta[s]
            mark[s] = 0
            known += 1
    size = length[c] + n - known
    if size > room[c]:
        begin = used[0]
        for t in range(length[c]):
            label[begin + t] = label[first[c] + t]
            value[begin + t] = value[first[c] + t]
        first[c], room[c] = begin, 2 * size
        used[0] += 2 * size
    end = first[c] + length[c]
    for t in range(n):
        s = changed[t]
        if mark[s] == 1:
            label[end], value[end] = s, x * delta[s]
            end += 1
        mark[s] = 1
    length[c] = size


@compiled
def _apply(
    columns: Any, values: Any, store: Any, shift: float, work: Any, n: int
) -> int:
    """Add a document's change to the weights; return how many labels it moved."""
    delta, touched, changed, moved = work.delta, work.touched, work.place, 0
    for t in range(n):
        if delta[touched[t]] != 0.0:
            changed[moved] = touched[t]
            moved += 1
    if moved:
        for j in range(len(columns)):
            c, x = columns[j], values[j]
            _add_to_row(c, x, store, delta, changed, moved, work.mark)
            store.shared[c] += x * shift
    return moved


@compiled
def active_pass(
    order: Any, begin: int, documents: Any, graph: Any, center: Any, store: Any,
    duals: Any, least: float, learn: bool,
) -> int:  # fmt: skip
    """Visit the documents of ``order`` from ``begin`` on, as ``implicit_pass`` does.

    Return how far it came: less than all of them when duals or weights need more room.
    draws : labels taken in although not active, if they violate, shape (n, FEW);
    least : what a label has to violate the margin by to be taken in.
    """
    starts, columns, values, squares, naps, costs, draws = documents
    level_starts, labels, _, _, k = graph
    most = k + MOST + FEW + 1
    f, delta, mark = np.zeros(k + 1), np.zeros(k + 1), np.zeros(k + 1, np.uint8)
    touched, place = np.empty(k, np.uint32), np.empty(most, np.uint32)
    work = Work(f, delta, mark, touched, place, np.zeros(most), np.zeros(most))
    for o in range(begin, len(order)):
        i = order[o]
        if learn and naps[i, 0] > 0:
            naps[i, 0] -= 1
            continue
        words, x = columns[starts[i] : starts[i + 1]], values[starts[i] : starts[i + 1]]
        mine = slice(level_starts[i], level_starts[i + 1])
        if learn and not _has_room(words, duals.slots[mine], store, duals):
            return o
        n = _gather(0.0, labels[mine], work.a, f, touched, mark, 0)
        n = _score(words, x, store, center, work, n)
        taken = least if learn else np.inf
        costs[i], shift, n = _visit_document(
            i, squares[i], graph, duals, work, n, draws[i], taken
        )
        if learn:
            moved = _apply(words, x, store, shift, work, n)
            naps[i, 1] = 0 if moved else min(LONGEST_NAP, 2 * naps[i, 1] + 1)
            naps[i, 0] = naps[i, 1]
        for t in range(n):
            f[touched[t]] = delta[touched[t]] = 0.0
            mark[touched[t]] = 0
    return len(order)


@compiled
def change_size(store: Any, center: Any, k: int) -> Any:
    """‖v + u‖², and ⟨v + u, c⟩ with the center."""
    first, length, _, label, value, _, shared = store
    starts, labels, weights = center
    learned = np.zeros(k)
    square = dot = 0.0
    for c in range(len(first)):
        u, entries = shared[c], slice(first[c], first[c] + length[c])
        square += (k - length[c]) * u * u
        for t in range(first[c], first[c] + length[c]):
            learned[label[t]] = value[t]
            square += (value[t] + u) ** 2
        for t in range(starts[c], starts[c + 1]):
            dot += weights[t] * (learned[labels[t]] + u)
        for s in label[entries]:
            learned[s] = 0.0
    return square, dot


@compiled
def lay_out(starts: Any, labels: Any, weights: Any, store: Any) -> None:
    """Write the rows of a matrix where the store has room for them."""
    first, length, _, label, value, _, _ = store
    for c in range(len(first)):
        for t in range(length[c]):
            label[first[c] + t] = labels[starts[c] + t]
            value[first[c] + t] = weights[starts[c] + t]

"""The slow, obvious version of each kernel of solvers.sparse: everything dense."""

import numpy as np

from oracles import active


def active_pass(order, X, levels, caps, known, alpha, V, u, draws, least):
    """One pass; ``alpha`` maps (document, winner) to duals by loser.

    known : the center, and which weights there are: the center's, and all ever moved.
    """
    center, there = known
    k, costs = levels.shape[1], np.zeros(len(X))
    for i in order:
        words = np.flatnonzero(X[i])
        q, level = X[i] @ X[i], levels[i]
        met = there[words].any(axis=0) | (level > 0)
        touched = np.concatenate([np.flatnonzero(met), np.zeros(k, int)])
        f, delta, n = np.append(X[i] @ (V + center), 0.0), np.zeros(k + 1), met.sum()
        for r in np.flatnonzero(level):
            held = alpha.get((i, r), {})
            place, a = np.zeros(2 * k, int), np.zeros(2 * k)
            place[: len(held)], a[: len(held)] = list(held), list(held.values())
            slack, m, n, shift = active.visit_active(
                r, np.flatnonzero(level >= level[r]), q, caps[i, r], len(held),
                (f, delta, None, touched, place, a, None), n, draws[i], least,
            )  # fmt: skip
            alpha[i, r] = dict(zip(place[:m].tolist(), a[:m].tolist(), strict=True))
            costs[i] += caps[i, r] * slack
            u += X[i] * shift
        V += np.outer(X[i], delta[:k])
        there |= np.outer(X[i] != 0, delta[:k] != 0)
    return costs


def change_size(V, u, center):
    change = V + u[:, None]
    return (change**2).sum(), (change * center).sum()


def lay_out(matrix, store):
    first, length, _, label, value, *_ = store
    for c, row in enumerate(matrix):
        place = slice(first[c], first[c] + length[c])
        label[place] = np.flatnonzero(row)
        value[place] = row[row != 0]

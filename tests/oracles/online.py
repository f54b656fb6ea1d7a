"""The slow, obvious version of each kernel of solvers.online."""

import numpy as np


def count_errors(f, relevant, counts):
    """Each pair (r, s) of E, one by one."""
    relevant = {int(r) for r in relevant}
    errors = [
        (r, s)
        for r in relevant
        for s in range(len(f))
        if s not in relevant and f[r] <= f[s]
    ]
    if errors:
        counts[:] = [sum(r in pair for pair in errors) for r in range(len(f))]
    return len(errors)


def steps_of(rule, f, relevant, tau, changed, counts, losses):
    k, m = len(f), len(relevant)
    counts[:] = 0
    errors = count_errors(f, relevant, counts)
    losses[:] = errors > 0, errors, errors / max(m * (k - m), 1)
    y = np.array([1 if r in relevant else -1 for r in range(k)])
    if rule == 0:
        tau[:] = np.where(y * f <= 0, y, 0)
    elif errors:
        tau[:] = y * counts / {1: errors, 2: 1, 3: m * (k - m)}[rule]
    else:
        tau[:] = 0
    moved = np.flatnonzero(tau)
    changed[: len(moved)] = moved
    return len(moved)


def online_pass(rule, rows, label_lists, W, U, k, t, losses):
    """Dense documents, one update after the other."""
    X, (label_starts, labels) = dense(*rows, len(W)), label_lists
    moved = 0
    for i, x in enumerate(X):
        tau, changed = np.zeros(W.shape[1]), np.zeros(k, int)
        relevant = labels[label_starts[i] : label_starts[i + 1]]
        moved += steps_of(
            rule, x @ W[:, :k], relevant, tau[:k], changed, np.zeros(k), losses[i]
        )
        W += np.outer(x, tau)
        if len(U):
            U += (t + i) * np.outer(x, tau)
    return moved


def dense(starts, columns, values, width):
    X = np.zeros((len(starts) - 1, width))
    for i in range(len(X)):
        X[i, columns[starts[i] : starts[i + 1]]] = values[starts[i] : starts[i + 1]]
    return X


def support_pass(rule, similar, label_lists, T, rounds, sizes, budget, t, losses):
    """Forgetting sets a document's steps to zero; scores are whole sums."""
    label_starts, labels = label_lists
    n, k = len(similar), T.shape[1]
    known = len(T) - n
    for i in range(n):
        tau, changed = np.zeros(k), np.zeros(k, int)
        f = sum(
            (similar[i, s] * T[s] for s in range(known + i) if rounds[s] >= 0),
            np.zeros(k),
        )
        relevant = labels[label_starts[i] : label_starts[i + 1]]
        if steps_of(rule, f, relevant, tau, changed, np.zeros(k), losses[i]):
            s = known + i
            T[s], rounds[s] = tau, t + i
            sizes[s] = (tau**2).sum() * similar[i, s] if rule in (2, 3) else 0
        alive = np.flatnonzero(rounds >= 0)
        if len(alive) > budget:
            rounds[min(alive, key=lambda s: (sizes[s], s))] = -1


def vote_pass(similar, T, survived, points):
    """Every prototype ranks every document from the beginning."""
    k = T.shape[1]
    for i in range(len(similar)):
        for s in range(len(T) + 1):
            f = sum((similar[i, u] * T[u] for u in range(s)), np.zeros(k))
            for place, r in enumerate(np.argsort(-f, kind="stable"), start=1):
                points[i, r] += survived[s] * (k - place)

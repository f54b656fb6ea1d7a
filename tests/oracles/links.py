"""The slow, obvious version of each kernel of links."""

import numpy as np


def turn_round(starts, columns, values):
    """(source, value) pairs by target."""
    found = [[] for _ in range(len(starts) - 1)]
    for i in range(len(starts) - 1):
        for e in range(starts[i], starts[i + 1]):
            found[columns[e]].append((i, values[e] if len(values) else None))
    return found


def share_out(A):
    """Rows divided by their sums; 1 where there was something to divide."""
    sums = A.sum(axis=1, keepdims=True)
    return np.divide(A, sums, out=np.zeros_like(A), where=sums > 0), sums[:, 0] > 0


def transitions(A, teleport, damping):
    """P of the specification, dense: a row of ``teleport`` for a page without links."""
    S, linked = share_out(A)
    P = damping * S + (1 - damping) * teleport
    P[~linked] = teleport
    return P


def follow_links(A, teleport, damping, x):
    after = x @ transitions(A, teleport, damping)
    return after, np.abs(after - x).sum()


def relax_pages(A, teleport, damping, x):
    """Solve each equation of x = λ Sᵀ x + v in turn for its own unknown."""
    S, _ = share_out(A)
    x, before = x.copy(), x
    for j in range(len(x)):
        others = sum(S[i, j] * x[i] for i in range(len(x)) if i != j)
        x[j] = (teleport[j] + damping * others) / (1 - damping * S[j, j])
    return x, np.abs(x - before).sum()


def pagerank(A, teleport, damping):
    """The solution of x (I − P) = 0, Σ x = 1, as one dense linear system."""
    n = len(A)
    M = np.vstack([(np.eye(n) - transitions(A, teleport, damping)).T, np.ones(n)])
    return np.linalg.lstsq(M, np.append(np.zeros(n), 1.0), rcond=None)[0]

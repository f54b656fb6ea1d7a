"""The slow, obvious version of each kernel of clusters, over dense rows."""

import numpy as np


def nearest(X, W, first, which, best, second):
    for i, row in enumerate(X @ W):
        for c, score in enumerate(row):
            met = sorted([best[i], second[i], score], reverse=True)
            if score > best[i]:
                which[i] = first + c
            best[i], second[i] = met[:2]


def products(x, X, out):
    out[:] = X @ x


def chain(X, linkage):
    """Heights of merging the two nearest clusters, from all their documents."""
    groups = [[i] for i in range(len(X))]
    heights = []
    while len(groups) > 1:
        pairs = [(a, b) for b in range(len(groups)) for a in range(b)]
        apart = [_apart(X[groups[a]], X[groups[b]], linkage) for a, b in pairs]
        a, b = pairs[int(np.argmin(apart))]
        heights.append(min(apart))
        groups[a] += groups.pop(b)
    return heights


def _apart(A, B, linkage):
    if linkage == "average":
        return (1 - A @ B.T).mean()
    share = 2 * len(A) * len(B) / (len(A) + len(B))
    return np.sqrt(share) * np.linalg.norm(A.mean(axis=0) - B.mean(axis=0))


def link(X, threshold, parent):
    """Every pair, until nothing changes."""
    close = (threshold <= X @ X.T) & X.any(axis=1)[:, None]
    changed = True
    while changed:
        before = parent.copy()
        for i in range(len(X)):
            together = np.flatnonzero(close[i])
            if len(together):
                parent[together] = parent[together].min()
        changed = (parent != before).any()

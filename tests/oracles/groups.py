"""The slow, obvious version of each kernel of solvers.groups; q = 0 only looks."""

import numpy as np


def group_threshold(z, m, cap):
    """Bisection on Σ max(0, z − θ) = min(θ, cap)."""
    z = np.asarray(z[:m])
    low, high = 0.0, max(z.max(initial=0.0), 0.0) + 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if np.maximum(0, z - middle).sum() > min(middle, cap):
            low = middle
        else:
            high = middle
    return (low + high) / 2


def step_group(a, z, m, cap):
    theta, total = group_threshold(z, m, cap), 0.0
    for j in range(m):
        new = max(0.0, z[j] - theta)
        z[j], a[j] = new - a[j], new
        total += z[j]
    return total


def _move(edges, a, f, delta, squares, cap):
    """Projected gradient on one group's dual, to its optimum; a, f, delta change."""
    k = len(f)
    E = np.zeros((len(edges), k))
    for e, (u, v) in enumerate(edges):
        E[e, u] += 1
        E[e, v] -= 1
    start, b = a.copy(), 1 - E @ f
    H = E * squares @ E.T
    if not H.any():
        a[np.argmax(b)] += cap - a.sum()
        return
    x, step = a.copy(), 1 / np.linalg.norm(H, 2)
    for _ in range(4000):
        moved = _project(x - step * (H @ (x - start) - b), cap)
        done = np.abs(moved - x).max() < 1e-9
        x = moved
        if done:
            break
    change = x - start
    a[:] = x
    f += squares * (E.T @ change)
    delta += E.T @ change


def _project(x, cap):
    x = np.maximum(0, x)
    if x.sum() <= cap:
        return x
    falling = np.sort(x)[::-1]
    thresholds = (np.cumsum(falling) - cap) / np.arange(1, len(x) + 1)
    return np.maximum(0, x - thresholds[np.flatnonzero(falling > thresholds)[-1]])


def visit_edges(winners, losers, a, f, delta, q, cap, learn, unit=np.inf):
    edges = list(zip(winners.tolist(), losers.tolist(), strict=True))
    slack = max([0.0, *(1 - f[u] + f[v] for u, v in edges)])
    if learn and edges:
        squares = np.where(np.arange(len(f)) >= unit, 1.0, q)
        _move(edges, a, f, delta, squares, cap)
    return slack


def visit_dom(f, delta, hidden, r, q, cap, place, m, buffers):
    a = buffers[0]
    below = [s for s in range(len(f)) if s not in set(hidden.tolist())]
    duals = np.zeros(len(below))
    for j in range(m):
        duals[below.index(place[j])] = a[j]
    slack = visit_edges(
        np.full(len(below), r), np.array(below, int), duals, f, delta, q, cap, q > 0
    )
    kept = np.flatnonzero(duals)
    a[: len(kept)], place[: len(kept)] = duals[kept], np.array(below)[kept]
    return slack, len(kept)


def visit_dme(a, f, delta, level, above, s, q, cap, buffers):
    chosen = [j for j in range(len(above)) if level[above[j]] > level[s]]
    held = a[chosen, s]
    winners = np.array([above[j] for j in chosen], int)
    slack = visit_edges(winners, np.full(len(chosen), s), held, f, delta, q, cap, q > 0)
    a[chosen, s] = held
    return slack


def visit_dis(a, f, delta, level, r, q, cap):
    slack = 0.0
    for s in range(len(f)):
        if level[s] < level[r]:
            dual = a[s : s + 1]
            slack += visit_edges(
                np.array([r]), np.array([s]), dual, f, delta, q, cap, q > 0
            )
    return slack


def visit_svm(a, f, tau, delta, level, q, learn, caps, rest_caps):
    cost = 0.0
    for c in range(len(f)):
        if level[c] < 0:
            continue
        y, cap = (1.0, caps[c]) if level[c] > 0 else (-1.0, rest_caps[c])
        mine = tau[0:1] if len(tau) == 1 else tau[c : c + 1]
        gap = 1 - y * (f[c] - mine.sum())
        cost += cap * max(0.0, gap)
        if learn and q + len(mine) > 0:
            change = np.clip(a[c] + gap / (q + len(mine)), 0, cap) - a[c]
            delta[c] += y * change
            f[c] += y * q * change
            mine -= y * change
            a[c] += change
    return cost

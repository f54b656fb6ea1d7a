"""The slow, obvious view of a live problem: its duals listed, its weights summed."""

import numpy as np

from classmark.preferences.graph import weighted_groups

NAMES = {0: "dis", 1: "dom", 2: "dme"}


def layered_duals(live):
    """(name, place, winner, loser, alpha) of every dual of a layered document."""
    problem = live.shelf.problem
    pool, levels = problem.pools[0], problem.levels
    for place in np.flatnonzero(live.shelf.alive):
        for part, code in enumerate(problem.codes):
            for p in range(levels.starts[place], levels.starts[place + 1]):
                first, count, _ = problem.slots[part, p].tolist()
                for t in range(first, first + count):
                    yield (
                        NAMES[int(code)],
                        int(place),
                        int(levels.columns[p]),
                        int(pool.label[t]),
                        float(pool.alpha[t]),
                    )


def weights(live):
    """Σ over kept documents of x ⊗ what their duals say, shape (features, labels)."""
    total = np.zeros((live.n_features, live.n_labels))
    for _, place, winner, loser, alpha in layered_duals(live):
        columns, values = live.shelf.problem.rows.row(place)
        total[columns, winner] += alpha * values.astype(float)
        total[columns, loser] -= alpha * values.astype(float)
    for handle, document in live.listed.items():
        lesson = document.lesson
        edges = [edge for group in lesson.groups for edge in group]
        duals = live.listed[handle].duals
        for (u, v), alpha in zip(edges, duals, strict=True):
            for item, sign in ((u, 1.0), (v, -1.0)):
                if item >= 0:
                    total[lesson.columns, item] += sign * alpha * lesson.values
    return total


def threshold(live):
    """What the duals of listed documents say of the threshold."""
    total = 0.0
    for handle, document in live.listed.items():
        lesson = document.lesson
        edges = [edge for group in lesson.groups for edge in group]
        for (u, v), alpha in zip(edges, live.listed[handle].duals, strict=True):
            total += alpha * (int(u < 0) - int(v < 0))
    return total


def fullest(live):
    """The largest Σα of a group over its cap; 0 without duals."""
    sums = {}
    for name, place, u, v, alpha in layered_duals(live):
        group = {"dis": (u, v), "dom": u, "dme": v}[name]
        key = name, place, group
        sums[key] = sums.get(key, 0.0) + alpha / live.C
    for handle, document in live.listed.items():
        lesson = document.lesson
        duals = iter(live.listed[handle].duals.tolist())
        for g, (group, weight) in enumerate(
            zip(lesson.groups, lesson.weights, strict=True)
        ):
            sums[handle, g] = sum(next(duals) for _ in group) / (live.C * weight)
    return max(sums.values(), default=0.0)


def wrong_duals(live):
    """Layered duals that are negative, named twice, or of no preference."""
    seen, wrong = set(), []
    for name, place, u, v, alpha in layered_duals(live):
        lesson = live.shelf.lesson(place)
        level = dict(zip(lesson.labels.tolist(), lesson.levels.tolist(), strict=True))
        right = level[u] > level.get(v, 0) >= 0 and alpha >= 0.0
        if not right or (name, place, u, v) in seen:
            wrong.append((name, place, u, v, alpha))
        seen.add((name, place, u, v))
    return wrong


def objective(W, tau, X, graphs, loss, C):
    """½‖w‖² + C Σ weight · slack, every edge of every group looked at."""
    total = 0.5 * float((W.astype(float) ** 2).sum()) + 0.5 * tau**2
    for x, graph in zip(X, graphs, strict=True):
        scores = np.append(x @ W, tau)
        names = loss.split("-")
        found, worth = weighted_groups(graph, names, np.ones(graph.n_labels))
        for group, weight in zip(found, worth, strict=True):
            slacks = [1.0 - scores[u] + scores[v] for u, v in group]
            total += C * weight * max([0.0, *slacks])
    return total

"""The slow, obvious version of each kernel of solvers.dual: duals in a dictionary."""

import numpy as np

from oracles import groups


def implicit_pass(order, X, levels, loss, caps, rest_caps, alpha, W, tau=None):
    """One pass; ``alpha`` maps (loss, document, winner, loser) to duals."""
    k, costs = levels.shape[1], np.zeros(len(X))
    tau = np.zeros(0) if tau is None else tau
    for i in order:
        f, q = X[i] @ W, X[i] @ X[i]
        delta, level = np.zeros(k), levels[i]
        for name in loss.split("-"):
            costs[i] += _visit(
                name, i, f, delta, level, q, caps[i], rest_caps, alpha, tau
            )
        W += np.outer(X[i], delta)
    return costs


def _visit(name, i, f, delta, level, q, caps, rest_caps, alpha, tau):
    k = len(f)
    above = np.flatnonzero(level > 0)
    a = np.zeros((k, k))
    for (part, document, u, v), value in alpha.items():
        if (part, document) == (name, i):
            a[u, v] = value
    cost = 0.0
    if name == "svm":
        cost = groups.visit_svm(a[0], f, tau, delta, level, q, True, caps, rest_caps)
    elif name == "dme":
        cap = caps[above].mean() if len(above) else 0.0
        for s in range(k):
            duals = a[above]
            cost += cap * groups.visit_dme(
                duals, f, delta, level, above, s, q, cap, None
            )
            a[above] = duals
    else:
        for r in above:
            if name == "dom":
                below = np.flatnonzero(level < level[r])
                duals = a[r, below]
                cost += caps[r] * groups.visit_edges(
                    np.full(len(below), r), below, duals, f, delta, q, caps[r], q > 0
                )
                a[r, below] = duals
            else:
                cost += caps[r] * groups.visit_dis(a[r], f, delta, level, r, q, caps[r])
    for u in range(k):
        for v in range(k):
            alpha[name, i, u, v] = a[u, v]
    return cost


def coefficients(document, alpha, level):
    out = np.zeros(len(level))
    for (name, i, u, v), value in alpha.items():
        if i == document and name == "svm" and u == 0:
            out[v] += value if level[v] > 0 else -value
        elif i == document and name != "svm":
            out[u] += value
            out[v] -= value
    return out


def private_values(X, levels, alpha, self_scores):
    """Σ a² and Σ a · self; self_scores : (n, labels)."""
    parts = np.array([coefficients(i, alpha, levels[i]) for i in range(len(X))])
    return (parts**2).sum(), (parts * self_scores).sum()


def listed_scores(X, levels, W):
    """The scores of the labels that each document lists, one after the other."""
    return (X @ W)[levels != 0]


def rebuild(X, levels, alpha):
    parts = [coefficients(i, alpha, levels[i]) for i in range(len(X))]
    return X.T @ np.array(parts)


def explicit_pass(order, X, document_groups, caps, alpha, W, tau=None):
    """``document_groups`` lists groups of edges; ``alpha`` one array per group."""
    costs, k = np.zeros(len(X)), W.shape[1]
    tau = np.zeros(1) if tau is None else tau
    for i in order:
        f, q, delta = np.append(X[i] @ W, tau), X[i] @ X[i], np.zeros(k + 1)
        for place, edges in enumerate(document_groups[i]):
            winners, losers = (np.array(side) for side in zip(*edges, strict=True))
            costs[i] += caps[i][place] * groups.visit_edges(
                winners, losers, alpha[i][place], f, delta, q, caps[i][place],
                learn=True, unit=k,
            )  # fmt: skip
        W += np.outer(X[i], delta[:k])
        tau += delta[k]
    return costs


def preference_qp(psi, groups, C):
    """min ½‖w‖² + C Σ_g ξ_g, w·ψ(p) ≥ 1 − ξ_g for p in g, ξ ≥ 0, by SLSQP: w, value.

    psi : (preferences, d);  groups : the rows of psi in each group.
    """
    from scipy.optimize import minimize

    d, n = psi.shape[1], len(groups)
    slack = np.zeros((len(psi), n))
    for g, members in enumerate(groups):
        slack[members, g] = 1.0
    assert (slack.sum(axis=1) == 1).all(), "a row for each group that it is in"
    A = np.hstack([psi, slack])
    start = np.append(np.zeros(d), np.ones(n))
    pull = np.append(np.zeros(d), np.full(n, C))
    solution = minimize(
        lambda v: (0.5 * v[:d] @ v[:d] + pull @ v, np.append(v[:d], pull[d:])),
        start,
        jac=True,
        method="SLSQP",
        bounds=[(None, None)] * d + [(0.0, None)] * n,
        constraints={"type": "ineq", "fun": lambda v: A @ v - 1, "jac": lambda _: A},
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    assert solution.success, solution.message
    return solution.x[:d], float(solution.fun)


def square_and_dot(w, places, known):
    return sum(value**2 for value in w), sum(
        w[p] * v for p, v in zip(places, known, strict=True)
    )

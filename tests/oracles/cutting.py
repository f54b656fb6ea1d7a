"""The slow, obvious version of each kernel of solvers.cutting, and of each oracle."""

import itertools

import numpy as np
from scipy.optimize import minimize


def multiply(X, w):
    return np.array([sum(x[j] * w[j] for j in range(len(w))) for x in X])


def combine(X, rows, coefficients, w):
    return w + sum((c * X[r] for r, c in zip(rows, coefficients, strict=True)), 0 * w)


def product_loss(a, b, n):
    return 1 - (a / (a + b)) * (a / n) if a else 1.0


def worst_table(losable, findable, n, a, b):
    """All tables one after the other."""
    tables = itertools.product(range(len(losable) + 1), range(len(findable) + 1))
    return max(
        tables,
        key=lambda t: table_value(losable, findable, n, (a, b), t),
    )


def table_value(losable, findable, n, start, table):
    missed, found = table
    a, b = start[0] + len(losable) - missed, start[1] + found
    return product_loss(a, b, n) - losable[:missed].sum() + findable[:found].sum()


def maximise_dual(G, losses, total):
    """The optimum on the simplex, by a general solver."""
    k = len(losses)
    found = minimize(
        lambda a: 0.5 * a @ G @ a - a @ losses,
        np.full(k, total / k),
        jac=lambda a: G @ a - losses,
        bounds=[(0, total)] * k,
        constraints={"type": "eq", "fun": lambda a: a.sum() - total},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    return -found.fun


def margins_of(table, n, scale):
    a, b = table
    p = a / (a + b) if a + b else 0.0
    loss, example, other = scale
    return loss * (1 - (1 - p) ** 2) / n / example, loss * p**2 / n / other


def climb_product(X, n, scale, C, duals, orders):
    """Visit rows in the orders given: each dual by a search on its own dual value.

    Where the margin hardly changes with one dual this is the kernel's Newton step.
    """
    signs = np.where(np.arange(len(X)) < n, 1.0, -1.0)
    boxes = C * np.where(signs > 0, scale[1], scale[2])
    for order in orders:
        for i in order:
            trial = duals.copy()
            grid = np.linspace(0, boxes[i], 20_001)
            rest = (signs * duals) @ X - signs[i] * duals[i] * X[i]
            share = duals / boxes
            share[i] = 0.0
            a, b = n - share[:n].sum(), share[n:].sum()
            more = grid / boxes[i]
            a, b = (a - more, b) if i < n else (a, b + more)
            with np.errstate(invalid="ignore", divide="ignore"):
                loss = np.where(a > 0, 1 - a * a / ((a + b) * n), 1.0)
            norm = (
                rest @ rest
                + 2 * signs[i] * grid * (rest @ X[i])
                + grid**2 * (X[i] @ X[i])
            )
            trial[i] = grid[np.argmax(C * scale[0] * loss - 0.5 * norm)]
            duals = trial
    return duals


def delta(kind, examples, others, k, labels):
    """Δ of a labelling, or None where it is not legitimate."""
    a, b = labels[:examples].sum(), labels[examples:].sum()
    c = examples - a
    if kind == "precision-recall":
        return product_loss(a, b, examples)
    if kind in {"precision@k", "recall@k"}:
        if a + b != k:
            return None
        return b / k if kind == "precision@k" else c / examples
    if kind == "balanced":
        return c / (2 * examples) + b / (2 * others)
    return 2.0 * (b + c)


def all_planes(kind, examples, others, scale, k=None):
    """(coefficients, loss) of every labelling."""
    planes = []
    for bits in itertools.product([0, 1], repeat=examples + others):
        labels = np.array(bits)
        loss = delta(kind, examples, others, k, labels)
        if loss is not None:
            c = np.concatenate(
                [
                    scale.example * (1 - labels[:examples]),
                    -scale.other * labels[examples:],
                ]
            )
            planes.append((c, scale.loss * loss))
    return planes


def tables_value(scores, examples, scale):
    """max of loss − c · scores over all (l + 1)(u + 1) tables of precision-recall."""
    p, u = np.sort(scores[:examples])[::-1], np.sort(scores[examples:])[::-1]
    best = -np.inf
    for a in range(len(p) + 1):
        for b in range(len(u) + 1):
            value = scale.loss * product_loss(a, b, examples)
            value += scale.other * u[:b].sum() - scale.example * p[a:].sum()
            best = max(best, value)
    return best


def lowest(X, planes, C):
    """min ½‖w‖² + C ξ under all the planes, by a general solver.

    In units of the largest loss for ξ, and with w so that both parts count the same.
    """
    losses = np.array([loss for _, loss in planes])
    unit = np.abs(losses).max()
    rows = np.array([c @ X for c, _ in planes]) * np.sqrt(C / unit)
    A, d = np.column_stack([rows, np.ones(len(rows))]), X.shape[1]
    found = minimize(
        lambda z: 0.5 * z[:d] @ z[:d] + z[d],
        np.append(np.zeros(d), 1.0),
        jac=lambda z: np.append(z[:d], 1.0),
        bounds=[(None, None)] * d + [(0, None)],
        constraints={
            "type": "ineq",
            "fun": lambda z: A @ z - losses / unit,
            "jac": lambda _: A,
        },
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    v = found.x[:d]
    slack = max(0.0, (losses / unit - rows @ v).max())
    return C * unit * (0.5 * v @ v + slack)

"""The slow, obvious version of each kernel of solvers.hinge, over dense rows."""

import numpy as np
from scipy.optimize import minimize


def combine(X, rows, coefficients, w):
    for row, coefficient in zip(rows, coefficients, strict=True):
        w += coefficient * X[row]


def survey(X, hinges, duals, w, center, slopes):
    slopes[:] = hinges.signs * (X[hinges.rows] @ w) - hinges.margins
    slopes[hinges.boxes == 0] = 0
    objective = primal(X, hinges, w, center)
    return objective, objective - dual_value(X, hinges, duals, center)


def climb(X, hinges, duals, w, order, limits, tol, value, seed, passes):
    """Passes in the order of the same random numbers; rest at bounds beyond limits."""
    order, gained, done = list(order), 0.0, 0
    while done < passes and order:
        for k in range(len(order) - 1):
            seed = seed * 48271 % 2147483647
            other = k + seed * (len(order) - k) // 2147483647
            order[k], order[other] = order[other], order[k]
        before = [duals.copy(), w.copy()]
        order, seen, slopes = _one_pass(X, hinges, duals, w, order, limits)
        ahead = _value(hinges, *before, duals, w)
        done, gained = done + 1, gained + ahead
        if ahead <= 0 or seen <= tol * (value + gained + seen):
            order = []
        limits[0] = min(slopes, default=0) if min(slopes, default=0) < 0 else -np.inf
        limits[1] = max(slopes, default=0) if max(slopes, default=0) > 0 else np.inf
    return len(order), done, gained, seed


def _one_pass(X, hinges, duals, w, order, limits):
    left, seen, slopes, k = list(order), 0.0, [], 0
    while k < len(left):
        i = left[k]
        x, sign, box = X[hinges.rows[i]], hinges.signs[i], hinges.boxes[i]
        g = sign * (x @ w) - hinges.margins[i]
        at_zero, at_box = duals[i] == 0, duals[i] == box
        if (at_zero and g > limits[1]) or (at_box and g < limits[0]):
            last = left.pop()
            if k < len(left):
                left[k] = last
            continue
        k += 1
        if (at_zero and g >= 0) or (at_box and g <= 0):
            continue
        seen += box * max(0, -g) + duals[i] * g
        slopes.append(g)
        new = _best(duals[i], g, x @ x, box)
        w += sign * (new - duals[i]) * x
        duals[i] = new
    return left, seen, slopes


def _best(dual, g, q, box):
    if q == 0:
        return box if g < 0 else 0.0
    return float(np.clip(dual - g / q, 0, box))


def _value(hinges, old, w_old, new, w_new):
    """The dual value's growth, without a center."""
    return hinges.margins @ (new - old) - 0.5 * (w_new @ w_new - w_old @ w_old)


def climb_gram(K, hinges, duals, tol, steps):
    """Step on the dual that gains most; return steps, dual value, cost, gap."""
    signed = hinges.signs[:, None] * K[np.ix_(hinges.rows, hinges.rows)] * hinges.signs
    for done in range(steps + 1):
        slopes = signed @ duals - hinges.margins
        value = hinges.margins @ duals - 0.5 * duals @ signed @ duals
        cost = hinges.boxes @ np.maximum(0, -slopes)
        gap = 0.5 * duals @ signed @ duals + cost - value
        q = np.diagonal(signed)
        best = [
            _best(*each) for each in zip(duals, slopes, q, hinges.boxes, strict=True)
        ]
        step = np.array(best) - duals
        gains = -step * (slopes + 0.5 * q * step)
        place = int(np.argmax(gains))
        if done == steps or gains[place] <= 0 or gap <= tol * (value + gap):
            break
        duals[place] = best[place]
    return done, value, cost, gap


def primal(X, hinges, w, center):
    slack = np.maximum(0, hinges.margins - hinges.signs * (X[hinges.rows] @ w))
    return 0.5 * (w - center) @ (w - center) + hinges.boxes @ slack


def dual_value(X, hinges, duals, center):
    v = X[hinges.rows].T @ (hinges.signs * duals)
    reached = hinges.signs * (X[hinges.rows] @ center)
    return duals @ (hinges.margins - reached) - 0.5 * v @ v


def optimum(X, hinges, center):
    """The best objective and where it is, by a general solver with a slack a hinge."""
    Z, d = hinges.signs[:, None] * X[hinges.rows], X.shape[1]
    A = np.hstack([Z, np.eye(len(Z))])
    costs = np.concatenate([np.zeros(d), hinges.boxes])
    found = minimize(
        lambda z: 0.5 * (z[:d] - center) @ (z[:d] - center) + costs @ z,
        np.concatenate([center, np.maximum(0, hinges.margins - Z @ center)]),
        jac=lambda z: np.concatenate([z[:d] - center, hinges.boxes]),
        bounds=[(None, None)] * d + [(0, None)] * len(Z),
        constraints={
            "type": "ineq",
            "fun": lambda z: A @ z - hinges.margins,
            "jac": lambda _: A,
        },
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    return found.fun, found.x[:d]

"""The slow, obvious version of each kernel of solvers.active."""

import numpy as np

from oracles import groups

MOST, FEW = 20, 2


def visit_active(r, hidden, q, cap, m, work, n, draws, least):
    """Label r over the others: choose some, solve for them, spread the rest's dual."""
    f, delta, _, touched, place, a, _ = work
    k = len(f) - 1
    losers = [s for s in range(k) if s not in set(hidden.tolist())]
    slack = max([0.0, *(1 - f[r] + f[s] for s in losers)])
    if not losers or (slack == 0 and m == 0):
        return slack, m, n, 0.0
    f[k] = f[losers].mean()
    rest = len(losers) > MOST
    wide = q * (1 + np.sqrt(m + MOST + FEW + 1) / len(losers)) if rest else q
    duals = {int(s): float(value) for s, value in zip(place[:m], a[:m], strict=True)}
    base = sum(duals.values()) + (1 - f[r]) / wide
    z = [base + value + f[s] / wide for s, value in duals.items()]
    theta = groups.group_threshold(np.array(z), m, cap) if m else 0.0
    limit = (theta - base) * wide + least
    active = touched[:n].tolist()
    over = {s for s in active if f[s] > limit} & set(losers) - set(duals)
    chosen = [*duals, *sorted(over, key=lambda s: -f[s])[:MOST]]
    if limit < 0:
        new = [s for s in dict.fromkeys(draws.tolist()) if s not in active]
        chosen, active = chosen + new, active + new
    if rest and k not in duals and f[k] > limit:
        chosen.append(k)
    held = np.array([duals.get(s, 0.0) for s in chosen])
    z = base + held + f[chosen] / wide
    total = groups.step_group(held, z, len(chosen), cap)
    shift = _spread(f, delta, q, dict(zip(chosen, z, strict=True)), len(losers))
    for change in (f, delta):
        scale = q if change is f else 1.0
        change[r] += scale * total
        change[hidden] += scale * shift
    touched[: len(active)] = active
    return slack, _keep(place, a, chosen, held), len(active), -shift


def _spread(f, delta, q, changes, others):
    """Take the changes from the losers; return each other's part of the rest's."""
    rest = changes.pop(len(f) - 1, 0.0)
    for s, change in changes.items():
        f[s] -= q * change
        delta[s] -= change
    return rest / others


def _keep(place, a, chosen, held):
    kept = [(s, value) for s, value in zip(chosen, held, strict=True) if value > 0]
    place[: len(kept)] = [s for s, _ in kept]
    a[: len(kept)] = [value for _, value in kept]
    return len(kept)

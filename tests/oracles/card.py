"""A card in NumPy: the kernels of preference_gpu.cu, slow and obvious."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np


def words(document, starts, columns, values):
    here = slice(starts[document], starts[document + 1])
    return columns[here], values[here]


def scores(_grid, _block, given):
    documents, *rows, W, _pitch, S = given
    for b, document in enumerate(documents):
        columns, values = words(document, *rows)
        S[b] = values @ W[columns]


def changes(b, y, visits):
    """(label, coefficient, score) of the label that is favoured, and of its rivals."""
    rivals, counts, old, new, before, favoured = visits
    yield y, favoured[b, 0], favoured[b, 1]
    for i in range(counts[b]):
        yield rivals[b, i], old[b, i] - new[b, i], before[b, i]


def visit(grid, _block, given):  # noqa: PLR0915 (one kernel)
    groups, document_of, label_of, own_starts, own_labels, caps, squares = given[:7]
    least, most, n_labels, _, learn, S, kept_labels, kept_duals = given[7:15]
    visits, totals = given[15:-1], given[-1]
    room = kept_duals.shape[1]
    for b in range(grid[0]):
        group = groups[b]
        document, y, cap = document_of[group], label_of[group], caps[group]
        s = S[b, :n_labels].astype(float)
        used = kept_duals[group] > 0
        duals = dict(
            zip(kept_labels[group][used], kept_duals[group][used], strict=True)
        )
        a, total = np.zeros(n_labels), sum(duals.values())
        a[list(duals)] = list(duals.values())
        others = np.ones(n_labels, bool)
        others[own_labels[own_starts[document] : own_starts[document + 1]]] = False
        if not others.any():
            visits[1][b], visits[5][b] = 0, (0, s[y])
            continue
        slack = 1 - s[y] + s[others].max()
        totals[0] += cap * max(0, slack)
        if not learn:
            continue
        size = squares[document]
        d = (1 - s[y] + total * size + s + a * size) / size
        theta, chosen = 0.0, []
        for r in sorted(np.flatnonzero(others), key=lambda r: (-d[r], r)):
            if d[r] <= theta + least / size or len(chosen) == most:
                break
            if r not in duals and len(set(duals) | set(chosen)) == room:
                continue
            chosen.append(r)
            sum_d, m = d[chosen].sum(), len(chosen)
            theta = max(sum_d / (m + 1), (sum_d - cap) / m)
        now = {r: max(0.0, d[r] - theta) for r in chosen}
        rivals = [*duals, *(r for r in chosen if r not in duals)]
        visits[1][b] = len(rivals)
        for i, r in enumerate(rivals):
            visits[0][b, i], visits[4][b, i] = r, s[r]
            visits[2][b, i], visits[3][b, i] = a[r], now.get(r, 0.0)
        change = sum(now.values()) - total
        visits[5][b] = change, s[y]
        totals[1] += change * (1 - s[y])
        totals[1] += sum((now.get(r, 0.0) - a[r]) * s[r] for r in rivals)


def pace(totals):
    slope = max(totals[1], 0.0)
    return slope / totals[2] if totals[2] > slope else 1.0


def scatter(grid, _block, given):
    groups, document_of, label_of, *rows = given[:6]
    visits, (totals, back, _pitch, W) = given[6:12], given[12:]
    share = pace(totals) - 1 if back else 1.0
    for b in range(grid[0]):
        columns, values = words(document_of[groups[b]], *rows)
        for label, coefficient, _ in changes(b, label_of[groups[b]], visits):
            W[columns, label] += share * coefficient * values


def moved(grid, _block, given):
    groups, document_of, label_of, *rows = given[:6]
    visits, (totals, _pitch, W) = given[6:12], given[12:]
    for b in range(grid[0]):
        columns, values = words(document_of[groups[b]], *rows)
        for label, coefficient, before in changes(b, label_of[groups[b]], visits):
            totals[2] += coefficient * (values @ W[columns, label] - before)


def keep(grid, _block, given):
    groups, rivals, counts, old, new, totals, kept_labels, kept_duals = given
    for b in range(grid[0]):
        n, group = counts[b], groups[b]
        kept_labels[group] = kept_duals[group] = 0
        kept_labels[group, :n] = rivals[b, :n]
        kept_duals[group, :n] = old[b, :n] + pace(totals) * (new[b, :n] - old[b, :n])


def card(memory=1 << 40):
    """What stands for CuPy."""
    kernels = {f.__name__: f for f in (scores, visit, scatter, moved, keep)}
    device = SimpleNamespace(mem_info=(memory, memory))
    return SimpleNamespace(
        asarray=np.asarray, zeros=np.zeros, empty=np.empty, vdot=np.vdot,
        RawModule=lambda **_: SimpleNamespace(get_function=kernels.__getitem__),
        cuda=SimpleNamespace(Device=lambda: device),
    )  # fmt: skip

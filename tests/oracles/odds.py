"""The dual steps of multinomial odds, the obvious way."""

import numpy as np


def odds_pass(order, rows, label_lists, caps, W, P, entropy, costs, learn):
    starts, columns, values = rows
    label_starts, labels = label_lists
    for i in order:
        x = np.zeros(len(W))
        x[columns[starts[i] : starts[i + 1]]] = values[starts[i] : starts[i + 1]]
        costs[i] = 0.0
        f = x @ W
        groups = range(label_starts[i], label_starts[i + 1])
        for g in groups:
            others = {labels[h] for h in groups if h != g}
            mine = [r for r in range(W.shape[1]) if r not in others]
            odds = np.exp(f[mine] - f[mine].max())
            t = odds / odds.sum()
            costs[i] -= caps[g] * np.log(t[mine.index(labels[g])])
            p = P[g][mine]
            if not learn or not x.any() or np.array_equal(p, t):
                continue
            d = t - p
            some = p > 0
            apart = (p[some] * np.log(p[some] / t[some])).sum()
            one, two = np.abs(d).sum() ** 2, d @ d
            s = min(1.0, (apart + one / 2) / (one + caps[g] * (x @ x) * two))
            P[g][mine] = p + s * d
            some = P[g] > 0
            entropy[g] = -(P[g][some] * np.log(P[g][some])).sum()
            W[:, mine] -= caps[g] * s * np.outer(x, d)
            f = x @ W

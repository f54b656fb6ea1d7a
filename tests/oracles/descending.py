"""Down a tree, slowly: weights as dictionaries, all paths listed."""

import numpy as np


def node_scores(at, columns, values, model, out):
    starts, _, bias, slope, first, features, entry, offsets, daughter, weight = model
    mine = {int(features[p]): p for p in range(first[at], first[at + 1])}
    count = int(starts[at + 1] - starts[at])
    for j in range(count):
        out[j] = bias[starts[at] + j]
    for column, value in zip(columns.tolist(), values.tolist(), strict=True):
        if column not in mine:
            continue
        p = mine[column] + at
        for j in range(count):
            out[j] += value * slope[starts[at] + j]
        for e in range(int(offsets[p]), int(offsets[p + 1])):
            out[daughter[entry[at] + e]] += value * float(weight[entry[at] + e])
    return count


def steps(at, columns, values, model, scale):
    """Pairs (code, log-probability) of the daughters of an inner node."""
    out = np.zeros(len(model[1]))
    count = node_scores(at, columns, values, model, out)
    odds = scale * out[:count]
    best = odds.max()
    logs = odds - (best + np.log(np.exp(odds - best).sum()))
    return list(zip(daughters(at, model), logs.tolist(), strict=True))


def daughters(at, model):
    return model[1][model[0][at] : model[0][at + 1]].tolist()


def document(i, starts, columns, values):
    return columns[starts[i] : starts[i + 1]], values[starts[i] : starts[i + 1]]


def leaf_values(document, model, scale):
    """The log-probability of each leaf along its best path, over all paths."""
    n_inner, best = len(model[0]) - 1, {}
    waiting = [(-n_inner, 0.0)]
    while waiting:
        code, value = waiting.pop()
        if code >= 0:
            best[code] = max(best.get(code, -np.inf), value)
            continue
        for below, log in steps(code + n_inner, *document, model, scale):
            waiting.append((below, value + log))
    return best


def descend(starts, columns, values, model, scale, beam, widest, found, scores):
    n_inner = len(model[0]) - 1
    for i in range(len(starts) - 1):
        kept = {-n_inner: 0.0}
        while any(code < 0 for code in kept):
            fresh = {code: value for code, value in kept.items() if code >= 0}
            for code, value in kept.items():
                if code < 0:
                    words = document(i, starts, columns, values)
                    for below, log in steps(code + n_inner, *words, model, scale):
                        fresh[below] = max(fresh.get(below, -np.inf), value + log)
            kept = dict(in_order(fresh)[:beam])
        fill(in_order(kept), found[i], scores[i])


def best_first(starts, columns, values, model, scale, ratio, n_leaves, found, scores):
    for i in range(len(starts) - 1):
        words = document(i, starts, columns, values)
        ranked = in_order(leaf_values(words, model, scale))
        fill([p for p in ranked if p[1] >= ranked[0][1] + ratio], found[i], scores[i])


def all_leaves(starts, columns, values, model, scale, margins, out):
    n_inner = len(model[0]) - 1
    for i in range(len(starts) - 1):
        words = document(i, starts, columns, values)
        if not margins:
            for leaf, value in leaf_values(words, model, scale).items():
                out[i, leaf] = value
            continue
        out[i] = -np.inf
        waiting = [(-n_inner, np.inf)]
        while waiting:
            code, value = waiting.pop()
            if code >= 0:
                out[i, code] = max(out[i, code], value)
                continue
            at, room = code + n_inner, np.zeros(len(model[1]))
            count = node_scores(at, *words, model, room)
            for j, below in enumerate(daughters(at, model)):
                others = [room[s] for s in range(count) if s != j]
                away = room[j] - max(others) if others else np.inf
                waiting.append((below, min(value, away)))


def leaf_scores(columns, values, model, scale, nodes, widest, out):
    below = {code for at in nodes for code in daughters(at, model)}
    for leaf, value in leaf_values((columns, values), model, scale).items():
        if leaf in below:
            out[leaf] = max(out[leaf], value)


def leaves_before(columns, values, model, scale, score, numbers, target, _, moved):
    best = {}
    for leaf, value in leaf_values((columns, values), model, scale).items():
        number = int(numbers[leaf])
        if number >= 0 and number != target:
            now = value + (moved[number] if len(moved) else 0.0)
            best[number] = max(best.get(number, -np.inf), now)
    best[target] = score
    return [number for number, _ in in_order(best)].index(target)


def in_order(paths):
    return sorted(paths.items(), key=lambda path: (-path[1], path[0]))


def fill(paths, found, scores):
    found[:], scores[:] = -1, -np.inf
    for p, (code, value) in enumerate(paths[: len(found)]):
        found[p], scores[p] = code, value

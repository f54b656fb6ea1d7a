"""The slow, obvious version of each measure of ranked categories."""

import numpy as np


def order(scores):
    return sorted(range(len(scores)), key=lambda label: (-scores[label], label))


def relevant_ranks(scores, starts, columns):
    ranks, above = [], []
    for i, row in enumerate(scores):
        relevant = set(columns[starts[i] : starts[i + 1]].tolist())
        others = set(range(len(row))) - relevant
        for rank, y in enumerate(order(row.tolist()), 1):
            if y in relevant:
                ranks.append(rank)
                above.append(sum(row[s] >= row[y] for s in others))
    return np.array(ranks, np.int64), np.array(above, np.int64)


def precision(ranked, relevant, r):
    return len(relevant & set(ranked[:r])) / r


def recall(ranked, relevant, r):
    return len(relevant & set(ranked[:r])) / len(relevant)


def f1(p, r):
    return 2 * p * r / (p + r) if p + r else 0.0


def document_measures(scores, relevant):
    """Every measure of one document, as its paper writes it; None: not defined."""
    k = len(scores)
    relevant, others = set(relevant), set(range(k)) - set(relevant)
    ranked = order(scores)
    rank = {label: place for place, label in enumerate(ranked, 1)}
    wrong = [(r, s) for r in relevant for s in others if scores[r] <= scores[s]]
    values = {
        "loss1": float(bool(wrong)),
        "loss2": float(len(wrong)),
        "one_error": float(ranked[0] not in relevant),
    }
    if relevant:
        values["loss3"] = len(wrong) / (len(relevant) * len(others)) if others else 0.0
        values["coverage"] = max(rank[y] for y in relevant) - 1
        values["average_precision"] = np.mean(
            [sum(rank[z] <= rank[y] for z in relevant) / rank[y] for y in relevant]
        )
        values["max_f1"] = max(
            f1(precision(ranked, relevant, r), recall(ranked, relevant, r))
            for r in range(1, k + 1)
        )
    return values


def curve_max_f1(scores, Y):
    """The best F1 of precision and recall at one rank, averaged over documents."""
    ranked = [(order(row), set(labels)) for row, labels in zip(scores, Y, strict=True)]
    return max(
        f1(
            np.mean([precision(best, labels, r) for best, labels in ranked]),
            np.mean([recall(best, labels, r) for best, labels in ranked if labels]),
        )
        for r in range(1, len(scores[0]) + 1)
    )


def category_ranking(scores, Y):
    each = [document_measures(s, y) for s, y in zip(scores, Y, strict=True)]
    names = {name for values in each for name in values}
    return {n: np.mean([values[n] for values in each if n in values]) for n in names}


def preference(answered, pairs, kind, cutoff=None):
    """A measure of judged pairs, pair by pair: PPref, RPref or WPref."""
    ranked = sorted(answered, key=lambda document: -answered[document])
    place = {document: number for number, document in enumerate(ranked, 1)}
    top = 0.0
    bottom = float(len(pairs)) if kind == "RPref" else 0.0
    for winner, loser in pairs:
        ranks = [place[each] for each in (winner, loser) if each in place]
        if not ranks or (cutoff is not None and min(ranks) > cutoff):
            continue
        weight = 1 / np.log2(1 + min(ranks)) if kind == "WPref" else 1.0
        if winner in place and (loser not in place or place[winner] < place[loser]):
            top += weight
        if kind != "RPref":
            bottom += weight
    return top / bottom if bottom else 0.0


def interpolated_precision(ranked, relevant, level):
    """The best precision at any rank whose recall is at least level/10."""
    precisions = [
        precision(ranked, relevant, r)
        for r in range(1, len(ranked) + 1)
        if 10 * len(relevant & set(ranked[:r])) >= level * len(relevant)
    ]
    return max(precisions, default=0.0)

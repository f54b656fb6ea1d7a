"""Impacts, slowly: every part over the largest of its list; no pruning."""

import numpy as np

from classmark.index.kernels_models import PLUS
from oracles import finding, models
from oracles.topk import best_of


def weigh_lists(code, world, x, lists, table, peaks, impacts):
    items, counts = lists
    for t, (begin, end, df, cf) in enumerate(table[:, :4].tolist()):
        peaks[t] = 0.0
        if not df:
            continue
        a, b = np.empty(1), np.empty(1)
        statistics = np.array([float(df)]), np.array([float(cf)])
        with np.errstate(divide="ignore"):  # constants of other models
            models.constants(code, np.ones(1), *statistics, world, a, b)
        second = 0.0 if code == PLUS else b[0]
        parts = [
            models.part(code, float(counts[j]), x[items[j]], 1.0, second, world)
            for j in range(begin, end)
        ]
        if not all(0.0 <= y < np.inf for y in parts):
            return False
        peaks[t] = max(parts)
        for j, y in zip(range(begin, end), parts, strict=True):
            impacts[j] = np.ceil(y / peaks[t] * 65_535) if y else 0
    return True


def find_by_impacts(scoring, final, places, model, scratch, heap):
    return best_of(finding.sums(scoring), final, heap)

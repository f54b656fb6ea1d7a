"""Top-k, slowly: every score in a dictionary, everything sorted."""

from oracles import models
from oracles.heaps import push


def is_untouched(value):
    return str(float(value)) == "-0.0"


def bar_of(heap, size):
    if len(heap.items) == 0:
        return float("inf")
    return min(heap.scores[:size]) if size == len(heap.items) else -float("inf")


def is_ratio(scoring, t):
    return scoring.a[t] > 0 and scoring.code in {0, 1, 2, 18}


def gallop(items, at, end, d):
    return next((j for j in range(at, end) if items[j] >= d), max(at, end))


def part_at(scoring, t, j):
    code, world, x, items, counts, _, a, b = scoring
    return models.part(code, float(counts[j]), x[items[j]], a[t], b[t], world)


def final_score(final, d, total):
    own = final.scale * final.extra[d] if len(final.extra) else 0.0
    return total + own + final.offset


def is_dead(final, d):
    return len(final.alive) > 0 and not final.alive[d]


def add_parts(scoring, t, begin, end, acc):
    for j in range(begin, end):
        acc[scoring.items[j]] += part_at(scoring, t, j)


def list_parts(scoring, t, begin, end, acc, touched, n):
    for d in scoring.items[begin:end]:
        if is_untouched(acc[d]):
            touched[n] = d
            n += 1
    add_parts(scoring, t, begin, end, acc)
    return n


def best_of(sums, final, heap):
    """Sort a dictionary of sums."""
    scores = [
        (final_score(final, d, s), d) for d, s in sums.items() if not is_dead(final, d)
    ]
    scores.sort(key=lambda entry: (-entry[0], entry[1]))
    for i, (score, d) in enumerate(scores[: len(heap.items)]):
        heap.items[i], heap.scores[i] = d, score
    return min(len(scores), len(heap.items))


def push_all(sums, final, size, heap):
    for d, s in sums.items():
        if not is_dead(final, d):
            size = push(heap, size, d, final_score(final, d, s))
    return size


def finish_parts(scoring, t, acc, final, size, heap):
    begin, end = scoring.spans[t]
    add_parts(scoring, t, begin, end, acc)
    sums = {int(d): acc[d] + 0.0 for d in scoring.items[begin:end]}
    acc[list(sums)] = -0.0
    return push_all(sums, final, size, heap)


def select_listed(acc, touched, n, final, size, heap):
    sums = {int(d): acc[d] for d in touched[:n] if not is_untouched(acc[d])}
    acc[list(sums)] = -0.0
    return push_all(sums, final, size, heap)


def select_all(acc, every, final, heap):
    sums = {
        d: acc[d] + 0.0 for d in range(len(acc)) if every or not is_untouched(acc[d])
    }
    acc[:] = -0.0
    return best_of(sums, final, heap)

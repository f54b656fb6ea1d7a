"""Top-k, slowly: every score in a dictionary, everything sorted."""

from oracles import models
from oracles.heaps import push


def is_untouched(value):
    return str(float(value)) == "-0.0"


def gallop(items, at, end, d):
    return next((j for j in range(at, end) if items[j] >= d), max(at, end))


def add_parts(code, a, b, world, items, counts, x, acc, begin, end):
    for d, tf in zip(items[begin:end], counts[begin:end], strict=True):
        acc[d] += models.part(code, float(tf), x[d], a, b, world)


def add_ratio(a, items, counts, x, acc, begin, end):
    add_parts(0, a, 0.0, None, items, counts, x, acc, begin, end)


def add_products(a, items, counts, acc, begin, end):
    for d, tf in zip(items[begin:end], counts[begin:end], strict=True):
        acc[d] += a * tf


def list_parts(code, a, b, world, items, counts, x, acc, begin, end, touched, n):
    for d in items[begin:end]:
        if is_untouched(acc[d]):
            touched[n] = d
            n += 1
    add_parts(code, a, b, world, items, counts, x, acc, begin, end)
    return n


def list_ratio(a, items, counts, x, acc, begin, end, touched, n):
    return list_parts(0, a, 0.0, None, items, counts, x, acc, begin, end, touched, n)


def best_of(scores, rule, out_items, out_scores):
    """Sort a dictionary of sums; the rule is (alive, extra, scale, offset)."""
    alive, extra, scale, offset = rule
    found = [
        (s + (scale * extra[d] if len(extra) else 0.0) + offset, d)
        for d, s in scores.items()
        if not len(alive) or alive[d]
    ]
    found.sort(key=lambda entry: (-entry[0], entry[1]))
    for i, (score, d) in enumerate(found[: len(out_items)]):
        out_items[i], out_scores[i] = d, score
    return min(len(found), len(out_items))


def push_all(scores, rule, size, heap):
    alive, extra, scale, offset = rule
    for d, s in scores.items():
        if not len(alive) or alive[d]:
            own = scale * extra[d] if len(extra) else 0.0
            size = push(*heap, size, d, s + own + offset)
    return size


def finish_parts(
    code, a, b, world, items, counts, x, acc, begin, end, rule, size, heap
):
    add_parts(code, a, b, world, items, counts, x, acc, begin, end)
    scores = {int(d): acc[d] + 0.0 for d in items[begin:end]}
    acc[list(scores)] = -0.0
    return push_all(scores, rule, size, heap)


def finish_ratio(a, items, counts, x, acc, begin, end, rule, size, heap):
    shared = items, counts, x, acc, begin, end, rule, size, heap
    return finish_parts(0, a, 0.0, None, *shared)


def select_listed(acc, touched, n, rule, size, heap):
    scores = {int(d): acc[d] for d in touched[:n] if not is_untouched(acc[d])}
    acc[list(scores)] = -0.0
    return push_all(scores, rule, size, heap)


def select_all(acc, every, rule, out_items, out_scores):
    kept = {
        d: acc[d] + 0.0 for d in range(len(acc)) if every or not is_untouched(acc[d])
    }
    acc[:] = -0.0
    return best_of(kept, rule, out_items, out_scores)

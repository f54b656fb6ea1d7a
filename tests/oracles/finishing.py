"""The last list, slowly: read."""

from oracles import models
from oracles.topk import finish_parts, select_listed


def list_bound(code, world, a, b, first, size, blocks):
    bounds = [0.0]
    for at in range(first, first + -(-size // 128)):
        x = models.feature(code, float(blocks[2][at]), world)
        bounds.append(models.part(code, float(blocks[1][at]), x, a, b, world))
    return max(bounds)


def look_up_last(
    code, world, query, data, rule, blocks, first, most_own, acc, touched, n, heap
):
    spans, a, b = query
    span = acc, *spans[-1], rule, 0, heap
    size = finish_parts(code, a[-1], b[-1], world, *data, *span)
    return select_listed(acc, touched, n, rule, size, heap)

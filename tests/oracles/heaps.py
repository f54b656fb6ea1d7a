"""Heaps, slowly: sorted every time."""


def push(heap, size, d, s):
    items, scores = heap
    entries = sorted(
        [*zip(scores[:size], items[:size], strict=True), (s, d)],
        key=lambda entry: (-entry[0], entry[1]),
    )[: len(items)][::-1]
    for i, (score, item) in enumerate(entries):
        items[i], scores[i] = item, score
    return len(entries)


def sort_heap(heap, size):
    items, scores = heap
    entries = sorted(
        zip(scores[:size].tolist(), items[:size].tolist(), strict=True),
        key=lambda entry: (-entry[0], entry[1]),
    )
    for i, (score, item) in enumerate(entries):
        items[i], scores[i] = item, score

"""Slow, obvious versions of the inverting kernels, over plain lists."""

from collections import Counter, defaultdict


def count_entries(rows, number, width):
    """rows: a list of (token, count) per document; entries per term, lengths."""
    entries = Counter(number[token] for row in rows for token, _ in row)
    lengths = [sum(n for token, n in row if number[token] < width) for row in rows]
    return [entries[term] for term in range(width + 1)], lengths


def scatter_entries(rows, number, first, width):
    """Return the (item, count) pairs of each term."""
    lists = [Counter() for _ in range(width + 1)]
    for item, row in enumerate(rows, first):
        for token, count in row:
            lists[number[token]][item] += count
    return [sorted(found.items()) for found in lists[:width]]


def scatter_places(rows, number, first, width):
    """rows: the tokens of each document, in order; the gaps of each term."""
    gaps = [[] for _ in range(width + 1)]
    for row in rows:
        last = defaultdict(lambda: -1)
        for place, token in enumerate(row):
            term = number[token]
            gaps[term].append(place - last[term] - 1)
            last[term] = place
    return gaps[:width]


def append_lists(lists, numbers, shift, renumbered, gone, into):
    """Append the (item, count) pairs of each list to one of ``into``."""
    for pairs, number in zip(lists, numbers, strict=True):
        for item, count in pairs:
            new = renumbered[item] if renumbered else item
            if new != gone:
                into[number].append((new + shift, count))
    return into


def append_places(lists, numbers, renumbered, gone, gaps, into):
    """gaps: one run; each posting of each list takes as many as its count."""
    left = list(gaps)
    for pairs, number in zip(lists, numbers, strict=True):
        for item, count in pairs:
            taken, left = left[:count], left[count:]
            if not renumbered or renumbered[item] != gone:
                into[number] += taken
    return into


def places_of(counts, gaps):
    places = []
    for count in counts:
        last = -1
        for _ in range(count):
            last += gaps[len(places)] + 1
            places.append(last)
    return places


def tally_gone(lists, gone):
    found = [[count for item, count in pairs if gone[item]] for pairs in lists]
    return [len(counts) for counts in found], [sum(counts) for counts in found]

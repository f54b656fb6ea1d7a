"""Krippendorff's alpha and its distances over sets, slowly, as the books write them."""

from itertools import permutations


def nominal(a, b):
    return float(a != b)


def jaccard(a, b):
    if not a and not b:
        return 0.0
    return 1 - len([x for x in a if x in b]) / len(set(list(a) + list(b)))


def masi(a, b):
    a, b = set(a), set(b)
    if a == b:
        monotonic = 1
    elif a <= b or b <= a:
        monotonic = 2 / 3
    elif a & b:
        monotonic = 1 / 3
    else:
        monotonic = 0
    return 1 - (1 - jaccard(a, b)) * monotonic


def alpha(decisions, distance):
    """1 − D_o / D_e over all ordered pairs of pairable values, by the definition."""
    units = []
    for item in zip(*decisions, strict=True):
        values = [value for value in item if value is not None]
        if len(values) >= 2:
            units.append(values)
    everything = [value for values in units for value in values]
    n = len(everything)
    observed = sum(
        sum(distance(a, b) for a, b in permutations(values, 2)) / (len(values) - 1)
        for values in units
    )
    expected = sum(distance(a, b) for a, b in permutations(everything, 2))
    return 1 - (observed / n) / (expected / (n * (n - 1)))

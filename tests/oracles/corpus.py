"""The slow, obvious version of each kernel of the corpus room."""

from collections import Counter

from oracles.text import mix


def number_tokens(documents):
    """Number tokens as they come; return them, and the numbers in each document."""
    numbers = {}
    for token in (token for tokens in documents for token in tokens):
        numbers.setdefault(token, len(numbers))
    return list(numbers), [[numbers[token] for token in tokens] for tokens in documents]


def count_tokens(documents):
    """List each document's (token, count) pairs, in order of first occurrence."""
    return [list(Counter(numbers).items()) for numbers in documents]


def fill_slots(keys, size):
    """Put each key into the first free slot from its hash on."""
    slots = [0] * size
    for number, key in enumerate(keys):
        at = mix(key) % size
        while slots[at]:
            at = (at + 1) % size
        slots[at] = number + 1
    return slots


def gather_by_document(lists, n):
    """Rows of (term, count), from lists of (document, count) by term."""
    return [
        [
            (t, count)
            for t, listed in enumerate(lists)
            for d, count in listed
            if d == row
        ]
        for row in range(n)
    ]

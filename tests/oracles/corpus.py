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


def scatter_by_term(rows, number, width):
    """Lists of (document, count) by term; one more list for what is dropped."""
    lists = [[] for _ in range(width + 1)]
    for document, row in enumerate(rows):
        for token, count in row:
            lists[number[token]].append((document, count))
    return lists


def gather_by_document(lists, n):
    """Rows of {term: count}, the last list left out."""
    rows = [{} for _ in range(n)]
    for term, postings in enumerate(lists[:-1]):
        for document, count in postings:
            rows[document][term] = rows[document].get(term, 0) + count
    return rows


def close_gaps(starts, stops, values):
    """The rows one after the other, and where each stops."""
    joined, ends = [], []
    for start, stop in zip(starts, stops, strict=True):
        joined += values[start:stop]
        ends.append(len(joined))
    return joined, ends

"""Which words of a text answer the query? A few lines of it, with the words marked."""

from __future__ import annotations

import re
from collections.abc import Container

from classmark.text.analysis import Analyzer
from classmark.text.tokens import words

WIDTH = 26
_RUN = re.compile(r"\w+")


def snippet(text: str, terms: Container[str], analyzer: Analyzer) -> str:
    """Return the part of a text with most of the terms, each marked by asterisks.

    >>> snippet("A hive of bees.", {"bee"}, Analyzer())
    'A hive of *bees*.'
    """
    runs = list(_RUN.finditer(text))
    term_of: dict[str, str] = {}
    hits: list[tuple[int, str]] = []
    for place, run in enumerate(runs):
        word = run[0]
        if word not in term_of:
            found = analyzer.terms(words(word))
            term_of[word] = next((term for term in found if term in terms), "")
        if term_of[word]:
            hits.append((place, term_of[word]))
    first = _best_start(hits)
    last = min(first + WIDTH, len(runs))
    if first >= last:
        return " ".join(text.split())
    return _marked(text, runs, first, last, {place for place, _ in hits})


def _best_start(hits: list[tuple[int, str]]) -> int:
    """Return where the window with most different terms begins, a few words early."""
    best, most, low = 0, (0, 0), 0
    for high, (place, _) in enumerate(hits):
        while hits[low][0] + WIDTH - 4 <= place:
            low += 1
        window = hits[low : high + 1]
        size = (len({term for _, term in window}), len(window))
        if size > most:
            best, most = hits[low][0], size
    return max(0, best - 4)


def _marked(
    text: str, runs: list[re.Match[str]], first: int, last: int, hits: set[int]
) -> str:
    start = 0 if first == 0 else runs[first].start()
    end = len(text) if last == len(runs) else runs[last].start()
    pieces, at = [], start
    for place in range(first, last):
        if place in hits:
            run = runs[place]
            pieces += [text[at : run.start()], "*", run[0], "*"]
            at = run.end()
    pieces.append(text[at:end])
    line = " ".join("".join(pieces).split())
    return f"{'… ' if first else ''}{line}{' …' if last < len(runs) else ''}"

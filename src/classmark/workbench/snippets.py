"""Which words of a text answer the query? A few lines of it, with the words marked."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import NamedTuple

from classmark.text.analyzer import Analyzer
from classmark.text.tokens import words

WIDTH = 26
_RUN = re.compile(r"\w+")
_BLANKS = re.compile(r"\s+")


class Piece(NamedTuple):
    """Some text; hit : it is a word that answers the query."""

    text: str
    hit: bool = False


def snippet(text: str, terms: Container[str], analyzer: Analyzer) -> str:
    """Return the part of a text with most of the terms, each marked by asterisks.

    >>> snippet("A hive of bees.", {"bee"}, Analyzer())
    'A hive of *bees*.'
    """
    pieces = cut_out(text, terms, analyzer)
    return "".join(f"*{each.text}*" if each.hit else each.text for each in pieces)


def cut_out(text: str, terms: Container[str], analyzer: Analyzer) -> list[Piece]:
    """Return the part of a text with most of the terms, in pieces."""
    runs = list(_RUN.finditer(text))
    hits = list(_hits(runs, terms, analyzer))
    first = _best_start(hits)
    last = min(first + WIDTH, len(runs))
    if first >= last:
        return [Piece(" ".join(text.split()))]
    found = _marked(text, runs, first, last, {place for place, _ in hits})
    before = [Piece("… ")] if first else []
    return [*before, *found, *([Piece(" …")] if last < len(runs) else [])]


def in_whole(text: str, terms: Container[str], analyzer: Analyzer) -> list[Piece]:
    """Return a whole text, a title, in pieces.

    >>> [piece.text for piece in in_whole("Of bees", {"bee"}, Analyzer()) if piece.hit]
    ['bees']
    """
    runs = list(_RUN.finditer(text))
    hits = {place for place, _ in _hits(runs, terms, analyzer)}
    return _marked(text, runs, 0, len(runs), hits)


def _hits(
    runs: list[re.Match[str]], terms: Container[str], analyzer: Analyzer
) -> Iterator[tuple[int, str]]:
    """Yield the places of words that become one of the terms, and the term."""
    term_of: dict[str, str] = {}
    for place, run in enumerate(runs):
        word = run[0]
        if word not in term_of:
            found = analyzer.terms(words(word))
            term_of[word] = next((term for term in found if term in terms), "")
        if term_of[word]:
            yield place, term_of[word]


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
) -> list[Piece]:
    """Return the words from first to last in pieces, blanks as one."""
    start = 0 if first == 0 else runs[first].start()
    end = len(text) if last == len(runs) else runs[last].start()
    pieces, at = [], start
    for place in sorted(hits & set(range(first, last))):
        run = runs[place]
        pieces += [Piece(text[at : run.start()]), Piece(run[0], hit=True)]
        at = run.end()
    pieces.append(Piece(text[at:end]))
    line = [Piece(_BLANKS.sub(" ", each.text), each.hit) for each in pieces]
    line[0] = Piece(line[0].text.lstrip(), line[0].hit)
    line[-1] = Piece(line[-1].text.rstrip(), line[-1].hit)
    return [each for each in line if each.text]

"""Documents in a ranking, and the part of their text that answers the query."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from classmark.text.analyzer import Analyzer
from classmark.text.tokens import words

if TYPE_CHECKING:
    from classmark.corpus.documents import Document


WIDTH = 26  # words of a snippet
LETTERS = 51_200  # of a document that are looked through for its snippet
LARGEST_PARTS = 8
_RUN = re.compile(r"\w+")
_BLANKS = re.compile(r"\s+")
Parts = Mapping[str, float]


class SnippetPiece(NamedTuple):
    """Some text; hit : it is a word of the query."""

    text: str
    hit: bool = False


@dataclass(frozen=True, slots=True)
class DocumentHit:
    """A document in a ranking.

    parts : what each term, word or feature adds to the score;  text : its snippet;
    heading : its title, the words of the query marked;  mark : what was said of it in a
    search by example;  origin : ``likely``, or drawn at ``random`` by a screening.
    """

    rank: int
    id: str
    title: str
    score: float | None
    parts: Parts = field(default_factory=dict)
    text: tuple[SnippetPiece, ...] = ()
    heading: tuple[SnippetPiece, ...] = ()
    mark: str = ""
    origin: str = "likely"

    @property
    def largest_parts(self) -> list[tuple[str, float]]:
        """The largest parts of the score, of either sign."""
        return self._by_size()[:LARGEST_PARTS]

    @property
    def rest(self) -> float:
        """The sum of the other parts."""
        return sum(part for _, part in self._by_size()[LARGEST_PARTS:])

    def _by_size(self) -> list[tuple[str, float]]:
        return sorted(self.parts.items(), key=lambda part: -abs(part[1]))


def starred(pieces: Sequence[SnippetPiece]) -> str:
    """A snippet as plain text, the words of the query between asterisks.

    >>> starred(snippet("A hive of bees.", {"bee"}, Analyzer()))
    'A hive of *bees*.'
    """
    return "".join(f"*{each.text}*" if each.hit else each.text for each in pieces)


def snippet_of(
    document: Document, terms: Container[str], analyzer: Analyzer
) -> tuple[SnippetPiece, ...]:
    """The snippet of a document, its title left out; nothing if there is no text."""
    fields = document.fields.items()
    body = "\n".join(text for name, text in fields if name != "title")[:LETTERS]
    return snippet(body, terms, analyzer) if body else ()


def snippet(
    text: str, terms: Container[str], analyzer: Analyzer
) -> tuple[SnippetPiece, ...]:
    """The part of a text with most of the terms, in pieces."""
    runs = list(_RUN.finditer(text))
    hits = list(_hits(runs, terms, analyzer))
    first = _best_start(hits)
    last = min(first + WIDTH, len(runs))
    if first >= last:
        return (SnippetPiece(" ".join(text.split())),)
    pieces = _marked(text, runs, first, last, {place for place, _ in hits})
    before = [SnippetPiece("… ")] if first else []
    after = [SnippetPiece(" …")] if last < len(runs) else []
    return (*before, *pieces, *after)


def highlighted(
    text: str, terms: Container[str], analyzer: Analyzer
) -> tuple[SnippetPiece, ...]:
    """A whole text, such as a title, in pieces.

    >>> [piece.text for piece in highlighted("Of bees", {"bee"}, Analyzer())]
    ['Of ', 'bees']
    """
    runs = list(_RUN.finditer(text))
    hits = {place for place, _ in _hits(runs, terms, analyzer)}
    return tuple(_marked(text, runs, 0, len(runs), hits))


def _hits(
    runs: list[re.Match[str]], terms: Container[str], analyzer: Analyzer
) -> Iterator[tuple[int, str]]:
    """Yield the places of words that become one of the terms, and the term."""
    term_of: dict[str, str] = {}
    for place, run in enumerate(runs):
        word = run[0]
        if word not in term_of:
            analysed = analyzer.terms(words(word))
            term_of[word] = next((term for term in analysed if term in terms), "")
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
) -> list[SnippetPiece]:
    """Return the words from first to last in pieces, blanks as one."""
    start = 0 if first == 0 else runs[first].start()
    end = len(text) if last == len(runs) else runs[last].start()
    pieces, at = [], start
    for place in sorted(hits & set(range(first, last))):
        run = runs[place]
        pieces += [SnippetPiece(text[at : run.start()]), SnippetPiece(run[0], hit=True)]
        at = run.end()
    pieces.append(SnippetPiece(text[at:end]))
    line = [SnippetPiece(_BLANKS.sub(" ", each.text), each.hit) for each in pieces]
    line[0] = SnippetPiece(line[0].text.lstrip(), line[0].hit)
    line[-1] = SnippetPiece(line[-1].text.rstrip(), line[-1].hit)
    return [each for each in line if each.text]

"""Documents in a ranking, and the part of their text that answers the query."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

from classmark.text import Analyzer, words

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
    search by example;  origin : ``likely``, or drawn at ``random`` by a screening;
    words, meaning : what each of the two adds to the score, where both rank;  labels :
    its categories, id and name.
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
    words: float | None = None
    meaning: float | None = None
    labels: tuple[tuple[str, str], ...] = ()

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
    document: Document, terms: Container[str], analyzer: Analyzer, whole: int = 0
) -> tuple[SnippetPiece, ...]:
    """The snippet of a document, its title left out; nothing if there is no text.

    whole : so many letters of it are shown, from the first on; 0: its best words.
    """
    fields = document.fields.items()
    body = "\n".join(text for name, text in fields if name != "title")
    pieces = snippet(body[: whole or LETTERS], terms, analyzer, whole=whole > 0)
    cut = (SnippetPiece(" …"),) if 0 < whole < len(body) else ()
    return (*pieces, *cut) if body else ()


def snippet(
    text: str, terms: Container[str], analyzer: Analyzer, *, whole: bool = False
) -> tuple[SnippetPiece, ...]:
    """The part of a text with most of the terms, or the whole text, in pieces.

    >>> [piece.text for piece in snippet("Of bees", {"bee"}, Analyzer(), whole=True)]
    ['Of ', 'bees']
    """
    runs = list(_RUN.finditer(text))
    hits = list(_hits(runs, terms, analyzer))
    first = 0 if whole else _best_start(hits)
    last = len(runs) if whole else min(first + WIDTH, len(runs))
    start = runs[first].start() if first else 0
    end = runs[last].start() if last < len(runs) else len(text)
    spans = [runs[place].span() for place, _ in hits if first <= place < last]
    edges = pairwise([start, *chain(*spans), end])
    texts = [_BLANKS.sub(" ", text[low:high]) for low, high in edges]
    texts[0] = texts[0].lstrip()
    texts[-1] = texts[-1].rstrip()
    pieces = [SnippetPiece(each, at % 2 == 1) for at, each in enumerate(texts) if each]
    before = [SnippetPiece("… ")] if first else []
    after = [SnippetPiece(" …")] if last < len(runs) else []
    return (*before, *pieces, *after)


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

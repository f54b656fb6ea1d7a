"""Evidence: a text once, each of its words with what it says of every category."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from classmark.workbench.deciding.sheet import Piece

UNHEARD = ("+0.00", "−0.00")  # parts too small to be told


class Word(NamedTuple):
    """Some text.

    marks : for each category that it speaks of, «number:side:strength:part», with
    spaces between;  side, strength, says : of the first category on the list.
    """

    text: str
    marks: str = ""
    side: str = ""
    strength: int = 0
    says: str = ""


def evidence(texts: Iterable[tuple[int, Sequence[Piece]]]) -> list[Word]:
    """One text out of the same text cut once for each category.

    texts : the number of a category on the list, and the text in pieces.

    >>> from classmark.workbench.deciding.sheet import Piece
    >>> first = [Piece("Bees", "for", 4, "+0.20"), Piece(" hum")]
    >>> second = [Piece("Bees "), Piece("hum", "against", 2, "−0.10")]
    >>> [word.marks for word in evidence([(1, first), (2, second)])]
    ['1:for:4:+0.20', '', '2:against:2:−0.10']
    """
    found: dict[tuple[int, int], dict[int, Piece]] = {}
    text = ""
    for number, pieces in texts:
        at, text = 0, "".join(piece.text for piece in pieces)
        for piece in pieces:
            if piece.side and piece.says not in UNHEARD:
                place = (at, at + len(piece.text))
                found.setdefault(place, {})[number] = piece
            at += len(piece.text)
    return list(_words(text, found))


def _words(text: str, found: dict[tuple[int, int], dict[int, Piece]]) -> Iterator[Word]:
    at = 0
    for start, end in sorted(found):
        if start > at:
            yield Word(text[at:start])
        said = found[start, end]
        first = said.get(1)
        own = (first.side, first.strength, first.says) if first else ()
        yield Word(text[start:end], _marks(said), *own)
        at = end
    if at < len(text):
        yield Word(text[at:])


def _marks(said: dict[int, Piece]) -> str:
    return " ".join(
        f"{number}:{piece.side}:{piece.strength}:{piece.says}"
        for number, piece in said.items()
    )

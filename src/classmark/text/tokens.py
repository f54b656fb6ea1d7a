"""A string becomes lower-case words: the slow, obvious way the fast one must equal.

**Segmentation.** A token is a maximal run of letters, marks and numbers (Unicode's
general categories L*, M*, N*); everything else separates: blanks, punctuation, the
underscore, and the apostrophe ("don't" is ``don`` and ``t``). Characters of the scripts
Han and Hiragana stand alone, with the marks that follow them, as in Unicode's UAX #29;
Katakana stays together, and so does a run of Thai, Lao, Khmer or Burmese, whose words
only a dictionary can tell apart.

**Case.** ``str.lower`` between two normalisations to NFC, over the whole text: İ
becomes i with a dot above, a capital sigma at the end of a word becomes ς, ß and ſ stay
as they are (``str.casefold`` would make ss and s of them, which no stemmer expects).
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache, lru_cache
from unicodedata import category, normalize

import numpy as np
from numpy.typing import NDArray

SEPARATOR, WORD, ALONE, MARK = range(4)

#: Scripts Han and Hiragana: first and last code point of each range.
STANDING_ALONE = (
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3038, 0x303B),
    (0x3041, 0x3096),
    (0x309D, 0x309F),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x1B001, 0x1B11F),
    (0x1B132, 0x1B132),
    (0x1B150, 0x1B152),
    (0x20000, 0x3FFFF),
)
_PLANES_WITH_LETTERS = (0, 1, 2, 3, 14)
_PLANE = 0x10000
_ASCII = re.compile("[a-z0-9]+")


def fold(text: str) -> str:
    r"""Lower the case and compose the accents.

    >>> fold("STRASSE Straße E\u0301TE\u0301")
    'strasse straße été'
    """
    if text.isascii():
        return text.lower()
    return normalize("NFC", normalize("NFC", text).lower())


@lru_cache(maxsize=1 << 16)
def kind(character: str) -> int:
    r"""Say which of SEPARATOR, WORD, ALONE and MARK a character is.

    >>> [kind(character) for character in "a_漢\u0301"]
    [1, 0, 2, 3]
    """
    major = category(character)[0]
    if major == "M":
        return MARK
    if major not in "LN":
        return SEPARATOR
    point = ord(character)
    alone = any(first <= point <= last for first, last in STANDING_ALONE)
    return ALONE if alone else WORD


@cache
def kinds() -> NDArray[np.uint8]:
    """Return the kind of every code point: one table, shape (1114112,)."""
    code: defaultdict[str, int] = defaultdict(int)
    code |= dict.fromkeys(("Mn", "Mc", "Me"), MARK)
    code |= dict.fromkeys(("Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "No"), WORD)
    table = np.zeros(17 * _PLANE, np.uint8)
    for plane in _PLANES_WITH_LETTERS:
        points = range(plane * _PLANE, (plane + 1) * _PLANE)
        codes = map(code.__getitem__, map(category, map(chr, points)))
        table[points.start : points.stop] = np.fromiter(codes, np.uint8, _PLANE)
    for first, last in STANDING_ALONE:
        run = table[first : last + 1]
        run[run == WORD] = ALONE
    table.flags.writeable = False
    return table


def words(text: str) -> list[str]:
    """Cut a text into lower-case tokens.

    >>> words("Don't panic: the R2_D2 is in 東京!")
    ['don', 't', 'panic', 'the', 'r2', 'd2', 'is', 'in', '東', '京']
    """
    if text.isascii():
        return _ASCII.findall(text.lower())
    return one_by_one(text)


def one_by_one(text: str) -> list[str]:
    """As ``words``, looking at every character.

    >>> one_by_one("Déjà vu")
    ['déjà', 'vu']
    """
    tokens: list[list[str]] = []
    last = SEPARATOR
    for character in fold(text):
        now = kind(character)
        if now == SEPARATOR:
            last = SEPARATOR
        elif last != SEPARATOR and (now == MARK or now == last == WORD):
            tokens[-1].append(character)
        else:
            tokens.append([character])
            last = WORD if now == MARK else now
    return ["".join(token) for token in tokens]


def is_number(token: str) -> bool:
    """Say whether a token has only characters of the categories N*.

    >>> is_number("1984"), is_number("½"), is_number("mp3")
    (True, True, False)
    """
    if token.isascii() or token.isdecimal():
        return token.isdecimal()
    return all(category(character)[0] == "N" for character in token)


def fold_accents(token: str) -> str:
    """Take the marks (category Mn) off the letters.

    >>> fold_accents("naïveté")
    'naivete'
    """
    if token.isascii():
        return token
    bare = (c for c in normalize("NFD", token) if category(c) != "Mn")
    return normalize("NFC", "".join(bare))

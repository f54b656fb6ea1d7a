"""Wordings: which of very many short texts have a word like this one, and how much so?

All words stand once, sorted, with the texts they are in: a beginning is a stretch of
them, a part of a word is looked for in all of them set in one line, and where
nothing is found every word that is one slip of the pen away is looked up.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Ints
from classmark.text.tokens import fold, fold_accents

Likeness = NDArray[np.float32]
EXACT, BEGINNING, SLIP, PART = 1.0, 0.85, 0.5, 0.45
SHORTEST_PART, SHORTEST_SLIP, LONGEST_SLIP = 3, 4, 24
LETTERS = 48  # tried in the place of another
AFTER = "\U0010ffff"
_RUN = re.compile(r"[^\W_]+")


def plain(text: str) -> str:
    """The text in small letters, without accents.

    >>> plain("Café MÜLLER")
    'cafe muller'
    """
    return fold_accents(fold(text))


def runs(text: str) -> list[str]:
    """The words of a plain text.

    >>> runs("q.bee: honey-bees")
    ['q', 'bee', 'honey', 'bees']
    """
    return _RUN.findall(text)


class Wordings:
    """Many texts, each some words with their weights.

    >>> some = Wordings([{"bees": 1.0}, {"wasps": 1.0, "bees": 0.5}])
    >>> [round(float(how), 3) for how in some.like("bee")]
    [0.85, 0.425]
    """

    def __init__(self, texts: Sequence[dict[str, float]]) -> None:
        self.size = len(texts)
        number: dict[str, int] = {}
        which = [number.setdefault(w, len(number)) for words in texts for w in words]
        counts = np.array([len(words) for words in texts], np.int64)
        weights = np.array([w for words in texts for w in words.values()], np.float32)
        self.words = sorted(number)
        place = np.empty(len(number), np.int64)
        place[[number[word] for word in self.words]] = np.arange(len(number))
        at = place[np.array(which, np.int64)]
        order = np.argsort(at, kind="stable")
        self._owner = np.repeat(np.arange(self.size), counts)[order]
        self._weight = weights[order]
        self._start = np.searchsorted(at[order], np.arange(len(number) + 1))

    def like(self, word: str) -> Likeness:
        """How much each text is like a plain word, shape (size,); 0 : not at all."""
        found: Likeness = np.zeros(self.size, np.float32)
        for places, factor in self._known(word):
            self._put(found, places, factor)
        if not found.any():
            self._put(found, self._slips(word), SLIP)
        return found

    def _known(self, word: str) -> Iterator[tuple[Ints, float]]:
        first, last = self._beginning(word)
        yield np.arange(first, last), BEGINNING
        if first < last and self.words[first] == word:
            yield np.array([first]), EXACT
        if len(word) >= SHORTEST_PART or not word.isascii():
            yield self._containing(word), PART

    def _put(self, found: Likeness, places: Ints, factor: float) -> None:
        """Raise the likeness of the texts that have the words at these places."""
        start = self._start[places]
        count = self._start[places + 1] - start
        ends = np.cumsum(count)
        rows = np.arange(count.sum()) + np.repeat(start - ends + count, count)
        np.maximum.at(found, self._owner[rows], np.float32(factor) * self._weight[rows])

    def _beginning(self, word: str) -> tuple[int, int]:
        """The stretch of words that begin so."""
        first = bisect_left(self.words, word)
        if first == len(self.words) or not self.words[first].startswith(word):
            return first, first
        return first, bisect_left(self.words, word + AFTER, first)

    @cached_property
    def _line(self) -> tuple[str, Ints]:
        """All words in one line, and where each begins."""
        lengths = np.array([len(word) + 1 for word in self.words], np.int64)
        return "\n".join(self.words), np.cumsum(lengths) - lengths

    @cached_property
    def _letters(self) -> list[str]:
        """The letters that most words have."""
        found = Counter(letter for word in self.words for letter in set(word))
        return [letter for letter, _ in found.most_common(LETTERS)]

    def _containing(self, word: str) -> Ints:
        line, starts = self._line
        hits = [match.start() for match in re.finditer(re.escape(word), line)]
        return np.unique(np.searchsorted(starts, np.array(hits, np.int64), "right") - 1)

    def _slips(self, word: str) -> Ints:
        """Words that begin with the word, but for one letter."""
        found: set[int] = set()
        if SHORTEST_SLIP <= len(word) <= LONGEST_SLIP:
            for other in one_off(word, self._letters):
                found.update(range(*self._beginning(other)))
        return np.array(sorted(found), np.int64)


def one_off(word: str, letters: Sequence[str]) -> set[str]:
    """The word with one letter less, more or another, or two neighbours exchanged.

    >>> {"hiv", "hives", "five", "hvie"} <= one_off("hive", "fs")
    True
    """
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    less = {before + after[1:] for before, after in cuts}
    swapped = {b + a[1] + a[0] + a[2:] for b, a in cuts if len(a) > 1}
    more = {before + letter + after for before, after in cuts for letter in letters}
    else_ = {b + letter + a[1:] for b, a in cuts for letter in letters if a}
    return (less | swapped | more | else_) - {word}

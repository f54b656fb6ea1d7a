"""What is read of a text beside its words: runs of characters, the first line again.

Both were chosen by benchmarks/text_defaults.py, as docs/benchmarks.md reports.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from classmark.arrays import Floats
from classmark.problems import Mistake
from classmark.text import ALONE, MARK, STANDING_ALONE, Analyzer, fold, kind, words

RUN = "\U000f0000"  # begins runs among terms: no letter, and behind all words
SHOWN = "~"  # what it is shown as
RUN_WEIGHT = 0.5  # what a run counts beside a word
_CAN_STAND_ALONE = re.compile(
    "[" + "".join(f"{chr(a)}-{chr(b)}" for a, b in STANDING_ALONE) + "]"
)


@dataclass(frozen=True)
class CharacterRuns:
    """Words, and beside them runs of characters inside them and of words, as terms.

    Words that share a root share runs, where no stemmer joins them. The runs of a word,
    stop words too, are those of ``length`` characters between two underscores. Where
    characters stand alone (Han, Hiragana), each two that are next to each other are a
    run: there, words cannot be told apart. As a term, a run begins with ``RUN``.

    length : of the runs of characters, 0 for none;  words : up to how many words, one
    after the other among those that the analyzer leaves, are a term, with blanks
    between.

    >>> runs = CharacterRuns(Analyzer(), 4)
    >>> [term.replace(RUN, "~") for term in runs("The bees of 東京")]
    ['bee', '東', '京', '~_the', '~the_', '~_bee', '~bees', '~ees_', '~_of_', '~東京']
    >>> CharacterRuns(Analyzer(), 0, words=2)("A queen bee swarms")
    ['queen', 'bee', 'swarm', 'queen bee', 'bee swarm']
    """

    analyzer: Analyzer
    length: int
    words: int = 1

    def __call__(self, text: str) -> list[str]:
        """Return the terms of a text: words in its order, then runs."""
        tokens = words(text)
        terms = [term for term in self.analyzer.terms(tokens) if term]
        for runs in self.inside(tokens):
            terms += runs
        return terms + self.across(text)

    def inside(self, tokens: list[str]) -> list[list[str]]:
        """The runs inside each token.

        >>> [len(runs) for runs in CharacterRuns(Analyzer(), 4).inside(["a", "hive"])]
        [0, 3]
        """
        size = self.length
        if not size:
            return [[] for _ in tokens]
        marked = (f"_{read}_" if read else "" for read in self._as_read.terms(tokens))
        return [
            [RUN + word[at : at + size] for at in range(len(word) - size + 1)]
            for word in marked
        ]

    def across(self, text: str) -> list[str]:
        """Terms of several words, and each two characters that stand alone."""
        pairs = self._beside(text) if self.length else []
        if self.words == 1:
            return pairs
        terms = self.analyzer(text)
        sizes = range(2, min(self.words, len(terms)) + 1)
        ends = ((size, at) for size in sizes for at in range(len(terms) - size + 1))
        return pairs + [" ".join(terms[at : at + size]) for size, at in ends]

    @staticmethod
    def _beside(text: str) -> list[str]:
        """Each two characters next to each other that stand alone, with their marks."""
        if text.isascii() or not _CAN_STAND_ALONE.search(text):
            return []
        pairs, last, joined = [], "", ""
        for character in fold(text) + " ":
            now = kind(character)
            if now == MARK and joined:
                joined += character
                continue
            if last and joined:
                pairs.append(RUN + last + joined)
            last, joined = joined, character if now == ALONE else ""
        return pairs

    @cached_property
    def _as_read(self) -> Analyzer:
        return replace(self.analyzer, stop=False, stem=False)


def shown(term: str) -> str:
    """A term as people read it.

    >>> shown(RUN + "bees"), shown("bee")
    ('~bees', 'bee')
    """
    return term.replace(RUN, SHOWN)


def scale_of(terms: Iterable[str]) -> Floats:
    """What each term counts: a word 1, a run of characters less.

    >>> scale_of(["bee", RUN + "bees"]).tolist()
    [1.0, 0.5]
    """
    return np.array([RUN_WEIGHT if term.startswith(RUN) else 1.0 for term in terms])


def sorted_scale(terms: Sequence[str]) -> Floats:
    """What ``scale_of`` says of sorted terms, where all runs are behind all words.

    >>> sorted_scale(["bee", "été", RUN + "bees"]).tolist()
    [1.0, 1.0, 0.5]
    """
    scale = np.ones(len(terms))
    scale[bisect_left(terms, RUN) :] = RUN_WEIGHT
    return scale


def first_line_again(texts: Iterable[str], times: int) -> Iterable[str]:
    r"""Texts whose first line, where there are more, stands there so many times.

    >>> first_line_again(["Bees\nA hive.", "A hive."], 2)
    ['Bees\nA hive.\nBees', 'A hive.']
    """
    if times == 1 or isinstance(texts, str) or not isinstance(texts, Iterable):
        return texts  # the latter are refused where they are counted

    def again(text: str) -> str:
        first, several, _ = str.partition(text, "\n")
        return "\n".join([text, *[first] * (times - 1)]) if several else text

    read = (again(text) if isinstance(text, str) else text for text in texts)
    return list(read) if isinstance(texts, Sized) else read


def require_reading(characters: Any, first_line: Any, ngram_range: Any) -> None:
    """Refuse another number of characters in a run, of times or words than can be."""
    numbers = list(ngram_range) if isinstance(ngram_range, tuple | list) else []
    whole = all(isinstance(n, Integral) for n in numbers)
    if len(numbers) != 2 or not whole or numbers[0] != 1 or numbers[1] < 1:
        raise Mistake(
            f"ngram_range is {ngram_range!r}: give (1, n), terms of up to n words"
        )
    for name, value in (("characters", characters), ("first_line", first_line)):
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise Mistake(f"{name} is {value!r}: give a whole number")
    if characters < 0 or characters == 1:
        raise Mistake(f"characters is {characters}: give 2 or more, or 0 for none")
    if first_line < 1:
        raise Mistake(f"first_line is {first_line}: give 1 or more")

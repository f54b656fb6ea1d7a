"""Wordings: which of very many short texts have a word like this one, and how much so?

All words stand once, sorted, with the texts they are in: a beginning is a stretch of
them, a part of a word is looked for in all of them set in one line, and where
nothing is found every word that is one slip of the pen away is looked up.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Floats, Ints
from classmark.problems import Mistake
from classmark.taxonomy.category import ACTIVE, Category, path_names
from classmark.text.tokens import fold, fold_accents

if TYPE_CHECKING:
    from classmark.workbench.team.desk import Desk


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


LABEL, NOTATION, SYNONYM, ID, NOTE, GUIDELINE = 1.0, 0.9, 0.8, 0.7, 0.3, 0.2
SHORT = 0.1  # what a label of one word has over one of very many
LOOKED_AT = 200  # of the best, put in order one by one
MOST_WORDS = 8
AFRESH = 2000  # changed categories, above which all are read again
CLIP = 90  # letters of a note around the words found
_KEPT: WeakKeyDictionary[Desk, Finder] = WeakKeyDictionary()
_LOCK = Lock()


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text; hit : whether it was asked for."""

    text: str
    hit: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A category that was found: its name and path, and by which words.

    name : in pieces;  also : another name or note, in pieces, where the name does not
    have all the words;  said : what that is.
    """

    category: str
    label: str
    path: tuple[str, ...]
    name: tuple[Piece, ...]
    also: tuple[Piece, ...] = ()
    said: str = ""
    retired: bool = False


def find_categories(
    desk: Desk, words: str, top: int = 12, *, retired: bool = False
) -> list[Found]:
    """The categories whose names, class marks, ids or notes have the words, best first.

    Words may be begun, be parts of others, or have one letter wrong. retired : those
    that take no documents any more, too.
    """
    if top < 1:
        raise Mistake(f"top is {top}: ask for at least one category")
    asked = plain(words).split()[:MOST_WORDS]
    if not asked:
        return []
    finder = finder_of(desk)
    best = finder.best(asked, top, retired=retired)
    return [_found(desk, category, asked) for category in best]


def finder_of(desk: Desk) -> Finder:
    """What finds the categories as they are now."""
    with _LOCK:
        kept, now = _KEPT.get(desk), desk.categories
        if kept is None:
            kept = Finder(now)
        elif kept.now is not now:
            kept = kept.following(now)
        _KEPT[desk] = kept
        return kept


class Finder:
    """Finds categories; a few that changed since it was made stand in a second one."""

    def __init__(
        self,
        categories: Mapping[str, Category],
        first: Finder | None = None,
        now: Mapping[str, Category] | None = None,
    ) -> None:
        self.now = categories if now is None else now
        self._list = list(categories.values())
        self._first = first
        self._words = Wordings([_worded(category) for category in self._list])
        lengths = [max(1, len(runs(category.label))) for category in self._list]
        self._short = SHORT / np.array(lengths, np.float32)

    @cached_property
    def _base(self) -> dict[str, Category]:
        return {category.id: category for category in self._list}

    def following(self, now: Mapping[str, Category]) -> Finder:
        """What finds the categories after some of them changed."""
        first = self if self._first is None else self._first
        known = first._base  # noqa: SLF001 (the same class)
        changed = {id_: c for id_, c in now.items() if known.get(id_) != c}
        if len(changed) > AFRESH:
            return Finder(now)
        return Finder(changed, first, now)

    def best(self, asked: Sequence[str], top: int, *, retired: bool) -> list[Category]:
        """The best categories for some plain words."""
        rated = list(self._rated(asked))
        if self._first is not None:
            rated += [pair for pair in self._first._rated(asked) if self._holds(pair)]  # noqa: SLF001 (the same class)
        open_ = [pair for pair in rated if retired or pair[1].status == ACTIVE]
        words = " ".join(asked)
        open_.sort(key=lambda pair: _order(words, *pair))
        most = round(open_[0][0] // 1) if open_ else 0
        return [c for rate, c in open_ if rate // 1 == most][:top]

    def _holds(self, pair: tuple[float, Category]) -> bool:
        return self.now.get(pair[1].id) == pair[1]

    def _rated(self, asked: Sequence[str]) -> Iterator[tuple[float, Category]]:
        """Categories with how many words they have, and, below the point, how well."""
        if not self._list:
            return
        each = np.stack([self._like(word) for word in asked])
        had = (each > 0).sum(axis=0)
        well = (each.sum(axis=0) + self._short * len(asked)) / (1.2 * len(asked))
        rate = np.where(had >= max(1, len(asked) - 1), had + well, 0.0)
        for at in _highest(rate, LOOKED_AT):
            yield float(rate[at]), self._list[at]

    def _like(self, word: str) -> NDArray[np.float32]:
        whole = self._words.like(word)
        parts = runs(word)
        if whole.any() or len(parts) < 2:
            return whole
        found: NDArray[np.float32] = np.min(
            [self._words.like(part) for part in parts], axis=0
        )
        return found


def _highest(rate: Floats, count: int) -> list[int]:
    places = np.flatnonzero(rate)
    if len(places) > count:
        places = places[np.argpartition(-rate[places], count)[:count]]
    return [int(at) for at in places]


def _order(
    words: str, rate: float, category: Category
) -> tuple[float, bool, bool, float, int, str]:
    """What stands before what: the name itself, its beginning, then by how well."""
    label = plain(category.name)
    exact = words in {label, plain(category.notation), plain(category.id)}
    starts = label.startswith(words)
    return -(rate // 1), not exact, not starts, -round(rate, 3), len(label), category.id


def _worded(category: Category) -> dict[str, float]:
    """The words of a category, each with the weight of the best place it stands in."""
    found: dict[str, float] = {}
    for text, weight in (
        (category.guideline, GUIDELINE),
        (category.note, NOTE),
        (category.id, ID),
        *((synonym, SYNONYM) for synonym in category.synonyms),
        (category.notation, NOTATION),
        (category.label, LABEL),
    ):
        if text:
            said = plain(text)
            found.update(dict.fromkeys(runs(said), weight))
            if weight in {ID, NOTATION}:
                found.setdefault(said.strip(), weight)
    return found


def _found(desk: Desk, category: Category, asked: Sequence[str]) -> Found:
    name = pieces(category.name, asked)
    also, said = _also(category, asked)
    tree = desk.tree
    path = (
        path_names(desk.categories, tree, category.id)
        if category.id in tree
        else (category.name,)
    )
    gone = category.status != ACTIVE
    return Found(category.id, category.name, path, name, also, said, gone)


def _also(category: Category, asked: Sequence[str]) -> tuple[tuple[Piece, ...], str]:
    """What else of a category has words that its name has not; and what that is."""
    missing = [word for word in asked if not _places(category.name, word)]
    for text, said in (
        (category.notation, "class mark"),
        *((synonym, "also called") for synonym in category.synonyms),
        (category.id, "id"),
        (category.note, "scope"),
        (category.guideline, "guideline"),
    ):
        at = [place for word in missing for place in _places(text, word)]
        if at:
            return pieces(_clipped(text, min(at)[0]), asked), said
    return (), ""


def _clipped(text: str, at: int) -> str:
    start = 0 if at < CLIP // 2 else text.rfind(" ", 0, at - CLIP // 3) + 1
    end = text[start : start + CLIP]
    return ("…" if start else "") + end + ("…" if start + CLIP < len(text) else "")


def pieces(text: str, asked: Sequence[str]) -> tuple[Piece, ...]:
    """Cut a text where the words asked for stand.

    >>> [piece.text for piece in pieces("Café and Tea", ["cafe"]) if piece.hit]
    ['Café']
    """
    hit = np.zeros(len(text) + 1, bool)
    for word in asked:
        for first, last in _places(text, word):
            hit[first:last] = True
    cuts = [0, *(np.flatnonzero(hit[1:] != hit[:-1]) + 1).tolist()]
    found = [Piece(text[a:b], bool(hit[a])) for a, b in _spans(cuts, len(text))]
    return tuple(piece for piece in found if piece.text)


def _spans(cuts: Sequence[int], end: int) -> Iterator[tuple[int, int]]:
    yield from zip(cuts, [*cuts[1:], end], strict=True)


def _places(text: str, word: str) -> list[tuple[int, int]]:
    """Where a plain word stands in a text: at the beginning of words, else anywhere."""
    line = text.lower()
    at: Sequence[int] = range(len(text))
    if not text.isascii():
        letters = [plain(letter) for letter in text]
        line = "".join(letters)
        at = [i for i, letter in enumerate(letters) for _ in letter]
    found, start = list[int](), 0
    while (start := line.find(word, start)) >= 0:
        found.append(start)
        start += 1
    opening = [p for p in found if p == 0 or not line[p - 1].isalnum()]
    return [(at[p], at[p + len(word) - 1] + 1) for p in opening or found]

"""Find categories by words of their names, class marks, ids or notes.

All words are listed once, sorted, with the texts they are in: a prefix is a range of
them, a part of a word is searched in all of them joined, and where nothing matches,
every word that is one typing error away is looked up.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Ints
from classmark.language import N_
from classmark.problems import refusal
from classmark.taxonomy.category import ACTIVE, Category, path_names
from classmark.text import fold, fold_accents
from classmark.workbench.categories.browse import changes_of

if TYPE_CHECKING:
    from classmark.workbench.project import Project


BETWEEN = " › "  # the names of a path
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

    def __init__(self, texts: Iterable[dict[str, float]]) -> None:
        number: dict[str, int] = {}
        numbers, counts, weights = array("i"), array("i"), array("f")
        for words in texts:  # once, and none of them stays
            counts.append(len(words))
            weights.extend(words.values())
            numbers.extend([number.setdefault(word, len(number)) for word in words])
        self.size, self.words = len(counts), sorted(number)
        place = np.empty(len(number), np.int32)
        place[[number[word] for word in self.words]] = np.arange(len(number))
        at = place[np.array(numbers, np.int32)]
        order = np.argsort(at, kind="stable")
        owner = np.repeat(np.arange(self.size, dtype=np.int32), np.array(counts))
        self._owner, self._weight = owner[order], np.array(weights)[order]
        self._start = np.searchsorted(at[order], np.arange(len(number) + 1))

    def like(self, word: str) -> Likeness:
        """How much each text is like a plain word, shape (size,); 0 : not at all."""
        likeness: Likeness = np.zeros(self.size, np.float32)
        first, last = self._prefixed(word)
        self._raise(likeness, np.arange(first, last), BEGINNING)
        if first < last and self.words[first] == word:
            self._raise(likeness, np.array([first]), EXACT)
        if len(word) >= SHORTEST_PART or not word.isascii():
            line, starts = self._line
            hits = [match.start() for match in re.finditer(re.escape(word), line)]
            places = np.searchsorted(starts, np.array(hits, np.int64), "right") - 1
            self._raise(likeness, np.unique(places), PART)
        if not likeness.any() and SHORTEST_SLIP <= len(word) <= LONGEST_SLIP:
            others = one_off(word, self._letters)
            near = {at for other in others for at in range(*self._prefixed(other))}
            self._raise(likeness, np.array(sorted(near), np.int64), SLIP)
        return likeness

    def _raise(self, likeness: Likeness, places: Ints, factor: float) -> None:
        """Raise the likeness of the texts that have the words at these places."""
        start = self._start[places]
        count = self._start[places + 1] - start
        ends = np.cumsum(count)
        rows = np.arange(count.sum()) + np.repeat(start - ends + count, count)
        weights = np.float32(factor) * self._weight[rows]
        np.maximum.at(likeness, self._owner[rows], weights)

    def _prefixed(self, word: str) -> tuple[int, int]:
        """The range of words that begin so."""
        first = bisect_left(self.words, word)
        return first, bisect_left(self.words, word + AFTER, first)

    @cached_property
    def _line(self) -> tuple[str, Ints]:
        """All words in one line, and where each begins."""
        lengths = np.array([len(word) + 1 for word in self.words], np.int64)
        return "\n".join(self.words), np.cumsum(lengths) - lengths

    @cached_property
    def _letters(self) -> list[str]:
        """The letters that most words have."""
        counts = Counter(letter for word in self.words for letter in set(word))
        return [letter for letter, _ in counts.most_common(LETTERS)]


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


@dataclass(frozen=True, slots=True)
class MarkedText:
    """Some text; hit : whether it was asked for."""

    text: str
    hit: bool = False


@dataclass(frozen=True, slots=True)
class CategoryHit:
    """A category that was found: its name and path, and by which words.

    name : in pieces;  also : another name or note, in pieces, where the name does not
    have all the words;  said : what that is.
    """

    category: str
    label: str
    path: tuple[str, ...]
    name: tuple[MarkedText, ...]
    also: tuple[MarkedText, ...] = ()
    said: str = ""
    retired: bool = False


def find_categories(
    project: Project, text: str, top: int = 12, *, retired: bool = False
) -> list[CategoryHit]:
    """The categories whose names, class marks, ids or notes have the words, best first.

    Words may be begun, be parts of others, or have one letter wrong. retired : those
    that take no documents any more, too.
    """
    if top < 1:
        raise refusal("top is %(top)s: ask for at least one category", top=top)
    words = plain(text).split()[:MOST_WORDS]
    if not words:
        return []
    categories, tree = project.categories, project.tree
    return [
        CategoryHit(
            c.id,
            c.name,
            path_names(categories, tree, c.id) if c.id in tree else (c.name,),
            pieces(c.name, words),
            *_also(c, words),
            retired=c.status != ACTIVE,
        )
        for c in finder_of(project).best(words, top, retired=retired)
    ]


def finder_of(project: Project) -> Finder:
    """What finds the categories as they are now."""
    derived, now = project.state.derived, project.categories
    finder: Finder | None = derived.get(Finder)
    if finder is None or finder.now is not now:
        finder = Finder(now) if finder is None else finder.following(now)
        derived[Finder] = finder
    return finder


class Finder:
    """Finds categories; a few that changed since it was made are in a second one."""

    def __init__(
        self,
        categories: Mapping[str, Category],
        base: Finder | None = None,
        now: Mapping[str, Category] | None = None,
    ) -> None:
        self.now = categories if now is None else now
        self.base = base
        self._categories = list(categories.values())
        self._words = Wordings(map(_weighted_words, self._categories))
        lengths = [max(1, len(runs(c.label))) for c in self._categories]
        self._short = SHORT / np.array(lengths, np.float32)

    def following(self, now: Mapping[str, Category]) -> Finder:
        """What finds the categories after some of them changed."""
        base = self if self.base is None else self.base
        changed = changes_of(base.now, now)
        if len(changed) > AFRESH:
            return Finder(now)
        return Finder(changed, base, now)

    def best(self, words: Sequence[str], top: int, *, retired: bool) -> list[Category]:
        """The best categories for some plain words."""
        older = () if self.base is None else self.base.rated(words)
        rated = [
            (rate, c)
            for rate, c in chain(self.rated(words), older)
            if self.now.get(c.id) == c and (retired or c.status == ACTIVE)
        ]
        text = " ".join(words)
        rated.sort(key=lambda pair: _order(text, *pair))
        most = round(rated[0][0] // 1) if rated else 0
        return [category for rate, category in rated if rate // 1 == most][:top]

    def rated(self, words: Sequence[str]) -> Iterator[tuple[float, Category]]:
        """Categories with how many words they have, and, below the point, how well."""
        if not self._categories:
            return
        each = np.stack([self._like(word) for word in words])
        count = (each > 0).sum(axis=0)
        well = (each.sum(axis=0) + self._short * len(words)) / (1.2 * len(words))
        rate = np.where(count >= max(1, len(words) - 1), count + well, 0.0)
        places = np.flatnonzero(rate)
        if len(places) > LOOKED_AT:
            places = places[np.argpartition(-rate[places], LOOKED_AT)[:LOOKED_AT]]
        for place in places:
            yield float(rate[place]), self._categories[place]

    def _like(self, word: str) -> Likeness:
        whole, parts = self._words.like(word), runs(word)
        if whole.any() or len(parts) < 2:
            return whole
        least: Likeness = np.min([self._words.like(part) for part in parts], axis=0)
        return least


def _order(
    text: str, rate: float, category: Category
) -> tuple[float, bool, bool, float, int, str]:
    """What comes before what: the name itself, its beginning, then by how well."""
    label = plain(category.name)
    exact = text in {label, plain(category.notation), plain(category.id)}
    starts = label.startswith(text)
    return -(rate // 1), not exact, not starts, -round(rate, 3), len(label), category.id


def _texts(category: Category) -> list[tuple[str, float, str]]:
    """What names a category: text, weight and what it is, the weightiest first."""
    return [
        (category.label, LABEL, N_("name")),
        (category.notation, NOTATION, N_("class mark")),
        *((synonym, SYNONYM, N_("also called")) for synonym in category.synonyms),
        (category.id, ID, N_("id")),
        (category.note, NOTE, N_("scope")),
        (category.guideline, GUIDELINE, N_("guideline")),
    ]


def _weighted_words(category: Category) -> dict[str, float]:
    """The words of a category, each with the weight of the best place it stands in."""
    weights: dict[str, float] = {}
    for text, weight, _ in reversed(_texts(category)):
        weights |= dict.fromkeys(runs(plain(text)), weight)
        if text and weight in {ID, NOTATION}:
            weights.setdefault(plain(text).strip(), weight)
    return weights


def _also(
    category: Category, words: Sequence[str]
) -> tuple[tuple[MarkedText, ...], str]:
    """What else of a category has words that its name has not; and what that is."""
    missing = [word for word in words if not _places(category.name, word)]
    for text, _, source in _texts(category)[1:]:
        places = [place for word in missing for place in _places(text, word)]
        if places:
            at, _ = min(places)
            start = 0 if at < CLIP // 2 else text.rfind(" ", 0, at - CLIP // 3) + 1
            end = "…" if start + CLIP < len(text) else ""
            clipped = ("…" if start else "") + text[start : start + CLIP] + end
            return pieces(clipped, words), source
    return (), ""


def pieces(text: str, words: Sequence[str]) -> tuple[MarkedText, ...]:
    """Cut a text where the words asked for stand.

    >>> [piece.text for piece in pieces("Café and Tea", ["cafe"]) if piece.hit]
    ['Café']
    """
    hit = np.zeros(len(text) + 1, bool)
    for word in words:
        for first, last in _places(text, word):
            hit[first:last] = True
    cuts = [0, *(np.flatnonzero(hit[1:] != hit[:-1]) + 1).tolist(), len(text)]
    spans = [(a, b) for a, b in pairwise(cuts) if a < b]
    return tuple(MarkedText(text[a:b], bool(hit[a])) for a, b in spans)


def _places(text: str, word: str) -> list[tuple[int, int]]:
    """Where a plain word stands in a text: at the beginning of words, else anywhere."""
    line = text.lower()
    at: Sequence[int] = range(len(text))
    if not text.isascii():
        letters = [plain(letter) for letter in text]
        line = "".join(letters)
        at = [i for i, letter in enumerate(letters) for _ in letter]
    starts = [match.start() for match in re.finditer(f"(?={re.escape(word)})", line)]
    opening = [p for p in starts if p == 0 or not line[p - 1].isalnum()]
    return [(at[p], at[p + len(word) - 1] + 1) for p in opening or starts]


def path_of(project: Project, id_: str) -> str:
    """The names from the top to a category, as pages write them; any other id as it is.

    ``of_path`` finds the category again.
    """
    if id_ not in project.categories:
        return id_
    return BETWEEN.join(path_names(project.categories, project.tree, id_))


def of_path(project: Project, text: str) -> str:
    """The category of such a path; "" where there is none."""
    names = [part.strip().casefold() for part in text.split(BETWEEN.strip())]
    return next(
        (
            id_
            for id_, category in project.categories.items()
            if category.name.casefold() == names[-1]
            and path_of(project, id_).casefold() == BETWEEN.join(names)
        ),
        "",
    )

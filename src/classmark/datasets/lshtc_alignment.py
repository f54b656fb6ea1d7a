"""Which word of one LSHTC task is which word of another?

The tasks of one challenge number words differently, but hold the same pages: Task 1 the
crawled words of a page, Task 2 those of its description, Task 4 both together. So the
counts of a word over the pages add up, s₄ = s₁ + s₂, and a word is known by its counts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from classmark.problems import Mistake
from classmark.sparse import Rows, transpose

Counts = tuple[tuple[int, float], ...]  # (page, count), pages increasing


class Task(NamedTuple):
    """The pages of one task and its category descriptions, as counts of words.

    Both have the task's own columns; pages and categories come in the same order in all
    tasks.
    """

    pages: Rows
    descriptions: Rows


class Alignment(NamedTuple):
    """Crawled pages in the words of the descriptions, and how many words were found.

    pages : Rows (pages, words of the descriptions);  words : their columns that have a
    word of the other task;  unsure : words that fit several, which are left out.
    """

    pages: Rows
    words: tuple[int, ...]
    unsure: int


def aligned(crawled: Rows, described: Task, together: Task) -> Alignment:
    """Bring crawled pages into the words of the descriptions.

    A word b of ``described`` is word j of ``together`` if both have the same counts in
    the category descriptions, and what j has more than b on the pages is exactly what
    some word has in ``crawled``, or nothing. Words that fit one j are taken, then those
    that fit one j not taken, until none is left; words that fit several stay out.

    crawled : Rows (pages, words of that task): only the counts are used.
    """
    _require_same_pages(crawled, described, together)
    joint = _Joint(together, set(_columns(crawled).values()))
    pages, said = _columns(described.pages), _columns(described.descriptions)
    fits = {
        word: joint.fits(pages.get(word, ()), said.get(word, ()))
        for word in sorted(pages.keys() | said.keys())
    }
    found = _taken(fits)
    unsure = sum(len(several) > 1 for b, several in fits.items() if b not in found)
    rests = {b: fits[b][j] for b, j in found.items()}
    rows = _pages(rests, len(crawled), described.pages.width)
    return Alignment(rows, tuple(sorted(found)), unsure)


class _Joint:
    """The words of the joint task, to be found by their counts."""

    def __init__(self, together: Task, seen: set[Counts]) -> None:
        self._pages = {w: dict(c) for w, c in _columns(together.pages).items()}
        self._seen = seen
        self._by_said: dict[Counts, set[int]] = defaultdict(set)
        self._by_page: dict[int, set[int]] = defaultdict(set)
        said = _columns(together.descriptions)
        for word in self._pages.keys() | said.keys():
            self._by_said[said.get(word, ())].add(word)
        for word, counts in self._pages.items():
            for page in counts:
                self._by_page[page].add(word)

    def fits(self, pages: Counts, said: Counts) -> dict[int, Counts]:
        """Words that may be the one with these counts → what they have more."""
        near = [self._by_page.get(page, set()) for page, _ in pages]
        near.append(self._by_said.get(said, set()))
        found = {}
        for word in sorted(set.intersection(*near)):
            rest = _less(self._pages.get(word, {}), pages)
            if rest is not None and (not rest or rest in self._seen):
                found[word] = rest
        return found


def _taken(fits: Mapping[int, Mapping[int, Counts]]) -> dict[int, int]:
    """The words with one place, then those with one place left; none twice."""
    found: dict[int, int] = {}
    while True:
        used = set(found.values())
        fresh = {
            b: left[0]
            for b, several in fits.items()
            if b not in found
            and len(left := [j for j in several if j not in used]) == 1
        }
        claims = Counter(fresh.values())
        fresh = {b: j for b, j in fresh.items() if claims[j] == 1}
        if not fresh:
            return found
        found |= fresh


def _columns(rows: Rows) -> dict[int, Counts]:
    """The counts of each column that has any: (row, value), rows increasing."""
    turned = transpose(rows)
    pairs = list(zip(turned.columns.tolist(), turned.values.tolist(), strict=True))
    ends = turned.starts
    used = np.flatnonzero(np.diff(ends)).tolist()
    return {word: tuple(pairs[ends[word] : ends[word + 1]]) for word in used}


def _less(counts: Mapping[int, float], taken: Counts) -> Counts | None:
    """What is left when counts are taken away; None where there are not enough."""
    if any(counts.get(page, 0) < count for page, count in taken):
        return None
    gone = dict(taken)
    left = ((page, count - gone.get(page, 0)) for page, count in counts.items())
    return tuple((page, count) for page, count in left if count)


def _pages(rests: Mapping[int, Counts], height: int, width: int) -> Rows:
    """Words with their counts on pages become pages with their words."""
    words = sorted(rests)
    lengths = np.zeros(width, np.int64)
    lengths[words] = [len(rests[word]) for word in words]
    flat = [pair for word in words for pair in rests[word]]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    pages = np.array([page for page, _ in flat], np.uint32)
    counts = np.array([count for _, count in flat], np.float64)
    return transpose(Rows(starts, pages, counts, height))


def _require_same_pages(crawled: Rows, described: Task, together: Task) -> None:
    heights = {len(crawled), len(described.pages), len(together.pages)}
    categories = {len(described.descriptions), len(together.descriptions)}
    if len(heights) > 1 or len(categories) > 1:
        raise Mistake(
            "the tasks do not hold the same pages and category descriptions: "
            f"{sorted(heights)} pages, {sorted(categories)} descriptions"
        )

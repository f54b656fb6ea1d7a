"""Lists united: the terms that a word with * or ? stands for, the fields of a text.

**Wildcards.** ``*`` stands for any letters, ``?`` for one. A pattern is one term of the
query, as the words of Inquery's #syn are one [Pirkola98]: it occurs in an item as often
as all its terms together, and df counts the items that have any of them. (A sum over
the terms, each with a rarity of its own, would let the rarest spelling decide.) Its
first letter is no sign, and it stands for ``MOST_TERMS`` terms of a field at most: both
are Lucene's limits. Where words are stemmed, a pattern is compared with the stems, and
``word*`` stands for the stem of ``word``, too.

**Fields.** Fields are one text: tf and length are the sums over the fields, each times
the whole number that it counts, df is the number of items that have the term in any of
them. Any model reads that text; of BM25 it is BM25F with one b [RobertsonEtAl04].
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Floats, Ints
from classmark.index.models import (
    Choice,
    FieldQuery,
    Prepared,
    Query,
    Terms,
    frozen_lists,
)
from classmark.index.postings import CountedField, Field, Lists
from classmark.problems import Mistake

MOST_TERMS = 1024
TITLE, TITLE_COUNTS = "title", 3  # chosen on four collections: docs/benchmarks.md
_NONE = np.empty(0, np.uint32)
_NO_TERMS = np.empty(0, np.int64)


class Pattern(str):
    """A word with * or ?, as a term of a query; ``stem`` : a term that it also means.

    >>> Pattern("librar*").regex.fullmatch("librari") is not None
    True
    """

    __slots__ = ("stem",)
    stem: str

    def __new__(cls, text: str, stem: str = "") -> Self:
        """Make a pattern of its text."""
        self = super().__new__(cls, text)
        self.stem = stem
        return self

    @property
    def regex(self) -> re.Pattern[str]:
        """What a term is to look like."""
        signs = {"*": ".*", "?": "."}
        return re.compile("".join(signs.get(c, re.escape(c)) for c in self), re.DOTALL)

    def numbers(self, field: Field) -> Ints:
        """Return the numbers of the terms of a field; more than the most are refused.

        >>> from classmark.index.postings import field_of
        >>> field = field_of([[2, 1, 1]], ["bee", "beet", "tea"])
        >>> Pattern("bee*").numbers(field).tolist()
        [0, 1]
        """
        low, high = 0, field.n_terms
        start = re.split(r"[*?]", self, maxsplit=1)[0].encode(errors="surrogatepass")
        if field.is_sorted:
            places, key = range(high), field.words.__getitem__
            low = bisect_left(places, start, key=key)
            high = bisect_left(places, start + b"\xff", key=key)
        fits = self.regex.fullmatch
        found = [
            number
            for number in range(low, high)
            if field.df[number] and fits(field.term(number))
        ]
        stem = field.number(self.stem) if self.stem else None
        if stem is not None and stem not in found:
            found.append(stem)
        if len(found) > MOST_TERMS:
            raise Mistake(
                f"{self} stands for {len(found):,} words, and {MOST_TERMS:,} are "
                "looked for at most: write more letters"
            )
        return np.array(found, np.int64)


def is_patterned(terms: Terms) -> bool:
    """Whether any term is a pattern."""
    return any(isinstance(term, Pattern) for term in terms)


class UnitedList(NamedTuple):
    """Lists of postings as one: items, counts, and their statistics."""

    items: NDArray[np.uint32]
    counts: NDArray[np.uint32]
    df: int
    cf: int


class United(Prepared):
    """Fields read as one text, where terms may be patterns.

    fields : with the whole number that each counts, 1 or more.

    >>> from classmark.index.postings import field_of
    >>> title, body = (field_of([[n], [1]], ["bee"]) for n in (0, 3))
    >>> both = United([(Prepared(title), 2), (Prepared(body), 1)])
    >>> both.united("bee")[1:]
    (array([3, 3], dtype=uint32), 2, 6)
    """

    def __init__(self, fields: Sequence[tuple[Prepared, int]]) -> None:
        self.fields = list(fields)
        first = fields[0][0].field
        lengths = sum(each.lengths.astype(np.uint32) * n for each, n in fields)
        tokens = sum(each.field.total_length * n for each, n in fields)
        empty = Lists(_NONE, _NONE, _NO_TERMS, _NO_TERMS)
        world = first.n_alive, tokens
        nothing = _NONE, _NO_TERMS, first.alive, world
        super().__init__(CountedField((), empty, np.asarray(lengths), *nothing))
        self.whole = None

    def ask(
        self,
        terms: Terms,
        choice: Choice,
        weight: float = 1.0,
        df: Mapping[str, int] | None = None,
    ) -> FieldQuery:
        """Make a query ready, all its parts times ``weight``.

        df : in how many items terms occur, where these are some of many more.
        """
        counts = terms if isinstance(terms, Mapping) else Counter(terms)
        parts = [(t, w, self.united(t)) for t, w in counts.items() if w]
        if df is not None:
            parts = [(t, w, each._replace(df=df[t])) for t, w, each in parts]
        parts = [part for part in parts if part[2].df]
        ends = np.cumsum([0, *(len(each.items) for *_, each in parts)])
        lists = Lists(
            np.concatenate([_NONE, *(each.items for *_, each in parts)]),
            np.concatenate([_NONE, *(each.counts for *_, each in parts)]),
            ends[:-1],
            ends[1:],
        )
        statistics = [(each.df, each.cf, 0) for *_, each in parts]
        rows = np.array(statistics, np.int64).reshape(-1, 3)
        table = np.column_stack([lists.begins, lists.ends, rows])
        weights = np.array([w for _, w, _ in parts], np.float64)
        places = np.arange(len(parts), dtype=np.int64)
        located = frozen_lists(lists), places, table
        plan, query = self.plan(*choice), Query(places, weights)
        asked = self.ready(plan, query, located, weight)
        return asked._replace(terms=tuple(term for term, *_ in parts))

    def names(self, query: FieldQuery) -> list[str]:
        """Return the terms of a query that was made ready, in its order."""
        return [query.terms[place] for place in query.query.numbers.tolist()]

    def united(self, term: str) -> UnitedList:
        """Unite the lists of a term, or of those of a pattern, in all fields."""
        lists: list[tuple[NDArray[np.uint32], NDArray[np.uint32]]] = []
        df = cf = 0
        for each, times in self.fields:
            numbers = numbers_of(each, term)
            if len(numbers):
                items, counts, begins, ends = each.field.lists(numbers)
                bounds = zip(begins.tolist(), ends.tolist(), strict=True)
                multiple = np.uint32(times)
                lists += [(items[a:b], counts[a:b] * multiple) for a, b in bounds]
                df += int(each.df[numbers].sum())
                cf += times * int(each.cf[numbers].sum())
        if len(lists) < 2:
            items, counts = lists[0] if lists else (_NONE, _NONE)
            return UnitedList(items, counts, df, cf)
        items, counts = _joined(lists)
        return UnitedList(items, counts, self._living(items), cf)

    def count(self, term: str) -> int:
        """Return how many of these items, those that are alive, have a term."""
        return self._living(self.united(term).items)

    def _living(self, items: NDArray[np.uint32]) -> int:
        return int(self.alive[items].sum()) if len(self.alive) else len(items)

    @cached_property
    def inverse_norms(self) -> Floats:
        """1 / ‖tf · idf‖ of each item, in the only field."""
        if len(self.fields) > 1:
            raise Mistake("cosine needs the norms of one field: score each alone")
        return self.fields[0][0].inverse_norms


def numbers_of(field: Prepared, term: str) -> Ints:
    """Return the numbers of a term in a field, or of those of a pattern."""
    if isinstance(term, Pattern):
        return term.numbers(field.field)
    number = field.numbers[term]
    return np.array([number] if number >= 0 else [], np.int64)


def _joined(
    lists: Sequence[tuple[NDArray[np.uint32], NDArray[np.uint32]]],
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Join lists of items and counts; counts of the same item are added."""
    items = np.concatenate([each for each, _ in lists])
    counts = np.concatenate([each for _, each in lists])
    order = np.argsort(items, kind="stable")
    items = items[order]
    is_first = np.ones(len(items), np.bool_)
    np.not_equal(items[1:], items[:-1], out=is_first[1:])
    first = np.flatnonzero(is_first)
    sums = np.add.reduceat(counts[order], first, dtype=np.uint32)
    return items[first], sums


Names = tuple[str, ...]


def together(
    term_weights: Mapping[str, Mapping[str, float]],
) -> dict[Names, dict[str, float]]:
    """Part a query by the fields in which its terms are looked for.

    What a term weighs in several fields alike it weighs in their text, what it weighs
    beyond that in some is theirs.

    >>> together({"title": {"bee": 2.0, "tea": 1.0}, "body": {"bee": 1.0, "tea": 1.0}})
    {('title', 'body'): {'bee': 1.0, 'tea': 1.0}, ('title',): {'bee': 1.0}}
    """
    groups: dict[Names, dict[str, float]] = {}
    for term in dict.fromkeys(term for each in term_weights.values() for term in each):
        left = {name: w for name, each in term_weights.items() if (w := each.get(term))}
        while left:
            low, high = min(left.values()), max(left.values())
            if low < 0.0 < high:
                alone: dict[Names, float] = {
                    (name,): weight for name, weight in left.items()
                }
                left = {}
            else:
                least = low if low > 0.0 else high
                alone = {tuple(left): least}
                left = {name: w - least for name, w in left.items() if w != least}
            for names, weight in alone.items():
                groups.setdefault(names, {})[term] = weight
    return groups

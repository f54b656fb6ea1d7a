"""One field: of an opened index, its segments seen as one, or of counts in memory."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from classmark.arrays import Bools, Ints, bounds_of, zeros
from classmark.corpus.vocabulary import join_terms, order_terms
from classmark.index.kernels_postings import append_lists, places_of
from classmark.index.merge import MergeSource, join
from classmark.index.postings import Field, Lists, TermPlaces
from classmark.index.segment import SegmentField
from classmark.index.snapshot import Lost, Snapshot
from classmark.problems import Mistake
from classmark.sparse import Rows, take, transpose

_PER_POSTING = 8
_NONE = np.empty(0, np.uint32)


class StoredField(Field):
    """A field of the segments of an index on disk.

    Where all postings, decoded, fit the memory, they are decoded once and for all;
    else the lists that are asked for are.

    within : which segments' documents are read, numbered from 0; the numbers of terms
    and all statistics are still those of all segments. None: all are.
    """

    def __init__(
        self, snapshot: Snapshot, name: str, memory: int, within: slice | None = None
    ) -> None:
        parts = snapshot.parts[within or slice(None)]
        self.sources, shift = list[MergeSource](), 0
        for part in parts:
            if name in part.segment.fields:
                whole = part.segment.fields[name].whole
                numbers = part.renumbered(close_gaps=False)
                self.sources.append(MergeSource(whole, shift, numbers))
            shift += part.segment.n_items
        self.alive: Bools | None = None
        if any(part.alive is not None for part in parts):
            self.alive = np.concatenate([part.mask() for part in parts])
        lengths = [part.lengths(name) for part in parts]
        self.lengths = np.asarray(
            lengths[0] if len(lengths) == 1 else np.concatenate([_NONE, *lengths])
        )
        self.n_alive = sum(part.kept() for part in snapshot.parts)
        self.total_length = sum(
            int(part.living(part.lengths(name)).sum(dtype=np.int64))
            for part in snapshot.parts
        )
        total = sum(int(source.stretch.df.sum()) for source in self.sources)
        many = len(self.sources) > 1 or self.alive is not None or within is not None
        self.whole: Lists | None = None
        self._places: list[Ints] = []
        self.room = max(0, memory - _PER_POSTING * total)
        fits = _PER_POSTING * total * (3 if many else 1) <= memory
        having = [
            (part.segment.fields[name], lost.get(name))
            for part, lost in zip(snapshot.parts, snapshot.lost, strict=True)
            if name in part.segment.fields
        ]
        if not having or (within is None and fits):
            self._decode()
            return
        self._refer(having)
        if fits:
            self.whole = self.lists(np.arange(self.n_terms))

    def number(self, term: str) -> int | None:
        """Return the number of an analysed term; None: no item alive has it."""
        number = self.words.find(term.encode(errors="surrogatepass"))
        return None if number is None or not self.df[number] else number

    def decoded(self, numbers: Ints) -> Lists:
        """Decode the lists of some terms where not all are kept decoded."""
        numbers = np.asarray(numbers, np.int64)
        bounds = bounds_of(self._stored[numbers])
        postings, ends = zeros(int(bounds[-1]), np.uint64), bounds[:-1].copy()
        for source, here in zip(self.sources, self._places, strict=True):
            which = np.flatnonzero(here[numbers] >= 0)
            lists = tuple(source.stretch.lists(here[numbers[which]]))
            append_lists(lists, which, source.shift, source.renumbered, ends, postings)
        return _split(postings, bounds[:-1], ends)

    def places(self, number: int) -> TermPlaces:
        """Return the token positions of a term, for phrases."""
        term = self.words[number]
        items, counts, places = [], [], []
        for source in self.sources:
            stretch = source.stretch
            here = stretch.place(term)
            if here == len(stretch) or stretch.term(here) != term:
                continue
            chosen = np.array([here], np.int64)
            lists, gaps = stretch.lists(chosen), stretch.gaps(chosen)
            spread = np.empty_like(gaps)
            places_of(lists.counts, gaps, spread)
            alive = np.ones(len(lists.items), np.bool_)
            if len(source.renumbered):
                alive = source.renumbered[lists.items] == lists.items
            items.append(lists.items[alive] + np.uint32(source.shift))
            counts.append(lists.counts[alive])
            places.append(spread[np.repeat(alive, lists.counts)])
        return TermPlaces(
            np.concatenate([_NONE, *items]),
            np.concatenate([_NONE, *places]),
            bounds_of(np.concatenate([_NONE, *counts])),
        )

    def _decode(self) -> None:
        only = self.sources[0] if len(self.sources) == 1 else None
        if only is not None and not only.shift and self.alive is None:
            stretch = only.stretch
            self.blob = stretch.field.terms
            self.whole = stretch.lists(slice(None))
            self.df, self.cf = stretch.df.astype(np.uint32), stretch.field.cf
            return
        runs = [slice(0, len(source.stretch)) for source in self.sources]
        if not runs:
            nothing = np.empty(0, np.int64)
            self.blob = np.empty(0, np.uint8)
            self.whole = _split(np.empty(0, np.uint64), nothing, nothing)
        else:
            inverted = join(self.sources, runs, places=False)
            self.blob = inverted.terms
            self.whole = _split(inverted.postings, inverted.begins, inverted.ends)
        lists = self.whole
        self.df = (lists.ends - lists.begins).astype(np.uint32)
        before = bounds_of(lists.counts)
        self.cf = before[lists.ends] - before[lists.begins]

    def _refer(self, having: Sequence[tuple[SegmentField, Lost | None]]) -> None:
        """Locate the list of each term in each segment that is read; sum df and cf."""
        vocabulary, number = order_terms([field.terms.tobytes() for field, _ in having])
        sizes = [field.n_terms for field, _ in having]
        self.blob = vocabulary.blob
        n_terms = len(vocabulary)
        df, cf = np.zeros(n_terms, np.int64), np.zeros(n_terms, np.int64)
        self._stored = np.zeros(n_terms, np.int64)
        read = [source.stretch.field for source in self.sources]
        numbers = np.split(number, np.cumsum(sizes)[:-1])
        for (field, gone), mine in zip(having, numbers, strict=True):
            segment_df = field.whole.df
            if any(field is other for other in read):
                here = np.full(n_terms, -1, np.int64)
                here[mine] = np.arange(len(mine))
                self._places.append(here)
                self._stored[mine] += segment_df
            df[mine] += segment_df
            cf[mine] += field.cf
            if gone is not None:
                df[mine[gone.terms]] -= gone.df
                cf[mine[gone.terms]] -= gone.cf
        self.df, self.cf = df.astype(np.uint32), cf


def _split(postings: NDArray[np.uint64], begins: Ints, ends: Ints) -> Lists:
    items = (postings >> np.uint64(32)).astype(np.uint32)
    return Lists(items, postings.astype(np.uint32), begins, ends)


@dataclass(eq=False)
class CountedField(Field):
    """A field over counts in memory, transposed; see ``field_of``.

    world : items alive, and their tokens, where these are some items of many more, of
    which df and cf tell.
    """

    terms: Sequence[str]
    whole: Lists
    lengths: NDArray[np.uint32]
    df: NDArray[np.uint32]
    cf: Ints
    alive: Bools | None = None
    world: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        living = self.lengths if self.alive is None else self.lengths[self.alive]
        tokens = int(living.sum(dtype=np.int64))
        self.n_alive, self.total_length = self.world or (len(living), tokens)
        self.room = sys.maxsize
        self.blob = np.frombuffer(join_terms(self.terms), np.uint8)
        self._numbers = {term: number for number, term in enumerate(self.terms)}

    def number(self, term: str) -> int | None:
        """Return the number of an analysed term; None: no item alive has it."""
        number = self._numbers.get(term)
        return None if number is None or not self.df[number] else number

    def term(self, number: int) -> str:
        """Return the term of a number."""
        return self.terms[number]


def field_of(
    counts: Rows, terms: Sequence[str], *, alive: ArrayLike | None = None
) -> CountedField:
    """Make a field of counts, one row per item, one column per term.

    alive : which items are not deleted; the statistics are those of these alone.

    >>> from classmark.sparse import rows_from
    >>> field = field_of(rows_from([[2, 0], [1, 1]]), ["ant", "bee"])
    >>> field.df.tolist(), field.cf.tolist(), field.lengths.tolist()
    ([2, 1], [3, 1], [2, 2])
    """
    if len(terms) != counts.width:
        raise Mistake(
            f"terms has {len(terms)} names for {counts.width} columns: give one each"
        )
    living = None if alive is None else np.asarray(alive, bool)
    alive_counts = counts if living is None else take(counts, living)
    lists = transpose(counts)
    owner = np.repeat(np.arange(len(counts)), np.diff(counts.starts))
    lengths = np.bincount(owner, counts.values, minlength=len(counts))
    cf = np.bincount(alive_counts.columns, alive_counts.values, minlength=counts.width)
    df = np.bincount(alive_counts.columns, minlength=counts.width)
    return CountedField(
        terms,
        Lists(
            lists.columns,
            lists.values.astype(np.uint32),
            lists.starts[:-1],
            lists.starts[1:],
        ),
        lengths.astype(np.uint32),
        df.astype(np.uint32),
        cf.astype(np.int64),
        living,
    )

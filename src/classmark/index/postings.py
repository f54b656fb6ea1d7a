"""Postings of a field: what scoring may ask, and lists of numbers as packed bytes.

Whatever holds postings (segments on disk seen as one, counts in memory) is searched
through this face and no other.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from classmark.arrays import (
    Array,
    Bools,
    Ints,
    bounds_of,
    cut_runs,
    rows_from,
    take,
    transpose,
    words_of,
    zeros,
)
from classmark.corpus.documents import join_terms
from classmark.index.kernels_postings import (
    copy_words,
    decode_lists,
    encode_lists,
    enter_words,
    find_words,
    hash_words,
)
from classmark.problems import Mistake

_NEWLINE = ord("\n")


class Words:
    r"""Different words in the order of their bytes, a newline after each.

    One word is found by halving, many by a hash table, made when first needed: 8 to 16
    bytes a word.

    >>> words = Words(np.frombuffer(b"ant\nbee\n", np.uint8))
    >>> words.find(b"bee"), words.numbers(["bee", "wasp", "ant"]).tolist()
    (1, [1, -1, 0])
    """

    def __init__(self, blob: NDArray[np.uint8]) -> None:
        self._blob = blob.tobytes()
        ends = np.flatnonzero(np.asarray(blob) == _NEWLINE)
        self._bounds = np.zeros(len(ends) + 1, np.uint64)
        self._bounds[1:] = ends + 1

    def __len__(self) -> int:
        return len(self._bounds) - 1

    def __getitem__(self, number: int) -> bytes:
        return self._blob[self._bounds[number] : self._bounds[number + 1] - 1]

    def find(self, word: bytes) -> int | None:
        """Return the number of a word; None: it is not there."""
        at = bisect_left(range(len(self)), word, key=self.__getitem__)
        return at if at < len(self) and self[at] == word else None

    def numbers(self, words: Collection[str]) -> Ints:
        """Return the number of each word, −1 where it is not there."""
        out = np.empty(len(words), np.int64)
        joined = np.frombuffer(join_terms(words), np.uint8)
        hashes = np.empty(len(words), np.uint64)
        bounds = np.empty(len(words) + 1, np.uint64)
        if hash_words(joined, hashes, bounds) == len(words):
            find_words(hashes, joined, bounds, self.table, out)
            return out
        odd = np.array(["\n" in word for word in words])
        out = self.numbers([word.replace("\n", "") for word in words])
        out[odd] = -1
        return out

    def reordered(self, order: Ints) -> Words:
        """Return the same words in another order, in which only many can be found."""
        out = np.empty(len(self._blob), np.uint8)
        copy_words(np.frombuffer(self._blob, np.uint8), self._bounds, order, out)
        return Words(out)

    @cached_property
    def table(self) -> tuple[Array, ...]:
        """The slots, the words and their bounds, as ``find_words`` takes them."""
        word_bytes = np.frombuffer(self._blob, np.uint8)
        hashes, bounds = np.empty(len(self), np.uint64), self._bounds.copy()
        hash_words(word_bytes, hashes, bounds)
        slots = np.zeros(1 << (2 * len(self)).bit_length(), np.uint32)
        enter_words(hashes, slots)
        return slots, word_bytes, self._bounds


class Lists(NamedTuple):
    """The postings of some terms, decoded: list ``i`` is ``[begins[i], ends[i])``.

    items : uint32, increasing strictly within each list, deleted items allowed;
    counts : uint32, ≥ 1;  begins, ends : int64, one per term asked for.
    """

    items: NDArray[np.uint32]
    counts: NDArray[np.uint32]
    begins: Ints
    ends: Ints


class TermPlaces(NamedTuple):
    """Where a term stands: document ``items[i]`` has it at some places.

    items : uint32;  places : uint32;  those of ``items[i]`` are ``bounds[i]`` to
    ``bounds[i + 1]``, increasing; the first token of a text is at place 0, and tokens
    that are no terms are counted too.
    """

    items: NDArray[np.uint32]
    places: NDArray[np.uint32]
    bounds: Ints


class Field(ABC):
    """One field of an index: of one segment, or of several seen as one.

    A field never changes: a commit makes a new one. Statistics are those of the items
    that are alive, exactly as a rebuild without the deleted ones would have them.

    lengths : uint32, tokens of each item, exact, shape (n_items,); deleted items are
    included, and keep their numbers;  alive : which items are not deleted, shape
    (n_items,), or None: all;  n_alive, total_length : those items, and their tokens;
    df, cf : uint32 and int64, in how many items alive each term occurs, and how often,
    shape (n_terms,);  whole : all lists, list ``i`` being term ``i``'s, when they are
    kept decoded;  room : bytes that what is made of the lists may take beside them;
    blob : uint8, all terms by number, a newline after each;  is_sorted : whether they
    are in the order of their bytes.
    """

    lengths: NDArray[np.uint32]
    alive: Bools | None
    n_alive: int
    total_length: int
    df: NDArray[np.uint32]
    cf: Ints
    whole: Lists | None
    room: int
    blob: NDArray[np.uint8]
    is_sorted = False

    @property
    def n_items(self) -> int:
        """Items, deleted ones included."""
        return len(self.lengths)

    @property
    def n_terms(self) -> int:
        """Different terms; their numbers are 0 … n_terms − 1."""
        return len(self.df)

    @cached_property
    def words(self) -> Words:
        """All terms, by number."""
        words = Words(self.blob)
        if len(words) != self.n_terms:
            raise Mistake("terms: one has a newline: give terms without")
        return words

    @abstractmethod
    def number(self, term: str) -> int | None:
        """Return the number of an analysed term; None: no item alive has it."""

    def term(self, number: int) -> str:
        """Return the analysed term of a number."""
        if not 0 <= number < self.n_terms:
            raise IndexError(number)
        return self.words[number].decode(errors="surrogatepass")

    def lists(self, numbers: Ints) -> Lists:
        """Return the postings of some terms, in the order given."""
        if self.whole is None:
            return self.decoded(numbers)
        items, counts, begins, ends = self.whole
        return Lists(items, counts, begins[numbers], ends[numbers])

    def decoded(self, numbers: Ints) -> Lists:
        """Decode the lists of some terms where not all are kept decoded."""
        raise Mistake(
            f"{len(numbers)} lists are not packed in this field: give it whole"
        )

    def places(self, number: int) -> TermPlaces:
        """Return the token positions of a term, for phrases."""
        raise Mistake(f"term {number} has no positions here: index with positions")


#: Bytes behind the last packed one, so that eight can be read from anywhere.
SLACK = 8
_BLOCK = 128
_SLICE = 1 << 17
_LARGEST = 18  # bytes that a number, or a posting, takes at most
_NO_COUNTS = np.empty(0, np.uint32)


def pack_lists(
    values: Array, begins: Ints, ends: Ints, *, postings: bool
) -> Iterator[tuple[slice, NDArray[np.uint8], Ints, Ints]]:
    """Pack lists of numbers below 2⁵⁶, or of postings, some at a time; say which.

    A posting is item · 2³² + count. Yields the numbers of the lists, their bytes one
    behind the other, the bytes of each, and Σ counts of each, empty without postings.

    >>> values = np.array([(3 << 32) + 1, (9 << 32) + 2], np.uint64)
    >>> parts = pack_lists(values, np.array([0]), np.array([2]), postings=True)
    >>> [(sizes.tolist(), totals.tolist()) for _, _, sizes, totals in parts]
    [([3], [3])]
    """
    for part in cut_runs(bounds_of(ends - begins + 1), _SLICE):
        lists = (begins[part], ends[part])
        n, room = len(lists[0]), _LARGEST * int((lists[1] - lists[0]).sum()) + _LARGEST
        content = zeros(room + 8 * n + SLACK, np.uint8)
        sizes, totals = np.empty(n, np.int64), np.empty(n if postings else 0, np.int64)
        used = encode_lists(values, *lists, words_of(content), sizes, totals)
        yield part, content[:used], sizes, totals


def unpack_lists(
    content: Array, starts: Ints, frequencies: Ints, kind: DTypeLike | None = None
) -> Lists:
    """Unpack the lists that begin at some bytes, one behind the other.

    kind : of numbers, uint32 or uint64, which become the items; None: of postings.
    """
    ends = np.cumsum(frequencies, dtype=np.int64)
    begins = ends - frequencies
    total = int(ends[-1]) if len(ends) else 0
    items = zeros(total, kind or np.uint32)
    counts = zeros(total, np.uint32) if kind is None else _NO_COUNTS
    words = words_of(np.asarray(content))
    decode_lists(words, starts, frequencies, begins, items, counts)
    return Lists(items, counts, begins, ends)


class PackedColumn:
    """One long list of numbers, packed as it comes.

    >>> column = PackedColumn()
    >>> content = column.take(np.arange(300)).tolist() + column.rest().tolist()
    >>> reader = ColumnReader(np.array(content, np.uint8), 300)
    >>> reader.read(300)[[0, 17, 299]].tolist()
    [0, 17, 299]
    """

    def __init__(self) -> None:
        self._waiting = np.empty(0, np.uint64)

    def take(self, values: Array) -> NDArray[np.uint8]:
        """Add numbers; return the bytes of all blocks that are full."""
        both = np.concatenate([self._waiting, values.astype(np.uint64)])
        full = len(both) - len(both) % _BLOCK
        self._waiting = both[full:].copy()
        return self._packed(both[:full])

    def rest(self) -> NDArray[np.uint8]:
        """Return the bytes of what is left, and the slack."""
        return np.concatenate(
            [self._packed(self._waiting), np.zeros(SLACK, np.uint8)]
        ).astype(np.uint8)

    def _packed(self, values: NDArray[np.uint64]) -> NDArray[np.uint8]:
        begins, ends = np.zeros(1, np.int64), np.array([len(values)], np.int64)
        ((_, content, _, _),) = pack_lists(values, begins, ends, postings=False)
        return content


class ColumnReader:
    """Reads a column from its beginning, some blocks at a time.

    >>> column = PackedColumn()
    >>> content = np.concatenate([column.take(np.arange(300)), column.rest()])
    >>> reader = ColumnReader(content, 300)
    >>> [len(reader.read(200)) for _ in range(3)]
    [256, 44, 0]
    """

    def __init__(self, content: NDArray[np.uint8], length: int) -> None:
        self._content, self._left, self._at = content, length, 0

    def read(self, length: int) -> Ints:
        """Return the next numbers: at least so many, whole blocks, or all there are."""
        n = min(-(-length // _BLOCK) * _BLOCK, self._left)
        values = np.empty(n, np.uint64)
        if n:
            starts, lengths = np.array([self._at]), np.array([n])
            words = words_of(np.asarray(self._content))
            begins = np.zeros(1, np.int64)
            lists = (starts, lengths, begins, values, _NO_COUNTS)
            self._at = decode_lists(words, *lists)
            self._left -= n
        return values.view(np.int64)


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
    matrix: ArrayLike, terms: Sequence[str], *, alive: ArrayLike | None = None
) -> CountedField:
    """Make a field of counts, one row per item, one column per term.

    alive : which items are not deleted; the statistics are those of these alone.

    >>> field = field_of([[2, 0], [1, 1]], ["ant", "bee"])
    >>> field.df.tolist(), field.cf.tolist(), field.lengths.tolist()
    ([2, 1], [3, 1], [2, 2])
    """
    counts = rows_from(matrix, name="matrix")
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
    bounds = lists.starts[:-1], lists.starts[1:]
    whole = Lists(lists.columns, lists.values.astype(np.uint32), *bounds)
    sizes = lengths.astype(np.uint32), df.astype(np.uint32), cf.astype(np.int64)
    return CountedField(terms, whole, *sizes, living)

"""What a collection is made of: documents, splits of them, and their vocabulary.

A split says which documents are to learn from, and which to judge by.
"""

from __future__ import annotations

from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice, pairwise
from operator import lt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from classmark.arrays import Array, Bools, Ints, Rows, ranges
from classmark.corpus.runs import CharacterRuns
from classmark.problems import Mistake
from classmark.progress import spread
from classmark.storage import pack_strings, unpack_strings
from classmark.text import Analyzer, words
from classmark.validation import Seed, generator


@dataclass(frozen=True, slots=True)
class Document:
    r"""One text with a name.

    ``fields`` keeps its order; ``title`` and ``body`` are the usual two, others
    (creator, abstract, anchor…) are kept as they come.

    >>> Document("r1", {"title": "Bees", "body": "A hive."}).text
    'Bees\nA hive.'
    """

    id: str
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The title, or nothing."""
        return self.fields.get("title", "")

    @property
    def text(self) -> str:
        """All fields, one below the other."""
        return "\n".join(value for value in self.fields.values() if value)


def train_test(n: int, test: float = 0.25, random_state: Seed = 0) -> tuple[Ints, Ints]:
    """Part n documents at random; return the sorted numbers of both parts.

    test : the fraction asked, rounded to whole documents, at least one on each side.

    >>> learn, ask = train_test(8, test=0.25)
    >>> len(learn), len(ask)
    (6, 2)
    """
    if not 0.0 < test < 1.0:
        raise Mistake(f"test is {test!r}: give a fraction between 0 and 1")
    if n < 2:
        raise Mistake(f"n is {n}: at least two documents are needed to part them")
    size = min(max(round(n * test), 1), n - 1)
    order = generator(random_state).permutation(n)
    return np.sort(order[size:]), np.sort(order[:size])


def folds(n: int, k: int = 5, random_state: Seed = 0) -> Iterator[tuple[Ints, Ints]]:
    """Part n documents into k folds; yield (the others, the fold) for each.

    >>> [ask.tolist() for _, ask in folds(5, k=2, random_state=1)]
    [[0, 1, 4], [2, 3]]
    """
    if not 2 <= k <= n:
        raise Mistake(f"k is {k}: give between 2 and the {n} documents there are")
    order = generator(random_state).permutation(n)
    parts = np.array_split(order, k)
    return ((np.delete(np.arange(n), part), np.sort(part)) for part in parts)


def folds_by_arrival(groups: ArrayLike, k: int = 5) -> Iterator[tuple[Ints, Ints]]:
    """Part documents into k folds by when they came; yield (the others, the fold).

    Of each group the first documents are in the first fold and the latest in the last:
    whether all documents came in order of time, or group by group, no fold is without
    documents of a group that has k of them.

    groups : (n,), of each document, in order of arrival.

    >>> [ask.tolist() for _, ask in folds_by_arrival(["a", "a", "a", "b", "b"], k=2)]
    [[0, 1, 3], [2, 4]]
    """
    _, which, sizes = np.unique(
        np.asarray(groups), return_inverse=True, return_counts=True
    )
    n = len(which)
    if not 2 <= k <= n:
        raise Mistake(f"k is {k}: give between 2 and the {n} documents there are")
    by_group = np.argsort(which, kind="stable")
    place = np.empty(n, np.int64)
    place[by_group] = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    order = np.argsort((place + 0.5) / sizes[which], kind="stable")
    parts = np.array_split(order, k)
    return ((np.delete(np.arange(n), part), np.sort(part)) for part in parts)


def cross_validate(
    work: Callable[..., Array],
    tasks: Sequence[tuple[Any, ...]],
    shared: Sequence[Any] = (),
    title: str = "cross-validating",
) -> tuple[Ints, Array]:
    """Do ``work(task, *shared)`` for every task; results in the documents' order.

    tasks : (train, test) of each fold, or (train, test, more), where ``more`` is what
    the work needs besides;  work : a function of a module that learns from ``train``
    and returns an array with one entry for each document of ``test``;  shared, title :
    as for ``spread``, by which the tasks are done.

    Returns the documents tested, increasing, and their entries. A document that several
    tasks test has several entries, in the order of the tasks.

    >>> tasks = list(folds(5, k=2, random_state=1))
    >>> documents, doubled = cross_validate(lambda task: 2 * task[1], tasks)
    >>> documents.tolist(), doubled.tolist()
    ([0, 1, 2, 3, 4], [0, 2, 4, 6, 8])
    """
    results = np.concatenate(spread(work, tasks, shared, title))
    tested = np.concatenate([task[1] for task in tasks])
    order = np.argsort(tested, kind="stable")
    return tested[order], results[order]


class Vocabulary:
    """Sorted terms; the number of a term is its place.

    The terms are one run of UTF-8 bytes, each closed by a newline; ``terms`` and
    ``number`` are made from it when they are first asked for.

    >>> vocabulary = Vocabulary.of(["hive", "bee"])
    >>> vocabulary.numbers(["hive", "wasp"]).tolist(), vocabulary.terms[0]
    ([1, -1], 'bee')
    """

    def __init__(self, blob: NDArray[np.uint8]) -> None:
        self.blob = blob

    @classmethod
    def of(cls, terms: Iterable[str]) -> Vocabulary:
        """Make a vocabulary of terms in any order."""
        run = "".join(f"{term}\n" for term in sorted(set(terms)))
        return cls(np.frombuffer(run.encode(), np.uint8))

    def __len__(self) -> int:
        return self._size

    def __contains__(self, term: object) -> bool:
        return term in self.number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and np.array_equal(self.blob, other.blob)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} terms)"

    @cached_property
    def _size(self) -> int:
        return int(np.count_nonzero(self.blob == ord("\n")))

    @cached_property
    def terms(self) -> list[str]:
        """The terms, sorted."""
        return self.blob.tobytes().decode().split("\n")[:-1]

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of each term."""
        return {term: number for number, term in enumerate(self.terms)}

    def numbers(self, terms: Sequence[str]) -> Ints:
        """Return the number of each term, -1 where it is unknown."""
        number = self.number
        numbers = (number.get(term, -1) for term in terms)
        return np.fromiter(numbers, np.int64, len(terms))

    def take(self, numbers: Iterable[int]) -> Vocabulary:
        """Return the vocabulary of some of the terms."""
        return Vocabulary.of(self.terms[number] for number in numbers)

    def to_arrays(self) -> dict[str, Array]:
        """Return the terms as one run of UTF-8 bytes, and where each ends in it.

        terms : uint8;  term_ends : int64, shape (number of terms,).
        """
        closing = self.blob == ord("\n")
        ends = np.flatnonzero(closing) - np.arange(len(self))
        return {"terms": self.blob[~closing], "term_ends": ends.astype(np.int64)}

    @classmethod
    def from_arrays(cls, terms: NDArray[np.uint8], term_ends: Ints) -> Vocabulary:
        """Read back what ``to_arrays`` gave."""
        vocabulary = cls(np.insert(terms, term_ends, ord("\n")).astype(np.uint8))
        listed = vocabulary.terms
        if not all(map(lt, listed, islice(listed, 1, None))):
            raise Mistake("terms are not sorted, or one is double: save them again")
        return vocabulary


class GrowingVocabulary:
    """Terms numbered as they come.

    >>> growing = GrowingVocabulary()
    >>> growing.numbers(["hive", "", "bee", "hive"]).tolist()
    [0, -1, 1, 0]
    """

    def __init__(self, terms: Iterable[str] = ()) -> None:
        self.number: dict[str, int] = {}
        self.is_closed = False
        for term in terms:
            self.number.setdefault(term, len(self.number))

    def __len__(self) -> int:
        return len(self.number)

    def numbers(self, terms: Sequence[str]) -> Ints:
        """Return the number of each term, a new one where it is new, -1 for ""."""
        number = self.number
        if self.is_closed:
            numbers = (number.get(term, -1) for term in terms)
        else:
            numbers = (number.setdefault(t, len(number)) if t else -1 for t in terms)
        return np.fromiter(numbers, np.int64, len(terms))

    def closed(self) -> GrowingVocabulary:
        """Return a view that shares the terms and adds none: unknown ones have -1.

        >>> GrowingVocabulary(["hive"]).closed().numbers(["bee", "hive"]).tolist()
        [-1, 0]
        """
        view = GrowingVocabulary()
        view.number, view.is_closed = self.number, True
        return view

    def to_arrays(self) -> dict[str, Array]:
        """Return the terms as ``Vocabulary.to_arrays`` does, in the order they came."""
        terms, offsets = pack_strings(list(self.number))
        return {"terms": terms, "term_ends": offsets[1:]}

    @classmethod
    def from_arrays(
        cls, terms: NDArray[np.uint8], term_ends: Ints
    ) -> GrowingVocabulary:
        """Read back what ``to_arrays`` gave."""
        vocabulary = cls(unpack_strings(terms, np.append(0, term_ends)))
        if len(vocabulary) != len(term_ends) or "" in vocabulary.number:
            raise Mistake("terms: one is double or empty: save them again")
        return vocabulary


MEMORABLE = 1 << 15  # tokens


class TokenNumbers:
    """The numbers of the terms of tokens, looked up once for all texts that have them.

    A token's terms do not depend on its neighbours (``Analyzer.terms``). So a text that
    comes alone is counted by its tokens, most of which came before in other texts.

    analysis : what makes terms of texts;  vocabulary : numbers them.

    >>> tokens = TokenNumbers(Analyzer(), GrowingVocabulary(["hive"]))
    >>> tokens.rows(["Bees in hives"], learn=False).columns.tolist()
    [0]
    >>> tokens.rows(["Bees in hives"]).columns.tolist()
    [0, 1]
    """

    def __init__(
        self,
        analysis: Analyzer | CharacterRuns,
        vocabulary: GrowingVocabulary | Vocabulary,
    ) -> None:
        self.analysis, self.vocabulary = analysis, vocabulary
        self._numbers: dict[str, list[int]] = {}
        self._partly: set[str] = set()  # those some of whose terms have no number
        self._size = len(vocabulary)  # when those were looked up

    def rows(self, texts: Sequence[str], *, learn: bool = True) -> Rows:
        """Count the terms of texts; a growing vocabulary gets the new ones (``learn``).

        The numbers of new terms are in the order of the analysis: words, then runs.
        """
        vocabulary = self.vocabulary
        if not learn and isinstance(vocabulary, GrowingVocabulary):
            vocabulary = vocabulary.closed()
        counted = [self._counts(text, vocabulary) for text in texts]
        starts = np.cumsum([0, *(len(each) for each, _ in counted)], dtype=np.int64)
        columns = np.concatenate([np.empty(0, np.uint32), *(c for c, _ in counted)])
        counts = np.concatenate([np.empty(0, np.float32), *(n for _, n in counted)])
        return Rows(starts, columns, counts, len(vocabulary))

    def _counts(
        self, text: str, vocabulary: GrowingVocabulary | Vocabulary
    ) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
        """The terms of a text by number, increasing, and how often each occurs."""
        tokens = words(text)
        self._forget_outdated(tokens, vocabulary)
        numbers_of = self._numbers
        try:
            each = [*map(numbers_of.__getitem__, tokens)]
        except KeyError:
            self._look_up(tokens, numbers_of, vocabulary)
            each = [*map(numbers_of.__getitem__, tokens)]
        numbers = np.array([*chain.from_iterable(each)], np.uint32)
        if isinstance(self.analysis, CharacterRuns):
            across = vocabulary.numbers(self.analysis.across(text))
            known = across[across >= 0].astype(np.uint32)
            numbers = np.concatenate([numbers, known])
        return _counted(numbers)

    def _forget_outdated(
        self, tokens: list[str], vocabulary: GrowingVocabulary | Vocabulary
    ) -> None:
        """Forget tokens that may have more numbers now, or get some here."""
        partly: Iterable[str] = ()
        if self._size != len(vocabulary):
            self._size, partly = len(vocabulary), self._partly
        elif isinstance(vocabulary, GrowingVocabulary) and not vocabulary.is_closed:
            partly = self._partly.intersection(tokens)
        for token in partly:
            self._numbers.pop(token, None)
        if partly:
            self._partly = self._partly.difference(partly)
        if len(self._numbers) > MEMORABLE:
            self._numbers, self._partly = {}, set()

    def _look_up(
        self,
        tokens: Iterable[str],
        numbers_of: dict[str, list[int]],
        vocabulary: GrowingVocabulary | Vocabulary,
    ) -> None:
        """Note the numbers of the terms of new tokens, unknown ones left out."""
        new = [token for token in dict.fromkeys(tokens) if token not in numbers_of]
        of: dict[str, list[int]] = {token: [] for token in new}
        for parts in self._terms_of(new):
            numbers = vocabulary.numbers(list(chain.from_iterable(parts))).tolist()
            each = iter(numbers)
            for token, terms in zip(new, parts, strict=True):
                some = [n for n in islice(each, len(terms)) if n >= 0]
                if len(some) < len(terms):
                    self._partly.add(token)
                of[token] += some
        numbers_of |= of

    def _terms_of(self, tokens: list[str]) -> list[list[list[str]]]:
        """The terms of each token, first as a word, then its runs of characters."""
        analysis = self.analysis
        if not isinstance(analysis, CharacterRuns):
            return [[[term] if term else [] for term in analysis.terms(tokens)]]
        terms = analysis.analyzer.terms(tokens)
        return [[[term] if term else [] for term in terms], analysis.inside(tokens)]


def _counted(
    numbers: NDArray[np.uint32],
) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
    """The different numbers, increasing, and how often each occurs."""
    numbers.sort()
    is_edge = np.ones(len(numbers) + 1, np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=is_edge[1:-1])
    edges = is_edge.nonzero()[0] if len(numbers) else np.zeros(1, np.int64)
    first = edges[:-1]
    return numbers[first], (edges[1:] - first).astype(np.float32)


_WORD = 8
_SLICE = 1 << 14


def join_terms(terms: Collection[str]) -> bytes:
    r"""Write terms to one run of bytes, a newline after each.

    >>> join_terms(["ant", "bee"])
    b'ant\nbee\n'
    """
    try:
        return "\n".join([*terms, ""]).encode(errors="surrogatepass")
    except TypeError as error:
        odd = next(term for term in terms if not isinstance(term, str))
        raise Mistake(f"term {odd!r} is {type(odd).__name__}: give a string") from error


def order_terms(joined: list[bytes]) -> tuple[Vocabulary, Ints]:
    """Make the vocabulary of joined terms, with the number of each (-1 for "").

    The same as ``sorted`` of the set, but most terms are told apart by their first
    sixteen bytes, as two numbers (the order of UTF-8 bytes is that of the characters).
    The list is emptied.

    >>> parts = [join_terms(["hive", "bee"]), join_terms(["", "hive"])]
    >>> vocabulary, numbers = order_terms(parts)
    >>> vocabulary.terms, numbers.tolist()
    (['bee', 'hive'], [1, 0, -1, 1])
    """
    tail = b"\n" * 2 * _WORD
    blob = np.frombuffer(b"".join([*joined, tail]), np.uint8)
    joined.clear()
    ends = np.flatnonzero(blob == ord("\n"))[: -len(tail)]
    starts = np.concatenate([[0], ends[:-1] + 1])[: len(ends)].astype(np.uint32)
    terms = _Terms(blob, starts, (ends - starts).astype(np.uint32))
    del ends
    order, same = terms.sorted()
    numbers = np.full(len(starts), -1, np.int64)
    numbers[order] = np.cumsum(~same) - 1
    return Vocabulary(terms.pick(order[~same])), numbers


class _Terms(NamedTuple):
    """Terms in a run of bytes: where each starts, and how many bytes it has."""

    blob: NDArray[np.uint8]
    starts: NDArray[np.uint32]
    sizes: NDArray[np.uint32]

    def sorted(self) -> tuple[Ints, Bools]:
        """Sort the terms that are not empty; say which are like the one before."""
        which = np.flatnonzero(self.sizes)
        prefixes = [self._prefixes(skip)[which] for skip in (0, _WORD)]
        order = np.lexsort(prefixes[::-1])
        same = np.zeros(len(order), np.bool_)
        same[1:] = True
        for prefix in prefixes:
            in_order = prefix[order]
            same[1:] &= in_order[1:] == in_order[:-1]
        order = which[order]
        self._part_long(order, same)
        return order, same

    def _prefixes(self, skip: int) -> NDArray[np.uint64]:
        """Return eight bytes of each term as a number, the first most significant."""
        words = np.ndarray(len(self.blob) - _WORD + 1, "<u8", self.blob, strides=(1,))
        prefixes = np.empty(len(self.starts), np.uint64)
        for low in range(0, len(self.starts), _SLICE):
            part = slice(low, low + _SLICE)
            word = words[self.starts[part] + skip].byteswap()
            size = self.sizes[part].astype(np.int64)
            unused = np.clip(8 * (_WORD + skip - size), 0, 64)
            shift = np.minimum(unused, 63).astype(np.uint64)
            prefixes[part] = np.where(unused < 64, word >> shift << shift, 0)
        return prefixes

    def _part_long(self, order: Ints, same: Bools) -> None:
        """Sort, in place, the runs that agree in sixteen bytes but may differ after."""
        run = np.cumsum(~same) - 1
        bounds = np.append(np.flatnonzero(~same), len(same))
        shared = same | np.append(same[1:], np.False_)
        long = self.sizes[order] > 2 * _WORD
        for at in np.unique(run[shared & long]):
            low, high = bounds[at], bounds[at + 1]
            pairs = []
            for term in order[low:high].tolist():
                start = self.starts[term]
                end = start + self.sizes[term]
                pairs.append((self.blob[start:end].tobytes(), term))
            pairs.sort()
            order[low:high] = [term for _, term in pairs]
            same[low + 1 : high] = [a[0] == b[0] for a, b in pairwise(pairs)]

    def pick(self, which: Ints) -> NDArray[np.uint8]:
        """Copy some terms, each with its newline, in the order given."""
        starts, sizes = self.starts[which], self.sizes[which]
        runs = [np.empty(0, np.uint8)]
        for low in range(0, len(which), _SLICE):
            begin = starts[low : low + _SLICE].astype(np.int64)
            length = sizes[low : low + _SLICE].astype(np.int64) + 1
            runs.append(self.blob[ranges(begin, length)])
        return np.concatenate(runs)

"""Vocabulary: the terms of a collection, sorted, each with its number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice, pairwise
from operator import lt

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Array, Ints
from classmark.problems import Mistake


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
        found = (number.get(term, -1) for term in terms)
        return np.fromiter(found, np.int64, len(terms))

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
    """Terms numbered as they come, until they are frozen.

    >>> growing = GrowingVocabulary()
    >>> growing.numbers(["hive", "", "bee", "hive"]).tolist()
    [0, -1, 1, 0]
    >>> vocabulary, place = growing.freeze()
    >>> vocabulary.terms, place.tolist()
    (['bee', 'hive'], [1, 0])
    """

    def __init__(self, terms: Iterable[str] = ()) -> None:
        self.number: dict[str, int] = {}
        for term in terms:
            self.number.setdefault(term, len(self.number))

    def __len__(self) -> int:
        return len(self.number)

    def numbers(self, terms: Sequence[str]) -> Ints:
        """Return the number of each term, a new one where it is new, -1 for ""."""
        number = self.number
        found = (number.setdefault(t, len(number)) if t else -1 for t in terms)
        return np.fromiter(found, np.int64, len(terms))

    def closed(self) -> GrowingVocabulary:
        """Return a view that shares the terms and adds none: unknown ones have -1.

        >>> GrowingVocabulary(["hive"]).closed().numbers(["bee", "hive"]).tolist()
        [-1, 0]
        """
        return _ClosedVocabulary(self)

    def freeze(self) -> tuple[Vocabulary, Ints]:
        """Sort: return the vocabulary and, for each old number, the new one."""
        vocabulary = Vocabulary.of(self.number)
        return vocabulary, vocabulary.numbers(list(self.number))

    def to_arrays(self) -> dict[str, Array]:
        """Return the terms as ``Vocabulary.to_arrays`` does, in the order they came."""
        encoded = [term.encode() for term in self.number]
        ends = np.cumsum([len(term) for term in encoded], dtype=np.int64)
        return {
            "terms": np.frombuffer(b"".join(encoded), np.uint8),
            "term_ends": ends,
        }

    @classmethod
    def from_arrays(
        cls, terms: NDArray[np.uint8], term_ends: Ints
    ) -> GrowingVocabulary:
        """Read back what ``to_arrays`` gave."""
        raw = terms.tobytes()
        bounds = pairwise([0, *term_ends.tolist()])
        vocabulary = cls(raw[start:end].decode() for start, end in bounds)
        if len(vocabulary) != len(term_ends) or "" in vocabulary.number:
            raise Mistake("terms: one is double or empty: save them again")
        return vocabulary


class _ClosedVocabulary(GrowingVocabulary):
    """The terms of another, looked up only."""

    def __init__(self, of: GrowingVocabulary) -> None:
        super().__init__()
        self.number = of.number

    def numbers(self, terms: Sequence[str]) -> Ints:
        """Return the number of each term, -1 where it is unknown."""
        number = self.number
        found = (number.get(term, -1) for term in terms)
        return np.fromiter(found, np.int64, len(terms))

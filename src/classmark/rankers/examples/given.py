"""What a query by examples is learned from: examples, the collection, rejections."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats, Ints
from classmark.problems import Mistake
from classmark.randomness import Seed, generator
from classmark.rankers.examples.collection import Collection, some, taken_in
from classmark.sparse import Rows, rows_from, stack


@dataclass(frozen=True, slots=True)
class Given:
    """Documents as rows of one width.

    P : the examples, l of them;  N : documents known not to be wanted;  U : the
    collection, unlabelled, at hand or elsewhere, without rows where only its mean is
    known, or nothing;
    mean : of the collection, (features,), zeros where nothing is known;  known : rows
    of U that are among P or N, which teach nothing as unlabelled ones.
    """

    P: Rows
    N: Rows
    U: Rows | Collection
    mean: Floats
    known: Ints

    @property
    def width(self) -> int:
        """The number of features."""
        return self.P.width

    @property
    def unknown(self) -> int:
        """How many rows of U are unlabelled."""
        return len(self.U) - len(self.known)

    def judged(self) -> Rows:
        """Examples and rejections, one below the other."""
        return stack([self.P, self.N]) if len(self.N) else self.P

    def with_more(self, yes: Rows, no: Rows, known: ArrayLike) -> Given:
        """The same with more examples and rejections."""
        known = np.union1d(self.known, np.asarray(known, np.int64))
        return replace(
            self,
            P=stack([self.P, yes]) if len(yes) else self.P,
            N=stack([self.N, no]) if len(no) else self.N,
            known=_rows_of(self.U, known),
        )


def given(
    P: Any,
    U: Any = None,
    N: Any = None,
    *,
    mean: ArrayLike | None = None,
    known: ArrayLike = (),
) -> Given:
    """Take in matrices of any kind; a ``Mistake`` names the one that does not fit."""
    examples = rows_from(P, name="P")
    if not len(examples):
        raise Mistake("P has no rows: give at least one example")
    if not examples.nnz:
        raise Mistake("P: no example has a feature that is known: give other examples")
    collection = empty(examples) if U is None else taken_in(U, name="U")
    if U is not None and not len(collection):
        raise Mistake(
            "U has no rows: give the collection to be ranked, or leave it out"
        )
    rejected = empty(examples) if N is None else rows_from(N, name="N")
    for name, rows in (("U", collection), ("N", rejected)):
        if rows.width != examples.width:
            raise Mistake(
                f"{name} has {rows.width} columns and P has {examples.width}: make "
                "both with the same vectorizer"
            )
    held = _rows_of(collection, np.unique(np.asarray(known, np.int64)))
    middle = mean_of(collection) if mean is None else np.asarray(mean, np.float64)
    if middle.shape != (examples.width,):
        raise Mistake(f"mean has shape {middle.shape}: give {examples.width} numbers")
    return Given(examples, rejected, collection, middle, held)


def sampled(all_: Given, size: int | None, random_state: Seed) -> Given:
    """The same with a random sample of the unlabelled rows of U, where U is larger."""
    if size is None or all_.unknown <= size:
        return all_
    if size < 1:
        raise Mistake(f"sample is {size}: give how many documents of U to learn from")
    open_ = np.setdiff1d(np.arange(len(all_.U)), all_.known, assume_unique=True)
    chosen = np.sort(generator(random_state).choice(open_, size, replace=False))
    few = some(all_.U, chosen)
    return replace(all_, U=few, mean=mean_of(few), known=all_.known[:0])


def mean_of(rows: Rows | Collection) -> Floats:
    """The mean row, shape (features,).

    >>> mean_of(rows_from([[1.0, 0.0], [3.0, 1.0]])).tolist()
    [2.0, 0.5]
    """
    if isinstance(rows, Collection):
        return rows.mean
    total = np.bincount(rows.columns, rows.values, minlength=rows.width)
    return np.asarray(total / max(len(rows), 1))


def empty(like: Rows) -> Rows:
    """No rows, of the width of another matrix."""
    none = np.empty(0, like.values.dtype)
    return Rows(np.zeros(1, np.int64), np.empty(0, np.uint32), none, like.width)


def _rows_of(U: Rows | Collection, known: Ints) -> Ints:
    if not len(known):
        return known
    if not len(U):
        raise Mistake("known names rows of U, and there is no U: give it")
    if known[0] < 0 or known[-1] >= len(U):
        raise Mistake(f"known: give row numbers of U, from 0 to {len(U) - 1}")
    if len(known) == len(U):
        raise Mistake(
            "every document of U is an example or rejected: nothing is left to learn "
            "from or to find"
        )
    return known

"""Train, test and folds: which documents are learned from, which are asked?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from classmark.arrays import Ints
from classmark.problems import Mistake
from classmark.validation import Seed, generator


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
    return _parted(order, k)


def _parted(order: Ints, k: int) -> Iterator[tuple[Ints, Ints]]:
    for part in np.array_split(order, k):
        others = np.ones(len(order), np.bool_)
        others[part] = False
        yield np.flatnonzero(others), np.sort(part)

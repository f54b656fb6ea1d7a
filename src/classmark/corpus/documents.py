"""Documents, and splits of them: some to learn from, others to judge by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from classmark.arrays import Array, Ints
from classmark.problems import Mistake
from classmark.spreading import spread
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

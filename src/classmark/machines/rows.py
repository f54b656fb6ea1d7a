"""SpreadRows: a collection whose rows lie with workers, and never move.

Weights go out; scores, sums, changes of weights and a few rows that are asked for come
back. What a lost worker had is read or made again by another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats, Ints
from classmark.machines import portion as work
from classmark.machines.ascending import Spread, ascended
from classmark.problems import Mistake
from classmark.rankers.examples.collection import Collection
from classmark.ranking import rank
from classmark.solvers.hinge.problem import Hinges, Solution
from classmark.sparse import Rows, stack, take

if TYPE_CHECKING:
    from classmark.machines.cluster import Machines

T = TypeVar("T")
IDLE, BESIDE = 150 << 20, 1.5  # bytes of a worker without rows; what learning adds


class SpreadRows(Collection):
    """Rows that workers have, part after part, numbered from 0.

    sources : what each part is read or made from (``machines.sources``), one part a
    worker being best. Workers read it now, and keep it until this object is gone.
    rounds : how often all parts were asked something.
    """

    def __init__(self, machines: Machines, sources: Sequence[work.Source]) -> None:
        if not sources:
            raise Mistake("sources: none given: give at least one part of a collection")
        _require_room(machines, sources)
        self._machines, self.rounds = machines, 0
        self._held = machines.hold(work.portion, sources)
        found = self._ask(work.extent)
        widths = {width for _, width, _ in found}
        if len(widths) > 1:
            raise Mistake(
                f"the parts have {', '.join(map(str, sorted(widths)))} columns: make "
                "all with the same vectorizer"
            )
        (self._width,) = widths
        self.sizes = [size for size, _, _ in found]
        self.nnz = sum(values for _, _, values in found)
        self._ends = np.cumsum([0, *self.sizes])

    def __len__(self) -> int:
        return int(self._ends[-1])

    @property
    def width(self) -> int:
        """The number of features."""
        return self._width

    @cached_property
    def mean(self) -> Floats:
        """The mean row, (features,)."""
        sums = self._ask(work.total)
        return np.asarray(sum(sums) / max(len(self), 1))

    def product(self, weights: Floats) -> Floats:
        """The scores of all rows, (rows,): bit for bit those of rows at hand."""
        taken = self._weights(weights)
        return np.concatenate(self._ask(work.score, [taken]))

    def back(self, coefficients: Floats) -> Floats:
        """Σ coefficient · x, (features,)."""
        given = np.asarray(coefficients, np.float64)
        if given.shape != (len(self),):
            raise Mistake(f"coefficients: give {len(self)} numbers, one a row")
        own = self._parted(given)
        return np.asarray(sum(self._ask(work.combine, (), own)))

    def take(self, rows: ArrayLike) -> Rows:
        """A few rows, brought here, in the order given."""
        wanted = np.asarray(rows, np.int64)
        if not len(wanted):
            nothing = np.empty(0, np.float32)
            return Rows(
                np.zeros(1, np.int64), np.empty(0, np.uint32), nothing, self.width
            )
        distinct, places = np.unique(wanted, return_inverse=True)
        own = self._within(distinct, "rows")
        return take(stack(self._ask(work.fetch, (), own)), places)

    def top(
        self, weights: Floats, k: int, hidden: ArrayLike = ()
    ) -> tuple[Ints, Floats]:
        """The best ``k`` rows that are not hidden, ties by number, and their scores."""
        if k < 1:
            raise Mistake(f"k is {k}: ask for at least one row")
        own = self._within(np.unique(np.asarray(hidden, np.int64)), "hidden")
        shared = [self._weights(weights), k]
        found = self._ask(work.best, shared, own)
        pairs = zip(found, self._ends, strict=False)
        items = np.concatenate([numbers + first for (numbers, _), first in pairs])
        scores = np.concatenate([each for _, each in found])
        merged = rank(np.zeros(len(items), np.int64), items, scores)
        return merged.items[:k], merged.scores[:k]

    def ascend(
        self,
        few: Rows,
        hinges: Hinges,
        *,
        duals: Floats,
        weights: Floats | None = None,
        tol: float = 1e-3,
    ) -> Solution:
        """What ``ascend([few, these rows], hinges, …)`` finds, up to ``tol``."""
        over = Spread(self, partial(self._ask, work.step), self._ends)
        return ascended(over, few, hinges, duals=duals, weights=weights, tol=tol)

    def _ask(
        self,
        what: Callable[..., T],
        shared: Sequence[Any] = (),
        own: Sequence[Any] | None = None,
    ) -> list[T]:
        """One round over all parts."""
        self.rounds += 1
        return self._machines.ask(what, self._held, shared, own)

    def _weights(self, weights: Floats) -> Floats:
        given = np.asarray(weights, np.float64)
        if given.shape != (self.width,):
            raise Mistake(f"weights: give {self.width} numbers, one a feature")
        return given

    def _parted(self, each: Floats) -> list[Floats]:
        return np.split(each, self._ends[1:-1])

    def _within(self, rows: Ints, name: str) -> list[Ints]:
        """Sorted row numbers, by part, each part's from 0."""
        if len(rows) and not 0 <= rows[0] <= rows[-1] < len(self):
            raise Mistake(f"{name}: give row numbers from 0 to {len(self) - 1}")
        parts = np.split(rows, np.searchsorted(rows, self._ends[1:-1]))
        each = zip(parts, self._ends, strict=False)
        return [part - first for part, first in each]


def _require_room(machines: Machines, sources: Sequence[work.Source]) -> None:
    """Refuse parts that workers would be killed over."""
    if not machines.memory:
        return
    most = -(-len(sources) // max(machines.workers, 1))
    sizes = sorted(source.size_bytes() for source in sources)
    need = IDLE + BESIDE * sum(sizes[-most:])
    if need > machines.memory:
        raise Mistake(
            f"the collection needs about {need / 1e9:.2g} GB on each of "
            f"{machines.workers} workers, which may take {machines.memory / 1e9:.2g} "
            "GB: use more workers, or give them more memory"
        )

"""Things that workers have in memory, and that never travel.

Each is made on a worker from its description, and used there, round after round. Where
a worker is lost, what it had is made again on another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from distributed import Client, Future

T = TypeVar("T")
SECONDS = 0.5  # after which an answer is thought to be late, and workers are counted


class Thing:
    """``make(task)``; sent elsewhere it is made anew there.

    >>> Thing(abs, -2).value
    2
    """

    def __init__(self, make: Callable[[Any], Any], task: Any) -> None:
        self._make, self._task = make, task
        self.value = make(task)

    def __reduce__(self) -> tuple[Any, ...]:
        return Thing, (self._make, self._task)


class Held:
    """Things by number, and the worker that has each."""

    def __init__(
        self, client: Client, make: Callable[[Any], Any], tasks: Sequence[Any]
    ) -> None:
        self._client, self._make, self._tasks = client, make, list(tasks)
        self._things: dict[int, Future[Any]] = {}
        self._places: dict[int, str] = {}
        self.settle()

    def __len__(self) -> int:
        return len(self._tasks)

    def settle(self) -> list[int]:
        """Put what no worker has on one, evenly; return the numbers of these things."""
        workers = sorted(self._client.scheduler_info(n_workers=-1)["workers"])
        lost = [n for n in range(len(self)) if self._places.get(n) not in workers]
        if not workers:
            return []
        load = dict.fromkeys(workers, 0)
        for number, place in self._places.items():
            if number not in lost:
                load[place] += 1
        for number in lost:
            place = min(workers, key=load.__getitem__)
            load[place] += 1
            self._places[number] = place
            self._things[number] = self._client.submit(
                Thing, self._make, self._tasks[number], workers=[place], pure=False
            )
        return lost

    def use(
        self, number: int, work: Callable[..., Any], arguments: Sequence[Any]
    ) -> Future[Any]:
        """Let the worker that has a thing do some work with it."""
        return self._client.submit(
            _used, self._things[number], work, *arguments,
            workers=[self._places[number]], pure=False,
        )  # fmt: skip

    def answers(
        self, work: Callable[..., T], arguments: Sequence[Sequence[Any]]
    ) -> list[T]:
        """One round: what ``work(thing, *arguments[number])`` gives for each thing."""
        asked = [self.use(n, work, arguments[n]) for n in range(len(self))]
        found: list[T] = []
        while len(found) < len(self):
            future = asked[len(found)]
            try:
                found.append(future.result(timeout=SECONDS))
            except TimeoutError:
                if future.status == "error":
                    raise
                for number in self.settle():
                    asked[number] = self.use(number, work, arguments[number])
        return found


def _used(thing: Thing, work: Callable[..., T], *arguments: Any) -> T:
    return work(thing.value, *arguments)

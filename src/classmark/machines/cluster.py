"""Machines: the workers of a Dask cluster, and how work reaches them.

A task is a function of a module, its arguments, and what all tasks share. Tasks have no
effect but files that are written whole or not at all, so that whatever a lost worker
was doing is done again by another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar
from uuid import uuid4

from classmark.machines.held import Held
from classmark.machines.starting import connected, ended, require_dask, started
from classmark.problems import Mistake

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

T = TypeVar("T")
TRIES = 5  # of a round whose data were lost with the workers that had them
MANNERS = {
    "distributed.admin.large-graph-warning-threshold": "1TB",  # no warning
    "distributed.comm.timeouts.connect": "5s",  # to a worker that is gone: not 30
}


class Machines:
    """Workers that do what they are told, wherever they are.

    ``Machines.local(2)`` starts two processes here; ``Machines.at("dask://host:8786")``
    uses a cluster that is there. Both end with ``close``, or a ``with``.

    workers : how many there are;  memory : the least that a worker may take, in bytes,
    0 where Dask sets no limit;  dashboard : where that of a cluster started here is, if
    it was asked for.
    """

    dashboard: str | None = None

    def __init__(self, client: Client, cluster: LocalCluster | None = None) -> None:
        self._client, self._cluster = client, cluster
        self._wait()
        limits = [each["memory_limit"] or 0 for each in self._workers().values()]
        self.memory = int(min(limits, default=0))

    @classmethod
    def local(
        cls, workers: int = 2, *, memory: int | None = None, dashboard: bool = False
    ) -> Self:
        """Start workers on this machine; ``memory`` is what each may take, in bytes."""
        require_dask()
        from distributed import Client

        with ExitStack() as undone:
            cluster = started(workers, memory, dashboard=dashboard)
            undone.callback(ended, cluster)
            client = Client(cluster, set_as_default=False, direct_to_workers=True)
            undone.callback(client.close)
            found = cls(client, cluster)
            undone.pop_all()
        found.dashboard = cluster.dashboard_link if dashboard else None
        return found

    @classmethod
    def at(cls, address: str) -> Self:
        """Use the workers of a scheduler, as in dask://host:8786 or tls://host:8786."""
        return cls(connected(address))

    @property
    def workers(self) -> int:
        """How many workers there are now."""
        return len(self._workers())

    @property
    def client(self) -> Client:
        """Dask's own client, for what is not offered here."""
        return self._client

    def spread(
        self, work: Callable[..., T], tasks: Sequence[Any], shared: Sequence[Any] = ()
    ) -> Iterator[tuple[int, T]]:
        """Yield each task's number and ``work(task, *shared)``, as they are done.

        Tasks begin in their order: give the longest first.
        """
        left = list(range(len(tasks)))
        for attempt in range(TRIES):
            if not left:
                return
            with self._telling(final=attempt == TRIES - 1):
                for number, result in self._once(work, tasks, left, shared):
                    left.remove(number)
                    yield number, result

    def hold(self, make: Callable[..., Any], tasks: Sequence[Any]) -> Held:
        """Let workers make ``make(task)`` for each task, and keep it in their memory.

        It never travels: what is lost with a worker, or wanted by another, is made
        again from the task. So describe it by names and numbers, not by data.
        """
        with self._telling(final=True):
            return Held(self._client, make, tasks)

    def ask(
        self,
        work: Callable[..., T],
        held: Held,
        shared: Sequence[Any] = (),
        own: Sequence[Any] | None = None,
    ) -> list[T]:
        """One round: ``work(thing, *shared)`` for each thing held, in their order.

        own : one more argument for each thing, after it.
        """
        for attempt in range(TRIES):
            with self._telling(final=attempt == TRIES - 1):
                common = self._sent(shared)
                mine = [() if own is None else (own[at],) for at in range(len(held))]
                return held.answers(work, [(*each, *common) for each in mine])
        raise AssertionError

    def require_folder(self, folder: Path) -> None:
        """Refuse a folder that not every worker sees: results are written there."""
        mark = folder / f".seen-{uuid4().hex}"
        mark.write_bytes(b"")
        try:
            seen = self._client.run(_sees, str(mark.absolute()))
        finally:
            mark.unlink()
        if blind := [worker for worker, found in seen.items() if not found]:
            raise Mistake(
                f"{folder} is not seen by {blind[0]}: give a folder that all machines "
                "have under the same name"
            )

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        self._client.close()
        if self._cluster is not None:
            ended(self._cluster)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _once(
        self,
        work: Callable[..., T],
        tasks: Sequence[Any],
        left: Sequence[int],
        shared: Sequence[Any],
    ) -> Iterator[tuple[int, T]]:
        from distributed import as_completed

        common = self._sent(shared)
        token = uuid4().hex
        futures = [
            self._client.submit(
                _numbered, (number, tasks[number]), work, common,
                key=(f"spread-{token}", number), priority=-place,
            )
            for place, number in enumerate(left)
        ]  # fmt: skip
        try:
            for future in as_completed(futures, loop=self._client.loop):
                yield future.result()
        finally:
            self._client.cancel(futures, force=True)

    def _sent(self, shared: Sequence[Any]) -> list[Any]:
        """What all tasks share, as tasks of their own: the scheduler can repeat them.

        Data that are only scattered are lost with the workers that have them.
        """
        return [self._client.submit(_same, each, pure=False) for each in shared]

    def _workers(self) -> dict[str, Any]:
        found: dict[str, Any] = self._client.scheduler_info(n_workers=-1)["workers"]
        return found

    def _wait(self) -> None:
        from distributed import TimeoutError as LateError

        try:
            self._client.wait_for_workers(1, timeout=30)
        except (LateError, TimeoutError) as problem:
            self.close()
            raise Mistake(
                "the scheduler has no workers: start some (dask worker ADDRESS)"
            ) from problem

    @contextmanager
    def _telling(self, *, final: bool) -> Iterator[None]:
        """Say what was lost; data that were lost with their workers are sent again."""
        from dask import config
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        try:
            with config.set(MANNERS):
                yield
        except KilledWorker as problem:
            raise Mistake(
                "workers died again and again over one task, most likely for want of "
                f"memory ({self._limit()}): give workers more, or smaller parts; what "
                "is done is kept"
            ) from problem
        except (FutureCancelledError, CommClosedError, TimeoutError) as problem:
            if self._client.status != "running" or final:
                raise Mistake(
                    "the scheduler was lost: start it again and repeat the command; "
                    "what is done is kept"
                ) from problem
            self._wait()

    def _limit(self) -> str:
        if not self.memory:
            return "no limit set"
        return f"limit {self.memory / 1e9:.2g} GB"


def _numbered(
    task: tuple[int, Any], work: Callable[..., T], common: Sequence[Any]
) -> tuple[int, T]:
    number, given = task
    return number, work(given, *common)


def _same(thing: T) -> T:
    return thing


def _sees(path: str) -> bool:
    return Path(path).exists()

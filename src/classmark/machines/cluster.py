"""Machines: the workers of a Dask cluster, and how work reaches them.

What is started here listens on loopback alone, speaks TLS with keys made for the
occasion (on a shared machine other users reach loopback, too), and shows no dashboard.

A task is a function of a module, its arguments, and what all tasks share. Tasks have no
effect but files that are written whole or not at all, so that whatever a lost worker
was doing is done again by another.
"""

from __future__ import annotations

import asyncio
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar
from uuid import uuid4

from classmark.problems import MissingExtra, Mistake

if TYPE_CHECKING:
    from concurrent.futures import Future as Call

    from distributed import Client, Future, LocalCluster
    from distributed.security import Security


ADDRESS = re.compile(r"(dask|tcp|tls)://(\[[0-9a-fA-F:.]+\]|[\w.\-]+):(\d{1,5})")
LOOPBACK = "127.0.0.1"
SECONDS = 10  # to wait for a scheduler


def scheduler_address(on: str) -> str:
    """Return the address as Dask writes it.

    ``dask://`` is TLS where certificates are configured, else plain TCP.

    >>> scheduler_address("dask://scheduler:8786")
    'tcp://scheduler:8786'
    """
    from dask import config

    match = ADDRESS.fullmatch(on)
    if match is None or not 0 < int(match[3]) < 1 << 16:
        raise Mistake(
            f"{on!r} is no address of a scheduler: give one as in dask://host:8786, or "
            "tls://host:8786"
        )
    scheme = match[1]
    if scheme == "dask":
        certified = config.get("distributed.comm.tls.ca-file", None)
        scheme = "tls" if certified else "tcp"
    return f"{scheme}://{match[2]}:{match[3]}"


def connected(on: str) -> Client:
    """Connect to a scheduler; certificates are those of Dask's configuration."""
    require_dask()
    from distributed import Client

    address = scheduler_address(on)
    security = _certified(on) if address.startswith("tls") else None
    try:
        return Client(address, security=security, timeout=SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError, RuntimeError) as problem:
        raise Mistake(
            f"no scheduler answers at {on}: start one there (dask scheduler); one with "
            f"certificates answers at tls:// alone, to its own: {problem}"
        ) from problem


def _certified(on: str) -> Security:
    """Refuse TLS without certificates before Dask does: it would deadlock."""
    from distributed.security import Security

    security, context, why = Security(), None, "none are"
    try:
        context = security.get_connection_args("client").get("ssl_context")
    except OSError as problem:
        why = str(problem)
    if context is None:
        raise Mistake(
            f"{on} needs certificates that Dask's configuration names (docs, Machines, "
            f"TLS): {why}"
        )
    return security


def started(
    workers: int, memory: int | None, *, dashboard: bool = False
) -> LocalCluster:
    """Start a scheduler and workers on this machine, a process and a thread each."""
    require_dask()
    from dask import config
    from distributed import LocalCluster
    from distributed.security import Security

    if workers < 1:
        raise Mistake(f"workers is {workers}: start at least one")
    if dashboard and find_spec("bokeh") is None:
        raise Mistake("the dashboard needs bokeh: pip install bokeh, or do without it")
    quiet: dict[str, Any] = {
        # Dask's own: 64 KiB, so that every larger array is mapped and unmapped anew.
        "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 64 << 20,
        "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 32 << 20,
        "distributed.scheduler.work-stealing": False,  # what is held stays
        "distributed.scheduler.active-memory-manager.start": False,
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "1s",  # 20 ms cost every worker 2 %
        "distributed.admin.tick.limit": "1m",
        "distributed.admin.system-monitor.interval": "5s",
        "distributed.worker.preload": [__name__],  # dask_setup
        "distributed.comm.timeouts.connect": "10s",  # to a worker that is gone
    }
    if not dashboard:
        quiet["distributed.scheduler.http.routes"] = []
        quiet["distributed.worker.http.routes"] = []
    shown = {"dashboard": dashboard, "dashboard_address": f"{LOOPBACK}:0"}
    with config.set(quiet):
        return LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host=LOOPBACK,
            protocol="tls",
            security=Security.temporary(),
            scheduler_kwargs=shown,
            memory_limit="auto" if memory is None else memory,
            silence_logs=50,
        )


def dask_setup(_: object) -> None:
    """Let a worker that was started here leave ctrl-C to the command: it is ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def ended(cluster: LocalCluster) -> None:
    """End what was started; a worker that is just starting again cannot be stopped."""
    from distributed.core import Status

    begun = {Status.init, Status.starting}
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and any(
        nanny.process is not None and nanny.process.status in begun
        for nanny in cluster.workers.values()
    ):
        time.sleep(0.05)
    cluster.close()


def require_dask() -> None:
    """Refuse to go on without the packages of the extra."""
    try:
        import cryptography
        import distributed
    except ImportError as problem:
        raise MissingExtra("several machines", "machines") from problem
    del cryptography, distributed


T = TypeVar("T")
LATE = 0.5  # seconds after which workers are counted: some may be gone
PAUSE = 0.05  # seconds before a worker that is lost is called again
LOST = "Worker holding Actor was lost"  # Dask's words, of a worker that came back, too


@dataclass(frozen=True, slots=True)
class Parcel:
    """What travels as one: Dask sends lists and dicts by the element, slowly."""

    contents: Any


class RemoteObject:
    """``make(task)`` in the memory of a worker: an actor of Dask's, which never moves.

    >>> RemoteObject(abs, -2).use(Parcel((pow, (3,))))
    Parcel(contents=8)
    """

    def __init__(self, make: Callable[[Any], Any], task: Any) -> None:
        self._value = make(task)

    def use(self, question: Parcel) -> Parcel:
        """Answer ``(work, arguments)``: ``work(object, *arguments)``."""
        work, arguments = question.contents
        return Parcel(work(self._value, *arguments))


class RemoteObjects:
    """Objects in the memory of workers, by number, and the worker that has each.

    A question goes straight to the worker, past the scheduler's tasks: one message
    there, and one back.
    """

    def __init__(
        self, client: Client, make: Callable[[Any], Any], tasks: Sequence[Any]
    ) -> None:
        self._client, self._make, self._tasks = client, make, list(tasks)
        self._actors: dict[int, Future[Any]] = {}
        self._places: dict[int, tuple[str, str]] = {}  # address, and whose folder
        self.settle()

    def __len__(self) -> int:
        return len(self._tasks)

    def settle(self) -> list[int]:
        """Make lost objects anew, spread evenly, if anywhere; return their numbers."""
        if self._client.status != "running":
            raise _lost()
        there = self._client.scheduler_info(n_workers=-1)["workers"].items()
        workers = sorted((name, each["local_directory"]) for name, each in there)
        lost = [n for n in range(len(self)) if self._places.get(n) not in workers]
        load = dict.fromkeys(workers, 0)
        for number, place in self._places.items():
            if number not in lost:
                load[place] += 1
        for number in lost if workers else ():
            place = min(workers, key=load.__getitem__)
            load[place] += 1
            self._places[number] = place
            self._actors[number] = self._client.submit(
                RemoteObject, self._make, self._tasks[number],
                workers=[place[0]], pure=False, actor=True,
            )  # fmt: skip
        return lost

    def answers(
        self, work: Callable[..., T], arguments: Sequence[Sequence[Any]]
    ) -> list[T]:
        """One round: ``work(object, *arguments[number])`` for each object."""
        calls = [self._call(n, work, arguments[n]) for n in range(len(self))]
        answers: list[T] = []
        while len(answers) < len(self):
            number = len(answers)
            try:
                answer, problem = calls[number].result(timeout=LATE)
                if problem is None:
                    answers.append(answer)
                    continue
            except (OSError, KeyError):  # late, or the worker or the actor is gone
                problem = None
            if problem is not None and str(problem) == LOST:
                self._places.pop(number, None)
            again = {each for each in self.settle() if each >= number}
            if problem is not None and number not in again:
                raise problem
            if calls[number].done():
                again.add(number)
                time.sleep(PAUSE)
            for each in again:
                calls[each].cancel()
                calls[each] = self._call(each, work, arguments[each])
        return answers

    def _call(
        self, number: int, work: Callable[..., T], arguments: Sequence[Any]
    ) -> Call[tuple[T, Exception | None]]:
        """Begin a question: what comes of it is an answer or what was raised there."""
        actor, place = self._actors.get(number), self._places.get(number, ("", ""))
        question = self._asked(actor, place[0], Parcel((work, arguments)))
        loop: Any = self._client.loop
        return asyncio.run_coroutine_threadsafe(question, loop.asyncio_loop)

    async def _asked(
        self, actor: Future[Any] | None, place: str, question: Parcel
    ) -> tuple[Any, Exception | None]:
        from distributed.actor import ProxyRPC
        from distributed.protocol.serialize import to_serialize

        if actor is None:  # there was no worker
            return None, RuntimeError(LOST)
        problem = await actor.exception()
        if actor.cancelled():  # a scheduler was lost, and is there again
            problem = RuntimeError(LOST)
        if problem is not None:
            return None, problem
        direct = self._client.direct_to_workers
        scheduler = self._client.scheduler
        worker = self._client.rpc(place) if direct else ProxyRPC(scheduler, place)
        answer = await worker.actor_execute(
            actor=actor.key, function="use", args=[to_serialize(question)]
        )
        if answer["status"] == "error":
            return None, answer["exception"]
        return answer["result"].contents, None


TRIES = 5  # of a round whose data were lost with the workers that had them
MANNERS = {
    "distributed.admin.large-graph-warning-threshold": "1TB",  # no warning
    "distributed.comm.timeouts.connect": "5s",  # to a worker that is gone: not 30
}


class Machines:
    """The workers of a Dask cluster, local or remote.

    ``Machines.local(2)`` starts two processes here; ``Machines.at("dask://host:8786")``
    uses a cluster that is there. Both end with ``close``, or a ``with``.

    workers : how many there are;  memory : the least that a worker may take, in bytes,
    0 where Dask sets no limit;  dashboard : the address of the dashboard of a cluster
    started here with one, else None;  client : Dask's own.
    """

    dashboard: str | None = None

    def __init__(self, client: Client, cluster: LocalCluster | None = None) -> None:
        self.client, self._cluster = client, cluster
        self._wait()
        limits = [each["memory_limit"] or 0 for each in self._workers().values()]
        self.memory = int(min(limits, default=0))

    @classmethod
    def local(
        cls, workers: int = 2, *, memory: int | None = None, dashboard: bool = False
    ) -> Self:
        """Start workers on this machine; ``memory`` is what each may take, in bytes."""
        with ExitStack() as undone:
            cluster = started(workers, memory, dashboard=dashboard)
            undone.callback(ended, cluster)
            from distributed import Client

            client = Client(cluster, set_as_default=False, direct_to_workers=True)
            undone.callback(client.close)
            machines = cls(client, cluster)
            undone.pop_all()
        machines.dashboard = cluster.dashboard_link if dashboard else None
        return machines

    @classmethod
    def at(cls, address: str) -> Self:
        """Use the workers of a scheduler, as in dask://host:8786 or tls://host:8786."""
        return cls(connected(address))

    @property
    def workers(self) -> int:
        """How many workers there are now."""
        return len(self._workers())

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

    def hold(self, make: Callable[..., Any], tasks: Sequence[Any]) -> RemoteObjects:
        """Make ``make(task)`` for each task on a worker, which keeps it in memory.

        The object is never sent: if its worker is lost, another makes it again from
        the task. So describe it by names and numbers, not by data.
        """
        with self._telling(final=True):
            return RemoteObjects(self.client, make, tasks)

    def ask(
        self,
        work: Callable[..., T],
        objects: RemoteObjects,
        shared: Sequence[Any] = (),
        arguments: Sequence[Any] | None = None,
    ) -> list[T]:
        """One round: ``work(object, *shared)`` for each object, in their order.

        arguments : one more argument for each object, right after it.
        """
        own = [()] * len(objects) if arguments is None else zip(arguments)
        each = [(*first, *shared) for first in own]
        for attempt in range(TRIES):
            with self._telling(final=attempt == TRIES - 1):
                return objects.answers(work, each)
        raise AssertionError

    def require_folder(self, folder: Path) -> None:
        """Refuse a folder that not every worker sees: results are written there."""
        mark = folder / f".seen-{uuid4().hex}"
        mark.write_bytes(b"")
        try:
            seen = self.client.run(_sees, str(mark.absolute()), on_error="return")
        finally:
            mark.unlink()
        lost = [each for each in seen.values() if isinstance(each, Exception)]
        if lost and (len(lost) == len(seen) or not isinstance(lost[0], OSError)):
            raise lost[0]
        if blind := [worker for worker, visible in seen.items() if not visible]:
            raise Mistake(
                f"{folder} is not seen by {blind[0]}: give a folder that all machines "
                "have under the same name"
            )

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        self.client.close()
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
        futures = {
            self.client.submit(
                work, tasks[number], *common,
                key=(f"spread-{token}", number), priority=-place,
            ): number
            for place, number in enumerate(left)
        }  # fmt: skip
        try:
            for future in as_completed(futures, loop=self.client.loop):
                yield futures[future], future.result()
        finally:
            self.client.cancel(list(futures), force=True)

    def _sent(self, shared: Sequence[Any]) -> list[Any]:
        """Submit the shared arguments as tasks, which the scheduler can repeat.

        Scattered data would be lost with the workers that have them.
        """
        return [self.client.submit(_same, each, pure=False) for each in shared]

    def _workers(self) -> dict[str, Any]:
        return dict(self.client.scheduler_info(n_workers=-1)["workers"])

    def _wait(self) -> None:
        from distributed.comm.core import CommClosedError

        try:
            self.client.wait_for_workers(1, timeout=30)
        except TimeoutError as problem:
            self.close()
            raise Mistake(
                "the scheduler has no workers: start some (dask worker ADDRESS)"
            ) from problem
        except CommClosedError as problem:
            raise _lost() from problem

    @contextmanager
    def _telling(self, *, final: bool) -> Iterator[None]:
        """Report lost workers; data lost with them are sent again, unless final."""
        from dask import config
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        try:
            with config.set(MANNERS):
                yield
        except KilledWorker as problem:
            limit = (
                f"limit {self.memory / 1e9:.2g} GB" if self.memory else "no limit set"
            )
            raise Mistake(
                "workers died again and again over one task, most likely for want of "
                f"memory ({limit}): give workers more, or smaller parts; what "
                "is done is kept"
            ) from problem
        except (FutureCancelledError, CommClosedError, TimeoutError) as problem:
            if self.client.status != "running" or final:
                raise _lost() from problem
            self._wait()


def _lost() -> Mistake:
    return Mistake(
        "the scheduler was lost: start it again and repeat the command; what is done "
        "is kept"
    )


def _same(thing: T) -> T:
    return thing


def _sees(path: str) -> bool:
    return Path(path).exists()

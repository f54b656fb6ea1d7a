"""How much is served at once: by the number of files that the process may have open.

A connection is an open file, and so are a thread's two of the store. What the process
may open is shared out when the server starts. Whoever comes beyond is told to come
again (503), or waits to be let in, so that there always is a file left to write to.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import resource
import socket
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from weakref import WeakSet

import h11
import uvicorn
from anyio import to_thread
from starlette.types import Receive, Scope, Send

from classmark.problems import Mistake
from classmark.web.guard.errors import Headers, RefusedRequest, refuse_scope
from classmark.web.guard.limits import Patient

LOG = logging.getLogger("classmark.web")
T = TypeVar("T")
THREADS, FEWEST_THREADS = 40, 4  # that work on requests
CONNECTIONS, FEWEST_CONNECTIONS = 512, 16
PER_THREAD = 3  # open files: the store, its log, and one that is read or written
REFUSED = 16  # connections that are only told to come again
BESIDES = 64  # open files of learning, long work and everything else
QUEUE = 2048  # connections that wait to be let in
AT_A_TIME = 8  # of them are let in before anything else is done
LONG_SILENT = 2.0  # seconds after which a silent connection makes room for another
NOTED = 60.0  # seconds between two lines in the log that say the same
BUSY = "Too many requests come at once, and nothing was done: try again in a moment"
AGAIN = {"Retry-After": "2", "Connection": "close"}


class Capacity(NamedTuple):
    """How much is served at once; ``advice`` : what would let it be more, or "".

    threads : requests that are worked on, half of them whole calls;  connections : that
    are open.
    """

    threads: int = THREADS
    connections: int = CONNECTIONS
    advice: str = ""

    @property
    def lines(self) -> int:
        """How many connections may listen to events; others are left to deciding."""
        return self.connections // 2


def capacity_of(*folders: Path) -> Capacity:
    """Share out what this process may have open, as far as the system lets it.

    folders : the projects that may be open at once.
    """
    besides = sum(BESIDES + _mapped(folder) for folder in folders)
    besides += (len(folders) - 1) * (PER_THREAD - 1) * THREADS
    return shared_out(_open_files(besides + _taken(THREADS, CONNECTIONS)), besides)


def _mapped(folder: Path) -> int:
    """How many arrays stay open: all of the index, and of one model."""
    arrays = Counter(path.parent for path in folder.rglob("*.npy"))
    index = {place for place in arrays if place.is_relative_to(folder / "index")}
    models = [arrays[place] for place in arrays.keys() - index]
    return sum(arrays[place] for place in index) + max(models, default=0)


def shared_out(limit: int, besides: int) -> Capacity:
    """Share out ``limit`` open files, of which ``besides`` are not for requests.

    >>> shared_out(1024, 100)[:2], shared_out(256, 80)[:2]
    ((40, 512), (12, 124))
    """
    most = besides + _taken(THREADS, CONNECTIONS)
    if limit >= most:
        return Capacity()
    least = besides + _taken(FEWEST_THREADS, FEWEST_CONNECTIONS)
    if limit < least:
        raise Mistake(
            f"this process may have {limit} files open at once and needs {least}: "
            f"raise the limit, best to {most} (ulimit -n {most})"
        )
    threads = min(THREADS, max(FEWEST_THREADS, limit // 20))
    connections = limit - besides - _taken(threads, 0)
    if connections < FEWEST_CONNECTIONS:
        threads, connections = FEWEST_THREADS, FEWEST_CONNECTIONS
    connections = min(connections, CONNECTIONS)
    advice = (
        f"Only {limit} files may be open at once: {connections} connections are "
        f"served, {threads} requests at a time. For more: ulimit -n {most}"
    )
    return Capacity(threads, connections, advice)


def _taken(threads: int, connections: int) -> int:
    """How many open files that many threads and connections have."""
    return PER_THREAD * threads + connections + REFUSED


def _open_files(needed: int) -> int:
    """How many files may be open; more, up to the needed, where we may say so."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft == resource.RLIM_INFINITY or soft >= allowed:
        return needed if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return allowed


class Listening(socket.socket):
    """A socket that lets in only so many connections; others wait in its queue."""

    def __init__(self, listening: socket.socket) -> None:
        super().__init__(
            listening.family, listening.type, listening.proto, listening.detach()
        )
        self.most = CONNECTIONS + REFUSED
        self._accepted: WeakSet[socket.socket] = WeakSet()

    def accept(self) -> tuple[socket.socket, Any]:
        """Let one in, or have the event loop ask again in a second."""
        if len(self._accepted) >= self.most:
            still_open = [each for each in self._accepted if each.fileno() >= 0]
            self._accepted = WeakSet(still_open)
            if len(still_open) >= self.most:
                raise OSError(errno.EMFILE, "as many connections are open as may be")
        connection, address = super().accept()
        self._accepted.add(connection)
        return connection, address

    def listen(self, _backlog: int = QUEUE, /) -> None:
        """Let many wait: the event loop names the number that it lets in at a time."""
        super().listen(QUEUE)


class BoundedServer(uvicorn.Server):
    """A server that works on so many requests at once."""

    def __init__(self, config: uvicorn.Config, threads: int) -> None:
        super().__init__(config)
        self.threads, self._noted = threads, -NOTED

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        loop, for_calls = asyncio.get_running_loop(), self.threads // 2
        loop.set_default_executor(ThreadPoolExecutor(for_calls, "call"))
        limiter = to_thread.current_default_thread_limiter()
        limiter.total_tokens = self.threads - for_calls
        loop.set_exception_handler(self._note)
        await super().startup(sockets)

    def _note(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Say in the log, in a line and once a minute, that some wait to be let in."""
        if getattr(context.get("exception"), "errno", 0) != errno.EMFILE:
            loop.default_exception_handler(context)
        elif time.monotonic() - self._noted >= NOTED:
            self._noted = time.monotonic()
            LOG.warning("connections wait to be let in: %s", context["exception"])


async def in_thread(function: Callable[..., T], *args: Any) -> T:
    """Let a thread of those for calls do it: a shorter way than that of pages."""
    run = copy_context().run
    return await asyncio.get_running_loop().run_in_executor(None, run, function, *args)


class Bounded(Patient):
    """HTTP on so many connections at once; on one more, everything is refused.

    One more may come in for a moment: until it says something, or is silent for long.
    """

    def __init__(self, *args: Any, most: int, **named: Any) -> None:
        super().__init__(*args, **named)
        self.most, self.is_beyond, self.served = most, False, self.app

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        self.since = time.monotonic()
        super().connection_made(transport)
        self.is_beyond = len(self.connections) > self.most
        if self.is_beyond:
            self.loop.call_later(LONG_SILENT, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Serve it, if there is room by now or another can be closed for it."""
        if self.is_beyond:
            self.is_beyond = not self._has_room()
            self.app = busy if self.is_beyond else self.served
        super().data_received(data)

    def _has_room(self) -> bool:
        others = [
            each
            for each in self.connections
            if isinstance(each, Bounded)
            and not each.is_beyond
            and not each.transport.is_closing()
        ]
        silent = [each for each in others if each.silent]
        if len(others) >= self.most and silent:
            min(silent, key=lambda each: each.since).transport.close()
        return len(others) < self.most or bool(silent)

    @property
    def silent(self) -> bool:
        """Whether it has been waiting for a request, the first or the next."""
        waits = self.conn.their_state is h11.IDLE or self.conn.states == DONE
        return waits and time.monotonic() - self.since > LONG_SILENT


DONE = {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}


async def busy(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse everything for now."""
    refused = RefusedRequest(503, BUSY, AGAIN)
    await Headers(partial(_refused, refused), secure=False)(scope, receive, send)


async def _refused(
    refused: RefusedRequest, scope: Scope, receive: Receive, send: Send
) -> None:
    await refuse_scope(scope, refused)(scope, receive, send)

"""Requests as an administrator sees them: counted, timed, logged; is all well?"""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import State
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from classmark.problems import Mistake

HEALTH = "/healthz"
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
GONE = 499  # the status that is counted where nobody waited for the answer
OTHER = "other"  # stands for addresses that are no route
ACCESS = logging.getLogger("classmark.access")
LABELS = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Traffic:
    """How many requests there were, by route, and how long their answers took.

    counts : (method, route, status) → requests;  seconds : route → the time of all, and
    how many took at most each of ``BOUNDS``.

    >>> traffic = Traffic()
    >>> traffic.note("GET", "/search", 200, 0.02)
    >>> traffic.counts
    Counter({('GET', '/search', 200): 1})
    """

    def __init__(self) -> None:
        self.began = time.time()
        self.counts: Counter[tuple[str, str, int]] = Counter()
        self.seconds: defaultdict[str, list[float]] = defaultdict(
            lambda: [0.0] * (1 + len(BOUNDS))
        )

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        self.counts[method, route, status] += 1
        times = self.seconds[route]
        times[0] += seconds
        for place, bound in enumerate(BOUNDS, 1):
            times[place] += seconds <= bound

    def lines(self) -> Iterator[str]:
        """The counts in the text format of Prometheus."""
        yield from metric(
            "classmark_requests_total", "counter", "Requests answered.",
            {
                f'{{method="{m}",route="{label(r)}",status="{s}"}}': count
                for (m, r, s), count in sorted(self.counts.items())
            },
        )  # fmt: skip
        name = "classmark_request_seconds"
        yield f"# HELP {name} Time from a request to the end of its answer."
        yield f"# TYPE {name} histogram"
        totals: Counter[str] = Counter()
        for (_, route, _), count in self.counts.items():
            totals[route] += count
        for route, (total, *below) in sorted(self.seconds.items()):
            own = f'route="{label(route)}"'
            for bound, within in zip(BOUNDS, below, strict=True):
                yield f'{name}_bucket{{{own},le="{bound}"}} {within:g}'
            yield f'{name}_bucket{{{own},le="+Inf"}} {totals[route]}'
            yield f"{name}_sum{{{own}}} {total:.6f}"
            yield f"{name}_count{{{own}}} {totals[route]}"


def label(value: str) -> str:
    """A label's value as the text format escapes it."""
    return value.translate(LABELS)


def metric(
    name: str, kind: str, about: str, values: Mapping[str, float]
) -> Iterator[str]:
    """One metric in the text format; values : by labels, "" for none.

    >>> list(metric("documents", "gauge", "In the project.", {"": 7}))
    ['# HELP documents In the project.', '# TYPE documents gauge', 'documents 7']
    """
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values.items():
        yield f"{name}{labels} {value:.15g}"


class Observed:
    """Middleware: count, time and log every request; answer ``/healthz``.

    state : of the application, which has the traffic;  is_well : runs in a thread and
    returns what is wrong, "" where nothing is. Health is answered to everybody and at
    every host name, because balancers ask by address; it says one word.
    """

    def __init__(
        self, app: ASGIApp, *, state: State, is_well: Callable[[], str]
    ) -> None:
        self.app, self.traffic, self.is_well = app, state.traffic, is_well

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and note that it was."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
        elif scope["path"] == HEALTH:
            await self._health(scope, receive, send)
        else:
            await self._noted(scope, receive, send)

    async def _health(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = await run_in_threadpool(self.is_well)
        status = 503 if problem else 200
        answer = JSONResponse({"status": problem or "ok"}, status)
        answer.headers["Cache-Control"] = "no-store"
        await answer(scope, receive, send)

    async def _noted(self, scope: Scope, receive: Receive, send: Send) -> None:
        begin, status = time.perf_counter(), GONE

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, sending)
        finally:
            seconds = time.perf_counter() - begin
            route = getattr(scope.get("route"), "path", OTHER)
            self.traffic.note(scope["method"], route, status, seconds)
            if ACCESS.isEnabledFor(logging.INFO):
                ACCESS.info(access_line(scope, status, seconds))


def access_line(scope: Scope, status: int, seconds: float) -> str:
    """When, from where, who, what, with which outcome and how long; no query, no text.

    >>> scope = {"method": "GET", "raw_path": b"/decide", "client": ("::1", 9)}
    >>> access_line(scope, 200, 0.0123).split(" ", 1)[1]
    '::1 - GET /decide 200 12.3ms'
    """
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    client = scope.get("client") or ("-", 0)
    who = scope.get("state", {}).get("who")
    name = quote(who.name, safe="@") if who else "-"
    raw: bytes = scope.get("raw_path") or quote(scope.get("path", "")).encode()
    path = quote(raw.partition(b"?")[0].decode("latin-1"), safe="/%:@!$&'()*+,;=~")
    what = f"{scope['method']} {path} {status} {1000 * seconds:.1f}ms"
    return f"{now} {client[0]} {name} {what}"


def log_requests(to: str) -> None:
    """Write a line for each request to a file, or to the output for "-".

    A file that is moved away, as programs that rotate logs do, is begun anew.
    """
    handler: logging.Handler
    if to == "-":
        handler = logging.StreamHandler(sys.stdout)
    else:
        try:
            handler = WatchedFileHandler(Path(to), encoding="utf-8")
        except OSError as problem:
            raise Mistake(
                f"--access-log {to} cannot be written ({problem.strerror}): name a "
                "file in a folder that the server may write to, or - for the output"
            ) from problem
    handler.setFormatter(logging.Formatter("%(message)s"))
    ACCESS.handlers = [handler]
    ACCESS.propagate = False
    ACCESS.setLevel(logging.INFO)


def process_lines(traffic: Traffic) -> Iterator[str]:
    """Memory, processor time and start of this process, under their usual names."""
    facts: dict[str, tuple[str, str, Any]] = {
        "process_start_time_seconds": ("gauge", "When it started.", traffic.began),
        "process_cpu_seconds_total": ("counter", "Time used.", time.process_time()),
    }
    statm = Path("/proc/self/statm")
    if statm.exists():
        import resource

        resident = int(statm.read_text().split()[1]) * resource.getpagesize()
        facts["process_resident_memory_bytes"] = ("gauge", "Memory used.", resident)
    for name, (kind, about, value) in facts.items():
        yield from metric(name, kind, about, {"": value})

"""Serve a project: every page and call over one desk, at an address."""

from __future__ import annotations

import errno
import gc
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any, NoReturn

import uvicorn
from fastapi import APIRouter, FastAPI
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles

from classmark import __version__
from classmark.compiling import ALL, DEMO, compile_ahead, compiling_beside, is_compiled
from classmark.problems import Mistake, in_words_of
from classmark.web.guard.auth import Identity, Reader, Sessions
from classmark.web.guard.capacity import (
    AT_A_TIME,
    QUEUE,
    REFUSED,
    Bounded,
    BoundedServer,
    Capacity,
    Listening,
    capacity_of,
)
from classmark.web.guard.errors import LOG, PROGRAMS, Headers, handle_errors
from classmark.web.guard.gate import Doors, Gate, behind, doors_of
from classmark.web.guard.limits import RequestLimits, Tries
from classmark.web.readiness import Readiness, Ready, Stopped
from classmark.web.settings import openapi
from classmark.web.wording import PAGES, Worded
from classmark.workbench.categories.find import finder_of
from classmark.workbench.project import Project
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.people import has_admin

LIVELINESS = 15  # seconds a silent connection is kept
GOODBYE = 3  # seconds that requests in flight have when the server stops
HEADERS = 65_536
LOADING = "loading the ranker"
COMPILING = "compiling its numerical kernels, once per version (about a minute)"
SWITCH = 0.001  # seconds a thread may compute while others wait to answer
FEATURES = (  # the busiest first: a request is compared with every route before its own
    "decide", "inbox", "start", "reports", "taxonomy", "like", "search", "history",
    "progress", "evaluation", "pasted", "files", "settings", "meaning", "rankers",
    "people", "team", "events", "annif",
)  # fmt: skip
ROUTERS = [
    router
    for name in FEATURES
    for router in vars(import_module(f"classmark.web.{name}")).values()
    if isinstance(router, APIRouter)
]


@dataclass(frozen=True, slots=True)
class Entrance:
    """What is said of the way in.

    names : host names browsers use;  certificate, key : files for TLS;  proxy : the
    address of a proxy that speaks TLS for us;  annif : whether Annif's questions are
    answered without a token; None, where only this machine asks and there are no users.
    """

    names: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    proxy: str = ""
    annif: bool | None = None

    @property
    def tls(self) -> bool:
        """Whether we speak TLS ourselves."""
        return self.certificate is not None


def serve_project(
    folder: Path,
    host: str,
    port: int,
    say: Callable[[str], None],
    entrance: Entrance | None = None,
    *,
    or_free: bool = False,
) -> None:
    """Serve the workbench of a project; ``say`` is told the address.

    port : 0 takes a free one;  or_free : another one too, where it is taken.
    """
    entrance = entrance or Entrance()
    _require_files(entrance.certificate, entrance.key)
    with Project(folder) as project:
        doors = doors_of(
            host, port, names=entrance.names, tls=entrance.tls, proxy=entrance.proxy,
            people=has_admin(project.store),
        )  # fmt: skip
    if entrance.annif is not None:
        doors = replace(doors, annif=entrance.annif)
    sys.setswitchinterval(SWITCH)
    capacity = capacity_of(folder)
    with listen(host, port, or_free=or_free) as listening, ExitStack() as opened:
        doors = replace(doors, port=listening.getsockname()[1])
        with _nothing_collected(), in_words_of(PAGES):
            desk = opened.enter_context(Desk(folder, begin=False))
            readiness = Readiness()
            server = new_server(desk, doors, entrance, capacity, readiness)
        listening.most = capacity.connections + REFUSED
        warming = Thread(target=warm_up, args=(desk, server, readiness), name="warming")
        warming.start()
        say(f"Classmark serves {folder} at {address_of(host, doors, entrance)}")
        if capacity.advice:
            say(capacity.advice)
        try:
            with _closing_on_request():
                server.run(sockets=[listening])
        finally:
            server.should_exit = True  # also where it was stopped before it began
            warming.join()


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Opening makes much that stays: it need not be looked through, now or later."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def _closing_on_request() -> Iterator[None]:
    """Let SIGTERM end the program by its own exits: what was learned is saved."""

    def leave(*_: object) -> NoReturn:
        raise SystemExit(0)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def warm_up(desk: Desk, server: uvicorn.Server, readiness: Readiness) -> None:
    """Load what every page needs, compiling what is not compiled; begin to learn."""
    readiness.is_over = lambda: server.should_exit
    with readiness.preparing(LOADING), suppress(Stopped):
        while not server.started and not server.should_exit:
            time.sleep(0.02)
        if not is_compiled(DEMO):
            readiness.doing = COMPILING
            compile_ahead(DEMO, LOG.info)
            readiness.doing = LOADING
        desk.service.warm()
    if server.should_exit:
        return
    desk.background.start()
    try:
        finder_of(desk)
    except Mistake as problem:  # whoever needs it is told
        LOG.warning("not warm yet: %s", problem)
    if not is_compiled(ALL):
        with compiling_beside(ALL):
            while not server.should_exit:
                time.sleep(0.2)


def new_server(
    desk: Desk,
    doors: Doors,
    entrance: Entrance,
    capacity: Capacity | None = None,
    readiness: Readiness | None = None,
) -> uvicorn.Server:
    """A server that listens where it is told to."""
    app, capacity = create_app(desk, doors, readiness), capacity or Capacity()
    protocol: Any = partial(Bounded, most=capacity.connections)
    server = BoundedServer(
        uvicorn.Config(
            behind(app, doors.proxy) if doors.proxy else app,
            http=protocol,
            loop="asyncio",
            ws="none",
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=AT_A_TIME,
            timeout_keep_alive=LIVELINESS,
            timeout_graceful_shutdown=GOODBYE,
            h11_max_incomplete_event_size=HEADERS,
            ssl_certfile=entrance.certificate,
            ssl_keyfile=entrance.key,
        ),
        capacity.threads,
    )
    app.state.most_lines = capacity.lines
    app.state.is_over = lambda: server.should_exit
    return server


def create_app(
    desk: Desk, doors: Doors | None = None, readiness: Readiness | None = None
) -> FastAPI:
    """The workbench over one project; ``doors`` : how it is reached, else locally."""
    doors = doors or Doors()
    app = FastAPI(
        title="Classmark", version=__version__, openapi_url=None, docs_url=None,
        redoc_url=None, telemetry={
            "tracing": False, "metrics": False, "logs": False, "auto_configure": False,
        },
    )  # fmt: skip
    state = app.state
    state.desk, state.doors, state.tries = desk, doors, Tries()
    state.sessions, state.identity = Sessions(), Identity(desk)
    state.open_lines, state.is_over = Counter(), lambda: False  # of events
    state.most_lines = Capacity().lines
    app.mount("/static", StaticFiles(packages=[("classmark.web", "static")]))
    app.add_api_route("/", home, include_in_schema=False)
    app.add_api_route("/openapi.json", openapi, include_in_schema=False)
    for router in ROUTERS:
        documented = router.prefix.startswith(PROGRAMS)
        app.include_router(router, include_in_schema=documented)
    handle_errors(app, secure=doors.secure)
    app.add_middleware(Ready, readiness=readiness or Readiness())
    app.add_middleware(
        Gate, doors=doors, sessions=state.sessions, identity=state.identity
    )
    app.add_middleware(Worded)
    app.add_middleware(RequestLimits)
    app.add_middleware(Headers, secure=doors.secure)
    return app


async def home(_: Reader) -> RedirectResponse:
    """Go to the next document."""
    return RedirectResponse("/decide", 303)


def address_of(host: str, doors: Doors, entrance: Entrance) -> str:
    """Where a browser goes; the code stands behind #, which browsers send to nobody.

    >>> address_of("127.0.0.1", Doors(code="c0de", port=8123), Entrance())
    'http://127.0.0.1:8123/enter#c0de'
    """
    code = f"enter#{doors.code}" if doors.code else ""
    if doors.proxy:
        return f"https://{min(doors.names)}/{code}"
    scheme = "https" if entrance.tls else "http"
    name = min(entrance.names, default=f"[{host}]" if ":" in host else host)
    return f"{scheme}://{name}:{doors.port}/{code}"


def listen(host: str, port: int, *, or_free: bool = False) -> Listening:
    """Listen at an address, so that a taken port is said at once."""
    if not 0 <= port <= 65_535:
        raise Mistake(f"--port {port} is no port: give a number from 0 to 65535")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=QUEUE)
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE and or_free:
            return listen(host, 0)
        if problem.errno == errno.EADDRINUSE:
            raise Mistake(
                f"port {port} of {host} is taken: choose another with --port, "
                "or --port 0 for a free one"
            ) from problem
        raise Mistake(
            f"cannot listen at {host}, port {port} ({problem.strerror}): give an "
            "address of this machine and a port that you may use"
        ) from problem
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # for who comes in
    return Listening(listening)


def _require_files(certificate: Path | None, key: Path | None) -> None:
    """Refuse files that TLS cannot use, before anybody waits for an answer."""
    import ssl

    if (certificate is None) is not (key is None):
        raise Mistake("TLS needs both: give --certificate and --key")
    if certificate is None or key is None:
        return
    for path in (certificate, key):
        if not path.is_file():
            raise Mistake(f"{path} is not a file: give a certificate and key in PEM")

    def passphrase() -> NoReturn:
        raise Mistake(f"{key} asks for a passphrase: give a key without one")

    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key, passphrase)
    except (ssl.SSLError, OSError) as problem:
        raise Mistake(
            f"{certificate} and {key} cannot be used for TLS ({problem}): give a "
            "certificate and its own key, both in PEM"
        ) from problem

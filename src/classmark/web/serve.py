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
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, NoReturn

import uvicorn
from fastapi import APIRouter, FastAPI
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from classmark import __version__
from classmark.compiling import ALL, DEMO, compile_ahead, compiling_beside, is_compiled
from classmark.language import N_
from classmark.problems import Mistake, in_words_of
from classmark.web.fields import WholeCalls
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
from classmark.web.guard.errors import (
    LOG,
    PROGRAMS,
    Headers,
    handle_errors,
    warm,
)
from classmark.web.guard.gate import Doors, Gate, behind, doors_of
from classmark.web.guard.limits import RequestLimits, Tries
from classmark.web.guard.traffic import Observed, Traffic, log_requests
from classmark.web.readiness import Readiness, Ready, Stopped
from classmark.web.render import PAGES as BAR
from classmark.web.settings import openapi
from classmark.web.wording import PAGES, Worded
from classmark.workbench.categories.browse import warm_tree
from classmark.workbench.categories.find import finder_of
from classmark.workbench.project import Project
from classmark.workbench.projects import Projects
from classmark.workbench.search.desk_search import warm_index
from classmark.workbench.settings import FILE
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.people import has_admin

LIVELINESS = 15  # seconds a silent connection is kept
GOODBYE = 3  # seconds that requests in flight have when the server stops
HEADERS = 65_536
LOADING = N_("The ranker is being loaded.")
COMPILING = N_(
    "The numerical kernels are being compiled, once per version; this takes about a "
    "minute."
)
SWITCH = 0.001  # seconds a thread may compute while others wait to answer
FEATURES = (  # the busiest first: a request is compared with every route before its own
    "decide", "inbox", "start", "reports", "taxonomy", "like", "search", "history",
    "progress", "evaluation", "pasted", "files", "settings", "meaning", "rankers",
    "people", "team", "events", "metrics", "annif",
)  # fmt: skip


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
    access_log: str = ""

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
    if not (folder / FILE).exists() and folder.is_dir() and Projects(folder).names():
        raise Mistake(f"{folder} holds projects: serve all of them with --projects")
    with Project(folder) as project:
        people = has_admin(project.store)

    def open_project(doors: Doors, closed_after: ExitStack) -> Opened:
        desk, readiness = (
            closed_after.enter_context(Desk(folder, begin=False)),
            Readiness(),
        )
        app = create_app(desk, doors, readiness)
        return app, app, lambda server: warm_server(desk, server, readiness)

    place = Place(folder, host, port, capacity_of(folder), people, or_free)
    serve(place, open_project, say, entrance or Entrance())


class Place(NamedTuple):
    """What is served, and where.

    people : whether there is an admin who could log in;  or_free : another port, too,
    where it is taken.
    """

    folder: Path
    host: str
    port: int
    capacity: Capacity
    people: bool
    or_free: bool


Opened = tuple[FastAPI, ASGIApp, Callable[[uvicorn.Server], None]]


def serve(
    place: Place,
    open_app: Callable[[Doors, ExitStack], Opened],
    say: Callable[[str], None],
    entrance: Entrance,
) -> None:
    """Serve an application until the process is told to end.

    open_app : makes it: the application with its state, what requests come to, and what
    warms it up in a thread.
    """
    _require_files(entrance.certificate, entrance.key)
    folder, host, port, capacity, people, or_free = place
    doors = doors_of(
        host, port, names=entrance.names, tls=entrance.tls, proxy=entrance.proxy,
        people=people,
    )  # fmt: skip
    if entrance.annif is not None:
        doors = replace(doors, annif=entrance.annif)
    if entrance.access_log:
        log_requests(entrance.access_log)
    sys.setswitchinterval(SWITCH)
    with listen(host, port, or_free=or_free) as listening, ExitStack() as opened:
        doors = replace(doors, port=listening.getsockname()[1])
        with _nothing_collected(), in_words_of(PAGES):
            app, entry, warm = open_app(doors, opened)
            server = new_server(app, entry, entrance, capacity)
        listening.most = capacity.connections + REFUSED
        warming = Thread(target=warm, args=(server,), name="warming")
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


def warm_server(desk: Desk, server: uvicorn.Server, readiness: Readiness) -> None:
    """Warm up as soon as the server listens, then compile what only some work needs."""

    def is_over() -> bool:
        return server.should_exit

    with readiness.preparing(LOADING):
        while not server.started and not is_over():
            time.sleep(0.02)
    warm_up(desk, readiness, is_over)
    compile_rest(is_over)


def compile_rest(is_over: Callable[[], bool]) -> None:
    """Compile every kernel that is not compiled, beside what is served."""
    if not is_over() and not is_compiled(ALL):
        with compiling_beside(ALL):
            while not is_over():
                time.sleep(0.2)


def warm_up(desk: Desk, readiness: Readiness, is_over: Callable[[], bool]) -> None:
    """Load what every page needs, compiling what is not compiled; begin to learn."""
    readiness.is_over = is_over
    try:
        with readiness.preparing(LOADING), suppress(Stopped):
            if not is_compiled(DEMO):
                readiness.doing = COMPILING
                compile_ahead(DEMO, LOG.info)
                readiness.doing = LOADING
            desk.service.warm()
    finally:  # decisions are learned whatever could not be loaded ahead
        if not is_over():
            desk.background.start()
    if is_over():
        return
    warm(*(partial(step, desk) for step in (finder_of, warm_tree, warm_index)))


def new_server(
    app: FastAPI, entry: ASGIApp, entrance: Entrance, capacity: Capacity | None = None
) -> uvicorn.Server:
    """A server of an application that listens where it is told to.

    entry : what requests come to: the application, or what parts them among several.
    """
    doors, capacity = app.state.doors, capacity or Capacity()
    protocol: Any = partial(Bounded, most=capacity.connections)
    server = BoundedServer(
        uvicorn.Config(
            behind(entry, doors.proxy) if doors.proxy else entry,
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
    app = new_app(desk, doors or Doors(), FEATURES, readiness or Readiness())
    app.add_api_route("/", home, include_in_schema=False)
    app.add_middleware(Observed, state=app.state, is_well=partial(health, app))
    return app


def new_app(
    desk: Desk,
    doors: Doors,
    features: tuple[str, ...],
    readiness: Readiness,
    **shared: Any,
) -> FastAPI:
    """An application with the pages and calls of some features, behind its gate.

    shared : what of its state is another application's.
    """
    app = FastAPI(
        title="Classmark", version=__version__, openapi_url=None, docs_url=None,
        redoc_url=None, telemetry={
            "tracing": False, "metrics": False, "logs": False, "auto_configure": False,
        },
    )  # fmt: skip
    state = app.state
    if doors.secure and not doors.mark:
        doors = replace(doors, mark=desk.presence.mark)
    state.desk, state.doors, state.tries = desk, doors, Tries(desk.presence)
    state.sessions = Sessions(desk.presence)
    state.identity = Identity(lambda: nullcontext(desk.store), code=doors.code)
    state.pages, state.tally, state.accounts = BAR, desk.tally, None
    state.open_lines, state.is_over = Counter(), lambda: False  # of events
    state.most_lines, state.traffic = Capacity().lines, Traffic()
    state.prefix, state.readiness = "", readiness
    for name, value in shared.items():
        setattr(state, name, value)
    app.mount("/static", StaticFiles(packages=[("classmark.web", "static")]))
    app.add_api_route("/openapi.json", openapi, include_in_schema=False)
    app.router.routes.extend(routes_of(features))
    handle_errors(app, secure=doors.secure)
    app.add_middleware(Ready, readiness=readiness)
    app.add_middleware(Gate, state=state)
    app.add_middleware(RequestLimits)
    app.add_middleware(Worded)
    app.add_middleware(Headers, secure=doors.secure)
    return app


def health(app: FastAPI) -> str:
    """What keeps the server from working, in a word; "" where nothing does."""
    if app.state.is_over():
        return "stopping"
    if not app.state.readiness.is_ready:
        return "starting"
    try:
        app.state.desk.store.last_event("imported")
    except (Mistake, OSError) as problem:
        LOG.warning("not healthy: %s", problem)
        return "unavailable"
    return ""


@cache
def routes_of(features: tuple[str, ...]) -> list[BaseRoute]:
    """The routes of some features, in their order; built once for all applications."""
    built = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    modules = (import_module(f"classmark.web.{name}") for name in features)
    routers = [
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, APIRouter)
    ]
    for router in routers:
        documented = router.prefix.startswith(PROGRAMS)
        built.include_router(router, include_in_schema=documented)
    return [WholeCalls(routers), *built.router.routes]


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

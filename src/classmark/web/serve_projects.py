"""Serve the projects of a folder: each under its own addresses, opened when visited."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event, Lock, RLock, Thread
from typing import Any
from urllib.parse import quote

import uvicorn
from fastapi import FastAPI
from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders, State
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from classmark.language import N_, _, ngettext
from classmark.problems import Mistake, in_words_of
from classmark.web import serve
from classmark.web.guard.auth import Members, Who
from classmark.web.guard.capacity import Capacity, capacity_of
from classmark.web.guard.errors import (
    Headers,
    RefusedRequest,
    refuse_scope,
)
from classmark.web.guard.gate import Doors, Gate
from classmark.web.guard.traffic import Observed
from classmark.web.readiness import Readiness, asks_for_page, starting_page
from classmark.web.render import PROJECT, outside, under
from classmark.web.wording import PAGES, worded_for
from classmark.workbench.project import Project
from classmark.workbench.projects import Projects, ProjectSummary
from classmark.workbench.store.store import Store
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.people import has_admin

LOG = logging.getLogger("classmark.web")
MOST_OPEN = 8  # projects at once
IDLE = 1800.0  # seconds without a request after which a project is closed
LOOK = 5.0  # seconds between two looks at what is idle
PATIENCE = 0.8  # seconds that a page waits before it says that its project opens
TO_END = 5.0  # seconds that requests have to end when their project is to be closed
FEATURES = ("projects", "people")  # of the server itself
BAR = ((N_("Projects"), "/projects"), (N_("Settings"), "/settings/me"))
EVENTS = "/api/v1/events"
FULL = N_(
    "The server cannot open another project now, as all that are open are in use: try "
    "again in a moment"
)
ARCHIVED = N_("This project is archived: an admin of the server can bring it back")
CLOSED = N_("This project was closed, as nobody used it: open one of its pages")
OPENING = N_("The project is being opened.")


@dataclass(eq=False)
class OpenProject:
    """A project that is open.

    requests, lines : how many are worked on, and how many listen to events;  used :
    when the last one came;  over : whether it is being closed.
    """

    desk: Desk
    requests: int = 0
    lines: int = 0
    used: float = field(default_factory=time.monotonic)
    over: bool = False
    app: FastAPI | None = None
    warming: Thread | None = None

    @property
    def is_free(self) -> bool:
        """Whether nobody would notice that it is closed."""
        return self.requests == 0 and not self.desk.jobs.running()


class OpenProjects:
    """The projects of a folder, as an application; each is opened when it is visited.

    projects : all of them;  app : the server's own pages;  most : open at once;  open :
    those that are, by name.
    Whoever has no role in a project is answered as if it were not there.
    """

    def __init__(self, projects: Projects, app: FastAPI, most: int = MOST_OPEN) -> None:
        self.projects, self.app, self.most = projects, app, most
        self.open: dict[str, OpenProject] = {}
        self._opening: dict[str, asyncio.Future[None]] = {}
        self._gates: dict[str, Gate] = {}
        self._changing, self._counting = RLock(), Lock()  # opened and closed; counted
        self._end = Event()
        app.state.projects = self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer: as a project, or as the server."""
        path = scope.get("path", "")
        name, _slash, rest = path.removeprefix(PROJECT).partition("/")
        who = None
        if scope["type"] == "http" and path.startswith(PROJECT):
            if name in self.open:
                who = self.who(Request(scope), name)
            else:
                who = await run_in_threadpool(self.who, Request(scope), name)
        if who is None:
            await self.app(scope, receive, send)
            return
        raw = quote(f"/{rest}").encode()
        inner = {**scope, "path": f"/{rest}", "raw_path": raw, "state": {}}
        in_words = worded_for(inner, lambda: self.app.state.desk.settings.language)
        with under(PROJECT + quote(name, safe="")), in_words:
            try:
                await self._pass_on(name, inner, receive, _sending(send))
            except RefusedRequest as refused:
                await self._answer(refuse_scope(inner, refused))(inner, receive, send)
            finally:  # for the log of requests
                scope.update({k: inner[k] for k in ("route", "state") if k in inner})

    def who(self, request: Request, name: str) -> Who | None:
        """Who asks, if there is a project of this name and they have a role in it."""
        if not self.projects.has(name):
            return None
        with suppress(Mistake):  # damaged: an admin of the server needs no role in it
            return self._gate(name).who(request)
        return None

    def visible(self, request: Request) -> list[ProjectSummary]:
        """The projects that somebody may enter, or bring back, by title."""
        found = self.projects.summaries()
        return [each for each in found if self.who(request, each.name) is not None]

    def _answer(self, page: ASGIApp) -> ASGIApp:
        return Headers(page, secure=self.app.state.doors.secure)

    def _gate(self, name: str) -> Gate:
        """What knows who may enter a project: by the sessions of the server."""
        if name not in self._gates:
            state = self.app.state
            members = Members(state.identity, lambda: self._reading(name))
            shared = {"doors": state.doors, "sessions": state.sessions}
            self._gates[name] = Gate(
                self.app, state=State(shared | {"identity": members})
            )
        return self._gates[name]

    @contextmanager
    def _reading(self, name: str) -> Iterator[Store]:
        """The store of a project, open or not, to look something up."""
        opened = self.open.get(name)
        if opened is not None and not opened.over:
            yield opened.desk.store
            return
        with Project(self.projects.place(name)) as project:
            yield project.store

    async def _pass_on(
        self, name: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Let a project answer; one that is not open yet is opened for it."""
        listens = scope["path"] == EVENTS
        opened = self._entered(name, listens=listens)
        if opened is None and listens:  # a page that was left open opens nothing
            raise RefusedRequest(503, CLOSED)
        if opened is None:
            patience = PATIENCE if asks_for_page(scope) else None
            opened = await self._when_open(name, patience)
        if opened is None:
            readiness = Readiness()
            readiness.doing = OPENING
            await self._answer(starting_page(scope, readiness))(scope, receive, send)
            return
        try:
            assert opened.app is not None  # noqa: S101 - set before it is found
            await opened.app(scope, receive, send)
        finally:
            self._leave(opened, listens=listens)

    async def _when_open(self, name: str, patience: float | None) -> OpenProject | None:
        """A project that is opened, with one more request; None: not in time."""
        while True:
            opening = self._opening.get(name)
            if opening is None:
                opening = asyncio.ensure_future(
                    run_in_threadpool(self._make_open, name)
                )
                self._opening[name] = opening
                opening.add_done_callback(lambda done: self._opened(name, done))
            await asyncio.wait({opening}, timeout=patience)
            if not opening.done():
                return None
            opening.result()
            if (opened := self._entered(name)) is not None:
                return opened

    def _opened(self, name: str, opening: asyncio.Future[None]) -> None:
        del self._opening[name]
        if not opening.cancelled() and (problem := opening.exception()) is not None:
            LOG.warning("%s is not opened: %s", name, problem)

    def _entered(self, name: str, *, listens: bool = False) -> OpenProject | None:
        """An open project, with one more request; None: it is not open."""
        with self._counting:
            opened = self.open.get(name)
            if opened is None or opened.over:
                return None
            opened.requests += not listens
            opened.lines += listens
            opened.used = time.monotonic()
        if self.projects.is_archived(name):  # by another program
            self._leave(opened, listens=listens)
            raise RefusedRequest(403, ARCHIVED)
        return opened

    def _leave(self, opened: OpenProject, *, listens: bool = False) -> None:
        with self._counting:
            opened.requests -= not listens
            opened.lines -= listens
            opened.used = time.monotonic()

    def _make_open(self, name: str) -> None:
        """Open a project, unless somebody else has done so meanwhile."""
        with self._changing, in_words_of(PAGES):
            if name in self.open:
                return
            try:
                if self.projects.is_archived(name):
                    raise RefusedRequest(403, ARCHIVED)
                self._make_room()
                desk = Desk(self.projects.place(name), begin=False)
            except (Mistake, OSError) as problem:
                raise RefusedRequest(503, str(problem)) from problem
            opened = OpenProject(desk)
            self._start(name, opened)
            self.open[name] = opened

    def _start(self, name: str, opened: OpenProject) -> None:
        """Make a project's own application, and begin to warm it up."""
        readiness, server = Readiness(), self.app.state

        def is_over() -> bool:
            return opened.over or bool(server.is_over())

        opened.app = serve.new_app(
            opened.desk, server.doors, serve.FEATURES, readiness,
            sessions=server.sessions, identity=self._gate(name).identity,
            tries=server.tries, accounts=server.desk, open_lines=server.open_lines,
            most_lines=server.most_lines, is_over=is_over, traffic=server.traffic,
            prefix=PROJECT + quote(name, safe=""),
        )  # fmt: skip
        opened.app.add_api_route("/", serve.home, include_in_schema=False)
        opened.warming = Thread(
            target=serve.warm_up, args=(opened.desk, readiness, is_over),
            name=f"warming {name}",
        )  # fmt: skip
        opened.warming.start()

    def _make_room(self) -> None:
        """Close the project that was not used for longest, if no more may be open."""
        if self._end.is_set():
            raise RefusedRequest(503, FULL)
        while len(self.open) >= self.most:
            by_use = sorted(self.open, key=lambda name: self.open[name].used)
            if not any(map(self.close, by_use)):
                raise RefusedRequest(503, FULL, {"Retry-After": "5"})

    def close(self, name: str, patience: float = 0.0, *, at_once: bool = False) -> bool:
        """Close a project, unless it is in use for longer than ``patience``.

        at_once : even then.
        """
        with self._changing:
            opened = self.open.get(name)
            if opened is None:
                return True
            with self._counting:
                opened.over = at_once or not opened.desk.jobs.running()
                opened.over &= at_once or opened.is_free or patience > 0
            until = time.monotonic() + patience
            while opened.over and not (at_once or opened.is_free):
                opened.over = time.monotonic() < until
                time.sleep(0.02)
            if opened.over:
                if opened.warming is not None:
                    opened.warming.join()
                try:
                    opened.desk.close()
                finally:
                    del self.open[name]
            return opened.over

    @contextmanager
    def closed(self, name: str) -> Iterator[None]:
        """Keep a project closed while something is done to it as a whole."""
        with self._changing:
            if not self.close(name, TO_END):
                busy = _("%(name)s has jobs running: try again when they have ended")
                raise Mistake(busy % {"name": name})
            yield

    def rename(self, name: str, title: str, who: str) -> None:
        """Call a project otherwise, open or not."""
        with self._changing:
            opened = self.open.get(name)
            self.projects.rename(name, title, who)
            if opened is not None:
                opened.desk.look_again()

    def watch(self) -> None:
        """Close what is idle, until the end."""
        while not self._end.wait(LOOK):
            self.close_idle()

    def close_idle(self) -> None:
        """Close what nobody has used for long, and nobody listens to."""
        for name, opened in list(self.open.items()):
            if not opened.lines and time.monotonic() - opened.used > IDLE:
                self.close(name)

    def close_all(self) -> None:
        """Close every project, and open none any more."""
        self._end.set()
        for name in list(self.open):
            self.close(name, at_once=True)


def _sending(send: Send) -> Send:
    """Send on, with the addresses of redirects as a browser has to ask for them."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name in ("location", "hx-redirect"):
                if name in headers:
                    headers[name] = outside(headers[name])
        await send(message)

    return sending


def create_projects_app(
    projects: Projects, desk: Desk, doors: Doors | None = None, most: int = MOST_OPEN
) -> OpenProjects:
    """The pages of the server over a folder, and the projects behind them.

    desk : over the server's own store, which has the accounts.
    """

    def tally() -> str:
        count = len(projects.names())
        return ngettext("%(n)s project", "%(n)s projects", count)

    doors = replace(doors or Doors(), annif=False)
    bar: dict[str, Any] = {"pages": BAR, "tally": tally}
    app = serve.new_app(desk, doors, FEATURES, Readiness(), **bar)
    return OpenProjects(projects, app, most)


def serve_projects(
    folder: Path,
    host: str,
    port: int,
    say: Callable[[str], None],
    entrance: serve.Entrance | None = None,
) -> None:
    """Serve every project of a folder; ``say`` is told the address."""
    entrance = entrance or serve.Entrance()
    if entrance.annif:
        raise Mistake(
            "--annif answers whoever reaches the server, and these projects are only "
            "for those with a role in them: make a token for Annif's calls instead"
        )
    projects = Projects(folder)
    capacity, most = share_out(projects)
    with Project(projects.server) as server:
        people = has_admin(server.store)

    def open_projects(doors: Doors, closed_after: ExitStack) -> serve.Opened:
        desk = closed_after.enter_context(Desk(projects.server, begin=False))
        opened = create_projects_app(projects, desk, doors, most)
        closed_after.callback(opened.close_all)

        def warm(server: uvicorn.Server) -> None:
            Thread(
                target=opened.watch, name="closing what is idle", daemon=True
            ).start()
            projects.summaries()  # so that the first look at the list is quick
            serve.compile_rest(lambda: server.should_exit)

        well = partial(serve.health, opened.app)
        observed = Observed(opened, state=opened.app.state, is_well=well)
        return opened.app, observed, warm

    place = serve.Place(folder, host, port, capacity, people, or_free=False)
    serve.serve(place, open_projects, say, entrance)


def share_out(projects: Projects) -> tuple[Capacity, int]:
    """What is served at once, and how many projects may be open meanwhile."""
    folders = [projects.place(name) for name in projects.names()]
    folders += [projects.server] * (MOST_OPEN - len(folders))
    for most in range(MOST_OPEN, 1, -1):
        with suppress(Mistake):
            capacity = capacity_of(*folders[:most], projects.server)
            if not capacity.advice:
                return capacity, most
    return capacity_of(folders[0], projects.server), 1

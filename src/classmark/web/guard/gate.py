"""Gate: every request passes here; nobody unknown goes further than the door."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING

from starlette.requests import cookie_parser

from classmark.problems import DamagedFolder
from classmark.web.guard.answering import answer_refused, ask_to_log_in
from classmark.web.guard.origins import SAFE, check_host, check_origin
from classmark.web.guard.refusing import Refused
from classmark.web.guard.tokens_in_forms import check_token
from classmark.web.people import Who

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from classmark.web.guard.doors import Doors
    from classmark.web.guard.identity import Identity
    from classmark.web.guard.sessions import Session, Sessions

DOOR, FILES, ANNIF = "/enter", "/static/", "/v1/"


class Gate:
    """Check name and origin, find out who asks, and let in those who are known."""

    def __init__(
        self, app: ASGIApp, *, doors: Doors, sessions: Sessions, identity: Identity
    ) -> None:
        self.app, self.doors = app, doors
        self.sessions, self.identity = sessions, identity

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it here."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            receive = await self._let_in(scope, receive)
        except DamagedFolder as problem:
            refused = Refused(503, str(problem))
            await answer_refused(scope, refused)(scope, receive, send)
            return
        except Refused as refused:
            await answer_refused(scope, refused)(scope, receive, send)
            return
        path, known = scope["path"], scope["state"]["who"] is not None
        if known or path == DOOR or path.startswith(FILES):
            await self.app(scope, receive, send)
        else:
            await ask_to_log_in(scope)(scope, receive, send)

    async def _let_in(self, scope: Scope, receive: Receive) -> Receive:
        state = scope.setdefault("state", {})
        state |= {"who": None, "csrf": "", "session": "", "user": ""}
        headers = _headers(scope)
        state["still_known"] = lambda: self._who(headers) is not None
        if not scope["path"].startswith(FILES):  # so that a refusal is a readable page
            check_host(self.doors, headers)
        if scope["method"] not in SAFE:
            check_origin(self.doors, headers)
        state["who"] = self._who(headers)
        if _bearer(headers) is not None:
            return receive
        secret, session = self._session(headers)
        if session is not None:
            state |= {"csrf": session.csrf, "session": secret, "user": session.name}
            if scope["method"] not in SAFE and scope["path"] != DOOR:
                return await check_token(headers, receive, session.csrf)
        elif self.doors.annif and scope["path"].startswith(ANNIF):
            state["who"] = Who("annif", "reader")
        return receive

    def _who(self, headers: Mapping[str, str]) -> Who | None:
        """Who asks, by a token or else by a session; None: nobody known."""
        bearer = _bearer(headers)
        if bearer is not None:
            return self.identity.of_token(bearer)
        _, session = self._session(headers)
        if session is None:
            return None
        return self.identity.of_user(session.name, session.stamp)

    def _session(self, headers: Mapping[str, str]) -> tuple[str, Session | None]:
        cookies = cookie_parser(headers.get("cookie", ""))
        secret = cookies.get(self.doors.cookie, "")
        return secret, self.sessions.find(secret) if secret else None


def _headers(scope: Scope) -> Mapping[str, str]:
    """The headers by name; one that decides who asks may not come twice."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        if key in found and key in ("host", "origin", "authorization"):
            raise Refused(400, f"The header {key} came twice.")
        joined = f"{found[key]}; " if key == "cookie" and key in found else ""
        found[key] = joined + value.decode("latin-1")
    return found


def _bearer(headers: Mapping[str, str]) -> str | None:
    """The token of a program; as a password too, for programs that know no other."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return given.strip()
    if scheme.lower() == "basic":
        try:
            named = base64.b64decode(given.strip(), validate=True).decode()
        except ValueError:
            return ""
        return named.partition(":")[2]
    return None

"""Every request passes the gate: host, origin, proxy, session, token."""

from __future__ import annotations

import base64
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, State
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from classmark.language import N_, _
from classmark.problems import DamagedFolder, Mistake
from classmark.web.guard.auth import Identity, LogInSession, Sessions, Who, same
from classmark.web.guard.errors import RefusedRequest, ask_to_log_in, refuse_scope
from classmark.web.guard.traffic import HEALTH

Networks = tuple[IPv4Network | IPv6Network, ...]


def networks_of(proxy: str) -> Networks:
    """The addresses of a proxy: one, a network, or several with commas.

    >>> networks_of("127.0.0.1, 10.0.0.0/8")
    (IPv4Network('127.0.0.1/32'), IPv4Network('10.0.0.0/8'))
    """
    try:
        return tuple(ip_network(part.strip()) for part in proxy.split(","))
    except ValueError as problem:
        raise Mistake(
            f"--behind-proxy {proxy} is no address ({problem}): give the address from "
            "which the proxy connects, such as 127.0.0.1 or 10.0.0.0/24"
        ) from None


def behind(app: ASGIApp, proxy: str) -> ASGIApp:
    """An application that only a proxy reaches; the addresses it tells are believed."""
    networks = networks_of(proxy)
    inner: Any = app  # starlette's and uvicorn's types for the same differ
    trusted: Any = ProxyHeadersMiddleware(inner, [str(each) for each in networks])

    async def by_proxy(scope: Scope, receive: Receive, send: Send) -> None:
        is_visit = scope["type"] == "http" and scope["path"] != HEALTH
        if is_visit and not _is_in(networks, scope["client"]):
            refused = RefusedRequest(
                403, "Only the proxy is answered here: ask by its name."
            )
            await refuse_scope(scope, refused)(scope, receive, send)
            return
        await trusted(scope, receive, send)

    return by_proxy


def _is_in(networks: Networks, client: tuple[str, int] | None) -> bool:
    address = ip_address(client[0]) if client else None
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return address is not None and any(address in each for each in networks)


LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
ANYWHERE = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - named to be refused


@dataclass(frozen=True, slots=True)
class Doors:
    """How people reach the workbench.

    names : host names it answers to;  code : opens the door of the machine's own user,
    "" if there is none;  secure : the browser speaks TLS, to us or to a proxy;
    proxy : the address whose forwarded headers are believed;  annif : whether Annif's
    questions (``/v1``) are answered without a token;  port, mark : keep the cookies of
    two servers on one machine apart; with TLS it is the mark, which all servers of one
    project share.
    """

    names: frozenset[str] = LOOPBACK
    code: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    secure: bool = False
    proxy: str = ""
    annif: bool = True
    port: int = 8000
    mark: str = ""

    @property
    def cookie(self) -> str:
        """The name of the cookie that carries a session."""
        if self.secure:
            return f"__Host-classmark-{self.mark or self.port}"
        return f"cm-{self.port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def doors_of(
    host: str, port: int, *, names: Iterable[str], tls: bool, proxy: str, people: bool
) -> Doors:
    """The doors of an address; one that others reach asks for people and TLS.

    tls : whether there is a certificate;  people : whether there is an admin.
    """
    hosts, address = frozenset(map(str.lower, names)), frozenset({host.lower()})
    if is_loopback(host) and not proxy:
        hosts |= LOOPBACK | address
        return Doors(hosts, secure=tls, annif=not people, port=port)
    if not people:
        raise Mistake(
            f"{host} can be reached by others, and this project has no admin who "
            "could log in: add one with: classmark users add DIR NAME --role admin"
        )
    if not tls and not proxy:
        raise Mistake(
            f"{host} can be reached by others, so passwords would cross the network "
            "unencrypted: give --certificate and --key, or --behind-proxy ADDRESS if a "
            "proxy speaks TLS"
        )
    if not hosts and (host in ANYWHERE or proxy):
        raise Mistake(
            f"by which name will browsers reach {host}? say it: --name HOSTNAME"
        )
    if proxy:
        networks_of(proxy)
    return Doors(
        hosts or address, code="", secure=True, proxy=proxy, annif=False, port=port
    )


SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
OURS = frozenset({"same-origin", "none"})


def hostname(authority: str) -> str:
    """The name in ``name:port``; "" if it is none.

    >>> hostname("Localhost:8000"), hostname("[::1]:8000"), hostname("a@b:x")
    ('localhost', '::1', '')
    """
    if "@" in authority or "/" in authority:
        return ""
    try:
        parts = urlsplit(f"//{authority}")
        _ = parts.port
    except ValueError:
        return ""
    return parts.hostname or ""


def check_once(headers: Headers) -> None:
    """Refuse a header that decides who asks and comes twice."""
    names = [name for name, _ in headers.raw]
    for name in ("host", "origin", "authorization"):
        if names.count(name.encode()) > 1:
            raise RefusedRequest(400, f"The header {name} was sent twice.")


def check_host(doors: Doors, headers: Mapping[str, str]) -> None:
    """Refuse another name than ours: so a name that was rebound to us is no door."""
    if hostname(headers.get("host", "")) not in doors.names:
        raise RefusedRequest(
            403,
            _(
                "The request names a host that this server does not answer to: open "
                "the address that the server printed, or start it with this name."
            ),
        )


def check_origin(doors: Doors, headers: Mapping[str, str]) -> None:
    """Refuse a change that the page of another origin asks for."""
    origin = headers.get("origin")
    site = headers.get("sec-fetch-site")
    if origin is not None and not _is_ours(doors, origin, headers):
        raise RefusedRequest(
            403,
            _(
                "A page of another origin, %(origin)r, asked for a change.",
                origin=origin,
            ),
        )
    if site is not None and site not in OURS:
        raise RefusedRequest(403, _("A page of another site asked for a change."))


def _is_ours(doors: Doors, origin: str, headers: Mapping[str, str]) -> bool:
    scheme, _, authority = origin.partition("://")
    if scheme not in ("http", "https") or (doors.secure and scheme != "https"):
        return False
    if doors.proxy:
        return hostname(authority) in doors.names
    return authority.lower() == headers.get("host", "").lower()


HEADER = "x-csrf"
FORMS = {"application/x-www-form-urlencoded": 1 << 20, "multipart/form-data": 16_384}
MOST_FIELDS = 10_000
_IN_PARTS = re.compile(rb'\bname="?csrf"?\r\n\r\n([\w-]{1,64})\r\n')
WITHOUT = N_(
    "The form is too old or was not sent by this workbench, so nothing was changed: go "
    "back, reload the page and repeat"
)


async def check_token(
    headers: Mapping[str, str], receive: Receive, expected: str
) -> Receive:
    """Refuse a change without the session's token; return the body to read anew.

    The token is in a header or, of a form, in the first bytes of the body.
    """
    token = headers.get(HEADER)
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if token is None and kind in FORMS:
        messages, body = [await receive()], b""
        while True:
            body += messages[-1].get("body", b"")
            if len(body) >= FORMS[kind] or not messages[-1].get("more_body"):
                break
            messages.append(await receive())
        token = _token_in(body[: FORMS[kind]], in_parts=kind.startswith("multipart"))
        receive = read_again(messages, receive)
    if not same(token or "", expected):
        raise RefusedRequest(403, WITHOUT)
    return receive


def _token_in(form: bytes, *, in_parts: bool) -> str:
    if in_parts:
        match = _IN_PARTS.search(form)
        return match[1].decode() if match else ""
    try:
        fields = parse_qs(form, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise RefusedRequest(
            400, f"The form has more than {MOST_FIELDS:,} fields: send it in parts."
        ) from None
    return fields.get(b"csrf", [b""])[0].decode("utf-8", "replace")


def read_again(messages: list[Message], receive: Receive) -> Receive:
    """First what was read, then what is still to come."""
    waiting = iter(messages)

    async def receiving() -> Message:
        return next(waiting, None) or await receive()

    return receiving


DOOR, FILES, ANNIF = "/enter", "/static/", "/v1/"


class Gate:
    """Check name and origin, find out who asks, and let in those who are known."""

    def __init__(self, app: ASGIApp, *, state: State) -> None:
        self.app, self.doors = app, state.doors
        self.sessions: Sessions = state.sessions
        self.identity: Identity = state.identity

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it here; what is refused is answered outside."""
        path = scope.get("path", "")
        if scope["type"] == "http":
            try:
                receive = await self._let_in(scope, receive)
            except DamagedFolder as problem:
                raise RefusedRequest(503, str(problem)) from None
            is_open = path == DOOR or path.startswith(FILES)
            if scope["state"]["who"] is None and not is_open:
                await ask_to_log_in(scope)(scope, receive, send)
                return
        await self.app(scope, receive, send)

    async def _let_in(self, scope: Scope, receive: Receive) -> Receive:
        state = scope.setdefault("state", {})
        state |= {"who": None, "csrf": "", "session": "", "user": ""}
        request = Request(scope)
        headers = request.headers
        check_once(headers)
        state["still_known"] = lambda: self.who(request) is not None
        if not scope["path"].startswith(FILES):  # so that a refusal is a readable page
            check_host(self.doors, headers)
        if scope["method"] not in SAFE:
            check_origin(self.doors, headers)
        state["who"] = self.who(request)
        if _bearer(headers) is not None:
            return receive
        secret, session = self._session(request)
        if session is not None:
            state |= {"csrf": session.csrf, "session": secret, "user": session.name}
            if scope["method"] not in SAFE and scope["path"] != DOOR:
                return await check_token(headers, receive, session.csrf)
        elif self.doors.annif and scope["path"].startswith(ANNIF):
            state["who"] = Who("annif", "reader")
        return receive

    def who(self, request: Request) -> Who | None:
        """Who asks, by a token or else by a session; None: nobody known."""
        bearer = _bearer(request.headers)
        if bearer is not None:
            return self.identity.of_token(bearer)
        _, session = self._session(request)
        if session is None:
            return None
        return self.identity.of_user(session.name, session.stamp)

    def _session(self, request: Request) -> tuple[str, LogInSession | None]:
        secret = request.cookies.get(self.doors.cookie, "")
        return secret, self.sessions.find(secret) if secret else None


def _bearer(headers: Mapping[str, str]) -> str | None:
    """The token of a program; as a password too, for programs that know no other."""
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return secret.strip()
    if scheme.lower() == "basic":
        try:
            pair = base64.b64decode(secret.strip(), validate=True).decode()
        except ValueError:
            return ""
        return pair.partition(":")[2]
    return None

"""A proxy that speaks TLS for us: nobody else is answered, and it says who asks."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Any

from classmark.problems import Mistake
from classmark.web.guard.answering import answer_refused
from classmark.web.guard.refusing import Refused

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

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
    from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

    networks, inner = networks_of(proxy), app
    told: Any = ProxyHeadersMiddleware(inner, [str(each) for each in networks])  # type: ignore[arg-type]  # starlette's words for the same

    async def answering(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not _is_in(networks, scope["client"]):
            refused = Refused(403, "Only the proxy is answered here: ask by its name.")
            await answer_refused(scope, refused)(scope, receive, send)
            return
        await told(scope, receive, send)

    return answering


def _is_in(networks: Networks, client: tuple[str, int] | None) -> bool:
    address = ip_address(client[0]) if client else None
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return address is not None and any(address in each for each in networks)

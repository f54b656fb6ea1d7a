"""Doors: by which names the workbench is reached, and what its entrance asks for."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address

from classmark.problems import Mistake
from classmark.web.guard.proxies import networks_of

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
ANYWHERE = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - named to be refused


@dataclass(frozen=True, slots=True)
class Doors:
    """How people reach the workbench.

    names : host names it answers to;  code : opens the door of the machine's own user,
    "" if there is none;  secure : the browser speaks TLS, to us or to a proxy;
    proxy : the address whose forwarded headers are believed;  annif : whether Annif's
    questions (``/v1``) are answered without a token;  port : keeps the cookies of two
    servers on one machine apart.
    """

    names: frozenset[str] = LOOPBACK
    code: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    secure: bool = False
    proxy: str = ""
    annif: bool = True
    port: int = 8000

    @property
    def cookie(self) -> str:
        """The name of the cookie that carries a session."""
        return f"__Host-classmark-{self.port}" if self.secure else f"cm-{self.port}"


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
    known = frozenset(name.lower() for name in names)
    if is_loopback(host) and not proxy:
        own = frozenset({host.lower()})
        return Doors(LOOPBACK | own | known, secure=tls, annif=not people, port=port)
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
    if not known and (host in ANYWHERE or proxy):
        raise Mistake(
            f"by which name will browsers reach {host}? say it: --name HOSTNAME"
        )
    if proxy:
        networks_of(proxy)
    own = known or frozenset({host.lower()})
    return Doors(own, code="", secure=True, proxy=proxy, annif=False, port=port)

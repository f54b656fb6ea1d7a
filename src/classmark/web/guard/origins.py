"""Where a request comes from: the name it was sent to, and the page that sent it."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from classmark.web.guard.doors import Doors
from classmark.web.guard.refusing import Refused

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


def check_host(doors: Doors, headers: Mapping[str, str]) -> None:
    """Refuse another name than ours: so a name that was rebound to us is no door."""
    if hostname(headers.get("host", "")) not in doors.names:
        raise Refused(
            403,
            "The request names another host than this server answers to: open the "
            "address that classmark serve printed, or serve with --name HOSTNAME.",
        )


def check_origin(doors: Doors, headers: Mapping[str, str]) -> None:
    """Refuse a change that the page of another origin asks for."""
    origin = headers.get("origin")
    site = headers.get("sec-fetch-site")
    if origin is not None and not _is_ours(doors, origin, headers):
        raise Refused(403, f"A page of another origin, {origin!r}, asked for a change.")
    if site is not None and site not in OURS:
        raise Refused(403, "A page of another site asked for a change.")


def _is_ours(doors: Doors, origin: str, headers: Mapping[str, str]) -> bool:
    scheme, _, authority = origin.partition("://")
    if scheme not in ("http", "https") or (doors.secure and scheme != "https"):
        return False
    if doors.proxy:
        return hostname(authority) in doors.names
    return authority.lower() == headers.get("host", "").lower()

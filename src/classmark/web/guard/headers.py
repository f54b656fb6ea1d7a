"""The headers of every answer: no foreign script, no frame, no copy kept."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
KEPT = "public, max-age=31536000, immutable"
ONE_YEAR = "max-age=31536000"


class Headers:
    """Add the headers to whatever is answered within."""

    def __init__(self, app: ASGIApp, *, secure: bool) -> None:
        self.app, self.secure = app, secure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and dress the answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        marked = scope["path"].startswith("/static/") and scope["query_string"]

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = marked and message["status"] == 200
                dress(MutableHeaders(scope=message), secure=self.secure, kept=kept)
            await send(message)

        await self.app(scope, receive, sending)


def dress(headers: MutableHeaders, *, secure: bool, kept: bool = False) -> None:
    """Add what is missing; kept : a file whose address names its contents."""
    if kept:
        headers["Cache-Control"] = KEPT
    if secure:
        headers.setdefault("Strict-Transport-Security", ONE_YEAR)
    for name, value in HEADERS.items():
        headers.setdefault(name, value)

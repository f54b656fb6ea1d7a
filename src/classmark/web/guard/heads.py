"""HEAD: what a page would say of itself, without the page."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from classmark.web.guard.answering import for_programs


class Heads:
    """Answer HEAD on pages as GET, and keep the body back."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        if scope.get("method") != "HEAD" or for_programs(scope["path"]):
            await self.app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self.app({**scope, "method": "GET"}, receive, sending)

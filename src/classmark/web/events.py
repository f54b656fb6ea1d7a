"""What happens, as it happens: server-sent events."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from typing import Annotated

from fastapi import Query
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from classmark.web.fields import Documented, calls, error_answer
from classmark.web.guard.auth import Reader
from classmark.web.guard.errors import RefusedRequest
from classmark.workbench.team.desk import Desk

api = calls("events")
PAUSE = 0.2  # seconds between two looks
SIGN = 15.0  # seconds after which a silent line is kept open, if it still may listen
EACH = 20  # lines of one person that are open at once
Seconds = Annotated[float, Query(ge=0, le=3600, description="how long to listen")]
STREAM: Documented = {
    200: {"content": {"text/event-stream": {}}, "description": "events"},
    429: error_answer(f"more than {EACH} lines are open already"),
}
TOO_MANY = "Too many of your pages listen already: close some."
ALL_TAKEN = "Too many pages listen already: close some, or try again in a moment"


@api.get("/events", response_class=StreamingResponse, responses=STREAM)
async def events(me: Reader, seconds: Seconds = 3600) -> StreamingResponse:
    """Tell what happens: decided, learned, job, trained and taxonomy, each as JSON."""
    state, may_listen = me.request.app.state, me.request.state.still_known
    open_lines: Counter[str] = state.open_lines
    wait = {"Retry-After": str(int(SIGN))}
    if open_lines[me.name] >= EACH:
        raise RefusedRequest(429, TOO_MANY, wait)
    if open_lines.total() >= state.most_lines:
        raise RefusedRequest(503, ALL_TAKEN, wait)
    lines = event_lines(me.desk, seconds, may_listen, state.is_over)
    return Line(lines, open_lines, me.name)


class Line(StreamingResponse):
    """A line that counts as open from the moment it is promised until it is over."""

    media_type = "text/event-stream"

    def __init__(
        self, lines: AsyncIterator[str], open_lines: Counter[str], name: str
    ) -> None:
        super().__init__(lines)
        self.open_lines, self.name = open_lines, name
        open_lines[name] += 1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what happens."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.open_lines[self.name] -= 1


async def event_lines(
    desk: Desk,
    seconds: float,
    may_listen: Callable[[], bool],
    over: Callable[[], bool] = lambda: False,
) -> AsyncIterator[str]:
    """Events as lines, until time is over, nobody listens or they may no longer."""
    end = time.monotonic() + seconds
    sign = 0.0
    with desk.events.subscribe() as listener:
        while (now := time.monotonic()) < end and not over():
            if now >= sign:
                if not may_listen():
                    return
                sign = now + SIGN
                yield ": here\n\n"
            while listener:
                event = listener.popleft()
                yield f"event: {event.kind}\ndata: {json.dumps(asdict(event))}\n\n"
            await asyncio.sleep(PAUSE)

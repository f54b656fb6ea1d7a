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

from classmark.web.fields import Documented, calls, refusal
from classmark.web.guard.auth import Reader
from classmark.web.guard.errors import RefusedRequest
from classmark.workbench.team.desk import Desk

api = calls("events")
PAUSE = 0.2  # seconds between two looks
SIGN = 15.0  # seconds after which a silent line is kept open, if it still may listen
EACH, ALL = 20, 200  # lines open at once: of one person, of everybody
Seconds = Annotated[float, Query(ge=0, le=3600, description="how long to listen")]
STREAM: Documented = {
    200: {"content": {"text/event-stream": {}}, "description": "events"},
    429: refusal(f"more than {EACH} lines are open already"),
}
TOO_MANY = "Too many of your pages listen already: close some."


@api.get("/events", response_class=StreamingResponse, responses=STREAM)
async def events(me: Reader, seconds: Seconds = 3600) -> StreamingResponse:
    """Tell what happens: decided, learned, job and taxonomy, each with its JSON."""
    state, may_listen = me.request.app.state, me.request.state.still_known
    open_lines: Counter[str] = state.open_lines
    if open_lines[me.name] >= EACH or open_lines.total() >= ALL:
        raise RefusedRequest(429, TOO_MANY, {"Retry-After": str(int(SIGN))})

    async def lines() -> AsyncIterator[str]:
        open_lines[me.name] += 1
        try:
            async for line in event_lines(me.desk, seconds, may_listen, state.is_over):
                yield line
        finally:
            open_lines[me.name] -= 1

    return StreamingResponse(lines(), media_type="text/event-stream")


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

"""What happens, as it happens: server-sent events."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated

from fastapi import Query
from fastapi.responses import StreamingResponse

from classmark.web.fields import Documented, calls, refusal
from classmark.web.guard.auth import Reader
from classmark.web.guard.errors import RefusedRequest as NotLetIn
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


class Listening:
    """How many lines are open, by whom; over : says that all are to end."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()
        self.over: Callable[[], bool] = lambda: False

    @contextmanager
    def one_more(self, who: str) -> Iterator[None]:
        """Count a line while it is open."""
        self._open[who] += 1
        try:
            yield
        finally:
            self._open[who] -= 1

    def require_room(self, who: str) -> None:
        """Refuse, 429, one line too many."""
        if self._open[who] >= EACH or self._open.total() >= ALL:
            raise NotLetIn(429, TOO_MANY, {"Retry-After": str(int(SIGN))})


@api.get("/events", response_class=StreamingResponse, responses=STREAM)
async def events(me: Reader, seconds: Seconds = 3600) -> StreamingResponse:
    """Tell what happens: decided, learned, job and taxonomy, each with its JSON."""
    listening: Listening = me.request.app.state.listening
    listening.require_room(me.name)
    may_listen: Callable[[], bool] = me.request.state.still_known

    async def lines() -> AsyncIterator[str]:
        with listening.one_more(me.name):
            async for line in event_lines(me.desk, seconds, may_listen, listening.over):
                yield line

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

"""The token against forged forms: in a header, or the first field of the form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qs

from starlette.types import Message, Receive

from classmark.web.guard.refusing import Refused
from classmark.web.guard.sessions import same

HEADER, FIELD = "x-csrf", "csrf"
LOOKED_AT = 16_384
LONGEST_FORM = 1 << 20
MOST_FIELDS = 10_000
_IN_PARTS = re.compile(rb'\bname="?csrf"?\r\n\r\n([\w-]{1,64})\r\n')
WITHOUT = (
    "The form is too old or was not sent by this workbench: go back, load the page "
    "again and repeat; nothing was changed."
)


async def check_token(
    headers: Mapping[str, str], receive: Receive, expected: str
) -> Receive:
    """Refuse a change without the session's token; return the body to read anew."""
    given = headers.get(HEADER)
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if given is None and kind == "application/x-www-form-urlencoded":
        seen = await _read(receive, LONGEST_FORM)
        given = _field(_joined(seen))
        receive = _again(seen, receive)
    elif given is None and kind == "multipart/form-data":
        seen = await _read(receive, LOOKED_AT)
        found = _IN_PARTS.search(_joined(seen)[:LOOKED_AT])
        given = found[1].decode() if found else None
        receive = _again(seen, receive)
    if not same(given or "", expected):
        raise Refused(403, WITHOUT)
    return receive


def _field(form: bytes) -> str:
    try:
        fields = parse_qs(form, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise Refused(
            400, f"The form has more than {MOST_FIELDS:,} fields: send it in parts."
        ) from None
    return fields.get(FIELD.encode(), [b""])[0].decode("utf-8", "replace")


async def _read(receive: Receive, most: int) -> list[Message]:
    seen, size = [], 0
    while size < most:
        message = await receive()
        seen.append(message)
        size += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            break
    return seen


def _joined(seen: list[Message]) -> bytes:
    return b"".join(message.get("body", b"") for message in seen)


def _again(seen: list[Message], receive: Receive) -> Receive:
    """First what was read, then what is still to come."""
    waiting = iter(seen)

    async def receiving() -> Message:
        message = next(waiting, None)
        return await receive() if message is None else message

    return receiving

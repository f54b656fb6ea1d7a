"""A file that a form sends, written to disk while it comes; nothing of it is held."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.concurrency import run_in_threadpool

from classmark.problems import Mistake
from classmark.workbench.files.uploads import Receiving, UploadedFile

if TYPE_CHECKING:
    from starlette.requests import Request

    from classmark.workbench.team.desk import Desk

FIELD = "file"
PIECE = 1 << 20
NOTHING = "no file was sent: choose one"


class _Form:
    """The parts of a form as they come; of one of them, the file, the bytes are kept.

    Other parts are passed over. taken : bytes of the file, until they are written.
    """

    def __init__(self, boundary: bytes) -> None:
        self.name: str | None = None
        self.taken = bytearray()
        self.ended = False
        self._field, self._value, self._here = b"", b"", False
        self._headers: dict[bytes, bytes] = {}
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin,
                "on_header_field": self._on_field,
                "on_header_value": self._on_value,
                "on_header_end": self._on_header,
                "on_headers_finished": self._on_headers,
                "on_part_data": self._on_data,
                "on_part_end": self._on_end,
            },
        )

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the form."""
        try:
            self._parser.write(chunk)
        except FormParserError as problem:
            raise Mistake("the form was broken on its way: send it again") from problem

    def take(self) -> bytes:
        """The bytes of the file that came since."""
        found = bytes(self.taken)
        self.taken.clear()
        return found

    def _begin(self) -> None:
        self._headers, self._here = {}, False

    def _on_field(self, data: bytes, start: int, end: int) -> None:
        self._field += data[start:end]

    def _on_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _on_header(self) -> None:
        self._headers[self._field.lower()] = self._value
        self._field, self._value = b"", b""

    def _on_headers(self) -> None:
        said = self._headers.get(b"content-disposition", b"")
        options = parse_options_header(said)[1]
        if options.get(b"name") == FIELD.encode() and self.name is None:
            given = options.get(b"filename", b"")
            self.name, self._here = given.decode("utf-8", "replace"), True

    def _on_data(self, data: bytes, start: int, end: int) -> None:
        if self._here:
            self.taken += data[start:end]

    def _on_end(self) -> None:
        self.ended = self.ended or self._here
        self._here = False


async def receive(request: Request, desk: Desk, who: str) -> UploadedFile:
    """Take the file of a form in, look it through, and keep it under our own name."""
    form = _Form(_boundary(request))
    with ExitStack() as stack:
        receiving: Receiving | None = None
        async for chunk in _pieces(request):
            form.feed(chunk)
            if receiving is None and form.name:
                receiving = stack.enter_context(Receiving(desk, form.name))
            if receiving is not None and (len(form.taken) >= PIECE or form.ended):
                await run_in_threadpool(receiving.write, form.take())
        if receiving is None:
            raise Mistake(NOTHING)
        if not form.ended:
            raise Mistake("the file did not come whole: send it again")
        await run_in_threadpool(receiving.write, form.take())
        return await run_in_threadpool(receiving.keep, who)


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    """The body in pieces that are not large, however it comes."""
    async for chunk in request.stream():
        for at in range(0, len(chunk), PIECE):
            yield chunk[at : at + PIECE]


def _boundary(request: Request) -> bytes:
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise Mistake(NOTHING)
    return options[b"boundary"]

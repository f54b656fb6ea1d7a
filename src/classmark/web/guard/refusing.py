"""Refused: a request that goes no further, and the words it is answered with."""

from __future__ import annotations

from fastapi import HTTPException


class Refused(HTTPException):
    """A request is not let in.

    said : what is wrong and what to do, in words.
    """

    def __init__(
        self, status: int, said: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(status, said, headers)
        self.said = said

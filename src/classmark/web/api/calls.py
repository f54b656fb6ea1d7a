"""How is a call answered? Every refusal says what is wrong, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field

from classmark.problems import DamagedFolder, Mistake
from classmark.workbench.deciding.decide import Conflict
from classmark.workbench.examples.open_searches import BeingRead

VERSION = "/api/v1"
REFERENCE = "#/components/schemas/{model}"
Documented = dict[int | str, dict[str, Any]]
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class Missing(Mistake):
    """What an address names is not there."""


class Refusal(BaseModel):
    """What is wrong, and what to do about it."""

    message: str = Field(examples=["there is no document 'b7'"])
    remedy: str = Field(examples=["correct its id"])


class Refused(BaseModel):
    """The answer to a call that was not done; nothing was written."""

    model_config = ConfigDict(extra="allow")

    error: Refusal


def refusal(status: str) -> dict[str, Any]:
    """An answer that is documented as ``Refused``.

    It refers to the schema: a ``model`` here would be compiled anew for every call and
    every status, nine hundred times before the server listens.
    """
    schema = {"$ref": REFERENCE.format(model=Refused.__name__)}
    return {"description": status, "content": {"application/json": {"schema": schema}}}


def schemas_of_refusals() -> dict[str, Any]:
    """What ``refusal`` refers to, by name."""
    schema = Refused.model_json_schema(mode="serialization", ref_template=REFERENCE)
    inner: dict[str, Any] = schema.pop("$defs")
    return inner | {Refused.__name__: schema}


ALWAYS: Documented = {
    400: refusal("the call cannot be understood, or the project refuses it"),
    401: refusal("no token, or one that is unknown, withdrawn or too old"),
    403: refusal("the token's role does not allow this"),
    408: refusal("nothing was sent for too long"),
    413: refusal("the body is too large"),
    414: refusal("the address is too long"),
    431: refusal("the headers are too long"),
    503: refusal("the project's store or disk cannot be used at the moment"),
}
MISSING: Documented = {404: refusal("what the call names is not there")}
CONFLICT: Documented = {409: refusal("somebody else said something meanwhile")}


class Call(APIRoute):
    """A call whose refusals are JSON, and whose malformed bodies are 400."""

    def get_route_handler(self) -> Handler:
        """Wrap the handler so that mistakes become answers."""
        answer = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                return await answer(request)
            except RequestValidationError as problem:
                return refused(400, malformed(problem))
            except Mistake as mistake:
                return refused(status_of(mistake), str(mistake), mistake)

        return guarded


def calls(tag: str, prefix: str = VERSION) -> APIRouter:
    """A router for the calls under one heading."""
    return APIRouter(prefix=prefix, tags=[tag], route_class=Call, responses=ALWAYS)


def told(answer: BaseModel) -> Response:
    """An answer as it is, not looked through once more."""
    return Response(answer.model_dump_json(), media_type="application/json")


def refused(status: int, said: str, mistake: Mistake | None = None) -> JSONResponse:
    """The answer to a call that was not done."""
    message, remedy = in_two(said)
    error = {"message": message, "remedy": remedy}
    told: dict[str, Any] = {"error": error}
    if isinstance(mistake, Conflict):
        told["theirs"] = [said._asdict() for said in mistake.theirs]
    return JSONResponse(told, status_code=status)


def status_of(mistake: Mistake) -> int:
    """404 for what is not there, 409 for what changes, 503 for a bad disk; else 400."""
    kinds = {Missing: 404, Conflict: 409, BeingRead: 409, DamagedFolder: 503}
    return next((kinds[k] for k in kinds if isinstance(mistake, k)), 400)


@contextmanager
def or_missing(said: str = "") -> Iterator[None]:
    """Let what is not found be 404, in these words; a bad disk stays one."""
    try:
        yield
    except DamagedFolder:
        raise
    except Mistake as mistake:
        raise Missing(said or str(mistake)) from None


def in_two(said: str) -> tuple[str, str]:
    """What is wrong and what to do: a mistake says one, a colon, the other.

    >>> in_two("there is no act 9: see the numbers with classmark history")
    ('there is no act 9', 'see the numbers with classmark history')
    """
    message, colon, remedy = said.rpartition(": ")
    return (message, remedy) if colon else (said, "")


def malformed(problem: RequestValidationError) -> str:
    """The first thing that is wrong with a call, and where.

    >>> malformed(RequestValidationError([{"loc": ("body", "top"), "msg": "Too few"}]))
    'body.top is not as it should be: too few'
    """
    first = problem.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    said = str(first["msg"])
    return f"{where} is not as it should be: {said[:1].lower()}{said[1:]}"

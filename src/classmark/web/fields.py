"""The parameter and answer types that API calls share, and what calls name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from math import isfinite
from pathlib import Path as FilePath
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, Union, get_args, get_origin
from typing import get_type_hints as hints_of

from fastapi import APIRouter, Path, Query, Request
from fastapi.datastructures import DefaultPlaceholder
from fastapi.responses import FileResponse, Response
from fastapi.routing import APIRoute
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
    model_validator,
)
from starlette.background import BackgroundTask
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from classmark.language import _
from classmark.taxonomy.category import Category
from classmark.web.guard.capacity import in_thread
from classmark.web.guard.errors import PROBLEM, Missing, or_missing
from classmark.web.guard.gate import read_again
from classmark.workbench.results import Logged
from classmark.workbench.store.log import JudgedRecord
from classmark.workbench.team.desk import Desk

VERSION = "/api/v1"
REFERENCE = "#/components/schemas/{model}"
Documented = dict[int | str, dict[str, Any]]
LINES, BYTES = "application/x-ndjson", "application/octet-stream"
JSON = "application/json"
PASSED = "classmark.passed"  # in the scope of a call that another route answers

NO_NUL = r"^[^\x00]*$"
LONG = 1_000_000  # characters of one text
MANY = 1_000  # rows of one answer
LARGEST = 2**53  # numbers that JSON keeps exactly

Id = Annotated[str, Field(min_length=1, max_length=1000, pattern=NO_NUL)]
Ids = Annotated[tuple[Id, ...], Field(max_length=1000)]
Text = Annotated[str, Field(max_length=LONG, pattern=NO_NUL)]
Note = Annotated[str, Field(max_length=10_000, pattern=NO_NUL)]
Number = Annotated[int, Field(ge=0, le=LARGEST)]
InPath = Annotated[str, Path(min_length=1, max_length=1000, pattern=NO_NUL)]
After = Annotated[
    str | None,
    Query(max_length=1000, pattern=NO_NUL, description="the one before; null: none"),
]
Top = Annotated[int, Query(ge=1, le=MANY, description="how many at most")]


Value = Annotated[  # null: not defined
    float | None, BeforeValidator(lambda v: v if v is None or isfinite(v) else None)
]


class Refusal(BaseModel):
    """What is wrong, and what to do about it."""

    message: str = Field(examples=["there is no document 'b7'"])
    remedy: str = Field(examples=["correct its id"])


class RefusedCall(BaseModel):
    """The answer to a call that was not done; nothing was written.

    detail : message and remedy in one.
    """

    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["about:blank"])
    title: str = Field(examples=["Not Found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["there is no document 'b7': correct its id"])
    error: Refusal


def error_answer(status: str) -> dict[str, Any]:
    """An answer that is documented as ``RefusedCall``.

    It refers to the schema: a ``model`` here would be compiled anew for every call and
    every status, nine hundred times before the server listens.
    """
    schema = {"$ref": REFERENCE.format(model=RefusedCall.__name__)}
    return {"description": status, "content": {PROBLEM: {"schema": schema}}}


ALWAYS: Documented = {
    400: error_answer("the call cannot be understood, or the project refuses it"),
    401: error_answer("no token, or one that is unknown, withdrawn or too old"),
    403: error_answer("the token's role does not allow this"),
    408: error_answer("nothing was sent for too long"),
    413: error_answer("the body is too large"),
    414: error_answer("the address is too long"),
    431: error_answer("the headers are too long"),
    503: error_answer("the project's store or disk cannot be used at the moment"),
}
MISSING: Documented = {404: error_answer("what the call names is not there")}
CONFLICT: Documented = {409: error_answer("somebody else said something meanwhile")}
FILE: Documented = {200: {"content": {BYTES: {}}, "description": "the file"}, **MISSING}


def calls(tag: str) -> APIRouter:
    """A router for the calls under one heading."""
    return APIRouter(prefix=VERSION, tags=[tag], responses=ALWAYS, route_class=Call)


_ANSWERS: dict[type, type[BaseModel]] = {}  # class of the workbench → its model


class Body(BaseModel):
    """What a call takes; a name it does not know is refused."""

    model_config = ConfigDict(extra="forbid")


def typed(values: Mapping[str, float | str]) -> tuple[str, ...]:
    """Values by name as a person types them.

    >>> typed({"k1": 0.9})
    ('k1=0.9',)
    """
    return tuple(f"{name}={value}" for name, value in values.items())


class CallAnswer(BaseModel):
    """What a call gives; ``of`` : the class of the workbench that it is made from."""

    model_config = ConfigDict(from_attributes=True)

    def __init_subclass__(cls, of: type | None = None) -> None:
        if of is not None:
            _ANSWERS[of] = cls


class Call(APIRoute):
    """A call that returns an object of the workbench, which has its answer model."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        returned = hints_of(endpoint)["return"]
        if isinstance(options["response_model"], DefaultPlaceholder) and (
            is_dataclass(returned) or hasattr(returned, "_fields")
        ):
            options["response_model"] = _answered(returned)
        super().__init__(path, endpoint, **options)
        hints = hints_of(endpoint, include_extras=True)
        self.asks, self.takes = None, None
        if [*hints] == ["me", "body", "return"] and returned is Response:
            (self.asks,), self.takes = hints["me"].__metadata__, hints["body"]


class WholeCalls(BaseRoute):
    """Calls that take who asks and a JSON body, and answer by themselves.

    They are found by their address, and go to their functions without detours. What is
    not valid, or not JSON, is left to the routes behind, which tell what is wrong.
    """

    def __init__(self, routers: Iterable[APIRouter]) -> None:
        routes = (route for router in routers for route in router.routes)
        calls = (each for each in routes if isinstance(each, Call) and each.takes)
        self.calls = {call.path: call for call in calls}

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether a request is such a call."""
        call = self.calls.get(scope["path"])
        if (
            call is None
            or scope["method"] not in (call.methods or ())
            or PASSED in scope
        ):
            return Match.NONE, {}
        if (b"content-type", JSON.encode()) not in scope["headers"]:
            return Match.NONE, {}
        return Match.FULL, {"route": call, "endpoint": call.endpoint}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the call."""
        call: Any = scope["route"]
        request = Request(scope, receive, send)
        content = await request.body()
        try:
            body = call.takes.model_validate_json(content)
        except ValidationError:
            scope[PASSED] = True
            whole = {"type": "http.request", "body": content, "more_body": False}
            await scope["app"].router(scope, read_again([whole], receive), send)
            return
        me = await call.asks.dependency(request)
        done: Response = await in_thread(call.endpoint, me, body)
        await done(scope, receive, send)


class InOrder(CallAnswer):
    """An answer that the workbench has as a tuple, its parts in this order."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        plain = isinstance(value, tuple) and not hasattr(value, "_fields")
        return dict(zip(cls.model_fields, value, strict=True)) if plain else value


class Weighed(InOrder):
    """A word, and its part of a score."""

    word: str
    weight: float


class Titled(InOrder):
    """A document and its title."""

    id: str
    title: str


class CountedName(InOrder):
    """How many of something."""

    name: str
    count: int


class PreferredPair(InOrder):
    """One category above another."""

    winner: str
    loser: str


PAIRS: Mapping[Any, type[InOrder]] = {(str, float): Weighed, (str, int): CountedName}


def answer(
    source: type, *hidden: str, model_name: str = "", doc: str = "", **types: Any
) -> type[BaseModel]:
    """The answer model of a class of the workbench: its fields, all of them required.

    hidden : fields that are not answered;  model_name, doc : its name and description,
    where they are not those of the class;  types : other types of some fields, and the
    types of properties that are answered too; one with an alias stands for the field
    of that name.

    >>> from classmark.workbench.deciding.sheet import EvidencePiece
    >>> list(answer(EvidencePiece, "strength", says=float).model_fields)
    ['text', 'marks', 'side', 'says']
    """
    metadata = {
        n: getattr(hint, "__metadata__", [None])[0] for n, hint in types.items()
    }
    new = {getattr(each, "validation_alias", n) or n: n for n, each in metadata.items()}
    names = [new.get(n, n) for n in source.__annotations__ if n not in hidden]
    same = {n: source.__annotations__[n] for n in names if n not in types}
    scope = vars(sys.modules[source.__module__])
    hints = hints_of(SimpleNamespace(__annotations__=same), scope)
    answered = {n: _answered(hint) for n, hint in hints.items()} | types
    fields: dict[str, Any] = {n: (answered[n], ...) for n in [*names, *types]}
    return create_model(
        model_name or source.__name__, __doc__=doc or source.__doc__,
        __base__=CallAnswer, __module__=source.__module__,
        __cls_kwargs__={"of": source}, **fields,
    )  # fmt: skip


def nullable(source: type) -> dict[str, Any]:
    """The types of a class's numbers where NaN, not defined, is answered as null."""
    types = source.__annotations__
    return {name: Value for name, hint in types.items() if hint == "float"}


def listing(name: str, description: str, **lists: Any) -> type[BaseModel]:
    """An answer model whose fields are lists of what some types are answered as.

    >>> list(listing("Uploads", "The files that wait.", uploads=str).model_fields)
    ['uploads']
    """
    fields: Any = {field: (list[_answered(item)], ...) for field, item in lists.items()}  # type: ignore[misc]
    return create_model(name, __base__=CallAnswer, __doc__=description, **fields)


def _answered(hint: Any) -> Any:
    """A type of the workbench as JSON has it: arrays, and named pairs."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is tuple and parts in PAIRS:
        return PAIRS[parts]
    if origin in (Union, UnionType):
        return Union[tuple(map(_answered, parts))]  # noqa: UP007 - made of values
    if origin is Mapping:
        return dict[parts[0], parts[1]]  # type: ignore[valid-type]
    if parts:
        return list[_answered(parts[0])]  # type: ignore[misc]
    if is_dataclass(hint) or hasattr(hint, "_fields"):
        return _ANSWERS.get(hint) or answer(hint)
    return hint


class Written(CallAnswer, of=Logged):
    """What was written to the log: the numbers given, and in words."""

    numbers: list[int] = Field(examples=[[231]])
    said: str = Field(examples=["b7: assign bees"])


def as_json(model: BaseModel) -> Response:
    """An answer that is complete, not validated once more."""
    return Response(model.model_dump_json(), media_type=JSON)


def sent_once(
    path: FilePath, remove: Callable[[], None], media_type: str | None = None
) -> FileResponse:
    """A file under its own name, which is removed once it is sent."""
    sent = FileResponse(path, filename=path.name, media_type=media_type)
    sent.background = BackgroundTask(remove)
    return sent


def record_named(desk: Desk, id_: str) -> JudgedRecord:
    """A document with all that was said of it, or 404."""
    with or_missing(f"there is no document {id_!r}: correct its id"):
        return desk.store.record(id_)


def require_document(desk: Desk, id_: str) -> None:
    """Refuse an id that no document has, 404."""
    if id_ not in desk.state.ids:
        record_named(desk, id_)


def category_named(desk: Desk, id_: str) -> Category:
    """A category that is active or retired, or 404."""
    if id_ not in desk.categories:
        raise Missing(
            _("there is no category %(id)r: correct its id, or add it", id=id_)
        )
    return desk.categories[id_]

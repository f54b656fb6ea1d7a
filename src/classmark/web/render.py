"""Templates, what every page shows, and words that templates use."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from hashlib import blake2b
from hmac import compare_digest
from importlib.resources import files
from secrets import token_bytes
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.background import BackgroundTask
from starlette.requests import Request

from classmark.workbench.results import belonging
from classmark.workbench.team.mentions import unseen

if TYPE_CHECKING:
    from classmark.web.guard.auth import Caller

PAGES = (
    ("Inbox", "/inbox"),
    ("Decide", "/decide"),
    ("Taxonomy", "/taxonomy"),
    ("Find by example", "/like"),
    ("Search", "/search"),
    ("History", "/history"),
    ("Progress", "/progress"),
    ("Import and export", "/files"),
    ("Settings", "/settings"),
)
THEMES = ("system", "light", "dark")
SEAL = token_bytes(32)  # of the messages in addresses, as long as the server runs


@cache
def environment() -> Environment:
    """The templates; every value is escaped, an unknown name is an error."""
    templates = Environment(
        loader=PackageLoader("classmark.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals |= {"clock": by_the_clock, "static": static}
    templates.globals["belonging"] = belonging
    return templates


@cache
def static(name: str) -> str:
    """The address of a file, with a mark of its contents so that it may be kept."""
    content = (files("classmark.web") / "static" / name).read_bytes()
    return f"/static/{name}?{blake2b(content, digest_size=6).hexdigest()}"


def page(me: Caller, here: str, template: str, **values: Any) -> HTMLResponse:
    """A page of the workbench for somebody who is in; ``here`` : its name in the bar.

    Every template knows ``me``, ``may_decide``, ``may_admin``, ``csrf`` and ``named``,
    by which a category is called.
    """
    request, categories = me.request, me.desk.categories
    return alone(
        request,
        template,
        project=me.desk.settings.name,
        here=here,
        title=values.pop("title", here),
        pages=PAGES,
        tally=me.desk.tally(),
        named=lambda id_: categories[id_].name if id_ in categories else id_,
        saved=unsealed(request.query_params.get("saved", "")),
        csrf=request.state.csrf,
        me=me,
        may_decide=me.may("classifier"),
        may_admin=me.may("admin"),
        **{"unseen": unseen(me.desk, me.name), **values},
    )


def alone(request: Request, template: str, **values: Any) -> HTMLResponse:
    """A page that stands by itself: nothing of the project is on it."""
    theme = request.cookies.get("theme", "")
    values.setdefault("project", "")
    values["theme"] = theme if theme in THEMES else "system"
    return fragment(template, **values)


def fragment(
    template: str,
    status_code: int = 200,
    background: BackgroundTask | None = None,
    **values: Any,
) -> HTMLResponse:
    """A piece of a page; background : what is done once it is sent."""
    content = environment().get_template(template).render(**values)
    return HTMLResponse(content, status_code, background=background)


def address(path: str, **query: str) -> str:
    """An address with the values of ``query`` that are not empty.

    >>> address("/inbox", words="salt road", order="")
    '/inbox?words=salt+road'
    """
    values = urlencode({name: value for name, value in query.items() if value})
    return f"{path}?{values}" if values else path


def redirect(path: str, **query: str) -> RedirectResponse:
    """Send a browser on after a form; ``saved`` : what the next page says is done."""
    query["saved"] = sealed(query.get("saved", ""))
    return RedirectResponse(address(path, **query), 303)


def sealed(message: str) -> str:
    """A message with a seal, so that pages show no words that others put there.

    >>> unsealed(sealed("begun")), unsealed("pay here~00"), unsealed("begun")
    ('begun', '', '')
    """
    seal = blake2b(message.encode(), key=SEAL, digest_size=12).hexdigest()
    return f"{message}~{seal}" if message else ""


def unsealed(text: str) -> str:
    """The message that was sealed by this server; "" where it was not."""
    message = text.rpartition("~")[0]
    sent, ours = text.encode(), sealed(message).encode()
    return message if compare_digest(sent, ours) else ""


def with_cookie(
    response: Response, request: Request, name: str, value: str, days: int
) -> Response:
    """Let a browser remember a value for this server alone; "" : forget it."""
    response.set_cookie(
        name,
        value,
        max_age=days * 24 * 3600 if value else 0,
        path="/",
        secure=request.app.state.doors.secure,
        httponly=True,
        samesite="strict",
    )
    return response


def by_the_clock(at: str) -> str:
    """A time of the log in words; what is no time stays as it is.

    >>> len(by_the_clock("2026-01-02T03:04:05.678+00:00"))
    19
    """
    try:
        return f"{datetime.fromisoformat(at).astimezone():%Y-%m-%d %H:%M:%S}"
    except ValueError:
        return at

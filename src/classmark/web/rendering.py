"""Rendering: templates, and what stands on every page."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

if TYPE_CHECKING:
    from starlette.requests import Request

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


@cache
def environment() -> Environment:
    """The templates; every value is escaped, an unknown name is an error."""
    return Environment(
        loader=PackageLoader("classmark.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def static(name: str) -> str:
    """The address of a file, with a mark of its contents so that it may be kept."""
    content = (files("classmark.web") / "static" / name).read_bytes()
    return f"/static/{name}?{blake2b(content, digest_size=6).hexdigest()}"


def page(request: Request, here: str, template: str, **values: Any) -> HTMLResponse:
    """A page of the workbench for somebody who is in; ``here`` : its name in the bar.

    Every template knows ``me``, ``may_decide``, ``may_admin`` and ``csrf``.
    """
    desk, who = request.app.state.desk, request.state.who
    return alone(
        request,
        template,
        project=desk.project.settings.name,
        here=here,
        title=values.pop("title", here),
        pages=PAGES,
        tally=desk.tally(),
        saved=request.query_params.get("saved", ""),
        csrf=request.state.csrf,
        me=who,
        may_decide=who.may("classifier"),
        may_admin=who.may("admin"),
        **values,
    )


def alone(request: Request, template: str, **values: Any) -> HTMLResponse:
    """A page that stands by itself: nothing of the project is on it."""
    theme = request.cookies.get("theme", "")
    values.setdefault("project", "")
    return fragment(
        template, static=static, theme=theme if theme in THEMES else "system", **values
    )


def fragment(template: str, **values: Any) -> HTMLResponse:
    """A piece of a page."""
    return HTMLResponse(environment().get_template(template).render(**values))

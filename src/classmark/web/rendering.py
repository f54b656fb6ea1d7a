"""Rendering: templates, what stands on every page, and the headers that guard it."""

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
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


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
    """A page of the workbench; ``here`` : its name in the navigation."""
    desk = request.app.state.desk
    shown = (
        environment()
        .get_template(template)
        .render(
            here=here,
            title=values.pop("title", here),
            project=desk.project.settings.name,
            pages=PAGES,
            static=static,
            tally=desk.tally(),
            saved=request.query_params.get("saved", ""),
            csrf="",
            **values,
        )
    )
    return HTMLResponse(shown)

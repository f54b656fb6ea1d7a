"""Templates, what every page shows, and words that templates use."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from hashlib import blake2b
from hmac import compare_digest
from importlib.resources import files
from secrets import token_bytes
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.background import BackgroundTask
from starlette.requests import Request

from classmark import language
from classmark.language import N_, _
from classmark.workbench.meaning import texts_leave
from classmark.workbench.results import belonging
from classmark.workbench.team.mentions import unseen

if TYPE_CHECKING:
    from classmark.web.guard.auth import Caller

PAGES = (
    (N_("Inbox"), "/inbox"),
    (N_("Decide"), "/decide"),
    (N_("Taxonomy"), "/taxonomy"),
    (N_("Find by example"), "/like"),
    (N_("Search"), "/search"),
    (N_("History"), "/history"),
    (N_("Progress"), "/progress"),
    (N_("Import and export"), "/files"),
    (N_("Settings"), "/settings"),
)
PROJECT = "/p/"  # before the name of a project, where several are served
_PREFIX: ContextVar[str] = ContextVar("prefix", default="")
_OWN = r"/(?!/|(?:p|static|enter|leave|projects)(?:[/?#\"]|$))"
_ADDRESS = re.compile(_OWN)
_ADDRESSES = re.compile(
    r'(?<=\s)((?:href|action|formaction|src|data-(?:poll|fold|from|more))=")' + _OWN
)
THEMES = ("system", "light", "dark")
THEME_NAMES = N_("System"), N_("Light"), N_("Dark")
SAID = re.compile(r'\b_\("([^"]+)"')  # what a script says, as written in it
SEAL = token_bytes(32)  # of the messages in addresses, as long as the server runs


@contextmanager
def under(prefix: str) -> Iterator[None]:
    """Let the addresses of pages and redirects begin with a prefix.

    Within, a project's code knows its own addresses only, as if it were served alone.
    """
    token = _PREFIX.set(prefix)
    try:
        yield
    finally:
        _PREFIX.reset(token)


def outside(address: str) -> str:
    """An address of the project as a browser has to ask for it; others stay.

    >>> with under("/p/shelf"):
    ...     outside("/inbox"), outside("/p/shelf/inbox"), outside("/enter?next=/")
    ('/p/shelf/inbox', '/p/shelf/inbox', '/enter?next=/')
    """
    return _PREFIX.get() + address if _ADDRESS.match(address) else address


@cache
def environment() -> Environment:
    """The templates; every value is escaped, an unknown name is an error."""
    templates = Environment(
        loader=PackageLoader("classmark.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    templates.policies["ext.i18n.trimmed"] = True
    templates.newstyle_gettext = True  # type: ignore[attr-defined] # of the extension
    templates.globals |= {
        "_": _text, "gettext": _text, "ngettext": _texts, "clock": language.clock,
        "static": static, "belonging": belonging, "chance": chance,
        "language": language.language, "languages": language.languages,
        "script_words": lambda: script_words(language.language()),
    }  # fmt: skip
    templates.filters |= {
        "translated": language._,
        "first_upper": first_upper,
        **{
            name: getattr(language, name)
            for name in ("whole", "decimal", "signed", "general", "percent")
        },
    }
    return templates


def first_upper(text: str) -> str:
    """A text that begins a line."""
    shown = str(text)
    return f"{shown[:1].upper()}{shown[1:]}"


def _text(message: str, /, **values: Any) -> Markup:
    """A text of a template; its values are escaped."""
    return Markup(language.catalogue(language.language()).gettext(message)) % values  # noqa: S704 - templates are ours


def _texts(singular: str, plural: str, n: int, /, **values: Any) -> Markup:
    """The same for so many; ``n`` in it is the number, as the language writes it."""
    text = language.catalogue(language.language()).ngettext(singular, plural, n)
    return Markup(text) % {**values, "n": language.whole(n)}  # noqa: S704


def chance(probability: float, *, brief: bool = False) -> str:
    """A probability as pages show it; nothing is impossible, and nothing certain.

    >>> chance(0.874), chance(0.002), chance(0.999, brief=True)
    ('87 %', 'under 1 %', '> 99 %')
    """
    if 0 < round(100 * probability) < 100:
        return language.percent(probability)
    if probability > 0.5:
        return "> 99 %" if brief else _("over 99 %")
    return "< 1 %" if brief else _("under 1 %")


@cache
def script_words(code: str) -> str:
    """What the scripts say, English → translated, as JSON; "" where it is English."""
    if code == language.ENGLISH:
        return ""
    folder, texts = files("classmark.web") / "static", set[str]()
    for file in folder.iterdir():
        if file.name.endswith(".js"):
            texts |= set(SAID.findall(file.read_text("utf-8")))
    translate = language.catalogue(code).gettext
    return json.dumps({text: translate(text) for text in sorted(texts)})


@cache
def static(name: str) -> str:
    """The address of a file, with a mark of its contents so that it may be kept."""
    content = (files("classmark.web") / "static" / name).read_bytes()
    return f"/static/{name}?{blake2b(content, digest_size=6).hexdigest()}"


def page(me: Caller, here: str, template: str, **values: Any) -> HTMLResponse:
    """A page of the workbench for somebody who is in; ``here`` : its name in the bar.

    Every template knows ``me``, ``may_decide``, ``may_admin``, ``csrf``, ``notice``,
    that texts leave this machine, and ``named``, by which a category is called.
    """
    request, categories = me.request, me.desk.categories
    state = request.app.state
    return alone(
        request,
        template,
        project=me.desk.settings.name,
        here=here,
        title=values.pop("title", _(here)),
        pages=state.pages,
        tally=state.tally(),
        how_far=(len(me.desk.state.labels), len(me.desk.state.ids)),
        accounts=state.accounts,
        at_server=state.pages is not PAGES,
        named=lambda id_: categories[id_].name if id_ in categories else id_,
        saved=unsealed(request.query_params.get("saved", "")),
        csrf=request.state.csrf,
        me=me,
        may_decide=me.may("classifier"),
        may_admin=me.may("admin"),
        notice=texts_leave(me.desk),
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
    prefix = _PREFIX.get()
    content = environment().get_template(template).render(prefix=prefix, **values)
    if prefix:
        content = _ADDRESSES.sub(rf"\1{prefix}/", content)
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

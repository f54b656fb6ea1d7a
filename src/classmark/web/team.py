"""Working together: work given to people, mentions, the session, webhooks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from time import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Path, Query
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import Field

from classmark.language import _, ngettext
from classmark.web import fields
from classmark.web.guard.auth import Admin, Caller, Classifier, Reader
from classmark.web.guard.errors import or_missing
from classmark.web.inbox import FilterFields, Order
from classmark.web.render import page, redirect
from classmark.workbench.deciding.inbox import documents_in
from classmark.workbench.team import mentions as mentioning
from classmark.workbench.team import webhooks, work
from classmark.workbench.team.session import SessionSummary, summary

pages = APIRouter()
settings_pages = APIRouter(prefix="/settings/webhooks")
api = fields.calls("team")

FormText = Annotated[str, Form(max_length=2000)]
Kind = Literal["decided", "trained"]


class GiveForm(FilterFields):
    """Documents that the filters leave, the first of them, for somebody."""

    to: Annotated[str, Field(max_length=200)] = ""
    order: Order = "uncertain"
    count: Annotated[int, Field(ge=1, le=work.MOST)] | None = None
    note: Annotated[str, Field(max_length=1000)] = ""


@pages.get("/work")
def work_page(me: Reader) -> HTMLResponse:
    """The work that is given, and how far it is."""
    items = work.work_items(me.desk, None if me.may("admin") else me.name)
    return page(me, "Inbox", "team_work.html", title=_("Assigned work"), items=items)


@pages.post("/work")
def give_form(me: Admin, form: Annotated[GiveForm, Form()]) -> RedirectResponse:
    """Give somebody a branch, or the first documents that the filters leave."""
    filters = form.filters
    if form.count is None and set(filters.chosen) == {"branch"}:
        had = work.give(me.desk, form.to, me.name, branch=form.branch, note=form.note)
    else:
        ids = documents_in(me.desk, form.order, filters)[: form.count or work.MOST]
        had = work.give(me.desk, form.to, me.name, documents=ids, note=form.note)
    saved = _("assigned to %(name)s", name=form.to)
    if had:
        saved += ngettext(
            "; %(n)s document was theirs already",
            "; %(n)s documents were theirs already",
            had,
        )
    return redirect("/work", saved=saved)


@pages.post("/work/withdraw")
def withdraw_form(
    me: Admin, number: Annotated[int, Form(ge=0, le=fields.LARGEST)]
) -> RedirectResponse:
    """Take work back."""
    work.withdraw(me.desk, number, me.name)
    return redirect("/work", saved=_("withdrawn"))


@pages.post("/work/begin")
def begin_form(
    me: Classifier, number: Annotated[int, Form(ge=0, le=fields.LARGEST)]
) -> RedirectResponse:
    """Decide on the documents of some work next."""
    work.begin(me.desk, number, me.name)
    return redirect("/decide")


@pages.get("/mentions")
def mentions_page(me: Reader) -> HTMLResponse:
    """The comments that name one; they are seen from now on."""
    listed = mentioning.mentions(me.desk, me.name)
    mentioning.mark_seen(me.desk, me.name)
    return page(
        me, "Inbox", "team_mentions.html", title=_("Comments for you"), mentions=listed,
        unseen=0,
    )  # fmt: skip


@pages.get("/session")
def session_page(me: Reader) -> HTMLResponse:
    """What one has done since one came in."""
    return page(
        me, "Progress", "team_session.html", title=_("Your session"),
        session=_summary(me), work_left=work.work_items(me.desk, me.name),
    )  # fmt: skip


def _summary(me: Caller) -> SessionSummary:
    """Since the log-in; of a program, since a day ago."""
    state, began = me.request.app.state, timedelta(days=1)
    session = state.sessions.find(me.request.state.session or "")
    if session is not None:
        began = timedelta(seconds=time() - session.began)
    since = datetime.now(UTC) - began
    return summary(me.desk, me.name, since.isoformat(timespec="milliseconds"))


@settings_pages.get("")
def webhooks_page(me: Admin) -> HTMLResponse:
    """The addresses that are told, and how that goes."""
    return _webhooks(me)


@settings_pages.post("")
def add_webhook_form(
    me: Admin,
    address: FormText,
    kind: Annotated[list[str], Form(default_factory=list, max_length=5)],
) -> HTMLResponse:
    """Tell an address from now on; the answer shows the secret, this once."""
    return _webhooks(me, me.desk.webhooks.add(address, kind, me.name))


@settings_pages.post("/remove")
def remove_webhook_form(
    me: Admin, id_: Annotated[str, Form(alias="id", max_length=100)]
) -> RedirectResponse:
    """Tell an address nothing any more."""
    me.desk.webhooks.remove(id_)
    return redirect("/settings/webhooks", saved=_("webhook removed"))


@settings_pages.post("/test")
def test_webhook_form(
    me: Admin, id_: Annotated[str, Form(alias="id", max_length=100)]
) -> RedirectResponse:
    """Send a test message."""
    me.desk.webhooks.test(id_)
    return redirect("/settings/webhooks", saved=_("test message sent"))


def _webhooks(me: Caller, made: webhooks.Webhook | None = None) -> HTMLResponse:
    hooks = me.desk.webhooks
    return page(
        me, "Settings", "team_webhooks.html", part="webhooks", kinds=webhooks.KINDS,
        hooks=[(hook, hooks.state_of(hook.id)) for hook in hooks.hooks], made=made,
        troubles=list(hooks.troubles),
    )  # fmt: skip


class WorkBody(fields.Body):
    """Work for somebody: a branch of the tree, or documents."""

    to: fields.Id = Field(examples=["ada"])
    branch: fields.Note = ""
    documents: fields.Ids = ()
    note: fields.Note = ""


class WebhookBody(fields.Body):
    """An address to be told: https, or http on the server itself."""

    address: Annotated[str, Field(max_length=2000)] = Field(
        examples=["https://example.org/classmark"]
    )
    kinds: Annotated[list[Kind], Field(min_length=1, max_length=2)]


class NewWebhook(fields.CallAnswer):
    """A new webhook; secret : signs its messages, told once."""

    id: str
    secret: str


AllWork = fields.listing("AllWork", "The work that is given.", work=work.WorkItem)
Mentions = fields.listing(
    "Mentions", "Comments that name you, the newest first.", mentions=mentioning.Mention
)
fields.answer(
    webhooks.Webhook, "secret", model_name="WebhookAnswer",
    doc="An address that is told, without the secret.",
)  # fmt: skip
AllWebhooks = fields.listing(
    "AllWebhooks", "All webhooks, and what went wrong last.",
    webhooks=webhooks.Webhook, troubles=webhooks.Trouble,
)  # fmt: skip


@api.get("/work", response_model=AllWork)
def list_work(me: Reader) -> Any:
    """The work that is given: to you, or, for admins, to everybody."""
    return {"work": work.work_items(me.desk, None if me.may("admin") else me.name)}


@api.post("/work", status_code=204)
def give_work(me: Admin, body: WorkBody) -> None:
    """Give somebody a branch, or documents."""
    work.give(me.desk, body.to, me.name, body.branch, body.documents, body.note)


@api.delete("/work/{number}", status_code=204, responses=fields.MISSING)
def withdraw_work(
    me: Admin, number: Annotated[int, Path(ge=0, le=fields.LARGEST)]
) -> None:
    """Take work back; what was decided of it stays."""
    with or_missing():
        work.withdraw(me.desk, number, me.name)


@api.get("/mentions", response_model=Mentions)
def list_mentions(me: Reader) -> Any:
    """Comments that name you with an @ before your name."""
    return {"mentions": mentioning.mentions(me.desk, me.name)}


@api.get("/session")
def my_session(
    me: Reader, hours: Annotated[float, Query(gt=0, le=24 * 366)] = 24
) -> SessionSummary:
    """What you have done in the last hours."""
    since = datetime.now(UTC) - timedelta(hours=hours)
    return summary(me.desk, me.name, since.isoformat(timespec="milliseconds"))


@api.get("/webhooks", response_model=AllWebhooks)
def list_webhooks(me: Admin) -> Any:
    """The addresses that are told, and what went wrong last."""
    hooks = me.desk.webhooks
    return {"webhooks": hooks.hooks, "troubles": list(hooks.troubles)}


@api.post("/webhooks", status_code=201)
def add_webhook(me: Admin, body: WebhookBody) -> NewWebhook:
    """Tell an address what is decided or trained; the secret is told this once."""
    hook = me.desk.webhooks.add(body.address, body.kinds, me.name)
    return NewWebhook(id=hook.id, secret=hook.secret)


@api.delete("/webhooks/{webhook}", status_code=204, responses=fields.MISSING)
def remove_webhook(
    me: Admin, webhook: Annotated[str, Path(min_length=1, max_length=100)]
) -> None:
    """Tell an address nothing any more."""
    with or_missing():
        me.desk.webhooks.remove(webhook)

"""The inbox: waiting documents by filters, and guesses accepted many at once."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Query
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse
from pydantic import BaseModel, Field

from classmark.language import N_, _, ngettext
from classmark.problems import refusal
from classmark.web.decide import words_of
from classmark.web.fields import (
    LARGEST,
    MISSING,
    NO_NUL,
    Body,
    CallAnswer,
    Id,
    Ids,
    Number,
    answer,
    calls,
    require_document,
    sent_once,
)
from classmark.web.guard.auth import Caller, Classifier, Reader
from classmark.web.render import address, page, redirect
from classmark.web.wording import labelling_notice
from classmark.workbench.deciding import inbox as inboxes
from classmark.workbench.deciding.decide import undo_for
from classmark.workbench.deciding.history import deciders
from classmark.workbench.deciding.inbox import Filters, Guessed
from classmark.workbench.deciding.queue import ORDERS
from classmark.workbench.deciding.suggest import (
    PRECISION,
    PlacedDocument,
    placed,
    places_in_words,
)
from classmark.workbench.deciding.together import AT_ONCE, category_named, label_all
from classmark.workbench.files.exporting import CHOSEN, download_chosen
from classmark.workbench.team.people import users as accounts
from classmark.workbench.team.work import work_items

pages = APIRouter()
api = calls("decide")

Order = Literal["uncertain", "likely", "random", "similar"]
Show = Literal["undecided", "decided", "aside", "disagreed", "all"]
Words = Annotated[str, Field(max_length=1000, pattern=NO_NUL)]
Least = Annotated[float, Field(gt=0, le=1)]
ORDER_WORDS = {
    "uncertain": N_("uncertain first"),
    "likely": N_("likely first"),
    "random": N_("random"),
    "similar": N_("similar to the last"),
}
SHOW_WORDS = {
    "undecided": N_("Undecided"),
    "decided": N_("Decided"),
    "aside": N_("Postponed"),
    "disagreed": N_("Disagreed"),
    "all": N_("All"),
}
MOST_SURE = 0.99
LEAST = (0.99, 0.95, 0.9, 0.8)


class FilterFields(BaseModel):
    """The filters, as an address or a form has them."""

    show: Show = "undecided"
    branch: Words = ""
    words: Words = ""
    who: Words = ""

    @property
    def filters(self) -> Filters:
        """The same, as the inbox takes them."""
        return Filters(self.show, self.branch, self.words, self.who)


class InboxAddress(FilterFields):
    """A page of the inbox; order "" : the one in which this person decides.

    labelled : the act that has just labelled many.
    """

    order: Order | Literal[""] = ""
    page: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    labelled: Annotated[int, Field(ge=0, le=LARGEST)] = 0


class StartForm(FilterFields):
    """The order to decide in."""

    order: Order = "uncertain"


class AcceptAddress(FilterFields):
    """The least probability of guesses that are accepted together."""

    least: Least = 0.95


def filtered(filters: Filters, path: str = "/inbox", **more: object) -> str:
    """An address with these filters.

    >>> filtered(Filters(words="salt road"), order="likely")
    '/inbox?words=salt+road&order=likely'
    """
    options = {name: str(value) for name, value in more.items() if value}
    return address(path, **filters.chosen, **options)


@pages.get("/inbox")
def inbox_page(me: Reader, query: Annotated[InboxAddress, Query()]) -> HTMLResponse:
    """The documents that the filters leave."""
    mine = me.desk.queues.of(me.name)
    order = query.order or (mine.order if mine.order in ORDERS else "uncertain")
    return page(
        me, "Inbox", "inbox.html", mine=mine, address=filtered,
        inbox=inboxes.inbox(me.desk, order, query.filters, query.page),
        orders=ORDER_WORDS, shows=SHOW_WORDS, people=deciders(me.desk),
        documents=len(me.desk.state.ids), labelled=query.labelled, at_once=AT_ONCE,
        endings=CHOSEN,
        workers=workers(me) if me.may("admin") else (),
        work_left=[w for w in work_items(me.desk, me.name) if not w.is_done],
    )  # fmt: skip


def workers(me: Caller) -> list[str]:
    """Who may be given work: users that may decide, and who has decided before."""
    users = accounts(me.desk.store)
    named = [u.name for u in users if u.role != "reader" and not u.disabled]
    return list(dict.fromkeys([*named, me.name, *deciders(me.desk)]))


@pages.post("/inbox/start")
def start_form(me: Classifier, form: Annotated[StartForm, Form()]) -> RedirectResponse:
    """Decide from now on in this order, on what the filters leave."""
    inboxes.start_in(me.desk, me.name, form.order, form.filters)
    return redirect("/decide")


@pages.get("/inbox/documents{ending}")
def chosen_file(
    me: Reader, ending: str, query: Annotated[StartForm, Query()]
) -> FileResponse:
    """The documents that the filters leave, in their order, as a file."""
    ids = inboxes.documents_in(me.desk, query.order, query.filters)
    return sent_once(*download_chosen(me.desk, ids, ending))


class LabelForm(FilterFields):
    """The ticked documents, or all that the filters leave, and their category."""

    order: Order = "uncertain"
    ticked: list[str] = Field(default_factory=list, max_length=AT_ONCE)
    label: Words = ""
    everything: bool = False


@pages.post("/inbox/label")
def label_form(me: Classifier, form: Annotated[LabelForm, Form()]) -> RedirectResponse:
    """Put the ticked documents, or all that the filters leave, into a category."""
    ids = form.ticked
    if form.everything:
        ids = inboxes.documents_in(me.desk, "random", form.filters)
    done = label_all(me.desk, ids, category_named(me.desk, form.label), me.name)
    chosen = form.filters.chosen | {"order": form.order}
    return redirect(
        "/inbox", **chosen, labelled=str(done.number), saved=labelling_notice(done)
    )


class UndoLabelsForm(FilterFields):
    """The act that labelled many documents, and the filters to go back to."""

    order: Order = "uncertain"
    number: Number = 0


@pages.post("/inbox/undo")
def undo_form(
    me: Classifier, form: Annotated[UndoLabelsForm, Form()]
) -> RedirectResponse:
    """Take back what labelled many documents at once."""
    undone = undo_for(me.desk, me.name, form.number)
    chosen = form.filters.chosen | {"order": form.order}
    return redirect("/inbox", **chosen, saved=words_of("undo", undone))


@pages.get("/inbox/accept")
def accept_page(
    me: Classifier, query: Annotated[AcceptAddress, Query()]
) -> HTMLResponse:
    """The guesses that may be accepted at once."""
    offered = inboxes.offer(me.desk, me.name, query.filters, query.least)
    return page(
        me, "Inbox", "inbox_accept.html", title=_("Accept in bulk"), offer=offered,
        picks=[json.dumps(guess) for _, guess in offered.rows],
        filters=query.filters, levels=LEAST, address=filtered,
    )  # fmt: skip


@pages.get("/inbox/place")
def place_page(
    me: Classifier, precision: Annotated[float, Query(gt=0, le=MOST_SURE)] = 0.95
) -> HTMLResponse:
    """The places in the tree that are sure, to be accepted at once."""
    offered = inboxes.offer_places(me.desk, me.name, precision)
    return page(
        me, "Inbox", "inbox_place.html", title=_("Place in bulk"),
        offer=offered,
        picks=[json.dumps(guess) for _, guess in offered.rows], levels=LEAST,
        leaves=[not me.desk.tree.children(guess.category) for _, guess in offered.rows],
    )  # fmt: skip


@pages.post("/inbox/accept")
def accept_form(
    me: Classifier,
    pick: Annotated[list[str], Form(default_factory=list, max_length=200)],
    least: Annotated[float, Form(gt=0, le=1)] = 0.95,
    places: Annotated[bool, Form()] = False,
) -> RedirectResponse:
    """Accept the guesses that were ticked."""
    try:
        guesses = [
            Guessed(str(document), str(category), float(score), int(version))
            for document, category, score, version in map(json.loads, pick)
        ]
    except (ValueError, TypeError) as problem:
        raise refusal("the selection cannot be read: reload the page") from problem
    accepted = inboxes.accept(me.desk, me.name, guesses, least, places=places)
    message = ngettext(
        "%(n)s document accepted", "%(n)s documents accepted", len(accepted.numbers)
    )
    if accepted.left:
        others = ngettext(
            "%(n)s has been decided by somebody else meanwhile",
            "%(n)s have been decided by others meanwhile",
            len(accepted.left),
        )
        message = f"{message}; {others}"
    return redirect("/inbox", saved=message)


class InboxOrder(Body, StartForm):
    """An order, and which documents.

    branch : in this category or below;  words : in the text;  who : has said something.
    """


class InboxPageQuery(InboxOrder):
    """One page of them."""

    page: Annotated[int, Field(ge=1, le=10**9)] = 1


class OfferQuery(InboxOrder):
    """Which documents; least : the least probability of their best guess."""

    least: Least


class GuessBody(Body):
    """A guess as it was offered; version : of the document then."""

    document: Id
    category: Id
    score: float = Field(allow_inf_nan=False)
    version: Number


class AcceptBody(Body):
    """The guesses that are right; places : they are places, ``least`` the precision."""

    guesses: list[GuessBody] = Field(min_length=1, max_length=inboxes.ACCEPTED_AT_ONCE)
    least: Least
    places: bool = False


class PlaceBody(Body):
    """Documents to put in the tree; none: so many of those that wait, as ``top`` says.

    precision : how many of those placed are to be right.
    """

    documents: Ids = ()
    precision: Annotated[float, Field(gt=0, le=MOST_SURE)] = PRECISION
    top: Annotated[int, Field(ge=1, le=inboxes.PLACED_AT_ONCE)] = 20


answer(
    inboxes.InboxRow,
    likely=Annotated[str, Field(examples=["87 % likely"])],
    holder=Annotated[str, Field(description="who has it open")],
)
answer(inboxes.Inbox, "filters")
PlaceAnswer = answer(
    PlacedDocument,
    doc="""The place of a document: a "leaf", an "inner" category, or "left".

    category, path : null and empty where it is left to the expert;  version : of the
    document, as ``/accept`` takes it.
    """,
    kind=str, category=str | None, path=list[str], probability=float,
)  # fmt: skip
OfferAnswer = answer(
    inboxes.Offer,
    "rows",
    doc="""Guesses that may be accepted together, the likeliest first.

    total : how many, shown or not;  wrong : how many of those shown are to be expected
    wrong, by probabilities calibrated on so many decisions.
    """,
    guesses=list[GuessBody],
)


@api.get("/inbox")
def inbox(me: Reader, query: Annotated[InboxPageQuery, Query()]) -> inboxes.Inbox:
    """The documents that wait, or others, 25 a page."""
    return inboxes.inbox(me.desk, query.order, query.filters, query.page)


@api.put("/inbox")
def choose(me: Classifier, body: InboxOrder) -> InboxOrder:
    """Be given the documents that wait in this order from now on, by ``/next``."""
    inboxes.start_in(me.desk, me.name, body.order, body.filters)
    return body


@api.get("/accept", response_model=OfferAnswer)
def offer(me: Classifier, query: Annotated[OfferQuery, Query()]) -> Any:
    """The best guesses that may be accepted at once; nothing is written."""
    offered = inboxes.offer(me.desk, me.name, query.filters, query.least)
    values = {name: getattr(offered, name) for name in offered.__slots__}
    return values | {"guesses": [guess._asdict() for _, guess in offered.rows]}


@api.post("/accept")
def accept(me: Classifier, body: AcceptBody) -> inboxes.Accepted:
    """Assign each document the category guessed, where nobody decided it meanwhile."""
    guesses = [Guessed(**guess.model_dump()) for guess in body.guesses]
    return inboxes.accept(me.desk, me.name, guesses, body.least, places=body.places)


class Places(CallAnswer):
    """Where documents were put; note : how far to rely on it."""

    places: list[PlaceAnswer]  # type: ignore[valid-type]
    note: str


@api.post("/place", responses=MISSING)
def place(me: Reader, body: PlaceBody) -> Places:
    """Put documents at a leaf, higher up, or leave them to the expert; say it only."""
    for document in body.documents:
        require_document(me.desk, document)
    places = placed(me.desk, body.documents, body.precision, body.top)
    note = places_in_words(places, body.precision)
    return Places.model_validate({"places": places, "note": note})

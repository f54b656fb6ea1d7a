"""Inbox: the documents that wait, in an order, and what is thought of them."""

from __future__ import annotations

import json
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from classmark.problems import Mistake
from classmark.web.people import Classifier, OpenDesk, Reader
from classmark.web.rendering import page
from classmark.workbench.deciding.inbox import (
    Filters,
    Guessed,
    accept,
    inbox,
    offer,
    people,
    start_in,
)
from classmark.workbench.deciding.queue import ORDERS

router = APIRouter()
Text = Annotated[str, Query(max_length=400)]
Said = Annotated[str, Form(max_length=400)]
ORDER_WORDS = {
    "uncertain": "uncertain first",
    "likely": "likely first",
    "random": "random",
    "similar": "like the last",
}
SHOW_WORDS = {
    "undecided": "Undecided",
    "decided": "Decided",
    "aside": "Set aside",
    "disagreed": "Disagreed",
    "all": "All",
}
LEAST = (0.99, 0.95, 0.9, 0.8)


def asked(
    show: Text = "undecided", branch: Text = "", words: Text = "", who: Text = ""
) -> Filters:
    """The filters, as the address has them."""
    return Filters(show, branch, words, who)


def sent(
    show: Said = "undecided", branch: Said = "", words: Said = "", who: Said = ""
) -> Filters:
    """The filters, as a form has them."""
    return Filters(show, branch, words, who)


Asked = Annotated[Filters, Depends(asked)]
Sent = Annotated[Filters, Depends(sent)]


def address(filters: Filters, path: str = "/inbox", **more: object) -> str:
    """An address with these filters.

    >>> address(Filters(words="salt road"), order="likely")
    '/inbox?words=salt+road&order=likely'
    """
    told = {**filters.chosen, **{k: str(v) for k, v in more.items() if v}}
    return f"{path}?{urlencode(told)}" if told else path


@router.get("/inbox")
def show(
    request: Request,
    desk: OpenDesk,
    me: Reader,
    filters: Asked,
    order: Text = "",
    number: Annotated[int, Query(alias="page", ge=1, le=1_000_000)] = 1,
) -> HTMLResponse:
    """The documents that the filters leave."""
    mine = desk.queue_of(me.name)
    chosen = order or (mine.order if mine.order in ORDERS else "uncertain")
    found = inbox(desk, chosen, filters, number)
    values = {"inbox": found, "orders": ORDER_WORDS, "shows": SHOW_WORDS}
    values |= {"mine": mine, "people": people(desk), "address": address}
    values |= {"documents": len(desk.state.ids), "categories": desk.categories}
    return page(request, "Inbox", "inbox.html", **values)


@router.post("/inbox/start")
def start(
    desk: OpenDesk, me: Classifier, filters: Sent, order: Said = "uncertain"
) -> RedirectResponse:
    """Decide from now on in this order, on what the filters leave."""
    start_in(desk, me.name, order, filters)
    return RedirectResponse("/decide", 303)


@router.get("/inbox/accept")
def preview(
    request: Request,
    desk: OpenDesk,
    me: Classifier,
    filters: Asked,
    least: Annotated[float, Query(gt=0, le=1)] = 0.95,
) -> HTMLResponse:
    """The guesses that may be accepted at once."""
    found = offer(desk, me.name, filters, least)
    values = {"offer": found, "filters": filters, "levels": LEAST, "address": address}
    picks = [json.dumps(guess) for _, guess in found.rows]
    return page(
        request,
        "Inbox",
        "inbox_accept.html",
        title="Accept at once",
        picks=picks,
        **values,
    )


@router.post("/inbox/accept")
def take(
    desk: OpenDesk,
    me: Classifier,
    pick: Annotated[list[str], Form(default_factory=list, max_length=200)],
    least: Annotated[float, Form(gt=0, le=1)] = 0.95,
) -> RedirectResponse:
    """Accept the guesses that were ticked."""
    done = accept(desk, me.name, [_guess(each) for each in pick], least)
    said = f"accepted {len(done.numbers)} documents"
    if done.left:
        said += f"; {len(done.left)} were decided by others meanwhile"
    return RedirectResponse(f"/inbox?{urlencode({'saved': said})}", 303)


def _guess(text: str) -> Guessed:
    try:
        document, category, score, version = json.loads(text)
        return Guessed(str(document), str(category), float(score), int(version))
    except (ValueError, TypeError) as problem:
        raise Mistake("pick: send the guesses as the page has them") from problem

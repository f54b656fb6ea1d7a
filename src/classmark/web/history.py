"""The log: every act, corrected or undone, one or a range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Form, Query
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel, ConfigDict, Field

from classmark.language import N_, _, ngettext
from classmark.web.decide import VERBS, require_own, words_of
from classmark.web.fields import LARGEST, NO_NUL, Body, Id, Note, Number, answer, calls
from classmark.web.guard.auth import Classifier, Reader
from classmark.web.render import page, redirect
from classmark.workbench.categories.find import BETWEEN, of_path, path_of
from classmark.workbench.deciding import history as log
from classmark.workbench.deciding.decide import SavedDecision, undo_for
from classmark.workbench.deciding.history import HistoryFilter, HistoryLine, TakenBack
from classmark.workbench.files.documents import past_imports
from classmark.workbench.files.uploads import MOST_IMPORTS
from classmark.workbench.store.log import IMPORT
from classmark.workbench.store.store import titles
from classmark.workbench.team.desk import Desk

pages = APIRouter()
api = calls("history")

Word = Annotated[str, Field(max_length=1000, pattern=NO_NUL)]
Day = Annotated[str, Field(max_length=10, examples=["2026-03-01"])]
FormText = Annotated[str, Form(max_length=2000)]
FormNumber = Annotated[int, Form(ge=0, le=LARGEST)]
ALL_VERBS = VERBS | {
    "unsure": N_("unsure"),
    "primary": N_("primary"),
    "retract": N_("no longer preferred"),
    "skip": N_("skipped"),
    "note": N_("comment"),
    "settle": N_("settled"),
    "replace": N_("text replaced"),
    "import": N_("imported"),
    "add": N_("category added"),
    "rename": N_("category renamed"),
    "merge": N_("category merged"),
    "split": N_("category split"),
    "move": N_("category moved"),
    "retire": N_("category retired"),
    "build": N_("tree built"),
}


class LogFields(BaseModel):
    """Which lines of the log; what is empty is not asked for."""

    model_config = ConfigDict(str_strip_whitespace=True)

    who: Word = ""
    act: Word = ""
    document: Word = ""
    category: Word = ""
    since: Word = ""
    until: Word = ""
    state: Word = ""
    within: Word = ""

    @property
    def as_filter(self) -> HistoryFilter:
        """The same, as the log takes it."""
        return HistoryFilter(**self.model_dump(include=set(LogFields.model_fields)))


class HistoryAddress(LogFields):
    """A page of the log; before : only lines with a lower number."""

    before: Number | None = None


class RangeAddress(LogFields):
    """The acts from one number to another."""

    first: Number = 0
    last: Number = 0


@pages.get("/history")
def history_page(me: Reader, query: Annotated[HistoryAddress, Query()]) -> HTMLResponse:
    """A page of the log."""
    if BETWEEN.strip() in query.category:
        category = of_path(me.desk, query.category) or query.category
        query = query.model_copy(update={"category": category})
    lines = log.past(me.desk, query.as_filter, query.before, fold=True)
    return page(
        me, "History", "history.html", log=lines, before=query.before,
        imports=_imports(me.desk, lines.lines), **_in_words(me.desk, query.as_filter),
    )  # fmt: skip


def _imports(desk: Desk, lines: Sequence[HistoryLine]) -> set[int]:
    """Which of the lines are imports that can be undone, or brought back, as one."""
    if not any(line.act == IMPORT for line in lines):
        return set()
    return {each.act for each in past_imports(desk, MOST_IMPORTS)}


@pages.post("/history/undo")
def undo_form(
    me: Classifier, number: FormNumber, back: FormText = ""
) -> RedirectResponse:
    """Take back one act, or bring it back."""
    require_own(me, number, number)
    return _back(back, words_of("undo", undo_for(me.desk, me.name, number)))


@pages.post("/history/correct")
def correct_form(
    me: Classifier,
    number: FormNumber,
    category: FormText,
    note: FormText = "",
    back: FormText = "",
) -> RedirectResponse:
    """Put another category in the place of the one that an act names."""
    saved = log.correct(me.desk, number, category, me.name, note.strip())
    return _back(back, words_of("accept", saved))


@pages.get("/history/range")
def range_page(me: Classifier, query: Annotated[RangeAddress, Query()]) -> HTMLResponse:
    """What taking back a range would change."""
    first, last, lines = query.first, query.last, query.as_filter
    require_own(me, first, last, lines)
    undone = log.look_at_range(me.desk, first, last, lines)
    documents = [change.document for change in undone.changes[:100]]
    return page(
        me, "History", "history_range.html", title=_("Undo a range"),
        undone=undone, titles=titles(me.desk.store, documents),
        **_in_words(me.desk, lines),
    )  # fmt: skip


@pages.post("/history/range")
def range_form(
    me: Classifier, first: FormNumber, last: FormNumber, back: FormText = ""
) -> RedirectResponse:
    """Take back a range: all of it, or nothing."""
    lines = LogFields(**dict(parse_qsl(back))).as_filter
    require_own(me, first, last, lines)
    undone = log.undo_range(me.desk, first, last, me.name, lines)
    many = len(undone.acts) + len(undone.again)
    return _back(back, ngettext("%(n)s action undone", "%(n)s actions undone", many))


def _in_words(desk: Desk, query: HistoryFilter) -> dict[str, Any]:
    """What the templates need to name people, acts and categories."""
    return {
        "wanted": query,
        "query": urlencode(query.asked),
        "people": log.values_of(desk, "who"),
        "acts": log.values_of(desk, "act"),
        "verbs": ALL_VERBS,
        "category_path": path_of(desk, query.category),
    }


def _back(query: str, saved: str) -> RedirectResponse:
    """To the page one came from, and what was done."""
    return redirect("/history", **{**dict(parse_qsl(query)), "saved": saved})


class LogQuery(Body, LogFields):
    """Which lines of the log; what is empty is not asked for."""

    model_config = ConfigDict(str_strip_whitespace=False)

    since: Day = ""
    until: Day = ""
    state: Literal["", "holds", "undone"] = ""


class LogPageQuery(LogQuery):
    """A page of them; before : only lines with a lower number."""

    before: Number | None = None
    top: Annotated[int, Field(ge=1, le=log.MOST)] = 50


class CorrectBody(Body):
    """Another category in the place of the one that an act names."""

    number: Number
    category: Id
    note: Note = ""


class RangeBody(Body):
    """The acts from one number to another, those that are asked for."""

    first: Number
    last: Number
    asked: LogQuery = Field(default_factory=LogQuery)


answer(log.HistoryLine, act=Annotated[str, Field(examples=["assign"])])
answer(TakenBack, "documents")


@api.get("/history")
def history(me: Reader, query: Annotated[LogPageQuery, Query()]) -> log.HistoryPage:
    """The newest lines of the log that are asked for."""
    return log.past(me.desk, query.as_filter, query.before, query.top)


@api.post("/correct")
def correct(me: Classifier, body: CorrectBody) -> SavedDecision:
    """Put another category in the place of the one that an act names: two new acts."""
    return log.correct(me.desk, body.number, body.category, me.name, body.note)


@api.post("/undo/preview")
def preview(me: Classifier, body: RangeBody) -> TakenBack:
    """What taking back a range would do; nothing is written."""
    return log.look_at_range(me.desk, body.first, body.last, body.asked.as_filter)


@api.post("/undo/range")
def undo_range(me: Classifier, body: RangeBody) -> TakenBack:
    """Take back the acts of a range: all of them, or nothing.

    Acts of others, and acts on the taxonomy, are taken back by admins only.
    """
    lines = body.asked.as_filter
    require_own(me, body.first, body.last, lines)
    return log.undo_range(me.desk, body.first, body.last, me.name, lines)

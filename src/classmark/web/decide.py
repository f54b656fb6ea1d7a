"""Decide on documents: the page, and the calls that suggest, decide and undo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Form, Query
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, Field, model_validator
from starlette.background import BackgroundTask

from classmark.language import N_, _, clock
from classmark.problems import refusal
from classmark.web import fields
from classmark.web.guard.auth import Caller, Classifier, Reader
from classmark.web.guard.errors import RefusedRequest
from classmark.web.render import fragment, page, redirect
from classmark.workbench.deciding import decide as deciding
from classmark.workbench.deciding import suggest as suggesting
from classmark.workbench.deciding.decide import Conflict, Decision, SavedDecision, Seen
from classmark.workbench.deciding.due import training_due
from classmark.workbench.deciding.history import HistoryFilter, first_not_own
from classmark.workbench.deciding.opinions import differing, disagreements, opinions
from classmark.workbench.deciding.sheet import (
    Choice,
    Sheet,
    choice_of,
    lay_out,
    notes_on,
)
from classmark.workbench.deciding.similar import Alike, alike, nearly_same
from classmark.workbench.deciding.why import MeaningReasons, meaning_reasons
from classmark.workbench.results import Explained
from classmark.workbench.store.log import now
from classmark.workbench.team.agreement import to_read_again
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.progress import pace

pages = APIRouter()
api = fields.calls("decide")
suggest_api = fields.calls("suggest")

Names = Annotated[tuple[str, ...], Field(max_length=1000)]
Reading = Literal["", "second", "settle"]
VERBS = {
    "assign": N_("assigned"),
    "primary": N_("primary"),
    "reject": N_("rejected"),
    "remove": N_("withdrawn"),
    "unsure": N_("unsure"),
    "prefer": N_("preferred"),
    "undo": N_("undone"),
}


class DecisionForm(BaseModel):
    """The form of a document.

    stood : categories of which something was said before, as they were shown; those
    that are not named any more are taken back.  above, below : the winners and losers
    of preferences, in one order.  reading : a second one, or the one that settles.
    """

    act: Literal["accept", "skip", "unsure", "note", "undo", "redo"] = "accept"
    assign: Names = ()
    primary: Names = ()
    reject: Names = ()
    stood: Names = ()
    above: Names = ()
    below: Names = ()
    note: Annotated[str, Field(max_length=4000)] = ""
    version: fields.Number | None = None
    reading: Reading = ""

    def decision(self) -> Decision:
        """As it is logged.

        >>> DecisionForm(assign=["bees"], stood=["bees", "wax"]).decision().remove
        ('wax',)
        """
        if len(self.above) != len(self.below):
            raise refusal("a preference has two categories: choose it again")
        named = {*self.assign, *self.primary, *self.reject}
        return Decision(
            self.assign,
            self.primary,
            self.reject,
            remove=tuple(name for name in self.stood if name not in named),
            over=tuple(zip(self.above, self.below, strict=True)),
        )


@pages.get("/decide")
def first_page(me: Reader, reading: Reading = "") -> Response:
    """Go to the next document that waits."""
    if not (me.desk.state.ids and me.desk.categories):
        return redirect("/start")
    document = next_of(me.desk, me.name, reading)
    if document is not None:
        return _to_document(document, reading)
    return page(
        me, "Decide", "decide_done.html", title=_("All caught up"), reading=reading,
        **_training(me.desk),
    )  # fmt: skip


@pages.post("/decide")
def undo_form(me: Classifier, form: Annotated[DecisionForm, Form()]) -> Response:
    """Undo or redo where no document is shown."""
    if form.act not in ("undo", "redo"):
        raise refusal("no document is shown: open one, then decide on it")
    saved = ACTS[form.act](me.desk, "", form, me.name)
    return _to_document(saved.next, form.reading, words_of(form.act, saved))


@pages.get("/decide/{document:path}")
def decide_page(me: Reader, document: str, reading: Reading = "") -> HTMLResponse:
    """Show a document; opinions of other people only where the reading settles."""
    sheet = lay_out(me.desk, document, me.name, blind=reading == "second")
    others = opinions(me.desk, sheet.id) if reading == "settle" else []
    prefetch = BackgroundTask(_lay_out_next, me.desk, me.name, document)
    return page(
        me, "Decide", "decide.html", title=sheet.title, sheet=sheet,
        reading=reading, verbs=VERBS,
        left=len(me.desk.categories) - len(sheet.choices),
        listed=sheet.choices + tuple(sorted(sheet.others, key=lambda c: c.path)),
        notes=() if sheet.blind else notes_on(me.desk.store, sheet.id),
        opinions=others, pace=pace(me.desk.store),
        differing=differing([each for each in others if not each.imported]),
        background=None if reading else prefetch, **_training(me.desk),
    )  # fmt: skip


def _training(desk: Desk) -> dict[str, object]:
    """What a page says of training."""
    return {"due": training_due(desk), "training": bool(desk.jobs.running("train"))}


@pages.post("/decide/{document:path}")
def decide_form(
    me: Classifier, document: str, form: Annotated[DecisionForm, Form()]
) -> Response:
    """Write what was decided, then show the next document."""
    try:
        saved = ACTS[form.act](me.desk, document, form, me.name)
    except Conflict as conflict:
        return _conflict_page(me, conflict)
    onward = saved.next
    if form.act == "note":
        onward = document
    elif form.reading and form.act not in ("undo", "redo"):
        onward = next_of(me.desk, me.name, form.reading, document)
    return _to_document(onward, form.reading, words_of(form.act, saved))


@pages.get("/choice")
def choice_part(me: Reader, document: str, category: str) -> HTMLResponse:
    """What there is to know of a category that was added to the list."""
    if category not in me.desk.categories:
        raise refusal("there is no category %(id)r: search for another", id=category)
    choice = choice_of(me.desk, me.desk.store.record(document), category)
    return fragment("decide_part.html", choice=choice)


@pages.get("/why")
def why_part(me: Reader, document: str, category: str) -> HTMLResponse:
    """The sentences and documents whose meaning speaks for a category."""
    text = me.desk.text_of(me.desk.store.record(document))
    (reasons,) = meaning_reasons(me.desk, text, [category], document)
    return fragment("decide_why.html", reasons=reasons)


@pages.get("/alike")
def alike_part(me: Reader, document: str) -> HTMLResponse:
    """The documents most like one."""
    return fragment("decide_alike.html", documents=alike(me.desk, document))


@pages.get("/twins")
def twins_part(me: Reader, document: str) -> HTMLResponse:
    """The documents that are nearly the same as one; nothing where none is."""
    return fragment("decide_twins.html", documents=nearly_same(me.desk, document))


def next_of(desk: Desk, who: str, reading: Reading, after: str = "") -> str | None:
    """The next document of a reading; None: there is none left."""
    match reading:
        case "second":
            ids = to_read_again(desk, who, 2)
        case "settle":
            ids = [each.document for each in desk.once(disagreements)]
        case _:
            return deciding.next_for(desk, who, after or None)
    return next((id_ for id_ in ids if id_ != after), None)


def words_of(act: str, saved: SavedDecision) -> str:
    """What is shown once an act is on disk, by the clock of this machine."""
    verb = {"undo": _("undone"), "redo": _("redone")}.get(act, _("saved"))
    return f"{verb} #{saved.number} · {clock(saved.at, 'time')}"


def require_own(
    me: Caller, first: int, last: int, query: HistoryFilter | None = None
) -> None:
    """Refuse to take back acts of others, or on the taxonomy, to all but admins.

    Who is no admin corrects a label of somebody else by a decision of their own.
    """
    if me.may("admin"):
        return
    number = first_not_own(me.desk, first, last, me.name, query)
    if number is not None:
        raise RefusedRequest(
            403,
            _(
                "No. %(number)s is by somebody else, or changed the taxonomy: only an "
                "admin can undo it. Nothing was changed. To change a label, correct it "
                "or decide on the document again; to undo a range of your own, filter "
                "by your name first.",
                number=number,
            ),
        )


def _accept(desk: Desk, document: str, form: DecisionForm, who: str) -> SavedDecision:
    """Write what was chosen; of a reading that settles, which labels are to stand."""
    if form.reading != "settle":
        decision = form.decision()
        return deciding.decide_on(desk, document, decision, None, who, form.version)
    labels = dict.fromkeys(form.assign, False) | dict.fromkeys(form.primary, True)
    logged = deciding.settle(desk, document, labels, who, form.note, form.version)
    return SavedDecision(
        logged.numbers[0], now(), logged.said, None, document, logged.numbers
    )


ACTS: Mapping[str, Callable[[Desk, str, DecisionForm, str], SavedDecision]] = {
    "accept": _accept,
    "unsure": lambda desk, document, form, who: deciding.decide_on(
        desk, document, Decision(aside=True), None, who, form.version
    ),
    "skip": lambda desk, document, _, who: deciding.skip_for(desk, document, who),
    "note": lambda desk, document, form, who: deciding.note_on(
        desk, document, form.note, who
    ),
    "undo": lambda desk, _, __, who: deciding.undo_for(desk, who),
    "redo": lambda desk, _, __, who: deciding.redo_for(desk, who),
}


def _conflict_page(me: Caller, conflict: Conflict) -> HTMLResponse:
    """Ask which of two decisions holds; nothing of yours is written yet."""
    sheet, mine = lay_out(me.desk, conflict.document, me.name), conflict.yours
    by_verb = {
        "primary": mine.primary,
        "assign": tuple(id_ for id_ in mine.assign if id_ not in mine.primary),
        "reject": mine.reject,
        "remove": mine.remove,
    }
    yours = [(verb, id_) for verb, ids in by_verb.items() for id_ in ids]
    theirs = {act.category for act in conflict.theirs}
    return page(
        me, "Decide", "decide_conflict.html", status_code=409,
        title=_("Two decisions on %(title)s", title=sheet.title), sheet=sheet,
        conflict=conflict,
        version=max(act.number for act in conflict.theirs), verbs=VERBS,
        stands=[c.category for c in sheet.choices + sheet.others if c.stands],
        your_acts=yours, yours_named={id_ for _, id_ in yours}, theirs_named=theirs,
    )  # fmt: skip


def _lay_out_next(desk: Desk, who: str, document: str) -> None:
    after = next_of(desk, who, "", document)
    if after is not None:
        desk.prefetch(who, after)


def _to_document(
    document: str | None, reading: Reading, saved: str = ""
) -> RedirectResponse:
    path = "/decide" if document is None else f"/decide/{quote(document, safe='')}"
    return redirect(path, reading=reading, saved=saved)


Pair = Annotated[tuple[fields.Id, ...], Field(min_length=2, max_length=2)]
Blind = Annotated[bool, Query(description="a second reading: hide what was said")]
Few = Annotated[int, Query(ge=1, le=100)]


class SeenBody(fields.Body):
    """Where a category stood when the expert decided."""

    model: Annotated[str, Field(max_length=100)] = ""
    rank: Annotated[int, Field(ge=1, le=10**9)] | None = None
    score: float | None = Field(None, allow_inf_nan=False)


class DecisionBody(fields.Body):
    """What is said of one document at once, all of it or nothing.

    version : of the sheet it was decided on; if somebody has said something since, the
    call is refused (409);  seen : category → what was shown of it, else as suggested.
    """

    document: fields.Id = Field(examples=["0231"])
    assign: fields.Ids = Field((), examples=[["local.coast"]])
    primary: fields.Ids = Field(
        (), description="labels that stand above its other ones"
    )
    reject: fields.Ids = Field((), description="not these")
    unsure: fields.Ids = Field((), description="neither nor")
    remove: fields.Ids = Field((), description="take back what was said of these")
    over: tuple[Pair, ...] = Field(
        (), max_length=1000, description="pairs: the first above the second"
    )
    aside: bool = Field(False, description="leave the document for later")
    note: fields.Note = ""
    version: fields.Number | None = None
    seen: dict[fields.Id, SeenBody] | None = Field(None, max_length=1000)


class DocumentBody(fields.Body):
    """One document."""

    document: fields.Id


class NoteBody(DocumentBody):
    """A note on a document."""

    text: fields.Note


class UndoBody(fields.Body):
    """What to take back; null: what you said last."""

    number: fields.Number | None = None


class NextDocument(fields.CallAnswer):
    """The next document for you; null: none waits."""

    document: str | None


class ShortField(fields.InOrder):
    """A short field of the document."""

    name: str
    text: str


SavedAnswer = fields.answer(
    SavedDecision,
    number=Annotated[
        int, Field(description="of its first act, by which all of it is undone")
    ],
    said=Annotated[str, Field(examples=["0231: assign local.coast"])],
)
fields.answer(
    Choice,
    likely=Annotated[str, Field(examples=["87 %"])],
    examples=list[fields.Titled],
)
fields.answer(
    Sheet,
    "words",
    "more",
    "learned",
    "calibrated_on",
    doc="""A document, and what may be said of it.

    version : give it with the decision, so that none of two is lost;  calibrated : what
    the percentages rest on;  ranked : how many categories are ranked.
    """,
    about=list[ShortField],
    preferred=list[fields.PreferredPair],
)
Similar = fields.listing(
    "Similar", "The documents most like one, the most like first.", similar=Alike
)


@api.post(
    "/decide", responses=fields.MISSING | fields.CONFLICT, response_model=SavedAnswer
)
def decide(me: Classifier, body: DecisionBody) -> Response:
    """Decide on a document; it is on disk when this is answered."""
    fields.require_document(me.desk, body.document)
    decision = Decision(**body.model_dump(exclude={"document", "version", "seen"}))
    seen = None
    if body.seen is not None:
        seen = {id_: Seen(**dict(shown)) for id_, shown in body.seen.items()}
    saved = deciding.decide_on(
        me.desk, body.document, decision, seen, me.name, body.version
    )
    return fields.as_json(SavedAnswer.model_validate(saved))


@api.post("/skip", responses=fields.MISSING)
def skip(me: Classifier, body: DocumentBody) -> SavedDecision:
    """Put a document at the end of your queue."""
    fields.require_document(me.desk, body.document)
    return deciding.skip_for(me.desk, body.document, me.name)


@api.post("/note", responses=fields.MISSING)
def note(me: Classifier, body: NoteBody) -> SavedDecision:
    """Write a note on a document."""
    fields.require_document(me.desk, body.document)
    return deciding.note_on(me.desk, body.document, body.text, me.name)


@api.get("/next")
def next_document(me: Classifier, after: fields.After = None) -> NextDocument:
    """The next document for you, in your order; others are not given it meanwhile."""
    return NextDocument(document=deciding.next_for(me.desk, me.name, after))


@api.post("/undo")
def undo(me: Classifier, body: UndoBody) -> SavedDecision:
    """Take back an act, with all that was said with it; the log gets one more line.

    Acts of others, and acts on the taxonomy, are taken back by admins only.
    """
    if body.number is not None:
        require_own(me, body.number, body.number)
    return deciding.undo_for(me.desk, me.name, body.number)


@api.post("/redo")
def redo(me: Classifier) -> SavedDecision:
    """Bring back what you undid last, unless you decided something since."""
    return deciding.redo_for(me.desk, me.name)


@api.get("/sheet/{document:path}", responses=fields.MISSING)
def sheet(me: Reader, document: fields.InPath, *, blind: Blind = False) -> Sheet:
    """Lay a document out: laid out again, it is the same until something is said."""
    fields.require_document(me.desk, document)
    return lay_out(me.desk, document, me.name, blind=blind)


@api.get("/similar/{document:path}", responses=fields.MISSING, response_model=Similar)
def similar(me: Reader, document: fields.InPath, top: Few = 6) -> Any:
    """The documents most like one, by words, and by meaning where it has vectors."""
    fields.require_document(me.desk, document)
    return {"similar": alike(me.desk, document, top)}


class SuggestOptions(fields.Body):
    """How many suggestions, and how much of their reasons."""

    top: int = Field(5, ge=1, le=100, description="how many categories")
    why: int = Field(
        0,
        ge=0,
        le=50,
        description="so many words for and against each, and the parts of words and "
        "meaning; 0: none",
    )
    min_probability: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="leave out what is less likely; needs a calibrated model"
    )


class TextOrDocument(fields.Body):
    """A text, or the id of a document that the project has."""

    text: fields.Text | None = Field(None, examples=["smoke calms the bees in a hive"])
    document: fields.Id | None = Field(None, examples=["0231"])

    @model_validator(mode="after")
    def _either(self) -> TextOrDocument:
        if (self.text is None) == (self.document is None):
            raise ValueError("give a text or a document, one of them")
        return self


class SuggestBody(SuggestOptions, TextOrDocument):
    """One text to suggest categories for."""


class WhyBody(TextOrDocument):
    """A text or a document, and the category that is to be explained."""

    category: fields.Id = Field(examples=["local.coast"])


class SuggestBatchBody(SuggestOptions):
    """Several texts to suggest categories for."""

    items: list[TextOrDocument] = Field(min_length=1, max_length=256)


fields.answer(
    Explained,
    category=Annotated[str, Field(examples=["local.coast"])],
    path=Annotated[list[str], Field(examples=[["Local history", "Coast"]])],
)
Suggestions = fields.listing(
    "Suggestions", "The categories of one text, best first.", suggestions=Explained
)
SuggestionBatch = fields.listing(
    "SuggestionBatch",
    "The categories of each text, in the order in which the texts were given.",
    items=Suggestions,
)


@suggest_api.post("/suggest", responses=fields.MISSING, response_model=Suggestions)
def suggest(me: Reader, body: SuggestBody) -> Response:
    """Suggest categories for a text."""
    suggestions = _suggestions(me.desk, _text_of(me.desk, body), body)
    return fields.as_json(Suggestions.model_validate(suggestions))


@suggest_api.post(
    "/suggest/batch", responses=fields.MISSING, response_model=SuggestionBatch
)
def suggest_batch(me: Reader, body: SuggestBatchBody) -> Response:
    """Suggest categories for up to 256 texts at once; none for one without words."""
    none: dict[str, list[Explained]] = {"suggestions": []}
    texts = (_text_of(me.desk, item) for item in body.items)
    items = [_suggestions(me.desk, t, body) if t.strip() else none for t in texts]
    return fields.as_json(SuggestionBatch.model_validate({"items": items}))


@suggest_api.post("/suggest/why", responses=fields.MISSING)
def why(me: Reader, body: WhyBody) -> MeaningReasons:
    """The sentences and training documents whose meaning speaks for a category.

    They are looked for when this is called: each sentence is encoded, at most 50.
    """
    fields.category_named(me.desk, body.category)
    text, document = _text_of(me.desk, body), body.document or ""
    (reasons,) = meaning_reasons(me.desk, text, [body.category], document)
    return reasons


def _text_of(desk: Desk, item: TextOrDocument) -> str:
    if item.document is None:
        return item.text or ""
    return desk.text_of(fields.record_named(desk, item.document))


def _suggestions(
    desk: Desk, text: str, options: SuggestOptions
) -> dict[str, list[Explained]]:
    chosen = (options.top, options.why, options.min_probability)
    return {"suggestions": suggesting.suggest(desk, text, *chosen)}

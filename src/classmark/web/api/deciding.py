"""Decide on documents: what is next, what is said, and taking it back."""

from __future__ import annotations

from typing import Annotated

from fastapi import Response
from pydantic import Field

from classmark.web.api.calls import CONFLICT, MISSING, calls, told
from classmark.web.api.naming import require_document
from classmark.web.api.shapes import After, Answer, Body, Id, Note, Number
from classmark.web.owning import require_own
from classmark.web.people import Classifier, OpenDesk
from classmark.workbench.deciding import decide as deciding
from classmark.workbench.deciding.decide import Decision, Seen

router = calls("decide")
Ids = Annotated[list[Id], Field(max_length=1000)]
Pair = Annotated[list[Id], Field(min_length=2, max_length=2)]
BOTH = MISSING | CONFLICT


class Shown(Body):
    """Where a category stood when the expert decided."""

    model: Annotated[str, Field(max_length=100)] = ""
    rank: Annotated[int, Field(ge=1, le=10**9)] | None = None
    score: float | None = Field(None, allow_inf_nan=False)


class Said(Body):
    """What is said of one document at once, all of it or nothing.

    version : of the sheet it was decided on; if somebody has said something since, the
    call is refused (409);  seen : category → what was shown of it, else as suggested.
    """

    document: Id = Field(examples=["0231"])
    assign: Ids = Field([], examples=[["local.coast"]])
    primary: Ids = Field([], description="labels that stand above its other ones")
    reject: Ids = Field([], description="not these")
    unsure: Ids = Field([], description="neither nor")
    remove: Ids = Field([], description="take back what was said of these")
    over: list[Pair] = Field(
        [], max_length=1000, description="pairs: the first above the second"
    )
    aside: bool = Field(False, description="leave the document for later")
    note: Note = ""
    version: Number | None = None
    seen: dict[Id, Shown] | None = Field(None, max_length=1000)


class Named(Body):
    """One document."""

    document: Id


class Noted(Named):
    """A note on a document."""

    text: Note


class Taken(Body):
    """What to take back; null: what you said last."""

    number: Number | None = None


class Saved(Answer):
    """What is on disk now, and which document is next for you; null: none waits."""

    number: int = Field(description="of its first act, by which all of it is undone")
    numbers: list[int]
    at: str
    said: str = Field(examples=["0231: assign local.coast"])
    document: str
    next: str | None


class Next(Answer):
    """The next document for you; null: none waits."""

    document: str | None


@router.post("/decide", responses=BOTH, response_model=Saved)
def decide(desk: OpenDesk, who: Classifier, said: Said) -> Response:
    """Decide on a document; it is on disk when this is answered."""
    require_document(desk, said.document)
    saved = deciding.decide_on(
        desk, said.document, _decision(said), _seen(said), who.name, said.version
    )
    return told(Saved.model_validate(saved))


@router.post("/skip", responses=MISSING)
def skip(desk: OpenDesk, who: Classifier, named: Named) -> Saved:
    """Put a document at the end of your queue."""
    require_document(desk, named.document)
    return Saved.model_validate(deciding.skip_for(desk, named.document, who.name))


@router.post("/note", responses=MISSING)
def note(desk: OpenDesk, who: Classifier, noted: Noted) -> Saved:
    """Write a note on a document."""
    require_document(desk, noted.document)
    saved = deciding.note_on(desk, noted.document, noted.text, who.name)
    return Saved.model_validate(saved)


@router.get("/next")
def next_document(desk: OpenDesk, who: Classifier, after: After = None) -> Next:
    """The next document for you, in your order; others are not given it meanwhile."""
    return Next(document=deciding.next_for(desk, who.name, after))


@router.post("/undo")
def undo(desk: OpenDesk, who: Classifier, taken: Taken) -> Saved:
    """Take back an act, with all that was said with it; the log gets one more line.

    Acts of others, and acts on the taxonomy, are taken back by admins only.
    """
    if taken.number is not None:
        require_own(desk, who, taken.number, taken.number)
    return Saved.model_validate(deciding.undo_for(desk, who.name, taken.number))


@router.post("/redo")
def redo(desk: OpenDesk, who: Classifier) -> Saved:
    """Bring back what you undid last, unless you decided something since."""
    return Saved.model_validate(deciding.redo_for(desk, who.name))


def _decision(said: Said) -> Decision:
    return Decision(
        tuple(said.assign),
        tuple(said.primary),
        tuple(said.reject),
        tuple(said.unsure),
        tuple(said.remove),
        tuple((winner, loser) for winner, loser in said.over),
        aside=said.aside,
        note=said.note,
    )


def _seen(said: Said) -> dict[str, Seen] | None:
    if said.seen is None:
        return None
    return {id_: Seen(s.model, s.rank, s.score) for id_, s in said.seen.items()}

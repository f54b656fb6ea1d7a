"""How far the work is, whether the suggestions get better, and whether one may stop."""

from __future__ import annotations

from pydantic import Field

from classmark.web.api.calls import calls
from classmark.web.api.shapes import Answer, Counted, Value
from classmark.web.people import OpenDesk, Reader
from classmark.workbench.team import progress as calibration
from classmark.workbench.team import progress as desk_progress

router = calls("progress")


class Step(Answer):
    """Means over some decisions, one after the other; upto : how many were before.

    effort : categories looked at until the last right one;  first, five : precision@1
    and @5;  found : the share of the right ones among the first five.
    """

    upto: int
    documents: int
    effort: Value
    first: Value
    five: Value
    found: Value
    one_error: Value
    average_precision: Value


class Hint(Answer):
    """Whether the rest may be accepted unread.

    wrong of the last decisions had a wrong first suggestion;  most : the share of wrong
    ones at most, with 95 % confidence.
    """

    decisions: int
    wrong: int
    most: float
    waiting: int
    wrong_at_most: int
    stop: bool


class Share(Answer):
    """What one person did."""

    who: str
    decisions: int
    means: Step | None


class Progress(Answer):
    """How far the work is and how it goes; null: too little was decided yet."""

    documents: int
    decided: int
    aside: int
    waiting: int
    decisions: int
    measured: int
    unknown: int
    whole: Step | None
    recent: Step | None
    steps: list[Step]
    popular: Value
    unordered: Value
    saved: Value = Field(description="the share of looking that the ranking saves")
    hint: Hint | None
    tail: list[Counted]
    unused: int
    days: list[Counted]
    people: list[Share]


class Bin(Answer):
    """Suggestions about equally likely: promised, and the share that came true."""

    promised: float
    kept: float
    count: int


class Calibration(Answer):
    """What was promised and what came true; reason : why nothing is known, else ""."""

    documents: int
    bins: list[Bin]
    error: Value
    reason: str
    waits: bool


@router.get("/progress")
def progress(desk: OpenDesk, _: Reader) -> Progress:
    """How far the work is, and how well the suggestions fit."""
    return Progress.model_validate(desk_progress.progress(desk))


@router.get("/calibration")
def promises(desk: OpenDesk, _: Reader) -> Calibration:
    """Whether what is called 80 % likely comes true eight times in ten."""
    return Calibration.model_validate(calibration.promises(desk))

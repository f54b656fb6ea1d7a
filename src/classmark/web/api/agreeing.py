"""Several experts: how far they agree, where they differ, and what is to stand."""

from __future__ import annotations

from pydantic import Field

from classmark.web.api.calls import MISSING, calls
from classmark.web.api.naming import require_document
from classmark.web.api.shapes import (
    Answer,
    Body,
    Id,
    Note,
    Top,
    Value,
    Written,
    written,
)
from classmark.web.people import Classifier, OpenDesk, Reader
from classmark.workbench.team import agreement as desk_agreement

router = calls("agreement")


class Pair(Answer):
    """Two people; same : of how many documents their labels are the same.

    alike : the mean share of labels in common;  kappa : Cohen's, over every category on
    every document;  main, kappa_main : where both name one main category.
    """

    first: str
    second: str
    documents: int
    same: int
    alike: Value
    kappa: Value
    main: int
    kappa_main: Value


class Parted(Answer):
    """A category; both : pairs of readings that give it, one : only one does."""

    category: str
    both: int
    one: int
    share: Value


class Agreed(Answer):
    """How far people agree; masi, jaccard, nominal : Krippendorff's α."""

    people: list[str]
    documents: int
    open: int
    masi: Value
    jaccard: Value
    nominal: Value
    pairs: list[Pair]
    categories: list[Parted]


class Opinion(Answer):
    """What one person says of a document."""

    who: str
    number: int
    at: str
    labels: list[str]
    primary: list[str]
    refused: list[str]
    unsure: list[str]
    notes: list[str]


class Disagreement(Answer):
    """A document of which people differ, and over which categories."""

    document: str
    over: list[str]
    opinions: list[Opinion]


class Disagreements(Answer):
    """What nobody has settled yet, newest last."""

    disagreements: list[Disagreement]


class Settled(Body):
    """The labels that are to stand; primary : those above the others.

    version : of the document, as its sheet has it: refused where somebody decided on
    it since.
    """

    document: Id
    labels: list[Id] = Field([], max_length=1000)
    primary: list[Id] = Field([], max_length=1000)
    note: Note = ""
    version: int | None = None


class Documents(Answer):
    """Ids of documents."""

    documents: list[str]


@router.get("/agreement")
def agreement(desk: OpenDesk, _: Reader) -> Agreed:
    """How far people agree on the documents that two or more have decided."""
    return Agreed.model_validate(desk_agreement.agreement(desk))


@router.get("/disagreements")
def disagreements(desk: OpenDesk, _: Reader) -> Disagreements:
    """Documents of which people differ, and nobody has settled it since."""
    found = desk_agreement.disagreements(desk)
    told = [Disagreement.model_validate(each) for each in found]
    return Disagreements(disagreements=told)


@router.get("/second-readings")
def second_readings(desk: OpenDesk, who: Classifier, top: Top = 20) -> Documents:
    """Documents that others have decided and you have not, at random."""
    return Documents(documents=desk_agreement.to_read_again(desk, who.name, top))


@router.post("/settle", responses=MISSING)
def settle(desk: OpenDesk, who: Classifier, said: Settled) -> Written:
    """Say which labels are to stand, after people differed."""
    require_document(desk, said.document)
    labels = dict.fromkeys(said.labels, False) | dict.fromkeys(said.primary, True)
    logged = desk_agreement.settle(
        desk, said.document, labels, who.name, said.note, said.version
    )
    return written(logged)

"""Inbox: which documents wait, in which order, and what is thought of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.problems import Mistake
from classmark.taxonomy.category import path_names
from classmark.workbench.desk.guesses import Guess
from classmark.workbench.desk.holdings import holdings_of
from classmark.workbench.desk.picking import (
    UNDECIDED,
    Filters,
    documents_in,
    require_known,
)
from classmark.workbench.desk.sheets import percent
from classmark.workbench.queueing import two_best

if TYPE_CHECKING:
    from classmark.workbench.desk.desk import Desk

SHOWN = 25  # documents a page
FIRST = 200  # letters of the first line


@dataclass(frozen=True, slots=True)
class Row:
    """A document in the inbox.

    guess : the best category, as a path, and how likely, in words;  labels : the names
    of those it has;  holder : who has it open.
    """

    id: str
    title: str
    first_line: str
    state: str
    guess: tuple[str, ...] = ()
    category: str = ""
    likely: str = ""
    probability: float | None = None
    labels: tuple[str, ...] = ()
    holder: str = ""


@dataclass(frozen=True, slots=True)
class Inbox:
    """A page of documents.

    page, pages : which, of how many;  total : of all pages;  looked_at : how many of
    those that wait are in order yet; the others follow at random.
    """

    rows: tuple[Row, ...]
    order: str
    filters: Filters
    page: int
    pages: int
    total: int
    looked_at: int


def inbox(
    desk: Desk, order: str = "uncertain", filters: Filters | None = None, page: int = 1
) -> Inbox:
    """A page of the documents that the filters leave, in an order."""
    chosen = Filters() if filters is None else filters
    require_known(desk, order, chosen)
    ids = documents_in(desk, order, chosen)
    pages = max(1, -(-len(ids) // SHOWN))
    at = min(max(page, 1), pages)
    rows = rows_of(desk, ids[(at - 1) * SHOWN : at * SHOWN])
    return Inbox(tuple(rows), order, chosen, at, pages, len(ids), len(desk.guesses))


def start_in(desk: Desk, who: str, order: str, filters: Filters) -> None:
    """Give somebody what waits in this order, as far as the filters leave it."""
    require_known(desk, order, filters)
    if filters.show != UNDECIDED:
        raise Mistake(
            f"documents shown as {filters.show} do not wait: show the undecided ones, "
            "or open one of these"
        )
    among = tuple(documents_in(desk, order, filters)) if filters.chosen else None
    desk.set_queue(who, order, filters.chosen, among)


def rows_of(desk: Desk, ids: Sequence[str]) -> list[Row]:
    """Documents as the inbox shows them."""
    project = desk.project
    documents = [project.store.document(id_) for id_ in ids]
    guesses = _guessed(desk, documents)
    labels = holdings_of(desk).labels
    return [
        _row(desk, document, guesses.get(document.id), labels.get(document.id, ()))
        for document in documents
    ]


def people(desk: Desk) -> list[str]:
    """Everybody who has said something, in order of their names."""
    rows = desk.project.store.run("SELECT DISTINCT who FROM judgments ORDER BY who")
    return [str(who) for (who,) in rows]


def _guessed(desk: Desk, documents: Sequence[Document]) -> dict[str, Guess]:
    """Document → the best guess; those not looked at in the background yet, now."""
    known = {d.id: g for d in documents if (g := desk.guesses.get(d.id)) is not None}
    model, missing = desk.model(), [d for d in documents if d.id not in known]
    if model is None or not missing:
        return known
    texts = [desk.project.text_of(Record(document)) for document in missing]
    _, best, heights = two_best(model, texts)
    for document, at, (high, lower, score, _) in zip(
        missing, best.tolist(), heights.tolist(), strict=True
    ):
        if at >= 0:
            chance = None if model.calibrator is None else high
            name = model.categories[at]
            known[document.id] = Guess(document.id, name, score, chance, high - lower)
    return known


def _row(
    desk: Desk, document: Document, guess: Guess | None, labels: tuple[str, ...]
) -> Row:
    fields = dict(document.fields)
    title = fields.pop("title", "").strip() or document.id
    longest = max(fields.values(), key=len, default="")
    line = " ".join(longest.split())
    ledger, known = desk.ledger, desk.categories
    state = (
        "aside" if document.id in ledger.aside
        else "decided" if labels
        else UNDECIDED
    )  # fmt: skip
    named = tuple(known[name].name if name in known else name for name in labels)
    holder = desk.claims.holder(document.id)
    row = Row(document.id, title, line[:FIRST], state, labels=named, holder=holder)
    if guess is None:
        return row
    path = path_names(known, desk.tree, guess.category)
    return replace(
        row, guess=path, category=guess.category, likely=likely(guess),
        probability=guess.probability,
    )  # fmt: skip


def likely(guess: Guess) -> str:
    """How likely the best guess is, in words.

    >>> likely(Guess("d", "bees", 1.2, 0.874, 0.5))
    '87 % likely'
    """
    if guess.probability is None:
        return f"score {guess.score:.2f}".replace("-", "−")
    return f"{percent(guess.probability)} likely"

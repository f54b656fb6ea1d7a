"""Accept many best guesses at once, those above a probability, after a look at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from classmark.problems import Mistake
from classmark.rankers.calibration import ENOUGH
from classmark.workbench.deciding import UNTRAINED, Decision, Seen, decide
from classmark.workbench.desk.deciding import acts_since, version_of
from classmark.workbench.desk.inbox import Row, rows_of
from classmark.workbench.desk.picking import UNDECIDED, documents_in

if TYPE_CHECKING:
    from classmark.workbench.desk.desk import Desk
    from classmark.workbench.desk.picking import Filters
    from classmark.workbench.project import Project
    from classmark.workbench.views import Logged

SHOWN = 100  # documents accepted at once, at most


class Guessed(NamedTuple):
    """A guess somebody has seen, and the version of the document then."""

    document: str
    category: str
    score: float
    version: int


@dataclass(frozen=True, slots=True)
class Offer:
    """Guesses that may be accepted together, the likeliest first.

    rows : each with its guess;  least : their least probability;  total : how many,
    shown or not;  wrong : how many of those shown are to be expected wrong;
    looked_at : how many documents were looked at;  calibrated_on : so many decisions.
    """

    rows: tuple[tuple[Row, Guessed], ...]
    least: float
    total: int
    wrong: float
    looked_at: int
    calibrated_on: int


@dataclass(frozen=True, slots=True)
class Accepted:
    """What was written: the numbers of the acts; and what was left, by why."""

    numbers: tuple[int, ...]
    left: tuple[str, ...]


def offer(desk: Desk, who: str, filters: Filters, least: float) -> Offer:
    """The best guesses with at least this probability that nobody else has open.

    Of the documents that wait and were looked at in the background.
    """
    if not 0 < least <= 1:
        raise Mistake(f"the least probability is {least:g}: give a number above 0 to 1")
    if filters.show != UNDECIDED:
        raise Mistake("only undecided documents can be accepted: show those")
    model = desk.model()
    if model is None or model.calibrator is None:
        raise Mistake(
            "to accept guesses at once their probabilities must be known: train with "
            f"{ENOUGH} or more labelled documents"
        )
    sure = [
        guess
        for id_ in documents_in(desk, "likely", filters)
        if (guess := desk.guesses.get(id_)) is not None
        and (guess.probability or 0.0) >= least
        and desk.claims.holder(id_) in {"", who}
    ]
    shown, store = sure[:SHOWN], desk.project.store
    rows = rows_of(desk, [guess.document for guess in shown])
    pairs = tuple(
        (row, Guessed(row.id, g.category, g.score, version_of(store, row.id)))
        for row, g in zip(rows, shown, strict=True)
    )
    wrong = sum(1 - (guess.probability or 0.0) for guess in shown)
    decisions = int(model.calibrator.decisions_)
    return Offer(pairs, least, len(sure), wrong, len(desk.guesses), decisions)


def accept(desk: Desk, who: str, guesses: Sequence[Guessed], least: float) -> Accepted:
    """Assign each document the category guessed, where nobody decided it meanwhile.

    All of it is on disk when this returns, or nothing.
    """
    if not guesses:
        raise Mistake("no document is ticked: tick those whose guess is right")
    if len(guesses) > SHOWN:
        raise Mistake(f"at most {SHOWN} documents are accepted at once: tick fewer")
    folder = desk.project.models.current()
    model = UNTRAINED if folder is None else folder.name
    note = f"accepted at once, {100 * least:g} % likely or more"

    def write(project: Project) -> dict[Guessed, Logged]:
        done: dict[Guessed, Logged] = {}
        for guess in guesses:
            id_, category, score, version = guess
            if not acts_since(project.store, id_, version):
                said = Decision(assign=(category,), note=note)
                seen = {category: Seen(model, 1, score)}
                done[guess] = decide(project, id_, said, seen, who, together=True)
        return done

    done = desk.write(write)
    for guess, logged in done.items():
        desk.after_write([guess.document], who, logged, [guess.category])
    numbers = tuple(logged.numbers[0] for logged in done.values())
    left = tuple(guess.document for guess in guesses if guess not in done)
    return Accepted(numbers, left)

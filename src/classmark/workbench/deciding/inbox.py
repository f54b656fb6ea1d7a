"""The inbox: documents by filters, each with its best guess; many accepted at once."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from classmark.language import _, general
from classmark.problems import refusal
from classmark.rankers.calibration import ENOUGH
from classmark.taxonomy.category import path_names
from classmark.workbench.deciding.decide import (
    UNTRAINED,
    Decision,
    Seen,
    acts_since,
    decide,
    version_of,
)
from classmark.workbench.deciding.opinions import disagreements
from classmark.workbench.deciding.queue import (
    Guess,
    QueueChoice,
    best_guesses,
    require_order,
    shuffled,
)
from classmark.workbench.deciding.suggest import PlacedDocument, placed
from classmark.workbench.results import Logged, in_percent

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.team.desk import Desk


UNDECIDED, DECIDED, ASIDE, DISAGREED, ALL = SHOWS = (
    "undecided",
    "decided",
    "aside",
    "disagreed",
    "all",
)
_ODD = re.compile(r"""[^!-~]+|[%"\\]""")  # may be written otherwise in JSON
BY = """
SELECT DISTINCT document FROM judgments AS j
WHERE who = ? AND document IS NOT NULL AND act <> 'undo'
AND NOT EXISTS (SELECT 1 FROM undone AS u WHERE u.seq = j.seq)
"""


@dataclass(frozen=True, slots=True)
class Filters:
    """Which documents to show.

    show : undecided, decided, aside, disagreed (by several people) or all;  branch : in
    this category or below it, by label or else by best guess;  words : in the text, in
    a row;  who : somebody has said something of it.
    """

    show: str = UNDECIDED
    branch: str = ""
    words: str = ""
    who: str = ""

    @property
    def chosen(self) -> dict[str, str]:
        """Those that are not as they begin, as an address has them."""
        plain = asdict(Filters())
        return {k: v for k, v in asdict(self).items() if v != plain[k]}


def documents_in(desk: Desk, order: str, filters: Filters) -> list[str]:
    """The ids of the documents that the filters leave, in an order.

    What waits is in the order as far as it was looked at, the rest at random; what does
    not wait is in order of arrival, the last first, or at random.
    """
    require_order(order)
    if filters.show not in SHOWS:
        raise refusal(
            "show is %(show)r: use %(shows)s",
            show=filters.show,
            shows=", ".join(SHOWS),
        )
    chosen = []
    if filters.branch:
        if filters.branch not in desk.categories:
            raise refusal(
                "there is no category %(branch)r: choose one from the taxonomy",
                branch=filters.branch,
            )
        below = {filters.branch, *desk.tree.descendants(filters.branch)}
        state, guesses = desk.state, desk.guesses.best.values()
        labelled = {id_ for name in below for id_ in state.documents.get(name, ())}
        guessed = {guess.document for guess in guesses if guess.category in below}
        chosen.append(labelled | (guessed - state.labels.keys()))
    if filters.who:
        chosen.append({id_ for (id_,) in desk.store.run(BY, (filters.who,))})
    if words := filters.words.strip():
        chosen.append(_having(desk, words))
    ids = _shown(desk, order, filters.show)
    return [id_ for id_ in ids if all(id_ in these for these in chosen)]


def _shown(desk: Desk, order: str, show: str) -> list[str]:
    state = desk.state
    if show == UNDECIDED:
        return list(desk.queues.ordered(order))
    ids = list(state.ids)[::-1]
    if order == "random":
        ids = shuffled(ids, desk.settings.name)
    if show == ALL:
        return ids
    if show == DISAGREED:
        documents: Collection[str] = {d.document for d in desk.once(disagreements)}
    else:
        documents = state.labels if show == DECIDED else state.aside
    return [id_ for id_ in ids if id_ in documents]


def _having(project: Project, words: str) -> set[str]:
    """Documents in whose fields the words stand one after the other.

    The database knows the fields as JSON, and small letters of English only: it is
    asked for what may fit.
    """
    phrase, like = _plain(words), project.store.engine.like
    plain = _plain if " " in phrase else str.lower
    pattern = _ODD.sub("%", phrase).replace("!", "!!").replace("_", "!_")
    rows = project.store.run(
        f"SELECT id, fields FROM documents WHERE fields {like} ? ESCAPE '!'",  # noqa: S608 (our own words)
        (f"%{pattern}%",),
    )
    return {
        id_
        for id_, fields in rows
        if any(phrase in plain(text) for text in json.loads(fields).values())
    }


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


SHOWN = 25  # documents a page
FIRST = 200  # letters of the first line


@dataclass(frozen=True, slots=True)
class InboxRow:
    """A document in the inbox.

    guess : the best category, as a path, and how likely, in words, where it has no
    label or was looked at before it had;  labels : the names of those it has;
    holder : who has it open.
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

    rows: tuple[InboxRow, ...]
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
    ids = documents_in(desk, order, chosen)
    pages = max(1, -(-len(ids) // SHOWN))
    at = min(max(page, 1), pages)
    rows = rows_of(desk, ids[(at - 1) * SHOWN : at * SHOWN])
    return Inbox(
        tuple(rows), order, chosen, at, pages, len(ids), len(desk.guesses.best)
    )


def start_in(desk: Desk, who: str, order: str, filters: Filters) -> None:
    """Give somebody what waits in this order, as far as the filters leave it."""
    if filters.show != UNDECIDED:
        raise refusal(
            "documents shown as %(show)s are not waiting for a decision: "
            "show the undecided ones, or open one",
            show=filters.show,
        )
    among = tuple(documents_in(desk, order, filters)) if filters.chosen else None
    desk.queues.set(who, QueueChoice(order, filters.chosen, among))


def rows_of(desk: Desk, ids: Sequence[str]) -> list[InboxRow]:
    """Documents as the inbox shows them; what waits is looked at now, if not yet."""
    documents = [desk.store.document(id_) for id_ in ids]
    categories, best, model = desk.categories, desk.guesses.best, desk.model()
    of_document = desk.state.labels
    undecided = [each for each in documents if each.id not in of_document]
    missing = [document for document in undecided if document.id not in best]
    if model is not None and model.calibrator is not None:
        # guesses of before the training that made probabilities known
        missing += [d for d in undecided if d.id in best and _is_unsure(best[d.id])]
    if model is not None and missing:
        _, guesses = best_guesses(desk, model, missing)
        best = best | {guess.document: guess for guess in guesses if guess}
    rows, holders = [], desk.claims.holders()
    for document in documents:
        id_, fields = document.id, dict(document.fields)
        title = fields.pop("title", "").strip() or id_
        line = " ".join(max(fields.values(), key=len, default="").split())[:FIRST]
        labels = of_document.get(id_, ())
        state = ASIDE if id_ in desk.state.aside else DECIDED if labels else UNDECIDED
        names = [categories[n].name if n in categories else n for n in labels]
        row = InboxRow(
            id_, title, line, state, labels=tuple(names), holder=holders.get(id_, "")
        )
        if guess := best.get(id_):
            path = path_names(categories, desk.tree, guess.category)
            row = replace(
                row, guess=path, category=guess.category, likely=likely(guess),
                probability=guess.probability,
            )  # fmt: skip
        rows.append(row)
    return rows


def _is_unsure(guess: Guess) -> bool:
    return guess.probability is None


def likely(guess: Guess) -> str:
    """How likely the best guess is, in words.

    >>> likely(Guess("d", "bees", 1.2, 0.874, 0.5, 0.9))
    '87 % likely'
    """
    if guess.probability is None:
        return f"score {guess.score:.2f}".replace("-", "−")
    return f"{in_percent(guess.probability)} likely"


ACCEPTED_AT_ONCE = 100  # documents accepted at once, at most


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

    rows: tuple[tuple[InboxRow, Guessed], ...]
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
        raise refusal(
            "the lowest probability is %(least)s: enter a number above 0, up to 1",
            least=general(least),
        )
    if filters.show != UNDECIDED:
        raise refusal("only undecided documents can be accepted: show those")
    model = desk.model()
    if model is None or model.calibrator is None:
        raise refusal(
            "guesses can be accepted together only if their probabilities "
            "are known: train with %(enough)s or more labelled documents",
            enough=ENOUGH,
        )
    holders = desk.claims.holders()
    sure = [
        guess
        for id_ in documents_in(desk, "likely", filters)
        if (guess := desk.guesses.best.get(id_)) is not None
        and (guess.probability or 0.0) >= least
        and holders.get(id_, who) == who
    ]
    shown, store = sure[:ACCEPTED_AT_ONCE], desk.store
    rows = rows_of(desk, [guess.document for guess in shown])
    pairs = tuple(
        (row, Guessed(row.id, g.category, g.score, version_of(store, row.id)))
        for row, g in zip(rows, shown, strict=True)
    )
    wrong = sum(1 - (guess.probability or 0.0) for guess in shown)
    decisions = int(model.calibrator.decisions_)
    return Offer(pairs, least, len(sure), wrong, len(desk.guesses.best), decisions)


PLACED_AT_ONCE = 1000  # waiting documents that are put in the tree, at most


def offer_places(desk: Desk, who: str, precision: float) -> Offer:
    """Where waiting documents can be put for sure, the likeliest place first.

    precision : how many of those placed are to be right. Of the documents that have
    waited longest, without those that others have open.
    """
    places = placed(desk, (), precision, PLACED_AT_ONCE)
    holders = desk.claims.holders()
    sure = [
        put
        for put in sorted(places, key=lambda put: -(put.probability or 0.0))
        if put.category and holders.get(put.document, who) == who
    ]
    shown = sure[:ACCEPTED_AT_ONCE]
    ids = list(dict.fromkeys(put.document for put in shown))
    rows = dict(zip(ids, rows_of(desk, ids), strict=True))
    pairs = tuple(_with_place(rows[put.document], put) for put in shown)
    wrong = sum(1 - (put.probability or 0.0) for put in shown)
    model = desk.require_model()
    decisions = 0 if model.calibrator is None else int(model.calibrator.decisions_)
    looked_at = len({put.document for put in places})
    return Offer(pairs, precision, len(sure), wrong, looked_at, decisions)


def _with_place(row: InboxRow, put: PlacedDocument) -> tuple[InboxRow, Guessed]:
    chance, category = put.probability, put.category or ""
    likely = put.kind if chance is None else f"{in_percent(chance)} likely"
    shown = replace(
        row, guess=put.path, category=category, likely=likely, probability=chance
    )
    return shown, Guessed(row.id, category, chance or 0.0, put.version)


def accept(
    desk: Desk,
    who: str,
    guesses: Sequence[Guessed],
    least: float,
    *,
    places: bool = False,
) -> Accepted:
    """Assign each document the category guessed, where nobody decided it meanwhile.

    places : the guesses are places, and ``least`` is how many are to be right. All of
    it is on disk when this returns, or nothing.
    """
    together = _by_document(guesses)
    folder = desk.models.current()
    model = UNTRAINED if folder is None else folder.name
    sure = f"{100 * least:g} %"
    note = _("accepted at once, %(sure)s likely or more", sure=sure)
    if places:
        note = _("placed at once, %(sure)s of such places are to be right", sure=sure)

    def write(project: Project) -> dict[str, Logged]:
        done: dict[str, Logged] = {}
        for id_, same in together.items():
            if not acts_since(project.store, id_, min(each.version for each in same)):
                seen = {g.category: Seen(model, 1, g.score) for g in same}
                decision = Decision(assign=tuple(seen), note=note)
                done[id_] = decide(project, id_, decision, seen, who, together=True)
        return done

    done = desk.write(write)
    for id_, logged in done.items():
        desk.after_write([id_], who, logged, [g.category for g in together[id_]])
    numbers = tuple(logged.numbers[0] for logged in done.values())
    left = tuple(id_ for id_ in together if id_ not in done)
    return Accepted(numbers, left)


def _by_document(guesses: Sequence[Guessed]) -> dict[str, list[Guessed]]:
    """The guesses of each document; none at all, or too many, are refused."""
    if not guesses:
        raise refusal("no document is selected: select those whose guess is right")
    if len(guesses) > ACCEPTED_AT_ONCE:
        raise refusal(
            "at most %(accepted_at_once)s documents can be accepted at "
            "once: select fewer",
            accepted_at_once=ACCEPTED_AT_ONCE,
        )
    together: dict[str, list[Guessed]] = {}
    for guess in guesses:
        together.setdefault(guess.document, []).append(guess)
    return together

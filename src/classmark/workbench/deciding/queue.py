"""Which document is next: queues of the documents that wait, and their best guesses."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from itertools import chain, islice
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import Floats, Ints, Rows, rows_from, stack, take
from classmark.formats.records import Record
from classmark.problems import refusal, worded
from classmark.progress import track
from classmark.ranking import top as top_of
from classmark.workbench.learning.live import held
from classmark.workbench.results import Cell, Table

if TYPE_CHECKING:
    from classmark.corpus.documents import Document
    from classmark.rankers.text_ranker import TextRanker
    from classmark.workbench.project import Project
    from classmark.workbench.store.store import Store
    from classmark.workbench.team.desk import Desk


ORDERS = ("uncertain", "likely", "random", "similar")
BLOCK = 1000  # documents scored at once, at most
CELLS = 1 << 23  # scores in memory at once: 64 MiB
LAST_DECIDED = """
SELECT document FROM judgments AS j
WHERE EXISTS (SELECT 1 FROM documents AS d WHERE d.id = j.document)
AND act NOT IN ('undo', 'skip', 'note')
AND NOT EXISTS (SELECT 1 FROM undone WHERE seq = j.seq) ORDER BY seq DESC LIMIT 1
"""


def queue(
    project: Project, order: str = "uncertain", top: int = 20, to: str | None = None
) -> Table:
    """The first documents without a label, not set aside, in an order.

    "uncertain": the least difference between the two best categories, of calibrated
    probabilities or else scores; "likely": the highest best one; "random": the same
    order every time; "similar": the greatest cosine to the document ``to``, or to the
    one decided last.
    """
    require_order(order)
    if top < 1:
        raise refusal("the number of documents is %(top)s: enter at least 1", top=top)
    if to is not None and order != "similar":
        raise refusal("--to names what to be similar to: add --order similar")
    match order:
        case "random":
            ids = shuffled(project.state.waiting, project.settings.name)[:top]
            rows: list[dict[str, Cell]] = [{"document": id_} for id_ in ids]
            note = "in the project's own random order"
        case "similar":
            rows, note = _similar(project, top, to)
        case _:
            rows, note = _by_guess(project, order, top)
    if not rows:
        note = "no document is waiting: all are decided or postponed"
    return Table("Queue", rows, note)


def _by_guess(
    project: Project, order: str, top: int
) -> tuple[list[dict[str, Cell]], str]:
    model, lacking = project.require_model(), 0
    guesses: list[Guess | None] = []
    for documents in _blocks(model, project.store.undecided()):
        guesses += best_guesses(project, model, documents)[1]
        lacking += int(_lacks_vector(project, model, documents).sum())
    column = "score" if model.calibrator is None else "probability"
    note = f"by the {column} of the best category; lead: how far above the second"
    if lacking:
        remedy = worded("import one (classmark meaning import FILE)")
        note += f"; left out, because they have no vector: {lacking:,}; {remedy}"
    return [
        {
            "document": guess.document,
            "category": guess.category,
            column: guess.height,
            "lead": guess.lead,
        }
        for guess in sorted(filter(None, guesses), key=KEYS[order])[:top]
    ], note


def _similar(
    project: Project, top: int, to: str | None
) -> tuple[list[dict[str, Cell]], str]:
    model = project.require_model()
    near = last_decided(project.store) if to is None else to
    if near is None:
        raise refusal("nothing is decided yet: name a document with --to")
    centre = _rows(project, model, [project.store.document(near)])
    cosine_of: dict[str, float] = {}
    for documents in _blocks(model, project.store.undecided()):
        values = cosines(_rows(project, model, documents), centre).tolist()
        ids = [document.id for document in documents]
        cosine_of.update(zip(ids, values, strict=True))
    cosine_of.pop(near, None)
    rows: list[dict[str, Cell]] = [
        {"document": id_, "cosine": cosine_of[id_]}
        for id_ in sorted(cosine_of, key=lambda id_: -cosine_of[id_])[:top]
    ]
    return rows, f"by likeness to {near}"


def require_order(order: str) -> None:
    """Refuse an order that there is not."""
    if order not in ORDERS:
        raise refusal(
            "order is %(order)r: use %(orders)s",
            order=order,
            orders=", ".join(ORDERS),
        )


def last_decided(store: Store) -> str | None:
    """The document of the last decision that is not undone; None: there is none."""
    row = store.run(LAST_DECIDED).fetchone()
    return None if row is None else str(row[0])


@dataclass(frozen=True, slots=True)
class Guess:
    """The best category for a document that waits.

    probability : None where the ranker is not calibrated;  lead : how far the best is
    above the second, of probabilities or else of scores;  score_lead : of scores.
    """

    document: str
    category: str
    score: float
    probability: float | None
    lead: float
    score_lead: float

    @property
    def height(self) -> float:
        """How likely the best category is, or its score."""
        return self.score if self.probability is None else self.probability


KEYS: Mapping[str, Callable[[Guess], tuple[float, float]]] = {
    "uncertain": lambda guess: (guess.lead, guess.score_lead),
    "likely": lambda guess: (-guess.height, -guess.score),
}


def best_guesses(
    project: Project, model: TextRanker, documents: Sequence[Document]
) -> tuple[Rows, list[Guess | None]]:
    """Documents as rows of weighted terms, and the best category of each.

    None where a model that goes down a tree finds no category, and where a document
    has no vector, though the model needs one of the user's own.
    """
    with held(model):
        X = _rows(project, model, documents)
        columns, scores, likely = two_best(model, X)
    columns = np.where(_lacks_vector(project, model, documents), -1, columns)
    heights = scores if likely is None else likely
    guesses: list[Guess | None] = [
        None
        if column < 0
        else Guess(
            document.id,
            model.categories[column],
            score,
            None if likely is None else height,
            height - next_height,
            score - next_score,
        )
        for document, column, (score, next_score), (height, next_height) in zip(
            documents, columns.tolist(), scores.tolist(), heights.tolist(), strict=True
        )
    ]
    return X, guesses


def shuffled(ids: Iterable[str], seed: str) -> list[str]:
    """A random order that stays the same among those left when documents come and go.

    >>> sorted(shuffled(["a", "b", "c"], "shelf"))
    ['a', 'b', 'c']
    """
    return sorted(ids, key=place_by(seed))


def place_by(seed: str) -> Callable[[str], bytes]:
    """By what ``shuffled`` sorts."""
    key = blake2b(seed.encode(), digest_size=32).digest()
    hashed = partial(blake2b, digest_size=8, key=key)
    return lambda id_: hashed(id_.encode()).digest()


def cosines(X: Any, centre: Any) -> Floats:
    """⟨x, c⟩ / (‖x‖ ‖c‖) for each sparse row x of X and the one row c; 0 for no terms.

    X : rows, or a sparse matrix;  centre : the same, no wider.

    >>> cosines([[2.0, 0.0], [0.0, 0.0], [1.0, 1.0]], [[2.0, 0.0]]).round(3).tolist()
    [1.0, 0.0, 0.707]
    """
    rows, (columns, values) = rows_from(X), rows_from(centre).row(0)
    wide = np.zeros(rows.width)
    wide[columns] = values
    matrix = rows.to_scipy().astype(np.float64)
    squares = np.asarray(matrix.power(2).sum(axis=1)).ravel()
    scale = np.sqrt(squares * (wide @ wide))
    result: Floats = np.zeros(len(rows))
    np.divide(matrix @ wide, scale, out=result, where=scale > 0)
    return result


def two_best(model: TextRanker, X: Rows) -> tuple[Ints, Floats, Floats | None]:
    """The best category of each row, and the scores of it and the second, (n, 2).

    The last: their calibrated probabilities, None where these are not known. A model
    that goes down a tree looks at the nodes on the way to them only. Where there is no
    category, −1 and zeros; where there is one, it is the second, too.
    """
    columns, best = np.full(len(X), -1), np.zeros((len(X), 2))
    if (ranker := model.ranker).descends:
        for at in range(len(X)):
            if pairs := ranker.best(take(X, [at]), 2):  # type: ignore[attr-defined]
                columns[at] = pairs[0][0]
                best[at] = pairs[0][1], pairs[-1][1]
        return columns, best, model.probabilities(best, X=X)
    scores = model.ranker.decision_function(X)
    ranked = np.flatnonzero(np.isfinite(scores).all(axis=0))
    if not len(ranked):
        return columns, best, best if model.calibrator else None
    if len(ranked) < scores.shape[1]:
        scores = scores[:, ranked]
    standings = model.ordered_by(scores, ranked)
    pair = top_of(standings, 2)[:, [0, -1]]
    best, standings = (np.take_along_axis(a, pair, axis=1) for a in (scores, standings))
    likely = model.probabilities(best, ranked[pair], X, standings)
    return ranked[pair[:, 0]], best, likely


def _rows(project: Project, model: TextRanker, documents: Sequence[Document]) -> Rows:
    """Documents as rows of weighted terms, empty for those that lack a vector."""
    texts = [project.text_of(Record(document)) for document in documents]
    for at in np.flatnonzero(_lacks_vector(project, model, documents)):
        texts[at] = ""
    with held(model):
        return model.vectorizer.rows(texts)


def _lacks_vector(
    project: Project, model: TextRanker, documents: Sequence[Document]
) -> Any:
    """Whether each document lacks the vector of the user's own that the model reads."""
    vectors: Any = model.vectorizer.meaning
    if not getattr(vectors, "imported", False):
        return np.zeros(len(documents), bool)
    return ~vectors.has(project.text_of(Record(each)) for each in documents)


def _blocks(
    model: TextRanker, documents: Iterable[Document]
) -> Iterator[list[Document]]:
    """As many documents at a time as their scores have room in memory."""
    stream = iter(track(documents, "reading the queue"))
    size = max(1, min(BLOCK, CELLS // max(1, len(model.categories))))
    while block := list(islice(stream, size)):
        yield block


ROOM = 100  # documents that do not wait, before they are dropped from a list
FIRST = 0.5  # seconds that the first one who asks may wait for the order
LOOKED = """
SELECT document FROM judgments AS j WHERE who = ? AND document IS NOT NULL
AND act IN ('skip', 'prefer', 'retract', 'reject', 'unsure', 'remove')
AND NOT EXISTS (SELECT 1 FROM undone WHERE seq = j.seq)
GROUP BY document ORDER BY max(seq)
"""  # documents that somebody skipped, or said something of that gives no label


@dataclass(frozen=True, slots=True)
class QueueChoice:
    """The order somebody chose, and which documents.

    order : "uncertain", "likely", "random" or "similar" (to what they decided last);
    filters : as the inbox shows them;  among : the documents they leave; None: all that
    wait.
    """

    order: str = "uncertain"
    filters: Mapping[str, str] = field(default_factory=dict)
    among: tuple[str, ...] | None = None


class Queues:
    """Every person's own queue over one state."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._lock = Lock()
        self._choices: dict[str, QueueChoice] = {}
        self._skipped: dict[str, dict[str, None]] = {}
        self._all: list[str] = []
        self._left: list[str] = []
        self._returned = -1

    def of(self, who: str) -> QueueChoice:
        """What somebody chose; uncertain first, where nothing."""
        return self._choices.get(who, QueueChoice())

    def set(self, who: str, choice: QueueChoice) -> None:
        """Give somebody documents in this order from now on."""
        require_order(choice.order)
        self._choices[who] = choice

    def next_for(self, who: str, after: str | None = None) -> str | None:
        """The first document in somebody's order that nobody else has open."""
        claims = self._desk.claims
        self._desk.background.first_ordered(FIRST)
        others = {id_ for id_, holder in claims.holders().items() if holder != who}
        for id_ in self.in_turn(who, after):
            if id_ != after and id_ not in others and claims.take(id_, who):
                return id_
        return None

    def ordered(self, order: str, like: str | None = None) -> Iterator[str]:
        """All documents that wait, in an order; as far as they were looked at yet.

        like : the document that "similar" means; None: the one decided last.
        """
        waits, guesses = self._desk.state.waits, self._desk.guesses
        first = [] if order == "random" else guesses.ordered(order, like)
        looked_at = set(first)
        rest = (id_ for id_ in self._shuffled() if id_ not in looked_at)
        return filter(waits, chain(first, rest))

    def sample(self, most: int) -> list[str]:
        """Some documents that wait, drawn evenly: those that are to be looked at."""
        return list(islice(self.ordered("random"), most))

    def skip(self, document: str, who: str) -> None:
        """Put a document at the end of somebody's queue."""
        skipped = self._skipped_by(who)
        skipped.pop(document, None)
        skipped[document] = None

    def unskip(self, document: str) -> None:
        """Look into the log again who has skipped what: something was taken back."""
        with self._lock:
            for who in [w for w, ids in self._skipped.items() if document in ids]:
                del self._skipped[who]

    def in_turn(self, who: str, after: str | None = None) -> Iterator[str]:
        """Somebody's documents that wait, what they skipped last."""
        choice, skipped = self.of(who), self._skipped_by(who)
        among = None if choice.among is None else set(choice.among)
        ids = (i for i in self.ordered(choice.order, after) if i not in skipped)
        later = filter(self._desk.followed.waits, list(skipped))
        for id_ in chain(ids, later):
            if among is None or id_ in among:
                yield id_

    def _shuffled(self) -> list[str]:
        """The documents that wait, and some more, in the project's own random order."""
        state = self._desk.followed
        with self._lock:
            if len(self._all) != len(state.ids):
                self._all = shuffled(list(state.ids), self._desk.settings.name)
            is_long = len(self._left) > 2 * state.n_waiting + ROOM
            newest = state.returned
            back = [state.back.get(n) for n in range(self._returned + 1, newest + 1)]
            if is_long or None in back:
                self._left = [id_ for id_ in self._all if state.waits(id_)]
            elif back:
                self._left = self._with(filter(None, back))
            self._returned = newest
            return self._left

    def _with(self, ids: Iterable[str]) -> list[str]:
        """Those left, and some that came back, each where it belongs."""
        place, left = place_by(self._desk.settings.name), list(self._left)
        for id_ in ids:
            at = bisect_left(left, place(id_), key=place)
            if left[at : at + 1] != [id_]:
                left.insert(at, id_)
        return left

    def _skipped_by(self, who: str) -> dict[str, None]:
        with self._lock:
            if who not in self._skipped:
                rows = self._desk.store.run(LOOKED, (who,))
                self._skipped[who] = dict.fromkeys(id_ for (id_,) in rows)
            return self._skipped[who]


LOOKED_AT = 2000  # documents, at most
AT_ONCE = 16
SHORT = 0.05  # seconds of one look, while which nobody else may ask the ranker
REST = 3.0  # times as long as was worked


class Guesses:
    """The best guess of some thousand documents that wait, newest look at each.

    best : document → its guess; another mapping after each look.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.best: dict[str, Guess] = {}
        self._rows: dict[str, Rows] = {}
        self._orders: dict[str, list[str]] = {}

    def ordered(self, order: str, like: str | None = None) -> list[str]:
        """The documents looked at, in an order: "uncertain", "likely" or "similar"."""
        if order == "similar":
            return self._similar(like)
        orders = self._orders
        if order not in orders:
            guesses = sorted(self.best.values(), key=KEYS[order])
            orders[order] = [guess.document for guess in guesses]
        return orders[order]

    def look(self, ids: Sequence[str], go_on: Callable[[float], bool]) -> None:
        """Look at documents; what is not among them is forgotten.

        go_on : rests for so many seconds; False: stop.
        """
        desk, listed = self._desk, set(ids)
        best = {i: guess for i, guess in self.best.items() if i in listed}
        rows = {i: row for i, row in self._rows.items() if i in listed}
        self.best, self._rows, self._orders = best, rows, {}
        at, size = 0, AT_ONCE
        while at < len(ids):
            started = time.perf_counter()
            model = desk.model()
            if model is None:
                return
            block = sorted(ids[at : at + size])
            documents = [desk.store.document(id_) for id_ in block]
            X, guesses = best_guesses(desk, model, documents)
            best = self.best | {g.document: g for g in guesses if g is not None}
            rows = self._rows | {d.id: take(X, [n]) for n, d in enumerate(documents)}
            self.best, self._rows, self._orders = best, rows, {}
            seconds = time.perf_counter() - started
            at, size = at + size, min(AT_ONCE, max(1, int(size * SHORT / seconds)))
            if not go_on(REST * seconds):
                return

    def _similar(self, like: str | None) -> list[str]:
        """Those looked at by the cosine to a document."""
        desk, model = self._desk, self._desk.model()
        near = like if like is not None else last_decided(desk.store)
        if model is None or near is None:
            return self.ordered("uncertain")
        centre = _rows(desk, model, [desk.store.document(near)])
        rows = self._rows
        ids = list(rows)
        values = cosines(stack([centre, *rows.values()]), centre)[1:]
        return [ids[i] for i in np.argsort(-values, kind="stable") if ids[i] != near]

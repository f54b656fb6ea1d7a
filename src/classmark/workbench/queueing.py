"""Which document should be decided next? The queue, in four orders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.formats.records import Record
from classmark.problems import Mistake
from classmark.progress import track
from classmark.sparse import Rows, rows_from, take
from classmark.workbench.live import held
from classmark.workbench.views import Cell, Table

if TYPE_CHECKING:
    from classmark.corpus.documents import Document
    from classmark.rankers.text_ranker import TextRanker
    from classmark.workbench.models import TopDownTextRanker
    from classmark.workbench.project import Project

ORDERS = ("uncertain", "likely", "random", "similar")
BLOCK = 1000  # documents scored at once, at most
CELLS = 1 << 23  # scores held at once: 64 MiB


def queue(
    project: Project, order: str = "uncertain", top: int = 20, to: str | None = None
) -> Table:
    """The first documents without a label, not set aside, in an order.

    "uncertain": the least difference between the two best categories, of calibrated
    probabilities or else scores; "likely": the highest best one; "random": the same
    order every time; "similar": the greatest cosine to the document ``to``, or to the
    one decided last.
    """
    if order not in ORDERS:
        raise Mistake(f"order is {order!r}: use {', '.join(ORDERS)}")
    if top < 1:
        raise Mistake(f"n is {top}: ask for at least one document")
    if to is not None and order != "similar":
        raise Mistake("--to names what to be similar to: add --order similar")
    match order:
        case "random":
            ids = [document.id for document in project.store.undecided()]
            chosen = shuffled(ids, project.settings.name)[:top]
            rows: list[dict[str, Cell]] = [{"document": ids[i]} for i in chosen]
            note = "in the project's own random order"
        case "similar":
            rows, note = _similar(project, top, to)
        case _:
            rows, note = _by_scores(project, order, top)
    if not rows:
        note = "no document is waiting: every one is decided or set aside"
    return Table("Queue", rows, note)


def uncertain_first(best: Floats, second: Floats, ties: Floats | None = None) -> Ints:
    """Least difference between the best and the second category first, shape (n,).

    ties : where the difference is the same, the least of these first.

    >>> uncertain_first(np.array([3.0, 2.0]), np.array([1.0, 1.5])).tolist()
    [1, 0]
    """
    lead = best - second
    return np.lexsort((lead if ties is None else ties, lead))


def likely_first(best: Floats, ties: Floats | None = None) -> Ints:
    """Highest best category first, shape (n,); ``ties`` as the rest, greatest first.

    >>> likely_first(np.array([0.2, 0.9])).tolist()
    [1, 0]
    """
    return np.lexsort((-best if ties is None else -ties, -best))


def shuffled(ids: Sequence[str], seed: str) -> Ints:
    """A random order that stays the same among those left when documents come and go.

    >>> len(shuffled(["a", "b", "c"], "shelf"))
    3
    """
    key = blake2b(seed.encode(), digest_size=32).digest()
    drawn = [blake2b(i.encode(), digest_size=8, key=key).digest() for i in ids]
    values = np.frombuffer(b"".join(drawn), dtype=">u8")
    return np.argsort(values, kind="stable")


def best_two(scores: Floats) -> tuple[Ints, Ints]:
    """The columns of the best and the second of each row; of one column, the same.

    scores : shape (n, categories).

    >>> [column.tolist() for column in best_two(np.array([[1.0, 3.0, 2.0]]))]
    [[1], [2]]
    """
    best = scores.argmax(axis=1)
    if scores.shape[1] == 1:
        return best, best
    rest = scores.copy()
    rest[np.arange(len(scores)), best] = -np.inf
    return best, rest.argmax(axis=1)


def cosines(X: Any, centre: Any) -> Floats:
    """⟨x, c⟩ / (‖x‖ ‖c‖) for each sparse row x of X and the one row c; 0 for no terms.

    X : rows, or a sparse matrix;  centre : the same, no wider.

    >>> cosines([[2.0, 0.0], [0.0, 0.0], [1.0, 1.0]], [[2.0, 0.0]]).round(3).tolist()
    [1.0, 0.0, 0.707]
    """
    rows, (columns, values) = rows_from(X), rows_from(centre).row(0)
    wide = np.zeros(rows.width)
    wide[columns] = values
    row_of = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    own = rows.values.astype(np.float64)
    products = np.bincount(row_of, own * wide[rows.columns], len(rows))
    scale = np.sqrt(np.bincount(row_of, own * own, len(rows)) * (wide @ wide))
    found: Floats = np.zeros(len(rows))
    np.divide(products, scale, out=found, where=scale > 0)
    return found


def _by_scores(
    project: Project, order: str, top: int
) -> tuple[list[dict[str, Cell]], str]:

    model = project.require_model()
    ids: list[str] = []
    columns, values = [np.zeros(0, np.int64)], [np.zeros((0, 4))]
    for block, texts in _blocks(project, model, project.store.undecided()):
        _, best, heights = two_best(model, texts)
        ids += block
        columns.append(best)
        values.append(heights)
    column = np.concatenate(columns)
    best, next_best, score, next_score = np.concatenate(values).T
    if order == "uncertain":
        places = uncertain_first(best, next_best, score - next_score)
    else:
        places = likely_first(best, score)
    what = "score" if model.calibrator is None else "probability"
    return [
        {
            "document": ids[i],
            "category": model.categories[column[i]],
            what: float(best[i]),
            "lead": float(best[i] - next_best[i]),
        }
        for i in places[:top].tolist()
    ], f"by the {what} of the best category; lead: how far above the second"


def _similar(
    project: Project, top: int, to: str | None
) -> tuple[list[dict[str, Cell]], str]:

    model = project.require_model()
    near = project.store.document(_last_decided(project) if to is None else to)
    ((_, texts),) = _blocks(project, model, [near])
    ids: list[str] = []
    values = [np.zeros(0)]
    with held(model):
        centre = model.vectorizer.rows(texts)
    for block, texts in _blocks(project, model, project.store.undecided()):
        ids += block
        with held(model):
            X = model.vectorizer.rows(texts)
        values.append(cosines(X, centre))
    found = np.concatenate(values)
    places = [i for i in likely_first(found).tolist() if ids[i] != near.id]
    rows: list[dict[str, Cell]] = [
        {"document": ids[i], "cosine": float(found[i])} for i in places[:top]
    ]
    return rows, f"by likeness to {near.id}"


def _last_decided(project: Project) -> str:
    found = project.store.run(
        "SELECT document FROM judgments AS j WHERE document IS NOT NULL AND "
        "act <> 'undo' AND NOT EXISTS (SELECT 1 FROM undone WHERE seq = j.seq) "
        "ORDER BY seq DESC LIMIT 1"
    ).fetchone()
    if found is None:
        raise Mistake("nothing is decided yet: name a document with --to")
    return str(found[0])


def two_best(model: TextRanker, texts: Sequence[str]) -> tuple[Rows, Ints, Floats]:
    """Rows of weighted terms, the best category of each, and how high it is.

    The last, shape (n, 4): the calibrated probability, or else the score, of the best
    and of the second category, then the scores of both. A model that goes down a tree
    looks at the nodes on the way to them only; where it finds none, −1 and zeros.
    """
    from classmark.workbench.models import TopDownTextRanker

    with held(model):
        X = model.vectorizer.rows(texts)
        if isinstance(model, TopDownTextRanker):
            return X, *_on_the_way(model, X)
        scores = model.ranker.decision_function(X)
        ranked = np.flatnonzero(np.isfinite(scores).all(axis=0))
        if not len(ranked):
            return X, np.full(len(scores), -1), np.zeros((len(scores), 4))
        scores = scores[:, ranked]
        shown = model.probabilities(scores)
    shown = scores if shown is None else shown
    first, second = best_two(scores)
    rows, pair = np.arange(len(scores))[:, None], np.stack([first, second], axis=1)
    return X, ranked[first], np.hstack([shown[rows, pair], scores[rows, pair]])


def _on_the_way(model: TopDownTextRanker, X: Rows) -> tuple[Ints, Floats]:
    columns, values = np.full(len(X), -1), np.zeros((len(X), 4))
    for at in range(len(X)):
        found = model.ranker.best(take(X, [at]), 2)
        if not found:
            continue
        scores = np.array([score for _, score in (*found, found[-1])][:2])
        likely = model.probabilities(scores[:, None])
        columns[at] = found[0][0]
        values[at] = *(scores if likely is None else likely[:, 0]), *scores
    return columns, values


def _blocks(
    project: Project, model: TextRanker, documents: Iterable[Document]
) -> Iterator[tuple[list[str], list[str]]]:
    """Ids and texts, a block at a time."""
    stream = iter(track(documents, "reading the queue"))
    size = max(1, min(BLOCK, CELLS // max(1, len(model.categories))))
    while block := list(islice(stream, size)):
        texts = [project.text_of(Record(document)) for document in block]
        yield [document.id for document in block], texts

"""Guesses: what the ranker says of documents that wait, looked at in the background."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.sparse import Rows, stack, take
from classmark.workbench.queueing import cosines, two_best

if TYPE_CHECKING:
    from classmark.rankers.text_ranker import TextRanker
    from classmark.workbench.desk.desk import Desk
    from classmark.workbench.project import Project

LOOKED_AT = 2000  # documents, at most
AT_ONCE = 16
REST = 3.0  # times as long as was worked


@dataclass(frozen=True, slots=True)
class Guess:
    """The best category for a document that waits.

    probability : None where the ranker is not calibrated;  lead : how far the best is
    above the second, of probabilities or else of scores.
    """

    document: str
    category: str
    score: float
    probability: float | None
    lead: float

    @property
    def height(self) -> float:
        """How likely the best category is, or its score."""
        return self.score if self.probability is None else self.probability


class Guesses:
    """The best guess of some thousand documents that wait, newest look at each."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._lock = Lock()
        self._found: dict[str, Guess] = {}
        self._rows: dict[str, Rows] = {}
        self._orders: dict[str, list[str]] = {}

    def __len__(self) -> int:
        return len(self._found)

    def get(self, document: str) -> Guess | None:
        """The guess on a document, if it was looked at."""
        return self._found.get(document)

    def ordered(self, order: str, like: str | None = None) -> list[str]:
        """The documents looked at, in an order: "uncertain", "likely" or "similar"."""
        if order == "similar":
            return self._similar(like)
        with self._lock:
            if order not in self._orders:
                key: Callable[[Guess], float] = (
                    (lambda g: g.lead)
                    if order == "uncertain"
                    else (lambda g: -g.height)
                )
                rows = sorted(self._found.values(), key=key)
                self._orders[order] = [guess.document for guess in rows]
            return self._orders[order]

    def look(self, ids: Iterable[str], go_on: Callable[[float], bool]) -> None:
        """Look at documents; what is not among them is forgotten.

        go_on : rests for so many seconds; False: stop.
        """
        wanted = list(ids)
        self._keep(set(wanted))
        for at in range(0, len(wanted), AT_ONCE):
            block = wanted[at : at + AT_ONCE]
            started = time.perf_counter()
            model = self._desk.model()
            if model is None:
                return
            self._take(self._desk.project, model, block)
            if not go_on(REST * (time.perf_counter() - started)):
                return

    def _keep(self, wanted: set[str]) -> None:
        with self._lock:
            self._found = {i: g for i, g in self._found.items() if i in wanted}
            self._rows = {i: x for i, x in self._rows.items() if i in wanted}
            self._orders = {}

    def _take(self, project: Project, model: TextRanker, ids: Sequence[str]) -> None:
        documents = _documents(project, ids)
        if not documents:
            return
        texts = [project.text_of(Record(document)) for document in documents]
        X, best, heights = two_best(model, texts)
        names, is_calibrated = model.categories, model.calibrator is not None
        with self._lock:
            for at, document in enumerate(documents):
                self._rows[document.id] = take(X, [at])
                if best[at] < 0:
                    continue
                likely, next_likely, score, _ = heights[at].tolist()
                self._found[document.id] = Guess(
                    document.id,
                    names[best[at]],
                    score,
                    likely if is_calibrated else None,
                    likely - next_likely,
                )
            self._orders = {}

    def _similar(self, like: str | None) -> list[str]:
        """Those looked at by the cosine to a document."""
        desk, model = self._desk, self._desk.model()
        near = like if like is not None else self._last()
        if model is None or near is None:
            return self.ordered("uncertain")
        text = desk.project.text_of(Record(desk.project.store.document(near)))
        centre, *_ = two_best(model, [text])
        with self._lock:
            ids, rows = list(self._rows), list(self._rows.values())
        if not ids:
            return []
        found = cosines(stack([centre, *rows]), centre)[1:]
        return [ids[i] for i in np.argsort(-found, kind="stable") if ids[i] != near]

    def _last(self) -> str | None:
        found = self._desk.project.store.run(
            "SELECT document FROM judgments WHERE document IS NOT NULL "
            "AND act IN ('assign', 'primary') ORDER BY seq DESC LIMIT 1"
        ).fetchone()
        return None if found is None else str(found[0])


def _documents(project: Project, ids: Sequence[str]) -> list[Document]:
    places = ", ".join("?" * len(ids))
    rows = project.store.run(
        f"SELECT id, fields FROM documents WHERE id IN ({places})",  # noqa: S608 (places for ids)
        tuple(ids),
    )
    return [Document(id_, json.loads(fields)) for id_, fields in rows]

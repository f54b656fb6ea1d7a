"""A screening on the desk: a batch to read, answered one by one, then the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from classmark.arrays import Floats
from classmark.problems import Mistake
from classmark.workbench.by_example import READ, REASONS, Reader, Reasons, title_of
from classmark.workbench.desk.baskets import (
    Basket,
    Candidate,
    best_lines,
    in_basket,
)
from classmark.workbench.screening import (
    RELEVANT,
    Status,
    ToRead,
    advice,
    flags_of,
    keep_shown,
    next_batch,
    note,
    opened,
    words,
)
from classmark.workbench.searches import open_search, standing_marks

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.searches import Mark, Said, Search
    from classmark.workbench.vectors import Collection

BATCH = 10
KIND = "screen"


class Sifting:
    """A ``Screening`` that threads take turns with, each lending its own project."""

    def __init__(
        self, project: Project, search: Search, collection: Collection
    ) -> None:
        self.search, self.project, self.who = search, project, ""
        self.texts: dict[str, str] = dict(search.settings["texts"])
        self._collection = collection
        self._reader = Reader(project, collection)
        self._screening, self._ids = opened(project, search, collection)
        self._number = {id_: at for at, id_ in enumerate(self._ids)}
        self._marks = self._standing()
        self._noted: Sequence[Mark] = ()
        for id_ in [i for i, act in self._marks.items() if act in RELEVANT][:READ]:
            self._reader.read(project.store.document(id_))

    def lend(self, project: Project, who: str) -> None:
        """Work with this project, for this person, from now on."""
        self.project = self._reader.project = project
        self.search = open_search(project.store, self.search.name, KIND)
        self.who = who

    def note(self, said: Mapping[str, Said]) -> None:
        """Write answers; what is shown stays until all of it is answered."""
        late = [id_ for id_ in said if id_ not in self._number]
        if late:
            raise Mistake(
                f"document {late[0]!r} is not part of this screening: it came later, "
                "or is not there; begin another screening"
            )
        self._noted = note(self.project, self.search, said, self.who)

    def take_in(self, said: Mapping[str, Said]) -> None:
        """Know what was written; the next batch learns from it."""
        if any(id_ in self._marks for id_ in said):
            self._anew()
            return
        numbers = [self._number[mark.document] for mark in self._noted]
        self._screening.answer(numbers, *flags_of(self._noted))
        self._marks = self._standing()

    def take_back(self, back: Sequence[Mark]) -> None:
        """Forget what was taken back; know again what was brought back."""
        del back
        self._anew()

    def shown_again(self, back: Sequence[Mark]) -> list[ToRead]:
        """What was taken back, to be read again, before what is shown."""
        first = [
            ToRead(rank, mark.document, "", mark.origin, mark.score)
            for rank, mark in enumerate(back, 1)
            if mark.document not in self._marks and mark.origin != "given"
        ]
        again = {each.id for each in first}
        return [*first, *(each for each in self._shown() if each.id not in again)]

    @property
    def waits(self) -> bool:
        """Whether nothing is shown although something is left to read."""
        left = len(self._marks) < len(self._ids)
        return left and all(each.id in self._marks for each in self._shown())

    def next_batch(self) -> list[ToRead]:
        """What to read next, by all that was answered."""
        return next_batch(self.project, self._screening, self._ids, BATCH)

    def keep(self, shown: Sequence[ToRead]) -> None:
        """Write down what is shown from now on."""
        self.search = keep_shown(self.project, self.search, shown)

    def basket(self, project: Project, k: int) -> Basket:
        """The screening as it stands, with what is to be read now."""
        del k
        progress = self._screening.progress()
        (now,) = project.store.run("SELECT count(*) FROM documents").fetchone()
        status = Status(
            self.search.name, progress, self._screening, now - len(self._ids)
        )
        weights = self._weights()
        return Basket(
            self.search.number, self.search.name, True, "screening",
            in_basket(project, self._marks, self.texts, *RELEVANT),
            in_basket(project, self._marks, {}, "no"),
            tuple(self._reader.heaviest(weights).items()), int((weights != 0).sum()),
            len(self._ids) - len(self._marks),
            tuple(self._candidates(project, weights)),
            tuple(words(status)[:-1]), advice(progress), progress.stop,
        )  # fmt: skip

    def explain(self, document: str) -> Reasons:
        """Every word's part of a document's score, the bias left out."""
        return self._reader.reasons(document, self._weights())

    def _candidates(self, project: Project, weights: Floats) -> list[Candidate]:
        found, analyzer = [], self._collection.vectorizer.analyzer_
        for rank, each in enumerate(self._shown(), 1):
            document = project.store.document(each.id)
            why = self._why(each.id, weights)
            text = best_lines(document, dict(why), analyzer)
            mark = self._marks.get(each.id, "")
            title, origin = title_of(document), each.origin
            found.append(
                Candidate(rank, each.id, title, text, why, each.score, origin, mark)
            )
        return found

    def _why(self, document: str, weights: Floats) -> tuple[tuple[str, float], ...]:
        parts = self._reader.reasons(document, weights).parts
        best = [(part.word, part.part) for part in parts if part.part > 0]
        return tuple(best[:REASONS])

    def _weights(self) -> Floats:
        self._screening.learn()
        query = self._screening.query
        width = self._collection.rows.width
        found = getattr(query, "coef_", None)
        return np.zeros(width) if found is None else np.asarray(found, np.float64)

    def _shown(self) -> list[ToRead]:
        rows = enumerate(self.search.settings["shown"], 1)
        return [ToRead(rank, id_, "", o, score) for rank, (id_, o, score) in rows]

    def _standing(self) -> dict[str, str]:
        found = standing_marks(self.project.store, self.search)
        return {each.mark.document: each.mark.act for each in found}

    def _anew(self) -> None:
        self._screening, _ = opened(self.project, self.search, self._collection)
        self._marks = self._standing()

"""A search for more like these, kept warm between one answer and the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from classmark.problems import Mistake
from classmark.workbench.by_example import FOR, Liking
from classmark.workbench.desk.baskets import (
    Basket,
    Candidate,
    best_lines,
    in_basket,
)

if TYPE_CHECKING:
    from classmark.workbench.by_example import Reasons
    from classmark.workbench.project import Project
    from classmark.workbench.searches import Mark, Said, Search
    from classmark.workbench.vectors import Collection


class Likeness:
    """A ``Liking`` that threads take turns with, each lending its own project."""

    def __init__(
        self, project: Project, search: Search, collection: Collection
    ) -> None:
        self._liking = Liking(project, search, collection)

    def lend(self, project: Project, who: str) -> None:
        """Work with this project, for this person, from now on."""
        self._liking.project = self._liking.reader.project = project
        self._liking.who = who

    def note(self, said: Mapping[str, Said]) -> None:
        """Write what is said; at least one example has to be left."""
        left = {**self._liking.marks, **said}
        if not self._liking.texts and not any(act in FOR for act in left.values()):
            raise Mistake(
                "that would leave the search without an example: add another first"
            )
        self._liking.note(said)

    def take_in(self, said: Mapping[str, Said]) -> None:
        """Learn from what was written."""
        self._liking.take_in(said)

    def take_back(self, back: Sequence[Mark]) -> None:
        """Unlearn what was taken back, or learn again what was brought back."""
        self._liking.take_back(back)

    def basket(self, project: Project, k: int) -> Basket:
        """The search as it stands, with the best k documents."""
        held = self._liking
        found: tuple[Candidate, ...] = ()
        notes: tuple[str, ...] = ()
        left = len(held.scores) - len(held.marks)
        if left > 0:
            likes = held.rank(k)
            notes = tuple(likes.notes)
            analyzer = held.collection.vectorizer.analyzer_
            found = tuple(
                Candidate(
                    each.rank,
                    each.id,
                    each.title,
                    best_lines(project.store.document(each.id), each.why, analyzer),
                    tuple(each.why.items()),
                    each.score,
                )
                for each in likes.found
            )
        words = held.reader.heaviest(held.weights)
        return Basket(
            held.search.number, held.search.name, False, self._learned(),
            in_basket(project, held.marks, held.texts, *FOR),
            in_basket(project, held.marks, {}, "no"),
            tuple(words.items()), int((held.weights != 0).sum()), left, found,
            notes=notes,
        )  # fmt: skip

    def explain(self, document: str) -> Reasons:
        """Every word's part of a document's score."""
        return self._liking.explain(document)

    @property
    def liking(self) -> Liking:
        """The search itself, to be written to a file."""
        return self._liking

    def _learned(self) -> str:
        cost = self._liking.query.C_
        how = "" if cost is None else f", C = {cost:g}"
        return f"{self._liking.query.method_}{how}"

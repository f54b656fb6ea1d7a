"""SharedTextRanker: a live ranker that one thread teaches while others ask it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from classmark.arrays import Floats
from classmark.rankers.text_ranker import Suggestion, TextRanker

if TYPE_CHECKING:
    from classmark.workbench.learner import Learner


class SharedTextRanker(TextRanker):
    """What a learner knows at the moment it is asked; nobody asks while it learns.

    dress : what is to be done with the learner's ranker before it is asked.
    """

    def __init__(
        self, learner: Learner, dress: Callable[[TextRanker], TextRanker]
    ) -> None:
        self._learner, self._dress = learner, dress
        self.lock = learner.lock
        with self.lock:
            self.settle()

    def is_of(self, learner: Learner) -> bool:
        """Whether it asks this learner."""
        return self._learner is learner

    def settle(self) -> TextRanker:
        """The ranker of now; for those who hold the lock."""
        if getattr(self, "_labels", None) is not self._learner.labels:
            self._labels = self._learner.labels
            self._asked = self._dress(self._learner.model())
            super().__init__(
                self._asked.vectorizer, self._asked.ranker, self._asked.categories
            )
            self.calibrator = self._asked.calibrator
        return self._asked

    def suggest(self, text: str, k: int = 10, terms: int = 5) -> list[Suggestion]:
        """The best categories for a text, each with its strongest terms."""
        with self.lock:
            return self.settle().suggest(text, k, terms)

    def scores(self, texts: Iterable[str]) -> Floats:
        """Scores of all categories, shape (texts, categories)."""
        with self.lock:
            return self.settle().scores(texts)


@contextmanager
def held(model: TextRanker) -> Iterator[None]:
    """Inside, a model does not change, and its parts may be asked one by one."""
    if not isinstance(model, SharedTextRanker):
        yield
        return
    with model.lock:
        model.settle()
        yield

"""What is kept of the scores of documents tested, block by block, and what it gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from classmark.measures.tally import CategoryTally
from classmark.rankers.calibration import ENOUGH, crossed_calibration_error
from classmark.ranking import BLOCK, top

if TYPE_CHECKING:
    from classmark.rankers.text import TextRanker

Floats = NDArray[np.float64]
Chosen = NDArray[np.bool_]
Labels = Sequence[Sequence[int]]
FEW = 10  # documents to learn from: a category with so many, or fewer, is rare
WITHIN = 5  # the best categories looked at for a rare one
RARE = f"rare_recall@{WITHIN}"


class Answers:
    """Measures of documents asked, never more than ``BLOCK`` scores in memory at once.

    categories : how many;  tested : how many documents there will be in all.

    assigned : the best categories of each document, as many as it has labels;
    taught : shape (categories,), how many documents each was learned from.

    Where ``tested`` × ``categories`` is large, the calibration error is that of every
    so-manieth document.
    """

    def __init__(self, categories: int, tested: int) -> None:
        self.tally = CategoryTally(categories)
        self.wanted: list[Sequence[int]] = []
        self.assigned: list[list[int]] = []
        self.taught = np.zeros(categories, np.int64)
        self._every = -(-tested // max(2 * ENOUGH, BLOCK // categories))
        self._sample: list[Floats] = []
        self._rare = np.zeros(categories, np.int64)  # labels wanted while rare
        self._found = np.zeros(categories, np.int64)  # of these, among the best

    def learned_from(self, labels: Labels) -> Chosen:
        """Count the labels a model was taught with; return which are rare."""
        flat = [label for own in labels for label in own]
        counts = np.bincount(flat, minlength=len(self.taught))
        self.taught += counts
        return counts <= FEW

    def ask(
        self, model: TextRanker, texts: Sequence[str], labels: Labels, rare: Chosen
    ) -> None:
        """Have a model score the texts, and keep what the measures need."""
        for low, high in _blocks(len(texts), len(self.taught)):
            self._add(model.scores(texts[low:high]), labels[low:high], rare)

    def measures(self) -> dict[str, float]:
        """The means, by name; the recall of rare ones where there were any."""
        found = self.tally.measures() | {"skipped": self.tally.skipped}
        if (rare := self._rare > 0).any():
            found[RARE] = float((self._found[rare] / self._rare[rare]).mean())
        if len(self.wanted) >= ENOUGH:
            sample = np.concatenate(self._sample)
            wanted = self.wanted[:: self._every]
            found["calibration_error"] = crossed_calibration_error(sample, wanted)
        return found

    def _add(self, scores: Floats, labels: Labels, rare: Chosen) -> None:
        self.tally.add(scores, labels)
        first = -len(self.wanted) % self._every
        self._sample.append(_finite(scores[first :: self._every]))
        best = top(scores, min(max(WITHIN, *map(len, labels)), scores.shape[1]))
        for line, own in zip(best, labels, strict=True):
            self.assigned.append(line[: len(own)].tolist())
            few = [label for label in own if rare[label]]
            self._rare[few] += 1
            self._found[list(set(few).intersection(line[:WITHIN].tolist()))] += 1
        self.wanted += labels


def _blocks(documents: int, categories: int) -> Iterator[tuple[int, int]]:
    size = max(1, BLOCK // categories)
    for low in range(0, documents, size):
        yield low, min(low + size, documents)


def _finite(scores: Floats) -> Floats:
    """The same; what can never be stands one below the least that can."""
    can = np.isfinite(scores)
    if can.all():
        return scores.copy()
    least = np.where(can, scores, np.inf).min(axis=1, keepdims=True)
    return np.where(can, scores, np.where(np.isfinite(least), least, 0.0) - 1.0)

"""What is kept of the scores of documents tested, fold by fold, and what it gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.measures.categories import CategoryTally, RelevantRanks, rank_relevant
from classmark.rankers.calibration import ENOUGH, crossed_calibration_error
from classmark.ranking import BLOCK, top

if TYPE_CHECKING:
    from classmark.rankers.text_ranker import TextRanker

Labels = Sequence[Sequence[int]]
FEW = 10  # documents to learn from: a category with so many, or fewer, is rare
WITHIN = 5  # the best categories looked at for a rare one
RARE = f"rare_recall@{WITHIN}"


@dataclass(slots=True, eq=False)
class Answered:
    """What the measures need of one model's scores.

    taught : shape (categories,), how many documents each category was learned from;
    rare, found : the same of labels wanted while rare, and of those among the best;
    ranks, sample : of each block of documents where the labels stand, and the scores of
    every so-manieth document;  assigned : the best categories of each document, as many
    as it has labels.
    """

    taught: Ints
    rare: Ints
    found: Ints
    ranks: list[RelevantRanks] = field(default_factory=list)
    sample: list[Floats] = field(default_factory=list)
    assigned: list[list[int]] = field(default_factory=list)

    def add(self, scores: Floats, labels: Labels, sampled: slice) -> None:
        """Keep what is needed of a block of documents."""
        self.ranks.append(rank_relevant(scores, labels))
        self.sample.append(_finite(scores[sampled]))
        best = top(scores, min(max(WITHIN, *map(len, labels)), scores.shape[1]))
        for line, own in zip(best, labels, strict=True):
            self.assigned.append(line[: len(own)].tolist())
            few = [label for label in own if self.taught[label] <= FEW]
            self.rare[few] += 1
            self.found[list(set(few).intersection(line[:WITHIN].tolist()))] += 1


def counted(labels: Labels, categories: int) -> Ints:
    """How many documents each category is taught by."""
    flat = [label for own in labels for label in own]
    return np.bincount(flat, minlength=categories)


def sampling(categories: int, tested: int) -> int:
    """Every how-manieth of all documents tested is in the sample."""
    return -(-tested // max(2 * ENOUGH, BLOCK // categories))


def ask(
    model: TextRanker,
    texts: Sequence[str],
    labels: Labels,
    taught: Ints,
    where: slice,
) -> Answered:
    """Have a model score texts, never more than ``BLOCK`` scores at once.

    where : the place of the first text among all that are tested, and, as its step,
    every how-manieth of them is in the sample.
    """
    found = Answered(taught, np.zeros_like(taught), np.zeros_like(taught))
    for low, high in _blocks(len(texts), len(taught)):
        first = -(where.start + low) % where.step
        scores = model.scores(texts[low:high])
        found.add(scores, labels[low:high], slice(first, None, where.step))
    return found


class Answers:
    """Measures of all documents tested, from what was kept of each model.

    categories : how many;  tested : how many documents there will be in all.

    wanted : the labels of the documents;  assigned, taught : as of ``Answered``.

    Where ``tested`` × ``categories`` is large, the calibration error is that of every
    so-manieth document.
    """

    def __init__(self, categories: int, tested: int) -> None:
        self.tally = CategoryTally(categories)
        self.wanted: list[Sequence[int]] = []
        self.assigned: list[list[int]] = []
        self.taught = np.zeros(categories, np.int64)
        self._every = sampling(categories, tested)
        self._sample: list[Floats] = []
        self._rare = np.zeros(categories, np.int64)
        self._found = np.zeros(categories, np.int64)

    def add(self, answered: Answered, labels: Labels) -> None:
        """Count what a model said of documents with these labels."""
        for ranks in answered.ranks:
            self.tally.count(ranks)
        self._sample += answered.sample
        self._rare += answered.rare
        self._found += answered.found
        self.taught += answered.taught
        self.assigned += answered.assigned
        self.wanted += labels

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

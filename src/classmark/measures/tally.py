"""How good are ranked categories, on average and rank by rank?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import Floats
from classmark.measures.categories import (
    RelevantRanks,
    per_document,
    rank_relevant,
    relevant,
)
from classmark.measures.names import Measure, parse_for
from classmark.problems import Mistake
from classmark.progress import track
from classmark.ranking import BLOCK
from classmark.sparse import take

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

MEANS = (
    *("Loss1", "Loss2", "Loss3", "OneError", "Coverage", "AP", "MaxF1"),
    *("Domination", "Dominated"),
)
KNOWN = (*MEANS, "P", "R", "nP")
NAMES = (
    *("loss1", "loss2", "loss3", "one_error"),
    *("coverage", "average_precision", "max_f1"),
)


class CategoryTally:
    """Sums over documents, block by block: the scores of all need not be in memory.

    Documents without labels are left out of what is not defined for them (Loss3,
    Coverage, AP, MaxF1, recall, Domination, Dominated); they count 0 in Loss1, Loss2
    and precision and 1 in OneError. ``skipped`` says how many there were.

    >>> tally = CategoryTally(3)
    >>> tally.add([[0.1, 0.9, 0.5]], [[1]])
    >>> tally.add([[0.1, 0.9, 0.5], [0.3, 0.2, 0.1]], [[2], []])
    >>> tally.measures(["coverage", "p@1"]), tally.skipped
    ({'coverage': 0.5, 'p@1': 0.3333333333333333}, 1)
    """

    def __init__(self, n_labels: int) -> None:
        self.n_labels = n_labels
        self.documents = 0
        self.skipped = 0
        self._sums = dict.fromkeys(MEANS, 0.0)
        self._counts = dict.fromkeys(MEANS, 0)
        self._found = np.zeros(n_labels, np.int64)  # relevant labels by rank
        self._shares = np.zeros(n_labels)  # the same, each worth 1/|Y|
        self._ideal = np.zeros(n_labels, np.int64)  # as if relevant ones came first

    def add(self, scores: ArrayLike, Y: Any) -> None:
        """Count a block of documents: scores (n, k), Y as in ``category_ranking``."""
        self.count(rank_relevant(scores, Y))

    def count(self, found: RelevantRanks) -> None:
        """Count a block of documents by the ranks of their labels."""
        if found.n_labels != self.n_labels:
            raise Mistake(
                f"scores has {found.n_labels} columns: give one per label, "
                f"{self.n_labels} in every block"
            )
        self._add_curves(found)
        self.documents += len(found)
        self.skipped += int((found.sizes == 0).sum())
        for name, values in per_document(found).items():
            defined = values[~np.isnan(values)]
            self._sums[name] += float(defined.sum())
            self._counts[name] += len(defined)

    def measures(self, names: Sequence[str | Measure] = NAMES) -> dict[str, float]:
        """Return the means, under the names as given."""
        parsed = parse_for(names, KNOWN)
        return {
            str(name): self._value(measure)
            for name, measure in zip(names, parsed, strict=True)
        }

    def precision_at_rank(self, *, normalized: bool = True) -> Floats:
        """Return the precision within the first 1..k labels, averaged over documents.

        Normalised, it is divided by that of a ranker which puts the relevant first.
        """
        self._require_labels()
        ranks = np.arange(1, self.n_labels + 1)
        scale = np.cumsum(self._ideal) if normalized else ranks * self.documents
        return np.asarray(np.cumsum(self._found) / scale)

    def recall_at_rank(self) -> Floats:
        """Return the recall within the first 1..k labels, averaged over documents."""
        self._require_labels()
        return np.cumsum(self._shares) / (self.documents - self.skipped)

    def _add_curves(self, found: RelevantRanks) -> None:
        k, sizes = self.n_labels, found.sizes
        weights = np.repeat(1 / np.maximum(sizes, 1), sizes)
        self._found += np.bincount(found.ranks - 1, minlength=k)
        self._shares += np.bincount(found.ranks - 1, weights, minlength=k)
        by_size = np.bincount(sizes, minlength=k + 1)
        self._ideal += len(found) - np.cumsum(by_size[:-1])

    def _value(self, measure: Measure) -> float:
        self._require_labels()
        if measure.name in MEANS and measure.cutoff is None:
            return self._sums[measure.name] / self._counts[measure.name]
        if measure.name == "AP":
            raise Mistake(f"measure {measure}: write AP: all categories are ranked")
        place = min(measure.cutoff or self.n_labels, self.n_labels) - 1
        if measure.name == "R":
            return float(self.recall_at_rank()[place])
        if measure.name == "nP":
            return float(self.precision_at_rank()[place])
        found = float(self._found[: place + 1].sum())
        return found / self.documents / (measure.cutoff or self.n_labels)

    def _require_labels(self) -> None:
        if self.documents == self.skipped:
            raise Mistake(
                f"Y: none of the {self.documents} documents has a relevant label: give "
                "at least one document with its labels"
            )


def category_ranking(
    scores: ArrayLike, Y: Any, measures: Sequence[str | Measure] = NAMES
) -> dict[str, float]:
    """Judge ranked categories; means over documents [CrammerSinger03].

    The formulas are those of ``per_document``. In the losses a tie is an error; where a
    rank counts, ties go by label index. ``skipped``: how many documents without labels
    were left out of the measures that are not defined for them (see ``CategoryTally``).

    scores : (n, k), float32 or float64;  Y : n×k indicator (array or sparse), n lists
    of label indices, or Rows of grades;  measures : names, also ``P@5``, ``R@5``,
    ``nP@5``.

    >>> result = category_ranking([[0.9, 0.5, 0.1], [0.9, 0.5, 0.1]], [[0], [0, 2]])
    >>> result["loss1"], result["average_precision"], result["coverage"]
    (0.5, 0.9166666666666666, 1.0)
    """
    tally = _tally(scores, Y)
    return tally.measures(measures) | {"skipped": tally.skipped}


def category_ranking_per_document(scores: ArrayLike, Y: Any) -> dict[str, Floats]:
    """Return the same measures document by document, NaN where one is not defined.

    >>> category_ranking_per_document([[0.9, 0.1], [0.9, 0.1]], [[0], [1]])["coverage"]
    array([0., 1.])
    """
    values = per_document(rank_relevant(scores, Y))
    return {
        name: values[measure.name]
        for name, measure in zip(NAMES, parse_for(NAMES, MEANS), strict=True)
    }


def precision_at_rank(scores: ArrayLike, Y: Any, *, normalized: bool = True) -> Floats:
    """Return the microaveraged precision at rank r = 1..k [AiolliSebastianiSperduti08].

    π(r) = mean over documents of (true labels among the first r) / r, and normalised,
    divided by the same of the ideal ranker. Shape (k,).

    >>> precision_at_rank([[0.9, 0.5, 0.1], [0.9, 0.5, 0.1]], [[0], [0, 2]]).tolist()
    [1.0, 0.6666666666666666, 1.0]
    """
    return _tally(scores, Y).precision_at_rank(normalized=normalized)


def recall_at_rank(scores: ArrayLike, Y: Any) -> Floats:
    """Return the mean recall within the first r = 1..k labels [CrammerSinger03].

    Plotted against ``precision_at_rank(..., normalized=False)`` it is the curve of
    precision and recall. Shape (k,).

    >>> recall_at_rank([[0.9, 0.5, 0.1], [0.9, 0.5, 0.1]], [[0], [0, 2]]).tolist()
    [0.75, 0.75, 1.0]
    """
    return _tally(scores, Y).recall_at_rank()


def _tally(scores: ArrayLike, Y: Any) -> CategoryTally:
    table = np.asarray(scores)
    if table.ndim != 2:
        raise Mistake(f"scores has {table.ndim} dimension(s): give one row a document")
    n, k = table.shape
    labels = relevant(Y, n, k)
    tally = CategoryTally(k)
    step = max(1, BLOCK // max(1, k))
    for start in track(range(0, n, step), "measuring", -(-n // step)):
        rows = np.arange(start, min(start + step, n))
        tally.add(table[rows[0] : rows[-1] + 1], take(labels, rows))
    return tally

"""How good are decisions: which categories were assigned, and which should be?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Array, Bools, Floats, Ints
from classmark.measures.categories import relevant
from classmark.measures.names import Measure, parse_for
from classmark.problems import Mistake

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = (
    *("F1(micro)", "F1(macro)", "Precision(micro)", "Precision(macro)"),
    *("Recall(micro)", "Recall(macro)", "Accuracy", "Detected"),
)
KNOWN = ("F1", "Precision", "Recall", "Accuracy", "Detected")


@dataclass(frozen=True, slots=True)
class Contingency:
    """Counts per label, and per document whether all its labels are right.

    right, assigned, wanted : (k,), documents for which the label was rightly assigned,
    assigned, and wanted;  exact : (n,), whether assigned = wanted.
    """

    right: Ints
    assigned: Ints
    wanted: Ints
    exact: Bools

    def precision(self) -> Floats:
        """Return right / assigned, 0 where nothing was assigned; shape (k,)."""
        return share(self.right, self.assigned)

    def recall(self) -> Floats:
        """Return right / wanted, 0 where nothing was wanted; shape (k,)."""
        return share(self.right, self.wanted)

    def f1(self) -> Floats:
        """Return 2·right / (assigned + wanted) [VanRijsbergen79]; shape (k,)."""
        return share(2 * self.right, self.assigned + self.wanted)

    @property
    def occurring(self) -> Bools:
        """Which labels were assigned or wanted at all."""
        return (self.assigned + self.wanted) > 0


def contingency(truth: Any, predicted: Any, n_labels: int | None = None) -> Contingency:
    """Count right, assigned and wanted decisions, label by label.

    truth, predicted : one label index a document, shape (n,); or, for several labels a
    document, an n×k indicator, lists of label indices, or Rows.

    >>> contingency([0, 1, 1], [0, 1, 0]).right.tolist()
    [1, 1]
    """
    wanted, assigned = label_pairs(truth), label_pairs(predicted)
    if wanted.documents != assigned.documents:
        raise Mistake(
            f"predicted has {assigned.documents} documents, truth {wanted.documents}: "
            "give the same documents in the same order"
        )
    k = max(wanted.n_labels, assigned.n_labels, n_labels or 0)
    right = np.intersect1d(wanted.keys(k), assigned.keys(k), assume_unique=True)
    document, label = np.divmod(right, max(1, k))
    hits, n = np.bincount(document, minlength=wanted.documents), wanted.documents
    size = np.bincount(wanted.document, minlength=n)
    exact = (hits == size) & (hits == np.bincount(assigned.document, minlength=n))
    return Contingency(
        np.bincount(label, minlength=k),
        np.bincount(assigned.label, minlength=k),
        np.bincount(wanted.label, minlength=k),
        exact,
    )


def classification(
    truth: Any,
    predicted: Any,
    measures: Sequence[str | Measure] = NAMES,
    *,
    n_labels: int | None = None,
) -> dict[str, float]:
    """Judge assigned labels, under the names as given.

    micro: one table of counts for all labels; macro: the mean over the labels that were
    assigned or wanted at least once (a label that occurs nowhere says nothing), 0 where
    a label's value is 0/0. Accuracy: share of documents with exactly the right labels.
    Detected: how many labels were assigned at least once [Babbar14].

    >>> classification([0, 1, 1, 2], [0, 1, 0, 0], ["F1(micro)", "detected"])
    {'F1(micro)': 0.5, 'detected': 2.0}
    """
    parsed = parse_for(measures, KNOWN)
    counts = contingency(truth, predicted, n_labels)
    if not counts.exact.size:
        raise Mistake("truth holds no document: give at least one")
    return {
        str(name): _value(counts, measure)
        for name, measure in zip(measures, parsed, strict=True)
    }


def accuracy_bound(priors: ArrayLike, predicted_counts: ArrayLike) -> float:
    """Return how accurate a classifier can be at most, from what it predicts how often.

    B(Acc) = (1/S) Σ over labels l of min(p_l·S, M_l), S = Σ M_l [Babbar14].

    priors : p, shape (k,), sum 1;  predicted_counts : M, shape (k,).

    >>> accuracy_bound([0.5, 0.25, 0.25], [3, 1, 0])
    0.75
    """
    p = np.asarray(priors, dtype=np.float64)
    counts = np.asarray(predicted_counts, dtype=np.float64)
    if p.shape != counts.shape or p.ndim != 1:
        raise Mistake(
            f"priors and predicted_counts have shapes {p.shape} and {counts.shape}: "
            "give one number a label in both"
        )
    if (p < 0).any() or not np.isclose(p.sum(), 1.0, atol=1e-6):
        raise Mistake(f"priors add up to {p.sum():.6g}: give shares that add up to 1")
    if (counts < 0).any() or not counts.sum() > 0:
        raise Mistake("predicted_counts: give how often each label was predicted")
    return float(np.minimum(p * counts.sum(), counts).sum() / counts.sum())


@dataclass(frozen=True, slots=True)
class LabelPairs:
    """Pairs (document, label), by document, each once."""

    document: Ints
    label: Ints
    documents: int
    n_labels: int

    def keys(self, k: int) -> Ints:
        """One number a pair."""
        return self.document * k + self.label


def label_pairs(Y: Any) -> LabelPairs:
    """Read labels of any form as pairs."""
    labels = relevant(Y)
    document = np.repeat(np.arange(len(labels)), np.diff(labels.starts))
    return LabelPairs(document, labels.columns.astype(np.int64), *labels.shape)


def share(part: Array, whole: Array) -> Floats:
    """Divide, 0 where the whole is 0."""
    shares: Floats = np.zeros(np.shape(part))
    np.divide(part, whole, out=shares, where=np.asarray(whole) > 0)
    return shares


def _value(counts: Contingency, measure: Measure) -> float:
    if measure.name == "Accuracy":
        return float(counts.exact.mean())
    if measure.name == "Detected":
        return float((counts.assigned > 0).sum())
    if measure.average == "micro":
        summed = Contingency(
            counts.right.sum(keepdims=True),
            counts.assigned.sum(keepdims=True),
            counts.wanted.sum(keepdims=True),
            counts.exact,
        )
        return float(_by_label(summed, measure.name)[0])
    occurring = _by_label(counts, measure.name)[counts.occurring]
    return float(occurring.mean()) if occurring.size else 0.0


def _by_label(counts: Contingency, name: str) -> Floats:
    if name == "F1":
        return counts.f1()
    return counts.precision() if name == "Precision" else counts.recall()

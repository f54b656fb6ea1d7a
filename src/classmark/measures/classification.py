"""Measures of decisions: assigned categories, distances in the tree, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Bools, Floats, Ints, Rows
from classmark.measures.categories import relevant
from classmark.measures.retrieval import Measure, parse_for, share
from classmark.problems import Mistake

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
    true, assigned = indicators(truth, predicted, width=n_labels or 0)
    if true.shape != assigned.shape:
        raise Mistake(
            f"predicted has {assigned.shape[0]} documents, truth {true.shape[0]}: give "
            "the same documents in the same order"
        )
    both = true.multiply(assigned)
    hits = both.getnnz(axis=1)
    return Contingency(
        both.getnnz(axis=0),
        assigned.getnnz(axis=0),
        true.getnnz(axis=0),
        (hits == true.getnnz(axis=1)) & (hits == assigned.getnnz(axis=1)),
    )


def indicators(*labels: Any, width: int = 0) -> list[Any]:
    """Read labels of any form as csr matrices of ones, with one number of labels.

    >>> [matrix.shape for matrix in indicators([0, 2], [[1], []])]
    [(2, 3), (2, 3)]
    """
    rows = [relevant(Y) for Y in labels]
    k = max(width, *(each.width for each in rows))
    return [
        Rows(each.starts, each.columns, np.ones(each.nnz, np.int64), k).to_scipy()
        for each in rows
    ]


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
    return {name: _value(counts, measure) for name, measure in parsed.items()}


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


def _value(counts: Contingency, measure: Measure) -> float:
    if measure.name == "Accuracy":
        return float(counts.exact.mean())
    if measure.name == "Detected":
        return float((counts.assigned > 0).sum())
    if measure.average == "micro":
        counts = Contingency(
            counts.right.sum(keepdims=True),
            counts.assigned.sum(keepdims=True),
            counts.wanted.sum(keepdims=True),
            counts.exact,
        )
    by_label = {"F1": counts.f1, "Precision": counts.precision, "Recall": counts.recall}
    occurring = by_label[measure.name]()[counts.occurring]
    return float(occurring.mean()) if occurring.size else 0.0


def tree_induced_error(truth: ArrayLike, predicted: ArrayLike, ancestors: Any) -> float:
    """Return the mean number of edges between the true and the predicted label.

    γ(u, v) = #A(u) + #A(v) − 2·#(A(u) ∩ A(v)), A(v) = v and the nodes above it
    [DekelKeshetSinger04].

    truth, predicted : label indices, shape (n,);  ancestors : for each label the nodes
    of A (lists, or Rows); the root may be in all of them or in none.

    >>> tree_induced_error([0, 0], [0, 2], [[0, 3], [1, 3], [2]])
    1.5
    """
    n_true, n_assigned, shared, n = _node_counts(truth, predicted, ancestors)
    if len(np.ravel(truth)) != n or len(np.ravel(predicted)) != n:
        raise Mistake("truth and predicted: give one label index a document")
    return (n_true + n_assigned - 2 * shared) / n


def hierarchical_f(truth: Any, predicted: Any, ancestors: Any) -> dict[str, float]:
    """Precision, recall and F1 of the labels together with all nodes above them.

    With T and P the true and predicted labels of a document and their ancestors:
    precision = Σ #(T ∩ P) / Σ #P, recall = Σ #(T ∩ P) / Σ #T [Kiritchenko05].

    truth, predicted : as in ``classification``;  ancestors : for each label its own
    node and those above it, **without the root**, which everyone gets right.

    >>> hierarchical_f([0, 0], [0, 1], [[0, 2], [1, 2]])
    {'precision': 0.75, 'recall': 0.75, 'f1': 0.75}
    """
    n_true, n_assigned, shared, _ = _node_counts(truth, predicted, ancestors)
    return {
        "precision": shared / max(1, n_assigned),
        "recall": shared / max(1, n_true),
        "f1": 2 * shared / max(1, n_true + n_assigned),
    }


def _node_counts(
    truth: Any, predicted: Any, ancestors: Any
) -> tuple[int, int, int, int]:
    """The true nodes, the assigned ones, those in both, over all documents; and these.

    The nodes of a document are its labels and their ancestors.
    """
    (above,) = indicators(ancestors)
    true, assigned = indicators(truth, predicted, width=above.shape[0])
    most = max(int(Y.indices.max(initial=-1)) for Y in (true, assigned))
    if most >= above.shape[0]:
        raise Mistake(
            f"ancestors has {above.shape[0]} rows, but label {most} occurs: give one "
            "row a label"
        )
    n = true.shape[0]
    if n != assigned.shape[0] or not n:
        raise Mistake(
            f"truth has {n} documents, predicted {assigned.shape[0]}: give the same "
            "documents, at least one"
        )
    true_nodes, nodes = (Y[:, : above.shape[0]] @ above for Y in (true, assigned))
    return true_nodes.nnz, nodes.nnz, true_nodes.multiply(nodes).nnz, n


@dataclass(frozen=True, slots=True)
class Reliability:
    """What was promised and what came true, in bins of equal width.

    promised, kept : mean probability and share that came true, NaN in empty bins;
    counts : how many; each of shape (bins,).
    """

    promised: Floats
    kept: Floats
    counts: Ints


def reliability(
    probabilities: ArrayLike, came_true: ArrayLike, bins: int = 15
) -> Reliability:
    """Sort promises into bins of equal width, each closed above; 0 is in the first.

    probabilities : in [0, 1];  came_true : 0 or 1;  of one shape.

    >>> reliability([0.1, 0.9, 0.9], [0, 1, 0], bins=2).kept.tolist()
    [0.0, 0.5]
    """
    p = np.ravel(np.asarray(probabilities, dtype=np.float64))
    true = np.ravel(np.asarray(came_true, dtype=np.float64))
    if p.shape != true.shape or not p.size:
        raise Mistake(
            f"probabilities has {p.size} values, came_true {true.size}: "
            "give one for one"
        )
    if not ((p >= 0) & (p <= 1)).all():
        at = int(np.argmin((p >= 0) & (p <= 1)))
        raise Mistake(f"probabilities, place {at}: {p[at]}: give numbers from 0 to 1")
    if bins < 1:
        raise Mistake(f"bins is {bins}: give 1 or more")
    edges = np.linspace(0, 1, bins + 1)[1:-1]
    place = np.searchsorted(edges, p, side="left")
    counts = np.bincount(place, minlength=bins)
    some = np.where(counts > 0, counts, np.nan)
    promised = np.bincount(place, p, minlength=bins) / some
    return Reliability(
        promised, np.bincount(place, true, minlength=bins) / some, counts
    )


def calibration_error(
    probabilities: ArrayLike, came_true: ArrayLike, bins: int = 15
) -> float:
    """Return the expected calibration error [Guo17].

    ECE = Σ over bins of (n_b / n) · abs(kept_b − promised_b).

    >>> round(calibration_error([0.1, 0.9, 0.9], [0, 1, 0], bins=2), 3)
    0.3
    """
    seen = reliability(probabilities, came_true, bins)
    gaps = np.abs(seen.kept - seen.promised)
    return float(np.nansum(gaps * seen.counts) / seen.counts.sum())

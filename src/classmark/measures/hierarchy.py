"""How far in the tree is a wrong category from the right one?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import Ints
from classmark.measures.categories import relevant
from classmark.measures.classification import LabelPairs, label_pairs
from classmark.problems import Mistake
from classmark.sparse import Rows, take

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def tree_induced_error(truth: ArrayLike, predicted: ArrayLike, ancestors: Any) -> float:
    """Return the mean number of edges between the true and the predicted label.

    γ(u, v) = #A(u) + #A(v) − 2·#(A(u) ∩ A(v)), A(v) = v and the nodes above it
    [DekelKeshetSinger04].

    truth, predicted : label indices, shape (n,);  ancestors : for each label the nodes
    of A (lists, or Rows); the root may be in all of them or in none.

    >>> tree_induced_error([0, 0], [0, 2], [[0, 3], [1, 3], [2]])
    1.5
    """
    above = relevant(ancestors)
    wanted, assigned = _nodes(truth, above), _nodes(predicted, above)
    n = _same_documents(wanted, assigned)
    if len(np.ravel(truth)) != n or len(np.ravel(predicted)) != n:
        raise Mistake("truth and predicted: give one label index a document")
    shared = len(_common(wanted, assigned))
    return (len(wanted.label) + len(assigned.label) - 2 * shared) / n


def hierarchical_f(truth: Any, predicted: Any, ancestors: Any) -> dict[str, float]:
    """Precision, recall and F1 of the labels together with all nodes above them.

    With T and P the true and predicted labels of a document and their ancestors:
    precision = Σ #(T ∩ P) / Σ #P, recall = Σ #(T ∩ P) / Σ #T [Kiritchenko05].

    truth, predicted : as in ``classification``;  ancestors : for each label its own
    node and those above it, **without the root**, which everyone gets right.

    >>> hierarchical_f([0, 0], [0, 1], [[0, 2], [1, 2]])
    {'precision': 0.75, 'recall': 0.75, 'f1': 0.75}
    """
    above = relevant(ancestors)
    wanted, assigned = _nodes(truth, above), _nodes(predicted, above)
    _same_documents(wanted, assigned)
    shared = len(_common(wanted, assigned))
    sizes = len(assigned.label), len(wanted.label)
    return {
        "precision": shared / max(1, sizes[0]),
        "recall": shared / max(1, sizes[1]),
        "f1": 2 * shared / max(1, sum(sizes)),
    }


def _nodes(Y: Any, above: Rows) -> LabelPairs:
    """Pairs (document, node): every label replaced by its ancestors, each node once."""
    pairs = label_pairs(Y)
    if pairs.label.size and pairs.label.max() >= len(above):
        raise Mistake(
            f"ancestors has {len(above)} rows, but label {pairs.label.max()} occurs: "
            "give one row a label"
        )
    spread = take(above, pairs.label)
    document = np.repeat(pairs.document, np.diff(spread.starts))
    keys = np.unique(document * above.width + spread.columns)
    document, node = np.divmod(keys, max(1, above.width))
    return LabelPairs(document, node, pairs.documents, above.width)


def _common(a: LabelPairs, b: LabelPairs) -> Ints:
    width = max(a.n_labels, b.n_labels)
    return np.intersect1d(a.keys(width), b.keys(width), assume_unique=True)


def _same_documents(truth: LabelPairs, predicted: LabelPairs) -> int:
    if truth.documents != predicted.documents or not truth.documents:
        raise Mistake(
            f"truth has {truth.documents} documents, predicted {predicted.documents}: "
            "give the same documents, at least one"
        )
    return truth.documents

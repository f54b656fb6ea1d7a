"""One classifier over the daughters of one node: by margins, by odds or by counts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Array, Floats, Ints
from classmark.problems import Mistake
from classmark.rankers.linear import LinearRanker
from classmark.sparse import Rows, keep_columns, with_constant


def log_odds(rows: Rows, owners: Rows, alpha: float = 1.0) -> tuple[Floats, Floats]:
    """Count: ln p(f|j), shape (features, d), and ln p(j), (d,) [McCallumNigam98].

    p(f|j) = (α + Σ_i x_if) / (α·features + Σ_i Σ_g x_ig) over the documents i of
    daughter j; p(j) = its documents / those of all. A document of several daughters
    counts in each. Every daughter is to have a document.

    >>> from classmark.sparse import rows_from
    >>> rows, owners = rows_from([[3.0, 0.0], [1.0, 1.0]]), rows_from(np.eye(2))
    >>> np.exp(log_odds(rows, owners)[0]).round(2).tolist()
    [[0.8, 0.5], [0.2, 0.5]]
    """
    if not 0 < alpha < np.inf:
        raise Mistake(f"alpha is {alpha}: give a number greater than 0")
    if rows.nnz and rows.values.min() < 0:
        at = int(np.argmax(rows.values < 0))
        row = int(np.searchsorted(rows.starts, at, side="right")) - 1
        raise Mistake(
            f"X, row {row}: a value is below 0, and naive Bayes counts: use weights of "
            "words that are 0 or more, or base='svm'"
        )
    belongs: Any = owners.to_scipy().copy()
    belongs.data = np.ones(owners.nnz)
    counts = (belongs.T @ rows.to_scipy()).toarray().T.astype(np.float64) + alpha
    sizes = np.bincount(owners.columns, minlength=owners.width)
    whole = counts.sum(axis=0) if len(counts) else np.ones(owners.width)
    weights = np.log(counts) - np.log(whole)
    return weights, np.log(sizes) - np.log(sizes.sum())


REACH = 1e3  # how far a scale may be from one over the spread of the scores
CELLS = 1 << 22  # scores that a scale is fitted on


def posterior(scores: Any, scale: float = 1.0) -> Floats:
    """Softmax, one over the temperature being the scale: p_y ∝ exp(scale · s_y).

    scores : (n, k);  −inf is a class that cannot be. [Guo17]

    >>> posterior([[1.0, 1.0, 0.0]], scale=1000.0).tolist()
    [[0.5, 0.5, 0.0]]
    """
    table = _checked(scores)
    raised = np.exp(scale * (table - table.max(axis=1, keepdims=True)))
    chances: Floats = raised / raised.sum(axis=1, keepdims=True)
    return chances


def fitted_scale(scores: Any, labels: Rows) -> float:
    """The scale under which held-out documents are least surprising.

    It minimises the mean of −log Σ over the document's classes y of p_y: with one class
    a document the log-loss of [Guo17], with several the surprise that a class drawn by
    p is a right one. Documents without a class, or whose classes all have a score of
    −inf, say nothing.

    scores : (n, k), of documents that were not learned from;  labels : Rows (n, k).

    >>> from classmark.sparse import rows_from
    >>> right = rows_from([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> round(fitted_scale([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]], right), 3)
    0.693
    """
    from scipy.optimize import minimize_scalar

    table = _checked(scores)
    if labels.shape != table.shape:
        raise Mistake(
            f"scores has shape {table.shape}, labels {labels.shape}: give a score for "
            "each document and class"
        )
    table, documents, true = _telling(table, labels)
    if not len(table):
        raise Mistake(
            "scores: no document has a class with a finite score: give held-out "
            "documents of classes that were learned"
        )
    spread = float(np.median(-true[true < 0.0])) if (true < 0.0).any() else 0.0
    if not spread > 0.0:
        finite = table[np.isfinite(table)]
        spread = float(finite.std()) if finite.size else 0.0
    middle = -np.log(spread if spread > 0.0 else 1.0)

    def surprise(log_scale: float) -> float:
        scale = np.exp(log_scale)
        right = np.bincount(documents, np.exp(scale * true), len(table))
        every = np.exp(scale * table).sum(axis=1)
        return float(np.mean(np.log(every) - np.log(np.maximum(right, 1e-300))))

    limits = (middle - np.log(REACH), middle + np.log(REACH))
    optimum = minimize_scalar(surprise, bounds=limits, method="bounded")
    return float(np.exp(optimum.x))


def _telling(table: Floats, labels: Rows) -> tuple[Floats, Ints, Floats]:
    """Scores below the best of each document; whose each right class is; its score."""
    step = max(1, -(-table.size // CELLS))
    table = table - table.max(axis=1, keepdims=True)
    document = np.repeat(np.arange(len(labels)), np.diff(labels.starts))
    true = table[document, labels.columns.astype(np.int64)]
    mask = np.isfinite(true) & (document % step == 0)
    which, renumbered = np.unique(document[mask], return_inverse=True)
    return table[which], renumbered.ravel(), true[mask]


def _checked(scores: Any) -> Floats:
    table = np.asarray(scores, np.float64)
    if table.ndim != 2 or not table.shape[1]:
        raise Mistake("scores is to be a matrix (documents, classes)")
    bad = ~np.isfinite(table.max(axis=1, initial=-np.inf)) | np.isnan(table).any(axis=1)
    if bad.any():
        raise Mistake(
            f"scores, row {int(np.argmax(bad))}: the best score is to be a finite "
            "number, the others numbers or −inf"
        )
    return table


BASES = ("svm", "logistic", "naive-bayes")
NOWHERE = -1e9  # the score of a daughter that no document belongs to
PASSES = 1000
FEW = 16  # a vocabulary is gone through if values × this many exceed it


class NodeModel(NamedTuple):
    """The score of daughter j is bias[j] + Σ_f x_f · weights[f, j].

    features : uint32, shape (m,), increasing: the columns that have weights;
    weights : shape (m, d), dense or csr, of the kind of the documents' values;
    bias : (d,).
    """

    features: NDArray[np.uint32]
    weights: Any
    bias: Array

    def scores(self, rows: Rows) -> Floats:
        """Score every daughter, shape (n, d); columns without weights count nothing."""
        scores: Any = keep_columns(rows, self.features).to_scipy() @ self.weights
        dense = scores.toarray() if hasattr(scores, "toarray") else scores
        return np.asarray(dense, np.float64) + self.bias


def fit_node(
    rows: Rows,
    owners: Rows,
    base: str = "svm",
    C: float = 1.0,
    tol: float = 1e-2,
    seed: int = 0,
) -> NodeModel:
    """Learn which daughter a document belongs to, from those that belong to some.

    rows : documents (n, features);  owners : (n, d), an entry where the document
    belongs to daughter j; documents of several daughters and of none may be there.

    "svm": ½‖W‖² + C Σ_i max_s (1 − ⟨w_{y_i} − w_s, x_i⟩)₊ [CrammerSinger01], to a
    relative duality gap of ``tol``. "logistic": ½‖W‖² + C Σ_i −ln p(y_i|x_i), to the
    same gap. In both, the bias is the weight of a constant 1, and a document of several
    daughters puts each of them over all that it is not in.
    "naive-bayes": counts smoothed by α = 1/C; ``tol`` and ``seed`` are not used.

    A daughter without documents has no weights and the bias NOWHERE; where fewer than
    two have documents there is nothing to learn, and no feature is kept.

    >>> from classmark.sparse import rows_from
    >>> rows, owners = rows_from([[0.0, 1.0], [1.0, 0.0]]), rows_from(np.eye(2))
    >>> fit_node(rows, owners, "svm", tol=1e-6).weights.round(3).tolist()
    [[-0.5, 0.5], [0.5, -0.5]]
    """
    require(base, C)
    sizes = np.bincount(owners.columns, minlength=owners.width)
    some = np.flatnonzero(sizes)
    kind = rows.values.dtype
    bias = np.where(sizes > 0, 0.0, NOWHERE).astype(kind)
    if len(some) < 2:
        return NodeModel(np.empty(0, np.uint32), np.empty((0, len(bias)), kind), bias)
    features, compact = in_use(rows)
    labels = owners if len(some) == owners.width else keep_columns(owners, some)
    learned, bias[some] = _learned(base, compact, labels, C, tol, seed)
    if len(some) == owners.width:
        return NodeModel(features, learned, bias)
    weights = np.zeros((len(features), owners.width), kind)
    weights[:, some] = learned
    return NodeModel(features, weights, bias)


def fit_margins(rows: Rows, owners: Rows, ranker: LinearRanker) -> NodeModel:
    """Learn "svm" by a ranker, whose weights may be sparse; all daughters have some."""
    features, compact = in_use(rows)
    weights: Any = ranker.fit(with_constant(compact, 1.0), owners).weights_
    last = weights[-1].toarray() if hasattr(weights, "toarray") else weights[-1]
    return NodeModel(features, weights[:-1], np.ravel(last))


def require(base: str, C: float) -> None:
    """Refuse a learner that is not known, and a C that means nothing."""
    if base not in BASES:
        raise Mistake(f"base {base!r} is not known: use {', '.join(BASES)}")
    if not 0 < C < np.inf:
        raise Mistake(f"C is {C}: give a number greater than 0")


def in_use(rows: Rows) -> tuple[NDArray[np.uint32], Rows]:
    """The columns that have values, increasing, and the rows over these alone."""
    number: Array
    if rows.nnz * FEW < rows.width:
        features, number = np.unique(rows.columns, return_inverse=True)
    else:
        used = np.zeros(rows.width, np.bool_)
        used[rows.columns] = True
        features = np.flatnonzero(used).astype(np.uint32)
        number = (np.cumsum(used, dtype=np.uint32) - 1)[rows.columns]
    columns = number.astype(np.uint32, copy=False)
    return features, Rows(rows.starts, columns, rows.values, len(features))


def _learned(
    base: str, rows: Rows, owners: Rows, C: float, tol: float, seed: int
) -> tuple[Array, Array]:
    """Weights (features, daughters) and bias where every daughter has documents."""
    if base == "naive-bayes":
        weights, bias = log_odds(rows, owners, alpha=1.0 / C)
        kind = rows.values.dtype
        return weights.astype(kind, copy=False), bias.astype(kind, copy=False)
    from classmark.solvers.ascent import ascend
    from classmark.solvers.preference import Caps, ImplicitDual, OddsDual

    full, problem = with_constant(rows, 1.0), None
    if base == "svm":
        ones, caps = np.ones(owners.nnz, np.float32), np.full(owners.width, C)
        levels = Rows(owners.starts, owners.columns, ones, owners.width)
        problem = ImplicitDual(full, levels, "dom", Caps(caps, caps))
    W = ascend(problem or OddsDual(full, owners, C), tol, PASSES, seed).weights
    return W[:-1], W[-1]

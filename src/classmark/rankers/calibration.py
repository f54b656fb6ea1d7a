"""How likely is a category, given the scores of a document?"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Array, Bools, Floats, Ints, Rows, rows_from, take
from classmark.corpus.documents import cross_validate, folds
from classmark.estimator import Estimator, parameters
from classmark.preferences.labels import is_graphs, labels_from
from classmark.problems import Mistake
from classmark.rankers.short_texts import UsualText

if TYPE_CHECKING:
    from classmark.rankers.linear import LinearRanker


def isotonic(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Least squares among the non-decreasing functions of x [ZadroznyElkan02].

    min Σ (f(x_i) − y_i)²  s.t. f(x) ≤ f(x') for x ≤ x'. The fitted function is a step
    for every run of x whose y are pooled. Returned: the mean x of each run, increasing,
    and the height of its step, increasing too.

    >>> places, values = isotonic(np.array([1.0, 2, 3, 4]), np.array([0.0, 1, 0, 1]))
    >>> places.tolist(), values.tolist()
    ([1.0, 2.5, 4.0], [0.0, 0.5, 1.0])
    """
    from scipy.optimize import isotonic_regression

    at, which = np.unique(x, return_inverse=True)
    total, size = np.bincount(which.ravel(), y), np.bincount(which.ravel())
    first = isotonic_regression(total / size, weights=size).blocks[:-1]
    sizes = np.add.reduceat(size, first)
    places = np.add.reduceat(at * size, first) / sizes
    return places, np.add.reduceat(total, first) / sizes


def along(x: Floats, places: Floats, values: Floats) -> Floats:
    """Values of the curve: straight between its places, flat outside them.

    Never decreasing in x, not even by rounding.

    >>> along(np.array([0.0, 1.5, 9.0]), np.array([1.0, 2.0]), np.array([0.2, 0.8]))
    array([0.2, 0.5, 0.8])
    """
    above = np.minimum(np.searchsorted(places, x), len(places) - 1)
    return np.minimum(np.interp(x, places, values), values[above])


Part = tuple[Ints, Ints]
METHODS = ("isotonic", "platt")
ENOUGH = 50  # labelled documents: below, probabilities would be guesses
RIVAL = 0.25
STEADY = 0.25
CELLS = 1 << 23  # held-out scores: 64 MiB
SLOPE_CELLS = 1 << 20  # of them, that tell the slope which offsets are measured by
STEPS, SMALLEST = 100, 1e-10  # of Newton's method
KAPPA = 3.0  # decisions' worth of belief that a category is as others of its size
TRUST = 0.5  # how much of an offset is believed of the documents to come
RIDGE = (
    1.0  # on what the size of a category adds: without it, equal sizes have no slope
)


BySize = tuple[tuple[Floats, ...], tuple[Floats, ...]]  # when held out, and now


def _by_size(learned: Any, sizes: Any, shape: tuple[int, ...]) -> BySize:
    """What the size of a category may add to its log-odds: ln(1 + n), and where n = 0.

    Less the mean over all held-out pairs: what is added is 0 on average.
    """
    if sizes is None:
        raise Mistake("learned is given without sizes: give those of the ranker too")
    then, now = (
        (np.log1p(np.asarray(n, np.float64)), np.asarray(n) == 0)
        for n in (learned, sizes)
    )
    means = [float(np.mean(column)) for column in then]
    return (
        tuple(np.broadcast_to(c - m, shape) for c, m in zip(then, means, strict=True)),
        tuple(c - m for c, m in zip(now, means, strict=True)),
    )


@parameters()
class Calibrator(Estimator):
    """Probabilities from scores, learned on decisions the ranker was not trained on.

    A ranker's scores compare categories within a document only, so they are first made
    comparable across documents (``standing``): z_r = (s_r − mean) / √(v + ¼ v̄), with v
    the variance of the document's own scores and v̄ its mean over the documents; then
    z_r − ¼ max of z_s over the other categories. To this each category adds an offset
    of its own: half of how much more or less often than others of that standing
    categories with so few decisions are right, and the category itself, shrunken
    towards 0 where few decisions say so (``category_offsets``). From there one curve
    serves all categories, so that several may be likely at once. ``shifted`` is what
    the categories of a document are ordered by: an order by probability.

    method : "isotonic", straight lines between the middles of the steps of isotonic
        regression [ZadroznyElkan02], or "platt", 1 / (1 + exp(−a f − b)) with a ≥ 0
        [Platt99]. Both fit Platt's targets (n₊ + 1) / (n₊ + 2) and 1 / (n₋ + 2):
        nothing is ever certain.

    Attributes: decisions_ (how many documents it learned from), variance_ (v̄),
    offsets_ (of the categories, (k,); none: the curve alone), curve_ (isotonic: places
    and values, shape (2, steps); platt: a and b).

    >>> scores = [[2.0, 0.0, 0.1], [0.2, 3.0, 0.0], [0.0, 0.1, 2.5], [0.6, 0.4, 0.5]]
    >>> calibrator = Calibrator().fit(scores, [[0], [1], [2], [1]])
    >>> calibrator.transform([[0.1, 2.4, 0.0]]).round(2).tolist()
    [[0.1, 0.83, 0.1]]
    """

    _kind = "transformer"
    kappa: ClassVar[float] = KAPPA
    rate_ = 0.0
    method: str = "isotonic"
    usual_text_: UsualText | None = None  # of the texts it learned from

    def fit(self, scores: Any, Y: Any, learned: Any = None, sizes: Any = None) -> Self:
        """Learn from held-out scores, shape (n, k), and the labels of the documents.

        learned : how many documents with each category those rankers had learned from
        that gave the scores, (n, k) or (k,), as a share of their documents times all;
        sizes : the same of the ranker whose scores are to be transformed, (k,). Without
        them the size of a category plays no part.
        """
        if self.method not in METHODS:
            raise Mistake(f"method is {self.method!r}: use {' or '.join(METHODS)}")
        S = _checked(scores)
        if not S.size:
            raise Mistake("scores is empty: give decisions to calibrate on")
        labels = labels_from(Y, len(S), S.shape[1])
        right = labels.to_scipy().toarray() > 0
        n_true = int(right.sum())
        low, high = 1 / (right.size - n_true + 2), (n_true + 1) / (n_true + 2)
        targets = np.where(right, high, low)
        self.variance_ = float(S.var(axis=1).mean())
        self.decisions_ = len(S)
        self.rate_ = n_true / right.size
        f = self.standing(S)
        by_size = None if learned is None else _by_size(learned, sizes, f.shape)
        self.offsets_, held_out = self._learned_offsets(f, right, targets, by_size)
        f = (f + held_out).ravel()
        if self.method == "platt":
            self.curve_ = _sigmoid_fit(f, targets.ravel())
        else:
            places, values = isotonic(f, right.ravel().astype(np.float64))
            self.curve_ = np.stack((places, low + (high - low) * values))
        return self

    def transform(self, scores: Any, columns: Any = None) -> Floats:
        """Probabilities, shape (n, k).

        columns : (k,), which of the categories fitted each column of ``scores`` is; by
        default the first is the first. Numbers beyond those fitted are categories that
        came later, about which the curve alone speaks.
        """
        self._require_fitted()
        return self.chances(self.shifted(_checked(scores), columns))

    def chances(self, f: Floats) -> Floats:
        """The probabilities of standings with their offsets: of what orders them."""
        first, second = self.curve_
        if self.method == "platt":
            return sigmoid(first * f + second)
        return along(f, first, second)

    def regrouped(self, columns: Sequence[Sequence[int]]) -> Self:
        """The same for categories that stand for several of those fitted.

        columns : of each category, the numbers of those it stands for; its offset is
        the mean of theirs.
        """
        other = copy(self)
        if len(self.offsets_):
            means = [self._offsets_of(np.array(own)).mean() for own in columns]
            other.offsets_ = np.array(means)
        return other

    def _learned_offsets(
        self, f: Floats, right: Bools, targets: Floats, by_size: BySize | None
    ) -> tuple[Floats, Any]:
        """Offsets in units of the standing: (k,), and as they were when held out."""
        some = slice(None, None, max(1, -(-f.size // SLOPE_CELLS)))
        held_out, now = ((), ()) if by_size is None else by_size
        design = [each[some].ravel() for each in (f, np.ones(f.shape), *held_out)]
        weights = _logistic_fit(np.column_stack(design), targets[some].ravel())
        slope, shift, *size_weights = weights
        if not slope > 0:  # the standing says nothing
            return np.zeros(f.shape[1]), 0.0
        then = sum((w * c for w, c in zip(size_weights, held_out, strict=True)), 0.0)
        since = sum((w * c for w, c in zip(size_weights, now, strict=True)), 0.0)
        own = category_offsets(slope * f + shift + then, right, self.kappa)
        return TRUST * (own + since) / slope, TRUST * (own + then) / slope

    def _offsets_of(self, columns: Ints) -> Floats:
        """The offsets of categories by their numbers; 0 beyond those fitted."""
        known = columns < len(self.offsets_)
        return np.where(known, self.offsets_[np.where(known, columns, 0)], 0.0)

    def shifted(self, scores: Floats, columns: Any = None) -> Floats:
        """The standings with the categories' offsets: the order by probability."""
        f, width = self.standing(scores), scores.shape[1]
        if not len(self.offsets_):
            return f
        if columns is None and width < len(self.offsets_):
            raise Mistake(
                f"scores has {width} columns, {len(self.offsets_)} categories were "
                "fitted: say with columns which of them these are"
            )
        numbers = np.arange(width) if columns is None else np.asarray(columns)
        return f + self._offsets_of(numbers)

    def standing(self, scores: Floats) -> Floats:
        """How each category stands in its document, on a scale all documents share."""
        spread = np.sqrt(scores.var(axis=1) + STEADY * self.variance_)
        z = scores - scores.mean(axis=1, keepdims=True)
        z /= np.where(spread > 0, spread, 1.0)[:, np.newaxis]
        standing: Floats = z - RIVAL * _best_other(z)
        return standing

    def to_arrays(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """The fitted curve and the settings, to be saved."""
        self._require_fitted()
        return {"curve": self.curve_, "offsets": self.offsets_}, {
            "method": self.method,
            "variance": self.variance_,
            "decisions": self.decisions_,
            "rate": self.rate_,
            "usual_text": self.usual_text_,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], settings: dict[str, Any]) -> Self:
        """The calibrator that :meth:`to_arrays` described; in old files no offsets."""
        calibrator = cls(settings["method"])
        calibrator.curve_ = arrays["curve"]
        calibrator.offsets_ = arrays.get("offsets", np.zeros(0))
        calibrator.variance_ = settings["variance"]
        calibrator.decisions_ = settings["decisions"]
        calibrator.rate_ = settings.get("rate", 0.0)  # unknown in old files
        if usual := settings.get("usual_text"):
            calibrator.usual_text_ = UsualText(*usual)
        return calibrator


def category_offsets(margins: Floats, right: Bools, kappa: float = KAPPA) -> Floats:
    """What is to be added to the log-odds of each category, shrunken towards 0.

    b_r minimises Σ_i (ln(1 + e^{m_ir + b_r}) − y_ir (m_ir + b_r)) + ½ κ b_r², the mode
    under a normal prior of variance 1/κ around the common curve; by Newton's method, no
    step longer than 1.

    margins : m, the log-odds by the common curve, (n, k);  right : y, (n, k).

    >>> margins = np.zeros((6, 2))
    >>> right = np.array([[True, False]] * 6)
    >>> category_offsets(margins, right, kappa=1.0).round(2).tolist()
    [1.29, -1.29]
    """
    offsets = np.zeros(margins.shape[1])
    count = right.sum(axis=0)
    for _ in range(STEPS):
        chances = sigmoid(margins + offsets)
        slope = chances.sum(axis=0) - count + kappa * offsets
        curvature = (chances * (1.0 - chances)).sum(axis=0) + kappa
        step = np.clip(slope / curvature, -1.0, 1.0)
        offsets -= step
        if np.abs(step).max(initial=0.0) < 1e-6:
            break
    return offsets


class HeldOutScores(NamedTuple):
    """What ``Calibrator.fit`` takes: scores, labels, and the sizes of the categories.

    scores : (n, k);  labels : (n, k);  learned : (n, k), of each score, how many
    documents with that category its ranker learned from, scaled to all documents;
    sizes : (k,), how many documents have each category.
    """

    scores: Floats
    labels: Rows
    learned: Floats
    sizes: Ints


def held_out_scores(
    ranker: LinearRanker, X: Any, Y: Any, lessons: Any = None, n_folds: int = 5
) -> HeldOutScores:
    """Scores of labelled documents by rankers not trained on them, and their labels.

    The ranker's parameters are taken, ``ranker`` itself is not fitted.

    lessons : preference graphs to train with instead of the labels. Where documents ×
    categories is large, only some documents of each fold are scored.
    """
    rows = rows_from(X)
    labels = labels_from(Y, len(rows))
    parts = sample_tests(list(folds(len(rows), n_folds, random_state=0)), labels)
    taught = lessons if is_graphs(lessons) else labels
    shared = (type(ranker)(**ranker.get_params(deep=False)), rows, taught)
    tested, scores = cross_validate(scored_apart, parts, shared, "calibrating")
    order = np.argsort(np.concatenate([test for _, test in parts]), kind="stable")
    learned = learned_of(parts, labels)[order]
    return HeldOutScores(scores, take(labels, tested), learned, sizes_of(labels))


def sizes_of(labels: Rows) -> Ints:
    """How many documents have each category, (k,)."""
    return np.bincount(labels.columns, minlength=labels.width)


def learned_of(parts: Sequence[Part], labels: Rows) -> Floats:
    """How many documents with each category were learned from, scaled to all: (n, k).

    A row for every document tested, part after part.
    """
    counts = [
        sizes_of(take(labels, train)) * (len(labels) / len(train)) for train, _ in parts
    ]
    return np.repeat(np.array(counts), [len(test) for _, test in parts], axis=0)


def sample_tests(
    parts: Sequence[Part], labels: Rows, most: int | None = None
) -> list[Part]:
    """Keep, of the test half of each part, documents with labels; of many, a sample.

    most : how many scores there are of a document, where not of all categories.
    """
    width = max(labels.width, 1)
    share = max(10, CELLS // (min(width, most or width) * len(parts)))
    labelled = np.diff(labels.starts) > 0
    tests = ((train, test[labelled[test]]) for train, test in parts)
    return [(train, some[:: max(1, -(-len(some) // share))]) for train, some in tests]


def scored_apart(part: Part, ranker: LinearRanker, rows: Rows, lessons: Any) -> Floats:
    """Scores of the second half of ``part`` by a ranker that learned from the first.

    lessons : labels as Rows, or a graph per document.
    """
    train, test = part
    labelled = isinstance(lessons, Rows)
    taught = take(lessons, train) if labelled else [lessons[i] for i in train]
    fresh = type(ranker)(**ranker.get_params(deep=False)).fit(take(rows, train), taught)
    return fresh.decision_function(take(rows, test))


def crossed_probabilities(
    scores: Floats,
    Y: Any,
    method: str = "isotonic",
    n_folds: int = 5,
    sizes: Any = None,
) -> Floats:
    """By calibrators fitted on some documents and applied to the others, (n, k).

    scores : of documents held out;  sizes : (k,), from how many documents of each
    category the ranker has learned, or None.
    """
    labels = labels_from(Y, len(scores), scores.shape[1])
    probabilities = np.empty(scores.shape)
    for train, test in folds(len(scores), n_folds, random_state=0):
        calibrator = Calibrator(method)
        calibrator.fit(scores[train], take(labels, train), sizes, sizes)
        probabilities[test] = calibrator.transform(scores[test])
    return probabilities


def _checked(scores: Any) -> Floats:
    matrix = np.asarray(scores, np.float64)
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise Mistake(
            "scores is to be a matrix (documents, categories) of finite numbers"
        )
    return matrix


def _best_other(z: Floats) -> Floats:
    """For every category the best value among the others, shape of ``z``."""
    if z.shape[1] < 2:
        return np.zeros(z.shape)
    is_best = np.arange(z.shape[1]) == z.argmax(axis=1, keepdims=True)
    second, first = np.split(np.partition(z, -2, axis=1)[:, -2:], 2, axis=1)
    return np.where(is_best, second, first)


def sigmoid(f: Floats) -> Floats:
    """1 / (1 + exp(−f)), without overflow."""
    half: Floats = np.tanh(f / 2)
    return (1 + half) / 2


def logistic_weights(
    design: Floats,
    targets: Floats,
    penalty: float,
    *,
    weight: ArrayLike = 1.0,
    start: ArrayLike = 0.0,
    max_iter: int = 1000,
    tol: float | None = None,
) -> Floats:
    """Weights w of penalised logistic regression, by L-BFGS; the last is the bias.

    min Σ c (ln(1 + e^f) − t f) + ½ penalty ‖w − w₀‖² without the bias, f = design · w.

    design : (n, features + 1), the last column 1;  targets : t, from 0 to 1, (n,);
    weight : c, a number or (n,);  start : w₀, a number or (features + 1,);  tol : as
    in ``scipy.optimize.minimize``.
    """
    from scipy.optimize import minimize

    first = np.broadcast_to(np.asarray(start, np.float64), design.shape[1:])
    c = np.asarray(weight, np.float64)

    def cost(w: Floats) -> tuple[float, Floats]:
        margin = design @ w
        moved = np.append((w - first)[:-1], 0.0)
        loss = c * (np.logaddexp(0.0, margin) - targets * margin)
        slope = design.T @ (c * (sigmoid(margin) - targets)) + penalty * moved
        return float(loss.sum() + 0.5 * penalty * moved @ moved), slope

    solution: Any = minimize(
        cost, first, jac=True, method="L-BFGS-B", tol=tol, options={"maxiter": max_iter}
    )
    return np.asarray(solution.x)


def _sigmoid_fit(f: Floats, t: Floats) -> Floats:
    """Slope, not negative, and shift of least cross-entropy."""
    return _logistic_fit(np.column_stack((f, np.ones(len(f)))), t)


def _logistic_fit(design: Floats, t: Floats) -> Floats:
    """Weights of least cross-entropy; the first, a slope, is not negative.

    By Newton's method, a step halved until the cost falls [LinLinWeng07]. The second
    column is 1; the weights of those behind it cost ½ w² each.
    """
    penalty: Floats = np.where(np.arange(design.shape[1]) > 1, RIDGE, 0.0)
    flat = np.zeros(design.shape[1])
    flat[1] = np.log(t.mean() / (1 - t.mean()))
    w, cost = flat, _cross_entropy(design @ flat, t)
    for _ in range(STEPS):
        p = sigmoid(design @ w)
        slope = design.T @ (p - t) + penalty * w
        if np.abs(slope).max() < 1e-8 * len(design):
            break
        curvature = (design.T * (p * (1 - p))) @ design
        curvature += np.diag(penalty + 1e-12)
        step, size = np.linalg.solve(curvature, slope), 1.0
        while (new := _cost(design, w - size * step, t, penalty)) > cost:
            size /= 2
            if size < SMALLEST:
                return flat if w[0] < 0 else w
        w, cost = w - size * step, new
    return flat if w[0] < 0 else w


def _cost(design: Floats, w: Floats, t: Floats, penalty: Floats) -> float:
    return _cross_entropy(design @ w, t) + 0.5 * float(penalty @ (w * w))


def _cross_entropy(margin: Floats, t: Floats) -> float:
    return float((np.logaddexp(0, margin) - t * margin).sum())


REACH = 1e3  # how far a scale may be from one over the spread of the scores


SCALED = 1 << 22  # scores that a scale is fitted on


def posterior(scores: Any, scale: float = 1.0) -> Floats:
    """Softmax, one over the temperature being the scale: p_y ∝ exp(scale · s_y).

    scores : (n, k);  −inf is a class that cannot be. [Guo17]

    >>> posterior([[1.0, 1.0, 0.0]], scale=1000.0).tolist()
    [[0.5, 0.5, 0.0]]
    """
    table = _score_table(scores)
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

    >>> from classmark.arrays import rows_from
    >>> right = rows_from([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> round(fitted_scale([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]], right), 3)
    0.693
    """
    from scipy.optimize import minimize_scalar

    table = _score_table(scores)
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
    step = max(1, -(-table.size // SCALED))
    table = table - table.max(axis=1, keepdims=True)
    document = np.repeat(np.arange(len(labels)), np.diff(labels.starts))
    true = table[document, labels.columns.astype(np.int64)]
    mask = np.isfinite(true) & (document % step == 0)
    which, renumbered = np.unique(document[mask], return_inverse=True)
    return table[which], renumbered.ravel(), true[mask]


def _score_table(scores: Any) -> Floats:
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


class PathCalibrator(Calibrator):
    """Probabilities of paths down a tree, from the products of those at the nodes.

    One curve over their logarithms: no other category of the document is looked at.
    Categories that a fold had no documents of (−inf) teach nothing.
    """

    def fit(self, scores: Any, Y: Any, *_: Any) -> Self:
        """Learn from held-out scores, shape (n, k), and the labels of the documents."""
        table = np.asarray(scores, np.float64)
        right = labels_from(Y, *table.shape).to_scipy().toarray() > 0
        can = table > -np.inf
        super().fit(table[can][:, None], right[can][:, None].astype(np.float64))
        self.decisions_ = len(table)
        return self

    def fit_best(self, scores: Floats, right: Bools, n_categories: int) -> Self:
        """Learn from the best categories of documents alone, (n, best), out of all."""
        self.fit(scores, right)
        self.rate_ = right.sum() / (len(scores) * n_categories)
        return self

    def standing(self, scores: Floats) -> Floats:
        """The scores themselves."""
        return scores

    def _learned_offsets(self, *_: Any) -> tuple[Floats, Any]:
        """None: a path's probability has the sizes of the nodes in it already."""
        return np.zeros(0), 0.0

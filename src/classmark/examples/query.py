"""Some documents are the query: learned over a collection, or answered by an index."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats, Ints, Rows, rows_from, stack, take
from classmark.estimator import TINY, Estimator, parameters
from classmark.examples import auto
from classmark.examples.auto import biased
from classmark.examples.problem import (
    PRICES,
    Collection,
    TrainingSet,
    hinges_of,
    mean_of,
    open_only,
    products,
    sampled,
    taken_in,
    training_set,
)
from classmark.index.index import Index
from classmark.index.models import Prepared
from classmark.index.vectors import Products, mean_vector, vectors_of
from classmark.problems import Mistake
from classmark.ranking import top
from classmark.solvers.cutting_planes import (
    ascend_precision,
    balanced_scale,
    cutting_planes,
    linear_in_kernel,
    oracle_of,
    without,
)
from classmark.solvers.hinge import KernelFunction, ascend_gram
from classmark.solvers.smooth import squared_hinges
from classmark.validation import numbers, require_numbers

NEED_NOTHING = ("centroid", "one-class")
NEED_MEAN = ("rocchio", "auto")
PRODUCTS = ("precision-recall", "precision-recall-balanced")
AT_K = ("precision@k", "recall@k")
TABLES = (*PRODUCTS, *AT_K)
WEIGHTED = (
    "auto",
    "balanced",
    "precision-recall-balanced",
)  # C is what an example costs


BLOCK = 1 << 22  # similarities held at a time


class LearnedQuery(NamedTuple):
    """A query: weights, or coefficients of support documents under a kernel."""

    weights: Floats | None
    objective: float
    gap: float
    method: str
    C: float
    answer: auto.AutoQuery | None = None
    coefficients: Floats = np.empty(0)
    support: Rows | None = None
    kernel: KernelFunction | None = None

    def scores(self, X: Rows | Collection) -> Floats:
        """Score documents, shape (n,)."""
        if self.weights is not None:
            if X.width != len(self.weights):
                raise Mistake(f"X has {X.width} columns: give {len(self.weights)}")
            return products([X]).product(self.weights)
        if not isinstance(X, Rows):
            raise Mistake(
                "X: a kernel needs rows at hand: score some at a time (X.take(rows)), "
                "or use the linear one"
            )
        if self.kernel is None or self.support is None:
            raise TypeError("a query without weights has support documents")
        documents, support = X.to_scipy(), self.support.to_scipy()
        step = max(1, BLOCK // max(1, len(self.coefficients)))
        scores = [
            self.kernel(documents[first : first + step], support) @ self.coefficients
            for first in range(0, len(X), step)
        ]
        return np.concatenate([np.empty(0), *scores])


def learned(
    settings: ExampleQuery, training: TrainingSet, before: LearnedQuery | None
) -> LearnedQuery:
    """Learn by the method of the settings; ``before`` is the query to start from."""
    method, C, tol = settings.method, _cost(settings), _tol(settings)
    _require(method, training)
    if settings.kernel != "linear":
        return _by_kernel(settings, training)
    if method in {"centroid", "rocchio"}:
        return _by_means(method, training)
    answer: auto.AutoQuery | None = None
    solution: Any
    if method == "auto":
        start = None if before is None else before.answer
        answer = auto.learn(training, C, tol, start)
        solution = replace(answer.solution, weights=answer.weights)
    elif method in PRICES:
        hinges = hinges_of(training, PRICES[method](training, C))
        solution = training.ascend(hinges, tol)
    elif method == "biased":
        solution, C = biased(training, settings.C, tol, settings.random_state)
    else:
        solution = _by_tables(settings, open_only(training))
    return LearnedQuery(
        solution.weights, solution.objective, solution.gap, method, C, answer
    )


def _require(method: str, training: TrainingSet) -> None:
    if len(training.U) or method in NEED_NOTHING:
        return
    if method not in NEED_MEAN:
        raise Mistake(f"{method} learns from the collection: give U")
    if not training.mean.any():
        raise Mistake(f"{method} learns from the collection: give U, or its mean")


def _by_means(method: str, training: TrainingSet) -> LearnedQuery:
    """The mean of P, less that of U: the minimum of ½‖w‖² − w · (mean P − mean U)."""
    weights = mean_of(training.P)
    if method == "rocchio":
        weights = weights - training.mean
    if len(training.N):
        weights = weights - mean_of(training.N)
    value = -0.5 * float(weights @ weights)
    return LearnedQuery(weights, value, 0.0, method, float("nan"))


def _by_tables(
    settings: ExampleQuery, training: TrainingSet, kernel: KernelFunction | None = None
) -> Any:
    """SVM_pr, SVM_p@k, SVM_r@k: rejected documents stand among the others.

    Labelled rows of U stand in no table: they are in P or N.
    """
    method, C, tol = settings.method, _cost(settings), _tol(settings)
    P, N, U = training.P, training.N, training.U
    parts: list[Rows | Collection] = [P, N, U] if len(N) else [P, U]
    if len(N) and isinstance(U, Rows):
        parts = [P, stack([N, U])]
    others = len(N) + training.n_unlabelled
    weighted = method == "precision-recall-balanced"
    scale = balanced_scale(len(P), others) if weighted else None
    here = [part for part in parts if isinstance(part, Rows)]
    if method in PRODUCTS and len(here) == len(parts) and kernel is None:
        return ascend_precision(here, C, scale=scale, tol=tol)
    kind = "precision-recall" if method in PRODUCTS else method
    k = len(P) if settings.k is None else settings.k
    oracle = oracle_of(kind, len(P), others, k=k, scale=scale)
    X = products(parts) if kernel is None else linear_in_kernel(here, kernel)
    hidden = len(P) + len(N) + training.labelled
    return cutting_planes(X, without(oracle, hidden), C, tol=tol)


def _by_kernel(settings: ExampleQuery, training: TrainingSet) -> LearnedQuery:
    """Learn coefficients of documents: by hinges, by tables, or, for means, 1/l, −1/u.

    Documents whose coefficient is 0 are no support.
    """
    training = open_only(training) if settings.method in TABLES else training
    method, U = settings.method, training.U
    if isinstance(U, Collection):
        raise Mistake(
            f"the kernel {settings.kernel!r} needs the rows of U at hand: use the "
            "linear one, or give how many documents to learn from as sample"
        )
    kernel = KernelFunction(
        settings.kernel, settings.gamma, settings.degree, settings.coef0
    )
    parts = [training.judged(), U] if len(U) else [training.judged()]
    objective, gap, C = float("nan"), 0.0, float("nan")
    if method in {"centroid", "rocchio"}:
        if method == "rocchio" and not len(U):
            raise Mistake("rocchio with a kernel needs the documents of U: give them")
        signs = (1.0, -1.0, -1.0 if method == "rocchio" else 0.0)
        sizes = (len(training.P), len(training.N), len(U))
        shares = [sign / max(n, 1) for sign, n in zip(signs, sizes, strict=True)]
        coefficients = np.repeat(shares, sizes)
    elif method in KERNELS:
        C = _cost(settings)
        if method in TABLES:
            solution = _by_tables(settings, training, kernel)
        else:
            hinges = hinges_of(training, PRICES[method](training, C))
            solution = ascend_gram(parts, hinges, kernel, tol=_tol(settings))
        objective, gap = solution.objective, solution.gap
        coefficients = solution.coefficients
    else:
        methods = ", ".join(KERNELS)
        raise Mistake(f"{method} has no form with kernels: use {methods}")
    support = np.flatnonzero(coefficients)
    sums = coefficients[support], take(stack(parts), support), kernel
    return LearnedQuery(None, objective, gap, method, C, None, *sums)


def _cost(settings: ExampleQuery) -> float:
    if settings.C is not None:
        return float(settings.C)
    return 1.0 if settings.method in WEIGHTED else 100.0


def _tol(settings: ExampleQuery) -> float:
    if settings.tol is not None:
        return settings.tol
    return 1e-2 if settings.method == "auto" else 1e-3


METHODS = (
    "auto", "centroid", "one-class", "rocchio", "two-class", "balanced",
    "balanced-literal", "precision-recall", "precision-recall-balanced", "precision@k",
    "recall@k", "biased",
)  # fmt: skip
KERNELS = ("centroid", "rocchio", *PRICES, *TABLES)
CURVED = ("polynomial", "rbf")


def require_effect(method: str, params: Mapping[str, Any]) -> None:
    """Refuse parameters that change nothing with this method and this kernel.

    params : of ``ExampleQuery``, by name, those that somebody has chosen.

    >>> require_effect("balanced", {"k": 5})
    Traceback (most recent call last):
    classmark.problems.Mistake: k is of precision@k and recall@k, not of balanced: \
leave it out, or choose one of them as method
    """
    kernel = params.get("kernel", "linear")
    effects = {
        "k": (AT_K, method, "method"),
        "sample": ([m for m in METHODS if m not in NEED_NOTHING], method, "method"),
        "kernel": (METHODS if kernel == "linear" else KERNELS, method, "method"),
        "gamma": (CURVED, kernel, "kernel"),
        "degree": (CURVED[:1], kernel, "kernel"),
        "coef0": (CURVED[:1], kernel, "kernel"),
    }
    for name in params:
        users, chosen, what = effects[name]
        if chosen not in users and (chosen in METHODS or what == "kernel"):
            raise Mistake(
                f"{name} is of {' and '.join(users)}, not of {chosen}: leave it out, "
                f"or choose one of them as {what}"
            )


@parameters()
class ExampleQuery(Estimator):
    """A query vector learned from examples P and, mostly, an unlabelled collection U.

    method : "auto" for no choice to be made; "centroid", "one-class", "rocchio",
        "two-class", "balanced", "balanced-literal", "precision-recall", "precision@k",
        "recall@k" [ZhangLee09], "precision-recall-balanced" (the same, a document of U
        counting l/u), "biased" [LiuEtAl03].
    C : what an error costs. None: 1, which is the cost C_P of an example, for "auto"
        and both balanced ones; searched for "biased"; else 100, that of ½‖w‖² + (C/l) Σ
        ξ, ½‖w‖² + (C/n) Σ ξ, or of OP 4 and 5 with their 1/n and 1/2n.
    k : of "precision@k" and "recall@k"; the number of examples if None.
    tol : of the duality gap, relative to the objective. None: 0.01 for "auto", which
        ranks as well by it, else 0.001.
    kernel, gamma, degree, coef0 : "linear", "polynomial", "rbf" or a function of two
        matrices, for all methods but "auto" and "biased".
    sample : learn from so many documents of U, drawn by ``random_state``.

    After ``fit``: ``coef_`` (features,), ``objective_``, ``duality_gap_`` (relative),
    ``nonzero_`` (how many weights there are), ``method_``, ``C_``, and of "auto"
    ``choice_``, what it read off P and U, and ``parts_``, the queries it averaged.

    >>> query = ExampleQuery("rocchio").fit([[1.0, 0.0]], [[0.6, 0.8], [0.0, 1.0]])
    >>> query.coef_.round(3).tolist()
    [0.7, -0.9]
    >>> query.rank([[0.0, 1.0], [1.0, 0.0]]).tolist()
    [1, 0]
    """

    method: str = "auto"
    C: float | None = None
    k: int | None = None
    tol: float | None = None
    kernel: Any = "linear"
    gamma: float = 1.0
    degree: int = 2
    coef0: float = 1.0
    sample: int | None = None
    random_state: int = 0

    def fit(
        self,
        P: Any,
        U: Any = None,
        N: Any = None,
        *,
        mean: ArrayLike | None = None,
        known: ArrayLike = (),
    ) -> Self:
        """Learn the query.

        P, U, N : examples, the unlabelled collection, documents that are not wanted,
        all of the same width; U may lie elsewhere (``problem.Collection``);  mean :
        of U, where it is at hand: with it and without U, "rocchio" and "auto" answer
        online;  known : the rows of U that are among P or N.

        Or ``fit(X, y)``: the rows of X whose y is above 0 are the examples, and all of
        X is the collection.
        """
        if U is not None and not isinstance(U, Collection) and np.ndim(U) == 1:
            rows = self._taught_rows(P)
            y = numbers(U, len(rows), "y")
            P, U, known = take(rows, y > 0), rows, np.flatnonzero(y > 0)
        else:
            P = self._taught_rows(P, name="P")
        self._history: list[tuple[TrainingSet, LearnedQuery]] = []
        self._take(training_set(P, U, N, mean=mean, labelled=known), None)
        return self

    def partial_fit(
        self, yes: Any = None, no: Any = None, *, known: ArrayLike = ()
    ) -> Self:
        """Learn again with more examples and more rejections.

        known : the rows of U that they are.
        """
        self._require_fitted()
        none = take(self._training.P, [])
        accepted = none if yes is None else rows_from(yes, name="yes")
        rejected = none if no is None else rows_from(no, name="no")
        for name, rows in (("yes", accepted), ("no", rejected)):
            if rows.width != none.width:
                raise Mistake(f"{name} has {rows.width} columns: give {none.width}")
        before = self._training, self._learned
        self._take(self._training.with_more(accepted, rejected, known), self._learned)
        self._history.append(before)
        return self

    def undo(self) -> Self:
        """Take the last ``partial_fit`` back."""
        self._require_fitted()
        if not self._history:
            raise Mistake("nothing to undo: no partial_fit since fit")
        self._training, query = self._history.pop()
        self._show(query)
        return self

    def decision_function(self, X: Any) -> Floats:
        """The scores of documents, shape (n,): w · x, or Σ c_r k(x_r, x)."""
        if not isinstance(X, Collection):
            X = self._rows_as_taught(X)
        self._require_fitted()
        return self._learned.scores(taken_in(X, name="X"))

    def rank(self, X: Any, k: int | None = None) -> Ints:
        """The numbers of the documents, best first, ties by number; the best ``k``."""
        self._require_fitted()
        weights = self._learned.weights
        if isinstance(X, Collection) and k is not None and weights is not None:
            return X.top(weights, k)[0]
        scores = self.decision_function(X)
        return np.argsort(-scores, kind="stable") if k is None else top(scores, k)

    def cut(self, terms: int, of: int | None = None) -> Self:
        """A copy that keeps the heaviest weights, so many of them.

        of : only among the first so many columns: the others, such as those of meaning,
        are kept.

        >>> whole = ExampleQuery("centroid").fit([[0.8, 0.6]])
        >>> whole.cut(1).coef_.tolist()
        [0.8, 0.0]
        """
        self._require_fitted()
        if terms < 1:
            raise Mistake(f"terms is {terms}: keep at least one")
        weights = self.coef_.copy()
        first = weights[:of]
        if terms < np.count_nonzero(first):
            first[np.argsort(-np.abs(first), kind="stable")[terms:]] = 0.0
        shorter = copy(self)
        shorter._history = []  # noqa: SLF001 (a copy of this one)
        shorter._show(self._learned._replace(weights=weights))  # noqa: SLF001
        return shorter

    def __getattr__(self, name: str) -> Any:
        if name == "coef_" and "_learned" in vars(self):
            raise Mistake(
                f"a query with the kernel {self.kernel!r} has no weights per feature: "
                "use decision_function"
            )
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def _take(self, training: TrainingSet, before: LearnedQuery | None) -> None:
        if self.method not in METHODS:
            methods = ", ".join(METHODS)
            raise Mistake(f"method is {self.method!r}: choose one of {methods}")
        require_numbers(self, "C", or_none=True, over=0, under=np.inf)
        require_numbers(self, "k", or_none=True, whole=True, least=1)
        require_numbers(self, "gamma", over=0, under=np.inf)
        require_numbers(self, "degree", whole=True, least=1)
        used = sampled(training, self.sample, self.random_state)
        query = learned(self, used, before if used is training else None)
        self._training = training
        self._show(query)

    def _show(self, query: LearnedQuery) -> None:
        """Have the attributes of a query that has been learned."""
        vars(self).pop("coef_", None)
        self._learned = query
        self.objective_ = query.objective
        self.duality_gap_ = query.gap / max(abs(query.objective), TINY)
        self.method_, self.C_ = query.method, query.C
        self.choice_ = None if query.answer is None else query.answer.choice
        self.parts_ = () if query.answer is None else query.answer.parts
        self.nonzero_ = len(query.coefficients)
        if query.weights is not None:
            self.coef_ = query.weights
            self.nonzero_ = int(np.count_nonzero(query.weights))


@parameters()
class RelevanceQuery(Estimator):
    """A linear query from judged documents, for labels that are rare and noisy.

    Minimises ½‖w‖² + ½b² + C Σ price · max(0, 1 − y(⟨w, x⟩ + b))², price = ``ratio``
    for a relevant document and 1 for another [KeerthiDeCoste05]. C is small, so that no
    single judgment weighs much; the bias b takes up that most judged documents are not
    relevant, which weights alone could only do at the cost of the order.

    After ``fit``: ``coef_`` (features,), ``intercept_``, ``objective_``.

    >>> query = RelevanceQuery().fit([[1.0, 0.0]], N=[[0.0, 1.0]])
    >>> bool(np.diff(query.decision_function([[0.0, 1.0], [1.0, 0.0]]))[0] > 0)
    True
    """

    C: float = 0.03
    ratio: float = 10.0
    tol: float = 0.01

    def fit(
        self,
        P: Any,
        U: Any = None,  # noqa: ARG002 - as every query is asked
        N: Any = None,
    ) -> Self:
        """Learn from relevant P and irrelevant N; unjudged documents are not used."""
        require_numbers(self, "C", "ratio", over=0)
        yes = rows_from(P, name="P")
        if not len(yes):
            raise Mistake("P is empty: give at least one relevant document")
        no = take(yes, []) if N is None else rows_from(N, name="N")
        self._yes, self._no = yes, no
        return self._learn(None)

    def partial_fit(self, yes: Any = None, no: Any = None) -> Self:
        """Learn again with more of both kinds, starting from what is known."""
        if yes is not None:
            self._yes = stack([self._yes, rows_from(yes, name="yes")])
        if no is not None:
            self._no = stack([self._no, rows_from(no, name="no")])
        return self._learn(np.append(self.coef_, self.intercept_))

    def decision_function(self, X: Any) -> Floats:
        """⟨w, x⟩ + b of each row, shape (n,)."""
        rows = rows_from(X)
        weights = self.coef_.astype(rows.values.dtype)
        return np.asarray(rows.to_scipy() @ weights + self.intercept_, float)

    def _learn(self, start: Floats | None) -> Self:
        rows = stack([self._yes, self._no])
        positive = np.arange(len(rows)) < len(self._yes)
        prices = self.C * np.where(positive, self.ratio, 1.0)
        signs = np.where(positive, 1.0, -1.0)
        solution = squared_hinges(rows, signs, prices, start=start, tol=self.tol)
        self.coef_, self.intercept_ = solution.weights[:-1], float(solution.weights[-1])
        self.objective_ = solution.objective
        return self


ONLINE = ("auto", "centroid", "one-class", "rocchio")
TERMS = 3000  # of the heaviest are asked for


class IndexExamples(ABC):
    """Queries learned from documents of an index, by their ids, over one field."""

    index: Index
    field: Prepared

    @abstractmethod
    def rows_of(self, ids: Sequence[str]) -> Rows:
        """Return the vectors of documents, columns being the field's terms."""

    def term_weights(self, query: ExampleQuery) -> dict[str, float]:
        """Return the weights of a query that are not 0, by term."""
        term, weights = self.field.field.term, query.coef_
        return {term(int(at)): float(weights[at]) for at in np.flatnonzero(weights)}

    def reasons(self, result: OnlineResult, n: int) -> list[dict[str, float]]:
        """The ``n`` greatest parts of each document's score: term → weight · value."""
        rows, reasons = self.rows_of(result.ids), []
        for i in range(len(rows)):
            columns, values = rows.row(i)
            terms = [self.field.field.term(int(column)) for column in columns]
            parts = [result.weights.get(term, 0.0) for term in terms] * values
            best = [at for at in top(parts, n) if parts[at] > 0.0]
            reasons.append({terms[at]: float(parts[at]) for at in best})
        return reasons


class Online(IndexExamples):
    """Learns queries from documents of an index, which knows the mean of all.

    One field is learned from: the only one, or the one with most words. Its mean is
    computed once, and kept.

    >>> from tempfile import TemporaryDirectory
    >>> from classmark import Index
    >>> with TemporaryDirectory() as folder:
    ...     index = Index.build(folder, [("a", "bee hive"), ("b", "hive"), ("c", "ox")])
    ...     Online(index).find(["a"], k=1).ids
    ['b']
    """

    def __init__(self, index: Index) -> None:
        self.index = index
        fields = index.searcher.fields.values()
        self.field = max(fields, key=lambda field: field.field.total_length)
        self.products = Products(self.field)
        self.mean: Floats | None = None

    def learn(
        self,
        examples: Sequence[str],
        rejected: Sequence[str] = (),
        *,
        method: str = "auto",
        C: float | None = None,
    ) -> ExampleQuery:
        """A query from documents' ids, its columns being the field's terms."""
        if method not in ONLINE:
            methods = ", ".join(ONLINE)
            raise Mistake(f"{method} reads the whole collection: online use {methods}")
        if self.mean is None:
            self.mean = mean_vector(self.field)
        P, N = self.rows_of(examples), self.rows_of(rejected) if rejected else None
        return ExampleQuery(method, C=C).fit(P, N=N, mean=self.mean)

    def find(
        self,
        examples: Sequence[str],
        k: int = 10,
        rejected: Sequence[str] = (),
        method: str = "auto",
        C: float | None = None,
        terms: int = TERMS,
    ) -> OnlineResult:
        """The best ``k`` documents that are not judged, by the heaviest terms.

        The query's weights, cut to ``terms`` of them, are an exact ``search_vector``.
        """
        query = self.learn(examples, rejected, method=method, C=C).cut(terms)
        weights, judged = self.term_weights(query), {*examples, *rejected}
        vector = self.products.weigh(weights)
        best = self.index.searcher.search_vector(vector, k + len(judged))
        hits = [hit for hit in best if hit.id not in judged][:k]
        return OnlineResult([h.id for h in hits], [h.score for h in hits], weights)

    def rows_of(self, ids: Sequence[str]) -> Rows:
        """Return the vectors of documents, columns being the field's terms."""
        return vectors_of(self.field, self.index.numbers(ids))


class OnlineResult(NamedTuple):
    """The best documents of an online query, best first; weights : of its terms."""

    ids: list[str]
    scores: list[float]
    weights: dict[str, float]

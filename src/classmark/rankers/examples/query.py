"""ExampleQuery: some documents are the query; a whole collection is ranked by it."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Floats, Ints
from classmark.estimator import Estimator
from classmark.problems import Mistake
from classmark.rankers.examples import auto
from classmark.rankers.examples.collection import Collection, taken_in
from classmark.rankers.examples.given import Given, empty, given, sampled
from classmark.rankers.examples.learning import Learned, learned
from classmark.sparse import rows_from

METHODS = (
    "auto", "centroid", "one-class", "rocchio", "two-class", "balanced",
    "balanced-literal", "precision-recall", "precision-recall-balanced", "precision@k",
    "recall@k", "biased",
)  # fmt: skip


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
        matrices, for methods that price hinges, and for means.
    sample : learn from so many documents of U, drawn by ``random_state``.

    After ``fit``: ``coef_`` (features,), ``objective_``, ``gap_`` (primal − dual),
    ``nonzero_`` (how many weights there are), ``method_``, ``C_``, and ``choice_``:
    what "auto" read off P and U.

    >>> query = ExampleQuery("rocchio").fit([[1.0, 0.0]], [[0.6, 0.8], [0.0, 1.0]])
    >>> query.coef_.round(3).tolist()
    [0.7, -0.9]
    >>> query.rank([[0.0, 1.0], [1.0, 0.0]]).tolist()
    [1, 0]
    """

    coef_: Floats
    objective_: float
    gap_: float
    nonzero_: int
    method_: str
    C_: float
    choice_: auto.Choice | None
    _learned: Learned
    _given: Given

    def __init__(  # noqa: PLR0917 - as scikit-learn has it
        self,
        method: str = "auto",
        C: float | None = None,
        k: int | None = None,
        tol: float | None = None,
        kernel: Any = "linear",
        gamma: float = 1.0,
        degree: int = 2,
        coef0: float = 1.0,
        sample: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.method = method
        self.C = C
        self.k = k
        self.tol = tol
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.sample = sample
        self.random_state = random_state

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
        all of the same width; U may lie elsewhere (``collection.Collection``);  mean :
        of U, where it is at hand: with it and without U, "rocchio" and "auto" answer
        online;  known : the rows of U that are among P or N.
        """
        self._history: list[tuple[Given, Learned]] = []
        self._take(given(P, U, N, mean=mean, known=known), None)
        return self

    def partial_fit(
        self, yes: Any = None, no: Any = None, *, known: ArrayLike = ()
    ) -> Self:
        """Learn again with more examples and more rejections.

        known : the rows of U that they are.
        """
        self._require_fitted()
        none = empty(self._given.P)
        accepted = none if yes is None else rows_from(yes, name="yes")
        rejected = none if no is None else rows_from(no, name="no")
        for name, rows in (("yes", accepted), ("no", rejected)):
            if rows.width != none.width:
                raise Mistake(f"{name} has {rows.width} columns: give {none.width}")
        before = self._given, self._learned
        self._take(self._given.with_more(accepted, rejected, known), self._learned)
        self._history.append(before)
        return self

    def undo(self) -> Self:
        """Take the last ``partial_fit`` back."""
        self._require_fitted()
        if not self._history:
            raise Mistake("nothing to undo: no partial_fit since fit")
        self._given, found = self._history.pop()
        self._show(found)
        return self

    def decision_function(self, X: Any) -> Floats:
        """The scores of documents, shape (n,): w · x, or Σ c_r k(x_r, x)."""
        self._require_fitted()
        found: Learned = self._learned
        return found.scores(taken_in(X, name="X"))

    def rank(self, X: Any, k: int | None = None) -> Ints:
        """The numbers of the documents, best first, ties by number; the best ``k``."""
        self._require_fitted()
        weights = self._learned.weights
        if isinstance(X, Collection) and k is not None and weights is not None:
            return X.top(weights, k)[0]
        scores = self.decision_function(X)
        order = np.argsort(-scores, kind="stable")
        return order if k is None else order[:k]

    def cut(self, terms: int) -> Self:
        """A copy that keeps the heaviest weights, so many of them.

        >>> whole = ExampleQuery("centroid").fit([[0.8, 0.6]])
        >>> whole.cut(1).coef_.tolist()
        [0.8, 0.0]
        """
        self._require_fitted()
        if terms < 1:
            raise Mistake(f"terms is {terms}: keep at least one")
        weights = self.coef_.copy()
        if terms < self.nonzero_:
            weights[np.argsort(-np.abs(weights), kind="stable")[terms:]] = 0.0
        shorter = copy(self)
        vars(shorter).update(_shown(self._learned._replace(weights=weights)))
        vars(shorter)["_history"] = []
        return shorter

    def __getattr__(self, name: str) -> Any:
        if name == "coef_" and "_learned" in vars(self):
            raise Mistake(
                f"a query with the kernel {self.kernel!r} has no weights per feature: "
                "use decision_function"
            )
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def _take(self, all_: Given, before: Learned | None) -> None:
        if self.method not in METHODS:
            known = ", ".join(METHODS)
            raise Mistake(f"method is {self.method!r}: choose one of {known}")
        if self.C is not None and not 0 < self.C < np.inf:
            raise Mistake(f"C is {self.C}: give a number above 0")
        used = sampled(all_, self.sample, self.random_state)
        found = learned(self, used, before if used is all_ else None)
        self._given = all_
        self._show(found)

    def _show(self, found: Learned) -> None:
        vars(self).pop("coef_", None)
        vars(self).update(_shown(found))


def _shown(found: Learned) -> dict[str, Any]:
    """The attributes of a query that has been learned."""
    size = len(found.coefficients)
    shown: dict[str, Any] = {
        "_learned": found,
        "objective_": found.objective,
        "gap_": found.gap,
        "method_": found.method,
        "C_": found.C,
        "choice_": None if found.answer is None else found.answer.choice,
    }
    if found.weights is not None:
        shown["coef_"], size = found.weights, int(np.count_nonzero(found.weights))
    return shown | {"nonzero_": size}

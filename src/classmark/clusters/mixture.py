"""SoftMixture: each document belongs to every cluster, more or less."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np

from classmark.arrays import Floats, Ints, Rows, rows_from
from classmark.clusters.kmeans import (
    Clusterer,
    SphericalKMeans,
    require_count,
    require_width,
)
from classmark.estimator import parameters
from classmark.problems import Mistake
from classmark.progress import track
from classmark.validation import Seed, generator, require_numbers

#: Log of the weights, (k,), and of the terms' chances, (features, k).
Model = tuple[Floats, Floats]


@parameters()
class SoftMixture(Clusterer):
    """A mixture of multinomials, fitted by EM [Nigam00].

    p(x) ∝ Σ_c π_c Π_t θ_ct^x_t, where x_t are counts, or weights that stand for counts:
    values from 0 up. Each θ_c has the Dirichlet prior that adds ``alpha`` to the count
    of every term. EM begins at spherical k-means, and what it raises, never lowers, is
    the log posterior: Σ_i log Σ_c π_c Π_t θ_ct^x_it + alpha Σ_ct log θ_ct.

    scale : every document's values are made to sum to this, so that a long one is not
    told to be certain (None: as they are). The smaller, the softer; at 3 the clusters
    of real texts flow together.
    tol : a start ends when the posterior grows by less than this share of it.
    labels_ : the likeliest component (n,);  weights_ (k,) : π;  log_terms_
    (features, k) : log θ;  log_posterior_;  trace_ : it, after each pass;  n_iter_.

    >>> X = [[3, 0, 1], [2, 0, 0], [0, 4, 0], [0, 2, 1]]
    >>> model = SoftMixture(2, scale=None).fit(X)
    >>> model.predict_proba([[1, 0, 0], [0, 0, 1]]).max(axis=1).round(2).tolist()
    [1.0, 0.54]
    """

    n_components: int = 8
    _: KW_ONLY
    alpha: float = 0.01
    scale: float | None = 10.0
    n_init: int = 1
    max_iter: int = 100
    tol: float = 1e-5
    random_state: Seed = 0

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 (scikit-learn's manner)
        """Cluster documents X, shape (n, features), values from 0 up."""
        require_numbers(self, "alpha", "tol")
        require_numbers(self, "n_init", "max_iter", whole=True)
        require_numbers(self, "scale", or_none=True)
        rows = self._counts(X)
        require_count("n_components", self.n_components, len(rows))
        for name in ("alpha", "n_init", "max_iter"):
            if not getattr(self, name) > 0:
                raise Mistake(f"{name} is {getattr(self, name)}: give more than 0")
        rng, best = generator(self.random_state), -np.inf
        for _ in track(range(self.n_init), "fitting a mixture"):
            model, trace = self._start(rows, rng)
            if trace[-1] > best:
                best, self._model, self.trace_ = trace[-1], model, trace
        self.log_posterior_, self.n_iter_ = best, len(self.trace_)
        self.weights_, self.log_terms_ = np.exp(self._model[0]), self._model[1]
        self.n_features_in_ = rows.width
        self.labels_ = _expected(rows, self._model)[0].argmax(axis=1)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """How much each document belongs to each component, (n, k); rows sum to 1."""
        return _expected(self._asked(X), self._model)[0]

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002 (scikit-learn's manner)
        """The mean log likelihood of documents, the prior left aside."""
        rows = self._asked(X)
        return _expected(rows, self._model)[1] / len(rows)

    def predict(self, X: Any) -> Ints:
        """The likeliest component of each document, shape (n,)."""
        components: Ints = self.predict_proba(X).argmax(axis=1)
        return components

    def _asked(self, X: Any) -> Rows:
        self._require_fitted()
        rows = self._counts(X)
        require_width(self, rows.width)
        return rows

    def _counts(self, X: Any) -> Rows:
        rows = rows_from(X)
        if not len(rows):
            raise Mistake("X has no rows: give at least one document")
        if rows.nnz and rows.values.min() < 0:
            place = int(np.argmin(rows.values))
            row = int(np.searchsorted(rows.starts, place, side="right")) - 1
            raise Mistake(
                f"X, row {row}: a value is below 0: a mixture of multinomials needs "
                "counts, or weights from 0 up"
            )
        values = rows.values.astype(np.float64)
        if self.scale is not None:
            owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
            totals = np.bincount(owner, values, minlength=len(rows))
            values *= (self.scale / np.maximum(totals, 1e-300))[owner]
        return Rows(rows.starts, rows.columns, values, rows.width)

    def _start(self, rows: Rows, rng: np.random.Generator) -> tuple[Model, list[float]]:
        k = self.n_components
        hard = SphericalKMeans(k, n_init=1, max_iter=10, random_state=rng)
        model = _maximised(rows, np.eye(k)[hard.fit(rows).labels_], self.alpha)
        trace: list[float] = []
        for _ in range(self.max_iter):
            belongs, likelihood = _expected(rows, model)
            trace.append(likelihood + self.alpha * float(model[1].sum()))
            grown = trace[-1] - trace[-2] if len(trace) > 1 else np.inf
            if grown <= self.tol * abs(trace[-1]):
                break
            model = _maximised(rows, belongs, self.alpha)
        return model, trace


def _expected(rows: Rows, model: Model) -> tuple[Floats, float]:
    """How much each document belongs to each component, and the log likelihood."""
    weights, terms = model
    joint = rows.to_scipy() @ terms + weights
    highest = joint.max(axis=1, keepdims=True)
    parts = np.exp(joint - highest)
    total = parts.sum(axis=1, keepdims=True)
    return parts / total, float((np.log(total) + highest).sum())


def _maximised(rows: Rows, belongs: Floats, alpha: float) -> Model:
    """The weights and the terms' chances that fit best what belongs where."""
    terms = rows.to_scipy().T @ belongs + alpha
    sizes = np.maximum(belongs.sum(axis=0), 1e-300)
    return np.log(sizes / sizes.sum()), np.log(terms / terms.sum(axis=0))

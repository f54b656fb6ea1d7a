"""Clusters of documents: spherical k-means, a soft mixture, and what names them.

The first sees documents as rows of unit length, over the columns that are in use.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY
from math import log
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from classmark.arrays import (
    Floats,
    Ints,
    Rows,
    keep_columns,
    rows_from,
    take,
    transpose,
)
from classmark.estimator import Estimator, parameters, renamed
from classmark.problems import Mistake
from classmark.progress import track
from classmark.validation import Seed, generator, require_k, require_numbers
from classmark.weighting.dense import COLUMN


class Unit(NamedTuple):
    """Rows x/‖x‖, a row without terms staying so, and the columns of X they have.

    used : sorted, the column of X behind each column of ``rows``.
    """

    rows: Rows
    used: Ints
    width: int


def unit_rows(X: Any) -> Unit:
    """Take in documents, shape (n, features); float32 stays, else float64.

    >>> unit_rows([[0.0, 3.0, 4.0], [0.0, 0.0, 0.0]]).rows.values.round(3).tolist()
    [0.6, 0.8]
    """
    rows = rows_from(X)
    if not len(rows):
        raise Mistake("X has no rows: give at least one document")
    lengths = np.sqrt(squares(rows))
    scale = np.divide(1.0, lengths, out=np.zeros(len(rows)), where=lengths > 0)
    values = rows.values * np.repeat(scale, np.diff(rows.starts))
    scaled = Rows(
        rows.starts, rows.columns, values.astype(rows.values.dtype), rows.width
    )
    used = np.flatnonzero(np.bincount(rows.columns, minlength=rows.width))
    return Unit(keep_columns(scaled, used), used, rows.width)


def squares(rows: Rows) -> Floats:
    """‖x‖² of each row."""
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    values = rows.values.astype(np.float64)
    return np.asarray(np.bincount(owner, values * values, len(rows)), np.float64)


def sums_of(rows: Rows, labels: Ints, k: int) -> Any:
    """The sum of the rows of each cluster, a sparse matrix (k, width) of float64."""
    from scipy.sparse import csr_matrix

    n = len(rows)
    members = csr_matrix((np.ones(n), (labels, np.arange(n))), shape=(k, n))
    return members @ rows.to_scipy()


def lengths_of(matrix: Any) -> Floats:
    """‖row‖ of a sparse matrix."""
    return np.asarray(np.sqrt(np.ravel(matrix.multiply(matrix).sum(axis=1))))


def directions(sums: Any) -> Any:
    """The rows of a sparse matrix to unit length, one without values staying so."""
    lengths = lengths_of(sums)
    factors = np.divide(1.0, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
    product = sums.copy()
    product.data *= np.repeat(factors, np.diff(sums.indptr))
    return product


def require_count(name: str, count: int, documents: int) -> None:
    """Refuse to make more clusters than there are documents, or none."""
    whole = isinstance(count, Integral) and not isinstance(count, bool)
    if not whole or not 1 <= count <= documents:
        raise Mistake(
            f"{name} is {count!r} for {documents} documents: give a whole number "
            f"from 1 to {documents}"
        )


def in_order(labels: Any) -> Ints:
    """The same clusters, numbered from 0 in order of first appearance.

    >>> in_order([7, 3, 7]).tolist()
    [0, 1, 0]
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


class Clusterer(Estimator, ABC):
    """What all clusterings have: ``fit`` leaves the cluster of each document.

    labels_ : (n,), numbers from 0.
    """

    _kind: ClassVar[str | None] = "clusterer"
    labels_: Ints

    @abstractmethod
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster documents X, shape (n, features)."""

    def fit_predict(self, X: Any, y: Any = None) -> Ints:
        """Cluster documents and return the cluster of each, shape (n,)."""
        return self.fit(X, y).labels_


MANY = 100  # clusters, from which on one document is tried at each step


def spread_documents(rows: Rows, k: int, rng: np.random.Generator) -> Ints:
    """Numbers of k documents, by k-means++ on the cosine [ArthurVassilvitskii07].

    Each is drawn with chances as 1 − (greatest cosine to those before it), which is
    half the squared distance of unit rows; of 2 + ln k drawn, that one is taken which
    leaves the least of it. A document meets all others by the lists of its terms.
    """
    from classmark.clusters.kernels import products

    lists = transpose(rows)
    met = np.zeros(len(rows), rows.values.dtype)

    def left_after(document: int, far: Floats) -> Floats:
        columns, values = rows.row(document)
        products(columns, values, lists.starts, lists.columns, lists.values, met)
        return np.minimum(far, np.maximum(1.0 - met, 0.0))

    tried = 1 if k >= MANY else 2 + int(log(k))
    filled = squares(rows) > 0
    chosen = [int(rng.choice(np.flatnonzero(filled if filled.any() else ~filled)))]
    far = left_after(chosen[0], filled.astype(np.float64))
    free = np.ones(len(rows), bool)
    for _ in range(1, k):
        far[chosen[-1]], free[chosen[-1]] = 0.0, False
        if far.sum() > 0:
            drawn = rng.choice(len(rows), tried, p=far / far.sum())
            after = [left_after(int(document), far) for document in drawn]
            place = int(np.argmin([rest.sum() for rest in after]))
            chosen.append(int(drawn[place]))
            far = after[place]
        else:
            chosen.append(int(rng.choice(np.flatnonzero(free))))
    return np.array(chosen, np.int64)


BLOCK = 64  # centres met in one go: a dense array of (features, BLOCK)


class Met(NamedTuple):
    """The number of the nearest centre of each row, its cosine, and the next one."""

    which: Ints
    best: Floats
    second: Floats


@parameters()
class SphericalKMeans(Clusterer):
    """Hard clusters with the greatest sum of cosines to their centres [DhillonModha01].

    Σ_i max_c ⟨x_i, μ_c⟩ over unit rows x and unit centres μ_c ∝ Σ of the cluster's
    rows. From each start, documents go to the nearest centre and centres follow, and
    the sum never falls; the best of ``n_init`` starts is kept. A cluster that loses all
    documents takes the one that fits its own least.

    tol : a start ends when the sum grows by less than this share of it.
    labels_ (n,);  cluster_centers_ (k, features), sparse;  objective_ : the sum;
    trace_ : the sum after each pass of the start that was kept;  n_iter_.

    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]]
    >>> model = SphericalKMeans(2).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    >>> round(model.objective_, 3)
    2.997
    """

    n_clusters: int = 8
    _: KW_ONLY
    n_init: int = 3
    max_iter: int = 100
    tol: float = 1e-4
    random_state: Seed = 0

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 (scikit-learn's manner)
        """Cluster documents X, shape (n, features); their lengths do not matter."""
        from scipy.sparse import csr_matrix

        unit = unit_rows(self._taught_rows(X))
        require_count("n_clusters", self.n_clusters, len(unit.rows))
        require_numbers(self, "n_init", "max_iter", whole=True, least=1)
        require_numbers(self, "tol")
        rng = generator(self.random_state)
        starts = track(range(self.n_init), "clustering")
        runs = [self._start(unit.rows, rng) for _ in starts]
        trace, labels, centers = max(runs, key=lambda run: run[0][-1])
        self.labels_, self.trace_ = labels, trace
        self.objective_, self.n_iter_ = trace[-1], len(trace)
        rows = centers.tocsr()
        parts = (rows.data, unit.used[rows.indices], rows.indptr)
        self.cluster_centers_ = csr_matrix(parts, shape=(rows.shape[0], unit.width))
        return self

    def predict(self, X: Any) -> Ints:
        """The nearest centre of each document, shape (n,)."""
        return self._met(X).which

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002 (scikit-learn's manner)
        """The sum of cosines of documents to the nearest centres."""
        return float(self._met(X).best.sum())

    def _met(self, X: Any) -> Met:
        unit = unit_rows(self._rows_as_taught(X))
        return meet(unit.rows, self.cluster_centers_[:, unit.used])

    def _start(
        self, rows: Rows, rng: np.random.Generator
    ) -> tuple[list[float], Ints, Any]:
        """The sum after each pass, labels and unit centres (k, features), sparse."""
        k = self.n_clusters
        seeds = spread_documents(rows, k, rng)
        centers = rows.to_scipy()[seeds]
        trace: list[float] = []
        before = np.full(len(rows), -1, np.int64)
        for _ in range(self.max_iter):
            met = meet(rows, centers)
            labels = filled(met, k)
            sums = sums_of(rows, labels, k)
            trace.append(float(lengths_of(sums).sum()))
            centers = directions(sums)
            slow = len(trace) > 1 and trace[-1] - trace[-2] <= self.tol * trace[-2]
            if slow or (labels == before).all():
                break
            before = labels
        return trace, labels, centers


def meet(rows: Rows, centers: Any) -> Met:
    """Compare every row with all centres, a sparse matrix (k, width).

    >>> from classmark.arrays import rows_from
    >>> centers = rows_from([[1.0, 0.0], [0.0, 1.0]]).to_scipy()
    >>> met = meet(rows_from([[0.6, 0.8]]), centers)
    >>> met.which.tolist(), met.best.tolist(), met.second.tolist()
    ([1], [0.8], [0.6])
    """
    from classmark.clusters.kernels import nearest

    n, kind = len(rows), rows.values.dtype
    met = Met(np.zeros(n, np.int64), np.full(n, -np.inf), np.full(n, -np.inf))
    for first in range(0, centers.shape[0], BLOCK):
        block = centers[first : first + BLOCK].tocsr()
        W = np.zeros((rows.width, block.shape[0]), kind)
        owner = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
        W[block.indices, owner] = block.data
        nearest(rows.starts, rows.columns, rows.values, W, first, *met)
    return met


def filled(met: Met, k: int) -> Ints:
    """The nearest centres; an empty one takes the document that fits its own least."""
    labels, fits = met.which.copy(), met.best.copy()
    sizes = np.bincount(labels, minlength=k)
    for empty in np.flatnonzero(sizes == 0):
        document = int(np.argmin(np.where(sizes[labels] > 1, fits, np.inf)))
        sizes[labels[document]] -= 1
        labels[document], sizes[empty], fits[document] = empty, 1, np.inf
    return labels


TRIED = (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20)
LEAST = 5  # documents a cluster should have on average


def silhouette(X: Any, labels: Any) -> float:
    """How much nearer documents are to their own cluster than to the next, −1 to 1.

    The mean of (b − a)/max(a, b): a = 1 − the cosine to the sum of the *other*
    documents of the own cluster, b = 1 − the greatest cosine to another centre; 0 for
    a document alone in its cluster. This is the simplified silhouette [Hruschka04] with
    the document left out of its own centre, or small clusters would always win.

    >>> silhouette([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [0, 0, 1, 1])
    1.0
    """
    rows = unit_rows(X).rows
    names, clusters = np.unique(np.asarray(labels), return_inverse=True)
    if len(clusters) != len(rows):
        raise Mistake(
            f"labels are {len(clusters)} for {len(rows)} documents: give one each"
        )
    if len(names) < 2:
        raise Mistake("labels name one cluster: a silhouette needs two or more")
    sums = sums_of(rows, clusters, len(names))
    met = meet(rows, directions(sums))
    other = np.where(met.which == clusters, met.second, met.best)
    near = 1.0 - _to_the_rest(rows, clusters, sums)
    far = 1.0 - other
    widest = np.maximum(np.maximum(near, far), 1e-12)
    alone = np.bincount(clusters)[clusters] == 1
    return float(np.where(alone, 0.0, (far - near) / widest).mean())


def choose_n_clusters(
    X: Any, candidates: Iterable[int] | None = None, *, random_state: Seed = 0
) -> int:
    """The number of clusters, of a few, with the greatest silhouette.

    Each is tried with one start of spherical k-means. candidates : by default 2 to 20,
    as long as a cluster has five documents on average; the smallest of equal ones.
    """
    n = unit_rows(X).rows.shape[0]
    usual = [k for k in TRIED if k == 2 or k * LEAST <= n]
    counts = usual if candidates is None else candidates
    able = isinstance(counts, Iterable) and not isinstance(counts, str)
    tried = list(dict.fromkeys(counts)) if able else []
    if not tried or not all(isinstance(k, Integral) and 2 <= k <= n for k in tried):
        raise Mistake(
            f"candidates are {counts!r} for {n} documents: give a list of whole "
            f"numbers from 2 to {n}"
        )
    tried = sorted(int(k) for k in tried)
    worth = [
        silhouette(
            X, SphericalKMeans(k, n_init=1, random_state=random_state).fit(X).labels_
        )
        for k in tried
    ]
    return tried[int(np.argmax(worth))]


def _to_the_rest(rows: Rows, clusters: Ints, sums: Any) -> Floats:
    """Cosine of each row with the sum of its cluster without it."""
    dots = np.zeros(len(rows))
    for cluster in range(sums.shape[0]):
        members = np.flatnonzero(clusters == cluster)
        center = np.asarray(sums[cluster].todense()).ravel()
        dots[members] = take(rows, members).to_scipy() @ center
    own_squares = squares(rows)
    left = lengths_of(sums)[clusters] ** 2 - 2.0 * dots + own_squares
    length = np.sqrt(np.maximum(left, 0.0))
    return np.divide(
        dots - own_squares, length, out=np.zeros(len(rows)), where=length > 1e-6
    )


@renamed(top="k")
def name_clusters(
    X: Any, labels: Any, feature_names: Sequence[str], k: int = 5
) -> list[tuple[str, ...]]:
    """The terms of each cluster, weightiest first, from cluster 0 to the last.

    weight of t in c = mean of x_t over the cluster − mean of x_t over the rest, of unit
    rows: what is common to all sisters counts for none. Terms that are no more frequent
    in the cluster than in the rest are left out, and so are columns of meaning, which
    name nothing: there may be fewer than ``k``.  labels : numbers from 0.

    >>> X = [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    >>> name_clusters(X, [0, 1], ["library", "bees", "bread"], k=2)
    [('bees',), ('bread',)]
    """
    unit, clusters = unit_rows(X), np.asarray(labels)
    if len(clusters) != len(unit.rows):
        raise Mistake(
            f"labels are {len(clusters)} for {len(unit.rows)} documents: give one each"
        )
    if len(feature_names) != unit.width:
        raise Mistake(
            f"feature_names are {len(feature_names)} for {unit.width} features: give "
            "one each"
        )
    if clusters.dtype.kind not in "iu" or clusters.min() < 0:
        raise Mistake("labels are to be whole numbers from 0 up, as labels_ are")
    require_k(k, "term")
    n_clusters = int(clusters.max()) + 1
    sums = sums_of(unit.rows, clusters, n_clusters).tocsr()
    sizes = np.bincount(clusters, minlength=n_clusters)
    total = np.asarray(sums.sum(axis=0)).ravel()
    is_word = np.array([not str(name).startswith(COLUMN) for name in feature_names])
    named = []
    for cluster in range(n_clusters):
        begin, end = sums.indptr[cluster : cluster + 2]
        words = is_word[unit.used[sums.indices[begin:end]]]
        terms, here = sums.indices[begin:end][words], sums.data[begin:end][words]
        size = int(sizes[cluster])
        rest = (total[terms] - here) / max(len(clusters) - size, 1)
        weights = here * (1.0 / max(size, 1)) - rest
        best = np.lexsort((terms, -weights))[:k]
        chosen = [int(unit.used[terms[t]]) for t in best if weights[t] > 1e-9]
        named.append(tuple(str(feature_names[column]) for column in chosen))
    return named


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

    _positive_only = True

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
        require_numbers(self, "tol")
        require_numbers(self, "alpha", over=0)
        require_numbers(self, "n_init", "max_iter", whole=True, least=1)
        require_numbers(self, "scale", or_none=True)
        rows = self._counts(self._taught_rows(X))
        require_count("n_components", self.n_components, len(rows))
        rng, best = generator(self.random_state), -np.inf
        for _ in track(range(self.n_init), "fitting a mixture"):
            model, trace = self._start(rows, rng)
            if trace[-1] > best:
                best, self._model, self.trace_ = trace[-1], model, trace
        self.log_posterior_, self.n_iter_ = best, len(self.trace_)
        self.weights_, self.log_terms_ = np.exp(self._model[0]), self._model[1]
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
        return np.asarray(self.predict_proba(X).argmax(axis=1))

    def _asked(self, X: Any) -> Rows:
        return self._counts(self._rows_as_taught(X))

    def _counts(self, X: Any) -> Rows:
        rows = rows_from(X)
        if not len(rows):
            raise Mistake("X has no rows: give at least one document")
        if rows.nnz and rows.values.min() < 0:
            place = int(np.argmin(rows.values))
            row = int(np.searchsorted(rows.starts, place, side="right")) - 1
            raise Mistake(
                f"Negative values in data: X, row {row}: a value is below 0: a mixture "
                "of multinomials needs counts, or weights from 0 up"
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

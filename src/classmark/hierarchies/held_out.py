"""How often does a classifier err on documents held out, and how much can it err?"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import inf, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import (
    Bools,
    Floats,
    Ints,
    Rows,
    keep_columns,
    rows_from,
    take,
    transpose,
)
from classmark.hierarchies.flat import owners_of
from classmark.hierarchies.nodes import NodeModel, fit_node
from classmark.hierarchies.places import (
    Nodes,
    Places,
    among_labels,
    categories_in,
    complexity,
    numbered,
    require_one_each,
)
from classmark.hierarchies.taxonomy_ranker import unit_rows
from classmark.language import _, decimal, signed, whole
from classmark.problems import Mistake
from classmark.progress import track
from classmark.rankers.linear import LinearRanker
from classmark.validation import generator


@dataclass(frozen=True, eq=False)
class FittedClassifier:
    """A classifier that has learned, and what each column of its scores stands for."""

    model: Any
    classes: list[Any]

    def scores(self, X: Any, classes: Sequence[Hashable] | None = None) -> Floats:
        """Scores (n, classes), in the order given; −inf where a class is unknown."""
        scores = np.asarray(self.model.decision_function(X), np.float64)
        if classes is None or list(classes) == self.classes:
            return scores
        place = {name: at for at, name in enumerate(self.classes)}
        unknown = np.full((len(scores), 1), -np.inf)  # the last column: −1
        return np.hstack((scores, unknown))[
            :, [place.get(name, -1) for name in classes]
        ]


def fitted(base: Any, X: Any, y: Iterable[Any]) -> FittedClassifier:
    """A copy of ``base``, fitted; ``base`` itself stays as it is.

    base : anything with ``fit(X, y)``, ``decision_function`` and ``classes_``; or a
    ``LinearRanker``, which learns from label numbers: its ``categories``, or the nodes
    of its ``taxonomy``, say what they stand for; else they are the classes of y.

    >>> from classmark.rankers.linear import Rocchio
    >>> fitted(Rocchio(), [[1.0, 0.0], [0.0, 1.0]], ["bees", "ants"]).classes
    ['ants', 'bees']
    """
    rows, categories = rows_from(X), categories_in(y)
    require_one_each(len(rows), len(categories))
    copy = type(base)(**base.get_params(deep=False))
    if not isinstance(base, LinearRanker):
        copy.fit(rows.to_scipy(), categories)
        return FittedClassifier(copy, list(copy.classes_))
    classes, tree = (getattr(base, name, None) for name in ("categories", "taxonomy"))
    if classes is None:
        classes = owners_of(categories, len(rows))[0] if tree is None else tree.nodes
    copy.fit(rows, numbered(categories, classes))
    return FittedClassifier(copy, list(classes))


def parted(
    labels: Rows, share: float, random: np.random.Generator
) -> tuple[Ints, Ints]:
    """Split documents into those to learn from and those held out, by number.

    A document is held out only while each of its classes keeps another to learn from.

    >>> labels = rows_from([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> learn, ask = parted(labels, 0.5, np.random.default_rng(0))
    >>> len(ask), 2 in learn
    (1, True)
    """
    left = np.bincount(labels.columns, minlength=labels.width)
    held_out = np.zeros(len(labels), np.bool_)
    remaining = round(share * len(labels))
    for document in random.permutation(len(labels)):
        classes = labels.row(int(document))[0].astype(np.int64)
        if remaining and len(classes) and (left[classes] > 1).all():
            left[classes] -= 1
            held_out[document] = True
            remaining -= 1
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


class Bound(NamedTuple):
    """The three terms of the bound on the error of a strategy, and their sum.

    empirical : (1/m) Σ A(g(x, y));  complexity : (8BRL/√m) Σ |D(v)|(|D(v)| − 1);
    confidence : 3 √(ln(2/δ) / 2m).
    """

    empirical: float
    complexity: float
    confidence: float

    @property
    def total(self) -> float:
        """The sum: the error is below it with probability 1 − δ."""
        return self.empirical + self.complexity + self.confidence

    @property
    def meaning(self) -> str:
        """What the sum says of the error, in words."""
        if self.total >= 1:
            return "says nothing of the error, since it is over 1"
        return f"at most {self.total:.3f} of the documents go wrong"

    @property
    def terms(self) -> str:
        """The sum, term by term."""
        return (
            f"errors {self.empirical:.3f} + complexity {self.complexity:,.2f} + "
            f"confidence {self.confidence:.3f} = {self.total:,.2f}"
        )


def bound(
    empirical: float,
    terms: float,
    documents: int,
    *,
    norm: float = 1.0,
    radius: float = 1.0,
    delta: float = 0.05,
) -> Bound:
    """Bound the error of a strategy, with probability 1 − δ [Babbar13].

    (1/m) Σ A(g(x, y)) + (8BRL/√m) Σ |D(v)|(|D(v)| − 1) + 3 √(ln(2/δ) / 2m)

    empirical : the mean of A over the m training documents, A(g) = min(1, max(0, 1 −
    g)), whose slope L is 1;  terms : the complexity;  norm : B, of all weights
    together;  radius : R, the longest document.

    >>> round(bound(0.2, 12, 100, norm=0.1).total, 3)
    1.567
    """
    if documents < 1 or not 0 < delta < 1:
        raise Mistake(
            f"documents = {documents}, delta = {delta}: give at least one document and "
            "a delta between 0 and 1"
        )
    return Bound(
        empirical,
        8 * norm * radius / sqrt(documents) * terms,
        3 * sqrt(log(2 / delta) / (2 * documents)),
    )


RISK = 0.05  # with which a bound may fail


def logistic_risk(
    classes: ArrayLike, documents: ArrayLike, features: ArrayLike, epsilon: float = 1.0
) -> Floats:
    """How likely the second theorem fails for logistic regression [Babbar13].

    R d² |Y| σ₀ / (m ε²). Where it does not fail, the error of a classifier over the
    classes Y exceeds what endless documents would leave by at most G(ε), the share of
    documents whose two best classes differ by so little. R = σ₀ = 1: √R bounds e^score
    and σ₀/m the variance of a weight, and neither is less for rows of unit length.

    classes : |Y|;  documents : m;  features : d;  epsilon : ε, how far scores may be
    off. Numbers, or arrays of one shape.

    >>> float(logistic_risk(2, 1000, 10))
    0.2
    """
    K, m, d = (np.asarray(each, np.float64) for each in (classes, documents, features))
    with np.errstate(divide="ignore", invalid="ignore"):
        risk = d**2 * K / (m * epsilon**2)
    return np.where(m > 0, risk, inf)


def naive_bayes_risk(
    classes: ArrayLike,
    documents: ArrayLike,
    features: ArrayLike,
    words: tuple[ArrayLike, ArrayLike],
    longest: ArrayLike,
    epsilon: float = 1.0,
) -> Floats:
    """How likely the second theorem fails for multinomial naive Bayes [Babbar13].

    2K exp(−2ε²m / C(d + n_max)²) + 2d exp(−2ε²n_min / C(d + n_max)²), C = (1 +
    longest)²: a log-likelihood is off by (1 + longest)(d + n_max) times as much as the
    probabilities it is made of, at most.

    classes : K;  documents : m;  features : d;  words : n_min and n_max, of the
    smallest and of the largest class;  longest : words of the longest document.

    >>> float(naive_bayes_risk(2, 0, 3, (0, 5), 4))
    10.0
    """
    sizes = (classes, documents, features, *words, longest)
    K, m, d, n_min, n_max, most = (np.asarray(each, np.float64) for each in sizes)
    off = (1.0 + most) * (d + n_max)
    rate = 2 * epsilon**2 / np.maximum(off, 1.0) ** 2
    return np.asarray(2 * K * np.exp(-rate * m) + 2 * d * np.exp(-rate * n_min))


class NodeBound(NamedTuple):
    """What the second theorem says of the classifier at one inner node [Babbar13].

    node : None is the top above several roots;  parent : the node above, None at the
    top;  daughters, documents, features : those of the node;  n_min, n_max : words of
    the daughter with fewest, of those that have any, and of that with most;  logistic,
    naive_bayes : how likely the theorem fails; 1 or more says nothing;  logistic_needs,
    naive_bayes_needs : how many times the documents it would take to fail with
    probability 0.05 (naive Bayes: with d and n_max as they are).
    """

    node: Any
    parent: Any
    daughters: int
    documents: int
    features: int
    n_min: float
    n_max: float
    logistic: float
    naive_bayes: float
    logistic_needs: float
    naive_bayes_needs: float


def node_bounds(
    places: Places, X: Any, features: Ints, epsilon: float = 1.0
) -> list[NodeBound]:
    """The second theorem at every inner node, the one with most documents first.

    X : the documents of ``places``;  features : how many each node has (size,). The
    words that naive Bayes counts are the values of X, also where these are weights. Of
    a node that is to be removed, the theorem adds its risk to that of its parent.
    """
    rows, inner = rows_from(X).to_scipy(), places.inner
    lengths = np.asarray(abs(rows).sum(axis=1), np.float64).ravel()
    belong = places.nodes_of().T.tocsr()
    words, m = belong @ lengths, np.diff(belong.indptr)[inner]
    longest = [lengths[belong[v].indices].max(initial=0.0) for v in inner]
    daughters = [words[places.daughters(int(v))] for v in inner]
    n_min = np.array([min(n[n > 0], default=0.0) for n in daughters])
    n_max = np.array([max(n, default=0.0) for n in daughters])
    K, d = places.branching[inner], features[inner]
    logistic = logistic_risk(K, m, d, epsilon)

    def bayes(times: Any) -> Floats:
        sizes = (n_min * times, n_max)
        return naive_bayes_risk(K, m * times, d, sizes, longest, epsilon)

    needs = _least(bayes, np.where(n_min > 0, 1.0, inf))
    names = [*places.tree.nodes, None]
    above = [names[p] if (p := int(places.parent[v])) >= 0 else None for v in inner]
    figures = (K, m, d, n_min, n_max, logistic, bayes(1.0), logistic / RISK, needs)
    rows_of = zip(*(column.tolist() for column in figures), strict=True)
    named = zip((names[v] for v in inner), above, rows_of, strict=True)
    bounds = [NodeBound(node, parent, *row) for node, parent, row in named]
    return sorted(bounds, key=lambda bound: -bound.documents)


def _least(risk: Callable[[Floats], Floats], start: Floats) -> Floats:
    """The least factor, to one part in a million, at which a risk falls to 0.05.

    risk : of an array of factors, falling;  start : any factors; infinite ones stay.
    """
    low, high = start.copy(), start.copy()
    with np.errstate(invalid="ignore"):
        while (rest := np.isfinite(high) & (risk(high) > RISK)).any():
            high = np.where(rest, high * 4, high)
        while (rest := np.isfinite(low) & (low > 1e-300) & (risk(low) <= RISK)).any():
            low = np.where(rest, low / 4, low)
        for _ in range(60):
            middle = np.sqrt(low * high)
            over = risk(middle) > RISK
            low, high = np.where(over, middle, low), np.where(over, high, middle)
    return high


CENTROIDS = "centroids"
CELLS = 1 << 24  # scores held together


@dataclass(frozen=True, slots=True)
class NodeLearner:
    """What learns at the nodes: a base of ``fit_node``, or unit centroids.

    tol : coarse, since only the best daughter matters.
    """

    base: str = "svm"
    C: float = 1.0
    tol: float = 0.1
    seed: int = 0

    def fit(self, rows: Rows, owners: Rows) -> NodeModel:
        """Learn one node from its documents (n, features) and their daughters."""
        if self.base == CENTROIDS:
            means = unit_rows(owners.to_scipy().T @ rows.to_scipy())
            every = np.arange(rows.width, dtype=np.uint32)
            return NodeModel(every, means.T.tocsr(), np.zeros(owners.width))
        return fit_node(rows, owners, self.base, self.C, self.tol, self.seed)


def best_daughters(model: NodeModel, rows: Rows) -> Ints:
    """The place of the daughter with the highest score, for each document."""
    best = np.zeros(len(rows), np.int64)
    step = max(1, CELLS // len(model.bias))
    for start in range(0, len(rows), step):
        block = take(rows, np.arange(start, min(start + step, len(rows))))
        best[start : start + step] = np.argmax(model.scores(block), axis=1)
    return best


class TrialTree:
    """A top-down classifier, trained on the documents of its nodes, for a trial.

    models : what each inner node has learned, in the order of ``nodes.shape``.
    """

    def __init__(self, nodes: Nodes, learner: NodeLearner) -> None:
        self.nodes, self.shape = nodes, nodes.shape
        inner = range(len(self.shape))
        self.models = [
            learner.fit(nodes.documents(at), nodes.owners(at))
            for at in track(inner, "training nodes", len(inner))
        ]

    def leaves(self, rows: Rows) -> Ints:
        """The leaf that each document comes to, by the best daughter at each node."""
        n_inner = len(self.shape)
        code = np.full(len(rows), -n_inner)
        for at, model in enumerate(self.models):
            here = np.flatnonzero(code == at - n_inner)
            best = best_daughters(model, take(rows, here))
            code[here] = self.shape.codes[self.shape.starts[at] + best]
        return code

    def margins(self) -> Floats:
        """g(x, y) = min over the path of f(x, v) − max over sisters f(x, v').

        Of several leaves the best counts, of several ways to a leaf the widest; sisters
        that a document belongs to as well are no rivals. −inf without a leaf. Of the
        training documents, shape (n,).
        """
        nodes, codes = self.nodes, self.shape.codes
        best = np.full(len(nodes.rows), -np.inf)
        widest = [np.full(len(nodes.members(v)), -np.inf) for v in self.shape.order]
        widest[0][:] = np.inf
        for at, model in enumerate(self.models):
            members, owners = nodes.members(self.shape.order[at]), nodes.owners(at)
            document = np.repeat(np.arange(len(members)), np.diff(owners.starts))
            steps = _steps(model, nodes.documents(at), owners)
            g = np.minimum(widest[at][document], steps)
            order = np.argsort(owners.columns, kind="stable")
            ends = np.cumsum(np.bincount(owners.columns, minlength=owners.width))
            below = codes[self.shape.starts[at] : self.shape.starts[at + 1]]
            for code, part in zip(below, np.split(order, ends[:-1]), strict=True):
                if code < 0:
                    np.maximum(widest[code], g[part], out=widest[code])
                else:
                    reached = members[document[part]]
                    best[reached] = np.maximum(best[reached], g[part])
        return best

    def bound(self, g: Floats) -> Bound:
        """The bound on the error of the tree, by the margins of its documents.

        B is the length of all weights together, R the longest training document, and
        A(g) = min(1, max(0, 1 − g)) [Babbar13].
        """
        rows = self.nodes.rows.to_scipy()
        lengths = np.asarray(rows.multiply(rows).sum(axis=1))
        squares = sum(_squares(model.weights) for model in self.models)
        return bound(
            float(np.clip(1.0 - g, 0.0, 1.0).mean()),
            complexity(self.nodes.daughters),
            len(g),
            norm=float(np.sqrt(squares)),
            radius=float(np.sqrt(lengths.max(initial=0.0))),
        )


def _steps(model: NodeModel, documents: Rows, owners: Rows) -> Floats:
    """f(x, v) − max over sisters f(x, v'), for each entry of ``owners``."""
    if owners.width == 1:
        return np.full(owners.nnz, np.inf)
    margins = np.empty(owners.nnz)
    size = max(1, CELLS // owners.width)
    for start in range(0, len(documents), size):
        end = min(start + size, len(documents))
        scores = model.scores(take(documents, np.arange(start, end)))
        low, high = owners.starts[start], owners.starts[end]
        row = np.repeat(np.arange(end - start), np.diff(owners.starts[start : end + 1]))
        column = owners.columns[low:high]
        entry_scores = scores[row, column]
        scores[row, column] = -np.inf
        margins[low:high] = entry_scores - scores.max(axis=1)[row]
    return margins


def _squares(weights: Any) -> float:
    values = weights.data if hasattr(weights, "toarray") else weights
    return float(np.square(values, dtype=np.float64).sum())


FOLDS = 3
MOST = 2000  # documents of a node that a trial looks at


class Removal(NamedTuple):
    """What the removal of a node does.

    gain : documents brought to the right daughter more than before;  changed : those
    whose fate changed;  tested : documents tried;  terms : the rise in complexity, Σ
    |D(v)|(|D(v)| − 1).
    """

    gain: float
    changed: int
    tested: int
    terms: int

    @property
    def spread(self) -> float:
        """The standard error of the gain, as documents."""
        return float(np.sqrt(self.changed))

    @property
    def why(self) -> str:
        """Gain, standard error and complexity, on the documents chosen by."""
        return _(
            "%(gain)s correct of the %(n)s documents used for choosing (standard error "
            "%(error)s), complexity %(terms)s",
            gain=signed(self.gain, 0),
            n=whole(self.tested),
            error=decimal(self.spread, 1),
            terms=signed(self.terms, 0),
        )


class _Fate(NamedTuple):
    """Documents of a node, increasing, the daughter chosen, and whether rightly."""

    documents: Ints
    chosen: Ints
    right: Bools


class Removals:
    """A working tree whose inner nodes can be tried without, and taken out.

    Every document is judged by classifiers trained on the folds it is not in. A trial
    of node v with parent p counts, over the documents of p, who comes to a right
    daughter: through p and then v as the tree stands, or by one classifier over the
    daughters of both; only this one is trained anew. Of a node with very many documents
    the same 2,000 are always taken.

    daughters : of each inner node of the working tree, increasing.
    """

    def __init__(
        self,
        places: Places,
        X: Any,
        learner: NodeLearner | None = None,
        *,
        seed: int = 0,
    ) -> None:
        self.places, self.rows = places, rows_from(X)
        self._nodes = rows_from(places.nodes_of())
        self._documents = transpose(self._nodes)
        self.daughters = {int(v): places.daughters(int(v)) for v in places.inner}
        self.learner = learner or NodeLearner()
        self._place = generator(seed).permutation(len(self.rows))
        self.fold_of = self._place % FOLDS
        self._fates: dict[int, _Fate] = {}
        self._tried: dict[int, _Fate] = {}
        self._parents: dict[int, list[int]] = {}
        for v, below in self.daughters.items():
            for u in below.tolist():
                self._parents.setdefault(u, []).append(v)

    def at(self, node: int) -> Ints:
        """The documents that belong to a node or below it, increasing."""
        return self._documents.row(node)[0].astype(np.int64)

    def belong(self, documents: Ints, nodes: Ints) -> Bools:
        """Whether each document belongs to the node given with it."""
        return among_labels(take(self._nodes, documents), nodes)

    def owners(self, documents: Ints, daughters: Ints) -> Rows:
        """An entry where a document belongs to a daughter, shape (n, d)."""
        return keep_columns(take(self._nodes, documents), daughters)

    def removable(self) -> list[int]:
        """Inner nodes below the root with one parent, upper ones first."""
        return [v for v in self.daughters if len(self._parents.get(v, ())) == 1]

    def parent(self, node: int) -> int:
        """The one parent of a removable node."""
        return self._parents[node][0]

    def attempt(self, node: int) -> Removal:
        """Try the tree without a node; the tree stays as it is."""
        tree, p = self.daughters, self.parent(node)
        joined = self._joined(node)
        before, after = (len(tree[p]), len(tree[node])), len(joined)
        rise = complexity([after]) - complexity(before)
        sample = self._sample(p)
        if min(before) == 1:
            self._tried[node] = self._same(node)
            return Removal(0.0, 0, len(sample), rise)
        fate = self._judged(sample, joined)
        # Who is right after the parent and, where it sends them there, the node.
        first, second = self._fate(p), self._fate(node)
        sent = (first.chosen == node) & first.right
        right = first.right.astype(np.int64)
        right[sent] = second.right[
            np.searchsorted(second.documents, first.documents[sent])
        ]
        difference = fate.right.astype(np.int64) - right
        gain, changed = float(difference.sum()), int(np.abs(difference).sum())
        self._tried[node] = fate
        return Removal(gain, changed, len(sample), rise)

    def remove(self, node: int) -> None:
        """Take a node out; its daughters become its parent's."""
        tree, p = self.daughters, self.parent(node)
        joined = self._joined(node)
        for u in tree[node].tolist():
            others = [v for v in self._parents[u] if v not in (node, p)]
            self._parents[u] = [p, *others]
        tree[p] = joined
        del tree[node]
        self._fates.pop(p, None)
        if node in self._tried:
            self._fates[p] = self._tried[node]
        self._tried.clear()

    def _joined(self, node: int) -> Ints:
        tree = self.daughters
        rest = tree[self.parent(node)]
        return np.union1d(rest[rest != node], tree[node])

    def _sample(self, node: int) -> Ints:
        documents = self.at(node)
        if len(documents) > MOST:
            documents = np.sort(documents[np.argsort(self._place[documents])[:MOST]])
        return documents

    def _fate(self, node: int) -> _Fate:
        if node not in self._fates:
            daughters = self.daughters[node]
            self._fates[node] = self._judged(self._sample(node), daughters)
        return self._fates[node]

    def _judged(self, documents: Ints, daughters: Ints) -> _Fate:
        chosen = np.full(len(documents), daughters[0], np.int64)
        fold = self.fold_of[documents]
        for out in range(FOLDS) if len(daughters) > 1 else ():
            learn, ask = documents[fold != out], documents[fold == out]
            if len(learn) and len(ask):
                owners = self.owners(learn, daughters)
                model = self.learner.fit(take(self.rows, learn), owners)
                best = best_daughters(model, take(self.rows, ask))
                chosen[fold == out] = daughters[best]
        return _Fate(documents, chosen, self.belong(documents, chosen))

    def _same(self, node: int) -> _Fate:
        """One of the two decides nothing: the other's choices stand."""
        first, daughters = self._fate(self.parent(node)), self.daughters[node]
        if len(daughters) > 1:
            return self._fate(node)
        return first._replace(
            chosen=np.where(first.chosen == node, daughters[0], first.chosen)
        )

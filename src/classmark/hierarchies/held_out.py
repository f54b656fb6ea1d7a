"""How often does each strategy err on documents held out, and how much can it err?"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from classmark.arrays import Bools, Floats, Ints
from classmark.corpus.documents import train_test
from classmark.hierarchies.flat import owners_of
from classmark.hierarchies.nodes import NodeModel, fit_node
from classmark.hierarchies.places import (
    Nodes,
    Places,
    Shape,
    among_labels,
    categories_in,
    flat_shape,
    require_one_each,
    rows_of_ones,
    shape_of,
)
from classmark.hierarchies.taxonomy_ranker import unit_rows
from classmark.measures.significance import Outcome, sign_test
from classmark.problems import Mistake
from classmark.progress import track
from classmark.rankers.linear import LinearRanker
from classmark.sparse import Rows, rows_from, take
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

    >>> from classmark.rankers.rocchio import Rocchio
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


def numbered(y: Iterable[Any], classes: Sequence[Hashable]) -> Rows:
    """The classes of each document as Rows (n, classes), value 1.

    >>> numbered(["b", ["a", "b"]], ["a", "b"]).columns.tolist()
    [1, 0, 1]
    """
    place = {name: at for at, name in enumerate(classes)}
    columns = []
    for row, names in enumerate(categories_in(y)):
        unknown = [name for name in names if name not in place]
        if unknown:
            raise Mistake(
                f"y, row {row}: {unknown[0]!r} is not one of the classes: check its "
                "spelling; several classes of a document are a list"
            )
        columns.append(sorted({place[name] for name in names}))
    return rows_of_ones(columns, len(classes))


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


def complexity(branching: ArrayLike) -> int:
    """Σ over inner nodes of |D(v)|(|D(v)| − 1), D(v) the daughters [Babbar13].

    branching : |D(v)| of each inner node. A flat strategy has one, with K daughters.

    >>> complexity([3, 2]), complexity([4])
    (8, 12)
    """
    daughters = np.asarray(branching, np.int64)
    return int((daughters * (daughters - 1)).sum())


def complexity_ratio(branching: ArrayLike, leaves: int) -> float:
    """Complexity of a tree over that of the flat strategy, K(K − 1) [Babbar13].

    >>> round(complexity_ratio([3, 2], 4), 3)
    0.667
    """
    flat = complexity([leaves])
    return complexity(branching) / flat if flat else 1.0


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


HELD_OUT = 0.25
MOST = 20_000  # documents looked at
ROOM = 1 << 30  # bytes that flat weights may take; beyond it centroids are compared
MEANT = 3  # documents that are worth a comparison


@dataclass(frozen=True, eq=False)
class Tried:
    """The errors of one strategy, and the bound on them.

    error : share of the training documents that are put wrong, g ≤ 0;  right : whether
    each document held out came to a leaf of its own;  bound : on its error.
    """

    error: float
    right: Bools
    bound: Bound

    @property
    def held_out(self) -> float:
        """Share of the documents held out that came to a leaf not theirs."""
        return float(1.0 - self.right.mean())


@dataclass(frozen=True, eq=False)
class StrategyComparison:
    """Both strategies on the same documents.

    base : what learned at the nodes;  trained, tested : documents.
    """

    flat: Tried
    top_down: Tried
    base: str
    trained: int
    tested: int

    @property
    def ratio(self) -> float:
        """Errors of the top-down strategy over those of flat, on documents held out."""
        return _ratio(self.top_down.held_out, self.flat.held_out)

    @property
    def training_ratio(self) -> float:
        """The same on the training documents, as the paper has it [Babbar13]."""
        return _ratio(self.top_down.error, self.flat.error)

    @property
    def chance(self) -> Outcome:
        """Sign test over the documents held out: is top-down right more often?"""
        return sign_test(self.top_down.right, self.flat.right)


def _ratio(above: float, below: float) -> float:
    if below == 0:
        return 1.0 if above == 0 else np.inf
    return above / below


def compare(
    places: Places, X: Any, learner: NodeLearner | None = None, seed: int = 0
) -> StrategyComparison:
    """Train both on three quarters of the documents and try them on the others.

    A document with several leaves is right at any of them; at most 20,000 documents,
    drawn at random, are looked at. Where flat weights would take over 1 GB, unit
    centroids take the place of the learner, for both strategies.
    """
    learner, rows = learner or NodeLearner(), rows_from(X)
    placed = np.flatnonzero(np.diff(places.documents.starts))
    if len(placed) < MEANT:
        raise Mistake(
            f"y: {len(placed)} documents have a category: give at least {MEANT}"
        )
    if len(placed) > MOST:
        placed = np.sort(generator(seed).permutation(placed)[:MOST])
    parts = train_test(len(placed), HELD_OUT, seed)
    learn, ask = (take(rows, placed[part]) for part in parts)
    taught, truth = (take(places.documents, placed[part]) for part in parts)
    size = rows.values.itemsize * len(np.unique(learn.columns)) * len(places.leaves)
    if size > ROOM:
        learner = NodeLearner(CENTROIDS)

    def tried(shape: Shape) -> Tried:
        tree = TrialTree(Nodes(learn, Places(places.tree, taught), shape), learner)
        g, right = tree.margins(), among_labels(truth, tree.leaves(ask))
        return Tried(float((g <= 0).mean()), right, tree.bound(g))

    flat, top_down = tried(flat_shape(places)), tried(shape_of(places))
    return StrategyComparison(flat, top_down, learner.base, len(learn), len(ask))

"""How often does each strategy err on documents held out?"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from classmark.arrays import Bools, Floats, Ints
from classmark.corpus.splits import folds, train_test
from classmark.hierarchies.bounds import Bound, bound, complexity
from classmark.hierarchies.flat import categories_in, owners_of
from classmark.hierarchies.nodes import fit_node
from classmark.measures.significance import Outcome, sign_test
from classmark.problems import Mistake
from classmark.progress import track
from classmark.rankers.linear import LinearRanker
from classmark.sparse import Rows, keep_columns, rows_from, take
from classmark.spreading import spread
from classmark.validation import generator

if TYPE_CHECKING:
    from classmark.hierarchies.places import Places


@dataclass(frozen=True, eq=False)
class Fitted:
    """A classifier that has learned, and what each column of its scores stands for."""

    model: Any
    classes: list[Any]

    def scores(self, X: Any, classes: Sequence[Hashable] | None = None) -> Floats:
        """Scores (n, classes), in the order given; −inf where a class is unknown."""
        scores = np.asarray(self.model.decision_function(X), np.float64)
        if classes is None or list(classes) == self.classes:
            return scores
        place = {name: at for at, name in enumerate(self.classes)}
        columns = np.array([place.get(name, -1) for name in classes], np.int64)
        learned = columns >= 0
        wide = np.full((len(scores), len(columns)), -np.inf)
        wide[:, learned] = scores[:, columns[learned]]
        return wide


def fitted(base: Any, X: Any, y: Iterable[Any]) -> Fitted:
    """A copy of ``base``, fitted; ``base`` itself stays as it is.

    base : anything with ``fit(X, y)``, ``decision_function`` and ``classes_``; or a
    ``LinearRanker``, which learns from label numbers: its ``categories``, or the nodes
    of its ``taxonomy``, say what they stand for; else they are the classes of y.

    >>> from classmark.rankers.rocchio import Rocchio
    >>> fitted(Rocchio(), [[1.0, 0.0], [0.0, 1.0]], ["bees", "ants"]).classes
    ['ants', 'bees']
    """
    rows, categories = rows_from(X), categories_in(y)
    if len(categories) != len(rows):
        raise Mistake(
            f"X has {len(rows)} rows, y {len(categories)}: give each document its class"
        )
    copy = type(base)(**base.get_params(deep=False))
    if not isinstance(base, LinearRanker):
        copy.fit(rows.to_scipy(), categories)
        return Fitted(copy, list(copy.classes_))
    classes = _numbered_as(base, categories)
    copy.fit(rows, numbered(categories, classes))
    return Fitted(copy, classes)


def _numbered_as(base: LinearRanker, labels: list[list[Any]]) -> list[Any]:
    """What a ranker's label numbers stand for."""
    categories, tree = (
        getattr(base, name, None) for name in ("categories", "taxonomy")
    )
    if categories is not None:
        return list(categories)
    if tree is not None:
        return list(tree.nodes)
    return owners_of(labels, len(labels))[0]


def out_of_fold(
    base: Any, X: Any, y: Iterable[Any], classes: Sequence[Hashable], n_folds: int = 5
) -> Floats:
    """Scores of every document by a classifier that learned from the other folds.

    Shape (n, classes); −inf where a fold's classifier does not know the class.
    """
    rows, categories = rows_from(X), categories_in(y)
    table = np.empty((len(rows), len(classes)))
    parts = list(folds(len(rows), n_folds, random_state=0))
    shared = (base, rows, categories, classes)
    scores = spread(_fold_scores, parts, shared, "scoring held-out documents")
    for (_, ask), fold_scores in zip(parts, scores, strict=True):
        table[ask] = fold_scores
    return table


def _fold_scores(
    part: tuple[Ints, Ints],
    base: Any,
    rows: Rows,
    categories: list[list[Any]],
    classes: Sequence[Hashable],
) -> Floats:
    learn, ask = part
    model = fitted(base, take(rows, learn), [categories[i] for i in learn])
    return model.scores(take(rows, ask).to_scipy(), classes)


def parted(
    labels: Rows, share: float, random: np.random.Generator
) -> tuple[Ints, Ints]:
    """Split documents into those to learn from and those held out, by number.

    A document is held out only while each of its classes keeps another to learn from.

    >>> from classmark.sparse import rows_from
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
    starts = np.cumsum([0, *map(len, columns)]).astype(np.int64)
    flat = np.array([at for line in columns for at in line], np.uint32)
    return Rows(starts, flat, np.ones(len(flat)), len(classes))


CENTROIDS = "centroids"
CELLS = 1 << 24  # scores held together


class Scorer(Protocol):
    """What a trained node offers."""

    @property
    def weights(self) -> Any:
        """Weights, shape (features, d), dense or sparse."""

    def scores(self, rows: Rows) -> Floats:
        """Score every daughter, shape (n, d)."""


class Centroids(NamedTuple):
    """Unit centroids of the daughters, sparse, shape (features, d)."""

    weights: Any

    def scores(self, rows: Rows) -> Floats:
        """Cosine to every daughter's centroid, times the document's length."""
        return np.asarray((rows.to_scipy() @ self.weights).toarray(), np.float64)


@dataclass(frozen=True, slots=True)
class Learner:
    """What learns at the nodes: a base of ``fit_node``, or unit centroids.

    tol : coarse, since only the best daughter matters.
    """

    base: str = "svm"
    C: float = 1.0
    tol: float = 0.1
    seed: int = 0

    def fit(self, rows: Rows, owners: Rows) -> Scorer:
        """Learn one node from its documents (n, features) and their daughters."""
        if self.base == CENTROIDS:
            return Centroids(_unit_columns(rows.to_scipy().T @ owners.to_scipy()))
        return fit_node(rows, owners, self.base, self.C, self.tol, self.seed)


class Documents:
    """Rows of documents, and the nodes of a working tree that each belongs to.

    daughters : of each inner node, increasing; a copy, which may be changed.
    """

    def __init__(self, places: Places, X: Any) -> None:
        self.places = places
        self.rows = rows_from(X)
        belongs = places.nodes_of()
        belongs.sort_indices()
        self.nodes = rows_from(belongs)
        by_node = belongs.tocsc()
        by_node.sort_indices()
        self._starts, self._documents = by_node.indptr, by_node.indices
        self.daughters = {int(v): places.daughters(int(v)) for v in places.inner}

    def __len__(self) -> int:
        return len(self.rows)

    def flattened(self) -> Documents:
        """The same documents under a root whose daughters are the leaves."""
        other = copy(self)
        leaves = self.places.leaves
        other.daughters = (
            {self.root: leaves[leaves != self.root]} if self.daughters else {}
        )
        return other

    @property
    def root(self) -> int:
        """Where a descent begins."""
        return self.places.root

    def at(self, node: int) -> Ints:
        """The documents that belong to a node or below it, increasing."""
        documents = self._documents[self._starts[node] : self._starts[node + 1]]
        return np.asarray(documents, np.int64)

    def belong(self, documents: Ints, nodes: Ints) -> Bools:
        """Whether each document belongs to the node given with it."""
        key = documents * np.int64(self.nodes.width) + nodes
        return np.isin(key, self._keys(documents))

    def _keys(self, documents: Ints) -> Ints:
        chosen = take(self.nodes, np.unique(documents))
        owner = np.repeat(np.unique(documents), np.diff(chosen.starts))
        return np.asarray(owner * np.int64(self.nodes.width) + chosen.columns, np.int64)

    def owners(self, documents: Ints, daughters: Ints) -> Rows:
        """An entry where a document belongs to a daughter, shape (n, d)."""
        return keep_columns(take(self.nodes, documents), daughters)

    def fit(self, learner: Learner, documents: Ints, daughters: Ints) -> Scorer:
        """Train a classifier over some daughters with some documents."""
        rows = take(self.rows, documents)
        return learner.fit(rows, self.owners(documents, daughters))

    def choices(self, model: Scorer, documents: Ints, daughters: Ints) -> Ints:
        """The daughter with the highest score, for each document."""
        best = np.zeros(len(documents), np.int64)
        step = max(1, CELLS // max(1, len(daughters)))
        for start in range(0, len(documents), step):
            block = take(self.rows, documents[start : start + step])
            best[start : start + step] = np.argmax(model.scores(block), axis=1)
        return np.asarray(daughters[best], np.int64)

    def trained(self, learner: Learner, among: Bools) -> dict[int, Scorer]:
        """A classifier for each inner node with several daughters, from ``among``."""
        models: dict[int, Scorer] = {}
        nodes = [v for v, below in self.daughters.items() if len(below) > 1]
        for v in track(nodes, "training nodes", len(nodes)):
            documents = self.at(v)
            documents = documents[among[documents]]
            if len(documents):
                models[v] = self.fit(learner, documents, self.daughters[v])
        return models

    def descend(self, models: Mapping[int, Scorer], documents: Ints) -> Ints:
        """The leaf that each document comes to, by the best daughter at each node.

        A node that has no model (nothing was learned there) sends all to its first.
        """
        leaf = np.full(len(documents), -1, np.int64)
        waiting = [(self.root, np.arange(len(documents)))]
        while waiting:
            v, which = waiting.pop()
            below = self.daughters.get(v)
            if below is None:
                leaf[which] = v
                continue
            chosen = np.full(len(which), below[0], np.int64)
            if v in models:
                chosen = self.choices(models[v], documents[which], below)
            waiting += [(int(u), which[chosen == u]) for u in np.unique(chosen)]
        return leaf

    def margins(self, models: Mapping[int, Scorer], among: Bools) -> Floats:
        """g(x, y) = min over the path of f(x, v) − max over sisters f(x, v').

        Of several leaves the best counts, of several ways to a leaf the widest; sisters
        that a document belongs to as well are no rivals. −inf without a leaf. (n,)
        """
        widest = {self.root: np.where(among, np.inf, -np.inf)[self.at(self.root)]}
        best = np.full(len(self), -np.inf)
        if not self.daughters:
            best[self.at(self.root)] = widest[self.root]
        for v in self._downward():
            documents, above = self.at(v), widest.pop(v)
            owners = self.owners(documents, self.daughters[v])
            place = np.repeat(np.arange(len(documents)), np.diff(owners.starts))
            steps = self._steps(models.get(v), documents, owners)
            g = np.minimum(above[place], steps)
            order = np.argsort(owners.columns, kind="stable")
            counts = np.bincount(owners.columns, minlength=owners.width)
            parts = np.split(order, np.cumsum(counts)[:-1])
            for u, part in zip(self.daughters[v].tolist(), parts, strict=True):
                if u in self.daughters:
                    widest[u] = np.maximum(widest.get(u, g[part]), g[part])
                else:
                    members = documents[place[part]]
                    best[members] = np.maximum(best[members], g[part])
        return best

    def _downward(self) -> list[int]:
        """The inner nodes, every parent before its daughters."""
        above = dict.fromkeys(self.daughters, 0)
        for below in self.daughters.values():
            for u in below.tolist():
                above[u] = above.get(u, 0) + 1
        order = [self.root] if self.daughters else []
        for v in order:
            for u in self.daughters[v].tolist():
                above[u] -= 1
                if not above[u] and u in self.daughters:
                    order.append(u)
        return order

    def _steps(self, model: Scorer | None, documents: Ints, owners: Rows) -> Floats:
        """f(x, v) − max over sisters f(x, v'), for each entry of ``owners``."""
        if model is None or owners.width == 1:
            return np.full(owners.nnz, np.inf if owners.width == 1 else 0.0)
        margins = np.empty(owners.nnz)
        size = max(1, CELLS // owners.width)
        for start in range(0, len(documents), size):
            end = min(start + size, len(documents))
            scores = model.scores(take(self.rows, documents[start:end]))
            low, high = owners.starts[start], owners.starts[end]
            lengths = np.diff(owners.starts[start : end + 1])
            row = np.repeat(np.arange(end - start), lengths)
            column = owners.columns[low:high]
            entry_scores = scores[row, column]
            scores[row, column] = -np.inf
            margins[low:high] = entry_scores - scores.max(axis=1)[row]
        return margins


def _unit_columns(sums: Any) -> Any:
    """Divide each column by its length."""
    from scipy.sparse import csc_matrix

    matrix = csc_matrix(sums)
    length = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=0)).ravel())
    length[length == 0] = 1.0
    matrix.data = matrix.data / np.repeat(length, np.diff(matrix.indptr))
    return matrix.tocsr()


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
class Compared:
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


def compare(
    places: Places, X: Any, learner: Learner | None = None, seed: int = 0
) -> Compared:
    """Train both on three quarters of the documents and try them on the others.

    A document with several leaves is right at any of them; at most 20,000 documents,
    drawn at random, are looked at. Where flat weights would take over 1 GB, unit
    centroids take the place of the learner, for both strategies.
    """
    learner = learner or Learner()
    documents = Documents(places, X)
    placed = np.flatnonzero(np.diff(places.documents.starts))
    if len(placed) < MEANT:
        raise Mistake(
            f"y: {len(placed)} documents have a category: give at least {MEANT}"
        )
    if len(placed) > MOST:
        placed = np.sort(generator(seed).permutation(placed)[:MOST])
    learn, ask = (placed[part] for part in train_test(len(placed), HELD_OUT, seed))
    among = np.zeros(len(documents), np.bool_)
    among[learn] = True
    features = len(np.unique(take(documents.rows, learn).columns))
    size = documents.rows.values.itemsize * features * len(places.leaves)
    if size > ROOM:
        learner = Learner(CENTROIDS)
    return Compared(
        _tried(documents.flattened(), learner, among, ask),
        _tried(documents, learner, among, ask),
        learner.base,
        len(learn),
        len(ask),
    )


def _tried(documents: Documents, learner: Learner, among: Bools, ask: Any) -> Tried:
    models = documents.trained(learner, among)
    wrong = documents.margins(models, among)[among] <= 0
    right = documents.belong(ask, documents.descend(models, ask))
    limit = bound_of(documents, models, among)
    return Tried(float(wrong.mean()), right, limit)


def bound_of(documents: Documents, models: Mapping[int, Scorer], among: Bools) -> Bound:
    """The bound on the error of a trained tree, from its training documents.

    B is the length of all weights together, R the longest training document, and A(g) =
    min(1, max(0, 1 − g)) [Babbar13].
    """
    rows = take(documents.rows, among).to_scipy()
    lengths = np.asarray(rows.multiply(rows).sum(axis=1))
    g = documents.margins(models, among)[among]
    squares = sum(_squares(model.weights) for model in models.values())
    return bound(
        float(np.clip(1.0 - g, 0.0, 1.0).mean()),
        complexity([len(below) for below in documents.daughters.values()]),
        len(g),
        norm=float(np.sqrt(squares)),
        radius=float(np.sqrt(lengths.max(initial=0.0))),
    )


def _squares(weights: Any) -> float:
    values = weights.data if hasattr(weights, "toarray") else weights
    return float(np.square(values, dtype=np.float64).sum())


def _ratio(above: float, below: float) -> float:
    if below == 0:
        return 1.0 if above == 0 else np.inf
    return above / below

"""A classifier at every inner node of a tree, from the root down.

TopDownClassifier names categories; TopDownRanker ranks numbers, as LinearRankers do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from classmark.arrays import Floats, Ints, Rows, ranges, rows_from, take
from classmark.estimator import Estimator, parameters, renamed
from classmark.hierarchies.flat import owners_of, share_right
from classmark.hierarchies.kernels import (
    all_leaves,
    best_first,
    descend,
    leaf_scores,
    node_scores,
)
from classmark.hierarchies.model_files import (
    UNTRAINED,
    SavedModel,
    keep,
    open_model,
    trained_in,
)
from classmark.hierarchies.nodes import (
    NOWHERE,
    NodeSettings,
    TrainedNodes,
    require,
    train,
)
from classmark.hierarchies.places import (
    Nodes,
    Places,
    as_given,
    flat_taxonomy,
    places_of,
    require_one_each,
    shape_of,
)
from classmark.hierarchies.pruning import prune_taxonomy
from classmark.hierarchies.taxonomy_ranker import require_taxonomy
from classmark.preferences.labels import labels_from
from classmark.problems import Mistake
from classmark.rankers.linear import Evidence, LinearRanker, Standing
from classmark.ranking import order
from classmark.taxonomy.tree import Taxonomy
from classmark.validation import require_k, require_numbers

BLOCK = 1 << 24  # scores of leaves that are held together
KEPT = ("base", "beam", "C", "drop", "n_jobs", "memory", "scale", "tol")
Step = tuple[int, int]  # an inner node, and the place of a daughter among its own


def path_parts(
    trained: TrainedNodes, columns: Any, values: Any, leaf: int, scale: float
) -> Floats:
    """Σ over the best path of x_f (w_{v,f} − mean over sisters w_{s,f}).

    Sisters are the daughters that have documents. Shape: that of ``columns``.
    """
    parts = np.zeros(len(columns))
    for at, j in best_path(trained, columns, values, leaf, scale):
        piece = trained.piece(at)
        if not len(piece.features):
            continue
        has_documents = piece.bias > NOWHERE / 2
        place = np.searchsorted(piece.features, columns)
        place[place == len(piece.features)] = 0
        terms = np.flatnonzero(piece.features[place] == columns)
        first, last = piece.offsets[[place[terms], place[terms] + 1]].astype(np.int64)
        where = ranges(first, last - first)  # the weights of these terms
        daughter, weight = piece.daughter[where], piece.weight[where].astype(np.float64)
        owner = np.repeat(np.arange(len(terms)), last - first)
        slope = piece.slope.astype(np.float64)
        usual = slope[j] - slope[has_documents].mean()
        share = 1.0 / max(has_documents.sum(), 1)
        lead = (daughter == j) - share * has_documents[daughter]
        more = np.bincount(owner, weight * lead, len(terms))
        parts[terms] += values[terms] * (usual + more)
    return parts


def best_path(
    trained: TrainedNodes, columns: Any, values: Any, leaf: int, scale: float
) -> list[Step]:
    """The most probable way from the root to a leaf, node by node."""
    starts, codes = trained.plain[:2]
    n_inner = len(starts) - 1
    scores = np.empty(trained.widest)
    reach = {-n_inner: 0.0}
    came: dict[int, Step] = {}
    for at in trained.above([leaf]):
        count = node_scores(at, columns, values, trained.arrays, scores)
        odds = scores[:count] * scale
        odds = odds - odds.max()
        odds = odds - np.log(np.exp(odds).sum())
        for j, code in enumerate(codes[starts[at] : starts[at + 1]].tolist()):
            value = reach[at - n_inner] + float(odds[j])
            if value > reach.get(code, -np.inf):
                reach[code], came[code] = value, (at, j)
    path, code = [], leaf
    while code in came:
        path.append(came[code])
        code = came[code][0] - n_inner
    return path[::-1]


@parameters()
class TopDownClassifier(Estimator):
    """Which daughter next? asked from the root down to a leaf [Babbar13].

    At every inner node a linear classifier over its daughters learns from the documents
    below it. y : for each document a category of the taxonomy, or a list or set of
    them; documents of inner categories have a leaf of their own, which answers with
    that category. Graphs, several roots and categories without documents are allowed:
    those are ranked after all others, and their scores are −inf.

    taxonomy : None stands for one without inner categories.
    base : "svm" (Crammer–Singer), "logistic" or "naive-bayes"; ``fit_node`` says what
        C and tol mean for each.
    beam : how many paths are followed at once; 1 is the greedy descent, None finds the
        most probable leaf of all.
    drop : weights up to this share of their node's largest are not kept.
    scale : what scores of "svm" are multiplied by before they become probabilities: 8
        suits rows of length 1; margins taken as they are favour short paths.
    n_jobs : threads;  memory : what learning may take beside X. Nodes learn together
        only where both fit; a node of "svm" that does not fit at all learns with
        sparse weights.
    folder : where finished nodes are written as they come: a training that was killed
        goes on from there. In the end it holds the whole model, as ``save`` writes it.
        Where machines were brought (``classmark.progress``), their workers do it,
        each within ``memory``; without a folder, nothing is spread.

    The probability of a leaf is the product of softmaxes along its path, where there
    are several paths the best one's.

    Attributes: places_, classes_ (the leaves as y names them), trained_, size_bytes_,
    dropped_ (the share of Σ w² that ``drop`` took).

    >>> tree = Taxonomy([("r", "a"), ("r", "b"), ("a", 1), ("a", 2)])
    >>> X = np.array([[1.0, 0, 0], [0.5, 1, 0], [0, 0, 1]])
    >>> TopDownClassifier(tree).fit(X, [1, 2, "b"]).predict(X)
    [1, 2, 'b']
    """

    _kind = "classifier"
    _needs_y = True

    taxonomy: Taxonomy | None = None
    base: str = "svm"
    beam: int | None = 1
    C: float = 1.0
    _: KW_ONLY
    drop: float = 0.0
    scale: float = 8.0
    tol: float = 1e-2
    n_jobs: int = 2
    memory: str | float = "4GB"
    folder: str | Path | None = None

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from documents X, shape (n, features), and their categories."""
        require_taxonomy(self.taxonomy)
        require_numbers(self, "C", "scale", "tol", over=0)
        require_numbers(self, "drop", least=0, under=1)
        require_numbers(self, "n_jobs", whole=True, least=1)
        require_numbers(self, "beam", whole=True, or_none=True, least=1)
        require(self.base, self.C)
        rows, tree = self._taught_rows(X), self.taxonomy
        if tree is None:
            tree = flat_taxonomy(owners_of(y, len(rows))[0])
        places = places_of(tree, y)
        require_one_each(len(rows), len(places.documents))
        if not places.documents.nnz:
            raise Mistake("y: no document is in a category: give some that are")
        nodes = Nodes(rows, places, shape_of(places))
        settings = NodeSettings(
            self.base, self.C, self.tol, self.drop, self.n_jobs, self.memory
        )
        if self.folder is None:
            trained = train(nodes, settings)
        else:
            unmade = self._saved(places, UNTRAINED, rows.width, tree)
            trained = trained_in(Path(self.folder), nodes, settings, unmade)
        self._with(places, trained, rows.width, tree)
        self.classes_: Any = as_given(places.named, y)
        return self

    def predict(self, X: Any) -> Any:
        """The category of each document, by the beam: an array where ``y`` was one."""
        return as_given(self._predicted(X), self.classes_)

    def _predicted(self, X: Any) -> list[Any]:
        rows = self._documents(X)
        if self.beam is None:
            return self._named(self.best_leaves(rows, 1)[0][:, 0])
        shape = (len(rows), self.beam)
        leaves, scores = np.empty(shape, np.int64), np.empty(shape)
        options = (self.scale_, self.beam, self.trained_.widest)
        self.trained_.walk(descend, rows, options, (leaves, scores), self.n_jobs)
        return self._named(leaves[:, 0])

    def predict_several(self, X: Any, threshold: float = 0.5) -> list[list[Any]]:
        """The categories at least ``threshold`` times as probable as the best."""
        if not 0 < threshold <= 1:
            raise Mistake(f"threshold is {threshold}: give more than 0, at most 1")
        rows = self._documents(X)
        several: list[list[Any]] = []
        for part in self._blocks(rows):
            leaves, _ = self.best_leaves(part, len(self.classes_), np.log(threshold))
            several += [self._named(line[line >= 0]) for line in leaves]
        return several

    @renamed(top="k")
    def rank(self, X: Any, k: int | None = None) -> list[list[Any]]:
        """All categories of each document, or the ``k`` most probable, best first."""
        if k is not None:
            require_k(k)
        rows = self._documents(X)
        if k is not None and k < len(self.classes_):
            leaves, _ = self.best_leaves(rows, k)
            return [self._named(line) for line in leaves]
        ranked: list[list[Any]] = []
        for part in self._blocks(rows):
            ranked += [self._named(line) for line in order(self._everywhere(part))]
        return ranked

    def decision_function(self, X: Any) -> Floats:
        """Log-probabilities of all leaves, shape (n, leaves), as ``classes_`` lists.

        −inf : no document of the leaf was learned from. Of two classes, where ``y`` was
        an array, how far the second is ahead, shape (n,), as scikit-learn has it.
        """
        scores = self._masked(self._everywhere(self._documents(X)))
        if isinstance(self.classes_, np.ndarray) and len(self.classes_) == 2:
            return np.asarray(scores[:, 1] - scores[:, 0])
        return scores

    def margins(self, X: Any) -> Floats:
        """Least score above the best sister's on the way to each leaf [Babbar13].

        g(x, y) = min over v on the path to y of f(x, v) − max over sisters v′ of
        f(x, v′), shape (n, leaves): above 0 for the leaf of the greedy descent alone.
        """
        return self._masked(self._everywhere(self._documents(X), margins=True))

    def score(self, X: Any, y: Any) -> float:
        """Return the share of documents whose predicted category is one of theirs."""
        places = places_of(self.places_.tree, y)
        lists = (places.documents.row(i)[0] for i in range(len(places.documents)))
        truth = [[places.named[leaf] for leaf in leaves] for leaves in lists]
        return share_right(self.predict(X), truth)

    def evidence(self, X: Any, leaf: Any) -> Evidence:
        """Each feature's part in the scores on the way to a leaf, for one document.

        The sum over the path of x_f (w_{v,f} − mean over sisters w_{s,f}).
        """
        rows = self._documents(X)
        if len(rows) != 1:
            raise Mistake(f"X has {len(rows)} rows: evidence is shown for one document")
        place = self._place.get(leaf)
        if place is None:
            raise Mistake(f"leaf {leaf!r} is not one of classes_: check its spelling")
        columns, values = rows.row(0)
        parts = path_parts(self.trained_, columns, values, place, self.scale_)
        return Evidence(columns.astype(np.int64), parts)

    @property
    def size_bytes_(self) -> int:
        """What the weights take, in memory and on disk."""
        return sum(array.nbytes for array in self.trained_.arrays)

    @property
    def dropped_(self) -> float:
        """The share of Σ w² that was not kept."""
        return self.trained_.dropped

    def save(self, folder: str | Path) -> None:
        """Write a new folder of arrays; ``open`` maps them."""
        self._require_fitted()
        learned = (self.places_, self.trained_, self.n_features_in_, self._tree)
        keep(Path(folder), self._saved(*learned))

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Open what ``save``, or ``fit`` with a folder, has written.

        Only what documents touch on their way down is read into memory.
        """
        inside = Path(folder) / "model"
        saved = open_model(inside if inside.exists() else Path(folder))
        settings = {name: saved.settings[name] for name in KEPT}
        classifier = cls(saved.taxonomy, **settings)
        learned = saved.places, saved.trained, saved.settings["features"]
        return classifier._with(*learned, saved.taxonomy)

    def _saved(
        self, places: Places, trained: TrainedNodes, features: int, tree: Taxonomy
    ) -> SavedModel:
        settings = {name: getattr(self, name) for name in KEPT}
        return SavedModel(tree, places, trained, {**settings, "features": features})

    def _with(
        self, places: Places, trained: TrainedNodes, features: int, tree: Taxonomy
    ) -> Self:
        self.places_, self.trained_, self.n_features_in_ = places, trained, features
        self._tree = tree
        self.classes_ = places.named
        self._place = {leaf: at for at, leaf in enumerate(self.classes_)}
        return self

    @property
    def scale_(self) -> float:
        """What scores are multiplied by before they become probabilities."""
        return float(self.scale) if self.base == "svm" else 1.0

    def _named(self, leaves: Ints) -> list[Any]:
        return [self.classes_[at] for at in leaves.tolist()]

    def best_leaves(
        self, rows: Rows, most: int, ratio: float = -np.inf
    ) -> tuple[Ints, Floats]:
        """The most probable leaves, best first, and their log-probabilities, exactly.

        ratio : the log of the least probability, as a share of the best leaf's. Shape
        (n, most) each; −1 and −∞ where there are no more.
        """
        out = np.empty((len(rows), most), np.int64), np.empty((len(rows), most))
        options = (self.scale_, float(ratio), len(self.classes_))
        self.trained_.walk(best_first, rows, options, out, self.n_jobs)
        return out

    def leaf_scores(self, words: Any, leaves: Ints) -> Floats:
        """The log-probabilities of some leaves for one document, node by node."""
        trained = self.trained_
        out = np.full(len(self.classes_), -np.inf)
        above = trained.above(leaves.tolist())
        columns, values = words
        leaf_scores(
            columns, values, trained.arrays, self.scale_, above, trained.widest, out
        )
        return out[leaves]

    def _everywhere(self, rows: Rows, *, margins: bool = False) -> Floats:
        """The log-probability, or the least margin, of every leaf, (n, leaves)."""
        out = np.empty((len(rows), len(self.classes_)))
        options = (self.scale_, margins)
        self.trained_.walk(all_leaves, rows, options, (out,), self.n_jobs)
        return out

    def _masked(self, scores: Floats) -> Floats:
        """The scores, −inf where a leaf has no documents."""
        scores[:, self.places_.sizes == 0] = -np.inf
        return scores

    def _blocks(self, rows: Rows) -> Iterator[Rows]:
        step = max(1, BLOCK // len(self.classes_))
        for low in range(0, len(rows), step):
            starts = rows.starts[low : low + step + 1]
            yield Rows(starts, rows.columns, rows.values, rows.width)

    def _documents(self, X: Any) -> Rows:
        return self._rows_as_taught(X)


@parameters()
class TopDownRanker(LinearRanker):
    """Ranks categories by the probability of the way to them, root to leaf.

    taxonomy : the tree;  categories : the node of each label number. Labels that are
    inner nodes are leaves of their own beside their daughters.
    prune, bold : None, or the policy of ``prune_taxonomy`` by which inner nodes are
    removed before, as "bound" or "meta:FILE"; and whether boldly.
    base, C, drop, n_jobs, memory : as in ``TopDownClassifier``.

    Attributes: classifier_ (a ``TopDownClassifier``), pruned_ (the nodes removed),
    is_learned (which labels have documents), n_learned (how many leaves have).
    ``working`` names a folder that keeps what is finished while ``fit`` runs.

    >>> tree = Taxonomy([("r", "a"), ("r", "b"), ("a", 1), ("a", 2)])
    >>> ranker = TopDownRanker(tree, [1, 2, "b"]).fit(np.eye(3), [[0], [1], [2]])
    >>> ranker.rank([[0.0, 1.0, 0.0]], k=1).tolist()
    [[1]]
    """

    descends = True

    taxonomy: Taxonomy
    categories: Sequence[Any]
    base: str = "svm"
    C: float = 1.0
    _: KW_ONLY
    prune: str | None = None
    bold: bool = False
    drop: float = 0.0
    n_jobs: int = 2
    memory: str = "4GB"
    working: Path | None = field(default=None, init=False)

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from documents X, shape (n, features), and labels Y, shape (n, k).

        Documents without a label are left out.
        """
        rows = rows_from(X)
        labels = labels_from(Y, len(rows), len(self.categories))
        taught = np.flatnonzero(np.diff(labels.starts) > 0)
        if not len(taught):
            raise Mistake("no document has a label: give some to learn from")
        rows, labels = take(rows, taught), take(labels, taught)
        y = [[self.categories[c] for c in labels.row(i)[0]] for i in range(len(labels))]
        tree, self.pruned_ = self.taxonomy, []
        if self.prune is not None:
            learner: dict[str, Any] = {"base": self.base, "C": self.C}
            tree = prune_taxonomy(tree, rows, y, self.prune, bold=self.bold, **learner)
            inner = [node for node in self.taxonomy if not self.taxonomy.is_leaf(node)]
            self.pruned_ = [v for v in inner if v not in tree or tree.is_leaf(v)]
        self.classifier_ = TopDownClassifier(
            tree, self.base, C=self.C, drop=self.drop, n_jobs=self.n_jobs,
            memory=self.memory, folder=self.working,
        ).fit(rows, y)  # fmt: skip
        self.settle()
        return self

    def settle(self) -> None:
        """Map labels to leaves and back; called after ``fit`` and after opening."""
        leaf = {name: at for at, name in enumerate(self.classifier_.classes_)}
        self.leaves_ = np.array([leaf.get(c, -1) for c in self.categories], np.int64)
        self.labels_ = np.full(len(leaf), -1, np.int64)
        has_leaf = self.leaves_ >= 0
        self.labels_[self.leaves_[has_leaf]] = np.flatnonzero(has_leaf)
        learned = self.classifier_.places_.sizes > 0  # others come after all of these
        self.is_learned_leaf = learned
        self.is_learned = has_leaf & learned[np.maximum(self.leaves_, 0)]
        self.n_learned = int(learned.sum())
        self._n_hidden = int((self.labels_[learned] < 0).sum())
        shown = np.where(learned, self.labels_, -1)
        self._shown: tuple[Ints | None, Ints] = None, shown

    def category_scores(self, X: Any) -> Floats:
        """Logarithms of the ways' probabilities, shape (documents, categories).

        −inf : no document of the category was learned from.
        """
        self._require_fitted()
        leaf_scores = self.classifier_.decision_function(X)
        scores = leaf_scores[:, np.maximum(self.leaves_, 0)]
        scores[:, self.leaves_ < 0] = -np.inf
        return scores

    @property
    def n_ranked(self) -> int:
        """How many categories it knows."""
        return len(self.categories)

    def best(self, X: Any, top: int) -> list[tuple[int, float]]:
        """The most probable categories of the one row of ``X``, and their scores.

        Only nodes that may lead to them are looked at; categories without documents
        are not among them.
        """
        self._require_fitted()
        model = self.classifier_
        n_best = min(self.n_learned, top + self._n_hidden)
        best_leaves, scores = model.best_leaves(rows_from(X), n_best)
        labels = self.labels_[best_leaves[0]]
        ranked = zip(labels.tolist(), scores[0].tolist(), strict=True)
        return [(label, score) for label, score in ranked if label >= 0][:top]

    def ranks(
        self, X: Any, categories: Sequence[int], numbers: Ints | None = None
    ) -> list[Standing | None]:
        """As every ranker; only nodes that may lead to better ones are looked at.

        numbers : of each category, the one it counts as, or −1 for none; its own.
        """
        self._require_fitted()
        model = self.classifier_
        words, trained = rows_from(X).row(0), model.trained_
        shown = self._shown
        if shown[0] is not numbers:
            own = self.labels_
            if numbers is not None:
                own = np.append(numbers, -1)[own]
            self._shown = shown = numbers, np.where(model.places_.sizes > 0, own, -1)
        own = shown[1]
        standings: list[Standing | None] = []
        for category in categories:
            leaves = np.flatnonzero(own == category)
            score = model.leaf_scores(words, leaves).max(initial=-np.inf)
            if not np.isfinite(score):
                standings.append(None)
                continue
            before = trained.before(words, model.scale_, (category, score), own)
            standings.append(Standing(1 + before, float(score)))
        return standings

    def evidence(self, X: Any, category: int) -> Evidence:
        """Each feature's part in the decisions on the way to a category."""
        self._require_fitted()
        leaf = self.categories[category]
        if self.leaves_[category] < 0:
            return Evidence(np.empty(0, np.int64), np.empty(0))
        return self.classifier_.evidence(X, leaf)

    @property
    def coef_(self) -> Floats:
        """There is no such matrix: a category's score is no sum over features."""
        raise Mistake("a top-down model has weights at every node: use classifier_")

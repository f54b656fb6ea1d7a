"""TaxonomyRanker: from smoothed prototypes to margins, as categories gain documents."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from classmark.arrays import Array, Floats
from classmark.corpus.splits import folds
from classmark.preferences.labels import labels_from
from classmark.preferences.levels import (
    favoured,
    graphs_from,
    is_graphs,
    levels_from,
    relevant,
)
from classmark.problems import Mistake
from classmark.rankers.preference import PreferenceRanker, Problem
from classmark.sparse import Rows, keep_columns, rows_from, take
from classmark.spreading import spread
from classmark.taxonomy.tree import Taxonomy
from classmark.validation import renamed, require_numbers

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from classmark.solvers.preference_live import LiveDual


KEPT = 1000  # terms of an ancestor, at most
LEAST = 50  # terms of an ancestor, where there are very many labels
ENTRIES = 100_000_000  # that the labels may take from their ancestors, all together
BLOCK = 20_000_000  # entries of documents summed at a time


class Smoothed(NamedTuple):
    """Prototypes, csr (features, labels), each of length 1, and what was left out.

    dropped : how much of the ancestors' squared length lies in terms not kept, mean
    over the ancestors.
    """

    prototypes: csr_matrix
    dropped: float


@dataclass(frozen=True, eq=False)
class Smoothing:
    """How labels take part in the categories above them.

    nodes : the node number of each label, −1 where the taxonomy does not have it.
    decay : λ;  an ancestor at distance d, the nearest way over all parents, counts λᵈ.
    descriptions : a vector for each node that has one, shape (nodes, features), as
    long as it shall count; or None.
    """

    taxonomy: Taxonomy
    nodes: Sequence[int]
    decay: float
    descriptions: csr_matrix | None = None

    def of(self, rows: Rows, labels: Rows) -> Smoothed:
        """Smooth the centroids of labels (n, k) over documents (n, features)."""
        documents = rows.to_scipy().astype(np.float64)
        belongs = labels.to_scipy().astype(np.float64)
        belongs.data[:] = 1.0
        total: Any = unit_rows(belongs.T @ documents)
        kin, label_nodes = self._kin(), self._label_nodes()
        means, dropped = _means(
            documents, _members(belongs, kin, label_nodes), _terms_kept(kin)
        )
        total = total + kin @ means
        if self.descriptions is not None:
            total = total + (kin + label_nodes) @ self.descriptions
        return Smoothed(unit_rows(total).T.tocsr(), dropped)

    def _kin(self) -> csr_matrix:
        """λᵈ where a node is d above a label, the root left out, (labels, nodes)."""
        root = _only_root(self.taxonomy)
        lists: dict[int, dict[int, int]] = {-1: {}}
        for node in {int(v) for v in self.nodes}:
            lists.setdefault(node, _distances(self.taxonomy, node, root))
        ancestors = [lists[int(node)] for node in self.nodes]
        starts = np.cumsum([0, *map(len, ancestors)])
        columns = [node for above in ancestors for node in above]
        distances = [distance for above in ancestors for distance in above.values()]
        values = self.decay ** np.array(distances, np.float64)
        return _csr(values, np.array(columns, np.int64), starts, len(self.taxonomy))

    def _label_nodes(self) -> csr_matrix:
        """1 where a node is the label's own, (labels, nodes)."""
        nodes = np.asarray(self.nodes, np.int64)
        starts = np.concatenate([[0], np.cumsum(nodes >= 0)])
        columns = nodes[nodes >= 0]
        return _csr(np.ones(len(columns)), columns, starts, len(self.taxonomy))


def smoothed_prototypes(
    rows: Rows,
    labels: Rows,
    taxonomy: Taxonomy,
    nodes: Sequence[int],
    decay: float = 0.5,
    descriptions: csr_matrix | None = None,
) -> csr_matrix:
    """Prototypes of labels, smoothed along the tree, csr (features, labels).

    w_r ∝ c_r + t_r + Σ_a λ^d(r, a) (c_a + t_a), to unit length: c_r is the unit
    centroid of the documents of label r, c_a that of the documents in or below a, t the
    descriptions, a the categories above r other than the only root, d the edges between
    [McCallum98].

    Of an ancestor's centroid the heaviest 1,000 terms are kept, fewer where there are
    very many labels; ``Smoothing`` says what that leaves out.

    >>> from classmark.sparse import rows_from
    >>> from classmark.taxonomy.tree import Taxonomy
    >>> tree = Taxonomy([("r", "a"), ("a", 1), ("a", 2)])
    >>> X, Y = rows_from(np.eye(2)), rows_from(np.eye(2))
    >>> smoothed_prototypes(X, Y, tree, [2, 3], 1.0).toarray().round(3).tolist()
    [[0.924, 0.383], [0.383, 0.924]]
    """
    how = Smoothing(taxonomy, nodes, decay, descriptions)
    return how.of(rows, labels).prototypes


def require_taxonomy(taxonomy: Taxonomy) -> None:
    """Refuse edges, names or nothing where a taxonomy is wanted."""
    if not isinstance(taxonomy, Taxonomy):
        raise Mistake(
            f"taxonomy is a {type(taxonomy).__name__}: give a Taxonomy, as "
            "Taxonomy([(parent, daughter), …])"
        )


def unit_rows(matrix: Any) -> csr_matrix:
    """Rows of length 1; rows of zeros stay."""
    from scipy.sparse import csr_matrix

    scaled: csr_matrix = csr_matrix(matrix, dtype=np.float64, copy=True)
    owner = np.repeat(np.arange(scaled.shape[0]), np.diff(scaled.indptr))
    length = np.sqrt(np.bincount(owner, scaled.data**2, minlength=scaled.shape[0]))
    scaled.data /= np.where(length > 0, length, 1.0)[owner]
    return scaled


def _members(
    belongs: csr_matrix, kin: csr_matrix, label_nodes: csr_matrix
) -> csr_matrix:
    """1 where a document is in a node or below it, csr (nodes, documents).

    Nodes that are above no label have no documents here.
    """
    members: csr_matrix = (belongs @ (kin + label_nodes)).T.tocsr()
    is_ancestor = np.bincount(kin.indices, minlength=kin.shape[1]) > 0
    counts = np.repeat(is_ancestor, np.diff(members.indptr)) & (members.data > 0)
    members.data = counts.astype(np.float64)
    members.eliminate_zeros()
    return members


def _means(
    documents: Any, members: csr_matrix, n_terms: int
) -> tuple[csr_matrix, float]:
    """Unit sums of the documents of each node, their heaviest terms; what is lost."""
    from scipy.sparse import csr_matrix, vstack

    work = np.asarray(members @ np.diff(documents.indptr)).ravel()
    block = (np.cumsum(work) // BLOCK).astype(np.int64)
    parts, lost = [csr_matrix((0, documents.shape[1]))], 0.0
    for at in np.unique(block):
        means = unit_rows(members[block == at] @ documents)
        lost += _cut(means, n_terms)
        parts.append(means)
    used = max(int((work > 0).sum()), 1)
    return csr_matrix(vstack(parts)), lost / used


def _cut(matrix: csr_matrix, n_terms: int) -> float:
    """Keep the heaviest ``n_terms`` entries of each row; return the squares lost."""
    starts, lost = matrix.indptr, 0.0
    for row in np.flatnonzero(np.diff(starts) > n_terms):
        values = matrix.data[starts[row] : starts[row + 1]]
        light = np.argpartition(-np.abs(values), n_terms)[n_terms:]
        lost += float(values[light] @ values[light])
        values[light] = 0.0
    matrix.eliminate_zeros()
    return lost


def _terms_kept(kin: csr_matrix) -> int:
    """How many terms of an ancestor are kept, so that all labels' fit in memory."""
    return int(np.clip(ENTRIES // max(kin.nnz, 1), LEAST, KEPT))


def _only_root(taxonomy: Taxonomy) -> int:
    roots = np.flatnonzero(taxonomy.lineage.parent < 0)
    return int(roots[0]) if len(roots) == 1 else -1


def _distances(taxonomy: Taxonomy, node: int, root: int) -> dict[int, int]:
    """Edges to each node above, the nearest way, the root left out."""
    distances: dict[int, int] = {}
    ring, distance = [node], 0
    while ring:
        distance += 1
        above = {int(u) for v in ring for u in taxonomy.above(v)}
        ring = sorted(above - distances.keys())
        distances.update(dict.fromkeys(ring, distance))
    distances.pop(root, None)
    return distances


def _csr(values: Array, columns: Array, starts: Array, width: int) -> csr_matrix:
    from scipy.sparse import csr_matrix

    parts: Any = (values, columns, starts)
    matrix: csr_matrix = csr_matrix(parts, shape=(len(starts) - 1, width))
    matrix.sort_indices()
    return matrix


class Setting(NamedTuple):
    """C, the price of a margin missed, and how long the prototypes are."""

    C: float
    center: float


FEW = 8.0  # documents per label: below, margins are not to be trusted
NEAR = Setting(0.03, 5.0)
FREE = Setting(1.0, 2.0)
BETWEEN = Setting(0.3, 5.0)
JUDGED = 2000  # documents held out, about
FOLDS = 3


def chosen(ranker: TaxonomyRanker, rows: Rows, labels: Rows) -> Setting:
    """Choose C and center from documents (n, features) and their labels (n, k).

    With fewer than 8 documents per label that has any, stay near the prototypes: C .03,
    center 5. Margins learned from so few do not carry over to other texts, and holding
    some of them out would leave too few to learn from. With more, C 1 and center 2,
    which leaves the margins free; unless C .3 or C .03 with center 5 ranks a right
    label first for more of about 2,000 documents held out, by more than the standard
    error of the difference. A value the ranker was given stays.
    """
    used = np.unique(labels.columns)
    tried = [_given(ranker, setting) for setting in (FREE, BETWEEN, NEAR)]
    if len(labels.columns) < FEW * max(len(used), 1) or len(rows) < 2 * FOLDS:
        return tried[-1]
    distinct = list(dict.fromkeys(tried))
    if len(distinct) == 1:
        return distinct[0]
    fresh = type(ranker)(**ranker.get_params(deep=False))
    hits = spread(_tried, distinct, (fresh, rows, labels), "settings")
    best = max(range(len(distinct)), key=lambda at: hits[at].sum())
    gain = hits[best] - hits[0]
    error = gain.std() * np.sqrt(len(gain))
    return distinct[best] if gain.sum() > error else distinct[0]


def _given(ranker: TaxonomyRanker, setting: Setting) -> Setting:
    return Setting(
        setting.C if ranker.C is None else ranker.C,
        setting.center if ranker.center is None else ranker.center,
    )


def _tried(
    setting: Setting, ranker: TaxonomyRanker, rows: Rows, labels: Rows
) -> Floats:
    return first_is_right(ranker, setting, rows, labels)


def first_is_right(
    ranker: TaxonomyRanker, setting: Setting, rows: Rows, labels: Rows
) -> Floats:
    """1 where the first label of a document held out is one of its own."""
    count = len(rows)
    share = min(count // FOLDS, JUDGED)
    splits = folds(count, count // share, random_state=ranker.random_state)
    hits: list[Floats] = []
    for _, (learn, out) in zip(range(-(-JUDGED // share)), splits, strict=False):
        fitted = copy(ranker).set_params(C=setting.C, center=setting.center)
        fitted.fit(take(rows, learn), take(labels, learn))
        first = fitted.rank(take(rows, out), k=1)[:, 0]
        truth = take(labels, out)
        owner = np.repeat(np.arange(len(truth)), np.diff(truth.starts))
        right = np.bincount(owner, truth.columns == first[owner], minlength=len(truth))
        hits.append(right[np.diff(truth.starts) > 0].astype(np.float64))
    return np.concatenate(hits)


class TaxonomyRanker(PreferenceRanker):
    """Ranks the categories of a taxonomy, from few documents and from many.

    min ½‖W − center · W₀‖² + C Σ ξ, as ``PreferenceRanker`` with "dom", W₀ the unit
    prototypes of ``smoothed_prototypes``: a label with few documents stays near its
    own mean, those of the categories above it and what is said about them; one with
    many moves to the margin solution.

    taxonomy : a ``Taxonomy``;  categories : the node of each label number, all of which
    are ranked, also those that no document has; by default the nodes in their order, up
    to the last that Y has. A label that is no node is smoothed by nothing.
    decay : λ;  an ancestor d edges above counts λᵈ.
    descriptions : what is said about categories, as vectors like X: a row per node of
        the taxonomy, or per label; rows of zeros where nothing is said. Each counts
        ``weight``, a label's centroid 1.
    C, center : None to choose, by ``classmark.hierarchies.taxonomy_ranker.chosen``.

    What ``fit`` leaves behind beside the attributes of ``PreferenceRanker``:
    setting_ : the C and center used;  dropped_ : how much of the ancestors' squared
    length was in terms that were not kept, mean over them.

    After fitting it is kept, opened and taught further as a ``PreferenceRanker``.

    >>> from classmark.taxonomy.tree import Taxonomy
    >>> tree = Taxonomy([("r", "a"), ("r", "b"), ("a", 1), ("a", 2)])
    >>> ranker = TaxonomyRanker(tree, [1, 2, "b"])
    >>> ranker.fit(np.eye(3), [[0], [1], [2]]).rank([[0.0, 1.0, 0.0]]).tolist()
    [[1, 0, 2]]
    """

    @renamed(mapping="loss", budget="time_budget", keep="max_documents")
    def __init__(
        self,
        taxonomy: Taxonomy,
        categories: Sequence[Hashable] | None = None,
        decay: float = 0.5,
        descriptions: Any = None,
        *,
        C: float | None = None,
        center: float | None = None,
        weight: float = 0.5,
        loss: str = "dom",
        tol: float = 1e-2,
        max_iter: int = 1000,
        memory: str = "2GB",
        n_jobs: int = 1,
        random_state: int = 0,
        revisits: int = 100,
        time_budget: float | None = None,
        max_documents: int | None = None,
    ) -> None:
        super().__init__(
            loss, tol=tol, max_iter=max_iter, center=center, memory=memory,
            n_jobs=n_jobs, random_state=random_state, revisits=revisits,
            time_budget=time_budget, max_documents=max_documents,
        )  # fmt: skip
        self.taxonomy = taxonomy
        self.categories = categories
        self.decay = decay
        self.descriptions = descriptions
        self.weight = weight
        self.C = C  # type: ignore[assignment]

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from documents X, shape (n, features), and labels, grades or graphs.

        Labels are numbers: label i is ``categories[i]``.
        """
        self._check()
        rows = rows_from(X)
        labels = self._labelled(rows, Y)
        self.setting_ = self._chosen(rows, labels)
        return super().fit(rows, labels)

    def path(self, X: Any, Y: Any, Cs: Sequence[float]) -> Iterator[Self]:
        """Fit for each C in increasing order, each starting from the one before."""
        first = copy(self).set_params(C=min(Cs))
        first._check()  # noqa: SLF001 (a copy of this one)
        rows = rows_from(X)
        labels = self._labelled(rows, Y)
        first.setting_ = first._chosen(rows, labels)  # noqa: SLF001 (a copy of this one)
        for ranker in super(TaxonomyRanker, first).path(rows, labels, Cs):
            ranker.setting_ = Setting(ranker.C, first.setting_.center)
            yield ranker

    def prototypes(self, rows: Rows, labels: Rows) -> csr_matrix:
        """Centroids smoothed along the tree, csr (features, labels), each length 1."""
        apart = int(self._loss == "svm")  # its last column is the threshold's
        words = keep_columns(rows, np.arange(rows.width - apart)) if apart else rows
        nodes = self._nodes(labels.width)
        descriptions = self._description_rows(nodes, words.width)
        how = Smoothing(self.taxonomy, nodes, self.decay, descriptions)
        prototypes, self.dropped_ = how.of(words, labels)
        return _tall(prototypes, rows.width)

    @property
    def kept_as(self) -> tuple[str, dict[str, Any]]:
        """After fitting it is a ``PreferenceRanker`` with the setting used."""
        return "plm", self._plain().get_params()

    def _plain(self) -> PreferenceRanker:
        """The same problem as a ``PreferenceRanker``, sharing what was learned."""
        setting = getattr(self, "setting_", Setting(self.C or 1.0, self.center or 0.0))
        plain = PreferenceRanker()
        plain.set_params(**{name: getattr(self, name) for name in plain.get_params()})
        plain.C, plain.center = setting.C, setting.center
        plain.problem_, plain.live_ = self.problem_, self.live_
        return plain

    def _problem(self, rows: Rows, Y: Any) -> Problem:
        plain = self._plain()
        plain.prototypes = self.prototypes  # type: ignore[method-assign]
        return plain._problem(rows, Y)  # noqa: SLF001 (the same class, with its C)

    def _started(self, kind: Any) -> LiveDual:
        return self._plain()._started(kind)  # noqa: SLF001 (the same class, with its C)

    def _chosen(self, rows: Rows, Y: Any) -> Setting:
        if self.C is not None and self.center is not None:
            return Setting(self.C, self.center)
        if is_graphs(Y):
            labels = favoured(graphs_from(Y, len(rows), thresholds=True))
        else:
            labels = levels_from(Y, len(rows))
        return chosen(self, rows, relevant(labels))

    def _labelled(self, rows: Rows, Y: Any) -> Any:
        """Y over all categories; refused where it has no label at all."""
        if is_graphs(Y):
            return Y
        labels = labels_from(Y, len(rows))
        if not labels.nnz:
            raise Mistake("Y has no label: give at least one document a label")
        count = 0 if self.categories is None else len(self.categories)
        width = max(labels.width, count)
        return Rows(labels.starts, labels.columns, labels.values, width)

    def _nodes(self, count: int) -> list[int]:
        """The node number of each label, −1 where the taxonomy does not have it."""
        names = self.taxonomy.nodes if self.categories is None else self.categories
        if len(names) < count:
            raise Mistake(
                f"categories has {len(names)} entries, Y has {count} labels: say for "
                "every label which node of the taxonomy it is"
            )
        tree = self.taxonomy
        return [tree.number(n) if n in tree else -1 for n in names[:count]]

    def _description_rows(self, nodes: list[int], width: int) -> csr_matrix | None:
        """The descriptions by node, each of length ``weight``."""
        if self.descriptions is None:
            return None
        descriptions: Any = unit_rows(
            rows_from(self.descriptions, name="descriptions").to_scipy()
        )
        if descriptions.shape[1] != width:
            raise Mistake(
                f"descriptions has {descriptions.shape[1]} features, X has {width}: "
                "use the vectorizer that X comes from"
            )
        if descriptions.shape[0] not in (len(self.taxonomy), len(nodes)):
            raise Mistake(
                f"descriptions has {descriptions.shape[0]} rows: give one for each of "
                f"the {len(self.taxonomy)} nodes, or for each of the {len(nodes)} "
                "labels"
            )
        if descriptions.shape[0] != len(self.taxonomy):
            descriptions = _by_node(descriptions, nodes, len(self.taxonomy))
        return self.weight * descriptions  # type: ignore[no-any-return]

    def _check(self) -> None:
        require_taxonomy(self.taxonomy)
        require_numbers(self, "decay", "weight")
        require_numbers(self, "C", "center", or_none=True)
        if self.categories is not None and not hasattr(self.categories, "__len__"):
            raise Mistake(f"categories is {self.categories!r}: give a list of nodes")
        if not 0 <= self.decay <= 1:
            raise Mistake(f"decay is {self.decay}: give a number from 0 to 1")
        if not self.weight >= 0:
            raise Mistake(f"weight is {self.weight}: give 0 or more")
        for name in ("C", "center"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise Mistake(f"{name} is {value}: give more than 0, or None to choose")
        self._plain()._check()  # noqa: SLF001 (the same class, with its C)


def _tall(weights: csr_matrix, height: int) -> csr_matrix:
    """The same with rows of zeros below."""
    from scipy.sparse import csr_matrix

    more = np.full(height - weights.shape[0], weights.nnz)
    parts: Any = (weights.data, weights.indices, np.append(weights.indptr, more))
    return csr_matrix(parts, shape=(height, weights.shape[1]))


def _by_node(descriptions: Any, nodes: list[int], height: int) -> Any:
    """Rows by label become rows by node; those of labels without a node are lost."""
    from scipy.sparse import csr_matrix

    numbers = np.asarray(nodes, np.int64)
    labels = np.flatnonzero(numbers >= 0)
    parts: Any = (np.ones(len(labels)), (numbers[labels], labels))
    return csr_matrix(parts, shape=(height, len(nodes))) @ descriptions

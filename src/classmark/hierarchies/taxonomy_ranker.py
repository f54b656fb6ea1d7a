"""TaxonomyRanker: from smoothed prototypes to margins, as categories gain documents."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from copy import copy
from dataclasses import KW_ONLY
from itertools import islice
from typing import Any, NamedTuple, Self

import numpy as np

from classmark.arrays import (
    Bools,
    Csr,
    Floats,
    Ints,
    Rows,
    rows_from,
    take,
)
from classmark.corpus.documents import cross_validate, folds
from classmark.estimator import parameters
from classmark.hierarchies.places import among_labels, ancestors, ones_at
from classmark.preferences.labels import (
    favoured,
    graphs_from,
    is_graphs,
    labels_from,
    levels_from,
    relevant,
)
from classmark.problems import Mistake
from classmark.rankers.linear import LinearRanker
from classmark.rankers.preference import PreferenceRanker
from classmark.taxonomy.tree import Taxonomy
from classmark.validation import require_numbers

KEPT = 1000  # terms of an ancestor, at most
LEAST = 50  # terms of an ancestor, where there are very many labels
ENTRIES = 100_000_000  # that the labels may take from their ancestors, all together
BLOCK = 20_000_000  # entries of documents summed at a time


def smoothed_prototypes(
    rows: Rows,
    labels: Rows,
    taxonomy: Taxonomy,
    nodes: Sequence[int],
    decay: float = 0.5,
    descriptions: Csr | None = None,
) -> tuple[Csr, float]:
    """Prototypes of labels (n, k) over documents (n, features), smoothed along a tree.

    w_r ∝ c_r + t_r + Σ_a λ^d(r, a) (c_a + t_a), to unit length: c_r is the unit
    centroid of the documents of label r, c_a that of the documents in or below a, t the
    descriptions, a the categories above r other than the only root, d the edges between
    by the nearest way over all parents [McCallum98].

    nodes : the node number of each label, −1 where the taxonomy does not have it;
    decay : λ;  descriptions : a vector for each node that has one, shape (nodes,
    features), as long as it shall count; or None.

    Of an ancestor's centroid the heaviest 1,000 terms are kept, fewer where there are
    very many labels. Returns the prototypes, csr (features, labels), and how much of
    the ancestors' squared length lies in terms not kept, mean over the ancestors.

    >>> tree = Taxonomy([("r", "a"), ("a", 1), ("a", 2)])
    >>> X, Y = rows_from(np.eye(2)), rows_from(np.eye(2))
    >>> prototypes, dropped = smoothed_prototypes(X, Y, tree, [2, 3], 1.0)
    >>> prototypes.toarray().round(3).tolist()
    [[0.924, 0.383], [0.383, 0.924]]
    """
    from scipy.sparse import csr_matrix

    documents = rows.to_scipy().astype(np.float64)
    belongs = labels.to_scipy().astype(np.float64)
    belongs.data[:] = 1.0
    # λᵈ where a node is d above a label, the only root left out, (labels, nodes)
    parents = [taxonomy.above(v) for v in range(len(taxonomy))]
    kin: Any = csr_matrix((len(nodes), len(taxonomy)))
    for edges, ring in enumerate(ancestors(nodes, parents), 1):
        kin = kin + decay**edges * ring
    if len(taxonomy.roots) == 1:
        kin.data[kin.indices == taxonomy.number(taxonomy.roots[0])] = 0.0
    kin.eliminate_zeros()
    label_nodes = ones_at(nodes, len(taxonomy))
    n_terms = int(np.clip(ENTRIES // max(kin.nnz, 1), LEAST, KEPT))
    # 1 where a document is in a node or below it, of the nodes above labels
    members: Any = (belongs @ (kin + label_nodes)).T.tocsr()
    is_ancestor = np.bincount(kin.indices, minlength=kin.shape[1]) > 0
    counts = np.repeat(is_ancestor, np.diff(members.indptr)) & (members.data > 0)
    members.data = counts.astype(np.float64)
    members.eliminate_zeros()
    means, dropped = _means(documents, members, n_terms)
    total: Any = unit_rows(belongs.T @ documents) + kin @ means
    if descriptions is not None:
        total = total + (kin + label_nodes) @ descriptions
    return unit_rows(total).T.tocsr(), dropped


def require_taxonomy(taxonomy: Taxonomy) -> None:
    """Refuse edges, names or nothing where a taxonomy is wanted."""
    if not isinstance(taxonomy, Taxonomy):
        raise Mistake(
            f"taxonomy is a {type(taxonomy).__name__}: give a Taxonomy, as "
            "Taxonomy([(parent, daughter), …])"
        )


def unit_rows(matrix: Any) -> Csr:
    """Rows of length 1; rows of zeros stay."""
    from scipy.sparse import csr_matrix

    scaled: Csr = csr_matrix(matrix, dtype=np.float64, copy=True)
    owner = np.repeat(np.arange(scaled.shape[0]), np.diff(scaled.indptr))
    length = np.sqrt(np.bincount(owner, scaled.data**2, minlength=scaled.shape[0]))
    scaled.data /= np.where(length > 0, length, 1.0)[owner]
    return scaled


def _means(documents: Any, members: Csr, n_terms: int) -> tuple[Csr, float]:
    """Unit sums of the documents of each node, their heaviest terms; what is lost."""
    from scipy.sparse import csr_matrix, vstack

    work = np.asarray(members @ np.diff(documents.indptr)).ravel()
    block = (np.cumsum(work) // BLOCK).astype(np.int64)
    parts, lost = [csr_matrix((0, documents.shape[1]))], 0.0
    for at in np.unique(block):
        means = unit_rows(members[block == at] @ documents)
        for row in np.flatnonzero(np.diff(means.indptr) > n_terms):
            values = means.data[slice(*means.indptr[row : row + 2])]
            light = np.argpartition(-np.abs(values), n_terms)[n_terms:]
            lost += float(values[light] @ values[light])
            values[light] = 0.0
        means.eliminate_zeros()
        parts.append(means)
    used = max(int((work > 0).sum()), 1)
    return csr_matrix(vstack(parts)), lost / used


class PriceSetting(NamedTuple):
    """C, the price of a margin missed, and how long the prototypes are."""

    C: float
    center: float


FEW = 8.0  # documents per label: below, margins are not to be trusted
NEAR = PriceSetting(0.03, 5.0)
FREE = PriceSetting(1.0, 2.0)
BETWEEN = PriceSetting(0.3, 5.0)
JUDGED = 2000  # documents held out, about
FOLDS = 3
#: The parameters that the ranker inside has as well, by the same names.
SHARED = (
    "loss", "tol", "max_iter", "memory", "n_jobs", "random_state", "revisits",
    "time_budget", "max_documents", "thresholds",
)  # fmt: skip


def chosen(ranker: TaxonomyRanker, rows: Rows, labels: Rows) -> PriceSetting:
    """Choose C and center from documents (n, features) and their labels (n, k).

    With fewer than 8 documents per label that has any, stay near the prototypes: C .03,
    center 5. Margins learned from so few do not carry over to other texts, and holding
    some of them out would leave too few to learn from. With more, C 1 and center 2,
    which leaves the margins free; unless C .3 or C .03 with center 5 ranks a right
    label first for more of about 2,000 documents held out, by more than the standard
    error of the difference. A value the ranker was given stays.
    """
    used = np.unique(labels.columns)
    values = {name: getattr(ranker, name) for name in PriceSetting._fields}
    fixed = {name: value for name, value in values.items() if value is not None}
    tried = [setting._replace(**fixed) for setting in (FREE, BETWEEN, NEAR)]
    if len(labels.columns) < FEW * max(len(used), 1) or len(rows) < 2 * FOLDS:
        return tried[-1]
    distinct = list(dict.fromkeys(tried))
    if len(distinct) == 1:
        return distinct[0]
    fresh = type(ranker)(**ranker.get_params(deep=False))
    share = min(len(rows) // FOLDS, JUDGED)
    splits = folds(len(rows), len(rows) // share, random_state=ranker.random_state)
    some = list(islice(splits, -(-JUDGED // share)))
    tasks = [(*split, setting) for setting in distinct for split in some]
    shared = (fresh, rows, labels)
    tested, right = cross_validate(first_is_right, tasks, shared, "settings")
    labelled = np.diff(labels.starts)[tested] > 0
    hits = right[labelled].astype(np.float64).reshape(-1, len(distinct)).T
    best = int(np.argmax(hits.sum(axis=1)))
    gain = hits[best] - hits[0]
    error = gain.std() * np.sqrt(len(gain))
    return distinct[best] if gain.sum() > error else distinct[0]


def first_is_right(
    task: tuple[Ints, Ints, PriceSetting],
    ranker: TaxonomyRanker,
    rows: Rows,
    labels: Rows,
) -> Bools:
    """Whether the first label of each document held out is one of its own."""
    learn, out, setting = task
    fitted = copy(ranker).set_params(**setting._asdict())
    fitted.fit(take(rows, learn), take(labels, learn))
    first = fitted.rank(take(rows, out), k=1)[:, 0]
    return among_labels(take(labels, out), first)


@parameters(mapping="loss", budget="time_budget", keep="max_documents")
class TaxonomyRanker(LinearRanker):
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

    Attributes: ranker_ (the fitted ``PreferenceRanker``, whose attributes and methods
    are had here as well: weights_, objective_, duality_gap_, …), setting_ (the C and
    center used), dropped_ (how much of the ancestors' squared length was in terms that
    were not kept, mean over them). It is kept, opened and taught further as ranker_.

    >>> tree = Taxonomy([("r", "a"), ("r", "b"), ("a", 1), ("a", 2)])
    >>> ranker = TaxonomyRanker(tree, [1, 2, "b"])
    >>> ranker.fit(np.eye(3), [[0], [1], [2]]).rank([[0.0, 1.0, 0.0]]).tolist()
    [[1, 0, 2]]
    """

    takes_graphs = True

    taxonomy: Taxonomy
    categories: Sequence[Hashable] | None = None
    decay: float = 0.5
    descriptions: Any = None
    _: KW_ONLY
    C: float | None = None
    center: float | None = None
    weight: float = 0.5
    loss: str = "dom"
    tol: float = 1e-2
    max_iter: int = 1000
    memory: str = "2GB"
    n_jobs: int = 1
    random_state: int = 0
    revisits: int = 100
    time_budget: float | None = None
    max_documents: int | None = None
    thresholds: str | None = None

    def __getattr__(self, name: str) -> Any:
        """What the ranker inside has learned, and how it learns on."""
        if name.startswith("_") or name == "ranker_":
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        present = self._present_name(name)
        return getattr(self.ranker_ if present == name else self, present)

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from documents X, shape (n, features), and labels, grades or graphs.

        Labels are numbers: label i is ``categories[i]``.
        """
        self._check()
        rows = rows_from(X)
        labels = self._labelled(rows, Y)
        self.setting_ = self.chosen(rows, labels)
        self.ranker_ = self._ranker(self.setting_).fit(rows, labels)
        return self

    def partial_fit(self, X: Any, Y: Any, n_labels: int | None = None) -> Self:
        """Learn from more documents, one by one, after ``fit``."""
        self._check()
        ranker = vars(self).get("ranker_", self._ranker(vars(self).get("setting_")))
        ranker.set_params(**{name: getattr(self, name) for name in SHARED})
        self.ranker_ = ranker.partial_fit(X, Y, n_labels)
        return self

    def path(self, X: Any, Y: Any, Cs: Sequence[float]) -> Iterator[Self]:
        """Fit for each C in increasing order, each starting from the one before."""
        first = copy(self).set_params(C=min(Cs))
        first._check()  # noqa: SLF001 (a copy of this one)
        rows = rows_from(X)
        labels = self._labelled(rows, Y)
        setting = first.chosen(rows, labels)
        for ranker in first._ranker(setting).path(rows, labels, Cs):  # noqa: SLF001
            C: float = ranker.kept_as[1]["C"]
            fitted = copy(first).set_params(C=C)
            fitted.setting_, fitted.ranker_ = setting._replace(C=C), ranker
            yield fitted

    def decision_function(self, X: Any) -> Floats:
        """Scores of all categories, shape (documents, categories)."""
        self._require_fitted()
        return self.ranker_.decision_function(X)

    def chosen(self, rows: Rows, Y: Any) -> Any:
        """The C and center, a ``PriceSetting``: given, or chosen by documents."""
        if self.C is not None and self.center is not None:
            return PriceSetting(self.C, self.center)
        if is_graphs(Y):
            labels = favoured(graphs_from(Y, len(rows), thresholds=True))
        else:
            labels = levels_from(Y, len(rows))
        return chosen(self, rows, relevant(labels, Y))

    def prototypes(self, rows: Rows, labels: Rows) -> Csr:
        """Centroids smoothed along the tree, csr (features, labels), each length 1."""
        nodes = self._nodes(labels.width)
        descriptions = self._description_rows(nodes, rows.width)
        prototypes, self.dropped_ = smoothed_prototypes(
            rows, labels, self.taxonomy, nodes, self.decay, descriptions
        )
        return prototypes

    @property
    def takes_thresholds(self) -> bool:
        """Whether the graphs may compare labels with the threshold."""
        return self.loss != "svm"

    @property
    def limits(self) -> Floats | None:
        """The scores above which categories belong, or None."""
        return self.ranker_.limits

    @property
    def thresholds_(self) -> Floats | None:  # type: ignore[override]
        """What is taken off the scores, shape (categories,), or None."""
        return self.ranker_.thresholds_

    @property
    def simple(self) -> PreferenceRanker:
        """After fitting it is a ``PreferenceRanker`` with the setting used."""
        self._require_fitted()
        return self.ranker_

    @property
    def kept_as(self) -> tuple[str, dict[str, Any]]:
        """It is saved and opened as the ranker inside."""
        return "plm", self.simple.kept_as[1]

    def _ranker(self, setting: PriceSetting | None = None) -> PreferenceRanker:
        """A ranker for the same problem, around the smoothed prototypes."""
        setting = setting or PriceSetting(self.C or 1.0, self.center or 0.0)
        shared = {name: getattr(self, name) for name in SHARED}
        ranker = PreferenceRanker(**shared, **setting._asdict())
        ranker.prototypes = self._centers  # type: ignore[method-assign]
        return ranker

    def _centers(self, rows: Rows, labels: Rows) -> tuple[Csr, None]:
        """The prototypes; what a single document has in them is not told."""
        return self.prototypes(rows, labels), None

    def _labelled(self, rows: Rows, Y: Any) -> Any:
        """Y over all categories; refused where it has no label at all."""
        if is_graphs(Y):
            return Y
        labels = labels_from(Y, len(rows))
        if not labels.nnz:
            raise Mistake("Y has no label: give at least one document a label")
        count = 0 if self.categories is None else len(self.categories)
        return labels.with_width(max(labels.width, count))

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

    def _description_rows(self, nodes: list[int], width: int) -> Csr | None:
        """The descriptions by node, each of length ``weight``.

        Of rows by label, those of labels without a node are lost.
        """
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
            descriptions = ones_at(nodes, len(self.taxonomy)).T @ descriptions
        return self.weight * descriptions  # type: ignore[no-any-return]

    def _check(self) -> None:
        require_taxonomy(self.taxonomy)
        require_numbers(self, "decay", least=0, most=1)
        require_numbers(self, "weight", least=0)
        require_numbers(self, "C", "center", or_none=True, least=0)
        if self.categories is not None and not hasattr(self.categories, "__len__"):
            raise Mistake(f"categories is {self.categories!r}: give a list of nodes")
        self._ranker()._check()  # noqa: SLF001 (before anything is chosen)

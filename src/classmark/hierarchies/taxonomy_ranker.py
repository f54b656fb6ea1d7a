"""TaxonomyRanker: from smoothed prototypes to margins, as categories gain documents."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from copy import copy
from dataclasses import KW_ONLY
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from classmark.arrays import (
    Csr,
    Floats,
    Rows,
    rows_from,
)
from classmark.estimator import parameters, renamed
from classmark.hierarchies.places import (
    ancestors,
    flat_taxonomy,
    ones_at,
)
from classmark.preferences.labels import is_graphs, labels_from
from classmark.problems import Mistake
from classmark.rankers.auto import AUTO, PAPER, PreferenceSetting, chosen, stated
from classmark.rankers.linear import LinearRanker
from classmark.rankers.preference import PreferenceRanker
from classmark.taxonomy.tree import Taxonomy
from classmark.validation import require_numbers

KEPT = 1000  # terms of an ancestor, at most
LEAST = 50  # terms of an ancestor, where there are very many labels
ENTRIES = 100_000_000  # that the labels may take from their ancestors, all together
BLOCK = 20_000_000  # entries of documents summed at a time


class SmoothedPrototypes(NamedTuple):
    """Prototypes, and what documents and terms have to do with them.

    prototypes : csr (features, labels);  dropped : how much of the ancestors' squared
    length lies in terms not kept, mean over the ancestors;  shares : (labels,), what a
    document of the label adds to its prototype, by its own centroid and those above,
    their lengths taken as they are with it.
    """

    prototypes: Csr
    dropped: float
    shares: Floats


def smoothed_prototypes(
    rows: Rows,
    labels: Rows,
    taxonomy: Taxonomy,
    nodes: Sequence[int],
    decay: float = 0.5,
    descriptions: Csr | None = None,
) -> SmoothedPrototypes:
    """Prototypes of labels (n, k) over documents (n, features), smoothed along a tree.

    w_r ∝ c_r + t_r + Σ_a λ^d(r, a) (c_a + t_a), to unit length: c_r is the unit
    centroid of the documents of label r, c_a that of the documents in or below a, t the
    descriptions, a the categories above r other than the only root, d the edges between
    by the nearest way over all parents [McCallum98].

    nodes : the node number of each label, −1 where the taxonomy does not have it;
    decay : λ;  descriptions : a vector for each node that has one, shape (nodes,
    features), as long as it shall count; or None.

    Of an ancestor's centroid the heaviest 1,000 terms are kept, fewer where there are
    very many labels.

    >>> tree = Taxonomy([("r", "a"), ("a", 1), ("a", 2)])
    >>> X, Y = rows_from(np.eye(2)), rows_from(np.eye(2))
    >>> found = smoothed_prototypes(X, Y, tree, [2, 3], 1.0)
    >>> found.prototypes.toarray().round(3).tolist()
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
    means, lengths, dropped = _means(documents, members, n_terms)
    sums = belongs.T @ documents
    total: Any = unit_rows(sums) + kin @ means
    if descriptions is not None:
        total = total + (kin + label_nodes) @ descriptions
    shares = _inverse(row_lengths(sums)) + kin @ _inverse(lengths)
    shares *= _inverse(row_lengths(total))
    return SmoothedPrototypes(unit_rows(total).T.tocsr(), dropped, shares)


def require_taxonomy(taxonomy: Taxonomy | None) -> None:
    """Refuse edges or names where a taxonomy is wanted, or None."""
    if taxonomy is not None and not isinstance(taxonomy, Taxonomy):
        raise Mistake(
            f"taxonomy is a {type(taxonomy).__name__}: give a Taxonomy, as "
            "Taxonomy([(parent, daughter), …])"
        )


def unit_rows(matrix: Any) -> Csr:
    """Rows of length 1; rows of zeros stay."""
    from scipy.sparse import csr_matrix

    scaled: Csr = csr_matrix(matrix, dtype=np.float64, copy=True)
    length = row_lengths(scaled)
    counts = np.diff(scaled.indptr)
    scaled.data /= np.repeat(np.where(length > 0, length, 1.0), counts)
    return scaled


def row_lengths(matrix: Any) -> Floats:
    """The length of each row of a sparse matrix."""
    rows = matrix.tocsr()
    owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return np.sqrt(np.bincount(owner, rows.data**2, minlength=rows.shape[0]))


def _inverse(lengths: Floats) -> Floats:
    """1 / length; 0 where there is none."""
    some = lengths > 0
    return np.where(some, 1.0 / np.where(some, lengths, 1.0), 0.0)


def _means(documents: Any, members: Csr, n_terms: int) -> tuple[Csr, Floats, float]:
    """Unit sums of the documents of each node, their heaviest terms.

    And how long the sums are, (nodes,), and what is lost.
    """
    from scipy.sparse import csr_matrix, vstack

    work = np.asarray(members @ np.diff(documents.indptr)).ravel()
    block = (np.cumsum(work) // BLOCK).astype(np.int64)
    parts, lost = [csr_matrix((0, documents.shape[1]))], 0.0
    lengths = np.zeros(len(work))
    for at in np.unique(block):
        sums = members[block == at] @ documents
        lengths[block == at], means = row_lengths(sums), unit_rows(sums)
        for row in np.flatnonzero(np.diff(means.indptr) > n_terms):
            values = means.data[slice(*means.indptr[row : row + 2])]
            light = np.argpartition(-np.abs(values), n_terms)[n_terms:]
            lost += float(values[light] @ values[light])
            values[light] = 0.0
        means.eliminate_zeros()
        parts.append(means)
    used = max(int((work > 0).sum()), 1)
    return csr_matrix(vstack(parts)), lengths, lost / used


CENTER = 5.0  # beside a C that was given
#: The parameters that the ranker inside has as well, by the same names.
SHARED = (
    "max_iter", "memory", "n_jobs", "random_state", "revisits", "time_budget",
    "max_documents", "thresholds",
)  # fmt: skip


@parameters(mapping="loss", budget="time_budget", keep="max_documents")
class TaxonomyRanker(LinearRanker):
    """Ranks the categories of a taxonomy, from few documents and from many.

    min ½‖W − center · W₀‖² + C Σ ξ, as ``PreferenceRanker``, W₀ the unit prototypes of
    ``smoothed_prototypes``: a label with few documents stays near its own mean, those
    of the categories above it and what is said about them; one with many moves to the
    margin solution.

    taxonomy : a ``Taxonomy``; None: no category has one above it.
    categories : the node of each label number, all of which
    are ranked, also those that no document has; by default the nodes in their order, up
    to the last that Y has. A label that is no node is smoothed by nothing.
    decay : λ;  an ancestor d edges above counts λᵈ.
    descriptions : what is said about categories, as vectors like X: a row per node of
        the taxonomy, or per label; rows of zeros where nothing is said. Each counts
        ``weight``, a label's centroid 1.
    loss, C, center, prior, noise : as of ``PreferenceRanker``, and chosen as there, by
        ``classmark.rankers.auto.chosen``; but center None is "auto". With a C, center
        is 5 where it is left open.

    Attributes: ranker_ (the fitted ``PreferenceRanker``, whose attributes and methods
    are had here as well: weights_, objective_, duality_gap_, …), setting_ (loss, C,
    center, prior, tol and noise as used), dropped_ (how much of the ancestors' squared
    length was in terms that were not kept, mean over them). It is kept, opened and
    taught further as ranker_.

    >>> tree = Taxonomy([("r", "a"), ("r", "b"), ("a", 1), ("a", 2)])
    >>> ranker = TaxonomyRanker(tree, [1, 2, "b"])
    >>> ranker.fit(np.eye(3), [[0], [1], [2]]).rank([[0.0, 1.0, 0.0]]).tolist()
    [[1, 0, 2]]
    """

    takes_graphs = True

    taxonomy: Taxonomy | None = None
    categories: Sequence[Hashable] | None = None
    decay: float = 0.5
    descriptions: Any = None
    _: KW_ONLY
    C: float | None = None
    center: float | str | None = AUTO
    prior: float | str | None = AUTO
    noise: float | str | None = AUTO
    weight: float = 0.5
    loss: str = AUTO
    tol: float = 1e-2
    max_iter: int = 1000
    memory: str = "2GB"
    n_jobs: int = 1
    random_state: int = 0
    revisits: int = 100
    time_budget: float | None = None
    max_documents: int | None = None
    thresholds: str | None = None
    _tree: ClassVar[Any] = None
    _categories: ClassVar[Any] = None

    def __getattr__(self, name: str) -> Any:
        """What the ranker inside has learned, and how it learns on."""
        if name.startswith("_") or name == "ranker_":
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        present = self._present_name(name)
        return getattr(self.ranker_ if present == name else self, present)

    @renamed(Y="y")
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from documents X, shape (n, features), and labels, grades or graphs.

        Where labels are numbers, label i is ``categories[i]``; where they are names,
        the node of that name.  sample_weight : as of ``PreferenceRanker``.
        """
        self._check()
        if self.categories is not None and not is_graphs(y):
            y = labels_from(y)  # by number
        rows, taught, weights = self._taught(X, y, sample_weight)
        self._settle_tree()
        labels = self._labelled(rows, taught)
        self.setting_ = self.chosen(rows, labels)
        self.ranker_ = self._ranker(self.setting_).fit(rows, labels, weights)
        self._remember(rows, labels)
        return self

    def fresh(self) -> Self:
        """One like it that has not learned, whose categories are these."""
        fresh = super().fresh()
        tree, names = self._tree or self.taxonomy, self._categories or self.categories
        return fresh.set_params(taxonomy=tree, categories=names)

    def _settle_tree(self) -> None:
        """Note the tree, and which of its nodes is which label number."""
        named = self._form != "numbers"
        names = self.classes_.tolist() if named else self.categories
        tree = self.taxonomy
        if tree is None:
            tree = flat_taxonomy(range(len(self.classes_)) if names is None else names)
        vars(self).update(_tree=tree, _categories=names)

    def partial_fit(
        self, X: Any, Y: Any, n_labels: int | None = None, *, classes: Any = None
    ) -> Self:
        """Learn from more documents, one by one, after ``fit``."""
        self._check()
        rows = self._more_rows(X)
        Y = self._more_names(Y, len(rows), classes)
        self._settle_tree()
        ranker = vars(self).get("ranker_", self._ranker(vars(self).get("setting_")))
        ranker.set_params(**{name: getattr(self, name) for name in SHARED})
        self.ranker_ = ranker.partial_fit(rows, Y, n_labels)
        self.n_features_in_ = self.ranker_.n_features_in_
        return self

    def path(self, X: Any, Y: Any, Cs: Sequence[float]) -> Iterator[Self]:
        """Fit for each C in increasing order, each starting from the one before."""
        first = copy(self).set_params(C=min(Cs))
        first._check()  # noqa: SLF001 (a copy of this one)
        rows, taught, _ = first._taught(X, Y)  # noqa: SLF001
        first._settle_tree()  # noqa: SLF001
        labels = first._labelled(rows, taught)  # noqa: SLF001
        setting = first.chosen(rows, labels)
        for ranker in first._ranker(setting).path(rows, labels, Cs):  # noqa: SLF001
            C: float = ranker.kept_as[1]["C"]
            fitted = copy(first).set_params(C=C)
            fitted.setting_, fitted.ranker_ = setting._replace(C=C), ranker
            yield fitted

    def category_scores(self, X: Any) -> Floats:
        """Scores of all categories, shape (documents, categories)."""
        self._require_fitted()
        return self.ranker_.category_scores(self._rows_as_taught(X))

    def chosen(self, rows: Rows, Y: Any) -> PreferenceSetting:
        """The setting for documents and labels, grades or graphs: given, or chosen."""
        ranker = self
        if self.center is None:
            ranker = copy(self).set_params(center=AUTO)
        if self.C is not None or self.loss == "svm":
            return stated(ranker, PAPER._replace(center=CENTER))
        return chosen(ranker, rows, Y, has_tree=True)

    def prototypes(self, rows: Rows, labels: Rows) -> tuple[Csr, Floats]:
        """Centroids smoothed along the tree, csr (features, labels), each length 1.

        And what a document of each label has in it, (labels,).
        """
        nodes = self._nodes(labels.width)
        descriptions = self._description_rows(nodes, rows.width)
        smoothed = smoothed_prototypes(
            rows, labels, self._tree, nodes, self.decay, descriptions
        )
        self.dropped_ = smoothed.dropped
        return smoothed.prototypes, smoothed.shares

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

    def _ranker(self, setting: PreferenceSetting | None = None) -> PreferenceRanker:
        """A ranker for the same problem, around the smoothed prototypes."""
        params = {name: getattr(self, name) for name in PreferenceSetting._fields}
        if params["center"] in (None, AUTO):
            params["center"] = 0.0
        params |= {name: getattr(self, name) for name in SHARED}
        ranker = PreferenceRanker(**params | (setting._asdict() if setting else {}))
        ranker.prototypes = self.prototypes  # type: ignore[method-assign]
        return ranker

    def _labelled(self, rows: Rows, Y: Any) -> Any:
        """Y over all categories; refused where it has no label at all."""
        if is_graphs(Y):
            return Y
        labels = labels_from(Y, len(rows))
        if not labels.nnz:
            raise Mistake("Y has no label: give at least one document a label")
        count = 0 if self._categories is None else len(self._categories)
        return labels.with_width(max(labels.width, count))

    def _nodes(self, count: int) -> list[int]:
        """The node number of each label, −1 where the taxonomy does not have it."""
        names = self._tree.nodes if self._categories is None else self._categories
        if len(names) < count:
            raise Mistake(
                f"categories has {len(names)} entries, Y has {count} labels: say for "
                "every label which node of the taxonomy it is"
            )
        tree = self._tree
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
        if descriptions.shape[0] not in (len(self._tree), len(nodes)):
            raise Mistake(
                f"descriptions has {descriptions.shape[0]} rows: give one for each of "
                f"the {len(self._tree)} nodes, or for each of the {len(nodes)} "
                "labels"
            )
        if descriptions.shape[0] != len(self._tree):
            descriptions = ones_at(nodes, len(self._tree)).T @ descriptions
        return self.weight * descriptions  # type: ignore[no-any-return]

    def _check(self) -> None:
        require_taxonomy(self.taxonomy)
        require_numbers(self, "decay", least=0, most=1)
        require_numbers(self, "weight", least=0)
        require_numbers(self, "C", or_none=True, least=0)
        if self.center != AUTO:
            require_numbers(self, "center", or_none=True, least=0)
        if self.categories is not None and not hasattr(self.categories, "__len__"):
            raise Mistake(f"categories is {self.categories!r}: give a list of nodes")
        self._ranker()._check()  # noqa: SLF001 (before anything is chosen)

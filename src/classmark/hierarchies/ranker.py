"""TaxonomyRanker: from smoothed prototypes to margins, as categories gain documents."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from classmark.clusters.parameters import require_numbers
from classmark.hierarchies.choosing import Setting, chosen
from classmark.hierarchies.smoothing import Smoothing, require_taxonomy, unit_rows
from classmark.judgments.labels import labels_from
from classmark.preferences.levels import (
    favoured,
    graphs_from,
    is_graphs,
    levels_from,
    relevant,
)
from classmark.problems import Mistake
from classmark.rankers.duals import Terms
from classmark.rankers.preference import PreferenceRanker
from classmark.sparse import Rows, keep_columns, rows_from

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from classmark.solvers.live.dual import LiveDual
    from classmark.taxonomy.tree import Taxonomy


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
    C, center : None to choose, by ``classmark.hierarchies.choosing.chosen``.

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
        mapping: str = "dom",
        tol: float = 1e-2,
        max_iter: int = 1000,
        memory: str = "2GB",
        n_jobs: int = 1,
        random_state: int = 0,
        revisits: int = 100,
        budget: float | None = None,
        keep: int | None = None,
    ) -> None:
        super().__init__(
            mapping, tol=tol, max_iter=max_iter, center=center, memory=memory,
            n_jobs=n_jobs, random_state=random_state, revisits=revisits,
            budget=budget, keep=keep,
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
        said = self._labelled(rows, Y)
        self.setting_ = self._chosen(rows, said)
        return super().fit(rows, said)

    def path(self, X: Any, Y: Any, Cs: Sequence[float]) -> Iterator[Self]:
        """Fit for each C in increasing order, each starting from the one before."""
        first = copy(self).set_params(C=min(Cs))
        first._check()  # noqa: SLF001 (a copy of this one)
        rows = rows_from(X)
        said = self._labelled(rows, Y)
        first.setting_ = first._chosen(rows, said)  # noqa: SLF001 (a copy of this one)
        for ranker in super(TaxonomyRanker, first).path(rows, said, Cs):
            ranker.setting_ = Setting(ranker.C, first.setting_.center)
            yield ranker

    def prototypes(self, rows: Rows, labels: Rows) -> csr_matrix:
        """Centroids smoothed along the tree, csr (features, labels), each length 1."""
        apart = int(self.mapping == "svm")  # its last column is the threshold's
        words = keep_columns(rows, np.arange(rows.width - apart)) if apart else rows
        nodes = self._nodes(labels.width)
        said = self._said(nodes, words.width)
        how = Smoothing(self.taxonomy, nodes, self.decay, said)
        found, self.dropped_ = how.of(words, labels)
        return _tall(found, rows.width)

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

    def _terms(self) -> Terms:
        plain = self._plain()
        plain.prototypes = self.prototypes  # type: ignore[method-assign]
        return plain._terms()  # noqa: SLF001 (the same class, with its C)

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

    def _said(self, nodes: list[int], width: int) -> csr_matrix | None:
        """The descriptions by node, each of length ``weight``."""
        if self.descriptions is None:
            return None
        said: Any = unit_rows(
            rows_from(self.descriptions, name="descriptions").to_scipy()
        )
        if said.shape[1] != width:
            raise Mistake(
                f"descriptions has {said.shape[1]} features, X has {width}: use the "
                "vectorizer that X comes from"
            )
        if said.shape[0] not in (len(self.taxonomy), len(nodes)):
            raise Mistake(
                f"descriptions has {said.shape[0]} rows: give one for each of the "
                f"{len(self.taxonomy)} nodes, or for each of the {len(nodes)} labels"
            )
        if said.shape[0] != len(self.taxonomy):
            said = _by_node(said, nodes, len(self.taxonomy))
        return self.weight * said  # type: ignore[no-any-return]

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


def _by_node(said: Any, nodes: list[int], height: int) -> Any:
    """Rows by label become rows by node; those of labels without a node are lost."""
    from scipy.sparse import csr_matrix

    given = np.asarray(nodes, np.int64)
    labels = np.flatnonzero(given >= 0)
    parts: Any = (np.ones(len(labels)), (given[labels], labels))
    return csr_matrix(parts, shape=(height, len(nodes))) @ said

"""EnsembleRanker: several rankers in one, what each counts learned from preferences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from classmark.arrays import Floats, Rows, rows_from, take
from classmark.corpus.documents import folds
from classmark.estimator import parameters
from classmark.preferences.labels import is_graphs
from classmark.problems import Mistake
from classmark.rankers.calibration import ENOUGH, Part, sample_tests
from classmark.rankers.linear import LinearRanker, LogLinearRanker, Rocchio
from classmark.rankers.preference import PreferenceRanker
from classmark.ranking import top
from classmark.solvers.pairs import ListedPairs, hinges_of_pairs

RIVALS = 20  # wrong categories, by each score, that a right one is compared with
FOLDS = 5  # one of which is held out


def preference_weights(features: Floats, labels: Rows) -> Floats:
    """Weights w ≥ 0 by which Σ_m w_m f_m ranks the right categories of documents first.

    min ½‖w‖² + C Σ max(0, 1 − w·(f_r − f_s)), C = 1, over the right categories r of a
    document and wrong ones s, the features in units of their deviations; each document
    counts alike. While a weight would be below 0, the feature of the least goes.

    features : (m, n, k), m scores of n documents held out;  labels : Rows (n, k).

    >>> labels = rows_from([[1.0, 0.0], [0.0, 1.0]])
    >>> scores = [[[2.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [1.0, 0.0]]]
    >>> (preference_weights(np.array(scores), labels) > 0).tolist()
    [True, False]
    """
    candidates, winners, losers, counts, first = [], [], [], [], 0
    for document in range(len(labels)):
        right = labels.row(document)[0].astype(np.int64)
        rivals = np.unique(top(features[:, document], RIVALS))
        rivals = np.setdiff1d(rivals, right)
        candidates.append(np.concatenate([right, rivals]))
        pairs = np.indices((len(right), len(rivals))).reshape(2, -1)
        winners.append(first + pairs[0])
        losers.append(first + len(right) + pairs[1])
        counts.append(np.full(pairs.shape[1], 1.0 / max(pairs.shape[1], 1)))
        first += len(candidates[-1])
    owner = np.repeat(np.arange(len(labels)), [len(each) for each in candidates])
    table = features[:, owner, np.concatenate(candidates)].T
    scale = np.where(table.std(axis=0) > 0, table.std(axis=0), 1.0)
    listed = ListedPairs(*map(np.concatenate, (winners, losers, counts)))
    learned, used = np.zeros(table.shape[1]), np.arange(table.shape[1])
    while len(used):
        rows = rows_from(np.ascontiguousarray((table / scale)[:, used]))
        learned[:] = 0.0
        learned[used] = hinges_of_pairs(rows, listed, 1.0).weights / scale[used]
        if (learned >= 0).all():
            break
        used = used[used != learned.argmin()]
    return np.maximum(learned, 0.0)


def usual_members(*, graded: bool = False) -> list[LinearRanker]:
    """Those of an ensemble that is told none: three that err differently."""
    log_linear = LogLinearRanker(C=30.0, solver="lbfgs" if graded else "dual")
    return [PreferenceRanker(), log_linear, Rocchio()]


@parameters()
class EnsembleRanker(LinearRanker):
    """Ranks by the weighted sum of the scores of several rankers.

    The score of category r is Σ_m a_m ⟨w_mr, x⟩, so that an ensemble of linear rankers
    is one: ``weights_`` is Σ_m a_m W_m, and reasons are those of any other. What is
    learned of the a_m ≥ 0 is a preference, too: right categories above wrong ones, over
    scores of documents that the rankers have not seen (``preference_weights``).

    rankers : unfitted, linear in the columns of X; they learn from labels by number.
        None: ``PreferenceRanker``, ``LogLinearRanker`` and ``Rocchio``.
    shares : a_m, (rankers,); None to learn them on a fifth of the documents, for which
        each ranker is fitted once more. With fewer than 50 documents with labels each
        counts alike, by the deviation of its scores.
    random_state : of the fifth.

    rankers_ : the fitted rankers;  shares_ : a_m.

    >>> X, y = np.eye(3), [[0], [1], [2]]
    >>> EnsembleRanker().fit(X, y).rank([[0.0, 1.0, 0.0]])[:, 0].tolist()
    [1]
    """

    rankers: Sequence[LinearRanker] | None = None
    shares: Sequence[float] | None = None
    random_state: int = 0

    @property
    def kept_as(self) -> tuple[str, dict[str, Any]]:
        """It is saved as the weights of the sum, without its rankers."""
        return "", {}

    @property
    def weight_bytes(self) -> int:
        """Of the weights of all rankers, which are there together, and of the sum."""
        sizes = [ranker.weight_bytes for ranker in self.rankers or usual_members()]
        return sum(sizes) + 8 * any(sizes)

    def fresh(self) -> EnsembleRanker:
        """One like it that has not learned: what was chosen stays, and the shares."""
        if "rankers_" not in vars(self):
            return type(self)(**self.get_params(deep=False))
        rankers = [ranker.fresh() for ranker in self.rankers_]
        return type(self)(rankers, self.shares_.tolist(), self.random_state)

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from documents X, shape (n, features), and their labels y."""
        rows, labels, _ = self._taught(X, y)
        if is_graphs(labels):
            raise Mistake(
                "y has preference graphs: an EnsembleRanker learns from labels"
            )
        rankers = self.rankers
        if rankers is None:
            rankers = usual_members(graded=bool((labels.values != 1.0).any()))
        self._require_members(rankers)
        self.rankers_ = [ranker.fresh().fit(rows, labels) for ranker in rankers]
        shares = (
            self._learned_shares(rows, labels) if self.shares is None else self.shares
        )
        self.weigh(shares)
        self._remember(rows, labels)
        return self

    def weigh(self, shares: Any) -> Self:
        """Let the fitted rankers count so much: a_m, (rankers,), none below 0."""
        from scipy.sparse import csr_matrix

        self.shares_ = np.asarray(shares, np.float64)
        if self.shares_.shape != (len(self.rankers_),) or (self.shares_ < 0).any():
            raise Mistake(
                f"shares is {shares!r}: give {len(self.rankers_)} numbers, one for "
                "each ranker, none below 0"
            )
        dense = any(isinstance(r.weights_, np.ndarray) for r in self.rankers_)
        nothing = csr_matrix((1, self.n_features_in_))
        weights: Any = None
        thresholds = np.zeros(len(self.classes_))
        for ranker, share in zip(self.rankers_, self.shares_.tolist(), strict=True):
            part: Any = ranker.weights_ * share
            part = part.toarray() if dense and hasattr(part, "toarray") else part
            weights = part if weights is None else weights + part
            thresholds -= share * ranker.category_scores(nothing)[0]
        self.weights_ = weights
        self.thresholds_ = thresholds if thresholds.any() else None
        return self

    def scores_of_each(self, X: Any) -> Floats:
        """What each ranker says, shape (rankers, documents, categories)."""
        return np.stack([ranker.category_scores(X) for ranker in self.rankers_])

    def _require_members(self, rankers: Sequence[LinearRanker]) -> None:
        if not rankers or not all(isinstance(r, LinearRanker) for r in rankers):
            raise Mistake("rankers is to be a list of rankers, as [Rocchio(), MMP()]")
        for ranker in rankers:
            if not ranker.weighs_columns:
                raise Mistake(
                    f"{type(ranker).__name__} has a kernel, or features of its own: an "
                    "EnsembleRanker joins rankers that weigh the columns of X"
                )

    def _learned_shares(self, rows: Rows, labels: Rows) -> Floats:
        """What each ranker counts, by a fifth of the documents that it has not seen."""
        n_labelled = int((np.diff(labels.starts) > 0).sum())
        if n_labelled < ENOUGH:
            spread = self.scores_of_each(rows).std(axis=(1, 2))
            return 1.0 / np.where(spread > 0, spread, 1.0)
        split = next(folds(len(rows), FOLDS, random_state=self.random_state))
        ((train, test),) = sample_tests([split], labels)
        scores = scored_by_each((train, test), self.rankers_, rows, labels)
        shares = preference_weights(scores, take(labels, test))
        return shares if shares.any() else np.ones(len(scores))


def scored_by_each(
    part: Part, rankers: Sequence[LinearRanker], rows: Rows, labels: Rows
) -> Floats:
    """Scores of the second half of ``part`` by rankers that learned from the first.

    Of each ranker, with what it has chosen; the rankers themselves are not fitted.
    """
    train, test = part
    learned, documents = (take(rows, train), take(labels, train)), take(rows, test)
    return np.stack(
        [r.fresh().fit(*learned).category_scores(documents) for r in rankers]
    )

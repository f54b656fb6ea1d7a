"""Documents teach one by one beside a classifier at every node of a tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from classmark.arrays import Array, Bools, Floats, Ints, Rows, rows_from
from classmark.estimator import parameters
from classmark.hierarchies.top_down import TopDownRanker, path_parts
from classmark.rankers.linear import Evidence, Standing
from classmark.rankers.online import RankerBeside
from classmark.solvers.centers import Merges

TREE_C = 1.0  # the price of a violation, in units of log-probability


class TreeCenter(NamedTuple):
    """A fitted ``TopDownRanker``: scores are log-probabilities of ways to the leaves.

    A category without documents then has no score; once documents teach it, it begins
    as likely as if all were equally likely.
    """

    ranker: TopDownRanker

    @property
    def shape(self) -> tuple[int, int]:
        """Features and labels."""
        return self.ranker.classifier_.n_features_in_, len(self.ranker.categories)

    @property
    def start(self) -> float:
        """−ln K of the K categories with documents."""
        return -float(np.log(self.ranker.n_learned))

    def knows(self, labels: Ints) -> Bools:
        """Which labels have documents."""
        known = np.zeros(max(self.shape[1], labels.max(initial=-1) + 1), bool)
        known[: self.shape[1]] = self.ranker.is_learned
        return known[labels]

    def scores(
        self, columns: Array, values: Array, n_labels: int, joined: Merges
    ) -> TreeScores:
        """Of a document, node by node as they are asked."""
        return TreeScores(self.ranker, columns, values, n_labels, joined)


class TreeScores(NamedTuple):
    """The scores of one document; a label that is read as another lends it its own."""

    ranker: TopDownRanker
    columns: Array
    values: Array
    n_labels: int
    joined: Merges

    def every(self) -> Floats:
        """Of all labels."""
        scores = np.full(self.n_labels, -np.inf)
        scores[: len(self.ranker.categories)] = self.ranker.category_scores(self._row)
        for label, into in self.joined:
            scores[into] = max(scores[into], scores[label])
            scores[label] = -np.inf
        return scores

    def best(self, k: int) -> tuple[Ints, float]:
        """Labels of the k most probable leaves, and the last one's score."""
        ranker, size = self.ranker, min(k, self.ranker.n_learned)
        leaves, scores = ranker.classifier_.best_leaves(self._row, size)
        labels = ranker.labels_[leaves[0]]
        bound = float(scores[0, -1]) if size < ranker.n_learned else -np.inf
        return self._read_as(labels[labels >= 0]), bound

    def of(self, labels: Ints) -> Floats:
        """Of some labels, by the nodes above their leaves alone."""
        inside = labels[labels < len(self.ranker.categories)]
        sources = np.concatenate([inside, [a for a, _ in self.joined]]).astype(np.int64)
        sources = sources[self.ranker.is_learned[sources]] if len(sources) else sources
        read = self._read_as(sources)
        asked = np.isin(read, labels)
        leaves = self.ranker.leaves_[sources[asked]]
        words = self.columns, self.values
        scores = np.full(self.n_labels, -np.inf)
        values = self.ranker.classifier_.leaf_scores(words, leaves)
        np.maximum.at(scores, read[asked], values)
        return scores[labels]

    @property
    def _row(self) -> Rows:
        features = self.ranker.classifier_.n_features_in_
        inside = self.columns < features
        columns, values = self.columns[inside], self.values[inside]
        return Rows(np.array([0, len(columns)]), columns, values, features)

    def _read_as(self, labels: Ints) -> Ints:
        """What the labels are read as, after all merges."""
        if not self.joined:
            return labels
        read = np.arange(self.n_labels)
        for label, into in self.joined:
            read[read == label] = into
        return read[labels]


@parameters()
class LiveTopDownRanker(RankerBeside):
    """What documents teach one by one beside a top-down model, which stays as it is.

    A category's score is the log-probability of its leaf, plus ⟨v, x⟩ with the v that
    its documents since have taught. Only nodes that may lead to the best categories,
    or to those compared, are looked at.
    """

    descends = True
    _shown = cast("tuple[Bools | None, Ints]", (None, np.empty(0, np.int64)))

    @property
    def n_ranked(self) -> int:
        """How many categories are not hidden."""
        return int(self.live_.n_labels - len(self.live_.retired))

    @property
    def ranks_any(self) -> bool:
        """Whether some category that has documents is not hidden."""
        live = self.live_
        if len(live.retired) < live.center.ranker.is_learned.sum():
            return True
        first = live.learned.first.tolist()
        return bool((self._numbers >= 0).any()) or not live.retired.issuperset(first)

    def best(self, X: Any, k: int) -> list[tuple[int, float]]:
        """The best categories of the one row of ``X``, and their scores: exactly."""
        labels, scores = self.live_.best(*rows_from(X).row(0), k)
        return list(zip(labels.tolist(), scores.tolist(), strict=True))

    def ranks(self, X: Any, categories: Sequence[int]) -> list[Standing | None]:
        """As every ranker; nodes that cannot lead to better ones are not looked at."""
        words, live = rows_from(X).row(0), self.live_
        moved, model = live.moved(*words), live.center.ranker.classifier_
        first, numbers = live.shown(live.learned.first), self._numbers
        of_first = live.of(*words, first)  # of these the center may know nothing
        if len(first):
            numbers = np.where(np.isin(numbers, first), -1, numbers)
        standings: list[Standing | None] = []
        scores = live.of(*words, np.asarray(categories, np.int64)).tolist()
        for number, score in zip(categories, scores, strict=True):
            if score == -np.inf:
                standings.append(None)
                continue
            before = model.trained_.before(
                words, model.scale_, (number, score), numbers, moved
            )
            ahead = (of_first > score) | ((of_first == score) & (first < number))
            rank = 1 + before + int(np.count_nonzero(ahead))
            standings.append(Standing(rank, score))
        return standings

    @property
    def _numbers(self) -> Ints:
        """The label that each leaf counts for, −1 for those hidden."""
        live, ranker = self.live_, self.live_.center.ranker
        if self._shown[0] is not live.hidden:
            hidden = np.append(live.hidden, True)
            numbers: Ints = np.where(ranker.is_learned_leaf, ranker.labels_, -1)
            for label, into in live.joined:
                numbers[numbers == label] = into
            numbers[hidden[numbers]] = -1
            self._shown = live.hidden, numbers
        return self._shown[1]

    def evidence(self, X: Any, category: int) -> Evidence:
        """Each feature's part in the decisions on the way, and in what came since."""
        live = self.live_
        columns, values = rows_from(X).row(0)
        weights = live.W[columns.astype(np.int64)]
        lead = weights[:, [category]].toarray() - weights.mean(axis=1)
        parts = np.ravel(lead) * values
        sources = np.array([a for a, b in live.joined if b == category] + [category])
        sources = sources[live.center.knows(sources)]
        if len(sources):
            model = live.center.ranker.classifier_
            leaves = live.center.ranker.leaves_[sources]
            best = leaves[0]
            if len(leaves) > 1:
                best = leaves[model.leaf_scores((columns, values), leaves).argmax()]
            way = (model.trained_, columns, values, int(best), model.scale_)
            remembered = live.fixed(columns, values)
            parts = parts + remembered.once(("way", best), lambda: path_parts(*way))
        return Evidence(columns.astype(np.int64), np.asarray(parts, np.float64))

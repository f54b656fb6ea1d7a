"""Names of categories as evidence: how much of what it is called is in a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from classmark.arrays import Array, Bools, Csr, Floats, Ints, Rows, rows_from, take
from classmark.corpus.documents import folds
from classmark.corpus.runs import RUN
from classmark.estimator import parameters
from classmark.measures.categories import category_ranking_per_document
from classmark.problems import Mistake
from classmark.rankers.ensemble import preference_weights
from classmark.rankers.linear import Evidence, LinearRanker
from classmark.storage import pack_strings, unpack_strings
from classmark.weighting.vectorizer import FixedVectorizer, Vectorizer

JUDGED = 2000  # documents that are looked at, at most
CELLS = 1 << 23  # of documents and categories, or names, at once: 64 MiB
SURE = 2.0  # standard errors by which rankings are to be better
LEAST = 0.05  # of a score, what a name that is shown adds
PARTS = ("data", "indices", "indptr")


@dataclass(frozen=True, eq=False)
class CategoryNames:
    """What categories are called, each name a vector as texts are.

    To the score of a category is added max_n a ⟨u_n, x⟩ + b ⟨v_n, x⟩ over its names n:
    u_n is the unit vector of the name's words, v_n that of the runs of characters
    inside them, by which a name is seen in a compound or an inflected word.

    units : u + v, (names, features);  is_run : (features,), which columns are of runs;
    owners : (names,), the numbers of their categories, ascending;  texts : (names,);
    width : how many categories there are;  weights : a and b.

    >>> vectorizer = Vectorizer().fit(["A hive of bees", "roads"])
    >>> names = CategoryNames.of(vectorizer, [["bees", "apiculture"], ["roads"]])
    >>> names.scores(vectorizer.transform(["bees bees"])).round(2).tolist()
    [[1.0, 0.0]]
    """

    units: Csr
    is_run: Bools
    owners: Ints
    texts: Sequence[str]
    width: int
    weights: tuple[float, float] = (1.0, 1.0)

    @classmethod
    def of(
        cls, vectorizer: Vectorizer | FixedVectorizer, names: Sequence[Sequence[str]]
    ) -> Self:
        """The names of each category, read as a fitted vectorizer reads texts."""
        from scipy.sparse import diags

        owners = np.repeat(np.arange(len(names)), [len(variants) for variants in names])
        texts = [name for variants in names for name in variants]
        reader = copy(vectorizer)
        reader.meaning = reader.meaning_ = None
        rows: Any = reader.transform(texts).astype(np.float64)
        numbers, is_run = reader.vocabulary_.number, np.zeros(rows.shape[1], bool)
        is_run[[at for term, at in numbers.items() if term.startswith(RUN)]] = True
        units: Any = 0.0 * rows
        for side in (~is_run, is_run):
            part = rows @ diags(side.astype(np.float64))
            length = np.sqrt(np.asarray(part.multiply(part).sum(axis=1)).ravel())
            units = units + diags(1 / np.where(length > 0, length, 1.0)) @ part
        return cls(units.tocsr(), is_run, owners, texts, len(names))

    @cached_property
    def weighed(self) -> Csr:
        """The weighed names a u + b v, (names, features)."""
        matrix = self.units.copy()
        matrix.data = matrix.data * np.take(self.weights, self.is_run[matrix.indices])
        return matrix

    @cached_property
    def _by_feature(self) -> Csr:
        return self.weighed.T.tocsr()

    @cached_property
    def _owned(self) -> tuple[Ints, Ints]:
        """The categories that have names, and where the names of each begin."""
        return np.unique(self.owners, return_index=True)

    def scores(self, X: Any) -> Floats:
        """What names add to the scores, shape (documents, categories)."""
        rows = rows_from(X)
        best: Floats = np.zeros((len(rows), self.width))
        owners, first = self._owned
        if not len(owners):
            return best
        step = max(1, CELLS // len(self.owners))
        for low in range(0, len(rows), step):
            block = np.arange(low, min(low + step, len(rows)))
            products = self._products(take(rows, block))
            largest = np.maximum.reduceat(products, first, axis=1)
            best[np.ix_(block, owners)] = largest
        return best

    def matches(self, X: Any) -> tuple[Ints, Floats]:
        """For one row, the name that each category has in it, and what it adds.

        −1 where no name of the category has anything in common with the row.
        """
        names, parts = np.full(self.width, -1), np.zeros(self.width)
        if len(self.owners):
            products = self._products(rows_from(X))[0]
            order = np.lexsort((products, self.owners))  # the best comes last
            names[self.owners[order]] = order
            parts[self.owners[order]] = products[order]
        names[parts <= 0] = -1
        return names, parts

    def _products(self, rows: Rows) -> Floats:
        """Of each document and name; columns that came later are in no name."""
        X: Any = rows.to_scipy()[:, : self.units.shape[1]]
        return np.asarray((X.astype(np.float64) @ self._by_feature).toarray())

    def to_arrays(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Everything, to be saved."""
        stored: dict[str, Array] = {name: getattr(self.units, name) for name in PARTS}
        stored |= {"is_run": self.is_run, "owners": self.owners}
        stored["texts"], stored["texts_ends"] = pack_strings(self.texts)
        return stored, {"width": self.width, "weights": list(self.weights)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], settings: Any) -> Self:
        """The names that :meth:`to_arrays` described."""
        from scipy.sparse import csr_matrix

        is_run, owners = np.asarray(arrays["is_run"]), np.asarray(arrays["owners"])
        parts = tuple(np.asarray(arrays[name]) for name in PARTS)
        units: Csr = csr_matrix(parts, shape=(len(owners), len(is_run)))
        texts = unpack_strings(arrays["texts"], arrays["texts_ends"])
        weights = tuple(settings["weights"])
        return cls(units, is_run, owners, texts, settings["width"], weights)


class LearnedNames(NamedTuple):
    """Names with the weights that documents held out tell, and what they are worth.

    before, after : mean average precision without names and with them, of documents
    that others told the weights of;  sure : whether the gain is more than two standard
    errors of it;  shares : what each of the scores counts beside them, 1 together.
    """

    names: CategoryNames
    before: float
    after: float
    sure: bool
    shares: tuple[float, ...] = (1.0,)


def learn_names(
    names: CategoryNames, X: Any, scores: Floats, labels: Rows
) -> LearnedNames:
    """Learn how much names count beside scores; 0 where they say nothing.

    By ``preference_weights`` of f_r, the score of r and what its names have in common
    with the document by words and by runs. What the scores count sums to 1: a and b are
    w's other entries over theirs.

    X, scores, labels : of documents held out; of many, some are looked at. Scores are
    (n, k), or (m, n, k): of m rankers, which count as is learned with the names.
    """
    table = scores if scores.ndim == 3 else scores[np.newaxis]
    n = min(JUDGED, max(CELLS // max(names.width * len(table), 1), 1))
    labelled = np.flatnonzero(np.diff(labels.starts))
    which = labelled[:: max(1, -(-len(labelled) // n))]
    rows, truth = take(rows_from(X), which), take(labels, which)
    features = np.stack([*table[:, which], *_sides(names, rows)])
    gains = np.empty((2, len(which)))
    for learn, judge in folds(len(which), 2, random_state=0):
        lessons = features[:, learn], take(truth, learn)
        without = _beside(*lessons, len(table), names=False)
        for at, w in enumerate((without, _beside(*lessons, len(table)))):
            ranked = np.tensordot(w, features[: len(w), judge], 1)
            precision = category_ranking_per_document(ranked, take(truth, judge))
            gains[at, judge] = precision["average_precision"]
    weights = _beside(features, truth, len(table))
    gain = gains[1] - gains[0]
    sure = gain.sum() > SURE * gain.std() * np.sqrt(len(gain))
    *shares, a, b = weights.tolist()
    learned = replace(names, weights=(a, b))
    before, after = gains.mean(axis=1).tolist()
    return LearnedNames(learned, before, after, bool(sure), tuple(shares))


def _sides(names: CategoryNames, rows: Rows) -> list[Floats]:
    """What names have in common with documents by words alone, and by runs alone."""
    sides = ((1.0, 0.0), (0.0, 1.0))
    return [replace(names, weights=side).scores(rows) for side in sides]


def _beside(features: Floats, labels: Rows, m: int, *, names: bool = True) -> Floats:
    """Weights of m scores, which sum to 1, and of names, if the scores say anything."""
    weights = preference_weights(features if names else features[:m], labels)
    if total := weights[:m].sum():
        return np.asarray(weights / total)
    return np.append(np.full(m, 1.0 / m), np.zeros(len(weights) - m))


@parameters()
class NamedRanker(LinearRanker):
    """A fitted ranker, with what categories are called beside its scores.

    numbers : the number, in ``names``, of each category of the ranker; −1 for those
    that were not there when their weight was learned.
    """

    ranker: LinearRanker
    names: CategoryNames
    numbers: Sequence[int]

    def fit(self, X: Any, Y: Any) -> Self:  # noqa: ARG002 (the manners of a ranker)
        """Refuse: the ranker inside is fitted already."""
        raise Mistake("a NamedRanker holds a fitted ranker: fit that one")

    def decision_function(self, X: Any) -> Floats:
        """Scores of all categories, shape (documents, categories)."""
        rows, numbers = rows_from(X), np.asarray(self.numbers)
        added = self.names.scores(rows)[:, numbers]
        return self.ranker.decision_function(rows) + np.where(numbers >= 0, added, 0.0)

    def evidence(self, X: Any, category: int) -> Evidence:
        """Each feature's part in the score of ``category`` for the one row of ``X``."""
        rows, inside = rows_from(X), self.names.units.shape[1]
        before = self.ranker.evidence(rows, category)
        columns, values = rows.row(0)
        matched = self.names.matches(rows)[0][np.asarray(self.numbers)]
        matched[np.asarray(self.numbers) < 0] = -1
        weighed: Any = self.names.weighed[matched[[category]][matched[[category]] >= 0]]
        every: Any = self.names.weighed[matched[matched >= 0]]
        lead = np.asarray(weighed.sum(axis=0)).ravel()
        lead = lead - np.asarray(every.sum(axis=0)).ravel() / len(matched)
        known = columns < inside
        parts = values[known] * lead[columns[known]]
        features = np.concatenate([before.features, columns[known].astype(np.int64)])
        features, where = np.unique(features, return_inverse=True)
        total = np.bincount(where.ravel(), np.concatenate([before.parts, parts]))
        return Evidence(features, np.asarray(total, np.float64))

    def matched_name(self, X: Any, category: int) -> tuple[str, float] | None:
        """The name of a category that the one row of X has, and what it adds.

        None where that is next to nothing: runs of characters are in many names.
        """
        if (number := self.numbers[category]) < 0:
            return None
        names, parts = self.names.matches(X)
        name, part = int(names[number]), float(parts[number])
        return (self.names.texts[name], part) if part >= LEAST else None

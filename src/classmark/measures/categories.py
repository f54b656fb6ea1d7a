"""Measures of ranked categories, rank by rank, and against preferences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from classmark.arrays import Array, Bools, Floats, Ints, Rows, keep_values, take
from classmark.estimator import renamed
from classmark.measures.retrieval import (
    JudgedRun,
    Measure,
    RelevantPlaces,
    parse_for,
)
from classmark.preferences.graph import NAMES as GRAPH_LOSSES
from classmark.preferences.graph import (
    Edge,
    Loss,
    PreferenceGraph,
    decompose,
    long_name,
)
from classmark.preferences.labels import labels_from
from classmark.problems import Mistake
from classmark.progress import track
from classmark.ranking import BLOCK, numbers, order

SCORES_AT_ONCE = 1 << 18  # scores looked at together
FEW = 64  # up to so many labels, counting for each is faster than sorting all scores


@dataclass(frozen=True, slots=True)
class RelevantRanks:
    """The ranks of the relevant labels of each document: all that the measures need.

    sizes : (n,), relevant labels a document;  ranks : (m,), increasing in each
    document, the first rank being 1, ties by label index;  above : (m,), irrelevant
    labels with a score at least as high;  n_labels : k.
    """

    sizes: Ints
    ranks: Ints
    above: Ints
    n_labels: int

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def places(self) -> RelevantPlaces:
        """The ranks document by document, those without relevant labels left out."""
        sizes = self.sizes[self.sizes > 0]
        documents = np.repeat(np.arange(len(sizes)), sizes)
        return RelevantPlaces(documents, self.ranks, sizes, self.n_labels)


def rank_relevant(scores: ArrayLike, Y: Any) -> RelevantRanks:
    """Find the ranks of the relevant labels, without sorting all the scores.

    The rank of label y is 1 + #{j : s_j > s_y, or s_j = s_y and j < y}; above it are
    #{j irrelevant : s_j ≥ s_y}.

    scores : (n, k);  Y : n×k indicator, sparse or not, lists of label indices, or Rows
    of grades, relevant where the grade is above 0.

    >>> rank_relevant([[0.1, 0.9, 0.5]], [[0, 2]]).ranks.tolist()
    [2, 3]
    """
    table = numbers(scores)
    if table.ndim != 2:
        raise Mistake("scores has 1 dimension: give one row of label scores a document")
    n, k = table.shape
    labels = relevant(Y, n, k)
    starts, columns, sizes = labels.starts, labels.columns, np.diff(labels.starts)
    document = np.repeat(np.arange(n), sizes)
    ranks, reached = np.empty((2, len(columns)), np.int64)
    few = np.flatnonzero(sizes[document] <= FEW)
    step = max(1, SCORES_AT_ONCE // max(1, k))
    for first in range(0, len(few), step):
        part = few[first : first + step]
        ranks[part], reached[part] = _by_counting(table[document[part]], columns[part])
    for i in np.flatnonzero(sizes > FEW):
        span = slice(starts[i], starts[i + 1])
        best_first = order(table[i])
        rank = np.empty(k, np.int64)
        rank[best_first] = np.arange(1, k + 1)
        ranks[span] = rank[columns[span]]
        rising = table[i][best_first[::-1]]
        reached[span] = k - np.searchsorted(rising, table[i][columns[span]])
    best_first = np.argsort(document * (k + 1) + ranks)
    ranks, reached = ranks[best_first], reached[best_first]
    tied = document * (k + 1) + reached  # the same for labels of one score
    relevant_reached = np.searchsorted(tied, tied, side="right") - starts[document]
    return RelevantRanks(sizes, ranks, reached - relevant_reached, k)


def _by_counting(scores: Array, labels: NDArray[np.uint32]) -> tuple[Ints, Ints]:
    """Compare one label of each row with all: its rank, and #{j : s_j ≥ s_y}."""
    label_scores = scores[np.arange(len(scores)), labels][:, np.newaxis]
    reached = _counted(scores >= label_scores)
    equal = scores == label_scores
    if np.count_nonzero(equal) == len(scores):
        return reached, reached
    tied = np.flatnonzero(_counted(equal) > 1)
    behind = np.arange(scores.shape[1], dtype=np.uint32) > labels[tied, np.newaxis]
    ranks = reached.copy()
    ranks[tied] -= _counted(equal[tied] & behind)
    return ranks, reached


def _counted(true: Bools) -> Ints:
    """How many are true in each row, in half the time of ``np.count_nonzero``."""
    counts = true.view(np.uint8).sum(axis=1, dtype=np.uint32)
    return np.asarray(counts, np.int64)


def relevant(
    Y: Any, n_documents: int | None = None, n_labels: int | None = None
) -> Rows:
    """Read labels of any form and keep those with a grade above 0."""
    labels = labels_from(Y, n_documents, n_labels)
    return keep_values(labels, labels.values > 0)


def per_document(ranked: RelevantRanks) -> dict[str, Floats]:
    """Every measure of every document, NaN where it is left out of the mean.

    With Y the relevant labels of k, E = {(r, s) : r ∈ Y, s ∉ Y, score r ≤ score s}:
    Loss1 = [E ≠ ∅], Loss2 = #E, Loss3 = #E / (#Y·(k − #Y)), 0 when all labels are
    relevant; OneError = [the first label ∉ Y]; Coverage = largest rank of Y − 1;
    AP = mean over y ∈ Y of #{y' ∈ Y : rank y' ≤ rank y} / rank y; MaxF1 = the largest
    over r of 2·P(r)·R(r) / (P(r) + R(r)) [CrammerSinger03]. Domination = share of Y not
    above all others, Dominated = share of the others not below all of Y
    [DekelManningSinger03]. Each value has shape (n,).
    """
    some = ranked.sizes > 0
    m = ranked.sizes[some]
    starts = np.cumsum(m) - m
    place = np.arange(1, len(ranked.ranks) + 1) - np.repeat(starts, m)
    ends = starts + m - 1
    pairs = _at(some, np.add.reduceat(ranked.above, starts) if m.size else m, 0.0)
    others = np.maximum(ranked.n_labels - m, 1)
    f1 = 2 * place / (ranked.ranks + np.repeat(m, m))
    return {
        "Loss1": (pairs > 0).astype(np.float64),
        "Loss2": pairs,
        "Loss3": _at(some, pairs[some] / (m * others)),
        "Domination": _at(some, _mean(ranked.above > 0, starts, m)),
        "Dominated": _at(some, ranked.above[ends] / others),
        "OneError": _at(some, ranked.ranks[starts] > 1, 1.0),
        "Coverage": _at(some, ranked.ranks[ends] - 1.0),
        "AP": _at(some, _mean(place / ranked.ranks, starts, m)),
        "MaxF1": _at(some, np.maximum.reduceat(f1, starts) if m.size else f1),
    }


def _at(some: Bools, values: Array, rest: float = np.nan) -> Floats:
    """Values of the documents that have labels, ``rest`` for those that have none."""
    filled = np.full(len(some), rest)
    filled[some] = values
    return filled


def _mean(values: Array, starts: Array, sizes: Array) -> Floats:
    if not sizes.size:
        return np.empty(0)
    return np.asarray(np.add.reduceat(values.astype(np.float64), starts) / sizes)


@renamed(decomposition="loss")
def ranking_error(
    scores: ArrayLike,
    graph: PreferenceGraph | Sequence[Iterable[Edge]],
    loss: Loss | None = None,
) -> float:
    """Return the share of groups with a violated preference, in [0, 1].

    err = (1/s) · #{k : f(init e) ≤ f(term e) for some edge e of group k}; a tie
    violates; without groups it is 0 [DekelManningSinger03]. Layered graphs are measured
    layer by layer, without listing their edges.

    scores : shape (n_labels,), of one document;  graph : a graph, and as the loss
    "zero-one", "disagreement" ("dis"), "domination" ("dom"), "dominated" ("dme"), or a
    function from a graph to groups of its edges; or the groups themselves, without a
    loss: lists of edges (init, term).

    >>> graph = PreferenceGraph.multilabel(4, [0, 1])
    >>> ranking_error([4.0, 2.0, 3.0, 1.0], graph, "domination")
    0.5
    >>> ranking_error([4.0, 2.0, 3.0, 1.0], graph, "disagreement")
    0.25
    >>> ranking_error([0.3, 0.2, 0.1], [[(0, 1), (0, 2)], [(2, 1)]])
    0.5
    """
    f = numbers(scores)
    if not isinstance(graph, PreferenceGraph):
        return _violated(f, graph)
    if f.shape != (graph.n_labels,):
        raise Mistake(
            f"scores has shape {f.shape}, the graph {graph.n_labels} labels: give the "
            "scores of one document, one for each label"
        )
    name = long_name(loss)
    if graph.levels is None or name not in GRAPH_LOSSES:
        return _violated(f, decompose(graph, loss))  # type: ignore[arg-type]
    compared = graph.levels >= 0
    f, levels = f[compared], graph.levels[compared]
    steps = np.unique(levels)
    if name == "disagreement":
        wrong, groups = _misplaced_pairs(f, levels)
    else:
        if name == "dominated":
            f, levels, steps = -f, -levels, -steps[::-1]
        wrong = _not_above(f[np.newaxis], levels[np.newaxis], steps[1:])[0]
        groups = int(np.count_nonzero(levels > steps[:1]))
    if name == "zero-one":
        return float(wrong > 0)
    return float(wrong / groups) if groups else 0.0


def _violated(f: Array, groups: Sequence[Iterable[Edge]]) -> float:
    """The share of groups of edges with one that the scores violate."""
    listed = [list(group) for group in groups]
    if not listed:
        return 0.0
    sizes = np.array([len(group) for group in listed])
    if not sizes.all():
        raise Mistake(
            f"groups, group {int(np.argmin(sizes))} has no edge: leave empty groups out"
        )
    edges = np.array([edge for group in listed for edge in group], dtype=np.int64)
    if f.ndim != 1:
        raise Mistake(
            f"scores has {f.ndim} dimensions: give the scores of one document, and "
            "average over documents"
        )
    inits, terms = edges.T
    wrong = ((edges < 0) | (edges >= len(f))).any(axis=1) | (inits == terms)
    if wrong.any():
        at = int(np.argmax(wrong))
        group = int(np.searchsorted(np.cumsum(sizes), at, side="right"))
        raise Mistake(
            f"groups, group {group}: edge ({inits[at]}, {terms[at]}): give two "
            f"different labels between 0 and {len(f) - 1}"
        )
    violated = f[inits] <= f[terms]
    return float(np.logical_or.reduceat(violated, np.cumsum(sizes) - sizes).mean())


def violated_groups(scores: Floats, levels: Rows, loss: str) -> Floats:
    """Per document, the groups of the loss with an unsatisfied preference.

    scores : (n, labels), for "svm" with the thresholds taken off;  levels : Rows of
    levels 1, 2, … as :func:`classmark.preferences.labels.levels_from` gives them
    [AiolliSebastianiSperduti08]. Ties are violations.

    >>> from classmark.preferences.labels import levels_from
    >>> violated_groups(np.array([[1.0, 2.0, 0.0]]), levels_from([[0, 2]]), "dom")
    array([2.])
    """
    place = levels.to_scipy().toarray()
    if loss == "svm":
        wrong = np.where(place > 0, scores <= 0, scores >= 0)
        return np.asarray(wrong.sum(axis=1), dtype=np.float64)
    positive = np.unique(place[place > 0])
    not_highest = np.concatenate([[0.0], positive[:-1]])
    rows = zip(scores, np.maximum(place, 0), strict=True)
    counts: dict[str, Callable[[], Floats]] = {
        "dis": lambda: np.array([_misplaced_pairs(*row)[0] for row in rows]),
        "dom": lambda: _not_above(scores, place, positive),
        "dme": lambda: _not_above(-scores, -place, -not_highest),
    }
    if loss not in {*counts, "dom-dme"}:
        names = [*counts, "dom-dme"]
        raise Mistake(f"loss {loss!r} has no count of its own: use {names}")
    return np.asarray(sum(counts[name]() for name in loss.split("-")), np.float64)


def _not_above(scores: Floats, place: Array, levels: Array) -> Floats:
    """Labels of these levels that are not above all labels of lower levels."""
    wrong = np.zeros(len(scores))
    for level in levels:
        best_below = np.where(place < level, scores, -np.inf).max(axis=1)
        here = place == level
        wrong += (here & (scores <= best_below[:, None])).sum(axis=1)
    return wrong


def _misplaced_pairs(f: Floats, levels: Array) -> tuple[int, int]:
    """Labels that are not above one of a lower level, pair by pair; and all pairs."""
    wrong = edges = 0
    lower = np.empty(0)
    for step in np.unique(levels):
        level_scores = f[levels == step]
        wrong += int((len(lower) - np.searchsorted(lower, level_scores)).sum())
        edges += len(lower) * len(level_scores)
        lower = np.sort(np.concatenate([lower, level_scores]))
    return wrong, edges


MEANS = (
    *("Loss1", "Loss2", "Loss3", "OneError", "Coverage", "AP", "MaxF1"),
    *("Domination", "Dominated"),
)
KNOWN = (*MEANS, "CurveMaxF1", "P", "R", "nP")
NAMES = (
    *("loss1", "loss2", "loss3", "one_error"),
    *("coverage", "average_precision", "max_f1"),
)


class CategoryTally:
    """Sums over documents, block by block: the scores of all need not be in memory.

    Documents without labels are left out of what is not defined for them (Loss3,
    Coverage, AP, MaxF1, recall, Domination, Dominated); they count 0 in Loss1, Loss2
    and precision and 1 in OneError. ``skipped`` says how many there were.

    >>> tally = CategoryTally(3)
    >>> tally.add([[0.1, 0.9, 0.5]], [[1]])
    >>> tally.add([[0.1, 0.9, 0.5], [0.3, 0.2, 0.1]], [[2], []])
    >>> tally.measures(["coverage", "p@1"]), tally.skipped
    ({'coverage': 0.5, 'p@1': 0.3333333333333333}, 1)
    """

    def __init__(self, n_labels: int) -> None:
        self.n_labels = n_labels
        self.documents = 0
        self.skipped = 0
        self._sums = dict.fromkeys(MEANS, 0.0)
        self._counts = dict.fromkeys(MEANS, 0)
        self._hits_by_rank = np.zeros(n_labels, np.int64)  # relevant labels by rank
        self._shares = np.zeros(n_labels)  # the same, each worth 1/|Y|
        self._ideal = np.zeros(n_labels, np.int64)  # as if relevant ones came first

    def add(self, scores: ArrayLike, Y: Any) -> None:
        """Count a block of documents: scores (n, k), Y as in ``category_ranking``."""
        self.count(rank_relevant(scores, Y))

    def count(self, ranked: RelevantRanks) -> None:
        """Count a block of documents by the ranks of their labels."""
        if ranked.n_labels != self.n_labels:
            raise Mistake(
                f"scores has {ranked.n_labels} columns: give one per label, "
                f"{self.n_labels} in every block"
            )
        k, sizes = self.n_labels, ranked.sizes
        weights = np.repeat(1 / np.maximum(sizes, 1), sizes)
        self._hits_by_rank += np.bincount(ranked.ranks - 1, minlength=k)
        self._shares += np.bincount(ranked.ranks - 1, weights, minlength=k)
        by_size = np.bincount(sizes, minlength=k + 1)
        self._ideal += len(ranked) - np.cumsum(by_size[:-1])
        self.documents += len(ranked)
        self.skipped += int((ranked.sizes == 0).sum())
        for name, values in per_document(ranked).items():
            defined = values[~np.isnan(values)]
            self._sums[name] += float(defined.sum())
            self._counts[name] += len(defined)

    def measures(self, names: Sequence[str | Measure] = NAMES) -> dict[str, float]:
        """Return the means, under the names as given."""
        parsed = parse_for(names, KNOWN)
        return {name: self._value(measure) for name, measure in parsed.items()}

    def precision_at_rank(self, *, normalized: bool = True) -> Floats:
        """Return the precision within the first 1..k labels, averaged over documents.

        Normalised, it is divided by that of a ranker which puts the relevant first.
        """
        self._require_labels()
        ranks = np.arange(1, self.n_labels + 1)
        scale = np.cumsum(self._ideal) if normalized else ranks * self.documents
        return np.asarray(np.cumsum(self._hits_by_rank) / scale)

    def recall_at_rank(self) -> Floats:
        """Return the recall within the first 1..k labels, averaged over documents."""
        self._require_labels()
        return np.cumsum(self._shares) / (self.documents - self.skipped)

    def max_f1_of_curve(self) -> float:
        """Return the largest 2·P(r)·R(r) / (P(r) + R(r)) over the ranks r.

        P(r) is the mean over all documents of the precision of the first r labels, R(r)
        that of the recall, over the documents with labels [CrammerSinger03]. One number
        for all documents: unlike MaxF1 it may be below AP, since one r serves all.
        """
        recall = self.recall_at_rank()
        some = recall > 0
        R, P = recall[some], self.precision_at_rank(normalized=False)[some]
        return float((2 * P * R / (P + R)).max())

    def _value(self, measure: Measure) -> float:
        self._require_labels()
        if measure.name == "CurveMaxF1":
            return self.max_f1_of_curve()
        if measure.name in MEANS and measure.cutoff is None:
            return self._sums[measure.name] / self._counts[measure.name]
        if measure.name == "AP":
            raise Mistake(f"measure {measure}: write AP: all categories are ranked")
        place = min(measure.cutoff or self.n_labels, self.n_labels) - 1
        if measure.name == "R":
            return float(self.recall_at_rank()[place])
        if measure.name == "nP":
            return float(self.precision_at_rank()[place])
        hits = float(self._hits_by_rank[: place + 1].sum())
        return hits / self.documents / (measure.cutoff or self.n_labels)

    def _require_labels(self) -> None:
        if self.documents == self.skipped:
            raise Mistake(
                f"Y: none of the {self.documents} documents has a relevant label: give "
                "at least one document with its labels"
            )


def category_ranking(
    scores: ArrayLike, Y: Any, measures: Sequence[str | Measure] = NAMES
) -> dict[str, float]:
    """Judge ranked categories; means over documents [CrammerSinger03].

    The formulas are those of ``per_document``. In the losses a tie is an error; where a
    rank counts, ties go by label index. ``skipped``: how many documents without labels
    were left out of the measures that are not defined for them (see ``CategoryTally``).

    scores : (n, k), float32 or float64;  Y : n×k indicator (array or sparse), n lists
    of label indices, or Rows of grades;  measures : names, also ``P@5``, ``R@5``,
    ``nP@5``, and ``CurveMaxF1``, the best F1 of the averaged precision and recall.

    >>> result = category_ranking([[0.9, 0.5, 0.1], [0.9, 0.5, 0.1]], [[0], [0, 2]])
    >>> result["loss1"], result["average_precision"], result["coverage"]
    (0.5, 0.9166666666666666, 1.0)
    """
    tally = _tally(scores, Y)
    return tally.measures(measures) | {"skipped": tally.skipped}


def category_ranking_per_document(scores: ArrayLike, Y: Any) -> dict[str, Floats]:
    """Return the same measures document by document, NaN where one is not defined.

    >>> category_ranking_per_document([[0.9, 0.1], [0.9, 0.1]], [[0], [1]])["coverage"]
    array([0., 1.])
    """
    values = per_document(rank_relevant(scores, Y))
    parsed = parse_for(NAMES, MEANS)
    return {name: values[measure.name] for name, measure in parsed.items()}


def precision_at_rank(scores: ArrayLike, Y: Any, *, normalized: bool = True) -> Floats:
    """Return the microaveraged precision at rank r = 1..k [AiolliSebastianiSperduti08].

    π(r) = mean over documents of (true labels among the first r) / r, and normalised,
    divided by the same of the ideal ranker. Shape (k,).

    >>> precision_at_rank([[0.9, 0.5, 0.1], [0.9, 0.5, 0.1]], [[0], [0, 2]]).tolist()
    [1.0, 0.6666666666666666, 1.0]
    """
    return _tally(scores, Y).precision_at_rank(normalized=normalized)


def recall_at_rank(scores: ArrayLike, Y: Any) -> Floats:
    """Return the mean recall within the first r = 1..k labels [CrammerSinger03].

    Plotted against ``precision_at_rank(..., normalized=False)`` it is the curve of
    precision and recall. Shape (k,).

    >>> recall_at_rank([[0.9, 0.5, 0.1], [0.9, 0.5, 0.1]], [[0], [0, 2]]).tolist()
    [0.75, 0.75, 1.0]
    """
    return _tally(scores, Y).recall_at_rank()


LEVELS = 11  # of recall: 0, 0.1, …, 1


class PrecisionRecall(NamedTuple):
    """A graph of precision against recall: two arrays of one length."""

    recall: Floats
    precision: Floats


def precision_recall(
    ranked: JudgedRun | RelevantRanks, *, interpolated: bool = True
) -> PrecisionRecall:
    """Return precision against recall, means over queries or documents.

    interpolated : at recall 0, 0.1, …, 1, the largest precision of any rank whose
    recall is at least that [ManningRaghavanSchutze08], as trec_eval prints it; else
    P(r) against R(r), both averaged at the ranks r = 1, 2, … [CrammerSinger03].

    ranked : ``judge(run, qrels)`` of retrieved documents, where a query without
    relevant ones counts 0, or ``rank_relevant(scores, Y)`` of ranked categories, where
    documents without any are left out.

    >>> from classmark.measures import judge
    >>> judged = judge({"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"q": {"b": 1, "c": 1}})
    >>> precision_recall(judged).precision.round(2).tolist()[:3]
    [0.67, 0.67, 0.67]
    >>> precision_recall(judged, interpolated=False).recall.tolist()
    [0.0, 0.5, 1.0]
    """
    queries, ranks, sizes, depth = ranked.places
    n = max(1, len(sizes))
    if not interpolated:
        by_rank = np.bincount(ranks - 1, minlength=depth)
        shares = np.bincount(ranks - 1, 1 / sizes[queries], minlength=depth)
        precision = np.cumsum(by_rank) / np.arange(1, depth + 1) / n
        return PrecisionRecall(np.cumsum(shares) / n, precision)
    hits = np.arange(1, len(ranks) + 1) - np.searchsorted(queries, queries)
    best = np.zeros((LEVELS, len(sizes)))
    for level in range(LEVELS):
        reached = (LEVELS - 1) * hits >= level * sizes[queries]
        np.maximum.at(best[level], queries[reached], (hits / ranks)[reached])
    return PrecisionRecall(np.linspace(0.0, 1.0, LEVELS), best.sum(axis=1) / n)


def _tally(scores: ArrayLike, Y: Any) -> CategoryTally:
    table = np.asarray(scores)
    if table.ndim != 2:
        raise Mistake(f"scores has {table.ndim} dimension(s): give one row a document")
    n, k = table.shape
    labels = relevant(Y, n, k)
    tally = CategoryTally(k)
    step = max(1, BLOCK // max(1, k))
    for start in track(range(0, n, step), "measuring", -(-n // step)):
        part = slice(start, start + step)
        tally.add(table[part], take(labels, np.arange(n)[part]))
    return tally

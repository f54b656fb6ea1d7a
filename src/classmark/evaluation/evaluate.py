"""Which learner is how good on documents it has not seen, and which C?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import Floats, Ints, Rows, rows_from, take
from classmark.corpus.documents import cross_validate, folds
from classmark.measures import (
    accuracy_bound,
    calibration_error,
    classification,
    hierarchical_f,
    tree_induced_error,
)
from classmark.measures.categories import (
    CategoryTally,
    RelevantRanks,
    rank_relevant,
    violated_groups,
)
from classmark.preferences.graph import short_name, without_threshold
from classmark.preferences.labels import labels_from, levels_from
from classmark.problems import Mistake, TooLittleMemory
from classmark.progress import spread
from classmark.rankers.calibration import ENOUGH, crossed_probabilities
from classmark.rankers.preference import PreferenceRanker
from classmark.rankers.text_ranker import TextRanker
from classmark.ranking import BLOCK, top

if TYPE_CHECKING:
    from classmark.hierarchies.taxonomy_ranker import TaxonomyRanker
    from classmark.preferences.graph import PreferenceGraph
    from classmark.rankers.linear import LinearRanker
    from classmark.taxonomy.tree import Taxonomy


Labels = Sequence[Sequence[int]]
FEW = 10  # documents to learn from: a category with so many, or fewer, is rare
WITHIN = 5  # the best categories looked at for a rare one
RARE = f"rare_recall@{WITHIN}"
RARE_ERROR = "rare_calibration_error"


@dataclass(slots=True, eq=False)
class ScoreParts:
    """The parts of one model's scores that the measures need.

    taught : shape (categories,), how many documents each category was learned from;
    rare, rare_hits : shape (categories,), how many documents have the category while
    it is rare, and how many of those have it among their best;
    ranks, sample : of each block of documents where the labels stand, and the scores of
    every so-manieth document;  assigned : the best categories of each document, as many
    as it has labels;  seconds : that learning and scoring took.
    """

    taught: Ints
    rare: Ints
    rare_hits: Ints
    seconds: float = 0.0
    ranks: list[RelevantRanks] = field(default_factory=list)
    sample: list[Floats] = field(default_factory=list)
    assigned: list[list[int]] = field(default_factory=list)

    def add(self, scores: Floats, labels: Labels, sampled: slice) -> None:
        """Add a block of documents."""
        self.ranks.append(rank_relevant(scores, labels))
        some = scores[sampled]  # in place of −inf, 1 less than the least finite one
        can = np.isfinite(some)
        least = np.where(can, some, np.inf).min(axis=1, keepdims=True)
        lowest = np.where(np.isfinite(least), least, 0.0) - 1.0
        self.sample.append(np.where(can, some, lowest))
        best = top(scores, min(max(WITHIN, *map(len, labels)), scores.shape[1]))
        for line, relevant in zip(best, labels, strict=True):
            self.assigned.append(line[: len(relevant)].tolist())
            few = [label for label in relevant if self.taught[label] <= FEW]
            self.rare[few] += 1
            self.rare_hits[list(set(few).intersection(line[:WITHIN].tolist()))] += 1


def sampling(categories: int, tested: int) -> int:
    """Every how-manieth of all documents tested is in the sample."""
    return -(-tested // max(2 * ENOUGH, BLOCK // categories))


Split = tuple[Ints, Ints]
Learn = Callable[[Ints], TextRanker]


@dataclass(frozen=True, slots=True)
class LabelledTexts:
    """Texts, their label numbers, and the names the numbers stand for.

    graphs : per text, what its labels and more say; None where labels say it all.
    """

    texts: Sequence[str]
    labels: Sequence[Sequence[int]]
    categories: Sequence[str]
    graphs: Sequence[PreferenceGraph] | None = None

    def lessons(
        self, ranker: LinearRanker, which: Iterable[int] | None = None
    ) -> list[Sequence[int]] | list[PreferenceGraph]:
        """The training targets: graphs if any and the ranker takes them, or labels."""
        chosen = range(len(self.texts)) if which is None else which
        if self.graphs is not None and ranker.takes_graphs:
            graphs = [self.graphs[i] for i in chosen]
            if ranker.takes_thresholds:
                return graphs
            return [without_threshold(graph) for graph in graphs]
        return [self.labels[i] for i in chosen]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Means over the documents tested; ``precision`` is normalised, by rank.

    measures : with enough documents also the ``calibration_error`` (ECE), of
    calibrators fitted on four fifths of the tested documents and asked about the rest,
    and, where some categories have 10 documents to learn from or fewer, theirs alone as
    ``rare_calibration_error``; with such categories among the labels
    ``rare_recall@5``: recall of the five best, mean over these categories.
    labels : those of the documents tested, in the order they were;  assigned : the
    best categories of each, as many as it has labels;  priors : shape (categories,),
    what share of the labels trained on each category has;  seconds : what learning and
    scoring took.
    """

    measures: dict[str, float]
    precision: Floats
    trained: int
    tested: int
    seconds: float
    labels: list[Sequence[int]]
    assigned: list[list[int]]
    priors: Floats


def evaluate_each(
    collection: LabelledTexts,
    splits: Iterable[Split],
    learners: Mapping[str, Learn],
    left_out: dict[str, TooLittleMemory] | None = None,
) -> dict[str, Evaluation]:
    """Train on the first half of each split, rank the second, measure all together.

    All learners have the same splits; each fold of each is a task (``spread``).

    learners : by name, what learns from the texts of some numbers; on other machines
    they are to be such as can be sent there;
    left_out : takes those that need more memory than is given, and why; an error if
    None, or where no learner is left.
    """
    parts = list(splits)
    for train, test in parts:
        if not len(train) or not len(test):
            raise Mistake(
                f"{len(train)} documents to train on and {len(test)} to test: label "
                "more documents, or use fewer folds"
            )
    tasks = [(name, fold) for name in learners for fold in range(len(parts))]
    shared = (collection, parts, dict(learners))
    answers = spread(_fold_answers, tasks, [shared], "evaluating")
    results = {}
    for at, name in enumerate(learners):
        mine = answers[at * len(parts) : (at + 1) * len(parts)]
        folds = [fold for fold in mine if isinstance(fold, ScoreParts)]
        if len(folds) == len(mine):
            results[name] = _evaluation(collection, parts, folds)
        elif left_out is not None:
            left_out[name] = next(f for f in mine if isinstance(f, TooLittleMemory))
    too_large = [fold for fold in answers if isinstance(fold, TooLittleMemory)]
    if too_large and (left_out is None or not results):
        raise too_large[0]
    return results


def _fold_answers(
    task: tuple[str, int],
    shared: tuple[LabelledTexts, list[Split], dict[str, Learn]],
) -> ScoreParts | TooLittleMemory:
    """Learn from one fold and score the rest, at most ``BLOCK`` scores at once."""
    (name, at), (collection, parts, learners) = task, shared
    train, test = parts[at]
    started = time.perf_counter()
    try:
        model = learners[name](train)
    except TooLittleMemory as problem:
        return problem  # the other learners go on
    labels, categories = collection.labels, len(collection.categories)
    sizes = [len(part) for _, part in parts]
    every = sampling(categories, sum(sizes))
    taught = [label for i in train for label in labels[i]]
    counts, none = np.bincount(taught, minlength=categories), np.zeros(categories, int)
    answered = ScoreParts(counts, none, none.copy())
    step = max(1, BLOCK // categories)
    for low in range(0, len(test), step):
        block = test[low : low + step]
        scores = model.scores([collection.texts[i] for i in block])
        first = -(sum(sizes[:at]) + low) % every
        sampled = slice(first, None, every)
        answered.add(scores, [labels[i] for i in block], sampled)
    answered.seconds = time.perf_counter() - started
    return answered


def _evaluation(
    collection: LabelledTexts, parts: list[Split], folds: list[ScoreParts]
) -> Evaluation:
    """Measure all documents tested together.

    Where they × categories is large, the calibration error is that of every so-manieth.
    """
    labels = [collection.labels[i] for _, test in parts for i in test]
    tally = CategoryTally(len(collection.categories))
    for ranks in chain.from_iterable(fold.ranks for fold in folds):
        tally.count(ranks)
    measures = tally.measures() | {"skipped": tally.skipped}
    rare = np.sum([fold.rare for fold in folds], axis=0)
    if rare.any():
        hits = np.sum([fold.rare_hits for fold in folds], axis=0)
        measures[RARE] = float((hits[rare > 0] / rare[rare > 0]).mean())
    if len(labels) >= ENOUGH:
        every = sampling(len(collection.categories), len(labels))
        measures |= _calibration(folds, labels[::every])
    taught = np.sum([fold.taught for fold in folds], axis=0)
    return Evaluation(
        measures,
        tally.precision_at_rank(),
        sum(len(train) for train, _ in parts),
        len(labels),
        sum(fold.seconds for fold in folds),
        labels,
        [best for fold in folds for best in fold.assigned],
        taught / max(1, int(taught.sum())),
    )


def _calibration(folds: list[ScoreParts], sampled: Labels) -> dict[str, float]:
    """The calibration error of all categories; of those learned from few documents."""
    scores = np.concatenate([each for fold in folds for each in fold.sample])
    sizes = np.mean([fold.taught for fold in folds], axis=0)
    labels = labels_from(sampled, *scores.shape)
    probabilities = crossed_probabilities(scores, labels, sizes=sizes)
    right, few = labels.to_scipy().toarray() > 0, (sizes > 0) & (sizes <= FEW)
    errors = {"calibration_error": calibration_error(probabilities, right)}
    if few.any():
        errors[RARE_ERROR] = calibration_error(probabilities[:, few], right[:, few])
    return errors


NAMED = ("detected", "F1(micro)", "F1(macro)")


def in_tree(
    evaluation: Evaluation, tree: Taxonomy, categories: Sequence[str]
) -> dict[str, float | None]:
    """Measures that know the tree, and those that know rare categories.

    tree_error : edges from the best category to the nearest right one, mean
    [DekelKeshetSinger04];  hierarchical_f1 : of the best categories, as many as there
    are right ones, with all above them [Kiritchenko05];  detected : how many categories
    were assigned at least once, rightly or not;  accuracy_bound : B(Acc) [Babbar14], by
    the shares of the categories in training;  micro_f1, macro_f1 : of the categories
    assigned;  rare_recall@5 : as in ``Evaluation``, where there are rare ones.

    categories : the node of each label number.
    """
    above = ancestors_of(tree, categories)
    best = [line[0] for line in evaluation.assigned]
    sets = [frozenset(nodes) for nodes in above]
    nearest = [
        min(relevant, key=lambda label, at=at: len(sets[label] ^ sets[at]))  # type: ignore[misc]
        for at, relevant in zip(best, evaluation.labels, strict=True)
    ]
    counts = np.bincount(best, minlength=len(categories))
    return {
        "tree_error": tree_induced_error(nearest, best, above),
        "hierarchical_f1": hierarchical_f(
            evaluation.labels, evaluation.assigned, above
        )["f1"],
        "accuracy_bound": accuracy_bound(evaluation.priors, counts),
        RARE: evaluation.measures.get(RARE),
    } | of_assigned(evaluation, len(categories))


def of_assigned(evaluation: Evaluation, categories: int) -> dict[str, float | None]:
    """How right the best categories are, as many as a document has, without a tree."""
    named = classification(
        evaluation.labels, evaluation.assigned, NAMED, n_labels=categories
    )
    return {
        "detected": int(named["detected"]),
        "micro_f1": named["F1(micro)"],
        "macro_f1": named["F1(macro)"],
    }


def ancestors_of(tree: Taxonomy, categories: Sequence[str]) -> list[list[int]]:
    """For each category its node and those above it, the only root left out.

    >>> from classmark.taxonomy.tree import Taxonomy
    >>> ancestors_of(Taxonomy([("r", "a"), ("a", "b")]), ["b", "a"])
    [[1, 2], [1]]
    """
    alone = set(tree.roots) if len(tree.roots) == 1 else set()
    return [
        [tree.number(node) for node in tree.path(name) if node not in alone]
        for name in categories
    ]


GRID = tuple(10.0 ** np.arange(-2, 2.5, 0.5))


@dataclass(frozen=True, slots=True)
class Selected:
    """The C with the least mean cost on the documents held out, and all costs.

    costs : shape (Cs,), violated groups per document, mean over all documents.
    """

    C: float
    Cs: tuple[float, ...]
    costs: Floats


def select_cost(
    ranker: PreferenceRanker | TaxonomyRanker,
    X: Any,
    Y: Any,
    Cs: Sequence[float] = GRID,
    n_folds: int = 5,
) -> Selected:
    """Choose C by k-fold cross-validation on the cost the loss stands for.

    Each fold is one path over C, warm-started [AiolliSebastianiSperduti08].
    """
    if not isinstance(ranker.loss, str):
        raise Mistake("select_cost needs a loss by name: a function has no own cost")
    rows = rows_from(X)
    levels = levels_from(Y, len(rows))
    parts = list(folds(len(rows), n_folds, random_state=0))
    fresh = type(ranker)(**ranker.get_params(deep=False))
    _, costs = cross_validate(_fold_costs, parts, (fresh, rows, levels, sorted(Cs)))
    mean = costs.mean(axis=0)
    best = int(np.argmin(mean))
    return Selected(float(sorted(Cs)[best]), tuple(sorted(Cs)), mean)


def _fold_costs(
    part: tuple[Ints, Ints],
    ranker: PreferenceRanker | TaxonomyRanker,
    rows: Rows,
    levels: Rows,
    Cs: Sequence[float],
) -> Floats:
    """The costs of a fold's documents, shape (documents, Cs), along one path."""
    train, test = part
    held_out, truth = take(rows, test), take(levels, test)
    path = ranker.path(take(rows, train), take(levels, train), Cs)
    costs = []
    for each in path:
        loss = short_name(each.simple.kept_as[1]["loss"])
        scores = each.decision_function(held_out)
        costs.append(violated_groups(scores, truth, loss))
    return np.stack(costs, axis=1)

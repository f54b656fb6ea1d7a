"""Which learner is how good on documents it has not seen, and which C?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.corpus.splits import folds
from classmark.measures import (
    accuracy_bound,
    classification,
    hierarchical_f,
    tree_induced_error,
)
from classmark.measures.categories import CategoryTally, RelevantRanks, rank_relevant
from classmark.measures.ranking_errors import violated_groups
from classmark.preferences.levels import levels_from
from classmark.problems import Mistake
from classmark.rankers.calibration import ENOUGH, crossed_calibration_error
from classmark.rankers.preference import PreferenceRanker
from classmark.rankers.text_ranker import TextRanker
from classmark.ranking import BLOCK, top
from classmark.sparse import Rows, rows_from, take
from classmark.spreading import spread

if TYPE_CHECKING:
    from classmark.hierarchies.taxonomy_ranker import TaxonomyRanker
    from classmark.preferences.graph import PreferenceGraph
    from classmark.rankers.linear import LinearRanker
    from classmark.taxonomy.tree import Taxonomy
    from classmark.weighting.vectorizer import Vectorizer


Labels = Sequence[Sequence[int]]
FEW = 10  # documents to learn from: a category with so many, or fewer, is rare
WITHIN = 5  # the best categories looked at for a rare one
RARE = f"rare_recall@{WITHIN}"


@dataclass(slots=True, eq=False)
class Answered:
    """The parts of one model's scores that the measures need.

    taught : shape (categories,), how many documents each category was learned from;
    rare, rare_hits : shape (categories,), how many documents have the category while
    it is rare, and how many of those have it among their best;
    ranks, sample : of each block of documents where the labels stand, and the scores of
    every so-manieth document;  assigned : the best categories of each document, as many
    as it has labels.
    """

    taught: Ints
    rare: Ints
    rare_hits: Ints
    ranks: list[RelevantRanks] = field(default_factory=list)
    sample: list[Floats] = field(default_factory=list)
    assigned: list[list[int]] = field(default_factory=list)

    def add(self, scores: Floats, labels: Labels, sampled: slice) -> None:
        """Add a block of documents."""
        self.ranks.append(rank_relevant(scores, labels))
        self.sample.append(_finite(scores[sampled]))
        best = top(scores, min(max(WITHIN, *map(len, labels)), scores.shape[1]))
        for line, relevant in zip(best, labels, strict=True):
            self.assigned.append(line[: len(relevant)].tolist())
            few = [label for label in relevant if self.taught[label] <= FEW]
            self.rare[few] += 1
            self.rare_hits[list(set(few).intersection(line[:WITHIN].tolist()))] += 1


def counted(labels: Labels, categories: int) -> Ints:
    """How many documents each category is taught by."""
    flat = [label for row in labels for label in row]
    return np.bincount(flat, minlength=categories)


def sampling(categories: int, tested: int) -> int:
    """Every how-manieth of all documents tested is in the sample."""
    return -(-tested // max(2 * ENOUGH, BLOCK // categories))


def ask(
    model: TextRanker,
    texts: Sequence[str],
    labels: Labels,
    taught: Ints,
    where: slice,
) -> Answered:
    """Have a model score texts, never more than ``BLOCK`` scores at once.

    where : the place of the first text among all that are tested, and, as its step,
    every how-manieth of them is in the sample.
    """
    answered = Answered(taught, np.zeros_like(taught), np.zeros_like(taught))
    for low, high in _blocks(len(texts), len(taught)):
        first = -(where.start + low) % where.step
        scores = model.scores(texts[low:high])
        answered.add(scores, labels[low:high], slice(first, None, where.step))
    return answered


class Answers:
    """Measures of all documents tested, from the answers of each model.

    categories : how many;  tested : how many documents there will be in all.

    labels : those of the documents;  assigned, taught : as of ``Answered``.

    Where ``tested`` × ``categories`` is large, the calibration error is that of every
    so-manieth document.
    """

    def __init__(self, categories: int, tested: int) -> None:
        self.tally = CategoryTally(categories)
        self.labels: list[Sequence[int]] = []
        self.assigned: list[list[int]] = []
        self.taught = np.zeros(categories, np.int64)
        self._every = sampling(categories, tested)
        self._sample: list[Floats] = []
        self._rare = np.zeros(categories, np.int64)
        self._rare_hits = np.zeros(categories, np.int64)

    def add(self, answered: Answered, labels: Labels) -> None:
        """Count a model's answers for documents with these labels."""
        for ranks in answered.ranks:
            self.tally.count(ranks)
        self._sample += answered.sample
        self._rare += answered.rare
        self._rare_hits += answered.rare_hits
        self.taught += answered.taught
        self.assigned += answered.assigned
        self.labels += labels

    def measures(self) -> dict[str, float]:
        """The means, by name; the recall of rare ones where there were any."""
        measures = self.tally.measures() | {"skipped": self.tally.skipped}
        if (rare := self._rare > 0).any():
            measures[RARE] = float((self._rare_hits[rare] / self._rare[rare]).mean())
        if len(self.labels) >= ENOUGH:
            sample = np.concatenate(self._sample)
            labels = self.labels[:: self._every]
            measures["calibration_error"] = crossed_calibration_error(sample, labels)
        return measures


def _blocks(documents: int, categories: int) -> Iterator[tuple[int, int]]:
    size = max(1, BLOCK // categories)
    for low in range(0, documents, size):
        yield low, min(low + size, documents)


def _finite(scores: Floats) -> Floats:
    """The scores, each infinite one replaced by the least finite one minus 1."""
    can = np.isfinite(scores)
    if can.all():
        return scores.copy()
    least = np.where(can, scores, np.inf).min(axis=1, keepdims=True)
    return np.where(can, scores, np.where(np.isfinite(least), least, 0.0) - 1.0)


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
            return [self.graphs[i] for i in chosen]
        return [self.labels[i] for i in chosen]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Means over the documents tested; ``precision`` is normalised, by rank.

    measures : with enough documents also the ``calibration_error`` (ECE), of
    calibrators fitted on four fifths of the tested documents and asked about the rest;
    with rare categories among the labels ``rare_recall@5``: recall of the five best,
    mean over the categories with 10 documents to learn from, or fewer.
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


def evaluate(
    collection: LabelledTexts,
    splits: Iterable[Split],
    vectorizer: Callable[[], Vectorizer],
    ranker: Callable[[], LinearRanker],
) -> Evaluation:
    """Train on the first half of each split, rank the second, measure all together."""

    def learn(train: Ints) -> TextRanker:
        untaught = ranker()
        return TextRanker.fit(
            vectorizer(),
            untaught,
            [collection.texts[i] for i in train],
            collection.lessons(untaught, train),
            collection.categories,
        )

    return evaluate_by(collection, splits, learn)


def evaluate_by(
    collection: LabelledTexts, splits: Iterable[Split], learn: Learn
) -> Evaluation:
    """As ``evaluate``, with whatever learns from the texts of these numbers."""
    return evaluate_each(collection, splits, {"": learn})[""]


def evaluate_each(
    collection: LabelledTexts, splits: Iterable[Split], learners: Mapping[str, Learn]
) -> dict[str, Evaluation]:
    """Evaluate several by the same splits; each learner's fold is a task (``spread``).

    On other machines learners are to be such as can be sent there.
    """
    parts = list(splits)
    for train, test in parts:
        _require_both(train, test)
    tasks = [(name, fold) for name in learners for fold in range(len(parts))]
    shared = (collection, parts, dict(learners))
    done = dict(
        zip(tasks, spread(_fold_answers, tasks, [shared], "evaluating"), strict=True)
    )
    return {
        name: _evaluation(
            collection, parts, [done[name, at] for at in range(len(parts))]
        )
        for name in learners
    }


def _fold_answers(
    task: tuple[str, int],
    shared: tuple[LabelledTexts, list[Split], dict[str, Learn]],
) -> tuple[float, Answered]:
    """Learn from one fold and score the rest; return the seconds and the answers."""
    (name, at), (collection, parts, learners) = task, shared
    train, test = parts[at]
    started = time.perf_counter()
    model = learners[name](train)
    labels = collection.labels
    categories = len(collection.categories)
    sizes = [len(part) for _, part in parts]
    answered = ask(
        model,
        [collection.texts[i] for i in test],
        [labels[i] for i in test],
        counted([labels[i] for i in train], categories),
        slice(sum(sizes[:at]), None, sampling(categories, sum(sizes))),
    )
    return time.perf_counter() - started, answered


def _evaluation(
    collection: LabelledTexts,
    parts: list[Split],
    folds: list[tuple[float, Answered]],
) -> Evaluation:
    tested = sum(len(test) for _, test in parts)
    answers = Answers(len(collection.categories), tested)
    for (_, test), (_, answered) in zip(parts, folds, strict=True):
        answers.add(answered, [collection.labels[i] for i in test])
    return Evaluation(
        answers.measures(),
        answers.tally.precision_at_rank(),
        sum(len(train) for train, _ in parts),
        tested,
        sum(seconds for seconds, _ in folds),
        answers.labels,
        answers.assigned,
        answers.taught / max(1, int(answers.taught.sum())),
    )


def _require_both(train: Sequence[int] | Ints, test: Ints) -> None:
    if not len(train) or not len(test):
        raise Mistake(
            f"{len(train)} documents to train on and {len(test)} to test: label more "
            "documents, or use fewer folds"
        )


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
    nearest = _nearest(best, evaluation.labels, above)
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


def _nearest(best: list[int], labels: Labels, above: list[list[int]]) -> list[int]:
    """Of the right categories of each document, the one nearest to its best one."""
    sets = [frozenset(nodes) for nodes in above]
    return [
        min(relevant, key=lambda label, at=at: len(sets[label] ^ sets[at]))  # type: ignore[misc]
        for at, relevant in zip(best, labels, strict=True)
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
    """Choose C by k-fold cross-validation on the cost the mapping stands for.

    Each fold is one path over C, warm-started [AiolliSebastianiSperduti08].
    """
    if not isinstance(ranker.mapping, str):
        raise Mistake("select_cost needs a mapping by name: a function has no own cost")
    rows = rows_from(X)
    levels = levels_from(Y, len(rows))
    costs = np.zeros((len(Cs), len(rows)))
    parts = list(folds(len(rows), n_folds, random_state=0))
    fresh = type(ranker)(**ranker.get_params(deep=False))
    shared = (fresh, rows, levels, sorted(Cs))
    fold_costs = spread(_fold_costs, parts, shared, "cross-validating")
    for (_, test), values in zip(parts, fold_costs, strict=True):
        costs[:, test] = values
    mean = costs.mean(axis=1)
    best = int(np.argmin(mean))
    return Selected(float(sorted(Cs)[best]), tuple(sorted(Cs)), mean)


def _fold_costs(
    part: tuple[Ints, Ints],
    ranker: PreferenceRanker | TaxonomyRanker,
    rows: Rows,
    levels: Rows,
    Cs: Sequence[float],
) -> Floats:
    """The costs of a fold's documents, shape (Cs, documents), along one path."""
    train, test = part
    held_out, truth = take(rows, test), take(levels, test)
    path = ranker.path(take(rows, train), take(levels, train), Cs)
    mapping = str(ranker.mapping)
    return np.array(
        [
            violated_groups(each.decision_function(held_out), truth, mapping)
            for each in path
        ]
    )

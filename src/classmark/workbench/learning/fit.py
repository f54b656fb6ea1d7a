"""What documents teach, which ranker suits the tree, and how it is fitted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from classmark.arrays import rows_from
from classmark.preferences.labels import labels_from
from classmark.problems import Mistake, TooLittleMemory, refusal, worded
from classmark.progress import spreader
from classmark.rankers.auto import AUTO, PAPER
from classmark.rankers.ensemble import EnsembleRanker
from classmark.rankers.linear import LogLinearRanker
from classmark.rankers.meaning_weight import settled, weigh_meaning
from classmark.rankers.text_ranker import TextRanker
from classmark.solvers.preference import THRESHOLDS
from classmark.solvers.preference_live import LIVE
from classmark.taxonomy.category import ACTIVE, Category, taxonomy_of
from classmark.validation import byte_size, bytes_text
from classmark.workbench.learning.lessons import (
    TreeLayers,
    spoken_of,
    taught,
    teaches,
)
from classmark.workbench.learning.models import TopDownTextRanker
from classmark.workbench.learning.unfitted import (
    LEARNER,
    TREE,
    USUAL_PASSES,
    members_of,
    new_ranker,
    preference_parameters,
    require_members,
)
from classmark.workbench.meaning import description_of
from classmark.workbench.settings import LearningSettings
from classmark.workbench.store.log import JudgedRecord

if TYPE_CHECKING:
    from classmark.arrays import Csr
    from classmark.evaluation.evaluate import LabelledTexts
    from classmark.rankers.linear import LinearRanker
    from classmark.taxonomy.tree import Taxonomy
    from classmark.weighting.vectorizer import Vectorizer
    from classmark.workbench.project import Project


TEST = "test"  # the part of a split that nothing is learned from
PLAIN, FLAT, TOP_DOWN, PRUNED = "plain", "flat", "top-down", "pruned"
STRATEGIES = ("auto", PLAIN, FLAT, TOP_DOWN, PRUNED)
DESCENDING = (TOP_DOWN, PRUNED)
NORMS = ("auto", "l2", "none")
SOLVERS = ("auto", "dual", "lbfgs", "boosting")
NODE_C = {"svm": 1.0, "logistic": 100.0, "naive-bayes": 10.0}
GUIDES = 0.75  # complexity ratio above which a tree is not used unless asked for


class Size(NamedTuple):
    """How much there is to learn; ``item``: bytes of a weight."""

    documents: int
    features: int
    categories: int
    item: int = 8

    @property
    def flat(self) -> int:
        """What the weights of a flat model take: a vector for every category."""
        return self.features * self.categories * self.item


@dataclass(frozen=True, slots=True)
class Strategy:
    """What was picked, why, and the numbers that say so.

    complexity_ratio : Σ_v |D(v)|(|D(v)| − 1) / K(K − 1), of the tree's decisions to a
    flat one's [Babbar13]; None where there is no tree.
    """

    name: str
    why: str
    size: Size
    complexity_ratio: float | None = None

    @property
    def descends(self) -> bool:
        """Whether documents go down the tree, node by node."""
        return self.name in DESCENDING

    def require_no(self, thresholds: str | None) -> None:
        """Refuse thresholds where documents go down the tree."""
        if thresholds and self.descends:
            raise refusal(
                "strategy %(name)s (%(why)s) learns no thresholds: use "
                "%(remedy)s none, or more %(remedy2)s",
                name=self.name,
                why=self.why,
                remedy=worded("--thresholds"),
                remedy2=worded("--memory"),
            )


def choose(learning: LearningSettings, tree: Taxonomy, size: Size) -> Strategy:
    """Pick a strategy, or check the one that was asked for.

    tree : as classifiers are built on it, with leaves for inner categories in use.
    "auto": flat where a vector for every category fits the memory, else top-down over
    the pruned tree; plain where there is no tree, or one that parts hardly any of the
    categories (one root above all, a few strays), or for learners that know none.
    """
    from classmark.hierarchies.places import complexity_ratio, places_of

    require(learning)
    ratio = None
    if has_tree(tree):
        branching = places_of(tree, []).branching
        ratio = complexity_ratio(branching, len(tree.leaf_numbers))
    name, memory = learning.strategy, byte_size(learning.memory)
    if name in DESCENDING:
        _require_tree(f"strategy {name}", tree, f"{worded('--strategy')} flat")
    need = f"{bytes_text(size.flat)} for flat weights, {bytes_text(memory)} given"
    if ratio is not None:
        need += f"; complexity ratio {ratio:.3g} (tree to flat)"
    if name != "auto":
        why = f"asked for ({need})"
    elif learning.learner != LEARNER:
        looks = (
            "has layers of the tree" if learning.layers else "does not look at a tree"
        )
        name, why = PLAIN, f"the learner {learning.learner} {looks}"
    elif learning.device == "gpu" or ratio is None or ratio > GUIDES:
        name, why, ratio = PLAIN, _why_no_tree(learning, ratio), None
    elif (fits := size.flat <= memory) or learning.layers:
        reason = "it fits the memory" if fits else "layers are of all categories"
        name, why = FLAT, f"{reason}: {need}"
    else:
        name, why = PRUNED, f"flat does not fit the memory: {need}"
    return Strategy(name, why, size, ratio)


def _why_no_tree(learning: LearningSettings, ratio: float | None) -> str:
    """Why no tree is used: by what trains, or by its complexity ratio."""
    if learning.device == "gpu":
        return "a graphics card learns all categories at once"
    if ratio is None:
        return "the categories have no tree"
    return (
        "the tree hardly parts the categories: its decisions are as complex as "
        f"{ratio:.3g} of a flat one's ({GUIDES:g} or less for a tree that does)"
    )


def _require_tree(who: str, tree: Taxonomy, others: str) -> None:
    """Refuse what needs a tree where there is none; others : what does without."""
    if not has_tree(tree):
        raise refusal(
            "%(who)s needs a tree of categories, and there is none: bring one in "
            "%(remedy)s, or use %(others)s",
            who=who,
            remedy=worded("with classmark taxonomy import FILE"),
            others=others,
        )


def require(learning: LearningSettings) -> None:
    """Refuse a strategy, base or memory that means nothing, before anything is read."""
    from classmark.hierarchies.nodes import BASES
    from classmark.hierarchies.pruning import require_policy

    require_policy(learning.policy)
    choices: dict[str, Any] = {"strategy": STRATEGIES, "base": BASES, "norm": NORMS}
    choices |= {"solver": SOLVERS, "thresholds": ("none", *THRESHOLDS)}
    choices["device"] = ("cpu", "gpu")
    for name, values in choices.items():
        if (value := getattr(learning, name)) not in values:
            raise refusal(
                "%(name)s %(value)r is not known: use %(values)s",
                name=name,
                value=value,
                values=", ".join(values),
            )
    byte_size(learning.memory)
    if learning.device == "gpu" and (
        learning.learner != LEARNER or learning.strategy in (FLAT, *DESCENDING)
    ):
        raise refusal(
            "device gpu goes with the learner %(learner)s and the strategy auto "
            "or plain: use these, or %(remedy)s cpu",
            learner=LEARNER,
            remedy=worded("--device"),
        )
    if problem := learning.problem:
        raise Mistake(problem)
    require_members(learning)
    if learning.learner != LEARNER and learning.strategy in (FLAT, *DESCENDING):
        raise refusal(
            "strategy %(strategy)s goes with the learner %(learner)s, not with "
            "%(learner2)s: %(remedy)s, or use %(remedy2)s plain",
            strategy=learning.strategy,
            learner=LEARNER,
            learner2=learning.learner,
            remedy=worded("leave --learner out"),
            remedy2=worded("--strategy"),
        )


def learns_live(settings: LearningSettings) -> bool:
    """Whether the learner can learn from one decision."""
    if settings.learner == LEARNER:
        return settings.loss in (AUTO, *LIVE)
    return settings.learner in USUAL_PASSES and not settings.vote


def goes_on(settings: LearningSettings) -> bool:
    """Whether a model so trained learns from every decision.

    What naive Bayes says of the nodes is too sure for a few documents to count beside.
    """
    if settings.strategy in DESCENDING:
        return settings.base != "naive-bayes"
    return learns_live(settings) and not by_nodes(settings)


def what_learns(settings: LearningSettings) -> str:
    """What learns from all documents at once, in words."""
    if settings.learner == LEARNER:
        return f"the loss {settings.loss}"
    votes = settings.learner in USUAL_PASSES and settings.vote
    return settings.learner + (" by votes" if votes else "")


def by_nodes(settings: LearningSettings) -> bool:
    """Whether ``base`` decides: at the nodes of a tree, or over all categories."""
    flat = settings.strategy == FLAT and settings.base != "svm"
    return settings.strategy in DESCENDING or (flat and settings.learner == LEARNER)


def has_tree(tree: Taxonomy) -> bool:
    """Whether anything stands between the top and a leaf."""
    return tree.depth > (1 if len(tree.roots) == 1 else 0)


def labelled(project: Project) -> list[JudgedRecord]:
    """Documents with at least one label that are not set aside."""
    records = project.store.records()
    return [record for record in records if record.labels and teaches(record)]


def to_learn_from(
    records: Iterable[JudgedRecord], ranker: LinearRanker
) -> list[JudgedRecord]:
    """Documents the ranker can learn from: labels, preferences, or rejections alone.

    Those set apart for testing are left out.
    """
    training = (record for record in records if part_of(record) != TEST)
    if not ranker.takes_thresholds:
        training = (record.among_categories() for record in training)
    return [each for each in training if teaches(each, graphs=ranker.takes_graphs)]


def part_of(record: JudgedRecord) -> str:
    """The part of a split a document was set apart for, or nothing."""
    return record.meta.get("part", "")


def collected(
    project: Project,
    records: Sequence[JudgedRecord],
    learning: LearningSettings | None = None,
    categories: Sequence[Category] | None = None,
) -> LabelledTexts:
    """Texts and label numbers; every leaf is a category, and every label in use.

    learning : whose ``grades``, ``layers`` and ``thresholds`` say what the texts teach
    beside them.
    """
    from classmark.evaluation.evaluate import LabelledTexts

    learning = learning or project.settings.learning
    categories = project.store.categories() if categories is None else categories
    used = {name for record in records for name in spoken_of(record)}
    tree = taxonomy_of(categories)
    leaves, layers = set(tree.leaves), None
    names = [
        category.id
        for category in categories
        if category.id in used or (category.id in leaves and category.status == ACTIVE)
    ]
    number = {name: number for number, name in enumerate(names)}
    if learning.layers:
        _require_tree(f"learning in {learning.layers} layers", tree, "layers 0")
        layers = TreeLayers(tree, learning.layers, names)
    return LabelledTexts(
        [project.text_of(record) for record in records],
        [sorted(number[name] for name in record.labels) for record in records],
        names,
        taught(
            records,
            number,
            learning.grades,
            layers,
            thresholds=bool(learning.learned_thresholds),
        ),
    )


@dataclass(frozen=True, slots=True)
class TrainingTask:
    """Texts and their labels, the tree of all categories, and what is said of each.

    descriptions : node → its name, scope note and other names, as one text;  names :
    node → what it is called, its name first.
    """

    collection: LabelledTexts
    tree: Taxonomy
    descriptions: Mapping[str, str]
    names: Mapping[str, Sequence[str]]

    def names_for(self, learning: LearningSettings, strategy: Strategy) -> list[Any]:
        """What each category is called, where that is to count; else nothing."""
        nodes = by_nodes(replace(learning, strategy=strategy.name))
        usual = not nodes and not learning.learned_thresholds
        wanted = {"yes": True, "auto": usual}.get(learning.names, False)
        if not wanted or strategy.descends:
            return []
        names = [self.names.get(node, ()) for node in self.collection.categories]
        return names if any(names) else []


class FittedModel(NamedTuple):
    """A model, the strategy it follows, and the documents as it read them."""

    model: TextRanker
    strategy: Strategy
    X: Any


def task_of(collection: LabelledTexts, categories: Sequence[Category]) -> TrainingTask:
    """Put texts and categories together."""
    descriptions = {c.id: description_of(c) for c in categories}
    names = {c.id: c.names for c in categories}
    return TrainingTask(collection, taxonomy_of(categories), descriptions, names)


def fit(
    task: TrainingTask,
    vectorizer: Vectorizer,
    learning: LearningSettings,
    which: Sequence[int] | None = None,
    *,
    select: bool = False,
    working: Path | None = None,
) -> FittedModel:
    """Learn from the chosen texts, or all.

    select : choose the C of plm first, as the weight of meaning always is where it is
    open and rows are scored at once, not node by node;  working : a folder
    that keeps what is finished, nodes of a tree or blocks of labels, so that a training
    which was killed goes on.
    """
    collection = task.collection
    chosen = range(len(collection.texts)) if which is None else which
    X = _weighted(vectorizer, collection, chosen, learning.select_features)
    size = Size(*X.shape, len(collection.categories), X.dtype.itemsize)
    strategy = choose(learning, _as_built(task, chosen), size)
    strategy.require_no(learning.learned_thresholds)
    ranker = ranker_for(strategy, learning, task, vectorizer)
    lessons: Any = collection.lessons(ranker, chosen)
    shape = (X.shape[0], size.categories)
    labels = labels_from([collection.labels[i] for i in chosen], *shape)
    at_once = not by_nodes(replace(learning, strategy=strategy.name))
    if vectorizer.meaning_weight == AUTO and at_once:
        X, ranker = weigh_meaning(vectorizer, ranker, X, labels)
    if select:
        ranker = selected(X, labels, ranker)
    if strategy.descends:
        ranker.working = working  # type: ignore[attr-defined]
    graphs = collection.graphs is not None and ranker.takes_graphs
    if not graphs:
        lessons = labels_from(lessons, *shape)
    if working is not None and not graphs and _apart(ranker, size, learning):
        from classmark.machines.labels import fit_blocks

        fit_blocks(None, ranker, X, lessons, working / "labels")  # type: ignore[arg-type]
    else:
        ranker.fit(X, lessons)
    strategy = _as_pruned(strategy, learning, ranker)
    kind = TopDownTextRanker if strategy.descends else TextRanker
    return FittedModel(kind(vectorizer, ranker, collection.categories), strategy, X)


def _weighted(
    vectorizer: Vectorizer,
    collection: LabelledTexts,
    chosen: Sequence[int],
    per_label: int,
) -> Csr:
    """Fit a vectorizer on the chosen texts; return their rows.

    per_label : 0, or how many of the terms that speak for a category are kept at least
    [CrammerSinger03].
    """
    from classmark.weighting.selection import select_features

    texts = [collection.texts[i] for i in chosen]
    X = vectorizer.fit_transform(texts)
    if not per_label:
        return X
    labels = [collection.labels[i] for i in chosen]
    Y = labels_from(labels, X.shape[0], len(collection.categories))
    words = X[:, : vectorizer.meaning_columns.start]
    terms = select_features(words, Y, per_label, of="positive")
    if not len(terms):
        raise refusal(
            "no word is typical of any category: label documents first, or "
            "use %(remedy)s 0",
            remedy=worded("--select-features"),
        )
    return vectorizer.keep(terms).transform(texts)


def _apart(ranker: LinearRanker, size: Size, learning: LearningSettings) -> bool:
    """Whether labels are learned in blocks: by machines, or for want of memory."""
    large = size.flat > byte_size(learning.memory)
    if not large and spreader() is None:
        return False
    from classmark.machines.labels import has_blocks

    return has_blocks(ranker)


def _as_built(task: TrainingTask, chosen: Sequence[int]) -> Taxonomy:
    """The tree that classifiers are built on: inner categories in use have a leaf."""
    names, labels = task.collection.categories, task.collection.labels
    used = {names[c] for i in chosen for c in labels[i]}
    inner = [v for v in task.tree if v in used and not task.tree.is_leaf(v)]
    return task.tree.with_dummy_leaves(inner) if inner else task.tree


def _as_pruned(
    strategy: Strategy, learning: LearningSettings, ranker: LinearRanker
) -> Strategy:
    """What was picked is top-down where pruning took nothing away."""
    free = learning.strategy == "auto" and strategy.name == PRUNED
    if not free or ranker.pruned_:  # type: ignore[attr-defined]
        return strategy
    why = f"{strategy.why}; pruning by {learning.policy} names no node"
    return replace(strategy, name=TOP_DOWN, why=why)


def ranker_for(
    strategy: Strategy,
    learning: LearningSettings,
    task: TrainingTask,
    vectorizer: Vectorizer,
) -> LinearRanker:
    """An unfitted ranker by the strategy; ``vectorizer`` is fitted."""
    from classmark.hierarchies.flat import NodeRanker
    from classmark.hierarchies.top_down import TopDownRanker

    names = list(task.collection.categories)
    price = learning.C or NODE_C[learning.base]
    if strategy.descends:
        return TopDownRanker(
            task.tree,
            names,
            learning.base,
            price,
            prune=learning.policy if strategy.name == PRUNED else None,
            bold=learning.bold,
            memory=learning.memory,
        )
    if strategy.name == FLAT and learning.base != "svm":
        need = strategy.size._replace(item=8).flat
        others = f"{worded('--base')} svm or {worded('--strategy')} top-down"
        _require_room(f"flat with the base {learning.base}", need, learning, others)
        return NodeRanker(learning.base, price)
    if strategy.name == FLAT and strategy.complexity_ratio is not None:
        return _tree_ranker(learning, task, vectorizer)
    ranker = new_ranker(learning)
    if isinstance(ranker, EnsembleRanker):
        members = members_of(learning)
        ranker.rankers = [
            _tree_ranker(each, task, vectorizer)
            if name == TREE
            else _with_solver(new_ranker(each), task)
            for name, each in members.items()
        ]
    ranker = _with_solver(ranker, task)
    need = strategy.size._replace(item=ranker.weight_bytes).flat
    others = f"{worded('--learner')} plm or rocchio"
    _require_room(f"the learner {learning.learner}", need, learning, others)
    return ranker


def _with_solver(ranker: LinearRanker, task: TrainingTask) -> LinearRanker:
    """A log-linear ranker that leaves its solver open, with the quick one if it can.

    That takes labels without grades, preferences or layers, and the loss "dom".
    """
    if not isinstance(ranker, LogLinearRanker) or ranker.solver != AUTO:
        return ranker
    able = task.collection.graphs is None and ranker.loss == PAPER.loss
    return ranker.set_params(solver="dual" if able else "lbfgs")


def _tree_ranker(
    learning: LearningSettings, task: TrainingTask, vectorizer: Vectorizer
) -> LinearRanker:
    """The ranker whose start is smoothed along the tree, and by what is said in it."""
    from classmark.hierarchies.taxonomy_ranker import TaxonomyRanker

    texts = [task.descriptions.get(node, "") for node in task.tree]
    params = preference_parameters(learning)
    del params["device"]  # a card learns without the tree
    params["center"] = params["center"] or 0.0
    return TaxonomyRanker(
        task.tree,
        list(task.collection.categories),
        descriptions=_described_rows(vectorizer, texts),
        **params,
    )


def _described_rows(vectorizer: Vectorizer, texts: Sequence[str]) -> Csr:
    """Rows of what is said of categories, whose vectors are stored as documents' are.

    Users' own vectors have none of it.
    """
    from classmark.meaning.vector_file import VectorFile

    source = vectorizer.meaning
    if not getattr(source, "imported", False):
        written = [text for text in texts if text.strip()]
        if isinstance(source, VectorFile) and not source.has(written).all():
            source.compute(written, wait=True)
        return vectorizer.transform(texts)
    words = copy(vectorizer)
    words.meaning = words.meaning_ = None
    rows = words.rows(texts)
    return replace(rows, width=vectorizer.meaning_columns.stop).to_scipy()


def _require_room(
    learner_name: str, need: int, learning: LearningSettings, others: str
) -> None:
    """Refuse what takes more than the memory; others : the options that take less."""
    memory = byte_size(learning.memory)
    if need > memory:
        raise TooLittleMemory(
            f"{learner_name} takes {bytes_text(need)} for its weights, and "
            f"{bytes_text(memory)} are given: allow more with {worded('--memory')}, or "
            f"use {others}"
        )


def selected(X: Any, labels: Any, ranker: LinearRanker) -> LinearRanker:
    """The same ranker with the C that cross-validation prefers."""
    from classmark.evaluation.evaluate import select_cost
    from classmark.hierarchies.taxonomy_ranker import TaxonomyRanker
    from classmark.rankers.preference import PreferenceRanker

    if not isinstance(ranker, PreferenceRanker | TaxonomyRanker):
        raise refusal(
            "--select chooses the C of the learner plm: add --learner plm, and "
            "no strategy but flat or plain"
        )
    ranker = settled(ranker, rows_from(X), labels)
    return ranker.set_params(C=select_cost(ranker, X, labels).C)

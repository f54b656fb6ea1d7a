"""What documents teach, which ranker suits the tree, and how it is fitted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from classmark.arrays import rows_from
from classmark.preferences.labels import labels_from
from classmark.problems import Mistake, TooLittleMemory, worded
from classmark.progress import spreader
from classmark.rankers.auto import AUTO, PAPER
from classmark.rankers.meaning_weight import settled, weigh_meaning
from classmark.rankers.text_ranker import TextRanker, learner
from classmark.solvers.preference import THRESHOLDS
from classmark.solvers.preference_live import LIVE
from classmark.taxonomy.tree import ACTIVE, Category, taxonomy_of
from classmark.validation import byte_size
from classmark.workbench.learning.lessons import (
    TreeLayers,
    spoken_of,
    taught,
    teaches,
)
from classmark.workbench.learning.models import TopDownTextRanker
from classmark.workbench.settings import (
    MMP_LOSSES,
    LearningSettings,
    MeaningSettings,
)
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
SOLVERS = ("lbfgs", "boosting")
ROUNDED = 0.9995  # of a unit, from where three figures say the whole unit
LEAST = 999.5  # bytes, below which they are counted
LEARNER = "plm"  # the one whose start can be smoothed along the tree
USUAL_C = {"plm": 0.1, "loglinear": 30.0}
USUAL_PASSES = {"mmp": 5, "perceptron": 1}
NODE_C = {"svm": 1.0, "logistic": 100.0, "naive-bayes": 10.0}
PRECISION = 1e-2  # relative duality gap
CENTER = LearningSettings().center


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
            raise Mistake(
                f"strategy {self.name} ({self.why}) learns no thresholds: use "
                f"{worded('--thresholds')} none, or more {worded('--memory')}"
            )


def choose(learning: LearningSettings, tree: Taxonomy, size: Size) -> Strategy:
    """Pick a strategy, or check the one that was asked for.

    tree : as classifiers are built on it, with leaves for inner categories in use.
    "auto": flat where a vector for every category fits the memory, else top-down over
    the pruned tree; plain where there is no tree, or for learners that know none.
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
    elif ratio is None:
        name, why = PLAIN, "the categories have no tree"
    elif (fits := size.flat <= memory) or learning.layers:
        reason = "it fits the memory" if fits else "layers are of all categories"
        name, why = FLAT, f"{reason}: {need}"
    else:
        name, why = PRUNED, f"flat does not fit the memory: {need}"
    return Strategy(name, why, size, ratio)


def _require_tree(who: str, tree: Taxonomy, others: str) -> None:
    """Refuse what needs a tree where there is none; others : what does without."""
    if not has_tree(tree):
        raise Mistake(
            f"{who} needs a tree of categories, and there is none: bring one in "
            f"{worded('with classmark taxonomy import FILE')}, or use {others}"
        )


def require(learning: LearningSettings) -> None:
    """Refuse a strategy, base or memory that means nothing, before anything is read."""
    from classmark.hierarchies.nodes import BASES
    from classmark.hierarchies.pruning import require_policy

    require_policy(learning.policy)
    choices: dict[str, Any] = {"strategy": STRATEGIES, "base": BASES, "norm": NORMS}
    choices |= {"solver": SOLVERS, "thresholds": ("none", *THRESHOLDS)}
    for name, values in choices.items():
        if (value := getattr(learning, name)) not in values:
            raise Mistake(f"{name} {value!r} is not known: use {', '.join(values)}")
    byte_size(learning.memory)
    if problem := learning.problem:
        raise Mistake(problem)
    if learning.learner != LEARNER and learning.strategy in (FLAT, *DESCENDING):
        raise Mistake(
            f"strategy {learning.strategy} goes with the learner {LEARNER}, not with "
            f"{learning.learner}: {worded('leave --learner out')}, or use "
            f"{worded('--strategy')} plain"
        )


def learns_live(settings: LearningSettings) -> bool:
    """Whether the learner can learn from one decision."""
    if settings.learner == LEARNER:
        return settings.loss in (AUTO, *LIVE)
    return settings.learner in USUAL_PASSES and not settings.vote


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


def bytes_text(size: float) -> str:
    """A size in bytes as people read it.

    >>> bytes_text(123_000_000_000), bytes_text(56)
    ('123 GB', '56 bytes')
    """
    if size < LEAST:
        return f"{size:.0f} byte" + ("" if round(size) == 1 else "s")
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if size >= unit * ROUNDED:
            figures = ",.0f" if size >= 100 * unit else ".3g"
            return f"{size / unit:{figures}} {name}"
    return f"{size / 1e3:.3g} kB"


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

    descriptions : node → its name, scope note and other names, as one text.
    """

    collection: LabelledTexts
    tree: Taxonomy
    descriptions: Mapping[str, str]


class FittedModel(NamedTuple):
    """A model, the strategy it follows, and the documents as it read them."""

    model: TextRanker
    strategy: Strategy
    X: Any


def task_of(collection: LabelledTexts, categories: Sequence[Category]) -> TrainingTask:
    """Put texts and categories together."""
    descriptions = {c.id: described(c) for c in categories}
    return TrainingTask(collection, taxonomy_of(categories), descriptions)


def described(category: Category) -> str:
    r"""Name, scope note and other names of a category, one below the other.

    >>> described(Category("q.bee", "Bees", synonyms=("apiculture",)))
    'Bees\napiculture'
    """
    parts = (category.label, category.note, *category.synonyms)
    return "\n".join(part for part in parts if part)


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
        raise Mistake(
            "no word speaks for any category: label documents first, or use "
            f"{worded('--select-features')} 0"
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
    from classmark.hierarchies.taxonomy_ranker import TaxonomyRanker
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
    if strategy.name != FLAT or strategy.complexity_ratio is None:
        ranker = new_ranker(learning)
        need = strategy.size._replace(item=ranker.weight_bytes).flat
        others = f"{worded('--learner')} plm or rocchio"
        _require_room(f"the learner {learning.learner}", need, learning, others)
        return ranker
    texts = [task.descriptions.get(node, "") for node in task.tree]
    is_set = bool(learning.C) or learning.center != CENTER
    return TaxonomyRanker(
        task.tree,
        names,
        descriptions=_described_rows(vectorizer, texts),
        C=learning.C or None,
        center=learning.center if is_set else None,
        loss=learning.loss,
        tol=PRECISION,
        memory=learning.memory,
        thresholds=learning.learned_thresholds,
    )


def _described_rows(vectorizer: Vectorizer, texts: Sequence[str]) -> Csr:
    """Rows of what is said of categories; users' own vectors have none of it."""
    if not getattr(vectorizer.meaning, "imported", False):
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


def new_ranker(learning: LearningSettings) -> LinearRanker:
    """An unfitted ranker as the settings describe it, whatever the tree."""
    name, price = learning.learner, learning.C or USUAL_C.get(learning.learner)
    parameters: dict[str, dict[str, Any]] = {
        "plm": _preference_parameters(learning),
        "loglinear": {
            "loss": PAPER.loss if learning.loss == AUTO else learning.loss,
            "C": price,
            "solver": learning.solver,
        },
        "mmp": {"loss": int(learning.loss) if learning.loss in MMP_LOSSES else 1},
    }
    chosen = parameters.get(name, {})
    if chosen.get("solver") == "boosting":  # which cannot minimise the l2 penalty
        chosen |= {"C": learning.C or None}
        chosen |= {"penalty": "natural"} if learning.C else {}
    if name in USUAL_PASSES:
        usual = chosen.get("loss") == 1 and not learning.vote
        chosen |= {
            "passes": learning.passes or USUAL_PASSES[name],
            "average": {"yes": True, "no": False}.get(learning.average, usual),
            "vote": learning.vote,
        }
    return learner(name, **chosen)


def _preference_parameters(learning: LearningSettings) -> dict[str, Any]:
    """Those of a ``PreferenceRanker``: what the settings leave open, it chooses."""
    chooses = not learning.C and learning.loss != "svm"
    is_open = chooses and learning.center == CENTER
    return {
        "loss": learning.loss,
        "C": None if chooses else learning.C or USUAL_C[LEARNER],
        "center": AUTO if is_open else learning.center or None,
        "prior": learning.prior or (AUTO if chooses else None),
        "noise": learning.noise or (AUTO if chooses else None),
        "tol": PRECISION,
        "memory": learning.memory,
        "thresholds": learning.learned_thresholds,
    }


def new_vectorizer(
    project: Project,
    settings: LearningSettings | None = None,
    meaning: MeaningSettings | None = None,
) -> Vectorizer:
    """An unfitted vectorizer as these settings describe it, or the project's."""
    from classmark.weighting.vectorizer import Vectorizer

    learning = settings or project.settings.learning
    meaning = meaning or project.settings.meaning
    return Vectorizer(
        meaning=project.meaning(meaning),
        meaning_weight=meaning.weight or AUTO,
        analyzer=project.settings.text.analyzer,
        weighting=learning.weighting,
        norm=learning.scaled,
        min_df=learning.min_df,
        slope=learning.slope,
        characters=learning.characters,
        first_line=max(1, learning.first_line),
    )


def selected(X: Any, labels: Any, ranker: LinearRanker) -> LinearRanker:
    """The same ranker with the C that cross-validation prefers."""
    from classmark.evaluation.evaluate import select_cost
    from classmark.hierarchies.taxonomy_ranker import TaxonomyRanker
    from classmark.rankers.preference import PreferenceRanker

    if not isinstance(ranker, PreferenceRanker | TaxonomyRanker):
        raise Mistake(
            "--select chooses the C of the learner plm: add --learner plm, and no "
            "strategy but flat or plain"
        )
    if isinstance(ranker, PreferenceRanker):
        ranker = settled(ranker, rows_from(X), labels)
    return ranker.set_params(C=select_cost(ranker, X, labels).C)

"""Which ranker suits the tree of categories, and how it is fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from classmark.preferences.labels import labels_from
from classmark.problems import Mistake
from classmark.rankers.text_ranker import TextRanker, learner
from classmark.spreading import spreader
from classmark.taxonomy.category import Category, taxonomy_of
from classmark.validation import byte_size
from classmark.workbench.learning.models import TopDownTextRanker
from classmark.workbench.settings import LearningSettings

if TYPE_CHECKING:
    from classmark.evaluation.evaluate import LabelledTexts
    from classmark.hierarchies.pruning import Policy
    from classmark.rankers.linear import LinearRanker
    from classmark.taxonomy.tree import Taxonomy
    from classmark.weighting.vectorizer import Vectorizer
    from classmark.workbench.project import Project
    from classmark.workbench.results import Cell


PLAIN, FLAT, TOP_DOWN, PRUNED = "plain", "flat", "top-down", "pruned"
STRATEGIES = ("auto", PLAIN, FLAT, TOP_DOWN, PRUNED)
DESCENDING = (TOP_DOWN, PRUNED)
ROUNDED = 0.9995  # of a unit, from where three figures say the whole unit
LEAST = 999.5  # bytes, below which they are counted
LEARNER = "plm"  # the one whose start can be smoothed along the tree


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

    def facts(self) -> dict[str, Cell]:
        """The numbers, to be shown and kept."""
        return {
            "leaves": self.size.categories,
            "features": self.size.features,
            "flat_bytes": self.size.flat,
            "complexity_ratio": self.complexity_ratio,
        }


def choose(learning: LearningSettings, tree: Taxonomy, size: Size) -> Strategy:
    """Pick a strategy, or check the one that was asked for.

    tree : as classifiers are built on it, with leaves for inner categories in use.
    "auto": flat where a vector for every category fits the memory, else top-down over
    the pruned tree; plain where there is no tree, or for learners that know none.
    """
    from classmark.hierarchies.held_out import complexity_ratio
    from classmark.hierarchies.places import places_of

    require(learning)
    ratio = None
    if has_tree(tree):
        branching = places_of(tree, []).branching
        ratio = complexity_ratio(branching, len(tree.leaf_numbers))
    name, why = _picked(learning, ratio, size)
    return Strategy(name, why, size, ratio)


def require(learning: LearningSettings) -> None:
    """Refuse a strategy, base or memory that means nothing, before anything is read."""
    from classmark.hierarchies.nodes import BASES
    from classmark.hierarchies.pruning import CHOOSERS

    if learning.strategy not in STRATEGIES:
        known = ", ".join(STRATEGIES)
        raise Mistake(f"strategy {learning.strategy!r} is not known: use {known}")
    if learning.base not in BASES:
        raise Mistake(f"base {learning.base!r} is not known: use {', '.join(BASES)}")
    if learning.policy not in CHOOSERS:
        known = ", ".join(CHOOSERS)
        raise Mistake(f"policy {learning.policy!r} is not known: use {known}")
    byte_size(learning.memory)
    if learning.learner != LEARNER and learning.strategy in (FLAT, *DESCENDING):
        raise Mistake(
            f"strategy {learning.strategy} goes with the learner {LEARNER}, not with "
            f"{learning.learner}: leave --learner out, or use --strategy plain"
        )


def has_tree(tree: Taxonomy) -> bool:
    """Whether anything stands between the top and a leaf."""
    return tree.depth > (1 if len(tree.roots) == 1 else 0)


def _picked(
    learning: LearningSettings, ratio: float | None, size: Size
) -> tuple[str, str]:
    """The name of the strategy and the reason in one sentence."""
    wanted = learning.strategy
    if ratio is None and wanted in DESCENDING:
        raise Mistake(
            f"strategy {wanted} needs a tree of categories, and there is none: bring "
            "one in with classmark taxonomy import FILE, or use --strategy flat"
        )
    given = byte_size(learning.memory)
    need = f"{told(size.flat)} for flat weights, {told(given)} given"
    tree = "" if ratio is None else f"; complexity ratio {ratio:.3g} (tree to flat)"
    if wanted != "auto":
        return wanted, f"asked for ({need}{tree})"
    if learning.learner != LEARNER:
        return PLAIN, f"the learner {learning.learner} does not look at a tree"
    if ratio is None:
        return PLAIN, "the categories have no tree"
    if size.flat <= given:
        return FLAT, f"it fits the memory: {need}{tree}"
    return PRUNED, f"flat does not fit the memory: {need}{tree}"


def told(size: float) -> str:
    """A size in bytes as people read it.

    >>> told(123_000_000_000), told(56)
    ('123 GB', '56 bytes')
    """
    if size < LEAST:
        return f"{size:.0f} byte" + ("" if round(size) == 1 else "s")
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if size >= unit * ROUNDED:
            figures = ",.0f" if size >= 100 * unit else ".3g"
            return f"{size / unit:{figures}} {name}"
    return f"{size / 1e3:.3g} kB"


USUAL_C = {"plm": 0.1, "loglinear": 30.0}
NODE_C = {"svm": 1.0, "logistic": 100.0, "naive-bayes": 10.0}
PRECISION = 1e-2  # relative duality gap
CENTER = LearningSettings().center


@dataclass(frozen=True, slots=True)
class Task:
    """Texts and their labels, the tree of all categories, and what is said of each.

    said : node → its name, scope note and other names, as one text.
    """

    collection: LabelledTexts
    tree: Taxonomy
    said: Mapping[str, str]


class Fitted(NamedTuple):
    """A model, the strategy it follows, and the documents as it read them."""

    model: TextRanker
    strategy: Strategy
    X: Any


def task_of(collection: LabelledTexts, categories: Sequence[Category]) -> Task:
    """Put texts and categories together."""
    said = {c.id: described(c) for c in categories}
    return Task(collection, taxonomy_of(categories), said)


def described(category: Category) -> str:
    r"""Name, scope note and other names of a category, one below the other.

    >>> described(Category("q.bee", "Bees", synonyms=("apiculture",)))
    'Bees\napiculture'
    """
    parts = (category.label, category.note, *category.synonyms)
    return "\n".join(part for part in parts if part)


def fit(
    task: Task,
    vectorizer: Vectorizer,
    learning: LearningSettings,
    which: Sequence[int] | None = None,
    *,
    select: bool = False,
    working: Path | None = None,
) -> Fitted:
    """Learn from the chosen texts, or all.

    select : choose the C of plm first;  working : a folder that keeps what is finished,
    nodes of a tree or blocks of labels, so that a training which was killed goes on.
    """
    collection = task.collection
    chosen = range(len(collection.texts)) if which is None else which
    X = vectorizer.fit_transform([collection.texts[i] for i in chosen])
    item = X.dtype.itemsize
    size = Size(*X.shape, len(collection.categories), item)
    strategy = choose(learning, _as_built(task, chosen), size)
    ranker = ranker_for(strategy, learning, task, vectorizer)
    lessons = collection.lessons(ranker, chosen)
    if select:
        labels = [collection.labels[i] for i in chosen]
        ranker = selected(X, labels_from(labels, len(labels), size.categories), ranker)
    if strategy.descends:
        ranker.working = working  # type: ignore[attr-defined]
    graphs = collection.graphs is not None and ranker.takes_graphs
    said = lessons if graphs else labels_from(lessons, *_shape(X, size))
    if working is not None and not graphs and _apart(ranker, size, learning):
        from classmark.machines.labels import fit_blocks

        fit_blocks(None, ranker, X, said, working / "labels")  # type: ignore[arg-type]
    else:
        ranker.fit(X, said)
    strategy = _as_pruned(strategy, learning, ranker)
    kind = TopDownTextRanker if strategy.descends else TextRanker
    return Fitted(kind(vectorizer, ranker, collection.categories), strategy, X)


def _apart(ranker: LinearRanker, size: Size, learning: LearningSettings) -> bool:
    """Whether labels are learned in blocks: by machines, or for want of memory."""
    large = size.flat > byte_size(learning.memory)
    if not large and spreader() is None:
        return False
    from classmark.machines.labels import has_blocks

    return has_blocks(ranker)


def _as_built(task: Task, chosen: Sequence[int]) -> Taxonomy:
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


def _shape(X: Any, size: Size) -> tuple[int, int]:
    return X.shape[0], size.categories


def ranker_for(
    strategy: Strategy, learning: LearningSettings, task: Task, vectorizer: Vectorizer
) -> LinearRanker:
    """An unfitted ranker by the strategy; ``vectorizer`` is fitted."""
    from classmark.hierarchies.flat import NodeRanker
    from classmark.hierarchies.taxonomy_ranker import TaxonomyRanker
    from classmark.hierarchies.top_down import TopDownRanker

    names = list(task.collection.categories)
    price = learning.C or NODE_C[learning.base]
    if strategy.descends:
        policy = cast("Policy", learning.policy)
        return TopDownRanker(
            task.tree,
            names,
            learning.base,
            price,
            prune=policy if strategy.name == PRUNED else None,
            bold=learning.bold,
            memory=learning.memory,
        )
    if strategy.name != FLAT:
        return new_ranker(learning)
    if learning.base != "svm":
        _require_room(strategy.size, learning)
        return NodeRanker(learning.base, price)
    if strategy.complexity_ratio is None:
        return new_ranker(learning)
    said = vectorizer.transform([task.said.get(node, "") for node in task.tree])
    as_said = bool(learning.C) or learning.center != CENTER
    return TaxonomyRanker(
        task.tree,
        names,
        descriptions=said,
        C=learning.C or None,
        center=learning.center if as_said else None,
        loss=learning.loss,
        tol=PRECISION,
        memory=learning.memory,
    )


def _require_room(size: Size, learning: LearningSettings) -> None:
    """Refuse a weight for every category and feature that the memory does not hold."""
    need = size._replace(item=8).flat
    if need > byte_size(learning.memory):
        raise Mistake(
            f"flat with the base {learning.base} takes {told(need)} of weights, and "
            f"{told(byte_size(learning.memory))} are given: allow more with --memory, "
            "or use --base svm or --strategy top-down"
        )


def new_ranker(learning: LearningSettings) -> LinearRanker:
    """An unfitted ranker as the settings describe it, whatever the tree."""
    if learning.learner == "plm":
        return learner(
            "plm",
            loss=learning.loss,
            C=learning.C or USUAL_C["plm"],
            center=learning.center or None,
            tol=PRECISION,
            memory=learning.memory,
        )
    if learning.learner == "loglinear":
        price = learning.C or USUAL_C["loglinear"]
        return learner("loglinear", loss=learning.loss, C=price)
    if learning.learner == "mmp":
        return learner("mmp", loss=1, passes=5, average=True)
    return learner(learning.learner)


def new_vectorizer(
    project: Project, settings: LearningSettings | None = None
) -> Vectorizer:
    """An unfitted vectorizer as the settings describe it."""
    from classmark.weighting.vectorizer import Vectorizer

    learning = settings or project.settings.learning
    return Vectorizer(
        analyzer=project.settings.text.analyzer,
        weighting=learning.weighting,
        min_df=learning.min_df,
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
    return ranker.set_params(C=select_cost(ranker, X, labels).C)

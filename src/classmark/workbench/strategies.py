"""Which strategy suits this taxonomy, these documents and this memory?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from classmark.problems import Mistake
from classmark.validation import byte_size

if TYPE_CHECKING:
    from classmark.taxonomy.tree import Taxonomy
    from classmark.workbench.settings import LearningSettings
    from classmark.workbench.views import Cell

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
    from classmark.hierarchies.report import branching_of

    require(learning)
    ratio = None
    if has_tree(tree):
        branching = branching_of(places_of(tree, []))
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

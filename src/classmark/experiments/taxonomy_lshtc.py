"""Flat, top-down or something between? On four taxonomies, by three learners.

C is chosen on a quarter of the training documents, once for flat and once for top-down;
the pruned trees use top-down's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from classmark.experiments.tree_judge import TreeJudge, error_of
from classmark.experiments.tree_sets import SETS, TreeSet, load_tree_set
from classmark.hierarchies.descent import piece_of
from classmark.hierarchies.flat import FlatClassifier
from classmark.hierarchies.held_out import Learner
from classmark.hierarchies.nodes import BASES
from classmark.hierarchies.pruning import Pruned, Wish, pruned
from classmark.hierarchies.top_down import TopDownClassifier
from classmark.progress import track
from classmark.taxonomy.tree import Taxonomy

STRATEGIES = ("FL", "RN", "FH", "PR-B", "PR-M")
GRIDS = {
    "svm": (0.1, 0.3, 1.0, 3.0),
    "logistic": (10.0, 100.0, 1e3, 1e4),
    "naive-bayes": (10.0, 100.0, 1e3, 1e4),
}
DRAWS = 3  # random prunings, whose figures are averaged
PAPER = {
    "LSHTC2-3": {"FL": (0.528, 0.535), "RN": (0.493, 0.517), "FH": (0.484, 0.498),
                 "PR-B": (0.481, 0.495), "PR-M": (0.480, 0.493)},
    "LSHTC2-4": {"FL": (0.497, 0.501), "RN": (0.478, 0.484), "FH": (0.473, 0.476),
                 "PR-M": (0.469, 0.472)},
    "LSHTC2-5": {"FL": (0.542, 0.547), "RN": (0.532, 0.536), "FH": (0.526, 0.527),
                 "PR-M": (0.522, 0.523)},
    "IPC": {"FL": (0.546, 0.446), "RN": (0.547, 0.458), "FH": (0.552, 0.465),
            "PR-B": (0.546, 0.450), "PR-M": (0.544, 0.450)},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One strategy with one learner on one collection.

    error : share of test documents whose best leaf is none of theirs;  tree_error :
    edges to the nearest of theirs;  seconds : of a processor, to train;  pruning : to
    prune, before;  megabytes : as the top-down model is kept, flat too;  removed :
    inner nodes;  sign, t : p of the micro sign test and the macro t-test against FH.
    """

    collection: str
    base: str
    strategy: str
    C: float
    error: float
    macro_f1: float
    tree_error: float
    hierarchical_f1: float
    seconds: float
    pruning: float
    megabytes: float
    removed: float
    sign: float
    t: float


@dataclass(frozen=True, slots=True)
class Size:
    """What a collection is like."""

    trained: int
    tested: int
    categories: int
    nodes: int
    depth: int
    labels: float
    evenness: float
    rare: float


@dataclass(frozen=True, slots=True)
class Table:
    """Every strategy, learner and collection, and what the paper had on others."""

    rows: list[Row]
    sizes: dict[str, Size]
    paper: dict[str, dict[str, tuple[float, float]]]


@dataclass(frozen=True, slots=True)
class Trial:
    """A trained strategy: what it predicts, and what it cost."""

    predicted: list[str]
    C: float
    seconds: float
    megabytes: float
    pruning: float = 0.0
    removed: int = 0

    def costs(self) -> dict[str, float]:
        """Everything but the predictions and C."""
        names = ("seconds", "pruning", "megabytes", "removed")
        return {name: float(getattr(self, name)) for name in names}


def taxonomy_lshtc(
    data: Path | None = None,
    *,
    collections: Sequence[TreeSet] | None = None,
    bases: Sequence[str] = BASES,
    without: bool = True,
) -> Table:
    """Try every strategy with every learner on every collection.

    data : the folder of the data sets;  collections : others than SETS;  without :
    leave the collection out of what PR-M learned from (false: it is none of them).
    """
    rows: list[Row] = []
    sizes: dict[str, Size] = {}
    names = list(SETS) if collections is None else [c.name for c in collections]
    for at, name in enumerate(track(names, "trying strategies", len(names))):
        found = load_tree_set(name, data) if collections is None else collections[at]
        sizes[name] = _size(found)
        trees = Pruning(found, name if without else None)
        for base in bases:
            rows += _compared(found, base, tried(trees, base))
    return Table(rows, sizes, PAPER)


def tried(trees: Pruning, base: str) -> dict[str, list[Trial]]:
    """Train every strategy; RN, as many random nodes as PR-M removes, several times."""
    given = trees.given
    down = _down(given.taxonomy)
    flat_C, down_C = (choose(given, base, make) for make in (_flat, down))
    meta = trees.trial(Wish("meta", without=trees.without), base, down_C)
    share = meta.removed / max(1, trees.tried)
    draws = [Wish("random", share=share, seed=seed) for seed in range(DRAWS)]
    return {
        "FL": [_trial(given, _flat(base, flat_C), flat_C)],
        "RN": [trees.trial(wish, base, down_C) for wish in draws],
        "FH": [_trial(given, down(base, down_C), down_C)],
        "PR-B": [trees.trial(Wish("bound"), base, down_C)],
        "PR-M": [meta],
    }


Maker = Callable[[str, float], Any]


def choose(given: TreeSet, base: str, make: Maker) -> float:
    """The C of GRIDS with the lowest error on a quarter held out; of equals the first.

    make : of a learner's name and C, a classifier.
    """
    part = given.held_out()
    errors = []
    for C in GRIDS[base]:
        model = make(base, C).fit(part.X, part.y)
        errors.append(error_of(model.predict(part.X_test), part.y_test))
    return GRIDS[base][int(np.argmin(errors))]


def _flat(base: str, C: float) -> FlatClassifier:
    return FlatClassifier(base, C, memory="4GB")


def _down(tree: Taxonomy) -> Maker:
    return lambda base, C: TopDownClassifier(tree, base, C=C, n_jobs=1)


class Pruning:
    """Prunes a collection's tree, and trains on what is left.

    without : the collection that PR-M is not to have learned from;  tried : how many
    nodes could be removed. What does not depend on the learner is pruned once.
    """

    def __init__(self, given: TreeSet, without: str | None) -> None:
        self.given, self.without, self.tried = given, without, 0
        self._known: dict[Wish, tuple[Pruned, float]] = {}

    def trial(self, wish: Wish, base: str, C: float) -> Trial:
        """Prune as wished, then train top-down."""
        left, seconds = self._pruned(wish, Learner(base, C))
        self.tried = left.tried
        model = _down(left.taxonomy)(base, C)
        return _trial(self.given, model, C, seconds, len(left.removed))

    def _pruned(self, wish: Wish, learner: Learner) -> tuple[Pruned, float]:
        if wish in self._known:
            return self._known[wish]
        given, began = self.given, time.process_time()
        left = pruned(given.taxonomy, given.X, given.y, wish, learner)
        found = left, time.process_time() - began
        if wish.policy != "bound":
            self._known[wish] = found
        return found


def kept_bytes(model: FlatClassifier) -> int:
    """What a flat model takes, kept as the node of a top-down model is."""
    learned = (model.features_, model.weights_, model.bias_)
    piece = piece_of(*learned, model.base, 0.0)
    return sum(part.nbytes for part in piece if isinstance(part, np.ndarray))


def _trial(
    given: TreeSet, model: Any, C: float, pruning: float = 0.0, removed: int = 0
) -> Trial:
    began = time.process_time()
    model.fit(given.X, given.y)
    seconds = time.process_time() - began
    size = model.size_bytes_
    if isinstance(model, FlatClassifier):
        size = kept_bytes(model)
    predicted = [str(label) for label in model.predict(given.X_test)]
    return Trial(predicted, C, seconds, size / 1e6, pruning, removed)


def _compared(given: TreeSet, base: str, trials: dict[str, list[Trial]]) -> list[Row]:
    judge = TreeJudge(given)
    beside = trials["FH"][0].predicted
    rows = []
    for strategy, some in trials.items():
        found = [judge.measures(each.predicted) | each.costs() for each in some]
        means = {key: float(np.mean([each[key] for each in found])) for key in found[0]}
        sign, t = judge.chances(some[0].predicted, beside)
        row = Row(given.name, base, strategy, C=some[0].C, sign=sign, t=t, **means)
        rows.append(row)
    return rows


def _size(given: TreeSet) -> Size:
    return Size(
        len(given.y),
        len(given.y_test),
        len(given.sizes),
        len(given.taxonomy),
        given.taxonomy.depth,
        float(np.mean([len(own) for own in given.y])),
        given.evenness,
        given.rare,
    )

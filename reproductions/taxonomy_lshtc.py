"""Flat, top-down or something between? On four taxonomies, by three learners.

C is chosen on a quarter of the training documents, once for flat and once for top-down;
the pruned trees use top-down's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from classmark.figures import HUES, INK, LINE
from classmark.hierarchies.flat import FlatClassifier
from classmark.hierarchies.held_out import NodeLearner
from classmark.hierarchies.nodes import BASES, piece_of
from classmark.hierarchies.pruning import Pruned, PruningOptions, pruned
from classmark.hierarchies.top_down import TopDownClassifier
from classmark.measures import bootstrap_interval, sign_test
from classmark.progress import track
from classmark.taxonomy.tree import Taxonomy
from reproductions.report import ROUNDS, STYLE, Reproduction, chance, holds, save
from reproductions.tree_sets import (
    SETS,
    TreeJudge,
    TreeSet,
    error_of,
    load_tree_set,
    wrong,
)

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
    inner nodes;  sign, t : p of the micro sign test and the macro t-test against FH;
    apart : strategy → 95 % interval of this error less that one's, by bootstrap over
    the test documents.
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
    apart: dict[str, tuple[float, float]]


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
    meta = trees.trial(PruningOptions("meta", without=trees.without), base, down_C)
    share = meta.removed / max(1, trees.tried)
    draws = [PruningOptions("random", share=share, seed=seed) for seed in range(DRAWS)]
    return {
        "FL": [_trial(given, _flat(base, flat_C), flat_C)],
        "RN": [trees.trial(wish, base, down_C) for wish in draws],
        "FH": [_trial(given, down(base, down_C), down_C)],
        "PR-B": [trees.trial(PruningOptions("bound"), base, down_C)],
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
        self._known: dict[PruningOptions, tuple[Pruned, float]] = {}

    def trial(self, wish: PruningOptions, base: str, C: float) -> Trial:
        """Prune as wished, then train top-down."""
        left, seconds = self._pruned(wish, NodeLearner(base, C))
        self.tried = left.tried
        model = _down(left.taxonomy)(base, C)
        return _trial(self.given, model, C, seconds, len(left.removed))

    def _pruned(
        self, wish: PruningOptions, learner: NodeLearner
    ) -> tuple[Pruned, float]:
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
    errors = {
        strategy: np.mean([wrong(one.predicted, given.y_test) for one in some], axis=0)
        for strategy, some in trials.items()
    }
    rows = []
    for strategy, some in trials.items():
        found = [judge.measures(each.predicted) | each.costs() for each in some]
        means: dict[str, Any] = {
            key: float(np.mean([each[key] for each in found])) for key in found[0]
        }
        sign, t = judge.chances(some[0].predicted, beside)
        apart = {
            rival: bootstrap_interval(errors[strategy], theirs, rounds=ROUNDS)
            for rival, theirs in errors.items()
            if rival != strategy
        }
        means |= {"C": some[0].C, "sign": sign, "t": t, "apart": apart}
        rows.append(Row(given.name, base, strategy, **means))
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


SURE = 0.05


def claims(table: Table) -> list[str]:
    """What the paper says of its collections, said of these, each with its values.

    In brackets 95 % intervals of differences, by bootstrap over the test documents.
    """
    return [
        *_lower(table, "FH", "FL"),
        *_lower(table, "PR-B", "FH"),
        *_lower(table, "PR-M", "FH"),
        *_lower(table, "PR-M", "RN"),
        _balance(table),
        *_costs(table),
    ]


def by_strategy(rows: Iterable[Row]) -> dict[tuple[str, str], dict[str, Row]]:
    """Rows by collection and learner, then by strategy."""
    found: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        found.setdefault((row.collection, row.base), {})[row.strategy] = row
    return found


def _lower(table: Table, one: str, other: str) -> list[str]:
    """One strategy errs at most as often as another: in all, and by each learner."""
    compared = by_strategy(table.rows)
    pairs = {key: (here[one], here[other]) for key, here in compared.items()}
    claim = f"{one} errs no more than {other}"
    intervals = [mine.apart[other] for mine, _ in pairs.values()]
    less = sum(high < 0 for _, high in intervals)
    more = sum(low > 0 for low, _ in intervals)
    surely = f"surely less in {less}, surely more in {more}"
    said = [f"{claim}: {_verdict(list(pairs.values()))}; {surely}"]
    for base in dict.fromkeys(row.base for row in table.rows):
        own = [pair for (_, learner), pair in pairs.items() if learner == base]
        parts = "; ".join(_beside(*pair) for pair in own)
        said.append(f"{base}, {claim}: {_verdict(own)} ({parts})")
    return said


def _verdict(pairs: Sequence[tuple[Row, Row]]) -> str:
    held = sum(mine.error <= theirs.error for mine, theirs in pairs)
    if held in (0, len(pairs)):
        return holds(held > 0)
    return f"holds in {held} of {len(pairs)}"


def _beside(mine: Row, theirs: Row) -> str:
    """Both errors, the difference with its interval, and p of the test against FH."""
    low, high = mine.apart[theirs.strategy]
    apart = f"{mine.error - theirs.error:+.3f} ({low:+.3f} … {high:+.3f})"
    p = {"FH": mine.sign}.get(theirs.strategy, theirs.sign)
    told = f", {chance(p)}" if "FH" in (mine.strategy, theirs.strategy) else ""
    errors = f"{mine.error:.3f} and {theirs.error:.3f}"
    return f"{mine.collection} {errors}, {apart}{told}"


def _balance(table: Table) -> str:
    """Flat wins with SVM where categories are balanced: the most even collection."""
    even = max(table.sizes, key=lambda name: table.sizes[name].evenness)
    listed, wins = [], []
    for name in sorted(table.sizes, key=lambda name: -table.sizes[name].evenness):
        here = by_strategy(table.rows).get((name, "svm"))
        if here is not None:
            evenness = f"evenness {table.sizes[name].evenness:.2f}"
            listed.append(f"{_beside(here['FL'], here['FH'])}, {evenness}")
            wins += [name] * (here["FL"].error < here["FH"].error)
    return (
        f"svm, FL wins where categories are balanced: {holds(even in wins)} on the "
        f"most even collection; FL errs less on {len(wins)} of {len(listed)} "
        f"({'; '.join(listed)})"
    )


def _costs(table: Table) -> list[str]:
    """FH trains faster, and is smaller, than FL; p of a sign test over comparisons.

    The mean of the ratios is the geometric one, its interval a bootstrap over them.
    """
    said = []
    for what in ("seconds", "megabytes"):
        ratios = {
            key: getattr(here["FL"], what) / max(1e-9, getattr(here["FH"], what))
            for key, here in by_strategy(table.rows).items()
        }
        logs = np.log(list(ratios.values()))
        less, n = int((logs > 0).sum()), len(logs)
        low, high = np.exp(bootstrap_interval(logs, rounds=ROUNDS))
        p = sign_test(logs, np.zeros(n)).p_value
        told = "; ".join(
            f"{name} {base} {ratio:.2g}×" for (name, base), ratio in ratios.items()
        )
        word = "trains faster" if what == "seconds" else "is smaller"
        verdict = holds(less > 0) if less in (0, n) else f"holds in {less} of {n}"
        said.append(
            f"FH {word} than FL: {verdict}, {chance(p)}; FL/FH on average "
            f"{np.exp(logs.mean()):.2f} ({low:.2f} … {high:.2f}): {told}"
        )
    return said


SHORT = {"svm": "SVM", "logistic": "MLR", "naive-bayes": "NB"}


def taxonomy_report(table: Table) -> Reproduction:
    """A row a collection and strategy: errors by learner, the rest for the first."""
    first = table.rows[0].base
    cells: dict[tuple[str, str], dict[str, str | float | None]] = {}
    for row in table.rows:
        key = (row.collection, row.strategy)
        line = cells.setdefault(
            key, {"collection": row.collection, "strategy": row.strategy}
        )
        line[f"{SHORT[row.base]} error"] = f"{row.error:.3f}{_mark(row)}"
    for row in table.rows:
        if row.base == first:
            name = SHORT[first]
            cells[row.collection, row.strategy] |= {
                f"{name} tree error": f"{row.tree_error:.2f}",
                f"{name} hF1": f"{row.hierarchical_f1:.3f}",
                f"{name} macro-F1": f"{row.macro_f1:.3f}",
                f"{name} seconds": f"{row.seconds:.1f}",
                f"{name} MB": f"{row.megabytes:.1f}",
                "nodes removed": f"{row.removed:.0f}",
            }
    told = "; ".join(
        f"{name}: {size.trained:,} training and {size.tested:,} test documents, "
        f"{size.categories:,} categories, depth {size.depth}"
        for name, size in table.sizes.items()
    )
    return Reproduction(
        "Flat, top-down and pruned: error rate",
        list(cells.values()),
        claims(table),
        partial(strategy_dots, table, title="Error by strategy and learner"),
        f"{told}; a document errs when its best category is none of its own; * surely "
        f"different from FH (micro sign test, p < {SURE}); processor seconds to train; "
        "in brackets 95 % intervals of differences, bootstrap over test documents",
        asdict(table),
    )


def _mark(row: Row) -> str:
    return "*" if row.sign < SURE and row.strategy != "FH" else ""


def strategy_dots(table: Table, path: Path, title: str) -> None:
    """Draw a panel a collection: the error of each strategy, a line a learner."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    names, places = list(table.sizes), np.arange(len(STRATEGIES))
    with rc_context(STYLE):
        figure = Figure(figsize=(2.6 * len(names), 3.4))
        panels = figure.subplots(1, len(names), squeeze=False)[0]
        for axes, name in zip(panels, names, strict=True):
            lines = [
                (base, here)
                for (own, base), here in by_strategy(table.rows).items()
                if own == name
            ]
            for hue, (base, here) in zip(HUES, lines, strict=False):
                errors = [here[strategy].error for strategy in STRATEGIES]
                axes.plot(
                    places, errors, "o-", color=hue, label=SHORT[base], linewidth=0.8
                )
            axes.set(title=name, xticks=places, xticklabels=STRATEGIES)
            axes.tick_params(axis="x", labelsize=8)
            axes.grid(axis="y", color=LINE, linewidth=0.6)
        panels[0].set_ylabel("error")
        panels[0].legend(frameon=False, labelcolor="linecolor")
        figure.suptitle(title, x=0.02, ha="left", color=INK)
        figure.tight_layout()
        save(figure, path)


def reproduce(data: Path | None) -> Reproduction:
    """Flat, top-down and pruned classification on four taxonomies [Babbar13]."""
    return taxonomy_report(taxonomy_lshtc(data))

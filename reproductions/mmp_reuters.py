"""Is each on-line ranker best at the loss it was made for? The paper's table, Reuters.

10,789 documents of Reuters-21578 (ModApté, training and test part together) that have
one of the 90 topics both parts have; five folds; pivoted weights and Rocchio's feature
selection, both from the four training folds only [CrammerSinger03]. As in the paper the
on-line algorithms go once through the training documents, in the order of their ids,
and the last prototypes rank the fifth fold; averaged prototypes are extra rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from classmark.arrays import Floats, Ints, Rows, keep_columns, rows_from
from classmark.corpus.documents import folds
from classmark.evaluation.figures import learning_panel, lines_of
from classmark.figures import Axis, Figure, Panel, write_figure
from classmark.measures import (
    bootstrap_interval,
    category_ranking,
    category_ranking_per_document,
    paired_t_test,
    precision_at_rank,
    recall_at_rank,
)
from classmark.preferences.labels import labels_from
from classmark.problems import Mistake
from classmark.progress import spread
from classmark.rankers.linear import LinearRanker, Rocchio
from classmark.rankers.online import MMP, CategoryPerceptron
from classmark.weighting.selection import select_features
from classmark.weighting.vectorizer import Vectorizer
from reproductions.report import ROUNDS, Reproduction, difference, half_width, holds

ANALYZER = "words|lower|digits(token)|stop(english)"
FOLDS, LEAST, SHARE, SURE = 5, 100, 0.025, 0.05
PAPER_WORDS, PAPER_FEATURES = 25_061, 3_468
COLUMNS = {
    "loss1": 100.0,
    "loss2": 1.0,
    "loss3": 100.0,
    "one_error": 100.0,
    "coverage": 1.0,
    "average_precision": 1.0,
    "max_f1": 1.0,
    "curve_max_f1": 1.0,  # of a fold, the paper's MaxF1
}
HIGHER = ("average_precision", "max_f1", "curve_max_f1")
PAPER: dict[str, tuple[float | None, ...]] = {
    "Rocchio": (None, None, None, 14.48, 1.29, 0.90, None, 0.85),
    "perceptron": (15.71, 4.87, 3.13, 9.59, 4.27, 0.91, None, 0.89),
    "MMP loss 3": (19.13, 0.92, 0.60, 14.51, 0.96, 0.90, None, 0.84),
}
LEARNERS: dict[str, Callable[[], LinearRanker]] = {  # in the order of the days
    "Rocchio": Rocchio,
    "perceptron": partial(CategoryPerceptron, shuffle=False),
    "MMP loss 1": partial(MMP, 1, shuffle=False),
    "MMP loss 2": partial(MMP, 2, shuffle=False),
    "MMP loss 3": partial(MMP, 3, shuffle=False),
}
AVERAGED: dict[str, Callable[[], LinearRanker]] = {
    "perceptron, averaged": partial(CategoryPerceptron, average=True, shuffle=False),
    "MMP loss 1, averaged": partial(MMP, 1, average=True, shuffle=False),
    "MMP loss 2, averaged": partial(MMP, 2, average=True, shuffle=False),
    "MMP loss 3, averaged": partial(MMP, 3, average=True, shuffle=False),
}
ONLINE = ("perceptron", "MMP loss 1", "MMP loss 2", "MMP loss 3")
LOSSES = ("loss1", "loss2", "loss3")
CURVES = (*ONLINE, "Rocchio")  # of precision and recall, in the colours of the losses
LATE, HIGH = 0.9, 0.95  # recall: beyond them the paper's perceptron falls, is low

Found = Mapping[str, Mapping[str, Floats]]


class Collection(NamedTuple):
    """Texts in the order of their ids, with the numbers of their topics."""

    texts: Sequence[str]
    labels: Sequence[Sequence[int]]
    topics: Sequence[str]


@dataclass(frozen=True, slots=True)
class Row:
    """One method: means over all documents, losses 1 and 3 and one-error × 100.

    paper : what was published, None where the figure is lost or was not given.
    """

    method: str
    measures: dict[str, float]
    paper: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Table:
    """The rows, the sizes, the claims, and the losses along the training stream.

    words, features : means over the folds;  labels : how many documents have 1, 2, …
    topics;  curves : loss → method → values at ``rounds``, the mean of the losses up to
    there, over the folds;  recall, precision : method → mean at each rank.
    """

    rows: list[Row]
    documents: int
    topics: int
    words: float
    features: float
    labels: list[int]
    rounds: list[int]
    curves: dict[str, dict[str, list[float]]]
    recall: dict[str, list[float]]
    precision: dict[str, list[float]]
    claims: list[str]


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Weighted rows of the selected terms, and the size of what they come from."""

    train: Rows
    test: Rows
    words: int


def collection(data: Path | None = None) -> Collection:
    """Load the 10,789 documents, in the order of their ids."""
    from classmark.datasets import load

    dataset = load("reuters-21578", data, split="modapte")
    parts = (dataset.train, dataset.test)
    seen = [{name for names in part.labels for name in names} for part in parts]
    topics = sorted(seen[0] & seen[1])
    number = {name: at for at, name in enumerate(topics)}
    documents = [
        (int(name), text, [number[label] for label in labels if label in number])
        for part in parts
        for name, text, labels in zip(part.ids, part.texts, part.labels, strict=True)
    ]
    kept = sorted(document for document in documents if document[2])
    return Collection([text for _, text, _ in kept], [own for *_, own in kept], topics)


def mmp_reuters(data: Path | None = None) -> Table:
    """Cross-validate every method on Reuters-21578.

    data : the folder of the data sets, or None for that of ``CLASSMARK_DATA``.
    """
    return compare(collection(data))


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What one fold gives, by method.

    sizes : of words and features;  measures : by document;  losses : of the rounds,
    shape (n, 3);  at_rank : recall and precision at each rank, shape (2, topics).
    """

    sizes: tuple[int, int]
    measures: dict[str, dict[str, Floats]]
    losses: dict[str, Floats]
    at_rank: dict[str, Floats]


def compare(documents: Collection, n_folds: int = FOLDS) -> Table:
    """Do it for any collection."""
    n, k = len(documents.texts), len(documents.topics)
    found = {
        name: {key: np.empty(n) for key in COLUMNS} for name in LEARNERS | AVERAGED
    }
    parts = list(folds(n, n_folds))
    done = list(spread(_fold_measured, parts, [documents], "folds"))
    for (_, test), fold in zip(parts, done, strict=True):
        for name, values in fold.measures.items():
            for key in COLUMNS:
                found[name][key][test] = values[key]
    rounds, curves = round_averaged(
        {name: [fold.losses[name] for fold in done] for name in ONLINE}
    )
    at_rank = {
        name: np.mean([fold.at_rank[name] for fold in done], axis=0) for name in CURVES
    }
    recall, precision = (
        {name: values[which].tolist() for name, values in at_rank.items()}
        for which in (0, 1)
    )
    words, features = np.mean([fold.sizes for fold in done], axis=0)
    return Table(
        [_row(name, values) for name, values in found.items()],
        *(n, k, float(words), float(features)),
        np.bincount([len(own) for own in documents.labels])[1:].tolist(),
        *(rounds.tolist(), curves, recall, precision),
        [*claims(found), *curve_claims(at_rank, [f.at_rank for f in done]), NOT_HERE],
    )


def _fold_measured(part: tuple[Ints, Ints], documents: Collection) -> Measured:
    """Teach every method by one fold."""
    train, test = part
    labels = [documents.labels[i] for i in train]
    truth = [documents.labels[i] for i in test]
    fold = prepare(documents, train, test)
    measures, losses, at_rank = {}, {}, {}
    for name, learner in (LEARNERS | AVERAGED).items():
        ranker = taught(learner(), fold.train, labels, len(documents.topics))
        if name in ONLINE:
            losses[name] = getattr(ranker, "losses_")  # noqa: B009 - of two classes
        scores = ranker.decision_function(fold.test)
        measures[name] = category_ranking_per_document(scores, truth)
        of_curve = category_ranking(scores, truth, ["curve_max_f1"])["curve_max_f1"]
        measures[name]["curve_max_f1"] = np.full(len(truth), of_curve)
        if name in CURVES:
            precision = precision_at_rank(scores, truth, normalized=False)
            at_rank[name] = np.array([recall_at_rank(scores, truth), precision])
    return Measured((fold.words, fold.train.width), measures, losses, at_rank)


def prepare(documents: Collection, train: Ints, test: Ints) -> Fold:
    """Weigh, and select terms, by the training documents alone."""
    vectorizer = Vectorizer(ANALYZER, "pivoted", None)
    X = rows_from(vectorizer.fit_transform([documents.texts[i] for i in train]))
    labels = [documents.labels[i] for i in train]
    chosen = select_terms(X, labels, len(documents.topics))
    X_test = vectorizer.rows([documents.texts[i] for i in test])
    return Fold(keep_columns(X, chosen), keep_columns(X_test, chosen), X.width)


def select_terms(
    X: Rows, labels: Sequence[Sequence[int]], n_labels: int, least: int = LEAST
) -> Ints:
    """Rocchio's selection: of a topic's terms the top 2.5 %, at least 100; the union.

    A topic's terms are those with a positive weight for it. (This reading of the paper
    gives as many features as it had; 2.5 % of all terms would be three times as many.)
    """
    Y = labels_from(labels, len(X), n_labels)
    return select_features(X, Y, least, SHARE, of="positive")


def taught(
    ranker: LinearRanker, X: Rows, labels: Sequence[Sequence[int]], n_labels: int
) -> LinearRanker:
    """Fit on all labels there are, also those no document of the fold has."""
    return ranker.fit(X, labels_from(labels, len(X), n_labels))


def round_averaged(
    losses: Mapping[str, Sequence[Floats]], points: int = 50
) -> tuple[Ints, dict[str, dict[str, list[float]]]]:
    """Mean of the losses up to a round, over the folds, at log-spaced rounds.

    losses : method → for each fold the losses 1 to 3 of its rounds, shape (n, 3).
    """
    shortest = min(len(one) for runs in losses.values() for one in runs)
    rounds = np.unique(np.geomspace(1, shortest, points).round().astype(np.int64))
    curves: dict[str, dict[str, list[float]]] = {name: {} for name in LOSSES}
    for method, runs in losses.items():
        sums = np.mean([np.cumsum(one[:shortest], axis=0) for one in runs], axis=0)
        for at, name in enumerate(LOSSES):
            curves[name][method] = (sums[rounds - 1, at] / rounds).tolist()
    return rounds, curves


def _row(name: str, values: Mapping[str, Floats]) -> Row:
    measured = {
        key: scale * float(values[key].mean()) for key, scale in COLUMNS.items()
    }
    published = PAPER.get(name, (None,) * len(COLUMNS))
    return Row(name, measured, dict(zip(COLUMNS, published, strict=True)))


def claims(found: Found) -> list[str]:
    """Say of each of the paper's claims, with numbers, whether it holds here."""
    missing = [name for name in LEARNERS if name not in found]
    if missing:
        raise Mistake(f"rows lack {', '.join(missing)}: claims need every method")
    main = {name: found[name] for name in LEARNERS}
    said = [_as_published(main["MMP loss 3"])]
    said += [_best(f"MMP {name[:4]} {name[4:]}", name, main) for name in LOSSES]
    for key in ("one_error", "average_precision", "max_f1"):
        said.append(_best("MMP loss 1", key, main))
    coverage = {name: float(values["coverage"].mean()) for name, values in main.items()}
    first, second = sorted(coverage, key=coverage.__getitem__)[:2]
    both = {first, second} == {"MMP loss 2", "MMP loss 3"}
    said.append(
        f"MMP loss 2 and 3 win coverage: {holds(both)}; best are {first} "
        f"{coverage[first]:.3f} and {second} {coverage[second]:.3f}; "
        f"{_further(main, coverage, 1)}"
    )
    worst = max(coverage, key=coverage.__getitem__)
    listed = ", ".join(f"{name} {value:.3f}" for name, value in coverage.items())
    verdict = holds(worst == "perceptron")
    said.append(
        f"the perceptron has the worst coverage: {verdict}; "
        f"{_further(main, coverage, len(coverage) - 2)}; {listed}"
    )
    return said


def _further(found: Found, coverage: Mapping[str, float], at: int) -> str:
    """How much further the next method in order of coverage goes than the one at."""
    near, far = sorted(coverage, key=coverage.__getitem__)[at : at + 2]
    apart = difference(found[far]["coverage"], found[near]["coverage"], "+.3f")
    return f"{far} less {near} {apart}"


def _as_published(values: Mapping[str, Floats]) -> str:
    published = dict(zip(COLUMNS, PAPER["MMP loss 3"], strict=True))
    parts = []
    for key in ("loss2", "loss3", "coverage", "average_precision"):
        own, theirs = COLUMNS[key] * float(values[key].mean()), published[key] or 0.0
        good = own >= theirs if key in HIGHER else own <= theirs
        low, high = bootstrap_interval(COLUMNS[key] * values[key], rounds=ROUNDS)
        apart = f"95 % {low:.3f} … {high:.3f}"
        parts.append(f"{key} {own:.3f} ({theirs:.2f}) {holds(good)}, {apart}")
    return f"MMP loss 3 is at least as good as published: {'; '.join(parts)}"


def _best(method: str, key: str, found: Found) -> str:
    """Whether a method is best by a measure, and how surely against each other one."""
    sign = -1.0 if key in HIGHER else 1.0
    mean = {name: float(values[key].mean()) for name, values in found.items()}
    best = min(mean, key=lambda name: sign * mean[name])
    against = []
    for name, value in mean.items():
        if name != method:
            p = paired_t_test(found[method][key], found[name][key]).p_value
            sure = "" if p < SURE else ", not sure"
            against.append(f"{name} {COLUMNS[key] * value:.4g} (p {p:.2g}{sure})")
    verdict = holds(best == method) + ("" if best == method else f", {best} is")
    own = COLUMNS[key] * mean[method]
    rival = min(set(mean) - {method}, key=lambda name: sign * mean[name])
    low, high = bootstrap_interval(
        *(found[rival][key], found[method][key]), rounds=ROUNDS
    )
    apart = f"{rival} differs by {COLUMNS[key] * low:.3g} … {COLUMNS[key] * high:.3g}"
    return (
        f"{method} is best by {key}: {verdict}; {own:.4g}; {', '.join(against)}; "
        f"{apart} (95 %, bootstrap)"
    )


NOT_HERE = "Rocchio is worst overall on Reuters 2000: cannot be tried here (data)"


def curve_claims(
    curves: Mapping[str, Floats], by_fold: Sequence[Mapping[str, Floats]]
) -> list[str]:
    """Say of the graph of precision against recall what the paper says of its own.

    curves : method → mean recall and precision at each rank, shape (2, ranks);
    by_fold : the same of each fold, over which 95 % intervals are.
    """
    end, high = lasts_until(curves), precise_at(curves, HIGH)
    worst, second = sorted(high, key=high.__getitem__)[:2]
    each = [precise_at(fold, HIGH) for fold in by_fold]
    apart = half_width([fold[second] - fold[worst] for fold in each])
    listed = ", ".join(f"{name} {value:.3f}" for name, value in high.items())
    spread = half_width([lasts_until(fold) for fold in by_fold])
    above = (
        f"the perceptron is above MMP loss 2 and 3 up to recall {LATE:g}: "
        f"{holds(end >= LATE)}; up to {end:.3f} ± {spread:.3f} over the folds"
    )
    least = (
        f"the perceptron has the least precision at high recall: "
        f"{holds(worst == 'perceptron')}; precision at recall {HIGH:g}: {listed}; "
        f"{second} less {worst} {high[second] - high[worst]:+.3f} ± {apart:.3f} over "
        "the folds"
    )
    return [above, least]


def precise_at(curves: Mapping[str, Floats], recall: float) -> dict[str, float]:
    """Return the precision of each method where the recall is so much."""
    return {name: float(np.interp(recall, *curves[name])) for name in CURVES}


def lasts_until(curves: Mapping[str, Floats]) -> float:
    """Return the recall up to which the perceptron is above MMP losses 2 and 3."""
    grid = np.arange(curves["perceptron"][0][0], 1.0, 0.001)
    at = {name: np.interp(grid, *curves[name]) for name in CURVES}
    others = np.maximum(at["MMP loss 2"], at["MMP loss 3"])
    below = np.flatnonzero(at["perceptron"] < others)
    return float(grid[below[0]]) if below.size else 1.0


def reproduce(data: Path | None) -> Reproduction:
    """Losses and measures of on-line category rankers [CrammerSinger03]."""
    return rounds_report(mmp_reuters(data))


def rounds_report(table: Table) -> Reproduction:
    """Put the measures beside the paper's; draw the losses of the training stream."""
    rows: list[dict[str, str | float | None]] = []
    for row in table.rows:
        cells: dict[str, str | float | None] = {"method": row.method}
        for key in COLUMNS:
            published = row.paper[key]
            beside = "" if published is None else f" ({published:g})"
            cells[key] = f"{row.measures[key]:.3f}{beside}"
        rows.append(cells)
    panels = [
        learning_panel(
            f"{loss[:4]} {loss[4:]}",
            {name: (table.rounds, values) for name, values in curves.items()},
            log=loss != "loss1",
        )
        for loss, curves in table.curves.items()
    ]
    graph = {name: (table.recall[name], table.precision[name]) for name in CURVES}
    axes = (Axis("recall", high=1.0), Axis("precision", low=0.0, high=1.0))
    panels.append(Panel(lines_of(graph), *axes, "precision against recall"))
    title = "Mean loss up to a training document; precision against recall"
    figure = Figure(title, panels, columns=2, size=(400, 280))
    return Reproduction(
        "On-line category ranking: Reuters-21578, five folds",
        rows,
        table.claims,
        partial(write_figure, figure),
        "measured (published); losses 1 and 3 and one-error × 100; max_f1 by document, "
        "curve_max_f1 of mean precision and recall, as the paper's seems to be; "
        f"{table.documents:,} documents, {table.topics} topics, {table.words:,.0f} "
        f"words in a fold (the paper's: {PAPER_WORDS:,}), {table.features:,.0f} "
        f"selected ({PAPER_FEATURES:,})",
        asdict(table),
    )

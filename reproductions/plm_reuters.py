"""Do preferences rank categories better than binary classifiers? Reuters, by rank.

ModApté as in the paper: the 115 categories with a training document, 7,775 training and
3,019 test documents, no stop words, no numbers, Porter stems; C of each loss by
five-fold cross-validation on the loss's own cost [AiolliSebastianiSperduti08]. The
weights are tf·idf, of unit length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from classmark.arrays import Floats, rows_from
from classmark.evaluation.evaluate import Selected, select_cost
from classmark.evaluation.figures import rank_curves
from classmark.measures import (
    bootstrap_interval,
    category_ranking,
    paired_t_test,
    precision_at_rank,
)
from classmark.measures.categories import rank_relevant
from classmark.problems import Mistake
from classmark.progress import track
from classmark.rankers.preference import PreferenceRanker
from reproductions.report import Reproduction, holds

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from classmark.datasets.dataset import DatasetPart


BASELINE = "svm"
MAPPINGS = ("dis", "dom", "dme", "dom-dme", BASELINE)
CENTERED = "dom, from Rocchio"
CENTERS = (1.0, 3.0, 10.0)
RANKS = (1, 2, 3, 5, 10, 20, 50)
CS = (0.01, 0.1, 1.0, 10.0, 100.0)
LOW, HIGH = (1, 3), (10, 50)
TOL, SURE, ALIKE = 1e-2, 0.05, 0.002

Labels = list[list[int]]


@dataclass(frozen=True, eq=False)
class Split:
    """Weighted training and test documents, with their label numbers."""

    X: csr_matrix
    labels: Labels
    X_test: csr_matrix
    test_labels: Labels
    categories: list[str]


@dataclass(frozen=True, slots=True)
class Row:
    """One loss: its C, measures, precision by rank, and how sure it is.

    precision : normalised, shape (categories,);  chance : p of a paired t-test over
    documents, at each of some ranks, between this row and the baseline.
    """

    method: str
    C: float
    center: float | None
    measures: dict[str, float]
    precision: list[float]
    chance: dict[int, float]


@dataclass(frozen=True, slots=True)
class Curves:
    """The rows, the size of the collection, and which claims hold."""

    rows: list[Row]
    trained: int
    tested: int
    words: int
    claims: list[str]


def collection(data: Path | None = None) -> Split:
    """Load ModApté, without the documents that have no category."""
    from classmark.datasets import load
    from classmark.text import Analyzer
    from classmark.weighting.vectorizer import Vectorizer

    dataset = load("reuters-21578", data, split="modapte")
    categories = sorted({name for names in dataset.train.labels for name in names})
    number = {name: at for at, name in enumerate(categories)}
    texts, labels = _labelled(dataset.train, number)
    test_texts, test_labels = _labelled(dataset.test, number)
    vectorizer = Vectorizer(Analyzer(digits="drop", stem="porter"))
    X = vectorizer.fit_transform(texts)
    return Split(X, labels, vectorizer.transform(test_texts), test_labels, categories)


def _labelled(part: DatasetPart, number: dict[str, int]) -> tuple[list[str], Labels]:
    texts, labels = [], []
    for text, names in zip(part.texts, part.labels, strict=True):
        known = [number[name] for name in names if name in number]
        if known:
            texts.append(text)
            labels.append(known)
    return texts, labels


def plm_reuters(
    data: Path | None = None, *, Cs: Sequence[float] = CS, n_folds: int = 5
) -> Curves:
    """Choose C, train, and measure along the ranks, for each loss.

    data : the folder of the data sets, or None for that of ``CLASSMARK_DATA``.
    """
    return compare(collection(data), Cs, n_folds)


def compare(split: Split, Cs: Sequence[float] = CS, n_folds: int = 5) -> Curves:
    """Do it for one split of any collection."""
    jobs: list[tuple[str, str, Sequence[float | None]]] = [
        (name, name, (None,)) for name in MAPPINGS
    ]
    jobs.append((CENTERED, "dom", CENTERS))
    rankers = {
        name: trained(split, loss, centers, (Cs, n_folds))
        for name, loss, centers in track(jobs, "losses", len(jobs))
    }
    scores = {
        name: ranker.decision_function(split.X_test) for name, ranker in rankers.items()
    }
    found = {name: hits(table, split.test_labels) for name, table in scores.items()}
    rows = [
        Row(
            name,
            ranker.kept_as[1]["C"],
            ranker.kept_as[1]["center"],
            category_ranking(scores[name], split.test_labels),
            precision_at_rank(scores[name], split.test_labels).tolist(),
            chances(found[name], found[BASELINE]),
        )
        for name, ranker in rankers.items()
    ]
    size = (split.X.shape[0], split.X_test.shape[0], split.X.shape[1])
    return Curves(rows, *size, [*claims(rows), *differences(scores, split.test_labels)])


def trained(
    split: Split,
    loss: str,
    centers: Sequence[float | None],
    selection: tuple[Sequence[float], int],
) -> PreferenceRanker:
    """Choose C, and the center where there are several, by the loss's own cost."""
    X = rows_from(split.X)
    tried: list[tuple[float, float | None, Selected]] = []
    for center in centers:
        ranker = PreferenceRanker(loss, tol=TOL, center=center)
        selected = select_cost(ranker, X, split.labels, *selection)
        tried.append((float(selected.costs.min()), center, selected))
    _, center, best = min(tried, key=lambda entry: entry[0])
    return PreferenceRanker(loss, C=best.C, tol=TOL, center=center).fit(X, split.labels)


def hits(scores: Floats, labels: Labels, ranks: Sequence[int] = RANKS) -> Floats:
    """True labels of each document within each of the ranks, shape (ranks, n).

    >>> hits(np.array([[0.9, 0.5, 0.1]]), [[0, 2]], [1, 2, 3]).tolist()
    [[1.0], [1.0], [2.0]]
    """
    found = rank_relevant(scores, labels)
    document = np.repeat(np.arange(len(found)), found.sizes)
    counts = [
        np.bincount(document, found.ranks <= rank, minlength=len(found))
        for rank in ranks
    ]
    return np.array(counts, dtype=np.float64)


def along(scores: Floats, labels: Labels, ranks: tuple[int, int]) -> Floats:
    """What each document adds to the mean normalised precision of some ranks.

    >>> along(np.array([[0.9, 0.5, 0.1], [0.1, 0.5, 0.9]]), [[0], [0]], (1, 2)).tolist()
    [1.0, 0.0]
    """
    first, last = ranks
    each = np.arange(first, last + 1)
    best = np.minimum([[len(own)] for own in labels], each).mean(axis=0)
    return np.asarray((hits(scores, labels, each.tolist()).T / best).mean(axis=1))


def differences(scores: dict[str, Floats], labels: Labels) -> list[str]:
    """Say by how much losses differ that are compared, with 95 % intervals."""
    last = scores[BASELINE].shape[1] - 1
    whole, high = (1, last), (min(HIGH[0], last), min(HIGH[1], last))
    pairs = [(name, BASELINE, whole) for name in MAPPINGS if name != BASELINE]
    pairs.append(("dis", "dom-dme", whole))
    for name, ranks in (("dom", LOW), ("dme", high)):
        pairs += [(name, other, ranks) for other in MAPPINGS[:-1] if other != name]
    sentences = []
    for own, other, ranks in pairs:
        a, b = (along(scores[name], labels, ranks) for name in (own, other))
        below, above = bootstrap_interval(a, b, rounds=1000)
        sentences.append(
            f"{own} less {other}, mean of ranks {ranks[0]} to {ranks[1]}: "
            f"{a.mean() - b.mean():+.4f} ({below:+.4f} … {above:+.4f}, 95 %, bootstrap "
            "over documents)"
        )
    return sentences


def chances(own: Floats, other: Floats) -> dict[int, float]:
    """Paired t-tests over documents: p at each of RANKS."""
    pairs = zip(RANKS, own, other, strict=True)
    return {rank: paired_t_test(a, b).p_value for rank, a, b in pairs}


def claims(rows: Sequence[Row]) -> list[str]:
    """Say of each of the paper's claims, with numbers, whether it holds here."""
    curve = {row.method: np.array(row.precision) for row in rows}
    missing = [name for name in MAPPINGS if name not in curve]
    if missing:
        raise Mistake(f"rows lack {', '.join(missing)}: claims need every loss")
    said = [_above_baseline(row, curve[BASELINE]) for row in rows]
    apart = float(np.abs(curve["dis"] - curve["dom-dme"]).max())
    said.append(
        f"dis and dom-dme are alike at every rank: {holds(apart <= ALIKE)}; they "
        f"differ by at most {apart:.4f} (alike: at most {ALIKE})"
    )
    said += [
        _best_at("dom", "low ranks", curve, LOW),
        _best_at("dme", "high ranks", curve, HIGH),
    ]
    return [sentence for sentence in said if sentence]


def _above_baseline(row: Row, baseline: Floats) -> str:
    if row.method == BASELINE:
        return ""
    own = np.array(row.precision)[:-1]  # at the last rank everything is found
    above, below = (int((sign * (own - baseline[:-1]) > 0).sum()) for sign in (1, -1))
    sure = [rank for rank, p in row.chance.items() if p < SURE]
    better = [rank for rank in sure if own[rank - 1] > baseline[rank - 1]]
    worse = [rank for rank in sure if own[rank - 1] < baseline[rank - 1]]
    return (
        f"{row.method} is above svm along the ranks: {holds(below == 0)}; above at "
        f"{above} of {len(own)} ranks, below at {below}; surely above (p < {SURE}) at "
        f"{_listed(better)}, surely below at {_listed(worse)}, of ranks "
        f"{_listed(list(row.chance))}"
    )


def _best_at(
    name: str, where: str, curve: dict[str, Floats], ranks: tuple[int, int]
) -> str:
    first, last = ranks
    if len(curve[name]) < first:
        raise Mistake(f"{len(curve[name])} categories: {where} start at {first}")
    mean = {loss: float(curve[loss][first - 1 : last].mean()) for loss in MAPPINGS}
    best = max(MAPPINGS, key=mean.__getitem__)
    others = ", ".join(f"{loss} {mean[loss]:.4f}" for loss in MAPPINGS)
    verdict = holds(best == name) + ("" if best == name else f", {best} is best")
    return (
        f"{name} is best at {where} ({first} to {last}): {verdict}; mean precision: "
        f"{others}"
    )


def _listed(ranks: Sequence[int]) -> str:
    return ", ".join(map(str, ranks)) or "none"


def reproduce(data: Path | None) -> Reproduction:
    """Precision at rank of the preference learning model [AiolliSebastianiSperduti08].

    The paper has a plot and sentences, no numbers: the sentences are what is checked.
    """
    return curves_report(plm_reuters(data))


def curves_report(curves: Curves) -> Reproduction:
    """Show precision at some ranks, and every claim."""
    baseline = next(row for row in curves.rows if row.method == "svm")
    return Reproduction(
        "Preference learning model: normalised precision at rank, Reuters ModApté",
        [_precision(row, baseline) for row in curves.rows],
        curves.claims,
        partial(
            rank_curves,
            {row.method: row.precision for row in curves.rows},
            title="Reuters ModApté: precision along the ranking",
        ),
        f"{curves.trained:,} training and {curves.tested:,} test documents, "
        f"{len(baseline.precision)} categories, {curves.words:,} words; the paper "
        "prints curves without numbers",
        asdict(curves),
    )


def _precision(row: Row, baseline: Row) -> dict[str, str | float | None]:
    cells: dict[str, str | float | None] = {
        "method": row.method,
        "C": row.C,
        "center": row.center,
    }
    for rank in RANKS:
        if rank <= len(row.precision):
            cells[f"π({rank})"] = row.precision[rank - 1]
    pairs = zip(row.precision, baseline.precision, strict=True)
    return cells | {
        "AvgP": row.measures["average_precision"],
        "coverage": row.measures["coverage"],
        "ranks above svm": sum(own > other for own, other in pairs),
    }

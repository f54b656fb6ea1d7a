"""Which document next? Documents decided until a ranker is good, by the queue's order.

CLASSMARK_DATA=DIR python benchmarks/bench_queue.py [--only SET ...] [--seeds N]

The training part waits, without labels. Twenty documents drawn at random are decided;
then, 25 at a time, those that the order puts first, by the ranker fitted on what is
decided so far (plm, as by default; where it is not calibrated the workbench orders by
scores, too). After each step AvgP on the test part. Reported: how many documents are
decided until AvgP reaches 80 % and 90 % of that with all documents (inf: not with
1,000), and AvgP after 495; means over the seeds, which draw the first twenty.

random    : any
uncertain : the least lead of the best score over the second (the queue's)
likely    : the highest best score (the queue's)
unlikely  : the lowest best score
level     : the least lead in units of the spread of the document's scores
mixed     : by turns uncertain and random
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
from bench_calibration import rows_of

from classmark.arrays import Rows, rows_from, take
from classmark.measures.categories import per_document, rank_relevant
from classmark.validation import generator
from classmark.workbench.learning.fit import new_ranker
from classmark.workbench.settings import LearningSettings

DESIGN = {  # where the order was chosen: name, split, documents that wait at most
    "library": ("library", None, None),
    "reuters-21578, 4,000": ("reuters-21578", None, 4000),
    "pypi-topics": ("pypi-topics", None, None),
    "stackex cs, 4,000": ("stackex", "cs", 4000),
}
JUDGE = {
    "rcv1-v2-topics": ("rcv1-v2-topics", "tokens", None),
    "debian-debtags, 4,000": ("debian-debtags", None, 4000),
    "stackex cooking, 4,000": ("stackex", "cooking", 4000),
    "20newsgroups-bydate, 4,000": ("20newsgroups-bydate", None, 4000),
}
SETS = DESIGN | JUDGE
FIRST, STEP, MOST, SHARES = 20, 25, 1000, (0.8, 0.9)


class Waiting(NamedTuple):
    """Documents that wait, with what will be decided, and those to measure by."""

    rows: Rows
    labels: Rows
    asked: Rows
    truth: Rows


def by_turns(category, within) -> np.ndarray:
    """Documents by turns of their categories, in an order within each."""
    order = np.argsort(within, kind="stable")
    place = np.empty(len(order), np.int64)
    for each in np.unique(category):
        mine = order[category[order] == each]
        place[mine] = np.arange(len(mine))
    return np.lexsort((within, place))


def first_by(order: str, scores, random, rows, sizes) -> np.ndarray:
    """Documents, those to be decided first at the front.

    rows : of the documents;  sizes : how many decisions each category has.
    """
    n = len(scores)
    best, second = -np.sort(-scores, axis=1)[:, :2].T
    lead, category = best - second, scores.argmax(axis=1)
    match order:
        case "random":
            return random.permutation(n)
        case "uncertain":
            return np.argsort(lead, kind="stable")
        case "likely":
            return np.argsort(-best, kind="stable")
        case "unlikely":
            return np.argsort(best, kind="stable")
        case "level":
            return np.argsort(lead / np.maximum(scores.std(axis=1), 1e-12))
        case "mixed":
            both = np.argsort(lead, kind="stable"), random.permutation(n)
            return np.array(list(dict.fromkeys(np.stack(both, axis=1).ravel())))
        case "turns":
            return by_turns(category, lead)
        case "random turns":
            return by_turns(category, random.random(n))
        case "rare":
            return np.argsort(lead * np.sqrt(1.0 + sizes[category]), kind="stable")
        case "rarer":
            return np.argsort(lead * (1.0 + sizes[category]), kind="stable")
        case "typical" | "typical, mixed":
            X = rows.to_scipy()
            density = np.asarray(X @ np.asarray(X.mean(axis=0)).ravel()).ravel()
            place = np.argsort(lead / np.maximum(density, 1e-12), kind="stable")
            if order == "typical":
                return place
            both = place, random.permutation(n)
            return np.array(list(dict.fromkeys(np.stack(both, axis=1).ravel())))
    raise ValueError(order)


ORDERS = (
    "random", "uncertain", "likely", "unlikely", "level", "mixed", "turns",
    "random turns", "rare", "rarer", "typical", "typical, mixed",
)  # fmt: skip


def average_precision(here: Waiting, decided) -> tuple[float, object]:
    """AvgP on the test part of a ranker fitted on some documents; the ranker."""
    which = np.sort(decided)
    ranker = new_ranker(LearningSettings())
    ranker.fit(take(here.rows, which), take(here.labels, which))
    scores = ranker.decision_function(here.asked)
    return float(
        np.nanmean(per_document(rank_relevant(scores, here.truth))["AP"])
    ), ranker


def curve(here: Waiting, order: str, seed: int) -> list[tuple[int, float]]:
    """Documents decided, and AvgP."""
    random = generator(seed)
    decided = random.permutation(len(here.rows))[:FIRST]
    points = []
    while True:
        value, ranker = average_precision(here, decided)
        points.append((len(decided), value))
        if len(decided) >= min(MOST, len(here.rows)):
            return points
        waiting = np.setdiff1d(np.arange(len(here.rows)), decided)
        rows = take(here.rows, waiting)
        sizes = np.bincount(
            take(here.labels, decided).columns, minlength=here.labels.width
        )
        scores = ranker.decision_function(rows)
        chosen = waiting[first_by(order, scores, random, rows, sizes)[:STEP]]
        decided = np.append(decided, chosen)


def until(points, target: float) -> float:
    """How many documents are decided when the target is reached; inf: never."""
    return next((n for n, value in points if value >= target), np.inf)


def measure(name: str, seeds: int, orders) -> None:
    """Print a row an order."""
    X, Y, E, T = rows_of(*SETS[name], LearningSettings(characters=0, first_line=1))
    here = Waiting(rows_from(X), Y, rows_from(E), T)
    whole, _ = average_precision(here, np.arange(len(Y)))
    print(f"{name}: {len(Y):,} documents, AvgP with all {whole:.4f}")
    for order in orders:
        curves = [curve(here, order, seed) for seed in range(seeds)]
        cells = [
            f"{np.mean([until(c, s * whole) for c in curves]):7.0f}" for s in SHARES
        ]
        at = [dict(c).get(FIRST + 475, c[-1][1]) for c in curves]
        print(f"    {order:10} {' '.join(cells)}   {np.mean(at):.4f}", flush=True)


def main() -> None:
    """Measure the sets asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(SETS))
    parser.add_argument("--orders", nargs="*", default=ORDERS)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    for name in options.only:
        measure(name, options.seeds, options.orders)


if __name__ == "__main__":
    main()

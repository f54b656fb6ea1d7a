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
turns     : uncertain, one of each best category by turns; random turns : any of each
rare      : the lead times √(1 + decisions of the best category); rarer : without √
typical   : the lead over the mean cosine with those that wait; and mixed with random

Vectors are of words alone (characters 0, first_line 1), for the sake of time. DESIGN:
where an order may be chosen; JUDGE: where it is judged.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
from bench_calibration import rows_of

from classmark.arrays import Rows, rows_from, take
from classmark.measures.categories import per_document, rank_relevant
from classmark.validation import generator
from classmark.workbench.learning.unfitted import new_ranker
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


class Look:
    """What an order may look at: the documents that wait, and what is decided.

    scores : (n, k);  rows : of the documents;  sizes : (k,), decisions of categories.
    """

    def __init__(self, scores, random, rows, sizes) -> None:
        self.random, self.rows, self.sizes, self.n = random, rows, sizes, len(scores)
        self.best, second = -np.sort(-scores, axis=1)[:, :2].T
        self.lead, self.category = self.best - second, scores.argmax(axis=1)
        self.spread = np.maximum(scores.std(axis=1), 1e-12)

    @property
    def density(self):
        """The mean cosine with the documents that wait."""
        X = self.rows.to_scipy()
        return np.maximum(X @ np.asarray(X.mean(axis=0)).ravel(), 1e-12)

    def mixed(self, order):
        """An order and a random one, by turns."""
        both = order, self.random.permutation(self.n)
        return np.array(list(dict.fromkeys(np.stack(both, axis=1).ravel())))


def _least(values) -> np.ndarray:
    return np.argsort(values, kind="stable")


ORDERS = {
    "random": lambda look: look.random.permutation(look.n),
    "uncertain": lambda look: _least(look.lead),
    "likely": lambda look: _least(-look.best),
    "unlikely": lambda look: _least(look.best),
    "level": lambda look: _least(look.lead / look.spread),
    "mixed": lambda look: look.mixed(_least(look.lead)),
    "turns": lambda look: by_turns(look.category, look.lead),
    "random turns": lambda look: by_turns(look.category, look.random.random(look.n)),
    "rare": lambda look: _least(look.lead * np.sqrt(1 + look.sizes[look.category])),
    "rarer": lambda look: _least(look.lead * (1 + look.sizes[look.category])),
    "typical": lambda look: _least(look.lead / look.density),
    "typical, mixed": lambda look: look.mixed(_least(look.lead / look.density)),
}


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
        first = ORDERS[order](Look(scores, random, rows, sizes))
        chosen = waiting[first[:STEP]]
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
    parser.add_argument("--orders", nargs="*", default=list(ORDERS))
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    for name in options.only:
        measure(name, options.seeds, options.orders)


if __name__ == "__main__":
    main()

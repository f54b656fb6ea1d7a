"""What decisions teach beside a top-down model, one by one: ranked first, then learned.

    OMP_NUM_THREADS=1 CLASSMARK_DATA=DIR python benchmarks/bench_live_tree.py
        [--sets lshtc1-dryrun,pypi-topics,library] [--prices 0.3,1,3,10] [--most 2000]

Half of the training documents of a set, in their order, train a top-down model; each of
the others is ranked and then learned. P@1 and the mean reciprocal rank of its category
(of several, the best placed), over the last half of what was decided; milliseconds of
processor time to rank a document and to learn it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
from train_meta_pruner import training_part

from classmark.arrays import rows_from, take
from classmark.hierarchies.top_down import TopDownRanker
from classmark.hierarchies.top_down_live import LiveTopDownRanker, TreeCenter

REVISITS = 10  # after each decision
DESIGN = "lshtc1-dryrun,pypi-topics,library"


def lists_of(y: Any) -> list[list[Any]]:
    """The categories of each document."""
    return [list(c) if isinstance(c, list | tuple | set) else [c] for c in y]


def figures(ranks: Sequence[int]) -> str:
    """P@1 and the mean reciprocal rank over the last half."""
    late = np.array(ranks[len(ranks) // 2 :], float)
    return f"{(late == 1).mean():.3f} | {(1 / late).mean():.3f}"


def best_rank(ranker: Any, X: Any, labels: Sequence[int], n_labels: int) -> int:
    """Where the best placed of some categories stands; unranked ones come last."""
    standings = ranker.ranks(X, labels)
    return min(n_labels if each is None else each.rank for each in standings)


def stream(name: str, prices: Sequence[float], most: int) -> None:
    """Print the rows of one set."""
    tree, X, y = training_part(name)
    rows, categories = rows_from(X), sorted({c for own in lists_of(y) for c in own})
    number = {category: at for at, category in enumerate(categories)}
    labels = [[number[c] for c in own] for own in lists_of(y)]
    order = np.random.default_rng(0).permutation(len(rows))
    half = order[: len(rows) // 2]
    later = list(islice(order[len(rows) // 2 :].tolist(), most))
    ranker = TopDownRanker(tree, categories)
    ranker.fit(take(rows, half), [labels[at] for at in half])
    words = [rows.row(at) for at in later]
    asked = [(take(rows, np.array([at])), labels[at]) for at in later]
    ranks = [best_rank(ranker, *each, len(categories)) for each in asked]
    print(f"| {name} | as trained | {figures(ranks)} | | |", flush=True)
    for price in prices:
        live = LiveTopDownRanker(price).go_on_from(TreeCenter(ranker))
        ranks, seconds = [], [0.0, 0.0]
        for own, (document, wanted) in zip(words, asked, strict=True):
            started = time.process_time()
            ranks.append(best_rank(live, document, wanted, len(categories)))
            ranked = time.process_time()
            live.live_.learn(live.lesson(own, wanted))
            live.live_.revisit(REVISITS)
            seconds[0] += ranked - started
            seconds[1] += time.process_time() - ranked
        each = " | ".join(f"{1e3 * total / len(later):.2f}" for total in seconds)
        print(f"| {name} | C = {price:g} | {figures(ranks)} | {each} |", flush=True)
    again = TopDownRanker(tree, categories)
    seen = np.concatenate([half, later[: len(later) // 2]])
    again.fit(take(rows, seen), [labels[at] for at in seen])
    end = [best_rank(again, *each, len(categories)) for each in asked]
    print(f"| {name} | trained again half-way | {figures(end)} | | |", flush=True)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", default=DESIGN)
    parser.add_argument("--prices", default="0.3,1,3,10")
    parser.add_argument("--most", type=int, default=2000)
    options = parser.parse_args()
    print("| set | | P@1 | reciprocal rank | ms to rank | ms to learn |")
    print("|---|---|---|---|---|---|")
    for name in options.sets.split(","):
        prices = [float(price) for price in options.prices.split(",")]
        stream(name, prices, options.most)


if __name__ == "__main__":
    main()

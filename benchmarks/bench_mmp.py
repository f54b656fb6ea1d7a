"""How many documents a second MMP ranks and learns from, at the shape of RCV1.

Run with ``CLASSMARK_DATA=DIR python benchmarks/bench_mmp.py [--documents N]``. The
label sets are RCV1's own judgments, in the order of time; the words are synthetic
(Zipf, with words of their own for every topic). One thread, test-then-learn, once
through the stream; beside it what this machine's memory gives at the same moment.
Rates are by processor time, which other work on the machine lengthens less than the
clock's; "by the clock" is the other.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import chain
from typing import Any

import numba
import numpy as np
from bench_plm import table
from numpy.typing import NDArray

from classmark.arrays import Rows, stack, take
from classmark.datasets import load
from classmark.preferences.labels import labels_from, number_labels
from classmark.rankers.online import MMP, CategoryPerceptron, OnlineRanker

WORDS = 47_000
OWN_WORDS = 300  # of each topic
TOKENS = 90  # a document, which leave about 75 different words
OWN_SHARE = 0.14  # of the tokens come from the document's topics
BLOCK = 20_000
CACHED, STREAMED = 1 << 18, 1 << 28  # bytes: fits the second-level cache; no cache
RANKERS: dict[str, OnlineRanker] = {
    "MMP, loss 1": MMP(1, shuffle=False),
    "MMP, loss 2": MMP(2, shuffle=False),
    "MMP, loss 3": MMP(3, shuffle=False),
    "MMP, loss 3, averaged": MMP(3, average=True, shuffle=False),
    "perceptron": CategoryPerceptron(shuffle=False),
}


def judged(n: int) -> Rows:
    """Label sets of the first ``n`` documents of RCV1-v2, shape (n, 103)."""
    data = load("rcv1-v2-topics")
    names = list(chain(data.train.labels, data.test.labels))[:n]
    numbered = number_labels(names, data.label_names)
    return labels_from(numbered, n_labels=len(data.label_names))


def written(labels: Rows, seed: int = 0) -> Rows:
    """Unit (1 + ln tf)·idf rows of float32 whose words tell of the labels."""
    rng = np.random.default_rng(seed)
    chance = np.cumsum(1.0 / np.arange(1, WORDS + 1))
    own = rng.integers(100, WORDS, (labels.width, OWN_WORDS))
    parts = [
        _block(
            take(labels, np.arange(first, min(first + BLOCK, len(labels)))),
            own,
            chance,
            rng,
        )
        for first in range(0, len(labels), BLOCK)
    ]
    rows = stack(parts)
    df = np.bincount(rows.columns, minlength=WORDS)
    idf = np.log(len(rows) / np.maximum(df, 1))
    values = (1.0 + np.log(rows.values)) * idf[rows.columns]
    norms = np.sqrt(np.add.reduceat(values**2, rows.starts[:-1]))
    values /= np.repeat(np.maximum(norms, 1e-12), np.diff(rows.starts))
    return Rows(rows.starts, rows.columns, values.astype(np.float32), WORDS)


def _block(
    labels: Rows, own: NDArray, chance: NDArray, rng: np.random.Generator
) -> Rows:
    """Word counts: a token is a word of one of the labels, or any word."""
    n, sizes = len(labels), np.diff(labels.starts)
    shape = n, TOKENS
    words = np.searchsorted(chance, rng.random(shape) * chance[-1])
    picked = labels.starts[:-1, None] + (rng.random(shape) * sizes[:, None]).astype(int)
    place = (OWN_WORDS * rng.random(shape) ** 2).astype(int)
    topical = own[labels.columns[picked], place]
    tokens = np.where(rng.random(shape) < OWN_SHARE, topical, words)
    keys, counts = np.unique(tokens + np.arange(n)[:, None] * WORDS, return_counts=True)
    starts = np.searchsorted(keys, np.arange(n + 1) * WORDS)
    columns = (keys % WORDS).astype(np.uint32)
    return Rows(starts, columns, counts.astype(np.float64), WORDS)


@numba.njit(fastmath=True)
def _total(numbers: NDArray, times: int) -> float:
    """Sum in any order, so that reading is what costs."""
    total = numbers[0]
    for _ in range(times):
        for i in range(len(numbers)):
            total += numbers[i]
        numbers[0] += total  # no pass may be left out
    return total


def bandwidth(size: int) -> float:
    """GB/s of reading ``size`` bytes over and over with one thread, best of 5."""
    numbers, times = np.ones(size // 4, np.float32), max(1, (1 << 29) // size)
    best = min(_seconds(lambda: _total(numbers, times))[0] for _ in range(5))
    return times * size / 1e9 / best


def _seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Processor time, and time by the clock."""
    started = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - started[0], time.perf_counter() - started[1]


def measure(ranker: OnlineRanker, rows: Rows, labels: Rows) -> dict[str, float]:
    """Documents a second of one pass from zero, and how the ranker did meanwhile."""
    seconds, clock = _seconds(lambda: ranker.fit(rows, labels))
    means = ranker.losses_.mean(axis=0)
    rates = {"documents/s": len(rows) / seconds, "by the clock": len(rows) / clock}
    return rates | {
        f"loss {number}": float(mean) for number, mean in enumerate(means, start=1)
    }


def floor(rows: Rows, k: int, updated: float) -> float:
    """Bytes a document must touch: its row, its words' weights, those it writes."""
    words = rows.nnz / len(rows)
    return words * (8 + 4 * k * (1 + updated))


def compare(rows: Rows, labels: Rows, repeats: int) -> list[dict[str, Any]]:
    """All rankers take turns; so do the two speeds of memory."""
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in RANKERS}
    speeds: dict[int, list[float]] = {CACHED: [], STREAMED: []}
    for _ in range(repeats):
        for name, ranker in RANKERS.items():
            runs[name].append(measure(ranker, rows, labels))
        for size, found in speeds.items():
            found.append(bandwidth(size))
    rates = {size: float(np.median(found)) for size, found in speeds.items()}
    print(f"reading: {rates[CACHED]:.1f} GB/s in cache, {rates[STREAMED]:.1f} not")
    return [_summary(name, found, rows, labels, rates) for name, found in runs.items()]


def _summary(
    name: str, runs: list[dict[str, float]], rows: Rows, labels: Rows,
    rates: dict[int, float],
) -> dict[str, Any]:  # fmt: skip
    speed = [run["documents/s"] for run in runs]
    median = float(np.median(speed))
    touched = floor(rows, labels.width, runs[0]["loss 1"])
    shares = {
        f"share of floor, {where}": touched * median / 1e9 / rates[size]
        for where, size in (("in cache", CACHED), ("in memory", STREAMED))
    }
    if "perceptron" in name:  # it also learns where the order was right
        shares = dict.fromkeys(shares, "")
    return (
        {"ranker": name, "documents/s": round(median)}
        | {"slowest": round(min(speed)), "fastest": round(max(speed))}
        | {"by the clock": round(float(np.median([r["by the clock"] for r in runs])))}
        | {loss: runs[0][loss] for loss in ("loss 1", "loss 2", "loss 3")}
        | shares
    )


def main() -> None:
    """Write the documents, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=500_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    labels = judged(options.documents)
    rows = written(labels)
    print(
        f"{len(rows)} documents, {rows.nnz / len(rows):.1f} words a document, "
        f"{labels.width} labels, {labels.nnz / len(rows):.2f} a document"
    )
    for ranker in RANKERS.values():
        ranker.fit(take(rows, range(100)), take(labels, range(100)))  # compiles
    print(table(compare(rows, labels, options.repeats)))


if __name__ == "__main__":
    main()

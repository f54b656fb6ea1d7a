"""Very many labels: the preference ranker with sparse weights.

Run with ``python benchmarks/bench_many_labels.py [--sizes N,K,D ...] [--data DIR]``.
A made-up collection has N documents of 30 words, K labels and D features; words follow
Zipf's law, and 8 of a document's 30 are drawn from ten that belong to its label. Each
size runs in a process of its own, kernels compiled before; seconds are processor time,
memory is the process's peak. With ``--data``, the LSHTC1 dry run (task 2) is learned
with dense and with sparse weights, on the words of its training part.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags_array

from classmark.problems import Mistake
from classmark.rankers.preference import PreferenceRanker

WORDS, SPECIAL, OWN = 30, 8, 10
SIZES = ["2000,5000,50000", "8000,20000,200000", "20000,50000,500000"]


def weighted(counts: Any) -> csr_matrix:
    """Unit rows of (1 + ln tf) · ln(n/df), float32."""
    X = csr_matrix(counts, dtype=np.float32)
    X.sum_duplicates()
    seen = np.bincount(X.indices, minlength=X.shape[1])
    X.data = (1 + np.log(X.data)) * np.log(X.shape[0] / np.maximum(seen, 1))[X.indices]
    return unit(X)


def unit(X: Any) -> csr_matrix:
    """Rows of length 1."""
    length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return csr_matrix(diags_array(1 / np.maximum(length, 1e-9)) @ X, dtype=np.float32)


def made_up(n: int, k: int, d: int) -> tuple[csr_matrix, NDArray[np.int64]]:
    """Twice n documents, to learn and to test, and their labels, small ones often."""
    random = np.random.default_rng(0)

    def zipf(*shape: int) -> NDArray[np.int64]:
        exponent: NDArray[np.float64] = random.random(shape) * np.log(d)
        return np.exp(exponent).astype(np.int64)

    label = (k * random.random(2 * n) ** 1.5).astype(np.int64)
    drawn = random.integers(0, OWN, (2 * n, SPECIAL))
    special = zipf(k, OWN)[label[:, None], drawn]
    words = np.hstack([zipf(2 * n, WORDS - SPECIAL), special])
    rows = np.repeat(np.arange(2 * n), words.shape[1])
    counts = csr_matrix((np.ones(words.size), (rows, words.ravel())), shape=(2 * n, d))
    return weighted(counts), label


def precision(ranker: PreferenceRanker, X: csr_matrix, gold: NDArray[Any]) -> float:
    """P@1, a block of documents at a time: scores are dense."""
    hits = 0
    for start in range(0, X.shape[0], 200):
        best = ranker.rank(X[start : start + 200], k=1)[:, 0]
        hits += int((best == gold[start : start + 200]).sum())
    return hits / X.shape[0]


def indicator(labels: NDArray[Any], k: int) -> csr_matrix:
    """Labels as a matrix (n, k)."""
    n = len(labels)
    return csr_matrix((np.ones(n), labels, np.arange(n + 1)), shape=(n, k))


def learned(
    X: csr_matrix, Y: csr_matrix, **settings: Any
) -> tuple[PreferenceRanker, dict[str, Any]]:
    """Fit; say what it took."""
    PreferenceRanker(**settings | {"max_iter": 1}).fit(X[:50], Y[:50])
    started = time.process_time()
    ranker = PreferenceRanker(**settings).fit(X, Y)
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    weights: Any = ranker.weights_
    entries = weights.nnz if ranker.store_ == "sparse" else weights.size
    return ranker, {
        "store": ranker.store_,
        "seconds": round(seconds, 2),
        "passes": ranker.n_iter_,
        "gap": round(ranker.duality_gap_, 5),
        "objective": round(ranker.objective_, 3),
        "weights": int(entries),
        "peak_gb": round(peak, 2),
    }


def many(size: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Learn a made-up collection."""
    n, k, d = (int(part) for part in size.split(","))
    X, label = made_up(n, k, d)
    ranker, took = learned(X[:n], indicator(label[:n], k), **settings)
    known = np.isin(label[n:], label[:n])
    tested = np.flatnonzero(known)[:2000]
    p_at_1 = precision(ranker, X[n:][tested], label[n:][tested])
    return {"size": size, **settings, **took, "P@1": round(p_at_1, 4)}


def directories(data: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Learn LSHTC1's dry run, task 2."""
    from classmark.datasets import load

    found = load("lshtc1-dryrun", data)
    train, test = found.train.X, found.test.X
    if train is None or test is None:
        raise Mistake(f"{data}: train.txt and validation.txt of task 2 are needed")
    used = np.flatnonzero(np.bincount(train.indices, minlength=train.shape[1]))
    X = weighted(csr_matrix(train[:, used]))
    seen = np.bincount(X.indices, minlength=len(used))
    idf = np.log(X.shape[0] / seen)
    later = csr_matrix(test[:, used], dtype=np.float32)
    later.data = (1 + np.log(later.data)) * idf[later.indices]
    gold = [
        np.array([row[0] for row in found.label_numbers(part)])
        for part in (found.train, found.test)
    ]
    Y = indicator(gold[0], len(found.label_names))
    ranker, took = learned(X, Y, **settings)
    p_at_1 = precision(ranker, unit(later), gold[1])
    return {"size": f"{X.shape}, {Y.shape[1]}", **settings, **took, "P@1": p_at_1}


def apart(task: Any, *arguments: Any) -> dict[str, Any]:
    """Run in a fresh process, so that its peak memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found: dict[str, Any] = pool.apply(task, arguments)
        return found


def main() -> None:
    """Learn, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="*", default=SIZES)
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--center", type=float, nargs="*", default=[])
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--data", default=os.environ.get("CLASSMARK_DATA"))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    basic = {"C": options.C, "tol": options.tol}
    found = []
    for center in [None, *options.center]:
        settings = basic | {"center": center}
        sparse = settings | {"memory": "1kB"}
        jobs: list[Any] = [(many, size, sparse) for size in options.sizes]
        if options.data:
            dense = settings | {"memory": "4GB"}
            jobs += [(directories, options.data, each) for each in (dense, sparse)]
        for job in jobs:
            found.append(apart(*job))
            print(json.dumps(found[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()

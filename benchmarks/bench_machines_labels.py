"""Very many labels on machines: blocks of labels as tasks, against one process.

Run with ``python benchmarks/bench_machines_labels.py [--sizes N,K,D ...] [--workers W]
[--memory BYTES]``. The made-up collections are those of ``bench_many_labels.py``; the
ranker is ``PreferenceRanker("svm")``. Three ways, kernels compiled before: ``fit`` by
one thread, ``fit`` by as many threads as there are workers, and ``fit_blocks`` over the
workers, its files and the assembly included. Seconds are of the clock, "cpu" of all
processors; peaks, in MB, are those of the process that fits, or of the largest worker.
``fit`` runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from bench_many_labels import indicator, made_up

from classmark.machines.cluster import Machines
from classmark.machines.labels import fit_blocks
from classmark.rankers.preference import PreferenceRanker

SIZES = ["2000,2000,20000", "5000,5000,50000"]


def peak() -> float:
    """The most memory that this process has had, in MB (Linux)."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 1e3 if found else float("nan")


def locally(size: str, settings: dict[str, Any], threads: int) -> dict[str, Any]:
    """Fit all labels at once."""
    X, Y = _collection(size)
    ranker = PreferenceRanker("svm", n_jobs=threads, **settings)
    PreferenceRanker("svm", n_jobs=threads, max_iter=1).fit(X[:50], Y[:50])
    before, started = time.process_time(), time.perf_counter()
    ranker.fit(X, Y)
    seconds, used = time.perf_counter() - started, time.process_time() - before
    told = _told(f"{threads} threads", size, seconds, ranker)
    return told | {"cpu": round(used, 2), "peak": round(peak())}


def away(
    size: str, settings: dict[str, Any], machines: Machines, block: int | None
) -> dict[str, Any]:
    """Fit blocks of labels on the workers."""
    X, Y = _collection(size)
    ranker = PreferenceRanker("svm", **settings)
    with tempfile.TemporaryDirectory() as place:
        warm = PreferenceRanker("svm", max_iter=1)
        fit_blocks(machines, warm, X[:50], Y[:50], Path(place) / "warm", 64)
        before, started = _used(machines), time.perf_counter()
        fit_blocks(machines, ranker, X, Y, Path(place) / "labels", block)
        seconds, used = time.perf_counter() - started, _used(machines) - before
        count = len(list(Path(place).glob("labels/*/block-*")))
    largest = max(machines.client.run(peak).values())
    told = _told(f"{machines.workers} workers", size, seconds, ranker)
    return told | {"cpu": round(used, 2), "peak": round(largest), "blocks": count}


def _used(machines: Machines) -> float:
    """Processor seconds of the workers and of this process."""
    workers = machines.client.run(time.process_time).values()
    return float(sum(workers)) + time.process_time()


def _collection(size: str) -> tuple[Any, Any]:
    n, k, d = (int(part) for part in size.split(","))
    X, label = made_up(n, k, d)
    return X[:n], indicator(label[:n], k)


def _told(
    how: str, size: str, seconds: float, ranker: PreferenceRanker
) -> dict[str, Any]:
    weights: Any = ranker.weights_
    dense = ranker.store_ == "dense"
    return {
        "size": size,
        "how": how,
        "seconds": round(seconds, 2),
        "objective": round(ranker.objective_, 3),
        "gap": round(ranker.duality_gap_, 5),
        "weights": int(np.count_nonzero(weights) if dense else weights.nnz),
    }


def main() -> None:
    """Learn, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="*", default=SIZES)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", type=int, help="of each worker, in bytes")
    parser.add_argument("--block", type=int)
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    settings = {"tol": options.tol, "memory": "8GB"}
    found = []
    for size in options.sizes:
        for threads in dict.fromkeys([1, options.workers]):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                found.append(pool.apply(locally, (size, settings, threads)))
            print(json.dumps(found[-1]), flush=True)
        with Machines.local(options.workers, memory=options.memory) as machines:
            found.append(away(size, settings, machines, options.block))
        print(json.dumps(found[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()

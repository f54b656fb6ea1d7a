"""Query by examples over rows that workers have, beside one process with all rows.

python benchmarks/bench_machines_examples.py [--rows N] [--workers N] [--method M]
[--memory BYTES] [--json FILE]

Documents are made from seeds, each part by the worker that keeps it: unit rows of about
50 values, 100,000 features by a power law, 300 relevant hidden; P is 100 examples.
Both runs are warm (kernels, cluster, rows in memory, the collection's mean known) and
are given the same tolerance; they take turns, and of ``--repeat`` times each the
shortest counts. Throughput is the documents of U over the seconds of ``fit``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from synthetic_rows import SyntheticRows, synthetic_rows

from classmark.arrays import Rows, stack
from classmark.examples.query import ExampleQuery
from classmark.machines.cluster import Machines
from classmark.machines.rows import SpreadRows

WIDTH, LENGTH, EXAMPLES, HIDDEN = 100_000, 50, 100, 300
CASES = (
    ("balanced", 1.0, 1e-3), ("balanced", 1.0, 1e-2), ("balanced", 10.0, 1e-3),
    ("balanced", 100.0, 1e-3), ("two-class", 100.0, 1e-3), ("auto", None, None),
    ("precision@k", 100.0, 1e-3),
)  # fmt: skip


def gap_of(query):
    """Primal − dual value."""
    return query.duality_gap_ * abs(query.objective_)


def main() -> None:
    """Print a line a case; write all values where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--memory", type=int, help="of each worker, in bytes")
    parser.add_argument("--method", help="this one only")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    size, relevant = asked.rows // asked.workers, HIDDEN // asked.workers
    parts = [
        SyntheticRows(seed, size, WIDTH, LENGTH, relevant)
        for seed in range(1, asked.workers + 1)
    ]
    found: dict[str, Any] = {"rows": asked.rows, "workers": asked.workers, "cases": []}
    with Machines.local(asked.workers, memory=asked.memory) as machines:
        began = time.perf_counter()
        spread = SpreadRows(machines, parts)
        print(
            f"{len(spread):,} rows, {spread.nnz:,} values, made by "
            f"{asked.workers} workers in {time.perf_counter() - began:.1f} s"
        )
        here = stack([synthetic_rows(part) for part in parts])
        for case in CASES:
            if asked.method not in {None, case[0]}:
                continue
            found["cases"].append(compared(case, here, spread, asked.repeat))
        price = round_price(spread)
        peak = max(machines.client.run(peak_memory).values())
    print(f"a round of X·w: {1000 * price:.0f} ms; a worker's peak {peak:.2f} GB")
    found |= {"round": price, "peak": peak}
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1))


def compared(case: Any, here: Rows, spread: SpreadRows, repeat: int) -> dict[str, Any]:
    """Both by turns: seconds of ``fit``, and how good it is."""
    method, C, tol = case
    P = synthetic_rows(SyntheticRows(0, EXAMPLES, WIDTH, LENGTH, EXAMPLES))
    queries = [ExampleQuery(method, C=C, tol=tol) for _ in range(2)]
    seconds = [np.inf, np.inf]
    for turn in range(repeat + 1):
        for at, U in enumerate((here, spread)):
            rounds, began = spread.rounds, time.perf_counter()
            queries[at].fit(P, U, mean=spread.mean)
            took = time.perf_counter() - began
            seconds[at] = min(seconds[at], took) if turn else np.inf
    one, other = queries
    told = {
        "case": case, "here": seconds[0], "spread": seconds[1],
        "ratio": seconds[0] / seconds[1], "rounds": spread.rounds - rounds,
        "objectives": (one.objective_, other.objective_),
        "gaps": (gap_of(one), gap_of(other)),
    }  # fmt: skip
    print(
        f"{method}, C={C}, tol={tol}: here {seconds[0]:.3f} s, spread {seconds[1]:.3f} "
        f"s: {told['ratio']:.2f} of the throughput; {told['rounds']} rounds; objective "
        f"{one.objective_:.6g} and {other.objective_:.6g}; gap {gap_of(one):.2g} and "
        f"{gap_of(other):.2g}"
    )
    return told


def round_price(spread: SpreadRows) -> float:
    """Seconds of a round that scores all rows."""
    weights = np.zeros(spread.width)
    times = []
    for _ in range(9):
        began = time.perf_counter()
        spread.product(weights)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def peak_memory() -> float:
    """The most memory this process has had, in GB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


if __name__ == "__main__":
    main()

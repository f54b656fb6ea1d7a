"""Top-down training at the shape of LSHTC1-large, here and spread over workers.

Run with ``OMP_NUM_THREADS=1 python benchmarks/bench_machines_nodes.py [--leaves K]
[--documents N] [--features D] [--workers W] [--rounds R] [--base BASE] [--json FILE]``.
A made-up collection as in ``bench_dmoz.py``: a tree of 12,294 leaves and depth 6,
93,805 documents of some 50 distinct words each, 347,255 features, float32. Local: W
threads of one process; spread: W workers of one thread each on this machine. Both
train into a folder on the same disk and end with the model there, whose files are
compared. The cluster is started, and kernels are compiled, before; then both take
turns, R times. The longest task is that of the largest node alone.
Seconds are wall time, but those of tasks, which are processor time, as cpu is: of the
process (local), or of all workers and the process (spread). Peaks are what processes
have had at most: a worker's, and this one's.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from bench_dmoz import BLOCK, Words, sizes_of, tree_of, weighted

from classmark.arrays import Rows, stack, take
from classmark.hierarchies.model_files import LESSONS
from classmark.hierarchies.top_down import TopDownClassifier
from classmark.machines.cluster import Machines
from classmark.progress import spread_by
from classmark.taxonomy.tree import Taxonomy

LEAVES, DOCUMENTS, FEATURES = 12_294, 93_805, 347_255


def made_up(k: int, n: int, d: int) -> tuple[Taxonomy, Rows, Any]:
    """A tree, documents and their leaves."""
    rng = np.random.default_rng(0)
    edges, paths = tree_of(k, rng)
    words = Words(paths, d, rng)
    leaf = rng.permutation(np.repeat(np.arange(k), sizes_of(k, n, rng)))
    counted = stack([words.rows(leaf[i : i + BLOCK]) for i in range(0, n, BLOCK)])
    seen = np.bincount(counted.columns, minlength=d)
    idf = np.log(n / np.maximum(seen, 1)).astype(np.float32)
    names = paths[np.arange(k), words.lengths - 1]
    return Taxonomy(edges), weighted(counted, idf), names[leaf]


def used() -> tuple[float, float]:
    """Processor seconds of this process so far, and its peak in GB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return time.process_time(), round(peak, 2)


class Counted:
    """Machines that count what is sent for tasks, and what was on disk for them."""

    def __init__(self, machines: Machines) -> None:
        self._machines = machines
        self.tasks = self.sent = self.shared = 0
        self.seconds: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machines, name)

    def spread(self, work: Any, tasks: Any, shared: Any) -> Any:
        """Spread, and take note."""
        from distributed.protocol import serialize_bytes

        self.tasks += len(tasks)
        self.sent += len(serialize_bytes((tasks, shared)))
        folder = shared[0].folder / LESSONS
        self.shared = sum(path.stat().st_size for path in folder.iterdir())

        def timed(task: Any, *more: Any) -> tuple[Any, float]:
            began = time.thread_time()
            return work(task, *more), time.thread_time() - began

        for number, (nodes, seconds) in self._machines.spread(timed, tasks, shared):
            self.seconds.append(seconds)
            yield number, nodes


def local(model: TopDownClassifier, X: Rows, y: Any) -> dict[str, Any]:
    """Train in threads."""
    started, (before, _) = time.perf_counter(), used()
    model.fit(X, y)
    seconds, (after, peak) = time.perf_counter() - started, used()
    return {"how": "local", "s": seconds, "cpu_s": after - before, "peak_gb": peak}


def spread(
    model: TopDownClassifier, X: Rows, y: Any, machines: Machines
) -> dict[str, Any]:
    """Train on workers."""
    counted, client = Counted(machines), machines.client
    (before, _), theirs = used(), sum(v[0] for v in client.run(used).values())
    started = time.perf_counter()
    with spread_by(counted):
        model.fit(X, y)
    seconds, (after, peak) = time.perf_counter() - started, used()
    now = list(client.run(used).values())
    cpu = sum(v[0] for v in now) - theirs
    return {
        "how": "spread", "s": seconds, "cpu_s": after - before + cpu,
        "workers_cpu_s": cpu, "peak_gb": peak, "worker_peak_gb": [v[1] for v in now],
        "tasks": counted.tasks, "longest_task_s": max(counted.seconds),
        "sent_kb": counted.sent / 1e3, "lessons_mb": counted.shared / 1e6,
        "in_tasks_s": sum(counted.seconds),
    }  # fmt: skip


def same(one: Path, other: Path) -> bool:
    """Whether two folders hold the same bytes."""
    names = sorted(path.name for path in one.iterdir())
    if names != sorted(path.name for path in other.iterdir()):
        return False
    return all((one / n).read_bytes() == (other / n).read_bytes() for n in names)


def compared(options: argparse.Namespace, machines: Machines, place: Path) -> Any:
    """Take turns, and tell."""
    tree, X, y = made_up(options.leaves, options.documents, options.features)
    settings = {"base": options.base, "n_jobs": options.workers}

    def model(name: str) -> TopDownClassifier:
        return TopDownClassifier(tree, **settings, folder=place / name)

    few = np.arange(min(2_000, len(X)))
    for name in ("warm-local", "warm-spread"):
        fresh = model(name)
        if name == "warm-local":
            fresh.fit(take(X, few), y[few])
            continue
        with spread_by(machines):
            fresh.fit(take(X, few), y[few])
    facts = {
        "leaves": options.leaves, "inner": len(fresh.places_.inner),
        "depth": tree.depth, "documents": len(X), "features": X.width,
        "values": X.nnz, "workers": machines.workers, **settings,
        "cores": os.cpu_count(),
    }  # fmt: skip
    print(json.dumps(facts), flush=True)
    runs = []
    for at in range(options.rounds):
        for how in HOWS:
            fresh = model(f"{how}-{at}")
            found = (
                local(fresh, X, y) if how == "local" else spread(fresh, X, y, machines)
            )
            runs.append(found | {"load": os.getloadavg()[0]})
            print(json.dumps(_rounded(runs[-1])), flush=True)
    equal = all(
        same(place / f"local-{at}" / "model", place / f"spread-{at}" / "model")
        for at in range(options.rounds)
    )
    best = {how: min(r["s"] for r in runs if r["how"] == how) for how in HOWS}
    turns = list(zip(runs[::2], runs[1::2], strict=True))
    return facts | {
        "runs": [_rounded(run) for run in runs], "same_bytes": equal,
        "throughput_ratio_of_best": round(best["local"] / best["spread"], 3),
        "throughput_ratios": [round(a["s"] / b["s"], 3) for a, b in turns],
        "cpu_ratios": [round(a["cpu_s"] / b["cpu_s"], 3) for a, b in turns],
    }  # fmt: skip


HOWS = ("local", "spread")


def _rounded(found: dict[str, Any]) -> dict[str, Any]:
    return {k: round(v, 2) if isinstance(v, float) else v for k, v in found.items()}


def main() -> None:
    """Learn, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leaves", type=int, default=LEAVES)
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--features", type=int, default=FEATURES)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--base", default="svm")
    parser.add_argument("--memory", type=int, help="of each worker, in bytes")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as place,
        Machines.local(options.workers, memory=options.memory) as machines,
    ):
        found = compared(options, machines, Path(place))
    print(json.dumps({k: v for k, v in found.items() if k != "runs"}), flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()

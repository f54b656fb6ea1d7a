"""What a step of the default cost takes, and what it takes to part it between machines.

Run with ``OMP_NUM_THREADS=1 python benchmarks/bench_machines_exchange.py``. Made-up
documents of 50 words, one label each; a visit is one document's exact step under "dom",
in processor time, after a first pass. Parted over two machines, one would send the
scores of its half of the labels and get the duals back, before the next document may
begin: that takes at least ``exchange_us``, there and back between two processes of this
machine without Dask, or ``dask_us``, a question to a worker (medians, wall time).
"""

from __future__ import annotations

import json
import socket
import statistics
import time
from multiprocessing import get_context
from typing import Any

import numpy as np

from classmark.arrays import Rows
from classmark.machines.cluster import Machines
from classmark.solvers.preference import Caps, ImplicitDual

DOCUMENTS, FEATURES, LENGTH = 10_000, 30_000, 50
LABELS, BACK, TIMES = (17, 193, 2_000), 64, 1_000


def visit_us(labels: int) -> float:
    """Microseconds of a visit with so many labels."""
    rng = np.random.default_rng(0)
    drawn = (FEATURES * rng.random((DOCUMENTS, LENGTH)) ** 3).astype(np.uint32)
    label = rng.integers(0, labels, DOCUMENTS).astype(np.uint32)
    drawn[:, :5] = (label[:, None] * 7 + np.arange(5)) % FEATURES  # the label's words
    drawn.sort(axis=1)
    values = np.full(drawn.size, LENGTH**-0.5, np.float32)
    starts = np.arange(DOCUMENTS + 1)
    rows = Rows(starts * LENGTH, drawn.ravel(), values, FEATURES)
    levels = Rows(starts, label, np.ones(DOCUMENTS, np.float32), labels)
    caps = np.ones(labels)
    problem = ImplicitDual(rows, levels, "dom", Caps(caps, caps))
    problem.learn(rng.permutation(DOCUMENTS))
    began = time.process_time()
    problem.learn(rng.permutation(DOCUMENTS))
    return 1e6 * (time.process_time() - began) / DOCUMENTS


def answer(there: socket.socket, size: int) -> None:
    """Answer every message of so many bytes by a short one."""
    while there.recv(size, socket.MSG_WAITALL):
        there.send(bytes(BACK))


def exchange_us(size: int) -> float:
    """Microseconds of so many bytes there, and a few back."""
    here, there = socket.socketpair()
    process = get_context("fork").Process(target=answer, args=(there, size))
    process.start()

    def once() -> None:
        here.send(bytes(size))
        here.recv(BACK, socket.MSG_WAITALL)

    took = median_us(once)
    process.terminate()
    process.join()
    return took


def median_us(work: Any) -> float:
    """The median microseconds of a call."""
    seconds = []
    for _ in range(TIMES):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return 1e6 * statistics.median(seconds)


def main() -> None:
    """Measure, and print."""
    for labels in LABELS:
        print(json.dumps({
            "labels": labels, "visit_us": round(visit_us(labels), 1),
            "exchange_us": round(exchange_us(4 * ((labels + 1) // 2)), 1),
        }))  # fmt: skip
    with Machines.local(1) as machines:
        objects = machines.hold(abs, [-1])
        took = median_us(lambda: machines.ask(abs, objects))
    print(json.dumps({"dask_us": round(took)}))


if __name__ == "__main__":
    main()

"""All leaves of a made-up collection at the shape of DMOZ learned at once on a GPU.

Run with ``python benchmarks/bench_gpu.py [--leaves K ...] [--C C] [--prior P] [--tol T]
[--json FILE]`` where there is a card and CuPy (nothing is compiled by numba). The
collections are those of bench_dmoz, whose top-down figures for two cores stand beside
these. Seconds are wall time of ``PreferenceRanker(device="gpu").fit``; the first fit,
of 200 documents, has compiled the kernels. 10,000 further documents are ranked.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from bench_dmoz import LEAVES, SIZES, made_up, peak

import classmark as cm
from classmark.arrays import take

BLOCK = 500  # documents ranked together


def tried(k: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Learn and rank one size."""
    _, X, y, later, gold = made_up(k)
    ranker = cm.PreferenceRanker(device="gpu", **settings)
    ranker.fit(take(X, np.arange(200)), y[:200])
    started, spent = time.perf_counter(), time.process_time()
    ranker.fit(X, y)
    took, spent = time.perf_counter() - started, time.process_time() - spent
    place = {name: at for at, name in enumerate(ranker.classes_.tolist())}
    wanted = np.array([place.get(name, -1) for name in gold.tolist()])[:, None]
    blocks = (
        np.arange(at, min(at + BLOCK, len(gold))) for at in range(0, len(gold), BLOCK)
    )
    right = np.concatenate(
        [ranker.rank(take(later, some), k=5) == wanted[some] for some in blocks]
    )
    return {
        "leaves": k, "documents": len(X), "features": X.width, **settings,
        "train_s": round(took, 1), "cpu_s": round(spent, 1), "passes": ranker.n_iter_,
        "gap": round(ranker.duality_gap_, 4), "weights": ranker.weights_.nnz,
        "model_mb": round(8e-6 * ranker.weights_.nnz), "peak_gb": peak(),
        "P@1": round(float(right[:, 0].mean()), 4),
        "recall@5": round(float(right.any(axis=1).mean()), 4),
    }  # fmt: skip


def main() -> None:
    """Learn, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leaves", type=int, nargs="*", default=[*SIZES[:-1], LEAVES])
    parser.add_argument("--C", type=float, default=10.0)
    parser.add_argument("--prior", type=float, default=0.3)
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    settings = {"C": options.C, "prior": options.prior or None, "tol": options.tol}
    results = []
    for k in options.leaves:
        results.append(tried(k, settings))
        print(json.dumps(results[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()

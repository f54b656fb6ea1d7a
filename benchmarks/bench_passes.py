"""What a pass of the preference ranker costs: by size, and by threads.

Run with ``OMP_NUM_THREADS=1 python benchmarks/bench_passes.py [--plot FILE]``: the
first pass for domination over synthetic documents, in processor time, against
non-zeros × labels. With ``--threads``: whole fits to a gap of 1e-2 by one thread and by
two, taking turns, wall-clock time, which other work on the machine lengthens.
"""

from __future__ import annotations

import argparse
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from bench_plm import table
from scipy.sparse import csr_matrix
from scipy.sparse import random as random_sparse
from sklearn.preprocessing import normalize

from classmark import PreferenceRanker
from classmark.arrays import rows_from
from classmark.evaluation.figures import power_laws
from classmark.solvers.preference import Caps, ImplicitDual

WORDS = 5000
WORDS_A_ROW = (30, 100)
SIZES = tuple(product((2000, 8000, 20000), WORDS_A_ROW, (50, 200, 500)))


def synthetic(n: int, per_row: int, labels: int) -> tuple[csr_matrix, csr_matrix]:
    """Unit rows of random words, labelled by the nearest of random vectors."""
    rng = np.random.default_rng(0)
    X = random_sparse(n, WORDS, per_row / WORDS, "csr", np.float32, rng)
    X = csr_matrix(normalize(X))
    nearest = np.asarray((X @ rng.standard_normal((WORDS, labels))).argmax(axis=1))
    places = (np.arange(n), nearest.ravel())
    return X, csr_matrix((np.ones(n, np.float32), places), (n, labels))


def one_pass(n: int, per_row: int, labels: int) -> tuple[int, float]:
    """Return non-zeros × labels, and the seconds of the first pass, median of 3."""
    X, Y = synthetic(n, per_row, labels)
    rows, levels = rows_from(X), rows_from(Y)
    seconds = []
    for _ in range(4):
        dual = ImplicitDual(rows, levels, "dom", Caps(np.ones(labels), np.ones(labels)))
        started = time.process_time()
        dual.learn(np.arange(n))
        seconds.append(time.process_time() - started)
    return rows.nnz * labels, float(np.median(seconds[1:]))


def scaling(plot: Path | None) -> list[dict[str, Any]]:
    """Measure a pass at every size; print the exponent, draw it."""
    rows = []
    for n, per_row, labels in SIZES:
        work, seconds = one_pass(n, per_row, labels)
        rate = 1e9 * seconds / work
        rows.append(
            {"documents": n, "words a row": per_row, "labels": labels, "work": work}
            | {"seconds": seconds, "ns a unit": rate}
        )
    if plot is not None:
        series = {f"{words} words a row": _series(rows, words) for words in WORDS_A_ROW}
        power_laws(series, plot, "One pass of the preference ranker")
    for words in WORDS_A_ROW:
        slope = float(np.polyfit(*np.log(_series(rows, words)), 1)[0])
        print(f"{words} words a row: seconds ~ (non-zeros × labels)^{slope:.2f}")
    return rows


def _series(rows: list[dict[str, Any]], words: int) -> tuple[list[float], ...]:
    chosen = [row for row in rows if row["words a row"] == words]
    return [row["work"] for row in chosen], [row["seconds"] for row in chosen]


def threads(repeats: int) -> list[dict[str, Any]]:
    """Wall-clock time of fits by one thread and by two."""
    X, Y = synthetic(20000, 100, 200)
    walls: dict[int, list[float]] = {1: [], 2: []}
    gaps = {}
    for _ in range(repeats + 1):
        for count, wall in walls.items():
            started = time.perf_counter()
            ranker = PreferenceRanker(C=1.0, n_jobs=count, tol=1e-2).fit(X, Y)
            wall.append(time.perf_counter() - started)
            gaps[count] = (ranker.duality_gap_, ranker.n_iter_)
    one = float(np.median(walls[1][1:]))
    return [
        {"threads": count, "seconds": float(np.median(wall[1:])), "gap": gaps[count][0]}
        | {"passes": gaps[count][1], "times as fast": one / float(np.median(wall[1:]))}
        for count, wall in walls.items()
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    found = threads(options.repeats) if options.threads else scaling(options.plot)
    print(table(found))


if __name__ == "__main__":
    main()

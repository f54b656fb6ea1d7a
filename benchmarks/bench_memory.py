"""How much memory does the preference ranker need beside its weights and the data?

Run with ``python benchmarks/bench_memory.py [--data DIR]``. Reuters ModApté and bibtex
(with DIR), and synthetic documents (Zipf words, of which a share tells the label), dom,
C = 1, float32; the peak of what ``fit`` allocates (tracemalloc, which sees every numpy
array), the given X and Y not counted, against the bytes of W and of the data X and Y.
"""

from __future__ import annotations

import argparse
import os
import tracemalloc
from pathlib import Path

import numpy as np
from bench_plm import bibtex, modapte
from scipy import sparse

from classmark import PreferenceRanker

SIZES = [
    (5_000, 60, 10_000, 100),
    (20_000, 75, 20_000, 200),
    (20_000, 75, 50_000, 500),
    (50_000, 100, 50_000, 500),
]
TELLING = 0.2  # the share of words that belong to the label


def documents(n: int, words: int, features: int, labels: int) -> tuple:
    """Unit rows of float32, and one label each that some of its words tell."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, labels, n)
    columns = (rng.zipf(1.3, (n, words)) - 1) % features
    own = (label[:, None] * 31 + rng.integers(0, 30, (n, words))) % features
    columns = np.where(rng.random((n, words)) < TELLING, own, columns)
    starts = np.arange(0, n * words + 1, words)
    values = np.ones(n * words, np.float32)
    X = sparse.csr_matrix((values, columns.ravel(), starts), shape=(n, features))
    X.sum_duplicates()
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(lengths, np.diff(X.indptr)).astype(np.float32)
    Y = sparse.csr_matrix((np.ones(n), (np.arange(n), label)), shape=(n, labels))
    return X, Y


def measured(name: str, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> str:
    """Return a row of the table."""
    X.sort_indices()
    data = sum(part.nbytes for M in (X, Y) for part in (M.data, M.indices, M.indptr))
    PreferenceRanker(C=1.0, tol=0.5).fit(X[:50], Y[:50])
    tracemalloc.start()
    ranker = PreferenceRanker(C=1.0, tol=1e-2).fit(X, Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    W = ranker.weights_.nbytes
    beside = (peak - W) / X.shape[0]
    return (
        f"| {name} | {X.shape[0]:,} | {X.nnz / X.shape[0]:.0f} | {X.shape[1]:,} | "
        f"{Y.shape[1]} | {W / 1e6:.1f} | {data / 1e6:.1f} | {peak / 1e6:.1f} | "
        f"{beside:.0f} | {(peak + data) / (W + data) - 1:+.1%} |"
    )


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("CLASSMARK_DATA"))
    data = parser.parse_args().data
    print(
        "| set | documents | words | features | labels | W, MB | data, MB | "
        "peak of fit, MB | beside W, bytes a document | more than W + data |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    if data is not None:
        for name, problem in (
            ("ModApté", modapte(Path(data))),
            ("bibtex", bibtex(Path(data), idf=True)),
        ):
            print(measured(name, problem.X, problem.Y))
    for size in SIZES:
        print(measured("synthetic", *documents(*size)), flush=True)


if __name__ == "__main__":
    main()

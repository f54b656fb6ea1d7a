"""How much memory does the preference ranker need beside its weights and the data?

Run with ``python benchmarks/bench_memory.py``. Synthetic documents (Zipf words), dom,
float32; the peak of what ``fit`` allocates (tracemalloc, which sees every numpy array),
the given X not counted, against the bytes of W and of the data.
"""

from __future__ import annotations

import tracemalloc

import numpy as np
from scipy import sparse

import classmark as cm

SIZES = [
    (5_000, 60, 10_000, 100),
    (20_000, 60, 20_000, 200),
    (20_000, 60, 50_000, 500),
    (50_000, 100, 50_000, 500),
]


def documents(n: int, words: int, features: int, labels: int) -> tuple:
    """Unit rows of float32, and one label each that its words hint at."""
    rng = np.random.default_rng(0)
    columns = (rng.zipf(1.3, (n, words)) - 1) % features
    label = rng.integers(0, labels, n)
    columns[:, 0] = label % features
    starts = np.arange(0, n * words + 1, words)
    values = np.ones(n * words, np.float32)
    X = sparse.csr_matrix((values, columns.ravel(), starts), shape=(n, features))
    X.sum_duplicates()
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(lengths, np.diff(X.indptr)).astype(np.float32)
    Y = sparse.csr_matrix((np.ones(n), (np.arange(n), label)), shape=(n, labels))
    return X, Y


def main() -> None:
    """Print a table."""
    cm.PreferenceRanker(tol=0.5).fit(*documents(50, 5, 20, 5))
    print(
        "| documents | features | labels | W, MB | data, MB | peak of fit, MB | more |"
    )
    print("|---|---|---|---|---|---|---|")
    for n, words, features, labels in SIZES:
        X, Y = documents(n, words, features, labels)
        data = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
        tracemalloc.start()
        ranker = cm.PreferenceRanker(tol=1e-2).fit(X, Y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        W = ranker.weights_.nbytes
        print(
            f"| {n:,} | {features:,} | {labels} | {W / 1e6:.0f} | {data / 1e6:.0f} | "
            f"{peak / 1e6:.0f} | {(peak + data) / (W + data) - 1:+.0%} |"
        )


if __name__ == "__main__":
    main()

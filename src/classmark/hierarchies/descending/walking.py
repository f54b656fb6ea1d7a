"""Walks of many documents, in blocks, by several threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.hierarchies.descending.trained import Trained
from classmark.progress import track
from classmark.sparse import Rows

BLOCK = 256  # documents that go down together
Found = tuple[Ints, Floats]


def by_beam(
    trained: Trained, rows: Rows, scale: float, beam: int, threads: int
) -> Found:
    """The leaves a beam search ends in, best first, and their log-probabilities.

    Shape (n, beam) each; −1 and −∞ where fewer leaves were reached.
    """
    from classmark.hierarchies.descending.kernels import descend

    found = np.empty((len(rows), beam), np.int64)
    scores = np.empty((len(rows), beam))

    def walk(low: int, high: int) -> None:
        descend(
            rows.starts[low : high + 1], rows.columns, rows.values, trained.arrays,
            scale, beam, trained.widest, found[low:high], scores[low:high],
        )  # fmt: skip

    _in_blocks(walk, len(rows), threads)
    return found, scores


def by_best_first(
    trained: Trained, rows: Rows, scale: float, leaves: tuple[int, int, float],
    threads: int,
) -> Found:  # fmt: skip
    """The most probable leaves, best first, and their log-probabilities, exactly.

    leaves : how many there are, how many are wanted at most, and the log of the least
    ratio of a leaf's probability to that of the best. Shape (n, wanted) each.
    """
    from classmark.hierarchies.descending.kernels import best_first

    n_leaves, wanted, ratio = leaves
    found = np.empty((len(rows), wanted), np.int64)
    scores = np.empty((len(rows), wanted))

    def walk(low: int, high: int) -> None:
        best_first(
            rows.starts[low : high + 1], rows.columns, rows.values, trained.arrays,
            scale, ratio, n_leaves, found[low:high], scores[low:high],
        )  # fmt: skip

    _in_blocks(walk, len(rows), threads)
    return found, scores


def everywhere(
    trained: Trained, rows: Rows, scale: float, n_leaves: int, threads: int,
    *, margins: bool = False,
) -> Floats:  # fmt: skip
    """The log-probability, or the least margin, of every leaf, shape (n, leaves)."""
    from classmark.hierarchies.descending.kernels import all_leaves

    out = np.empty((len(rows), n_leaves))

    def walk(low: int, high: int) -> None:
        all_leaves(
            rows.starts[low : high + 1], rows.columns, rows.values, trained.arrays,
            scale, margins, out[low:high],
        )  # fmt: skip

    _in_blocks(walk, len(rows), threads)
    return out


def _in_blocks(walk: Callable[[int, int], None], n: int, threads: int) -> None:
    spans: Any = [(low, min(low + BLOCK, n)) for low in range(0, n, BLOCK)]
    if threads == 1 or len(spans) < 2:
        for span in track(spans, "documents", len(spans)):
            walk(*span)
        return
    with ThreadPoolExecutor(threads) as pool:
        walks = [pool.submit(walk, *span) for span in spans]
        for done in track(walks, "documents", len(walks)):
            done.result()

"""Top-down training and prediction at the shape of DMOZ.

Run with ``OMP_NUM_THREADS=1 python benchmarks/bench_dmoz.py [--leaves K ...]
[--drop SHARE ...] [--json FILE]``. Made-up collections: K leaves, 17.9 documents a
leaf, the sizes by a power law; a tree of depth 6 whose nodes divide their leaves among
a power-law number of daughters; 27,875 leaves have 594,158 words, and K leaves
594,158 (K / 27,875)^0.6. A document has 60 words, some 50 distinct: 27 by Zipf's law, 6
of a strange leaf, the others from the words of the nodes on its path, 60 a node. Rows
are (1 + ln tf) · idf of length 1, float32. Each size runs in a process of its own,
kernels compiled before; seconds are wall time (cpu: of both cores together), memory is
the process's peak. 10,000 further documents (as many as there are to learn, if fewer)
are predicted.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Rows, stack, take
from classmark.hierarchies.top_down import TopDownClassifier
from classmark.taxonomy.tree import Taxonomy

LEAVES, FEATURES, DOCUMENTS, DEPTH = 27_875, 594_158, 497_992, 6
WORDS, COMMON, STRANGE, OWN = 60, 0.45, 0.10, 60
BLOCK, TESTED = 20_000, 10_000
SIZES = (1_000, 3_000, 10_000, LEAVES)
BEAMS = (1, 5, 10)
TOP = 17  # daughters of the root


def tree_of(k: int, rng: np.random.Generator) -> tuple[list[Any], NDArray[Any]]:
    """Edges between numbered nodes, and the path of each leaf, −1 where it is short."""
    edges: list[tuple[int, int]] = []
    paths: list[list[int]] = []
    waiting, named = [(0, k, [0])], 1
    while waiting:
        node, leaves, path = waiting.pop()
        if leaves == 1:
            paths.append(path)
            continue
        below = leaves if len(path) == DEPTH else TOP
        if 1 < len(path) < DEPTH:
            below = min(leaves, 2 + int(rng.pareto(0.9) * 2), 400)
        share = np.arange(1, below + 1) ** -1.0
        more = rng.multinomial(leaves - below, share / share.sum())
        for count in (1 + more).tolist():
            edges.append((node, named))
            waiting.append((named, count, [*path, named]))
            named += 1
    table = np.full((k, DEPTH + 1), -1)
    for at, path in enumerate(paths):
        table[at, : len(path)] = path
    return edges, table


def sizes_of(k: int, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Documents of each leaf, at least one, by a power law, in no order."""
    share = np.arange(1, k + 1) ** -0.8
    return rng.permutation(1 + rng.multinomial(n - k, share / share.sum()))


class Words:
    """Draws the words of documents."""

    def __init__(self, paths: NDArray[Any], d: int, rng: np.random.Generator) -> None:
        self.paths, self.d, self.rng = paths, d, rng
        self.lengths = (paths >= 0).sum(axis=1)
        self.own = self.zipf((int(paths.max()) + 1, OWN))

    def zipf(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Words of rank r with a probability proportional to 1 / r."""
        power: NDArray[np.float64] = self.rng.random(shape) * np.log(self.d)
        return np.exp(power).astype(np.int64)

    def rows(self, leaf: NDArray[np.int64]) -> Rows:
        """Counts of the words of some documents."""
        rng, shape = self.rng, (len(leaf), WORDS)
        kind = rng.random(shape)
        other = rng.integers(0, len(self.paths), shape)
        where = np.where(kind < COMMON + STRANGE, other, leaf[:, None])
        level = 1 + (rng.random(shape) * (self.lengths[where] - 1)).astype(np.int64)
        topic = self.paths[where, level]
        rank = (OWN * rng.random(shape) ** 2).astype(np.int64)
        words = np.where(kind < COMMON, self.zipf(shape), self.own[topic, rank])
        flat = np.sort(words + np.arange(len(leaf))[:, None] * self.d, axis=None)
        key, count = np.unique(flat, return_counts=True)
        starts = np.searchsorted(key, np.arange(len(leaf) + 1) * self.d)
        columns = (key % self.d).astype(np.uint32)
        return Rows(starts.astype(np.int64), columns, count.astype(np.float32), self.d)


def weighted(rows: Rows, idf: NDArray[np.float32]) -> Rows:
    """(1 + ln tf) · idf, each row of length 1; the values are written over."""
    values = rows.values
    np.log(values, out=values)
    values += 1
    values *= idf[rows.columns]
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    length = np.sqrt(np.bincount(owner, values**2, len(rows))).astype(np.float32)
    values /= np.maximum(length, 1e-9)[owner]
    return rows


def made_up(k: int) -> tuple[Taxonomy, Rows, Any, Rows, Any]:
    """A tree, documents to learn and their leaves, documents to predict and theirs."""
    rng = np.random.default_rng(0)
    n, d = DOCUMENTS * k // LEAVES, int(FEATURES * (k / LEAVES) ** 0.6)
    edges, paths = tree_of(k, rng)
    words = Words(paths, d, rng)
    leaf = rng.permutation(np.repeat(np.arange(k), sizes_of(k, n, rng)))
    tested = rng.choice(leaf, min(TESTED, n))
    counted = stack([words.rows(leaf[i : i + BLOCK]) for i in range(0, n, BLOCK)])
    seen = np.bincount(counted.columns, minlength=d)
    idf = np.log(n / np.maximum(seen, 1)).astype(np.float32)
    names = paths[np.arange(k), words.lengths - 1]
    later = weighted(words.rows(tested), idf)
    return Taxonomy(edges), weighted(counted, idf), names[leaf], later, names[tested]


def peak() -> float:
    """The most memory this process has had so far, in GB."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2)


def tried(k: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Learn and predict one size."""
    tree, X, y, later, gold = made_up(k)
    few = np.arange(200)
    model = TopDownClassifier(tree, **settings).fit(take(X, few), y[few])
    model.predict(take(X, few))
    model.rank(take(X, few), k=5)
    before, started, spent = peak(), time.perf_counter(), time.process_time()
    model.fit(X, y)
    took, spent = time.perf_counter() - started, time.process_time() - spent
    names = model.classes_
    found: dict[str, Any] = {
        "leaves": k, "inner": len(model.places_.inner), "depth": tree.depth,
        "documents": len(X), "features": X.width, "values": X.nnz,
        "widest": model.trained_.widest, **settings,
        "train_s": round(took, 1), "train_cpu_s": round(spent, 1),
        "peak_gb": peak(), "peak_before_gb": before,
        "model_mb": round(model.size_bytes_ / 1e6, 1),
        "flat_gb": round(k * X.width * 8 / 1e9, 2), "dropped": model.dropped_,
    }  # fmt: skip
    largest = int(np.bincount(model.places_.documents.columns).argmax())
    found["largest_class"] = round(float(np.mean(gold == names[largest])), 4)
    for beam in (*BEAMS, None):
        model.beam = beam
        started, spent = time.perf_counter(), time.process_time()
        right = float(np.mean(np.array(model.predict(later)) == gold))
        rate = len(gold) / (time.perf_counter() - started)
        each = 1e6 * (time.process_time() - spent) / len(gold)
        found[f"beam {beam or 'best'}"] = {
            "accuracy": round(right, 4), "docs_s": round(rate), "cpu_us": round(each, 1)
        }  # fmt: skip
    started = time.perf_counter()
    ranked = model.rank(later, k=5)
    found["rank5_docs_s"] = round(len(gold) / (time.perf_counter() - started))
    found["recall@5"] = float(
        np.mean([g in r for g, r in zip(gold, ranked, strict=True)])
    )
    return found | kept(model, later)


def kept(model: TopDownClassifier, later: Rows) -> dict[str, Any]:
    """Save, open and predict one document."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        model.save(Path(folder) / "model")
        saved = time.perf_counter()
        opened = TopDownClassifier.open(Path(folder) / "model")
        ready = time.perf_counter()
        opened.predict(take(later, [0]))
        first = time.perf_counter()
    return {
        "save_s": round(saved - started, 2),
        "open_s": round(ready - saved, 2),
        "first_ms": round(1000 * (first - ready), 1),
    }


def apart(*arguments: Any) -> dict[str, Any]:
    """Run in a fresh process, so that its peak memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found: dict[str, Any] = pool.apply(tried, arguments)
        return found


def main() -> None:
    """Learn, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leaves", type=int, nargs="*", default=SIZES)
    parser.add_argument("--base", default="svm")
    parser.add_argument("--drop", type=float, nargs="*", default=[0.0])
    parser.add_argument("--scale", type=float, default=8.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    settings = {
        "base": options.base, "scale": options.scale,
        "n_jobs": options.jobs, "memory": options.memory,
    }  # fmt: skip
    found = []
    for k, drop in product(options.leaves, options.drop):
        found.append(apart(k, settings | {"drop": drop}))
        print(json.dumps(found[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()

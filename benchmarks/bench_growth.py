"""How do building and searching an index grow with the collection?

Run with ``OMP_NUM_THREADS=1 python benchmarks/bench_growth.py [--most N] [--plot FILE]
[--json FILE]``: synthetic documents of 40 words by Zipf's law (the vocabulary grows
with the collection), from 10,000 to N (1,000,000) of them. Processor seconds of
building (256 MB) and of BM25 queries of three words, drawn like the words of a document
but without the 100 most frequent, top 10; exponents by least squares of the logarithms.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from bench_plm import table

from classmark import Index
from classmark.evaluation.figures import power_laws

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
WORDS, BLOCK, QUERIES = 40, 10_000, 500
ANALYZER = "words|lower"


def ranks(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Draw the ranks of words: p(r) ∝ 1 / r^1.2, without an end."""
    return np.minimum(rng.zipf(1.2, shape), 50_000_000)


def documents(n: int) -> Iterator[tuple[str, str]]:
    """Documents one by one; a word is a letter and its rank."""
    rng = np.random.default_rng(0)
    for first in range(0, n, BLOCK):
        drawn = ranks(rng, (min(BLOCK, n - first), WORDS))
        for i, row in enumerate(drawn.tolist()):
            yield str(first + i), " ".join([f"w{r}" for r in row])


def queries() -> list[str]:
    """Three words each, none of the 100 most frequent."""
    rng = np.random.default_rng(1)
    drawn = ranks(rng, (QUERIES * 40, 3))
    kept = drawn[(drawn > 100).all(axis=1) & (drawn < 100_000).all(axis=1)][:QUERIES]
    return [" ".join([f"w{r}" for r in row]) for row in kept.tolist()]


def measured(n: int) -> dict[str, Any]:
    """Build, search, and say what it took."""
    started = time.process_time()
    size = sum(len(text) for _, text in documents(n))
    making = time.process_time() - started
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        Index.build(folder, documents(n), memory="256MB", analyzer=ANALYZER)
        building = time.process_time() - started - making
        index = Index.open(folder, memory="2GB")
        asked = queries()
        for query in asked:
            index.search(query)
        started = time.process_time()
        for query in asked:
            index.search(query)
        searching = (time.process_time() - started) / len(asked)
        disk = sum(f.stat().st_size for f in Path(folder).rglob("*") if f.is_file())
    return {
        "documents": n,
        "text, MB": size / 1e6,
        "building, s": building,
        "MB/s": size / 1e6 / building,
        "index, MB": disk / 1e6,
        "query, µs": 1e6 * searching,
    }


def main() -> None:
    """Measure every size; print the exponents, draw them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=SIZES[-1])
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    measured(1000)
    rows = [measured(n) for n in SIZES if n <= options.most]
    print(table(rows))
    n = [row["documents"] for row in rows]
    series = {}
    for name in ("building, s", "query, µs", "index, MB"):
        y = [row[name] for row in rows]
        slope = float(np.polyfit(np.log(n), np.log(y), 1)[0])
        print(f"{name} ~ documents^{slope:.2f}")
        series[name] = (n, y)
    if options.plot:
        labels = ("documents", "seconds, µs or MB")
        title = "An index as the collection grows"
        power_laws(series, options.plot, title, labels)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()

"""Vectorizer against scikit-learn's TfidfVectorizer: the same matrix, time and memory.

Run with ``CLASSMARK_DATA=DIR python benchmarks/bench_vectorizer.py [--json FILE]``. All
18,846 messages of 20 Newsgroups become tf-idf rows: same tokens, same stop list, Porter
stems by PyStemmer, unit rows, float32. One process, one thread; the contestants take
turns and the medians are compared. Memory is what the resident set grows by, at its
peak as the system (Linux) records it, over the loaded texts, in a fresh process each.

scikit-learn is given four analyzers, from the obvious one to the fastest we found, and
is measured by its best.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from classmark.text import Analyzer, stop_words
from classmark.weighting.vectorizer import Vectorizer

Analyze = Callable[[str], list[str]]
FOLDER = "20newsgroups-bydate"
tokens_of = re.compile(r"[^\W_]+").findall


def load(folder: Path) -> list[str]:
    """Return the texts of all messages."""
    texts = []
    for path in sorted((folder / FOLDER).glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            texts += [json.loads(line)["text"] for line in lines]
    return texts


def stemming_all(cache: int) -> Analyze:
    """Filter by a set, stem each document's words with PyStemmer's own cache."""
    import Stemmer

    stop = stop_words("english")
    stem = Stemmer.Stemmer("porter", cache).stemWords
    return lambda text: stem([w for w in tokens_of(text.lower()) if w not in stop])


class Memory(dict[str, str]):
    """Stems remembered; a stop word's is empty."""

    def __init__(self) -> None:
        import Stemmer

        super().__init__(dict.fromkeys(stop_words("english"), ""))
        self.stem = Stemmer.Stemmer("porter", 0).stemWord

    def __missing__(self, word: str) -> str:
        stem: str = self.stem(word)
        self[word] = stem
        return stem


def remembering(*, by_filter: bool) -> Analyze:
    """Look each word up in a dictionary of stems."""
    recall = Memory().__getitem__
    if by_filter:
        return lambda text: list(filter(None, map(recall, tokens_of(text.lower()))))
    return lambda text: [w for w in map(recall, tokens_of(text.lower())) if w]


ANALYZERS: dict[str, Callable[[], Analyze]] = {
    "stemWords, cache of 10,000 (default)": lambda: stemming_all(10_000),
    "stemWords, cache of 300,000": lambda: stemming_all(300_000),
    "dictionary of stems, comprehension": lambda: remembering(by_filter=False),
    "dictionary of stems, filter": lambda: remembering(by_filter=True),
}


def ours() -> Any:
    """Return a new Vectorizer."""
    return Vectorizer(Analyzer(stem="porter"))


def theirs(analyzer: str) -> Any:
    """Return a new TfidfVectorizer."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(analyzer=ANALYZERS[analyzer](), dtype=np.float32)


def seconds(make: Callable[[], Any], texts: list[str]) -> float:
    """Time one fit_transform of a new vectorizer."""
    vectorizer = make()
    begin = time.perf_counter()
    vectorizer.fit_transform(texts)
    return time.perf_counter() - begin


def difference(texts: list[str]) -> float:
    """Return the largest difference between the two matrices; refuse other columns."""
    mine, other = ours(), theirs(next(iter(ANALYZERS)))
    A, B = mine.fit_transform(texts), other.fit_transform(texts)
    if mine.get_feature_names_out().tolist() != other.get_feature_names_out().tolist():
        raise SystemExit("the two vocabularies differ")
    return float(abs(A - B).max())


def peak_resident() -> float:
    """Return the largest resident set since ``forget_peak``, in MB."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s*(\d+) kB", status)[0]) * 1024 / 1e6


def forget_peak() -> None:
    """Start the system's record of the largest resident set anew (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def growth(make: Callable[[], Any], texts: list[str]) -> dict[str, float]:
    """Return by how many MB the resident set grows at its peak during one fit.

    Warm: imports and kernels are there, a small fit has been done.
    """
    make().fit_transform(texts[:200])
    gc.collect()
    forget_peak()
    before = peak_resident()
    X = make().fit_transform(texts)
    held = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return {"peak": peak_resident() - before, "matrix": held / 1e6}


def in_fresh_process(name: str, folder: Path) -> dict[str, float]:
    """Measure memory in a process of its own."""
    command = [sys.executable, __file__, "--data", str(folder), "--memory-of", name]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - this very file
    measured: dict[str, float] = json.loads(answer.stdout)
    return measured


def machine() -> str:
    """Describe where this ran."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = re.findall(r"model name\s*:\s*(.+)", info.read_text())
        cpu = names[0] if names else cpu
    packages = ("numpy", "scipy", "numba", "PyStemmer", "scikit-learn")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return (
        f"{os.cpu_count()} cores, {cpu}; Python {platform.python_version()}, {versions}"
    )


def compare(folder: Path, repeats: int) -> dict[str, Any]:
    """Run everything."""
    texts = load(folder)
    worst = difference(texts)
    contestants = {"classmark": ours} | {
        name: lambda name=name: theirs(name) for name in ANALYZERS
    }
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, make in contestants.items():
            times[name].append(seconds(make, texts))
    median = {name: statistics.median(taken) for name, taken in times.items()}
    best = min(ANALYZERS, key=median.__getitem__)
    memory = {name: in_fresh_process(name, folder) for name in contestants}
    leanest = min(ANALYZERS, key=lambda name: memory[name]["peak"])
    size = sum(len(text.encode()) for text in texts)
    return {
        "machine": machine(),
        "documents": len(texts),
        "bytes": size,
        "difference": worst,
        "repeats": repeats,
        "seconds": median,
        "fastest": {name: min(taken) for name, taken in times.items()},
        "ratio": {name: median[name] / median["classmark"] for name in ANALYZERS},
        "best_ratio": median[best] / median["classmark"],
        "MB_per_second": size / 1e6 / median["classmark"],
        "memory_MB": memory,
        "memory_ratio": memory["classmark"]["peak"] / memory[leanest]["peak"],
    }


def table(result: dict[str, Any]) -> str:
    """Print the result as a Markdown table."""
    lines = [
        "| contestant | seconds (median) | ratio | peak memory, MB |",
        "|---|---|---|---|",
    ]
    for name, taken in result["seconds"].items():
        ratio = result["ratio"].get(name, 1.0)
        title = name if name == "classmark" else f"scikit-learn, {name}"
        peak = result["memory_MB"][name]["peak"]
        lines.append(f"| {title} | {taken:.3f} | {ratio:.1f} | {peak:.0f} |")
    return "\n".join(lines)


def main() -> None:
    """Compare, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("CLASSMARK_DATA"))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.data is None:
        parser.error("give --data, or set CLASSMARK_DATA")
    name = options.memory_of
    if name:
        make = ours if name == "classmark" else lambda: theirs(name)
        print(json.dumps(growth(make, load(options.data))))
        return
    result = compare(options.data, options.repeats)
    print(result["machine"])
    print(f"{result['documents']} documents, {result['bytes'] / 1e6:.1f} MB", end="; ")
    print(f"largest difference {result['difference']:.1e}; {options.repeats} repeats")
    print(table(result))
    print(
        f"{result['MB_per_second']:.0f} MB/s; ratio {result['best_ratio']:.1f}", end=""
    )
    print(f"; peak memory {result['memory_ratio']:.2f} of scikit-learn's")
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()

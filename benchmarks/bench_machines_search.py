"""Search over the shards of an index on workers, beside one process with all of it.

Run with ``CLASSMARK_DATA=… python benchmarks/bench_machines_search.py [--times 10]
[--workers 2] [--json FILE]``. The articles of wikispeedia, so many times, in four
shards; the queries are their titles, top 10 by BM25. All queries in one round, and one
by one; answers are compared, ids, scores and numbers. Both are warm and take turns;
medians of five. ``cpu_ratio`` is the processor time of all queries here by that of the
workers and this process together.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from bench_machines_index import multiplied

from classmark.index.index import Index
from classmark.machines.cluster import Machines
from classmark.machines.searching import SpreadIndex
from classmark.workbench.search.index import index_file

SHARDS, REPEATS, SINGLE = 4, 5, 100


def timed(work: Any) -> float:
    """Seconds."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def processor(machines: Machines) -> float:
    """Processor seconds of the workers and of this process so far."""
    return time.process_time() + sum(machines.client.run(time.process_time).values())


def turns(
    here: Index, spread: SpreadIndex, titles: list[str], machines: Machines
) -> dict[str, float]:
    """Let both answer in turns."""
    facts, cpu = dict[str, float](), dict[str, float]()
    several: dict[str, list[float]] = {"here": [], "spread": []}
    single: dict[str, list[float]] = {"here": [], "spread": []}
    spent: dict[str, list[float]] = {"here": [], "spread": []}
    for _ in range(REPEATS):
        for how, index in (("here", here), ("spread", spread)):
            before = processor(machines)
            several[how].append(timed(lambda i=index: i.search_many(titles)))
            spent[how].append(processor(machines) - before)
            some = titles[:SINGLE]
            single[how] += [timed(lambda i=index, t=t: i.search(t)) for t in some]
    for how, seconds in several.items():
        per_second = len(titles) / statistics.median(seconds)
        facts[f"queries_per_second_{how}"] = round(per_second)
        facts[f"one_query_ms_{how}"] = round(1e3 * statistics.median(single[how]), 3)
        cpu[how] = statistics.median(spent[how])
    return facts | {"cpu_ratio": round(cpu["here"] / cpu["spread"], 2)}


def main() -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    source = Path(os.environ["CLASSMARK_DATA"]) / "wikispeedia" / "articles.jsonl"
    ids = [json.loads(line)["id"] for line in source.open(encoding="utf-8")]
    titles = [unquote(each).replace("_", " ") for each in ids]
    with tempfile.TemporaryDirectory() as name:
        path, to = Path(name) / "articles.jsonl", Path(name) / "index"
        multiplied(asked.times, path)
        found: dict[str, Any] = {"queries": len(titles), "workers": asked.workers}
        with Machines.local(asked.workers) as machines:
            index_file(path, to, machines=machines, shards=SHARDS)
            here = Index.open(to)
            found["documents"] = len(here)
            with SpreadIndex(machines, to) as spread:
                same = here.search_many(titles) == spread.search_many(titles)
                found |= {"identical": same, **turns(here, spread, titles, machines)}
    text = json.dumps(found, indent=1)
    print(text)
    if asked.json:
        asked.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Indexing on several machines: how much is lost on the way, and what workers take.

Run with ``CLASSMARK_DATA=… python benchmarks/bench_machines_index.py [--times 10]
[--repeats 3] [--json FILE]``. The articles of wikispeedia, so many times, with ids of
their own, are indexed from one JSONL file: here by ``classmark index``, which uses one
core; by two processes that know nothing of each other, a half of the file each, to two
indexes (all that two cores could do); and by two workers of a cluster that is running,
to one index. They take turns, kernels compiled before. Then, with
a limit of 600 MB for each worker, a tenth of the collection and all of it, each with
workers that have done nothing before: memory is the largest that the system saw
resident (VmHWM), pages of mapped files included.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from classmark.machines.cluster import Machines
from classmark.workbench.search.index import index_file

WORKERS, LIMIT, MEMORY = 2, 600 * 10**6, "512MB"


def multiplied(times: int, to: Path) -> None:
    """Write the articles, so many times, each time under other ids."""
    source = Path(os.environ["CLASSMARK_DATA"]) / "wikispeedia" / "articles.jsonl"
    records = [json.loads(line) for line in source.open(encoding="utf-8")]
    with to.open("w", encoding="utf-8") as file:
        for number in range(times):
            for record in records:
                copy = record | {"id": f"{number}-{record['id']}"}
                file.write(json.dumps(copy) + "\n")


def built(path: Path, to: Path, machines: Machines | None = None) -> float:
    """Seconds that an index takes."""
    shutil.rmtree(to, ignore_errors=True)
    started = time.perf_counter()
    index_file(path, to, MEMORY, machines=machines)
    return time.perf_counter() - started


def used(machines: Machines) -> float:
    """Processor seconds that the workers have used."""
    times = machines.client.run(os.times)
    return float(sum(each.user + each.system for each in times.values()))


def peak() -> int:
    """The most this process had in memory, in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status says nothing of VmHWM")


def same(one: Path, other: Path) -> bool:
    """Whether two folders hold the same files, but for locks."""
    names = [
        sorted(
            p.relative_to(f) for p in f.rglob("*") if p.is_file() and p.name != ".lock"
        )
        for f in (one, other)
    ]
    return names[0] == names[1] and all(
        (one / name).read_bytes() == (other / name).read_bytes() for name in names[0]
    )


def halved(path: Path, where: Path) -> list[tuple[Path, Path]]:
    """Write the two halves of a file; return each with a place for its index."""
    lines = path.read_bytes().splitlines(keepends=True)
    found = []
    for at, some in enumerate((lines[::2], lines[1::2])):
        half = where / f"half-{at}.jsonl"
        half.write_bytes(b"".join(some))
        found.append((half, where / f"half-{at}"))
    return found


def compared(path: Path, small: Path, where: Path, repeats: int) -> dict[str, Any]:
    """Local and spread builds, in turn."""
    here, there = where / "here", where / "there"
    seconds: dict[str, list[float]] = {"here": [], "two": [], "spread": []}
    cpu: dict[str, list[float]] = {"here": [], "spread": []}
    halves = halved(path, where)
    two = ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))
    with two, Machines.local(WORKERS) as machines:
        built(small, there, machines)
        built(small, here)
        list(two.map(built, [small, small], [to for _, to in halves]))
        for _ in range(repeats):
            began = time.perf_counter()
            list(two.map(built, *zip(*halves, strict=True)))
            seconds["two"].append(time.perf_counter() - began)
            before = sum(os.times()[:2])
            seconds["here"].append(built(path, here))
            cpu["here"].append(sum(os.times()[:2]) - before)
            before = used(machines) + sum(os.times()[:2])
            seconds["spread"].append(built(path, there, machines))
            cpu["spread"].append(used(machines) + sum(os.times()[:2]) - before)
    ratios = [a / b for a, b in zip(seconds["here"], seconds["spread"], strict=True)]
    ideal = [a / b for a, b in zip(seconds["two"], seconds["spread"], strict=True)]
    return {
        "megabytes": path.stat().st_size / 1e6,
        "seconds": {name: statistics.median(each) for name, each in seconds.items()},
        "processor_seconds": {
            name: statistics.median(each) for name, each in cpu.items()
        },
        "throughput_of_local": statistics.median(ratios),
        "throughput_of_two_processes": statistics.median(ideal),
        "runs": [round(ratio, 3) for ratio in ideal],
        "identical": same(here, there),
        "index_megabytes": sum(p.stat().st_size for p in here.rglob("*")) / 1e6,
    }


def grown(paths: dict[str, Path], where: Path) -> list[dict[str, Any]]:
    """What workers take at most, for each collection."""
    found = []
    for name, path in paths.items():
        with Machines.local(WORKERS, memory=LIMIT) as machines:
            idle = max(machines.client.run(peak).values())
            seconds = built(path, where / "grown", machines)
            most = max(machines.client.run(peak).values())
        megabytes = path.stat().st_size / 1e6
        found.append(
            {
                "collection": name,
                "megabytes": round(megabytes),
                "seconds": round(seconds, 1),
                "idle_mb": round(idle / 1e6),
                "peak_mb": round(most / 1e6),
                "limit_mb": round(LIMIT / 1e6),
            }
        )
    return found


def main() -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        where = Path(name)
        small, large = where / "small.jsonl", where / "large.jsonl"
        multiplied(max(1, asked.times // 10), small)
        multiplied(asked.times, large)
        found: dict[str, Any] = compared(large, small, where, asked.repeats)
        found["memory"] = grown({"a tenth": small, "all": large}, where)
    text = json.dumps(found, indent=1)
    print(text)
    if asked.json:
        asked.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

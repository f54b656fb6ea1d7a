"""The desk under load: suggestions and durable decisions a second, and opening.

Run with ``OMP_NUM_THREADS=1 python benchmarks/bench_desk.py [FOLDER]``: the embedded
library, and a made-up project of 50,000 categories and 100,000 documents, of which all
but 10,000 are decided; FOLDER keeps it between runs (making and training it takes some
minutes). Eight threads ask one desk, in this process; so there is no web server in the
figures. Every decision is synced to disk before the next of its thread begins. Opening
is measured in a process of its own: seconds until the desk can be asked, the first
answer, and the memory of the process then.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np

from classmark.corpus.documents import Document
from classmark.datasets.library import library_categories, library_records
from classmark.formats.records import Record
from classmark.taxonomy.category import Category
from classmark.workbench.deciding.decide import Decision, decide_on, next_for
from classmark.workbench.deciding.sheet import lay_out
from classmark.workbench.deciding.suggest import suggest
from classmark.workbench.files.importing import import_records, put_taxonomy
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project, create
from classmark.workbench.settings import LearningSettings, Settings
from classmark.workbench.team.desk import Desk

THREADS = 8
BRANCHES = (20, 50, 49)  # 20 + 1,000 + 49,000 categories
OWN_WORDS = (60, 12, 3)
DOCUMENTS, WAITING = 100_000, 10_000
OPEN = """
import json, resource, sys, time
from pathlib import Path
started = time.perf_counter()
from classmark.workbench.team.desk import Desk
from classmark.workbench.deciding.suggest import suggest
imported = time.perf_counter()
with Desk(Path(sys.argv[1])) as desk:
    opened = time.perf_counter()
    suggest(desk, sys.argv[2])
    answered = time.perf_counter()
    lines = Path("/proc/self/status").read_text().splitlines()
    (now,) = [line.split()[1] for line in lines if line.startswith("VmRSS")]
    figures = [imported - started, opened - imported, answered - opened]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps([*figures, int(now) / 1024, peak / 1024]))
"""


def categories() -> Iterator[Category]:
    """A tree of three levels."""
    top, middle, low = BRANCHES
    for a in range(top):
        yield Category(f"c{a}", f"Field {a}")
        for b in range(middle):
            yield Category(f"c{a}.{b}", f"Subject {a}.{b}", parents=(f"c{a}",))
            for c in range(low):
                yield Category(
                    f"c{a}.{b}.{c}", f"Topic {a}.{b}.{c}", parents=(f"c{a}.{b}",)
                )


def records(seed: int = 0) -> Iterator[Record]:
    """Documents of some words that are common, and some of the nodes on their way."""
    rng = np.random.default_rng(seed)
    for number in range(DOCUMENTS):
        path = [int(rng.integers(width)) for width in BRANCHES]
        told = [f"word{w}" for w in np.minimum(rng.zipf(1.3, 20), 3000)]
        for depth, (own, count) in enumerate(zip(OWN_WORDS, (8, 7, 5), strict=True)):
            stem = "x".join(str(place) for place in path[: depth + 1])
            told += [f"n{stem}w{w}" for w in rng.integers(own, size=count)]
        text = " ".join(told)
        name = "c" + ".".join(map(str, path))
        labels = {name: 1.0} if number < DOCUMENTS - WAITING else {}
        yield Record(
            Document(f"d{number}", {"title": f"No. {number}", "text": text}), labels
        )


def make_large(folder: Path) -> None:
    """The large project, trained."""
    learning = LearningSettings(strategy="top-down")
    create(folder, Settings("large", learning=learning))
    with Project(folder) as project:
        started = time.perf_counter()
        put_taxonomy(project, list(categories()), "made up")
        import_records(project, records(), "made up")
        print(f"made in {time.perf_counter() - started:.0f} s", flush=True)
        trained = train(project)
        print(f"trained in {time.perf_counter() - started:.0f} s: {trained}")


def make_library(folder: Path) -> None:
    """The embedded project, trained, with documents that wait."""
    create(folder, Settings("library"))
    with Project(folder) as project:
        put_taxonomy(project, library_categories(), "library")
        known = list(library_records())
        import_records(project, known, "library")
        train(project)
        waiting = (
            Record(replace(record.document, id=f"{record.id} again {turn}"))
            for turn in range(5)
            for record in known
        )
        import_records(project, waiting, "again")


def at_once(work: Callable[[int], int], seconds: float) -> dict[str, float]:
    """Repeat some work in eight threads; how often a second, and how long it takes."""
    end = time.perf_counter() + seconds
    begun = time.perf_counter()

    def repeat(thread: int) -> list[float]:
        times = []
        while (started := time.perf_counter()) < end:
            if not work(thread):
                break
            times.append(time.perf_counter() - started)
        return times

    with ThreadPoolExecutor(THREADS) as pool:
        times = [t for own in pool.map(repeat, range(THREADS)) for t in own]
    took = time.perf_counter() - begun
    return {
        "per second": len(times) / took,
        "p50 ms": 1000 * float(np.percentile(times, 50)),
        "p99 ms": 1000 * float(np.percentile(times, 99)),
    }


def measure(folder: Path, seconds: float) -> dict[str, dict[str, float]]:
    """Figures of one project."""
    found: dict[str, dict[str, float]] = {}
    with Desk(folder) as desk:
        ids = desk.state.waiting[:1000] or list(desk.state.ids)[:1000]
        texts = [desk.store.document(id_).text for id_ in ids]
        at = iter(range(10**9))
        suggest(desk, texts[0])

        def ask(_: int) -> int:
            return len(suggest(desk, texts[next(at) % len(texts)], 10))

        def lay(thread: int) -> int:
            lay_out(desk, ids[next(at) % len(ids)], f"reader {thread} {next(at)}")
            return 1

        waiting = {n: next_for(desk, f"expert {n}") for n in range(THREADS)}
        name = next(c for c in desk.tree.leaves if c in desk.categories)

        def decide(thread: int) -> int:
            document = waiting[thread]
            if document is None:
                return 0
            decision = Decision((name,))
            saved = decide_on(desk, document, decision, {}, f"expert {thread}", 0)
            waiting[thread] = saved.next
            return 1

        found["suggest"] = at_once(ask, seconds)
        found["lay out"] = at_once(lay, seconds)
        found["decide"] = at_once(decide, seconds)
        started = time.perf_counter()
        desk.learned(600)
        found["decide"]["learned after s"] = time.perf_counter() - started
    return found


def opening(folder: Path) -> dict[str, float]:
    """Figures of opening a project, in a process of its own."""
    command = [sys.executable, "-c", OPEN, str(folder), "word1 word2 n1w1 n1x1w1"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 (our own)
    names = ("import s", "open s", "first answer s", "RSS MB", "peak MB")
    return dict(zip(names, json.loads(told), strict=True))


def main() -> None:
    """Measure both projects."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--skip-large", action="store_true")
    settings = parser.parse_args()
    print(platform.platform(), flush=True)
    with tempfile.TemporaryDirectory() as there:
        place = settings.folder or Path(there)
        projects = {"library": make_library, "large": make_large}
        if settings.skip_large:
            del projects["large"]
        for name, make in projects.items():
            folder = place / name
            if not folder.exists():
                make(folder)
            print(name, "open", json.dumps(opening(folder)), flush=True)
            for what, figures in measure(folder, settings.seconds).items():
                print(name, what, json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()

"""Starting: how long does a whole command take on a project of the demo's size?

Run with ``python benchmarks/bench_start.py [--json FILE] [--runs N]`` on a quiet
machine. The demo's project is made in a folder of its own, indexed, and searched by
example once; then every command runs N times, in a process of its own, and the best is
printed: the seconds until it has ended (of serve: until the address is printed, and
until the first page is there), and those of the processor. What Python and NumPy need
to start is printed first: it is a part of every row below.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

CLASSMARK = [sys.executable, "-m", "classmark.cli.main"]
STARTS = {
    "python -c pass": ["-c", "pass"],
    "python -c 'import numpy'": ["-c", "import numpy"],
    "python -c 'import numba'": ["-c", "import numba"],
}
COMMANDS = {
    "--help": "--help",
    "history": "history",
    "suggest": "suggest --document r1042",
    "search": "search church tower",
    "queue": "queue",
    "place": "place",
    "like": "like --examples r0001,r0002,r0003 --no r0020",
    "decide": "decide r1042 --assign away.play.boats",
    "undo": "undo",
}
FIRST_PAGE = 60  # seconds to wait for it


def timed(words: list[str], folder: Path) -> tuple[float, float]:
    """Run a program; return seconds until it ended, and seconds of the processor."""
    before, started = os.times(), time.perf_counter()
    subprocess.run(words, check=True, capture_output=True, cwd=folder)  # noqa: S603
    spent, after = time.perf_counter() - started, os.times()
    cpu = after.children_user - before.children_user
    return spent, cpu + after.children_system - before.children_system


def served(folder: Path) -> tuple[float, float]:
    """Serve the project; return seconds until the address, and until the first page."""
    started = time.perf_counter()
    words = [*CLASSMARK, "serve", str(folder), "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
        line = server.stdout.readline()
        address = time.perf_counter() - started
        (place,) = re.findall(r"http://[^/]+/", line)
        urllib.request.urlopen(f"{place}enter", timeout=FIRST_PAGE).read()  # noqa: S310
        page = time.perf_counter() - started
        server.terminate()
    return address, page


def best(tries: list[tuple[float, float]]) -> tuple[float, float]:
    """The least of each."""
    first, second = zip(*tries, strict=True)
    return min(first), min(second)


def demo_in(folder: Path) -> Path:
    """Make the demo's project, with an index and the vectors of ``like``."""
    library = folder / "library"
    for line in (
        f"demo --no-serve --dir {library}",
        f"index --project {library}",
        f"like --examples r0001 --project {library}",
        f"suggest --document r1042 --project {library}",
    ):
        subprocess.run([*CLASSMARK, *line.split()], check=True, capture_output=True)  # noqa: S603
    return library


def measure(runs: int) -> dict[str, tuple[float, float]]:
    """Seconds, and seconds of the processor, of every command; serve: its two."""
    with tempfile.TemporaryDirectory() as place:
        library = demo_in(Path(place))
        found = {
            name: best([timed([sys.executable, *code], library) for _ in range(runs)])
            for name, code in STARTS.items()
        }
        for name, line in COMMANDS.items():
            words = [*CLASSMARK, *line.split()]
            found[f"classmark {name}"] = best(
                [timed(words, library) for _ in range(runs)]
            )
        found["classmark serve"] = best([served(library) for _ in range(runs)])
    return found


def main() -> None:
    """Measure, print, and keep the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    told = parser.parse_args()
    found = measure(told.runs)
    print("| | seconds | of the processor |\n|---|---:|---:|")
    for name, (seconds, second) in found.items():
        if name == "classmark serve":
            print(f"| {name}, the address | {seconds:.2f} | |")
            print(f"| {name}, the first page | {second:.2f} | |")
        else:
            print(f"| {name} | {seconds:.2f} | {second:.2f} |")
    if told.json:
        told.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

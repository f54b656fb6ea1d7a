"""What is promised of reliability, security and use, tried in full.

Run with ``make promises`` (a quarter of an hour or more; a Chromium and a PostgreSQL
are to be there): every test of a promise runs as often as is promised, where CI
runs it a few times; then start-up and load are measured. The table in
``docs/promises.md`` is written anew. ``--only 3 5`` tries some of them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

HOME = Path(__file__).parent.parent
PAGE = HOME / "docs" / "promises.md"
BEGIN, END = "<!-- figures: make promises -->", "<!-- end of figures -->"


class Promise(NamedTuple):
    """A promise, how it is tried, and the tests that do."""

    number: int
    what: str
    how: str
    tests: tuple[str, ...] = ()


KILLS = "tests/promises/test_kills.py"
PROMISES = (
    Promise(
        1,
        "no acknowledged decision is lost",
        "kill -9 at 500 moments while decisions are made, undone and learned",
        (f"{KILLS}::test_no_acknowledged_decision_is_lost",),
    ),
    Promise(
        2,
        "an index opens at its last commit",
        "kill -9 at 500 moments of building and changing, the first commit among them",
        (f"{KILLS}::test_an_index_opens_at_its_last_commit",),
    ),
    Promise(
        3,
        "power may fail",
        "2,000 schedules each of decisions, and of index and models (1,000 each), that "
        "drop, reorder and tear what was not synced; without any one of the syncs the "
        "test fails",
        ("tests/promises/test_power.py", "tests/promises/test_power_of_decisions.py"),
    ),
    Promise(
        4,
        "a write that fails is a clear error",
        "every sync, rename, open and folder fails once with ENOSPC and with EIO; a "
        "log that cannot grow",
        ("tests/promises/test_faults.py",),
    ),
    Promise(
        5,
        "damage is found",
        "10,000 inverted bytes over all files of an index, a model and a live ranker",
        ("tests/promises/test_flips.py",),
    ),
    Promise(
        6,
        "the model is what the log says",
        "rebuilt from the log: the same weights to the last bit",
        ("tests/workbench/learning/full/test_rebuild.py",),
    ),
    Promise(
        7,
        "undo is one more act",
        "1,000 runs of random acts and undoings against a simple model",
        ("tests/laws/test_acts.py",),
    ),
    Promise(
        23,
        "what is undone is as never seen",
        "20,000 lives of a project (acts, undone and brought back, changes of "
        "categories, imports, replaced texts, trainings): the scores of one that never "
        "saw what was undone, to the bit",
        ("tests/laws/test_undo.py",),
    ),
    Promise(
        8,
        "no answer is an accident",
        "10,000 generated requests, and 10,000 on one living project that use what "
        "was answered before: no 5xx, no undocumented status",
        ("tests/web/full/test_fuzz.py", "tests/web/full/test_living_fuzz.py"),
    ),
    Promise(
        9,
        "no file makes the program run what is in it",
        "pickles, as they are and in arrays and archives, for every reader and loader; "
        "machine code that is damaged, or that others could have written",
        ("tests/promises/test_code_from_data.py", "tests/test_kernel_files.py"),
    ),
    Promise(
        10,
        "document text is inert",
        "100 payloads as texts, titles, ids, labels, notes and names, on every page of "
        "a real Chromium: no dialog, no broken policy, no foreign request",
        ("tests/web/browser/test_hostile.py",),
    ),
    Promise(
        11,
        "no other site speaks for you",
        "forged origins, hosts and forms are 403",
        ("tests/web/guard/test_gate.py",),
    ),
    Promise(
        12,
        "closed unless you open it",
        "loopback and a random code by default; other addresses want users and TLS",
        ("tests/web/guard/test_doors.py",),
    ),
    Promise(
        13,
        "uploads have limits",
        "paths that leave, links, bombs, false sizes; memory grows by less than 100 MB",
        (
            "tests/formats/test_archive.py",
            "tests/workbench/files/full/test_uploads.py",
            "tests/web/test_files.py",
            "tests/web/full/test_uploads.py",
        ),
    ),
    Promise(
        14,
        "hostile files are refused or read",
        "entity tricks at once; 1,000 random files per format and compression",
        ("tests/promises/test_hostile_files.py",),
    ),
    Promise(
        15,
        "a table runs nothing",
        "six trigger characters, disarmed unless --raw, and back again",
        ("tests/formats/test_delimited.py",),
    ),
    Promise(16, "load", "8 connections, one process"),
    Promise(17, "start-up", "classmark --help, and the server until it answers"),
    Promise(
        18,
        "several machines give what one gives",
        "two and four workers, one killed in the middle, a scheduler lost, a command "
        "killed: indexes and answers bit for bit, models within the solver's tolerance",
        ("tests/machines",),
    ),
    Promise(
        20,
        "backups and older formats open",
        "backups made during writes; stores of every older format",
        (
            "tests/workbench/files/full/test_backup.py",
            "tests/workbench/store/test_older_stores.py",
        ),
    ),
    Promise(
        21,
        "a living server goes on",
        "eight decide while it, PostgreSQL, an importer, a trainer or an indexer is "
        "killed, a writer stopped, the disk full, the store swapped or damaged; two "
        "servers; 500 event streams; 256 open files",
        (
            "tests/promises/test_living_faults.py",
            "tests/promises/test_killed_work.py",
            "tests/promises/test_open_files.py",
            "tests/promises/test_clock.py",
        ),
    ),
    Promise(
        22,
        "sizes are no weapon",
        "10,000 levels, 100,000 daughters, 100,000 labels on a document, a document of "
        "100 MB: every page is shown",
        ("tests/promises/test_sizes.py",),
    ),
    Promise(
        24,
        "files come in as people have them",
        "12 kinds of files, each imported in a real Chromium in under a minute: tables "
        "with semicolons, Latin-1 and numbers, JSON, spreadsheets, references, Word, "
        "PDF and text",
        ("tests/web/browser/test_import.py",),
    ),
    Promise(
        25,
        "everybody can use every page",
        "axe with all rules of WCAG 2.2 A and AA on every page and dialog at 390, 768, "
        "1366 and 1920 pixels, light and dark; nothing wider than the window",
        ("tests/web/browser/test_axe.py",),
    ),
    Promise(
        26,
        "the next document is there at once",
        "from the key to the title, forty decisions in a real Chromium on the embedded "
        "project; wanted: 80 ms at the 95th percentile",
    ),
)


def tried(promise: Promise) -> tuple[str, float]:
    """Run the tests of a promise in full; what they found, and how long it took."""
    started = time.perf_counter()
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:randomly",
        *promise.tests,
    ]
    done = subprocess.run(  # noqa: S603 (our own)
        command,
        cwd=HOME,
        env=os.environ | {"CLASSMARK_PROMISES": "full"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        print(done.stdout[-4000:], flush=True)
    last = done.stdout.strip().splitlines()[-1].strip("= ")
    return last.split(" in ")[0], time.perf_counter() - started


def start_up() -> str:
    """The middle of seven starts of ``classmark --help``."""
    program = str(Path(sys.executable).with_name("classmark"))
    took = []
    for _ in range(7):
        started = time.perf_counter()
        subprocess.run([program, "--help"], check=True, stdout=subprocess.DEVNULL)  # noqa: S603 (our own)
        took.append(time.perf_counter() - started)
    return f"--help {statistics.median(took):.2f} s"


def load(folder: Path | None) -> dict[str, dict[str, dict[str, float]]]:
    """The figures of ``bench_server.py``."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "load.json"
        script = str(Path(__file__).with_name("bench_server.py"))
        command = [sys.executable, script, "--json", str(path)]
        command += [str(folder)] if folder else []
        subprocess.run(command, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})  # noqa: S603 (our own)
        found: dict[str, dict[str, dict[str, float]]] = json.loads(path.read_bytes())
        return found


def rows(only: set[int], folder: Path | None) -> list[tuple[str, str, str, str, str]]:
    """One row of the table for each promise."""
    found = []
    for promise in PROMISES:
        if promise.number not in only or not promise.tests:
            continue
        result, seconds = tried(promise)
        print(promise.number, promise.what, result, f"{seconds:.0f} s", flush=True)
        row = (str(promise.number), promise.what, promise.how, result)
        found.append((*row, f"{seconds:.0f} s"))
    if only & {16, 17}:
        found += measured(load(folder))
    if 26 in only:
        found.append(keys())
    return found


def keys() -> tuple[str, str, str, str, str]:
    """The row of the time from a key to the next document."""
    script = str(Path(__file__).with_name("bench_keys.py"))
    command = [sys.executable, script]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 (our own)
    promise = PROMISES[-1]
    result = done.stdout.strip()
    return str(promise.number), promise.what, promise.how, result, ""


def measured(
    figures: dict[str, dict[str, dict[str, float]]],
) -> list[tuple[str, str, str, str, str]]:
    """The rows of load and start-up."""
    names = {"library": "embedded project", "large": "50,000 categories"}
    found = []
    for name, own in figures.items():
        for call in ("suggest", "decide"):
            told = own[call]
            result = f"{told['per second']:.0f}/s, p99 {told['p99 ms']:.0f} ms"
            how = f"8 connections, {names[name]}: {call}"
            found.append(("16", "load", how, result, ""))
        start = own["start"]
        result = f"ready in {start['ready s']:.1f} s, {start['RSS MB']:.0f} MB"
        found.append(("17", "start-up", f"classmark serve, {names[name]}", result, ""))
    found.append(("17", "start-up", "classmark --help, median of 7", start_up(), ""))
    return found


def write(table: list[tuple[str, str, str, str, str]]) -> None:
    """Put the rows into the page, in place of those of the same number."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    inside, after = rest.split(END)
    fresh = {row[0] for row in table}
    old = [
        tuple(cell.strip() for cell in line.strip()[1:-1].split(" | "))
        for line in inside.strip().splitlines()[2:]
    ]
    kept = [row for row in old if row[0] not in fresh]
    lines = sorted([*kept, *table], key=lambda row: int(row[0]))
    head = "| # | promise | tried | found | took |\n|---|---|---|---|---|\n"
    body = "".join(f"| {' | '.join((*row, '', '')[:5])} |\n" for row in lines)
    PAGE.write_text(f"{before}{BEGIN}\n{head}{body}{END}{after}", encoding="utf-8")


def main() -> None:
    """Try the promises, and write what was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", type=int, nargs="*")
    parser.add_argument("--projects", type=Path, help="where bench_server keeps them")
    settings = parser.parse_args()
    only = set(settings.only or (promise.number for promise in PROMISES))
    write(rows(only, settings.projects))


if __name__ == "__main__":
    main()

"""The served workbench under load: suggestions and durable decisions.

Run with ``OMP_NUM_THREADS=1 python benchmarks/bench_server.py [FOLDER] [--json FILE]``
(FOLDER keeps the two projects of ``bench_desk.py`` between runs).
One server process, eight connections, each project from a copy: seconds until the
server answers, memory then; questions of ten suggestions, each with another text of the
collection; decisions, each on another document, on disk before they are answered, while
the ranker learns behind them: first what the ranker suggests, as people do, then the
last category for everything, which the ranker puts far down. The client is a process of
its own and shares the machine's cores with the server; so what a request takes of the
server's processor time (``cpu ms``, learning included) is what can be compared.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import cycle
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from bench_desk import make_large, make_library

from classmark.workbench.project import Project
from classmark.workbench.team.people import add_token

CONNECTIONS, TEXTS, DECIDED = 8, 1000, 2_400  # the library has 4,884 documents


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, float, int]]:
    """A server: its address, seconds until it answered, and its process number."""
    started = time.perf_counter()
    program = Path(sys.executable).with_name("classmark")
    command = [str(program), "serve", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 (our own)
        line = process.stdout.readline() if process.stdout else ""
        address = re.search(r"http://[\d.:]+", line)
        if address is None:
            sys.exit(f"the server said {line!r} instead of its address")
        while True:
            try:
                urllib.request.urlopen(f"{address[0]}/enter").read()  # noqa: S310
                break
            except urllib.error.URLError:
                time.sleep(0.01)
        try:
            yield address[0], time.perf_counter() - started, process.pid
        finally:
            process.terminate()


def memory_of(pid: int) -> float:
    """The resident memory of a process, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    (own,) = [line.split()[1] for line in lines if line.startswith("VmRSS")]
    return int(own) / 1024


def processor_of(pid: int) -> float:
    """The processor time of a process and its threads, in seconds."""
    facts = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]
    ticks = sum(map(int, facts.split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def ask(
    address: str, call: str, secret: str, bodies: list[str], seconds: float
) -> tuple[list[float], int]:
    """Keep eight connections busy; the times of all answers, and how many refused."""
    host, port = address.removeprefix("http://").split(":")
    head = (
        f"POST /api/v1/{call} HTTP/1.1\r\nHost: {host}:{port}\r\n"
        f"Authorization: Bearer {secret}\r\nContent-Type: application/json\r\n"
    )
    encoded = (body.encode() for body in cycle(bodies))
    requests = (
        f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body for body in encoded
    )
    poll, lines, answers = select.poll(), dict[int, socket.socket](), dict[int, bytes]()
    begun, times, refused = dict[int, float](), list[float](), 0
    for _ in range(CONNECTIONS):
        line = socket.create_connection((host, int(port)))
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        poll.register(line, select.POLLIN)
        lines[line.fileno()], answers[line.fileno()] = line, b""
        begun[line.fileno()] = time.perf_counter()
        line.sendall(next(requests))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for number, _ in poll.poll(1000):
            answers[number] += lines[number].recv(1 << 16)
            top, _, body = answers[number].partition(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", top.lower())
            if length is None or len(body) < int(length[1]):
                continue
            now = time.perf_counter()
            times.append(now - begun[number])
            refused += not top.startswith(b"HTTP/1.1 200")
            begun[number], answers[number] = now, b""
            lines[number].sendall(next(requests))
    return times, refused


def load(
    pid: int, address: str, call: str, secret: str, bodies: list[str], seconds: int
) -> dict[str, float]:
    """What eight connections find."""
    before = processor_of(pid)
    with ProcessPoolExecutor(1, get_context("spawn")) as apart:
        times, refused = apart.submit(
            ask, address, call, secret, bodies, seconds
        ).result()
    return {
        "per second": len(times) / seconds,
        "p50 ms": 1000 * float(np.percentile(times, 50)),
        "p99 ms": 1000 * float(np.percentile(times, 99)),
        "cpu ms": 1000 * (processor_of(pid) - before) / len(times),
        "refused": float(refused),
    }


def bodies(folder: Path) -> tuple[dict[str, list[str]], str]:
    """Questions and decisions, one JSON each, and a token."""
    with Project(folder) as project:
        store = project.store
        _, secret = add_token(store, "bench", "classifier", "load")
        last, model = store.categories()[-1].id, project.require_model()
        ids = [i for (i,) in store.run("SELECT id FROM documents ORDER BY number DESC")]
        likely, others = ids[:DECIDED], ids[DECIDED : 2 * DECIDED]
        texts = [store.document(id_).text for id_ in ids[:TEXTS]]
        best = [
            model.suggest(store.document(id_).text, 1, 0)[0].category for id_ in likely
        ]
    return {
        "suggest": [json.dumps({"text": text, "top": 10}) for text in texts],
        "decide": [
            json.dumps({"document": id_, "assign": [name]})
            for id_, name in zip(likely, best, strict=True)
        ],
        "decide far down": [
            json.dumps({"document": id_, "assign": [last]}) for id_ in others
        ],
    }, secret


def measure(folder: Path, seconds: int) -> dict[str, dict[str, float]]:
    """All figures of one project."""
    asked, secret = bodies(folder)
    with served(folder) as (address, ready, pid):
        found = {"start": {"ready s": ready, "RSS MB": memory_of(pid)}}
        load(pid, address, "suggest", secret, asked["suggest"], 3)
        for name, lines in asked.items():
            call = name.split()[0]
            found[name] = load(pid, address, call, secret, lines, seconds)
        found["after"] = {"RSS MB": memory_of(pid)}
    return found


def main() -> None:
    """Measure both projects."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--json", type=Path)
    settings = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as there:
        place = settings.folder or Path(there)
        for name, make in {"library": make_library, "large": make_large}.items():
            if not (place / name).exists():
                make(place / name)
            copy = Path(there) / f"{name} served"
            shutil.copytree(place / name, copy)
            found[name] = measure(copy, settings.seconds)
            for what, figures in found[name].items():
                print(name, what, json.dumps(figures), flush=True)
    if settings.json:
        settings.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()

"""The served workbench under load, by wrk: suggestions and durable decisions.

Run with ``OMP_NUM_THREADS=1 python benchmarks/bench_server.py [FOLDER] [--json FILE]``
(wrk is to be in PATH; FOLDER keeps the two projects of ``bench_desk.py`` between runs).
One server process, eight connections, each project from a copy: seconds until the
server answers, memory then; questions of ten suggestions, each with another text of the
collection; decisions, each on another document, on disk before they are answered, while
the ranker learns behind them. wrk and the server share the machine's cores.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench_desk import make_large, make_library

from classmark.workbench.project import Project
from classmark.workbench.team.people import add_token

CONNECTIONS, TEXTS, DECIDED = 8, 1000, 60_000
ASK = """
local lines = {}
for line in io.lines("%s") do lines[#lines + 1] = line end
local at, threads = 0, 0
function setup(thread) thread:set("own", threads); threads = threads + 1 end
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer %s"
function request()
  at = at + 1
  local body = lines[(2 * at + own) %% #lines + 1]
  return wrk.format(nil, nil, nil, body)
end
local bad = 0
function response(status) if status ~= 200 then bad = bad + 1 end end
"""


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


def load(url: str, script: Path, seconds: int) -> dict[str, float]:
    """What wrk finds."""
    command = [
        shutil.which("wrk") or "wrk", "-t2", f"-c{CONNECTIONS}", f"-d{seconds}s",
        "--latency", "--timeout", "10s", "-s", str(script), url,
    ]  # fmt: skip
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 (named above)
    figures = {"per second": float(re.findall(r"Requests/sec:\s+([\d.]+)", said)[0])}
    for share in ("50%", "99%"):
        number, unit = re.findall(rf"{share}\s+([\d.]+)(us|ms|s)", said)[0]
        scale = {"us": 0.001, "ms": 1, "s": 1000}[unit]
        figures[f"p{share[:-1]} ms"] = float(number) * scale
    refused = re.findall(r"Non-2xx or 3xx responses: (\d+)", said)
    figures["refused"] = float(refused[0]) if refused else 0.0
    return figures


def bodies(folder: Path, place: Path) -> tuple[Path, Path, str]:
    """Files of questions and of decisions, one JSON a line, and a token."""
    with Project(folder) as project:
        store = project.store
        _, secret = add_token(store, "bench", "classifier", "load")
        leaf = store.categories()[-1].id
        ids = [i for (i,) in store.run("SELECT id FROM documents ORDER BY number DESC")]
        texts = [store.document(id_).text for id_ in ids[:TEXTS]]
    asked, decided = place / "ask.jsonl", place / "decide.jsonl"
    lines = [json.dumps({"text": text, "top": 10}) for text in texts]
    asked.write_text("\n".join(lines), encoding="utf-8")
    lines = [json.dumps({"document": id_, "assign": [leaf]}) for id_ in ids[:DECIDED]]
    decided.write_text("\n".join(lines), encoding="utf-8")
    return asked, decided, secret


def measure(folder: Path, place: Path, seconds: int) -> dict[str, dict[str, float]]:
    """All figures of one project."""
    asked, decided, secret = bodies(folder, place)
    with served(folder) as (address, ready, pid):
        found = {"start": {"ready s": ready, "RSS MB": memory_of(pid)}}
        for name, path, call in (
            ("warm-up", asked, "suggest"),
            ("suggest", asked, "suggest"),
            ("decide", decided, "decide"),
        ):
            script = place / f"{name}.lua"
            script.write_text(ASK % (path, secret), encoding="utf-8")
            url = f"{address}/api/v1/{call}"
            found[name] = load(url, script, 3 if name == "warm-up" else seconds)
        found["after"] = {"RSS MB": memory_of(pid)}
    del found["warm-up"]
    return found


def main() -> None:
    """Measure both projects."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--json", type=Path)
    settings = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit(
            "wrk is not in PATH: install it (apt install wrk), then run this again"
        )
    found = {}
    with tempfile.TemporaryDirectory() as there:
        place = settings.folder or Path(there)
        for name, make in {"library": make_library, "large": make_large}.items():
            if not (place / name).exists():
                make(place / name)
            copy = Path(there) / f"{name} served"
            shutil.copytree(place / name, copy)
            found[name] = measure(copy, Path(there), settings.seconds)
            for what, figures in found[name].items():
                print(name, what, json.dumps(figures), flush=True)
    if settings.json:
        settings.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Worker processes that are killed at any moment, and what they had said by then."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

FORKING = """
import os, sys
{work}
for line in sys.stdin:
    path, seed = line.rstrip("\\n").split("|")
    child = os.fork()
    if not child:
        print("ready", os.getpid(), flush=True)
        work(path, int(seed))
    os.waitpid(child, 0)
    print("gone", flush=True)
"""


@contextmanager
def workers(work: str) -> Iterator[subprocess.Popen]:
    """A process that starts a worker for each line; ``work`` defines work(path, seed).

    A worker says what it has done, one line each.
    """
    command = [sys.executable, "-c", FORKING.format(work=work)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:  # noqa: S603 - ourselves
        yield process
        process.stdin.close()


def killed(process, path, seed: int, lines: int, seconds: float) -> list[str]:
    """Kill a worker some time after some lines; return all that it said."""
    process.stdin.write(f"{path}|{seed}\n")
    process.stdin.flush()
    ready, pid = process.stdout.readline().split()
    assert ready == "ready"
    said = [process.stdout.readline() for _ in range(lines)]
    time.sleep(seconds)
    os.kill(int(pid), signal.SIGKILL)
    while not (line := process.stdout.readline()).endswith("gone\n"):
        said.append(line)
    return said

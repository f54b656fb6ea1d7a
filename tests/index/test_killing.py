"""A process that is killed at any moment leaves the last committed generation."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from classmark.index.directory import Index

WORKER = """
import os, sys
from tempfile import TemporaryDirectory
from classmark.index import updating
from classmark.index.directory import Index

updating.FANOUT = 2
os.fsync = lambda descriptor: None  # a kill loses nothing that was written

with TemporaryDirectory() as warm:
    index = Index.build(warm, [("a", "bee"), ("b", "wasp")])
    index.replace([("a", "hive"), ("c", "hive")])
    index.commit().merge()

def work(path, seed):
    merging = "background" if seed % 2 else "commit"
    index = Index.open(path, merging=merging)
    print("ready", os.getpid(), flush=True)
    for turn in range(10**6):
        names = [f"d{(seed + turn + n) % 40}" for n in range(9)]
        index.replace([(name, f"bee w{turn}") for name in names])
        index.delete(list(index.ids())[:1])
        index.commit()
        print("committed", index.generation, flush=True)
        if turn % 5 == 4:
            index.merge()
            print("committed", index.generation, flush=True)
        if turn % 7 == 6:
            index.close()
            index = Index.build(path, [(name, "bee again") for name in index.ids()])
            index = Index.open(path, merging=merging)
            print("committed", index.generation, flush=True)

for line in sys.stdin:
    path, seed = line.split("|")
    child = os.fork()
    if not child:
        work(path, int(seed))
    os.waitpid(child, 0)
    print("gone", flush=True)
"""


@pytest.fixture(scope="module")
def workers():
    """Return a process that starts a worker for each line it is given."""
    command = [sys.executable, "-c", WORKER]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:  # noqa: S603 - ourselves
        yield process
        process.stdin.close()


def survive(workers, path, plan, seconds):
    """Kill a worker some time after some commits; return the generations it made."""
    seed, commits = plan
    workers.stdin.write(f"{path}|{seed}\n")
    workers.stdin.flush()
    ready, pid = workers.stdout.readline().split()
    assert ready == "ready"
    said = [workers.stdout.readline() for _ in range(commits)]
    time.sleep(seconds)
    os.kill(int(pid), signal.SIGKILL)
    while not (line := workers.stdout.readline()).endswith("gone\n"):
        said.append(line)
    return [int(line.split()[1]) for line in said]


@pytest.mark.parametrize("seed", range(32))
def test_a_killed_index_opens(tmp_path_factory, workers, seed):
    path = tmp_path_factory.mktemp("killed") / "index"
    index = Index.build(path, [(f"d{n}", "bee hive") for n in range(20)])
    seconds = np.random.default_rng(seed).uniform(0.0, 0.03)
    generations = survive(workers, path, (seed, seed % 12), seconds)
    assert len(generations) >= seed % 12
    opened = Index.open(path)
    assert opened.generation >= max([index.generation, *generations])
    checked = opened.check()
    assert checked.documents == len(opened) == len(list(opened.ids()))
    opened.replace([("after", "wasp")])
    opened.commit()
    assert [hit.id for hit in opened.search("wasp")] == ["after"]
    assert not list(path.glob(".*.writing"))
    assert not list(path.glob("merging/*segment*"))
    assert len(list(path.glob("segment-*"))) == opened.check().segments

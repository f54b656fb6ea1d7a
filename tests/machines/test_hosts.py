"""Hosts that lose packets, and one that is cut off: the results are one machine's."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from classmark.hierarchies.top_down import TopDownClassifier
from classmark.index.index import Index
from classmark.machines.cluster import Machines
from classmark.machines.searching import SpreadIndex
from classmark.progress import spread_by
from classmark.workbench.search.index import index_file
from machines.sharded import collection
from machines.test_interruptions import files
from machines.test_nodes import TREES, documents
from machines_hosts import network, why_not
from machines_scheduling import running

WORKERS, LOSS, SECONDS = 3, 3, 90
SILENCE = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "5s"}  # instead of 5 minutes
QUERIES = ["w0", "w1 w1 w9", "w3 w20 w0 w5", "w7"]


def build(address, begun, cut, path, to):
    """Build an index; a program of its own on the scheduler's host, as all three."""
    del begun, cut  # its parts show
    with Machines.at(address) as machines:
        index_file(path, to, machines=machines, shards=WORKERS)


def learn(address, begun, cut, folder):
    """Train a tree of classifiers."""
    del begun, cut  # its pieces show
    X, y = documents(TREES["deep"], 2000)
    with Machines.at(address) as machines, spread_by(machines):
        TopDownClassifier(TREES["deep"], "logistic", folder=folder).fit(X, y)


def search(address, begun, cut, index, to):
    """Search until a host was cut off, and once more."""
    with Machines.at(address) as machines, SpreadIndex(machines, index) as spread:
        answers = [spread.search(query) for query in QUERIES]
        begun.touch()
        while not cut.exists():
            time.sleep(0.01)
        answers += [spread.search(query) for query in QUERIES]
        answers += spread.search_many(QUERIES)
    to.write_text(json.dumps(answers))


def started(host, work, *arguments):
    """Start a function of this module, as a program on a host."""
    words = ", ".join(f"Path({str(each)!r})" for each in arguments[1:])
    code = f"from machines.test_hosts import *; {work.__name__}({arguments[0]!r}, "
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    return subprocess.Popen(  # noqa: S603 - our own arguments
        [*host.prefix, sys.executable, "-c", f"{code}{words})"],
        env=os.environ | {"PYTHONPATH": path}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.fixture
def hosts():
    """Hosts that lose packets: one for the scheduler, one for each worker."""
    if reason := why_not():
        pytest.skip(reason)
    with network(1 + WORKERS) as net:
        net.lose(LOSS)
        yield net


def test_a_host_is_cut_off_while_others_build_learn_and_search(hosts, tmp_path):
    path, index, tree, to, begun, cut = (
        tmp_path / name for name in ("a.jsonl", "index", "tree", "to", "begun", "cut")
    )
    path.write_text("\n".join(map(json.dumps, collection(1, 6_000))))
    index_file(path, index, shards=WORKERS)
    here = TopDownClassifier(TREES["deep"], "logistic", folder=tmp_path / "here")
    here.fit(*documents(TREES["deep"], 2000))
    there = tmp_path / "there"
    with (
        running(tmp_path, hosts=hosts.hosts, **SILENCE) as (address, _),
        ExitStack() as stack,
    ):
        common, first = (address, begun, cut), hosts.hosts[0]
        programs = {
            started(first, build, *common, path, there): (there, ".parts-*/plain-*"),
            started(first, learn, *common, tree): (tree, "pieces/*.bin"),
            started(first, search, *common, index, to): (tmp_path, begun.name),
        }
        for program in programs:
            stack.callback(program.communicate)
            stack.callback(program.kill)
        waiting, until = dict(programs), time.monotonic() + SECONDS
        while waiting:
            for program, (folder, pattern) in list(waiting.items()):
                assert program.poll() is None, program.communicate()
                if any(folder.glob(pattern)):
                    program.send_signal(signal.SIGSTOP)  # until all have begun
                    del waiting[program]
            assert time.monotonic() < until
            time.sleep(0.002)
        hosts.cut(hosts.hosts[-1])
        cut.touch()
        for program in programs:
            program.send_signal(signal.SIGCONT)
        for program in programs:
            _, problem = program.communicate(timeout=SECONDS)
            assert program.returncode == 0, problem
    assert files(there) == files(index)
    assert files(tree / "model") == files(tmp_path / "here" / "model")
    with Index.open(index) as opened:
        one = [opened.search(query) for query in QUERIES]
        expected = [*one, *one, *opened.search_many(QUERIES)]
    assert json.loads(to.read_text()) == json.loads(json.dumps(expected))

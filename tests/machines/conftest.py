"""Clusters on this machine, started once, and a way to kill what is in them."""

import os
import signal
import threading
import time
from contextlib import ExitStack

import pytest

from classmark.machines.cluster import Machines


@pytest.fixture(scope="session")
def started():
    """Clusters by their number of workers, started when first asked for."""
    found = {}
    with ExitStack() as stack:

        def start(workers):
            if workers in found and not _whole(found[workers], workers):
                del found[workers]  # Dask did not bring a killed worker back
            if workers not in found:
                found[workers] = stack.enter_context(Machines.local(workers))
                assert _whole(found[workers], workers, 60)
            return found[workers]

        yield start


def _whole(machines, workers, seconds=15):
    try:
        machines.client.wait_for_workers(workers, timeout=seconds)
    except TimeoutError:
        return False
    return True


@pytest.fixture
def two(started):
    """Two workers; those that the last test killed are there again."""
    return started(2)


@pytest.fixture
def four(started):
    """Four workers, likewise."""
    return started(4)


class Killing:
    """Kills one worker of some machines, as soon as a moment has come."""

    def __init__(self, machines, moment):
        self.machines, self.moment, self.killed = machines, moment, []
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        pids = sorted(self.machines.client.run(os.getpid).values())
        for _ in range(6000):
            if self.moment():
                os.kill(pids[0], signal.SIGKILL)
                self.killed.append(pids[0])
                return
            time.sleep(0.005)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.thread.join(timeout=60)


@pytest.fixture
def killing():
    """``with killing(machines, moment) as one:`` … then ``assert one.killed``.

    moment : a function that says whether it is time, asked every 5 ms.
    """
    return Killing

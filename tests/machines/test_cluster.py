"""Work reaches the workers, and comes back whatever happens to them."""

import errno
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import psutil
import pytest

from classmark.machines import cluster
from classmark.machines.cluster import Machines, scheduler_address
from classmark.problems import Mistake, UnreadableFile
from classmark.progress import spread, spread_by
from machines_scheduling import certificate, running


def test_spread_gives_every_task_once_with_what_is_shared(two):
    shared = np.arange(5.0)
    found = dict(two.spread(lambda task, x: task * x.sum(), range(20), [shared]))
    assert found == {n: n * 10.0 for n in range(20)}


def test_nothing_to_do(two):
    assert list(two.spread(lambda task: task, [])) == []
    assert two.ask(len, two.hold(list, [])) == []


def test_results_come_in_the_order_of_the_tasks(two):
    with spread_by(two):
        assert spread(pow, [3, 1, 2], [2]) == [9, 1, 4]


def test_long_tasks_given_first_begin_first(two):
    def work(task):
        time.sleep(task)
        return time.time() - task

    begun = dict(two.spread(work, [0.4, *[0.05] * 10]))
    assert begun[0] <= sorted(begun.values())[3]


def test_what_is_held_stays_where_it_is(two):
    def make(task):
        return task, os.getpid(), np.zeros(4_000_000)

    held = two.hold(make, list(range(8)))
    first = two.ask(lambda thing, add: (*thing[:2], add), held, [5])
    again = two.ask(lambda thing, add: (*thing[:2], add), held, [6])
    assert [number for number, _, _ in first] == list(range(8))
    assert [line[:2] for line in first] == [line[:2] for line in again]
    assert len({pid for _, pid, _ in first}) == two.workers


def test_nothing_is_said_of_large_things_that_are_shared(two):
    large = bytes(11 << 20)
    assert list(two.spread(lambda _, x: len(x), [1], [large])) == [(0, len(large))]
    held = two.hold(abs, [-7])
    assert two.ask(lambda _, x: len(x), held, [large]) == [len(large)]
    assert two.ask(lambda _, x: len(x), held, arguments=[large]) == [len(large)]


def test_each_thing_may_have_an_argument_of_its_own(two):
    held = two.hold(abs, [-1, -2])
    own = two.ask(lambda thing, own, all_: (thing, own, all_), held, ["x"], ["a", "b"])
    assert own == [(1, "a", "x"), (2, "b", "x")]


def test_a_worker_is_killed_during_a_round(two, tmp_path, killing):
    def work(thing, folder):
        (folder / f"begun-{thing}-{os.getpid()}").touch()
        time.sleep(1.0)
        return thing

    held = two.hold(abs, [-1, -2, -3])
    with killing(two, lambda: any(tmp_path.iterdir())) as one:
        assert two.ask(work, held, [tmp_path]) == [1, 2, 3]
    assert one.killed


def test_all_workers_are_killed_between_rounds(two):
    held = two.hold(abs, [-1, -2, -3])
    before = two.ask(lambda thing: (thing, os.getpid()), held)
    for pid in two.client.run(os.getpid).values():
        os.kill(pid, signal.SIGKILL)
    after = two.ask(lambda thing: (thing, os.getpid()), held)
    assert [thing for thing, _ in after] == [1, 2, 3]
    assert not {pid for _, pid in before} & {pid for _, pid in after}


def test_objects_of_nobody_are_made_when_a_worker_comes(two):
    for pid in two.client.run(os.getpid).values():
        os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + 5  # they come back
    while two.workers and time.monotonic() < until:
        time.sleep(0.002)
    assert two.ask(abs, two.hold(abs, [-1])) == [1]


def test_a_worker_that_came_back_at_its_old_address_makes_its_objects_anew(tmp_path):
    """Seen by the scheduler as before: only the actor is gone, not the address."""
    with running(tmp_path, nanny=True) as (address, _), Machines.at(address) as one:
        objects = one.hold(abs, [-1, -2])
        ((first, before), _) = one.ask(lambda thing: (thing, os.getpid()), objects)
        where = list(one.client.run(lambda dask_worker: dask_worker.address).values())
        os.kill(before, signal.SIGKILL)
        asking = ThreadPoolExecutor(1).submit(
            one.ask, lambda thing: (thing, os.getpid()), objects
        )
        again = asking.result(60)  # seconds for Dask's nanny to start it anew
        assert first == 1
        assert [thing for thing, _ in again] == [1, 2]
        assert before not in [pid for _, pid in again]
        assert where == list(one.client.scheduler_info()["workers"])


def test_objects_are_forgotten_by_the_workers_when_nobody_has_them(two):
    def actors(dask_worker):
        return set(dask_worker.state.actors)

    before = set().union(*two.client.run(actors).values())
    objects = two.hold(abs, [-1, -2, -3])
    assert two.ask(abs, objects) == [1, 2, 3]
    mine = set().union(*two.client.run(actors).values()) - before
    assert len(mine) == 3
    del objects
    until = time.monotonic() + 10
    while mine & set().union(*two.client.run(actors).values()):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_what_is_raised_by_an_object_or_by_its_making_arrives_as_it_is(two):
    objects = two.hold(abs, [-1])
    with pytest.raises(OSError, match="full"):
        two.ask(_raises, objects, [OSError("full")])
    with pytest.raises(KeyError):
        two.ask(_raises, objects, [KeyError("k")])
    with pytest.raises(ValueError, match="could not convert"):
        two.ask(abs, two.hold(float, ["x"]))


def _raises(_, problem):
    raise problem


def test_a_worker_is_killed_while_tasks_are_spread(two, tmp_path, killing):
    def work(task, folder):
        (folder / str(task)).touch()
        time.sleep(0.2)
        return task * task

    with killing(two, lambda: len(list(tmp_path.iterdir())) > 3) as one:
        found = dict(two.spread(work, range(12), [tmp_path]))
    assert one.killed
    assert found == {n: n * n for n in range(12)}


def test_a_task_that_always_kills_its_worker_is_given_up():
    with (
        Machines.local(1, memory=1 << 30) as machines,
        pytest.raises(Mistake, match=r"want of memory \(limit 1.1 GB\)"),
    ):
        list(machines.spread(lambda task: os.kill(os.getpid(), task), [9, 9]))


def test_mistakes_and_full_disks_arrive_as_they_are(two):
    def wrong(task):
        if task:
            raise UnreadableFile("a.jsonl", 7, "not JSON: give JSON")
        raise OSError(errno.ENOSPC, "No space left on device", "/x")

    with pytest.raises(UnreadableFile, match=r"a\.jsonl, line 7: not JSON") as caught:
        list(two.spread(wrong, [1]))
    assert caught.value.line == 7
    with pytest.raises(OSError, match="No space left on device"):
        list(two.spread(wrong, [0]))


def test_folders_that_workers_do_not_see_are_refused(two, tmp_path, monkeypatch):
    two.require_folder(tmp_path)
    assert not any(tmp_path.iterdir())
    monkeypatch.setattr("classmark.machines.cluster._sees", lambda path: not path)
    with pytest.raises(Mistake, match=r"is not seen by tls://127.0.0.1:.* same name"):
        two.require_folder(tmp_path)


def test_a_worker_that_is_cut_off_is_not_one_that_sees_no_folder(
    two, tmp_path, monkeypatch
):
    def answers(*lines):
        run = lambda *_, on_error: dict(enumerate(lines))  # noqa: E731, ARG005
        monkeypatch.setattr(two.client, "run", run)

    answers(True, ConnectionResetError("gone"))
    two.require_folder(tmp_path)
    for lines in ([ConnectionResetError("gone")] * 2, [True, ValueError("gone")]):
        answers(*lines)
        with pytest.raises((OSError, ValueError), match="gone"):
            two.require_folder(tmp_path)


def test_what_is_started_here_listens_on_loopback_and_shows_nothing(two):
    here = psutil.Process()
    ours = [here, *here.children(recursive=True)]
    ports = set()
    for process in ours:
        for link in process.net_connections("tcp"):
            if link.status == psutil.CONN_LISTEN:
                assert link.laddr.ip == "127.0.0.1"
                ports.add(link.laddr.port)
    told = two.client.scheduler_info()["services"]
    assert told["dashboard"] in ports
    for path in ("status", "info/main/workers.html", "json/index.html", "metrics"):
        with pytest.raises(HTTPError, match="404"):
            urlopen(f"http://127.0.0.1:{told['dashboard']}/{path}", timeout=10)


def test_strangers_on_the_same_machine_cannot_join(two):
    address = two.client.scheduler_info()["address"]
    assert address.startswith("tls://127.0.0.1:")
    with pytest.raises(Mistake, match="no scheduler answers at tcp://"):
        Machines.at(address.replace("tls", "tcp"))


def test_the_limit_of_a_worker_is_known(four):
    assert 0 < four.memory < psutil.virtual_memory().total
    assert four.workers == 4


def test_a_scheduler_by_its_address_and_its_loss(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "SECONDS", 60)
    with running(tmp_path) as (address, scheduler):
        machines = Machines.at(address.replace("tcp", "dask"))
        assert dict(machines.spread(abs, [-1, -2])) == {0: 1, 1: 2}
        objects = machines.hold(abs, [-1])
        assert machines.ask(abs, objects) == [1]
        threading.Timer(0.5, scheduler.kill).start()
        with pytest.raises(Mistake, match="the scheduler was lost: start it again"):
            list(machines.spread(time.sleep, [0.3] * 20))
        with pytest.raises(Mistake, match="the scheduler was lost: start it again"):
            machines.ask(abs, objects)
        machines.close()


def test_a_scheduler_lost_while_its_workers_are_waited_for(two, monkeypatch):
    from distributed.comm.core import CommClosedError

    def closed(*_, **__):
        raise CommClosedError("ConnectionResetError: [Errno 104]")

    monkeypatch.setattr(two.client, "wait_for_workers", closed)
    with pytest.raises(Mistake, match="the scheduler was lost: start it again"):
        two._wait()  # noqa: SLF001 (what a command waits in)


def test_certificates(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "SECONDS", 30)
    from dask import config

    cluster.require_dask()  # loads Dask's own settings
    cert, key = map(str, certificate(tmp_path / "ours"))
    other, secret = map(str, certificate(tmp_path / "theirs"))

    def named(cert, key):
        return config.set(
            {
                "distributed.comm.tls.ca-file": cert,
                "distributed.comm.tls.client.cert": cert,
                "distributed.comm.tls.client.key": key,
            }
        )

    with running(tmp_path, tls=(cert, key)) as (address, _):
        assert address.startswith("tls://")
        with named(cert, key):
            assert scheduler_address(address.replace("tls", "dask")) == address
            with Machines.at(address) as machines:
                assert dict(machines.spread(abs, [-3])) == {0: 3}
        monkeypatch.setattr(cluster, "SECONDS", 2)
        for wrong, told in (
            ((other, secret), "no scheduler answers at tls"),
            ((None, None), "needs certificates .* none are"),
            ((str(tmp_path / "x"), str(tmp_path / "y")), "needs certificates .* file"),
        ):
            with named(*wrong), pytest.raises(Mistake, match=told):
                Machines.at(address)


@pytest.mark.parametrize("on", ["scheduler:8786", "dask://x", "http://x:1", "tcp://:1"])
def test_addresses_that_are_none(on):
    with pytest.raises(Mistake, match="no address of a scheduler: give one as in dask"):
        Machines.at(on)


def test_nobody_answers(monkeypatch):
    monkeypatch.setattr(cluster, "SECONDS", 1)
    with pytest.raises(Mistake, match=r"no scheduler answers at dask://127.0.0.1:9"):
        Machines.at("dask://127.0.0.1:9")


def test_no_workers():
    with pytest.raises(Mistake, match="workers is 0: start at least one"):
        Machines.local(0)


def test_what_was_started_ends_when_nothing_comes_of_it(monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    before = set(psutil.Process().children(recursive=True))
    monkeypatch.setattr(Machines, "_wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Machines.local(1)
    left = set(psutil.Process().children(recursive=True)) - before
    assert not [each for each in left if "spawn_main" in " ".join(each.cmdline())]


def test_the_dashboard_is_asked_for_and_needs_its_package(monkeypatch):
    monkeypatch.setattr(cluster, "find_spec", lambda _: None)
    with pytest.raises(Mistake, match="the dashboard needs bokeh: pip install bokeh"):
        Machines.local(1, dashboard=True)

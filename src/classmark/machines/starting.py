"""Where are the machines? A cluster that is there, or one started here.

What is started here listens on loopback alone, speaks TLS with keys made for the
occasion (on a shared machine other users reach loopback, too), and shows no dashboard.
"""

from __future__ import annotations

import re
import signal
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from classmark.problems import MissingExtra, Mistake

if TYPE_CHECKING:
    from distributed import Client, LocalCluster
    from distributed.security import Security

ADDRESS = re.compile(r"(dask|tcp|tls)://(\[[0-9a-fA-F:.]+\]|[\w.\-]+):(\d{1,5})")
LOOPBACK = "127.0.0.1"
SECONDS = 10  # to wait for a scheduler


def scheduler_address(on: str) -> str:
    """Return the address as Dask writes it.

    ``dask://`` is TLS where certificates are configured, else plain TCP.

    >>> scheduler_address("dask://scheduler:8786")
    'tcp://scheduler:8786'
    """
    from dask import config

    match = ADDRESS.fullmatch(on)
    if match is None or not 0 < int(match[3]) < 1 << 16:
        raise Mistake(
            f"{on!r} is no address of a scheduler: give one as in dask://host:8786, or "
            "tls://host:8786"
        )
    scheme = match[1]
    if scheme == "dask":
        certified = config.get("distributed.comm.tls.ca-file", None)
        scheme = "tls" if certified else "tcp"
    return f"{scheme}://{match[2]}:{match[3]}"


def connected(on: str) -> Client:
    """Connect to a scheduler; certificates are those of Dask's configuration."""
    require_dask()
    from distributed import Client

    address = scheduler_address(on)
    security = _certified(on) if address.startswith("tls") else None
    try:
        return Client(address, security=security, timeout=SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError, RuntimeError) as problem:
        raise Mistake(
            f"no scheduler answers at {on}: start one there (dask scheduler); one with "
            f"certificates answers at tls:// alone, to its own: {problem}"
        ) from problem


def _certified(on: str) -> Security:
    """Refuse TLS without certificates before Dask does: it waits for itself then."""
    from distributed.security import Security

    security, found, why = Security(), None, "none are"
    try:
        found = security.get_connection_args("client").get("ssl_context")
    except OSError as problem:
        why = str(problem)
    if found is None:
        raise Mistake(
            f"{on} needs certificates that Dask's configuration names (docs, Machines, "
            f"TLS): {why}"
        )
    return security


def started(
    workers: int, memory: int | None, *, dashboard: bool = False
) -> LocalCluster:
    """Start a scheduler and workers on this machine, a process and a thread each."""
    require_dask()
    from dask import config
    from distributed import LocalCluster
    from distributed.security import Security

    if workers < 1:
        raise Mistake(f"workers is {workers}: start at least one")
    if dashboard and find_spec("bokeh") is None:
        raise Mistake("the dashboard needs bokeh: pip install bokeh, or do without it")
    quiet: dict[str, Any] = {
        # Dask's own: 64 KiB, so that every larger array is mapped and unmapped anew.
        "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 64 << 20,
        "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 32 << 20,
        "distributed.scheduler.work-stealing": False,  # what is held stays
        "distributed.scheduler.active-memory-manager.start": False,
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "1s",  # 20 ms cost every worker 2 %
        "distributed.admin.tick.limit": "1m",
        "distributed.admin.system-monitor.interval": "5s",
        "distributed.worker.preload": [__name__],  # dask_setup
        "distributed.comm.timeouts.connect": "10s",  # to a worker that is gone
    }
    if not dashboard:
        quiet["distributed.scheduler.http.routes"] = []
        quiet["distributed.worker.http.routes"] = []
    shown = {"dashboard": dashboard, "dashboard_address": f"{LOOPBACK}:0"}
    with config.set(quiet):
        return LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host=LOOPBACK,
            protocol="tls",
            security=Security.temporary(),
            scheduler_kwargs=shown,
            memory_limit="auto" if memory is None else memory,
            silence_logs=50,
        )


def dask_setup(_: object) -> None:
    """Let a worker that was started here leave ctrl-C to the command: it is ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def ended(cluster: LocalCluster) -> None:
    """End what was started; a worker that is just starting again cannot be stopped."""
    from distributed.core import Status

    begun = {Status.init, Status.starting}
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and any(
        nanny.process is not None and nanny.process.status in begun
        for nanny in cluster.workers.values()
    ):
        time.sleep(0.05)
    cluster.close()


def require_dask() -> None:
    """Refuse to go on without the packages of the extra."""
    try:
        import cryptography
        import distributed
    except ImportError as problem:
        raise MissingExtra("several machines", "machines") from problem
    del cryptography, distributed

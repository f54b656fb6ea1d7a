"""A real PostgreSQL for the tests: made anew, started, stopped, and gone again."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",  # the tests end before the power does
    "max_connections": "60",
    "shared_buffers": "16MB",
    "autovacuum": "off",
}


def program(name):
    """Return the path of one of PostgreSQL's programs, the newest; or None."""
    homes = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = [shutil.which(name)] + [shutil.which(name, path=str(h)) for h in homes]
    return next((path for path in found if path), None)


def somebody():
    """Return whom to run the server as: it refuses to run as root."""
    return {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}


def run(folder, *command):
    done = subprocess.run(  # noqa: S603 (our own command)
        command, cwd=folder, capture_output=True, text=True, check=False, **somebody()
    )
    assert done.returncode == 0, f"{command[0]}: {done.stdout}{done.stderr}"


def kill(data):
    """As kill -9 does: the server of a folder ends at once, and all its processes."""
    pid = int((data / "postmaster.pid").read_text().split()[0])
    os.kill(pid, signal.SIGSTOP)  # so that it begins no other
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for each in [pid, *map(int, children)]:
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
    time.sleep(0.2)
    for lock in (data / "postmaster.pid", data.parent / ".s.PGSQL.5432.lock"):
        lock.unlink(missing_ok=True)  # where nobody buries the dead, they look alive


@contextmanager
def running_server():
    """Yield the url of a server of one's own, reached by a socket."""
    with mortal_server() as (url, _):
        yield url


@contextmanager
def mortal_server():
    """Yield the url of a server, and what kills it and starts it again."""
    folder = Path(tempfile.mkdtemp(prefix="classmark-pg-"))
    if who := somebody():
        shutil.chown(folder, who["user"], who["group"])
    data, control = folder / "data", program("pg_ctl")
    try:
        run(folder, program("initdb"), "-D", str(data), "-U", "classmark", "-A",
            "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")  # fmt: skip
        options = " ".join(f"-c {key}={value!r}" for key, value in SETTINGS.items())
        options += f" -c unix_socket_directories={folder}"
        log = str(folder / "log")

        def start():
            run(
                folder, control, "-D", str(data), "-w", "-l", log, "-o", options,
                "start",
            )  # fmt: skip

        def kill_and_start(seconds):
            kill(data)
            time.sleep(seconds)
            start()

        start()
        try:
            yield f"postgresql://classmark@/postgres?host={folder}", kill_and_start
        finally:
            run(folder, control, "-D", str(data), "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)

"""A real PostgreSQL for the tests: made anew, started, stopped, and gone again."""

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
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


@contextmanager
def running_server():
    """Yield the url of a server of one's own, reached by a socket."""
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
        run(folder, control, "-D", str(data), "-w", "-l", log, "-o", options, "start")
        try:
            yield f"postgresql://classmark@/postgres?host={folder}"
        finally:
            run(folder, control, "-D", str(data), "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)

"""A server in a process of its own, as it is started, and many clients at once."""

import asyncio
import json
import re
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from classmark.workbench.project import Project
from classmark.workbench.team.people import add_token

WAIT = 60  # seconds for one answer


class Served(NamedTuple):
    """A server: its process, its port, and a token; ``log`` : the file of its log.

    name : by which it is asked, behind a proxy.
    """

    process: subprocess.Popen
    port: int
    token: str
    log: Path
    name: str = ""

    @property
    def host(self) -> str:
        """The header that says who is asked."""
        return self.name or f"127.0.0.1:{self.port}"

    @property
    def files(self) -> int:
        """How many files and sockets it has open."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def said(self) -> str:
        """What is in its log by now."""
        return self.log.read_text()


@contextmanager
def served(folder, log, *words, open_files=None, role="admin"):
    """Serve a project; ``open_files`` : the limit of the process, as ``ulimit -n``."""
    with Project(folder) as project:
        _, token = add_token(project.store, "ann", role)

    def limited():
        if open_files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))

    command = [sys.executable, "-m", "classmark.cli.main", "serve", str(folder)]
    with log.open("w") as errors:
        process = subprocess.Popen(  # noqa: S603 (ourselves)
            [*command, *map(str, words or ["--port", "0"])],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            preexec_fn=limited,  # noqa: PLW1509 (no threads here)
        )
    try:
        printed = process.stdout.readline()
        address = re.search(r"https?://([^:/]+)(?::(\d+))?/", printed)
        assert address, log.read_text()
        name = "" if address[2] else address[1]  # behind a proxy
        port = address[2] or words[words.index("--port") + 1]
        yield Served(process, int(port), token, log, name)
    finally:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(30)
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdout.close()


class Answer(NamedTuple):
    """What came back; status 0: the connection was ended without an answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


NOTHING = Answer(0, {}, b"")


def request(served, method, path, body=None):
    """The bytes of a call."""
    content = b"" if body is None else json.dumps(body).encode()
    lines = (
        f"{method} /api/v1{path} HTTP/1.1",
        f"Host: {served.host}",
        f"Authorization: Bearer {served.token}",
        "Content-Type: application/json",
        f"Content-Length: {len(content)}",
        "Connection: close",
    )
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


async def ask(served, method, path, body=None):
    """Make one call on a connection of its own."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    except OSError:
        return NOTHING
    try:
        writer.write(request(served, method, path, body))
        return parsed(await asyncio.wait_for(reader.read(), WAIT))
    except OSError:
        return NOTHING
    finally:
        writer.close()


def parsed(data):
    """An answer, of what was read until the connection ended; one cut short is none."""
    head, end, body = data.partition(b"\r\n\r\n")
    if not end:
        return NOTHING
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    if len(body) < int(headers.get("content-length", 0)):
        return NOTHING
    return Answer(int(first.split()[1]), headers, body)


async def together(calls):
    """Make calls all at once."""
    return await asyncio.gather(*calls)


def decisions_in(folder):
    """The numbers of the acts in the log of a project."""
    with Project(folder) as project:
        return {entry.seq for entry in project.store.log()}

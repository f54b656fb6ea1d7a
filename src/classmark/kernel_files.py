"""Files of compiled kernels: sealed, in a folder that only their owner can write.

To read machine code is to run what is in its file. So a file is read only if it belongs
to this user, nobody else can write it or its folder, and it is to the byte what was
written. Anything else is passed by, with a line in the log, and compiled anew.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import stat
from pathlib import Path
from uuid import uuid4

LOG = logging.getLogger(__name__)
SEAL = 32  # bytes, before what they seal


@functools.cache
def own_folder(folder: Path) -> Path | None:
    """Make a folder that only this user can write; None, with a warning, without one.

    Its parent is a folder of ours, too, which nobody else may write.
    """
    for part in (folder.parent, folder):
        try:
            part.mkdir(mode=0o700, parents=True, exist_ok=True)
            fault = _fault(part.stat())
        except OSError as error:
            fault = error.strerror or str(error)
        if fault:
            LOG.warning(
                "kernels are compiled anew by every process, a minute and more: %s: "
                "%s. Remedy: `chmod go-w` and `chown` the folder, or set "
                "XDG_CACHE_HOME to a folder that only you can write",
                part,
                fault,
            )
            return None
    return folder


def read(path: Path) -> bytes | None:
    """Return what was written at a path; None if it is not there, or cannot be trusted.

    What cannot be trusted is named in the log.
    """
    try:
        with open(path, "rb", opener=_opener) as file:
            status = os.fstat(file.fileno())
            written = file.read() if stat.S_ISREG(status.st_mode) else b""
        seal, code = written[:SEAL], written[SEAL:]
        fault = _fault(status) or (seal != _seal(path, code) and "it is damaged")
    except FileNotFoundError:
        return None
    except OSError as error:
        fault = error.strerror or str(error)
    if not fault:
        return code
    LOG.warning("a kernel is compiled anew, its file is passed by: %s: %s", path, fault)
    return None


def write(path: Path, code: bytes) -> None:
    """Write a file, whole or not at all; a failure is a line in the log."""
    beside = path.with_name(f"{path.name}.{uuid4().hex[:16]}.writing")
    try:
        beside.touch(mode=0o600, exist_ok=False)
        beside.write_bytes(_seal(path, code) + code)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        LOG.warning("a compiled kernel is not cached: %s: %s", path, error.strerror)


def _opener(path: str, flags: int) -> int:
    """Open what is there itself, without waiting for what a pipe may bring."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _seal(path: Path, code: bytes) -> bytes:
    """Digest of a file's name and content: a file under another's name is damage."""
    return hashlib.blake2b(path.name.encode() + b"\n" + code, digest_size=SEAL).digest()


def _fault(status: os.stat_result) -> str:
    """Why others may have written something; "" if they cannot have."""
    if status.st_uid != os.geteuid():
        return f"it belongs to another user ({status.st_uid})"
    return "others can write it" if status.st_mode & 0o022 else ""

"""Which files does an address name: a path, a folder, a pattern, or another store's.

Anything with ``://`` is fsspec's business (s3://, gs://, https://, file://…).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from glob import has_magic
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from classmark.formats.text_files import existing
from classmark.problems import Mistake, UnreadableFile


class Found(NamedTuple):
    """A file (or a folder that is read as one): where, how large, and as of when.

    stamp : something that is another as soon as the contents are.
    """

    address: str
    size: int
    stamp: str


def is_remote(address: str) -> bool:
    """Say whether an address is fsspec's business.

    >>> is_remote("s3://shelf/a.jsonl"), is_remote("shelf/a.jsonl")
    (True, False)
    """
    return "://" in address


def files_at(address: str) -> list[str]:
    """Return the files that a pattern or a folder has, by name; else the address."""
    return _remote_files(address) if is_remote(address) else _local_files(address)


def facts_of(address: str) -> Found:
    """Look at a file, or a folder that is read as a whole."""
    if is_remote(address):
        system, there = _system(address)
        with _telling(address):
            size, stamp = system.info(there)["size"], system.ukey(there)
        if size is None:
            raise Mistake(f"{address}: its size is not told there: copy it here first")
        return Found(address, int(size), stamp)
    path = Path(address)
    if not path.is_dir():
        seen = existing(path).stat()
        return Found(address, seen.st_size, _stamp(seen))
    size, digest = 0, blake2b(digest_size=16)
    for file in sorted(each for each in path.rglob("*") if each.is_file()):
        seen = file.stat()
        size += seen.st_size
        name = os.fsencode(file.relative_to(path))
        digest.update(b"%b\0%d\0%b\0" % (name, seen.st_size, _stamp(seen).encode()))
    return Found(address, size, digest.hexdigest())


def _stamp(seen: os.stat_result) -> str:
    """When a file was written; who copies one may set that, but not the other time."""
    return f"{seen.st_mtime_ns} {seen.st_ctime_ns}"


@contextmanager
def opened(address: str) -> Iterator[BinaryIO]:
    """Open a file for reading, wherever it is; it can be sought in."""
    if not is_remote(address):
        path = existing(address)
        try:
            file = path.open("rb")
        except OSError as error:
            raise UnreadableFile(path, None, f"cannot be opened: {error}") from error
        with file:
            yield file
        return
    system, there = _system(address)
    with _telling(address):
        remote = system.open(there, "rb")
    with remote:
        yield cast("BinaryIO", remote)


def _local_files(address: str) -> list[str]:
    path = Path(address).absolute()
    if path.is_dir():
        return sorted(str(each) for each in path.iterdir())
    if has_magic(address) and not path.exists():
        fixed = Path(path.anchor)
        return _require(
            address, sorted(map(str, fixed.glob(str(path.relative_to(fixed)))))
        )
    return [str(path)]


def _remote_files(address: str) -> list[str]:
    system, path = _system(address)
    with _telling(address):
        if has_magic(path):
            found = system.glob(path)
        elif system.isdir(path):
            found = system.ls(path, detail=False)
        else:
            return [address]
        plain = sorted(each for each in found if not system.isdir(each))
    return _require(address, [system.unstrip_protocol(each) for each in plain])


def _require(address: str, found: list[str]) -> list[str]:
    if not found:
        raise Mistake(f"{address}: there is no such file: give the path of some")
    return found


def _system(address: str) -> tuple[Any, str]:
    """Return fsspec's file system of an address, and the path there."""
    try:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped]
    except ImportError as problem:
        raise Mistake(
            f"{address}: addresses need fsspec: pip install 'classmark[machines]'"
        ) from problem
    with _telling(address):
        system, path = url_to_fs(address)
    return system, str(path)


@contextmanager
def _telling(address: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise UnreadableFile(
            address, None, "no such file: give the path of a file"
        ) from error
    except Exception as error:
        raise UnreadableFile(
            address,
            None,
            f"cannot be reached ({error}): install the package that reads such "
            "addresses, and see that they are right",
        ) from error

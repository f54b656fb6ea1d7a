"""Files that workers read in parts: addresses, ranges of bytes, partitions.

Anything with ``://`` is fsspec's business (s3://, gs://, https://, file://…).

A plain JSONL file is cut at bytes: a partition has the lines that begin in [begin,
end). A Parquet file is cut at row groups. Whatever else can be read is one partition a
file. One behind the other, partitions give the documents just as the file does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import has_magic
from hashlib import blake2b
from itertools import chain, pairwise
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple, cast

from classmark.formats import READERS, guess_format, some_of
from classmark.formats.jsonl import records_in
from classmark.formats.records import Record
from classmark.formats.text_files import (
    CHUNK,
    COMPRESSIONS,
    LIMITS,
    Measured,
    existing,
    lines_of,
    open_plain,
)
from classmark.problems import Mistake, UnreadableFile


class FileInfo(NamedTuple):
    """Address and size of a file, or of a folder that is read as one.

    stamp : a text that changes whenever the contents do.
    """

    address: str
    size: int
    stamp: str


def is_remote(address: str) -> bool:
    """Whether fsspec opens an address.

    >>> is_remote("s3://shelf/a.jsonl"), is_remote("shelf/a.jsonl")
    (True, False)
    """
    return "://" in address


def files_at(address: str) -> list[str]:
    """The files of a pattern or a folder, sorted by name; else the address itself."""
    path = Path(address).absolute()
    if is_remote(address):
        system, there = _system(address)
        with _telling(address):
            if has_magic(there):
                paths = system.glob(there)
            elif system.isdir(there):
                paths = system.ls(there, detail=False)
            else:
                return [address]
            plain = sorted(each for each in paths if not system.isdir(each))
        files = [system.unstrip_protocol(each) for each in plain]
    elif path.is_dir():
        return sorted(str(each) for each in path.iterdir())
    elif has_magic(address) and not path.exists():
        fixed = Path(path.anchor)
        files = sorted(map(str, fixed.glob(str(path.relative_to(fixed)))))
    else:
        return [str(path)]
    if not files:
        raise Mistake(f"{address}: there is no such file: give the path of some")
    return files


def facts_of(address: str) -> FileInfo:
    """The size and stamp of a file, or of a folder that is read as a whole."""
    if is_remote(address):
        system, there = _system(address)
        with _telling(address):
            size, stamp = system.info(there)["size"], system.ukey(there)
        if size is None:
            raise Mistake(f"{address}: its size is not told there: copy it here first")
        return FileInfo(address, int(size), stamp)
    path = Path(address)
    if not path.is_dir():
        seen = existing(path).stat()
        return FileInfo(address, seen.st_size, _stamp(seen))
    size, digest = 0, blake2b(digest_size=16)
    for file in sorted(each for each in path.rglob("*") if each.is_file()):
        seen = file.stat()
        size += seen.st_size
        name = os.fsencode(file.relative_to(path))
        digest.update(b"%b\0%d\0%b\0" % (name, seen.st_size, _stamp(seen).encode()))
    return FileInfo(address, size, digest.hexdigest())


def _stamp(seen: os.stat_result) -> str:
    """Modification and change time: copying may set the first, but not the second."""
    return f"{seen.st_mtime_ns} {seen.st_ctime_ns}"


@contextmanager
def opened(address: str) -> Iterator[BinaryIO]:
    """Open a file for reading, wherever it is; it can be sought in."""
    if not is_remote(address):
        with open_plain(address) as file:
            yield file
        return
    system, there = _system(address)
    with _telling(address):
        remote = system.open(there, "rb")
    with remote:
        yield cast("BinaryIO", remote)


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
    except Exception as error:
        problem = (
            "no such file: give the path of a file"
            if isinstance(error, FileNotFoundError)
            else f"cannot be reached ({error}): install the package that reads such "
            "addresses, and see that they are right"
        )
        raise UnreadableFile(address, None, problem) from error


MARK = b"\xef\xbb\xbf"


def read_lines(
    file: BinaryIO, name: str, begin: int, end: int
) -> Iterator[tuple[int, Record]]:
    """Yield the records of the lines of a JSONL file that begin in [begin, end).

    Each has the number of its line, counted within the range; an error tells that
    within the file, for which all before is read.
    """
    within = LinesWithin(file, begin, end)
    lines = lines_of(Measured(within, name, LIMITS), name)
    plain = (
        (number, line.removesuffix("\n").removesuffix("\r")) for number, line in lines
    )
    try:
        yield from records_in(plain, name)
    except UnreadableFile as problem:
        if problem.line is None or not begin:
            raise
        before = lines_before(file, within.first)
        raise UnreadableFile(name, problem.line + before, problem.problem) from problem


class LinesWithin:
    """The bytes of the lines that begin in [begin, end), to be read.

    first : the byte at which the first of them begins.
    """

    def __init__(self, file: BinaryIO, begin: int, end: int) -> None:
        self._file = file
        # a mark at the beginning of a text is dropped: that of a range is no beginning
        self._ahead = MARK if begin else b""
        self.first, self._end = (_line_from(file, place) for place in (begin, end))
        file.seek(self.first)

    def read(self, size: int = CHUNK, /) -> bytes:
        """Give the next bytes; none at the end."""
        if self._ahead:
            ahead, self._ahead = self._ahead, b""
            return ahead
        return self._file.read(min(size, self._end - self._file.tell()))


def lines_before(file: BinaryIO, place: int) -> int:
    """Count the lines that end before a byte."""
    file.seek(0)
    count = 0
    while place > 0 and (chunk := file.read(min(1 << 20, place))):
        count += chunk.count(b"\n")
        place -= len(chunk)
    return count


def _line_from(file: BinaryIO, begin: int) -> int:
    """Return where the first line begins that does not begin before ``begin``."""
    if not begin:
        return 0
    at = begin - 1
    file.seek(at)
    while chunk := file.read(CHUNK):
        stop = chunk.find(b"\n") + 1
        if stop:
            return at + stop
        at += len(chunk)
    return at


Paths = Path | str | Sequence[Path | str]
CUT = ("jsonl", "parquet")


@dataclass(frozen=True, slots=True)
class Partition:
    """A piece of a file: bytes of JSONL, row groups of Parquet, or all of the rest."""

    address: str
    format: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Files:
    """Files to be read one after the other, each with its format."""

    entries: tuple[FileInfo, ...]
    formats: tuple[str, ...]

    @property
    def total(self) -> int:
        """Bytes of all of them."""
        return sum(each.size for each in self.entries)

    @property
    def fingerprint(self) -> str:
        """A digest that changes whenever any contents or their order do."""
        facts = json.dumps([self.entries, self.formats])
        return blake2b(facts.encode(), digest_size=16).hexdigest()

    def cut(self, size: int) -> list[tuple[Partition, ...]]:
        """Cut into pieces of about ``size`` bytes; small files share a piece."""
        pieces: list[tuple[Partition, ...]] = []
        room = 0
        for partition, weight in self._cut(size):
            if pieces and weight <= room:
                pieces[-1] = (*pieces[-1], partition)
                room -= weight
            else:
                pieces.append((partition,))
                room = size - weight
        return pieces

    def _cut(self, size: int) -> Iterator[tuple[Partition, int]]:
        for (address, total, _), format_ in zip(
            self.entries, self.formats, strict=True
        ):
            if format_ == "parquet":
                yield from _row_groups(address, size)
            elif format_ == "jsonl" and not _is_compressed(address):
                pieces = -(-total // size)
                edges = [total * at // max(pieces, 1) for at in range(pieces + 1)]
                for begin, end in pairwise(edges):
                    yield Partition(address, format_, begin, end), end - begin
            else:
                yield Partition(address, format_, 0, total), total


def files_of(paths: Paths, format_: str | None = None) -> Files:
    """Find the files of paths, folders, patterns and addresses, in order.

    A folder of JSONL or Parquet files is all of them, by name; folders that a format
    reads as a whole (``READERS``) are one.
    """
    if format_ is not None and format_ not in READERS:
        names = ", ".join(READERS)
        raise Mistake(f"format={format_!r} is not known: use one of {names}")
    several = [paths] if isinstance(paths, str | Path) else list(paths)
    pairs = [pair for each in several for pair in _files(str(each), format_)]
    facts = tuple(facts_of(address) for address, _ in pairs)
    return Files(facts, tuple(name for _, name in pairs))


def read_partition(partition: Partition) -> Iterator[Record]:
    """Yield the records of a partition."""
    return (record for _, record in numbered_records(partition))


def numbered_records(partition: Partition) -> Iterator[tuple[int | None, Record]]:
    """Yield the records of a partition, with the line in it, or the file's row."""
    address, begin, end = partition.address, partition.begin, partition.end
    if partition.format == "parquet":
        from classmark.formats.tables import parquet_file, rows_in

        with opened(address) as raw, parquet_file(raw, address) as file:
            yield from rows_in(file, address, range(begin, end))
    elif partition.format == "jsonl" and not _is_compressed(address):
        with opened(address) as raw:
            yield from read_lines(raw, address, begin, end)
    else:
        for record in READERS[partition.format].read(address):
            yield None, record


def place_of(sources: Sequence[Any], number: int) -> tuple[str, int | None] | None:
    """Return the file and the line of a document, by its number in all sources."""
    for source in sources:
        if not isinstance(source, Partition):
            return None
        for line, _ in numbered_records(source):
            if not number:
                before = 0
                if source.format == "jsonl" and source.begin:
                    with opened(source.address) as raw:
                        before = lines_before(raw, _line_from(raw, source.begin))
                return source.address, line and line + before
            number -= 1
    return None


def read_files(paths: Paths, format_: str | None = None) -> Iterator[Record]:
    """Yield the records of files, one after the other, here; some may hold none."""
    partitions = chain.from_iterable(files_of(paths, format_).cut(1 << 62))
    records = chain.from_iterable(map(read_partition, partitions))
    several = [paths] if isinstance(paths, str | Path) else paths
    yield from some_of(records, ", ".join(map(str, several)), format_ or "")


def is_one(paths: Paths, format_: str | None = None) -> bool:
    """Whether ``paths`` is one local file, or one folder that is read as a whole."""
    if not isinstance(paths, str | Path) or is_remote(str(paths)):
        return False
    path = Path(paths)
    if not path.is_dir():
        return path.exists() or not has_magic(str(paths))
    if format_ is not None:
        return format_ not in CUT
    try:
        return guess_format(path) != "files"
    except Mistake:
        return False


def _files(address: str, format_: str | None) -> Iterable[tuple[str, str]]:
    """Return the address and the format of each file."""
    if is_one(address, format_):
        return [(str(Path(address).absolute()), format_ or guess_format(address))]
    addresses = files_at(address)
    if is_remote(address) or not Path(address).is_dir():
        return [(each, _format(each, format_)) for each in addresses]
    cut = [
        (each, name)
        for each in addresses
        if (name := _by_name(each)) is not None and format_ in {None, name}
    ]
    if not cut:
        raise Mistake(
            f"{address}: the folder has no {format_ or 'JSONL or Parquet'} files: name "
            "another, or its format (--format, format=)"
        )
    return cut


def _format(address: str, format_: str | None) -> str:
    if not is_remote(address):
        return format_ or guess_format(address)
    name = format_ or _by_name(address)
    if name not in CUT or (name == "jsonl" and _is_compressed(address)):
        raise Mistake(
            f"{address}: from there, plain JSONL and Parquet are read (say which with "
            "--format, format=, if the name does not): copy other files here first"
        )
    return name


def _by_name(address: str) -> str | None:
    """The format of a file that may be cut into partitions, by its name; else None."""
    return next((name for name in CUT if READERS[name].fits(address)), None)


def _is_compressed(address: str) -> bool:
    return PurePosixPath(address).suffix in COMPRESSIONS


def _row_groups(address: str, size: int) -> Iterator[tuple[Partition, int]]:
    """Join consecutive row groups into partitions of about ``size`` bytes."""
    from classmark.formats.tables import parquet_file

    with opened(address) as raw, parquet_file(raw, address) as file:
        facts = file.metadata
        sizes = [
            facts.row_group(n).total_byte_size for n in range(facts.num_row_groups)
        ]
    begin = weight = 0
    for number, group_size in enumerate(sizes):
        if weight and weight + group_size > size:
            yield Partition(address, "parquet", begin, number), weight
            begin, weight = number, 0
        weight += group_size
    if sizes:
        yield Partition(address, "parquet", begin, len(sizes)), weight

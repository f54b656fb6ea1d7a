r"""A partition: the next documents of a file that one worker reads at a time.

A plain JSONL file is cut at bytes: a partition has the lines that begin in [begin,
end). A Parquet file is cut at row groups. Whatever else can be read is one partition a
file. One behind the other, partitions give the documents just as the file does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from glob import has_magic
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from classmark.formats import READERS, guess_format, read_records
from classmark.formats.text_files import COMPRESSIONS
from classmark.machines.addresses import Found, facts_of, files_at, is_remote, opened
from classmark.machines.byte_ranges import LinesWithin, lines_before, read_lines
from classmark.problems import Mistake

if TYPE_CHECKING:
    from classmark.formats.record import Record

Given = Path | str | Sequence[Path | str]
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

    found: tuple[Found, ...]
    formats: tuple[str, ...]

    @property
    def total(self) -> int:
        """Bytes of all of them."""
        return sum(each.size for each in self.found)

    @property
    def fingerprint(self) -> str:
        """Something that is another as soon as any contents or their order are."""
        facts = json.dumps([self.found, self.formats])
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
        for (address, total, _), format_ in zip(self.found, self.formats, strict=True):
            if format_ == "parquet":
                yield from _row_groups(address, size)
            elif format_ == "jsonl" and not _is_compressed(address):
                pieces = -(-total // size)
                edges = [total * at // max(pieces, 1) for at in range(pieces + 1)]
                for begin, end in pairwise(edges):
                    yield Partition(address, format_, begin, end), end - begin
            else:
                yield Partition(address, format_, 0, total), total


def files_of(given: Given, format_: str | None = None) -> Files:
    """Find the files that were named: paths, folders, patterns, addresses, in order.

    A folder of JSONL or Parquet files is all of them, by name; folders that a format
    reads as a whole (``READERS``) are one.
    """
    if format_ is not None and format_ not in READERS:
        known = ", ".join(READERS)
        raise Mistake(f"format={format_!r} is not known: use one of {known}")
    several = [given] if isinstance(given, str | Path) else list(given)
    found = [pair for each in several for pair in _files(str(each), format_)]
    facts = tuple(facts_of(address) for address, _ in found)
    return Files(facts, tuple(name for _, name in found))


def partitions_of(
    given: Given, size: int, format_: str | None = None
) -> list[Partition]:
    """Cut files into partitions of about ``size`` bytes, in the documents' order."""
    cut = files_of(given, format_).cut(size)
    return [partition for piece in cut for partition in piece]


def read_partition(partition: Partition) -> Iterator[Record]:
    """Yield the records of a partition."""
    return (record for _, record in numbered_records(partition))


def numbered_records(partition: Partition) -> Iterator[tuple[int | None, Record]]:
    """Yield the records of a partition, with the line in it, or the file's row."""
    address, begin, end = partition.address, partition.begin, partition.end
    if partition.format == "parquet":
        from classmark.formats.parquet import parquet_file, rows_in

        with opened(address) as raw, parquet_file(raw, address) as file:
            yield from rows_in(file, address, range(begin, end))
    elif partition.format == "jsonl" and not _is_compressed(address):
        with opened(address) as raw:
            yield from read_lines(raw, address, begin, end)
    else:
        for record in read_records(address, partition.format):
            yield None, record


def place_of(sources: Sequence[Any], number: int) -> tuple[str, int | None] | None:
    """Return the file and the line of a document, by its number in all sources."""
    for source in sources:
        if not isinstance(source, Partition):
            return None
        for line, _ in numbered_records(source):
            if not number:
                return source.address, line and line + _lines_before(source)
            number -= 1
    return None


def _lines_before(partition: Partition) -> int:
    """Count the lines of the file before those of a partition."""
    if partition.format != "jsonl" or not partition.begin:
        return 0
    with opened(partition.address) as raw:
        within = LinesWithin(raw, partition.begin, partition.end)
        return lines_before(raw, within.first)


def read_files(given: Given, format_: str | None = None) -> Iterator[Record]:
    """Yield the records of files, one after the other, here."""
    for piece in files_of(given, format_).cut(1 << 62):
        for partition in piece:
            yield from read_partition(partition)


def is_one(given: Given, format_: str | None = None) -> bool:
    """Say whether a reader takes what is given as it is: a file here, or its folder."""
    if not isinstance(given, str | Path) or is_remote(str(given)):
        return False
    path = Path(given)
    if not path.is_dir():
        return path.exists() or not has_magic(str(given))
    if format_ is not None:
        return format_ not in CUT
    try:
        return bool(guess_format(path))
    except Mistake:
        return False


def _files(given: str, format_: str | None) -> Iterable[tuple[str, str]]:
    """Return the address and the format of each file."""
    if is_one(given, format_):
        return [(str(Path(given).absolute()), format_ or guess_format(given))]
    found = files_at(given)
    if is_remote(given) or not Path(given).is_dir():
        return [(each, _format(each, format_)) for each in found]
    cut = [
        (each, name)
        for each in found
        if (name := _by_name(each)) is not None and format_ in {None, name}
    ]
    if not cut:
        raise Mistake(
            f"{given}: the folder has no {format_ or 'JSONL or Parquet'} files: name "
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
    """Tell what may be cut by its name."""
    path = PurePosixPath(address)
    plain = path.stem if path.suffix in COMPRESSIONS else path.name
    for name in CUT:
        if any(fnmatch(plain, pattern) for pattern in READERS[name].names):
            return name
    return None


def _is_compressed(address: str) -> bool:
    return PurePosixPath(address).suffix in COMPRESSIONS


def _row_groups(address: str, size: int) -> Iterator[tuple[Partition, int]]:
    """Put row groups together until they are large enough."""
    from classmark.formats.parquet import parquet_file

    with opened(address) as raw, parquet_file(raw, address) as file:
        facts = file.metadata
        sizes = [
            facts.row_group(n).total_byte_size for n in range(facts.num_row_groups)
        ]
    begin = weight = 0
    for number, one in enumerate(sizes):
        if weight and weight + one > size:
            yield Partition(address, "parquet", begin, number), weight
            begin, weight = number, 0
        weight += one
    if sizes:
        yield Partition(address, "parquet", begin, len(sizes)), weight

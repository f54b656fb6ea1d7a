"""Which lines begin within a range of a file's bytes?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from classmark.formats.jsonl import records_in
from classmark.formats.text_files import CHUNK, LIMITS, Measured, lines_of
from classmark.problems import UnreadableFile

if TYPE_CHECKING:
    from classmark.formats.record import Record

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
        self._file, self._end = file, end
        # a mark at the beginning of a text is dropped: that of a range is no beginning
        self._ahead = MARK if begin else b""
        self.first = self._at = _line_from(file, begin)
        self._is_over = self._at >= end
        file.seek(self._at)

    def read(self, size: int = CHUNK, /) -> bytes:
        """Give the next bytes; none at the end."""
        if self._ahead:
            ahead, self._ahead = self._ahead, b""
            return ahead
        if self._is_over:
            return b""
        chunk = self._file.read(size)
        last = max(self._end - 1 - self._at, 0)
        stop = chunk.find(b"\n", last) + 1
        if stop:
            self._is_over = True
            chunk = chunk[:stop]
        self._at += len(chunk)
        return chunk


def lines_before(file: BinaryIO, place: int) -> int:
    """Count the lines that end before a byte."""
    file.seek(0)
    found = 0
    while place > 0 and (chunk := file.read(min(1 << 20, place))):
        found += chunk.count(b"\n")
        place -= len(chunk)
    return found


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

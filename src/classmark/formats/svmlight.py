"""SVMlight and LIBSVM files, and LSHTC's: one example a line, single- and multi-label.

All tokens of a block are parsed at once by numpy. Where that finds anything odd, they
are parsed one by one, which is slow but knows which token is wrong.

A line is ``labels [qid:Q] index:value … [# comment]``; labels are joined by commas
and may be missing. An empty line, or one that begins with ``#``, is skipped; a line of
one blank is an example without labels and features. Files of the extreme classification
repository open with a line ``examples features labels`` and count from 0.

Vectors are LIBSVM lines, from the second challenge on with several labels
(``12, 7 5:1``); feature 0 is internal and left out. ``cat_hier.txt`` holds paths from
the root to a leaf, later parent–child pairs: both are chains of categories.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.formats.records import Examples, together
from classmark.formats.text_files import LIMITS, Limits, lines, open_bytes, writing
from classmark.problems import Mistake, UnreadableFile
from classmark.progress import track
from classmark.sparse import Rows, keep_columns
from classmark.taxonomy.tree import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray


MOST = 2**32 - 1
NUMBER = rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"


class Pairs(NamedTuple):
    """Indices and values of tokens, in their order."""

    indices: Ints
    values: Floats


class BadToken(Exception):
    """The number of the token, and what is wrong with it."""

    def __init__(self, at: int, problem: str) -> None:
        super().__init__(problem)
        self.at, self.problem = at, problem


def parse_pairs(tokens: Sequence[bytes], colon: bytes = b":") -> Pairs:
    """Parse tokens such as ``7:0.5``; raises ``BadToken`` for the first bad one.

    >>> parse_pairs([b"3:0.5", b"9:1"]).values.tolist()
    [0.5, 1.0]
    """
    if not tokens:
        return Pairs(np.empty(0, np.int64), np.empty(0))
    pairs = _all_at_once(tokens, colon)
    return pairs if pairs is not None else parse_one_by_one(tokens, colon)


def _all_at_once(tokens: Sequence[bytes], colon: bytes) -> Pairs | None:
    text = b"\n".join(tokens)
    raw = np.frombuffer(text, np.uint8)
    marks = np.flatnonzero((raw == ord(colon)) | (raw == ord(b"\n")))
    if len(marks) != 2 * len(tokens) - 1 or (raw[marks[1::2]] != ord(b"\n")).any():
        return None
    if not _only_digits(raw, marks):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            flat = np.fromstring(text.replace(colon, b"\n"), np.float64, sep="\n")
        except (DeprecationWarning, ValueError):
            return None
    if len(flat) != 2 * len(tokens) or not np.isfinite(flat).all():
        return None
    if flat[::2].max() > MOST:
        return None
    return Pairs(flat[::2].astype(np.int64), flat[1::2].copy())


def _only_digits(raw: NDArray[np.uint8], marks: Ints) -> bool:
    """Whether every index, from a mark (or the start) to its colon, is digits."""
    colons = marks[::2]
    begins = np.concatenate([np.zeros(1, np.int64), marks[1::2] + 1])
    if (begins == colons).any():
        return False
    strange = np.flatnonzero((raw < ord(b"0")) | (raw > ord(b"9")))
    before = np.searchsorted(strange, begins)
    return bool((strange[np.minimum(before, len(strange) - 1)] >= colons).all())


def parse_one_by_one(tokens: Sequence[bytes], colon: bytes = b":") -> Pairs:
    """Parse the tokens slowly: the authority on what is allowed."""
    shape = re.compile(rb"(\d{1,10})" + re.escape(colon) + b"(" + NUMBER + b")")
    indices, values = np.empty(len(tokens), np.int64), np.empty(len(tokens))
    for at, token in enumerate(tokens):
        match = shape.fullmatch(token)
        if match is None:
            shown = token[:40].decode("utf-8", "replace")
            raise BadToken(at, f"{shown!r} is not index{colon.decode()}number")
        indices[at], values[at] = int(match[1]), float(match[2])
        if indices[at] > MOST:
            raise BadToken(at, f"index {indices[at]} is over {MOST}")
        if not np.isfinite(values[at]):
            raise BadToken(at, f"{match[2].decode()} is too large a number")
    return Pairs(indices, values)


def rows_of(pairs: Pairs, lengths: Sequence[int], width: int) -> Rows:
    """Gather parsed pairs into rows, each sorted, zeros left out.

    lengths : how many of the pairs each row has. Raises ``BadToken``, numbered by the
    **pair**, where a column occurs twice in a row.
    """
    owner = np.repeat(np.arange(len(lengths)), lengths)
    indices, values = pairs
    order = np.arange(len(owner))
    later = (owner[1:] == owner[:-1]) & (indices[1:] <= indices[:-1])
    if later.any():
        order = np.lexsort((indices, owner))
        owner, indices, values = owner[order], indices[order], values[order]
        twice = (owner[1:] == owner[:-1]) & (indices[1:] == indices[:-1])
        if twice.any():
            at = int(order[int(np.argmax(twice)) + 1])
            raise BadToken(at, "the same index occurs twice in the row")
    mask = values != 0
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(np.bincount(owner[mask], minlength=len(lengths)), out=starts[1:])
    return Rows(starts, indices[mask].astype(np.uint32), values[mask], width)


BLOCK = 1 << 22
LABEL = re.compile(r"[^\s,:#]+")


def read_svmlight(
    path: Path | str,
    *,
    first_index: int | None = None,
    width: int | None = None,
    limits: Limits = LIMITS,
) -> Examples:
    """Read a whole file; see :func:`svmlight_blocks`."""
    return together(
        svmlight_blocks(path, first_index=first_index, width=width, limits=limits)
    )


def svmlight_blocks(
    path: Path | str,
    *,
    first_index: int | None = None,
    width: int | None = None,
    limits: Limits = LIMITS,
    absent: bytes = b"",
    block: int = BLOCK,
) -> Iterator[Examples]:
    """Read a file as blocks of about ``block`` bytes.

    first_index : the index of the first feature, which becomes column 0. By default 1,
    as LIBSVM writes, or 0 after a header line; an index below it is an error.
    width : the number of columns; by default the header's, or else the largest index
    met so far, so that each block's width is at least that of the one before.
    absent : the end of a token that says «no value here», such as ``:NULL``.
    """
    reading = _Reading(str(path), first_index, width, absent)
    for number, text in track(_blocks(path, limits, block), f"reading {path}"):
        yield reading.examples(number, text)
    if not reading.count:
        yield reading.examples(2, b"")
    if reading.promised is not None and reading.promised != reading.count:
        raise UnreadableFile(
            path,
            1,
            f"the header promises {reading.promised} examples and {reading.count} "
            "follow: fetch the file again",
        )


def _blocks(
    path: Path | str, limits: Limits, block: int
) -> Iterator[tuple[int, bytes]]:
    """Yield (number of the first line, whole lines) of about ``block`` bytes."""
    number, pending = 1, b""
    with open_bytes(path, limits) as stream:
        while chunk := stream.read(block):
            head, newline, tail = (pending + chunk).rpartition(b"\n")
            if newline:
                yield number, head
                number += head.count(b"\n") + 1
            pending = tail
            if len(pending) > limits.line:
                raise UnreadableFile(
                    path,
                    number,
                    f"a line of more than {limits.line} bytes: raise limits.line if "
                    "that is right",
                )
    if pending:
        yield number, pending


@dataclass
class _Reading:
    """What is known of the file so far."""

    path: str
    first: int | None
    width: int | None
    absent: bytes = b""
    promised: int | None = None
    widest: int = 0
    count: int = 0

    def examples(self, number: int, text: bytes) -> Examples:
        """Parse the lines of one block."""
        block = _Block(self.path, self.absent)
        lines = text.split(b"\n")
        if number == 1:
            lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
            if self._is_header(lines[0]):
                lines[0] = b""
        for at, line in enumerate(lines, number):
            if line not in (b"", b"\r"):
                block.add(at, line)
        self.count += len(block.lengths)
        return self._finished(block)

    def _is_header(self, line: bytes) -> bool:
        """Take «examples features labels» in, where the first line says that."""
        match = re.fullmatch(rb"\s*(\d{1,18})\s+(\d{1,10})\s+(\d{1,18})\s*", line)
        if match is None:
            return False
        self.promised = int(match[1])
        self.width = int(match[2]) if self.width is None else self.width
        self.first = 0 if self.first is None else self.first
        return True

    def _finished(self, block: _Block) -> Examples:
        try:
            pairs = self._columns(parse_pairs(block.tokens))
            width = self.widest if self.width is None else self.width
            rows = rows_of(pairs, block.lengths, width)
        except BadToken as bad:
            raise UnreadableFile(
                self.path, block.line_of(bad.at), bad.problem
            ) from None
        return Examples(
            rows,
            tuple(block.labels),
            block.column("qids"),
            block.column("comments"),
            lines=tuple(block.numbers),
        )

    def _columns(self, pairs: Pairs) -> Pairs:
        """Count columns from 0, refusing indices outside the announced ones."""
        first = 1 if self.first is None else self.first
        columns = pairs.indices - first
        if (columns < 0).any():
            at = int(np.argmax(columns < 0))
            raise BadToken(
                at,
                f"index {pairs.indices[at]} in a file counted from {first}: read it "
                f"with first_index={pairs.indices[at]}",
            )
        self.widest = max(self.widest, int(columns.max(initial=-1)) + 1)
        if self.width is not None and self.widest > self.width:
            at = int(np.argmax(columns >= self.width))
            raise BadToken(
                at,
                f"index {pairs.indices[at]} is beyond the {self.width} columns: give "
                "a greater width or none",
            )
        return Pairs(columns, pairs.values)


@dataclass
class _Block:
    """The parts of the lines of one block, numbers not parsed yet."""

    path: str
    absent: bytes
    tokens: list[bytes] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    labels: list[tuple[str, ...]] = field(default_factory=list)
    qids: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)

    def add(self, number: int, line: bytes) -> None:
        """Split one line."""
        body, mark, comment = line.partition(b"#")
        tokens = body.split()
        if mark and not body:
            return
        at = 0
        while at < len(tokens) and b":" not in tokens[at]:
            at += 1
            if not tokens[at - 1].endswith(b","):
                break
        self.labels.append(self._labels(b"".join(tokens[:at]), number))
        qid = ""
        if at < len(tokens) and tokens[at].startswith(b"qid:"):
            qid = self._text(tokens[at][4:], number)
            at += 1
        self.qids.append(qid)
        self.comments.append(self._text(comment.strip(), number) if mark else "")
        features = tokens[at:]
        if self.absent and self.absent in line:
            features = [token for token in features if not token.endswith(self.absent)]
        self.tokens.extend(features)
        self.lengths.append(len(features))
        self.numbers.append(number)

    def _labels(self, text: bytes, number: int) -> tuple[str, ...]:
        if not text:
            return ()
        labels = tuple(self._text(text, number).split(","))
        if "" in labels:
            raise UnreadableFile(
                self.path, number, "an empty label: write labels as 1,5,7"
            )
        return labels

    def _text(self, raw: bytes, number: int) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise UnreadableFile(
                self.path, number, f"not UTF-8 ({error}): convert the file first"
            ) from None

    def line_of(self, token: int) -> int:
        """Return the line that holds the token of this number."""
        ends = np.cumsum(self.lengths)
        return self.numbers[int(np.searchsorted(ends, token, side="right"))]

    def column(self, name: str) -> tuple[str, ...]:
        """Return the column, or nothing where no line has it."""
        texts: list[str] = getattr(self, name)
        return tuple(texts) if any(texts) else ()


def write_svmlight(
    examples: Examples,
    path: Path | str,
    *,
    first_index: int = 1,
    header: bool = False,
) -> None:
    """Write examples; ``header`` opens the file with «examples features labels».

    Numbers are written so that they are read back exactly.
    """
    if header and first_index:
        raise Mistake("header: files with a header count from 0: give first_index=0")
    with writing(path) as out:
        if header:
            names = {label for labels in examples.labels for label in labels}
            count = len(examples.label_names or names)
            out.write(f"{len(examples)} {examples.rows.width} {count}\n")
        for at in track(range(len(examples)), f"writing {path}", len(examples)):
            out.write(_line(examples, at, first_index))


def _line(examples: Examples, at: int, first_index: int) -> str:
    for label in examples.labels[at]:
        if not LABEL.fullmatch(label):
            raise Mistake(
                f"labels, row {at}: {label!r} cannot stand in such a file: use labels "
                "without blanks, commas, colons and #"
            )
    parts = [",".join(examples.labels[at])]
    if examples.qids and examples.qids[at]:
        parts.append(f"qid:{_plain(examples.qids[at], at)}")
    parts.append(features_text(examples, at, first_index))
    if examples.comments and examples.comments[at]:
        parts.append(f"# {' '.join(examples.comments[at].split())}")
    return " ".join(parts) + "\n"


def _plain(text: str, at: int) -> str:
    if not LABEL.fullmatch(text):
        raise Mistake(f"qids, row {at}: {text!r} has a blank, comma, colon or #")
    return text


def features_text(examples: Examples, at: int, first_index: int = 1) -> str:
    """Return the features of one row as ``index:value`` tokens."""
    columns, values = examples.rows.row(at)
    shown = values.astype(str).tolist()
    return " ".join(
        f"{column + first_index}:{value.removesuffix('.0')}"
        for column, value in zip(columns.tolist(), shown, strict=True)
        if value not in ("0.0", "-0.0")
    )


def read_lshtc(path: Path | str, *, width: int | None = None) -> Examples:
    """Read document vectors, or ``classDescr.txt``, whose labels are the categories.

    Feature number f becomes column f − 1; width : the number of columns, feature 0 not
    counted.
    """
    inside = None if width is None else width + 1
    examples = read_svmlight(path, first_index=0, width=inside)
    rows = examples.rows
    return Examples(
        keep_columns(rows, np.arange(min(1, rows.width), rows.width)), examples.labels
    )


def read_hierarchy(path: Path | str) -> Taxonomy:
    """Read ``cat_hier.txt``: each category is below the one before it in its line."""
    edges: dict[tuple[str, str], int] = {}
    nodes: dict[str, None] = {}
    for number, line in lines(path):
        chain = line.split()
        if len(chain) == 1:
            raise UnreadableFile(
                path, number, "one category alone: give a path, or a parent and a child"
            )
        nodes.update(dict.fromkeys(chain))
        for at in range(1, len(chain)):
            edges.setdefault((chain[at - 1], chain[at]), number)
    try:
        return Taxonomy(edges, nodes=nodes)
    except Mistake as mistake:
        raise UnreadableFile(path, None, str(mistake)) from mistake

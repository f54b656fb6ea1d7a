"""SVMlight, LIBSVM, LSHTC and LETOR files: one example a line.

All tokens of a block are parsed at once by numpy. Where that finds anything odd, they
are parsed one by one, which is slow but knows which token is wrong.

A line is ``labels [qid:Q] index:value … [# comment]``; labels are joined by commas
and may be missing. An empty line, or one that begins with ``#``, is skipped; a line of
one blank is an example without labels and features. Files of the extreme classification
repository open with a line ``examples features labels`` and count from 0.

LSHTC's vectors are LIBSVM lines, from the second challenge on with several labels
(``12, 7 5:1``); feature 0 is internal and left out.

LETOR has a judged query–document pair a line, ``grade qid:Q 1:v 2:v … #docid = D inc =
… prob = …``; MSLR has no comment, LightGBM no qid but a second file of group sizes.
``NULL``, where a ranker did not return the document, is a feature that is not stored.

What the numbers of labels and features stand for may be in a file of names, one a line.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Floats, Ints, Rows, keep_columns
from classmark.formats.records import Examples, together
from classmark.formats.text_files import (
    LIMITS,
    FileLimits,
    FilePlace,
    lines,
    open_bytes,
    write_lines,
    writing,
)
from classmark.problems import Mistake, UnreadableFile
from classmark.progress import track

MOST = 2**32 - 1
HEADER = re.compile(rb"\s*(\d{1,18})\s+(\d{1,10})\s+(\d{1,18})\s*")
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
    sizes = np.bincount(owner[mask], minlength=len(lengths))
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    return Rows(starts, indices[mask].astype(np.uint32), values[mask], width)


@dataclass
class TokenBlock:
    """Tokens such as ``7:0.5`` of consecutive rows, not parsed yet, and their lines."""

    path: str
    tokens: list[bytes] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def add(self, line: int, tokens: list[bytes]) -> None:
        """Add one row."""
        self.tokens.extend(tokens)
        self.lengths.append(len(tokens))
        self.lines.append(line)

    def rows(self, columns: Callable[[Pairs], tuple[Pairs, int]], colon: bytes) -> Rows:
        """Parse the rows; ``columns`` checks the pairs and says the width."""
        try:
            pairs, width = columns(parse_pairs(self.tokens, colon))
            return rows_of(pairs, self.lengths, width)
        except BadToken as bad:
            row = int(np.searchsorted(np.cumsum(self.lengths), bad.at, side="right"))
            problem = bad.problem
            if self.tokens[bad.at].endswith(b"?"):
                problem = "a missing value (?): fill it in or remove the row"
            raise UnreadableFile(self.path, self.lines[row], problem) from None


BLOCK = 1 << 22
LABEL = re.compile(r"[^\s,:#]+")


def read_svmlight(
    path: Path | str,
    *,
    first_index: int | None = None,
    width: int | None = None,
    limits: FileLimits = LIMITS,
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
    limits: FileLimits = LIMITS,
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
    reading = _Reading(path, first_index, width, absent)
    for number, text in track(_blocks(path, limits, block), f"reading {path}"):
        yield reading.examples(number, text)
    if not reading.count:
        yield reading.examples(2, b"")
    if reading.promised not in (None, reading.count):
        FilePlace(path, 1).refuse(
            f"the header promises {reading.promised} examples and {reading.count} "
            "follow: fetch the file again"
        )


def _blocks(
    path: Path | str, limits: FileLimits, block: int
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
                FilePlace(path, number).refuse(
                    f"a line of more than {limits.line} bytes: raise limits.line if "
                    "that is right"
                )
    if pending:
        yield number, pending


class _Reading(FilePlace):
    """What the lines so far say of the file: its header, columns and examples."""

    def __init__(
        self, path: Path | str, first: int | None, width: int | None, absent: bytes
    ) -> None:
        super().__init__(path)
        self.first, self.width, self.absent = first, width, absent
        self.promised: int | None = None
        self.widest = self.count = 0

    def examples(self, number: int, text: bytes) -> Examples:
        """Parse the lines of one block."""
        raw = text.split(b"\n")
        if number == 1:
            raw[0] = raw[0].removeprefix(b"\xef\xbb\xbf")
            if header := HEADER.fullmatch(raw[0]):
                raw[0], self.promised = b"", int(header[1])
                self.width = int(header[2]) if self.width is None else self.width
                self.first = 0 if self.first is None else self.first
        block = TokenBlock(self.path)
        labels: list[tuple[str, ...]] = []
        qids: list[str] = []
        comments: list[str] = []
        for self.line, line in enumerate(raw, number):
            body, mark, comment = line.partition(b"#")
            if line in (b"", b"\r") or (mark and not body):
                continue
            tokens, at = body.split(), 0
            while at < len(tokens) and b":" not in tokens[at]:
                at += 1
                if not tokens[at - 1].endswith(b","):
                    break
            labels.append(self._labels(b"".join(tokens[:at])))
            has_qid = at < len(tokens) and tokens[at].startswith(b"qid:")
            qids.append(self._text(tokens[at][4:]) if has_qid else "")
            comments.append(self._text(comment.strip()) if mark else "")
            features = tokens[at + has_qid :]
            if self.absent and self.absent in line:
                features = [t for t in features if not t.endswith(self.absent)]
            block.add(self.line, features)
        self.count += len(labels)
        return Examples(
            block.rows(self._columns, b":"),
            tuple(labels),
            tuple(qids) if any(qids) else (),
            tuple(comments) if any(comments) else (),
            lines=tuple(block.lines),
        )

    def _labels(self, text: bytes) -> tuple[str, ...]:
        labels = tuple(self._text(text).split(",")) if text else ()
        if "" in labels:
            self.refuse("an empty label: write labels as 1,5,7")
        return labels

    def _text(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            self.refuse(f"not UTF-8 ({error}): convert the file first")

    def _columns(self, pairs: Pairs) -> tuple[Pairs, int]:
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
        width = self.widest if self.width is None else self.width
        return Pairs(columns, pairs.values), width


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
            parts = [",".join(_plain("labels", at, *examples.labels[at]))]
            if examples.qids and examples.qids[at]:
                parts.append(f"qid:{_plain('qids', at, examples.qids[at])[0]}")
            values = value_texts(examples.rows, at).items()
            parts.append(" ".join(f"{at + first_index}:{text}" for at, text in values))
            if examples.comments and examples.comments[at]:
                parts.append(f"# {' '.join(examples.comments[at].split())}")
            out.write(" ".join(parts) + "\n")


def _plain(name: str, at: int, *texts: str) -> tuple[str, ...]:
    for text in texts:
        if not LABEL.fullmatch(text):
            raise Mistake(
                f"{name}, row {at}: {text!r} cannot stand in such a file: use {name} "
                "without blanks, commas, colons and #"
            )
    return texts


def value_texts(rows: Rows, at: int) -> dict[int, str]:
    """Return column → value of one row, as texts that are read back exactly."""
    columns, values = rows.row(at)
    texts = zip(columns.tolist(), values.astype(str).tolist(), strict=True)
    return {
        column: text.removesuffix(".0")
        for column, text in texts
        if text not in ("0.0", "-0.0")
    }


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


DOCID = re.compile(r"docid\s*=\s*(\S+)\s*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class JudgedRows:
    """Query–document feature vectors with grades.

    rows : shape (n, width);  grades : float64, shape (n,);
    qids : the query of each row;  docids : the document of each row, or "".
    """

    rows: Rows
    grades: Floats
    qids: tuple[str, ...]
    docids: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rows)


def read_letor(
    path: Path | str, *, groups: Path | str | None = None, width: int | None = None
) -> JudgedRows:
    """Read a LETOR file; features are numbered from 1.

    groups : a file with the number of rows of each query, one a line, for files without
    qid; the queries are then called 1, 2, ….
    """
    examples = together(svmlight_blocks(path, width=width, absent=b":NULL"))
    qids = examples.qids
    place = FilePlace(path)
    if groups is not None:
        qids = tuple(_from_groups(groups, len(examples)))
    elif len(examples) and (not qids or "" in qids):
        place.line = examples.lines[qids.index("") if qids else 0]
        place.refuse("no qid:…: add it, or give groups=")
    grades = np.empty(len(examples))
    for row, labels in enumerate(examples.labels):
        place.line = examples.lines[row]
        grades[row] = place.finite(",".join(labels), "grade")
    matches = [DOCID.match(text) for text in examples.comments]
    docids = tuple(match[1] if match else "" for match in matches)
    return JudgedRows(examples.rows, grades, qids, docids or ("",) * len(examples))


def _from_groups(path: Path | str, rows: int) -> Iterator[str]:
    total = 0
    file = lines(path, blank=False)
    for number, line in file:
        text = line.strip()
        if not re.fullmatch("[0-9]{1,9}", text):
            file.refuse(f"{text[:40]!r} is not a number of rows")
        total += int(text)
        if total > rows:
            file.refuse(f"more rows than the {rows} there are")
        yield from [str(number)] * int(text)
    if total != rows:
        raise UnreadableFile(path, None, f"groups of {total} rows for {rows} examples")


def write_letor(judged: JudgedRows, path: Path | str, *, dense: bool = True) -> None:
    """Write a LETOR file; ``dense`` (LETOR's own way) writes zeros too."""
    with writing(path) as out:
        for at in track(range(len(judged)), f"writing {path}", len(judged)):
            qid, docid = judged.qids[at], judged.docids[at]
            for name, text in (("qids", qid), ("docids", docid)):
                if re.search(r"[\s#]", text) or not (text or name == "docids"):
                    raise Mistake(f"{name}, row {at}: {text!r} has a blank or #")
            values = value_texts(judged.rows, at)
            if dense:
                values = dict.fromkeys(range(judged.rows.width), "0") | values
            features = " ".join(f"{at + 1}:{text}" for at, text in values.items())
            comment = f" #docid = {docid}" if docid else ""
            out.write(f"{judged.grades[at]:g} qid:{qid} {features}{comment}\n")


def read_names(path: Path | str, *, encoding: str = "utf-8") -> list[str]:
    """Read names, the first line naming number 0; empty lines at the end are no names.

    Raises ``UnreadableFile`` for an empty line between names and for a name met twice.
    """
    names: dict[str, int] = {}
    empty = 0
    file = lines(path, encoding)
    for number, line in file:
        name = line.strip()
        if not name:
            empty = empty or number
            continue
        if empty:
            raise UnreadableFile(path, empty, "no name on this line: remove or fill it")
        if name in names:
            file.refuse(f"{name!r} is already on line {names[name]}: rename one")
        names[name] = number
    return list(names)


def write_names(names: Iterable[str], path: Path | str) -> None:
    """Write one name a line."""
    listed = list(names)
    for at, name in enumerate(listed):
        if not name or name != name.strip() or "\n" in name or "\r" in name:
            raise Mistake(
                f"names, number {at}: {name!r} is empty, has a line break or blanks "
                "around it"
            )
    if len(set(listed)) < len(listed):
        twice = next(name for name in listed if listed.count(name) > 1)
        raise Mistake(f"names: {twice!r} is there twice: names must differ")
    write_lines((f"{name}\n" for name in listed), path)

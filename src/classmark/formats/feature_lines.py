"""Vectors of counts as documents: LIBSVM and LSHTC lines, every feature a word.

Feature 7 that is counted twice is the text ``f7 f7``; where a file of names lies
beside (``train.names`` beside ``train.svm``, one a line, the first of number 1), a name
that is one word stands in its number's place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from classmark.arrays import Array
from classmark.corpus.documents import Document
from classmark.formats.records import SECONDARY, Record
from classmark.formats.svmlight import (
    BadToken,
    parse_pairs,
    read_names,
    svmlight_blocks,
)
from classmark.formats.text_files import FilePlace
from classmark.problems import Mistake
from classmark.text import words

FIELD = "features"  # the field of a document that is a vector
NAMES = ".names"
MOST = 10_000  # times that a feature may be counted
INTERNAL = 0  # LSHTC's feature that says nothing


def read_feature_lines(path: Path | str, *, name: str = "") -> Iterator[Record]:
    """Yield the vectors of a file as documents; feature 0 is left out.

    name : of the file, for ids: those are the file's name and the line, or a comment
    at the end of the line.
    """
    names, ids = names_beside(path), set[str]()
    name = name or Path(path).name
    for block in svmlight_blocks(path, first_index=0):
        for at, labels in enumerate(block.labels):
            place = FilePlace(path, block.lines[at], ids)
            columns, values = block.rows.row(at)
            try:
                text = feature_text(columns, values, names)
            except Mistake as problem:
                place.refuse(str(problem))
            id_ = (block.comments or ("",) * len(block))[at] or f"{name}:{place.line}"
            document = Document(place.new_id(id_), {FIELD: text})
            yield Record(document, dict.fromkeys(labels, SECONDARY))


def names_beside(path: Path | str) -> list[str]:
    """The names of features that lie beside a file; none where there is no file."""
    beside = Path(path).with_suffix(NAMES)
    return read_names(beside) if beside.is_file() else []


def feature_text(columns: Array, values: Array, names: Sequence[str] = ()) -> str:
    """A vector of counts as a text.

    >>> import numpy as np
    >>> feature_text(np.array([0, 2, 7]), np.array([9.0, 1.0, 2.0]), ["bee", "wax"])
    'wax f7 f7'
    """
    terms = []
    for column, value in zip(columns.tolist(), values.tolist(), strict=True):
        if column == INTERNAL:
            continue
        if not (value == int(value) and 0 < value <= MOST):
            raise Mistake(
                f"feature {column} counts {value:g}: a project counts whole times, "
                f"from 1 to {MOST:,}; learn from such vectors with the library "
                "(read_svmlight, PreferenceRanker)"
            )
        named = names[column - 1] if column <= len(names) else ""
        term = named if words(named) == [named.lower()] else f"f{column}"
        terms += [term] * int(value)
    return " ".join(terms)


def line_text(line: str) -> str:
    """A typed line as a text: its pairs, labels before them left out.

    >>> line_text("33, 7 0:4 2:1 7:2")
    'f2 f7 f7'
    """
    tokens = [token for token in line.encode().split() if b":" in token]
    try:
        pairs = parse_pairs(tokens)
    except BadToken as problem:
        raise Mistake(f"{problem}: write number:count, as in 7:1 12:3") from problem
    return feature_text(pairs.indices, pairs.values)

"""LETOR files: one judged query–document pair a line, with its features.

``grade qid:Q 1:v 2:v … #docid = D inc = … prob = …``; MSLR has no comment, LightGBM no
qid but a second file of group sizes. ``NULL``, where a ranker did not return the
document, is a feature that is not stored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from classmark.arrays import Floats
from classmark.formats.records import Examples, together
from classmark.formats.svmlight import features_text, svmlight_blocks
from classmark.formats.text_files import lines, writing
from classmark.problems import Mistake, UnreadableFile
from classmark.progress import track

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from classmark.sparse import Rows

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
    if groups is not None:
        qids = tuple(_from_groups(groups, len(examples)))
    elif len(examples) and (not qids or "" in qids):
        row = qids.index("") if qids else 0
        raise UnreadableFile(
            path, examples.lines[row], "no qid:…: add it, or give groups="
        )
    matches = [DOCID.match(text) for text in examples.comments]
    docids = tuple(match[1] if match else "" for match in matches)
    return JudgedRows(
        examples.rows,
        np.array(list(_grades(path, examples)), np.float64),
        qids,
        docids or ("",) * len(examples),
    )


def _grades(path: Path | str, examples: Examples) -> Iterator[float]:
    for row, labels in enumerate(examples.labels):
        try:
            (text,) = labels
            grade = float(text)
        except ValueError:
            grade = np.nan
        if not np.isfinite(grade):
            shown = ",".join(labels)[:40]
            raise UnreadableFile(
                path, examples.lines[row], f"{shown!r} is not a grade: give a number"
            )
        yield grade


def _from_groups(path: Path | str, rows: int) -> Iterator[str]:
    total = 0
    for number, line in lines(path):
        text = line.strip()
        if not text:
            continue
        if not re.fullmatch("[0-9]{1,9}", text):
            raise UnreadableFile(path, number, f"{text[:40]!r} is not a number of rows")
        total += int(text)
        if total > rows:
            raise UnreadableFile(path, number, f"more rows than the {rows} there are")
        yield from [str(number)] * int(text)
    if total != rows:
        raise UnreadableFile(path, None, f"groups of {total} rows for {rows} examples")


def write_letor(judged: JudgedRows, path: Path | str, *, dense: bool = True) -> None:
    """Write a LETOR file; ``dense`` (LETOR's own way) writes zeros too."""
    labels = tuple((f"{grade:g}",) for grade in judged.grades)
    examples = Examples(judged.rows, labels, judged.qids)
    with writing(path) as out:
        for at in track(range(len(judged)), f"writing {path}", len(judged)):
            qid, docid = judged.qids[at], judged.docids[at]
            for name, text in (("qids", qid), ("docids", docid)):
                if re.search(r"[\s#]", text) or not (text or name == "docids"):
                    raise Mistake(f"{name}, row {at}: {text!r} has a blank or #")
            features = _dense(judged.rows, at) if dense else features_text(examples, at)
            comment = f" #docid = {docid}" if docid else ""
            out.write(f"{labels[at][0]} qid:{qid} {features}{comment}\n")


def _dense(rows: Rows, at: int) -> str:
    columns, values = rows.row(at)
    shown: Sequence[str] = values.astype(str).tolist()
    texts = ["0"] * rows.width
    for column, text in zip(columns.tolist(), shown, strict=True):
        texts[column] = text.removesuffix(".0")
    return " ".join(f"{at + 1}:{text}" for at, text in enumerate(texts))

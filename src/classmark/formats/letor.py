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
from classmark.formats.records import together
from classmark.formats.svmlight import svmlight_blocks, value_texts
from classmark.formats.text_files import Place, lines, writing
from classmark.problems import Mistake, UnreadableFile
from classmark.progress import track

if TYPE_CHECKING:
    from collections.abc import Iterator
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
    place = Place(path)
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

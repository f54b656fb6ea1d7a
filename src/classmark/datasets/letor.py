"""Learning to rank: LETOR, MSLR and LightGBM's example."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from classmark.datasets.dataset import Dataset, Part
from classmark.datasets.where import any_of, one_of
from classmark.formats.letor import JudgedRows, read_letor
from classmark.problems import Mistake
from classmark.sparse import Rows, stack

if TYPE_CHECKING:
    from pathlib import Path


def load_letor(folder: Path, split: str | None) -> Dataset:
    """Load a LETOR collection.

    split : ``"fold1"`` … ``"fold5"``, as folders ``Fold1/{train,vali,test}.txt`` or, by
    LETOR's rule, from the files S1 … S5 (or A1 … A5): fold k trains on k, k+1, k+2,
    validates on k+3, tests on k+4. By default fold 1, or, where only some of the five
    are there, all but the last train and the last tests. Files ``*train*`` and
    ``*test*``, with ``.query`` files of group sizes, are read as they are.
    """
    fold = any_of(folder, _number(split or "fold1", "Fold"))
    if fold is not None:
        files = [[one_of(fold, f"{name}.txt")] for name in ("train", "vali", "test")]
    elif any_of(folder, "[SA][1-5].txt"):
        files = _five(folder, split)
    else:
        vali = any_of(folder, "*vali*.txt", "*.vali")
        files = [
            [one_of(folder, "*train*.txt", "*.train")],
            [vali] if vali else [],
            [one_of(folder, "*test*.txt", "*.test")],
        ]
    read = [[_read(path) for path in paths] for paths in files]
    width = max(judged.rows.width for group in read for judged in group)
    train, vali_part, test = (_part(group, width) for group in read)
    return Dataset("letor", train, test, vali_part if read[1] else None)


def _number(split: str, word: str) -> str:
    match = re.fullmatch(r"fold([1-5])", split.lower())
    if match is None:
        raise Mistake(f"split={split!r}: give 'fold1' … 'fold5'")
    return f"{word}{match[1]}"


def _five(folder: Path, split: str | None) -> list[list[Path]]:
    found = sorted(folder.glob("[SA][1-5].txt"))
    if split is None and len(found) < 5:
        return [found[:-1], [], found[-1:]]
    start = int(_number(split or "fold1", "")) - 1
    names = [f"[SA]{(start + step) % 5 + 1}.txt" for step in range(5)]
    paths = [one_of(folder, name) for name in names]
    return [paths[:3], paths[3:4], paths[4:]]


def _read(path: Path) -> JudgedRows:
    groups = path.with_name(f"{path.name}.query")
    return read_letor(path, groups=groups if groups.is_file() else None)


def _part(group: list[JudgedRows], width: int) -> Part:
    """Put files one below the other; queries keep their names."""
    rows = stack([judged.rows for judged in group])
    docids = [name for judged in group for name in judged.docids]
    return Part(
        ids=[name or str(at) for at, name in enumerate(docids, 1)],
        labels=[[] for _ in docids],
        X=Rows(rows.starts, rows.columns, rows.values, width).to_scipy(),
        qids=[qid for judged in group for qid in judged.qids],
        grades=np.concatenate([np.empty(0), *(judged.grades for judged in group)]),
    )

"""LSHTC: one task of the first challenge's dry run, or any later set's files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from classmark.datasets.dataset import Dataset, Part, names_in
from classmark.datasets.multilabel import part_of
from classmark.datasets.where import any_of, one_of
from classmark.formats.lshtc import read_hierarchy, read_lshtc

if TYPE_CHECKING:
    from pathlib import Path

    from classmark.formats.examples import Examples

FILES = ("train", "validation", "test")


def load_lshtc(folder: Path, split: str | None) -> Dataset:
    """Load one task: ``task1`` … ``task4``; by default ``task2``, which is complete.

    ``test`` is ``test.txt`` or, where that is missing, ``validation.txt``; ``train``
    has no rows where ``train.txt`` is missing. A folder that holds ``train.txt`` itself
    is read as it is.
    """
    place = folder
    if any_of(folder, "train.txt") is None:
        place = one_of(folder, f"{(split or 'task2').capitalize()}_*")
    read: dict[str, Examples] = {}
    for name in FILES:
        path = any_of(place, f"{name}.txt")
        if path is not None:
            read[name] = read_lshtc(path)
    width = max((examples.rows.width for examples in read.values()), default=0)
    parts = {
        name: part_of(examples, width=width, prefix=f"{name}-")
        for name, examples in read.items()
    }
    hierarchy = one_of(folder, "cat_hier.txt", "*hier*.txt")
    return Dataset(
        "lshtc",
        parts.get("train", Part()),
        parts.get("test", parts.get("validation", Part())),
        parts.get("validation"),
        label_names=names_in(*parts.values()),
        tree=lambda: read_hierarchy(hierarchy),
    )

"""LSHTC: one task of the first challenge's dry run, or any later set's files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from classmark.datasets.dataset import Dataset, Part, names_in
from classmark.datasets.lshtc_alignment import Task, aligned
from classmark.datasets.multilabel import part_of
from classmark.datasets.where import any_of, one_of
from classmark.formats.examples import Examples
from classmark.formats.lshtc import read_hierarchy, read_lshtc
from classmark.problems import Mistake
from classmark.sparse import Rows

if TYPE_CHECKING:
    from pathlib import Path

FILES = ("train", "validation", "test")
SAID = "classDescr"
CRAWL = "crawl"


def load_lshtc(folder: Path, split: str | None) -> Dataset:
    """Load one task: ``task1`` … ``task4``; by default ``task2``, which is complete.

    ``test`` is ``test.txt`` or, where that is missing, ``validation.txt``; ``train``
    has no rows where ``train.txt`` is missing. A folder that holds ``train.txt`` itself
    is read as it is. Categories are described by the vectors of ``classDescr.txt``.

    ``crawl`` is Task 2 with crawled pages to classify, as the challenge has it: those
    of its ``test.txt`` or, where that is missing, those of Task 1's validation, in Task
    2's words (see ``lshtc_alignment``).
    """
    place = folder
    if any_of(folder, "train.txt") is None:
        task = "task2" if split in (None, CRAWL) else split
        place = one_of(folder, f"{task.capitalize()}_*")
    read = {
        name: read_lshtc(path)
        for name in (*FILES, SAID)
        if (path := any_of(place, f"{name}.txt")) is not None
    }
    if split == CRAWL and "test" not in read:
        read["test"] = _crawled(folder, read)
    width = max((examples.rows.width for examples in read.values()), default=0)
    parts = {
        name: part_of(examples, width=width, prefix=f"{name}-")
        for name, examples in read.items()
        if name != SAID
    }
    hierarchy = one_of(folder, "cat_hier.txt", "*hier*.txt")
    said = _descriptions(read[SAID], width) if SAID in read else Part()
    return Dataset(
        "lshtc",
        parts.get("train", Part()),
        parts.get("test", parts.get("validation", Part())),
        parts.get("validation"),
        label_names=names_in(*parts.values()),
        tree=lambda: read_hierarchy(hierarchy),
        about=lambda: said,
    )


def _descriptions(examples: Examples, width: int) -> Part:
    part = part_of(examples, width=width)
    return Part(ids=[labels[0] for labels in examples.labels], X=part.X)


def _crawled(folder: Path, described: dict[str, Examples]) -> Examples:
    """Task 1's validation in Task 2's words, by way of Task 4, which holds both."""
    first, fourth = (one_of(folder, f"Task{number}_*") for number in (1, 4))
    crawled = read_lshtc(one_of(first, "validation.txt"))
    pages = read_lshtc(one_of(fourth, "validation.txt"))
    said = read_lshtc(one_of(fourth, f"{SAID}.txt"))
    here, here_said = described.get("validation"), described.get(SAID)
    if (
        here is None
        or here_said is None
        or not crawled.labels == pages.labels == here.labels
        or said.labels != here_said.labels
    ):
        raise Mistake(
            f"{folder}: validation.txt of tasks 1, 2 and 4 and {SAID}.txt of tasks 2 "
            "and 4 are to list the same in the same order: fetch the set again"
        )
    width = max(examples.rows.width for examples in described.values())
    found = aligned(
        crawled.rows,
        Task(_wide(here.rows, width), _wide(here_said.rows, width)),
        Task(pages.rows, said.rows),
    )
    return Examples(found.pages, crawled.labels)


def _wide(rows: Rows, width: int) -> Rows:
    return Rows(rows.starts, rows.columns, rows.values, width)

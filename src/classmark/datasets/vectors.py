"""Sets that come as vectors: Mulan's ARFF, LIBSVM lines, and the tasks of LSHTC.

The tasks of one LSHTC challenge number words differently, but hold the same pages:
Task 1 the crawled words of a page, Task 2 those of its description, Task 4 both
together. So the counts of a word over the pages add up, s₄ = s₁ + s₂, and a word is
known by its counts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import compress
from pathlib import Path

import numpy as np

from classmark.arrays import Rows, rows_from, take, transpose
from classmark.datasets.dataset import (
    Dataset,
    DatasetPart,
    any_of,
    chosen_split,
    in_test,
    names_in,
    one_of,
    part_of,
)
from classmark.formats.arff import read_arff
from classmark.formats.records import Examples
from classmark.formats.svmlight import read_lshtc, read_names, read_svmlight
from classmark.formats.taxonomies import read_hierarchy
from classmark.problems import Mistake

Counts = tuple[tuple[int, float], ...]  # (page, count), pages increasing
Task = tuple[Rows, Rows]  # pages and category descriptions, as counts of its words


def aligned(
    crawled: Rows, described: Task, together: Task
) -> tuple[Rows, list[int], int]:
    """Bring crawled pages into the words of the descriptions.

    A word b of ``described`` is word j of ``together`` if both have the same counts in
    the category descriptions, and what j has more than b on the pages is exactly what
    some word has in ``crawled``, or nothing. Words that fit one j are taken, then those
    that fit one j not taken, until none is left; words that fit several stay out.

    crawled : Rows (pages, words of that task): only the counts are used. Pages and
    categories come in the same order in all tasks.
    Returns Rows (pages, words of the descriptions), the columns that have a word of the
    other task, and how many words fit several.
    """
    from scipy.sparse import csr_array

    heights = {len(crawled), len(described[0]), len(together[0])}
    categories = {len(described[1]), len(together[1])}
    if len(heights) > 1 or len(categories) > 1:
        raise Mistake(
            "the tasks do not hold the same pages and category descriptions: "
            f"{sorted(heights)} pages, {sorted(categories)} descriptions"
        )
    fits = _fits(set(_columns(crawled).values()), described, together)
    matches: dict[int, int] = {}
    fresh = {-1: -1}
    while fresh:
        used = set(matches.values())
        fresh = {
            b: left[0]
            for b, several in fits.items()
            if b not in matches
            and len(left := [j for j in several if j not in used]) == 1
        }
        claims = Counter(fresh.values())
        fresh = {b: j for b, j in fresh.items() if claims[j] == 1}
        matches |= fresh
    unsure = sum(len(several) > 1 for b, several in fits.items() if b not in matches)
    pairs = [(page, b, n) for b, j in matches.items() for page, n in fits[b][j]]
    table = np.array(pairs, np.float64).reshape(-1, 3).T
    cells = tuple(table[:2].astype(np.int64))
    rows = csr_array((table[2], cells), (len(crawled), described[0].width))
    return rows_from(rows), sorted(matches), unsure


def _fits(
    crawled: set[Counts], described: Task, together: Task
) -> dict[int, dict[int, Counts]]:
    """Word of the descriptions → words of both → the rest of their counts on pages."""
    joint_pages, joint_descriptions = map(_columns, together)
    by_page: dict[int, set[int]] = defaultdict(set)
    by_description: dict[Counts, set[int]] = defaultdict(set)
    for word, counts in joint_pages.items():
        for page, _ in counts:
            by_page[page].add(word)
    for word in joint_pages.keys() | joint_descriptions.keys():
        by_description[joint_descriptions.get(word, ())].add(word)
    pages, descriptions = map(_columns, described)
    fits: dict[int, dict[int, Counts]] = {}
    for word in sorted(pages.keys() | descriptions.keys()):
        counts = pages.get(word, ())
        near = [by_page.get(page, set()) for page, _ in counts]
        near.append(by_description.get(descriptions.get(word, ()), set()))
        rests = {
            j: _less(joint_pages.get(j, ()), counts) for j in set.intersection(*near)
        }
        fits[word] = {
            j: rest
            for j, rest in sorted(rests.items())
            if rest is not None and (not rest or rest in crawled)
        }
    return fits


def _columns(rows: Rows) -> dict[int, Counts]:
    """The counts of each column that has any: (row, value), rows increasing."""
    turned = transpose(rows)
    pairs = list(zip(turned.columns.tolist(), turned.values.tolist(), strict=True))
    ends = turned.starts
    used = np.flatnonzero(np.diff(ends)).tolist()
    return {word: tuple(pairs[ends[word] : ends[word + 1]]) for word in used}


def _less(counts: Counts, removed: Counts) -> Counts | None:
    """``counts`` minus ``removed``; None where a count would be negative."""
    left = dict(counts)
    for page, count in removed:
        left[page] = left.get(page, 0) - count
    if any(count < 0 for count in left.values()):
        return None
    return tuple((page, count) for page, count in left.items() if count)


FILES = ("train", "validation", "test")
DESCRIPTIONS = "classDescr"
CRAWL = "crawl"


def load_lshtc(folder: Path, split: str | None) -> Dataset:
    """Load one task: ``task1`` … ``task4``; by default ``task2``, which is complete.

    ``test`` is ``test.txt`` or, where that is missing, ``validation.txt``; ``train``
    has no rows where ``train.txt`` is missing. A folder that holds ``train.txt`` itself
    is read as it is. Categories are described by the vectors of ``classDescr.txt``.

    ``crawl`` is Task 2 with crawled pages to classify, as the challenge has it: those
    of its ``test.txt`` or, where that is missing, those of Task 1's validation, in Task
    2's words (see ``aligned``).
    """
    place = folder
    if any_of(folder, "train.txt") is None:
        task = "task2" if split in (None, CRAWL) else split
        place = one_of(folder, f"{task.capitalize()}_*")
    read = {
        name: read_lshtc(path)
        for name in (*FILES, DESCRIPTIONS)
        if (path := any_of(place, f"{name}.txt")) is not None
    }
    if split == CRAWL and "test" not in read:
        read["test"] = _crawled(folder, read)
    width = max((examples.rows.width for examples in read.values()), default=0)
    parts = {
        name: part_of(examples, width=width, prefix=f"{name}-")
        for name, examples in read.items()
        if name != DESCRIPTIONS
    }
    hierarchy = one_of(folder, "cat_hier.txt", "*hier*.txt")
    descriptions = DatasetPart()
    if DESCRIPTIONS in read:
        examples = read[DESCRIPTIONS]
        names = [labels[0] for labels in examples.labels]
        descriptions = DatasetPart(ids=names, X=part_of(examples, width=width).X)
    return Dataset(
        "lshtc",
        parts.get("train", DatasetPart()),
        parts.get("test", parts.get("validation", DatasetPart())),
        parts.get("validation"),
        label_names=names_in(*parts.values()),
        tree=lambda: read_hierarchy(hierarchy),
        about=lambda: descriptions,
    )


def _crawled(folder: Path, described: dict[str, Examples]) -> Examples:
    """Task 1's validation in Task 2's words, by way of Task 4, which holds both."""
    first, fourth = (one_of(folder, f"Task{number}_*") for number in (1, 4))
    crawled = read_lshtc(one_of(first, "validation.txt"))
    pages = read_lshtc(one_of(fourth, "validation.txt"))
    descriptions = read_lshtc(one_of(fourth, f"{DESCRIPTIONS}.txt"))
    here, here_descriptions = described.get("validation"), described.get(DESCRIPTIONS)
    if (
        here is None
        or here_descriptions is None
        or not crawled.labels == pages.labels == here.labels
        or descriptions.labels != here_descriptions.labels
    ):
        raise Mistake(
            f"{folder}: validation.txt of tasks 1, 2 and 4 and {DESCRIPTIONS}.txt of "
            "tasks 2 and 4 are to list the same in the same order: fetch the set again"
        )
    width = max(examples.rows.width for examples in described.values())
    rows, *_ = aligned(
        crawled.rows,
        (here.rows.with_width(width), here_descriptions.rows.with_width(width)),
        (pages.rows, descriptions.rows),
    )
    return Examples(rows, crawled.labels)


def divided(examples: Examples) -> tuple[DatasetPart, DatasetPart]:
    """Share examples among train and test where there is no split: see ``in_test``."""
    ids = [str(number) for number in range(1, len(examples) + 1)]
    is_test = np.array([in_test(name) for name in ids], bool)
    train, test = (
        DatasetPart(
            ids=list(compress(ids, mask)),
            labels=[list(labels) for labels in compress(examples.labels, mask)],
            X=take(examples.rows, mask).to_scipy(),
        )
        for mask in (~is_test, is_test)
    )
    return train, test


def load_mulan(folder: Path, split: str | None) -> Dataset:
    """Load a Mulan set: ``*-train.arff``, ``*-test.arff`` and the labels' ``.xml``.

    split : None for the set's own split; ``"all"`` puts ``NAME.arff`` in ``train``.
    """
    whole_set = chosen_split(split, "", "all") == "all"
    first = one_of(folder, "*-train.arff", "*.arff")
    stem = first.stem.removesuffix("-train")
    xml = one_of(folder, f"{stem}.xml", "*.xml")
    if whole_set or not first.stem.endswith("-train"):
        whole = read_arff(one_of(folder, f"{stem}.arff"), xml)
        train, test = part_of(whole), DatasetPart()
    else:
        whole = read_arff(first, xml)
        train = part_of(whole, prefix="train-")
        test = part_of(read_arff(folder / f"{stem}-test.arff", xml), prefix="test-")
    return Dataset(
        f"mulan-{stem}",
        train,
        test,
        label_names=list(whole.label_names),
        feature_names=list(whole.feature_names),
    )


def load_mediamill(folder: Path, split: str | None) -> Dataset:
    """Load MediaMill's concepts [Snoek06]: Mulan's files, or LIBSVM's of experiment 1.

    split : None for ``mediamill-{train,test}.arff`` with ``mediamill.xml``; ``"all"``
    for ``mediamill.arff``; ``"exp1"`` for ``*train-exp1.svm*`` and ``*test-exp1.svm*``.
    """
    if chosen_split(split, "", "all", "exp1") == "exp1":
        return load_libsvm(folder, None, "*{}-exp1*")
    return load_mulan(folder, split)


def load_vectors(folder: Path, split: str | None) -> Dataset:
    """Load ``FAMILY_SPLIT.svm`` with ``.labels.txt`` and, if there, ``.features.txt``.

    Labels in the file are numbers from 0. There is no published split: one example in
    three is in ``test``.
    """
    if split is None:
        splits = sorted(path.stem.partition("_")[2] for path in folder.glob("*_*.svm"))
        raise Mistake(f"split: say which set, one of {', '.join(splits) or 'none'}")
    path = one_of(folder, f"*_{split}.svm*")
    stem = path.name.partition(".svm")[0]
    names = read_names(one_of(folder, f"{stem}.labels.txt"))
    features = any_of(folder, f"{stem}.features.txt")
    columns = read_names(features) if features else []
    examples = read_svmlight(path, width=len(columns) or None)
    train, test = divided(examples)
    for part in (train, test):
        part.labels[:] = [_named(labels, names, path) for labels in part.labels]
    return Dataset(
        stem.replace("_", "-"), train, test, label_names=names, feature_names=columns
    )


def _named(labels: list[str], names: list[str], path: Path) -> list[str]:
    for label in labels:
        if not label.isdecimal() or int(label) >= len(names):
            raise Mistake(f"{path}: label {label!r} is not a number below {len(names)}")
    return [names[int(label)] for label in labels]


def load_libsvm(folder: Path, _split: str | None, pattern: str = "*{}*") -> Dataset:
    """Load LIBSVM files: a folder with ``*train*`` and ``*test*``, or one file.

    Labels are what the file says, as text. A single file is divided: one example in
    three is in ``test``.
    """
    if folder.is_file():
        train, test = divided(read_svmlight(folder))
    else:
        paths = [one_of(folder, pattern.format(name)) for name in ("train", "test")]
        read = [read_svmlight(path) for path in paths]
        width = max(examples.rows.width for examples in read)
        train, test = (part_of(examples, width=width) for examples in read)
    return Dataset("libsvm", train, test, label_names=names_in(train, test))

"""Multi-label sets that come as vectors: Mulan's ARFF and LIBSVM lines."""

from __future__ import annotations

from itertools import compress
from pathlib import Path

import numpy as np

from classmark.arrays import take
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
from classmark.formats.svmlight import read_svmlight
from classmark.formats.taxonomies import read_names
from classmark.problems import Mistake


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


def load_libsvm(folder: Path, _split: str | None) -> Dataset:
    """Load LIBSVM files: a folder with ``*train*`` and ``*test*``, or one file.

    Labels are what the file says, as text. A single file is divided: one example in
    three is in ``test``.
    """
    if folder.is_file():
        train, test = divided(read_svmlight(folder))
    else:
        paths = [one_of(folder, f"*{name}*") for name in ("train", "test")]
        read = [read_svmlight(path) for path in paths]
        width = max(examples.rows.width for examples in read)
        train, test = (part_of(examples, width=width) for examples in read)
    return Dataset("libsvm", train, test, label_names=names_in(train, test))

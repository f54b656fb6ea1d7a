"""RCV1-v2: the labels of all documents, the topic tree, and a fragment as tokens."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from classmark.datasets.dataset import Dataset, Part, in_test
from classmark.datasets.where import one_of
from classmark.formats.jsonl import json_lines
from classmark.formats.taxonomies import read_children_lists
from classmark.formats.text_files import lines
from classmark.problems import Mistake, UnreadableFile
from classmark.progress import track
from classmark.taxonomy.category import taxonomy_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LAST_OF_TRAIN = 26_150


def load_rcv1(folder: Path, split: str | None) -> Dataset:
    """Load the topics of RCV1-v2.

    split : ``"lyrl2004"`` (the default), the labels of all 804,414 documents, 23,149 in
    train, without texts; or ``"tokens"``, the 2,316 documents of which the tokens are
    there, one in three in ``test``.
    """
    path = one_of(folder, "*.taxonomy")
    categories = read_children_lists(path)
    topics = [category.id for category in categories if category.parents]
    if split in (None, "lyrl2004"):
        train, test = _judged(one_of(folder, "*topics.qrels*"), topics)
    elif split == "tokens":
        train, test = _tokens(one_of(folder, "*rcv1_dev.json"))
    else:
        raise Mistake(f"split={split!r}: rcv1-v2-topics has 'lyrl2004' and 'tokens'")
    return Dataset(
        "rcv1-v2-topics",
        train,
        test,
        label_names=topics,
        tree=lambda: taxonomy_of(categories),
    )


def _judged(path: Path, topics: list[str]) -> tuple[Part, Part]:
    train, test = Part(), Part()
    known = {topic: topic for topic in topics}
    rows = track(_lines(path, known), "reading RCV1's labels", 2_606_875)
    for document, labels in groupby(rows, itemgetter(0)):
        part = train if int(document) <= LAST_OF_TRAIN else test
        part.ids.append(document)
        part.labels.append([topic for _, topic in labels])
    return train, test


def _lines(path: Path, known: dict[str, str]) -> Iterator[tuple[str, str]]:
    for number, line in lines(path):
        row = line.split()
        if not row:
            continue
        if len(row) != 3 or row[0] not in known or not row[1].isdecimal():
            raise UnreadableFile(
                path, number, "not 'topic document 1' with a known topic"
            )
        yield row[1], known[row[0]]


def _tokens(path: Path) -> tuple[Part, Part]:
    train, test = Part(), Part()
    for number, row in json_lines(path):
        labels, tokens = row.get("doc_label"), row.get("doc_token")
        if not isinstance(labels, list) or not isinstance(tokens, list):
            raise UnreadableFile(path, number, "doc_label and doc_token are needed")
        part = test if in_test(str(number)) else train
        part.ids.append(str(number))
        part.texts.append(" ".join(map(str, tokens)))
        part.labels.append([str(label) for label in labels])
    return train, test

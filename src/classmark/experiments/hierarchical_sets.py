"""Collections whose categories form a tree, as vectors and category names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from classmark.corpus.statistics import statistics
from classmark.datasets import Dataset, Part, load
from classmark.problems import Mistake
from classmark.sparse import Rows, keep_columns, rows_from, take
from classmark.taxonomy.tree import Taxonomy
from classmark.weighting.vectorizer import Vectorizer
from classmark.weighting.vectors import weigh

SETS = ("lshtc1-dryrun", "wikispeedia", "pypi-topics", "annif-makupalat")
WEIGHTING = "log-tfidf"


@dataclass(frozen=True, eq=False)
class HierarchicalSet:
    """Documents to learn from and documents to ask, with the tree of their categories.

    rows, asked : Rows of unit (1 + ln tf)·idf vectors, over the columns that occur in
    ``rows``;  y, truth : lists of category names, none empty.
    """

    name: str
    taxonomy: Taxonomy
    rows: Rows
    y: list[list[Any]]
    asked: Rows
    truth: list[list[Any]]


def hierarchical_set(name: str, data: Path | None = None) -> HierarchicalSet:
    """Load a collection; the published test part, or the validation part, is asked.

    Documents without categories of the tree are left out. Categories that only occur in
    the documents asked are kept in the truth: nobody finds them.
    """
    dataset = load(name, data)
    if dataset.taxonomy is None:
        raise Mistake(f"{name} has no tree of categories: use {', '.join(SETS)}")
    train, test = _vectors(dataset)
    learned, y = _labelled(dataset.train, dataset.taxonomy)
    asked, truth = _labelled(dataset.test, dataset.taxonomy)
    rows = take(train, learned)
    used = np.unique(rows.columns)
    return HierarchicalSet(
        name,
        dataset.taxonomy,
        keep_columns(rows, used),
        y,
        keep_columns(take(test, asked), used),
        truth,
    )


def _vectors(dataset: Dataset) -> tuple[Rows, Rows]:
    if dataset.train.texts:
        vectorizer = Vectorizer(weighting=WEIGHTING)
        train = rows_from(vectorizer.fit_transform(dataset.train.texts))
        return train, vectorizer.rows(dataset.test.texts)
    if dataset.train.X is None or dataset.test.X is None:
        raise Mistake(f"{dataset.name} has neither texts nor vectors")
    counts, asked = rows_from(dataset.train.X), rows_from(dataset.test.X)
    known = statistics(counts)
    learned = weigh(counts, known, WEIGHTING, norm="l2")
    return learned, weigh(asked, known, WEIGHTING, norm="l2")


def _labelled(part: Part, tree: Taxonomy) -> tuple[list[int], list[list[Any]]]:
    own = [[name for name in names if name in tree] for names in part.labels]
    kept = [at for at, names in enumerate(own) if names]
    return kept, [own[at] for at in kept]

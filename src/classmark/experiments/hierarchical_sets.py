"""Collections whose categories form a tree, as vectors and category names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.datasets import Dataset, Part, load
from classmark.problems import Mistake
from classmark.sparse import Rows, keep_columns, rows_from, take
from classmark.taxonomy.tree import Taxonomy
from classmark.weighting.formulas import plain_idf
from classmark.weighting.vectorizer import Vectorizer

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SETS = ("lshtc1-dryrun", "wikispeedia", "pypi-topics", "annif-makupalat")
WEIGHTING = "log-tfidf"


@dataclass(frozen=True, eq=False)
class HierarchicalSet:
    """Documents to learn from and documents to ask, with the tree of their categories.

    rows, asked : Rows of unit (1 + ln tf) · idf vectors, over the columns that occur in
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
    return _weighted(dataset.train.X), _weighted(dataset.test.X, dataset.train.X)


def _weighted(counts: csr_matrix, known: csr_matrix | None = None) -> Rows:
    """(1 + ln tf) · ln(n/df), rows of length 1; n, df of ``known`` or the same.

    Words that are not known weigh nothing.
    """
    learned = counts if known is None else known
    df = np.bincount(learned.indices, minlength=learned.shape[1])
    idf = np.where(df > 0, plain_idf(np.maximum(df, 1), learned.shape[0]), 0.0)
    rows = rows_from(counts)
    values = (1.0 + np.log(rows.values)) * idf[rows.columns]
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    length = np.sqrt(np.bincount(owner, values**2, minlength=len(rows)))
    values /= np.where(length > 0, length, 1.0)[owner]
    return Rows(rows.starts, rows.columns, values, rows.width)


def _labelled(part: Part, tree: Taxonomy) -> tuple[list[int], list[list[Any]]]:
    own = [[name for name in names if name in tree] for names in part.labels]
    kept = [at for at, names in enumerate(own) if names]
    return kept, [own[at] for at in kept]

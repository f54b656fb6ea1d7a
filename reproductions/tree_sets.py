"""Collections whose categories form a tree, and how good predictions on them are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import Floats, Rows, keep_columns, rows_from, take
from classmark.corpus.documents import train_test
from classmark.datasets import Dataset, DatasetPart, load
from classmark.measures.classification import (
    classification,
    hierarchical_f,
    tree_induced_error,
)
from classmark.measures.significance import macro_t_test, micro_sign_test
from classmark.problems import Mistake
from classmark.taxonomy.tree import Taxonomy
from classmark.weighting.vectorizer import Vectorizer, plain_idf

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
    return weighted(dataset.train.X), weighted(dataset.test.X, dataset.train.X)


def weighted(counts: csr_matrix, known: csr_matrix | None = None) -> Rows:
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


def _labelled(part: DatasetPart, tree: Taxonomy) -> tuple[list[int], list[list[Any]]]:
    own = [[name for name in names if name in tree] for names in part.labels]
    kept = [at for at, names in enumerate(own) if names]
    return kept, [own[at] for at in kept]


__all__ = ["SETS", "TreeSet", "load_tree_set"]

RARE = 10
HELD_OUT = 0.25


@dataclass(frozen=True, eq=False)
class TreeSet:
    """Training and test documents with categories of a taxonomy.

    X, X_test : csr (n, features), log tf · idf, rows of length 1, idf of the training
    documents;  y, y_test : for each document the categories it has, one or more.
    """

    name: str
    taxonomy: Taxonomy
    X: Any
    y: list[list[str]]
    X_test: Any
    y_test: list[list[str]]

    @property
    def sizes(self) -> Counter[str]:
        """How many training documents each category has."""
        return Counter(label for own in self.y for label in own)

    @property
    def evenness(self) -> float:
        """Entropy of the categories' sizes over its largest value: 1 if all are equal.

        −Σ p ln p / ln K [Pielou66].
        """
        sizes = np.array(list(self.sizes.values()), float)
        shares = sizes / sizes.sum()
        return float(-(shares @ np.log(shares)) / np.log(max(2, len(sizes))))

    @property
    def rare(self) -> float:
        """Share of the categories with at most ten training documents."""
        return float(np.mean([size <= RARE for size in self.sizes.values()]))

    def held_out(self, seed: int = 0) -> TreeSet:
        """Three quarters of the training documents, the others to be classified."""
        learn, ask = train_test(len(self.y), HELD_OUT, seed)
        return TreeSet(
            self.name,
            self.taxonomy,
            self.X[learn],
            [self.y[i] for i in learn],
            self.X[ask],
            [self.y[i] for i in ask],
        )


def load_tree_set(name: str, data: Path | None = None) -> TreeSet:
    """Load one of SETS; LSHTC's Task 2 is tested on its validation part.

    Labels that the taxonomy does not have are left out, and documents without any
    label.
    """
    found = hierarchical_set(name, data)
    X, X_test = found.rows.to_scipy(), found.asked.to_scipy()
    return TreeSet(name, found.taxonomy, X, found.y, X_test, found.truth)


MACRO = "F1(macro)"


class TreeJudge:
    """Measures predictions by the whole tree of a collection."""

    def __init__(self, given: TreeSet) -> None:
        tree = given.taxonomy
        self.number = {node: at for at, node in enumerate(tree)}
        top = set(tree.roots) if len(tree.roots) == 1 else set()
        self.above = [
            [self.number[v] for v in {node, *tree.ancestors(node)} - top]
            for node in tree
        ]
        self.given = given
        self.truth = [[self.number[label] for label in own] for own in given.y_test]

    def measures(self, predicted: list[str]) -> dict[str, float]:
        """Error, macro-F1, tree-induced error, hierarchical F1."""
        told = [self.number[label] for label in predicted]
        single = [[at] for at in told]
        nearest = [self._nearest(*pair) for pair in zip(told, self.truth, strict=True)]
        return {
            "error": error_of(predicted, self.given.y_test),
            "macro_f1": classification(self.truth, single, [MACRO])[MACRO],
            "tree_error": tree_induced_error(nearest, told, self.above),
            "hierarchical_f1": hierarchical_f(self.truth, single, self.above)["f1"],
        }

    def chances(self, predicted: list[str], beside: list[str]) -> tuple[float, float]:
        """P of the micro sign test and of the macro t-test."""
        own, other = (
            [[self.number[label]] for label in each] for each in (predicted, beside)
        )
        return (
            micro_sign_test(self.truth, own, other).p_value,
            macro_t_test(self.truth, own, other).p_value,
        )

    def _nearest(self, told: int, own: list[int]) -> int:
        """The category of the document that is nearest in the tree."""
        here = set(self.above[told])
        apart = [len(here.symmetric_difference(self.above[at])) for at in own]
        return own[int(np.argmin(apart))]


def error_of(predicted: Sequence[str], truth: Sequence[Sequence[str]]) -> float:
    """Share of the documents whose prediction is none of their categories.

    >>> error_of(["a", "b"], [["a", "c"], ["a"]])
    0.5
    """
    return float(wrong(predicted, truth).mean())


def wrong(predicted: Sequence[str], truth: Sequence[Sequence[str]]) -> Floats:
    """1 for each document whose prediction is none of its categories, else 0."""
    pairs = zip(predicted, truth, strict=True)
    return np.array([best not in own for best, own in pairs], dtype=np.float64)

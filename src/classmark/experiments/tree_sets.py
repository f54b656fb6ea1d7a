"""Which collections have a tree of categories, and what are they as vectors?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from classmark.corpus.splits import train_test
from classmark.experiments.hierarchical_sets import SETS, hierarchical_set
from classmark.taxonomy.tree import Taxonomy

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

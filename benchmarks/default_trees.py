"""The default where categories have a tree: its constants, and against a grid.

Run with ``OMP_NUM_THREADS=1 python benchmarks/default_trees.py PART [--json FILE]``:

explore : settings of ``TaxonomyRanker`` over the *design* sets that have a tree, whole
    and cut to 150 documents to learn, beside ``auto``, with a tree and
    without.
judge : ``auto`` with a tree and without, on the *judge* sets that have a tree. The
    documents and vectors are those of defaults.py, whose table has LinearSVC and other
    peers on the same.

defaults.py has the protocol, the two lists, the vectors, those of the categories'
descriptions, too.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from bench_taxonomy import completed
from defaults import Problem, ours, problem, row_of, table
from scipy.sparse import csr_matrix

import classmark as cm

DESIGN = (
    ("library", None),
    ("pypi-topics", None),
    ("lshtc1-dryrun", "task2"),
    ("lshtc1-dryrun", "crawl"),
    ("annif-makupalat", None),
)
JUDGE = (("wikispeedia", None), ("rcv1-v2-topics", "tokens"))
SIZES = (5000, 150)  # documents to learn at most
SETTING = ("C", "center", "prior", "noise")
BEFORE = ((0.03, 5.0, None, None), (0.3, 5.0, None, None), (1.0, 2.0, None, None))
TREE = "Classmark, tree"


def with_tree(task: Problem, name: str, split: str | None, **params: Any) -> Any:
    """A ranker that knows the set's tree, and what is said of its nodes."""
    dataset = cm.datasets.load(name, split=split)
    tree = completed(dataset.taxonomy, dataset.label_names)
    row = {node: at for at, node in enumerate(dataset.descriptions.ids)}
    known = [(at, row[node]) for at, node in enumerate(tree.nodes) if node in row]
    at, described = np.array(known, np.int64).reshape(-1, 2).T
    place = csr_matrix(
        (np.ones(len(at)), (at, described)), (len(tree), task.said.shape[0])
    )
    names = [dataset.label_names[label] for label in task.labels]
    said = place @ task.said
    return cm.TaxonomyRanker(tree, names, descriptions=said, **params)


def fitted(ranker: Any) -> Callable[..., Any]:
    """As the contest asks: learn, then score."""
    return lambda X, Y: ranker.fit(X, Y).decision_function


def explore(task: Problem, name: str, split: str | None) -> Iterator[dict[str, Any]]:
    """Settings, and what is chosen, on one set."""
    yield row_of(task, "`auto`", fitted(with_tree(task, name, split)))
    yield row_of(task, "`auto`, without the tree", ours())
    tried = [*BEFORE, *product((0.1, 0.3, 1.0), (3.0, 6.0), (None, 0.3), (2.0,))]
    for setting in tried:
        how = dict(zip(SETTING, setting, strict=True))
        label = ", ".join(f"{key} {value or 0:g}" for key, value in how.items())
        ranker = with_tree(task, name, split, loss="dom", **how)
        yield row_of(task, label, fitted(ranker))


def judge(task: Problem, name: str, split: str | None) -> Iterator[dict[str, Any]]:
    """With the tree, and without."""
    cm.PreferenceRanker().fit(task.X[:20], task.Y[:20])  # kernels compiled
    yield row_of(task, TREE, fitted(with_tree(task, name, split)))
    yield row_of(task, "Classmark", ours())


def main() -> None:
    """Run a part, print a table, write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["explore", "judge"])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    is_judged = options.part == "judge"
    for learned, (name, split) in product(
        SIZES if not is_judged else (3000,), JUDGE if is_judged else DESIGN
    ):
        task = problem(name, split, learned=learned)
        task = task._replace(name=f"{task.name}, {task.X.shape[0]:,}")
        rows += (judge if is_judged else explore)(task, name, split)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()

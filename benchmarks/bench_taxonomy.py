"""Large taxonomies: strategies and baselines on hierarchical sets, in one run.

Run with ``OMP_NUM_THREADS=1 python benchmarks/bench_taxonomy.py --data DIR SET …``:

validation  : LSHTC1 dry run, Task 2: learn short descriptions of pages, classify short
              descriptions (its validation part).
crawl       : the same, but crawled pages are to be classified, as the challenge had it.
library, wikispeedia, rcv1, pypi, makupalat : the other sets with a tree of categories.

LinearSVC is one-vs-rest with its defaults; PECOS (one-vs-all) and omikuji (its
defaults) run if they can be imported; ``--skip NAME …`` leaves some out. All see the
same vectors, on the columns that occur in the training part or in the categories'
descriptions. One process, one thread, the contestants take turns; seconds are processor
time to train, medians of the repeats; ``ratio`` is LinearSVC's time divided by them.

P@1; rareR@5: recall of the first five, mean over the labels with at most ten training
documents; microF1, macroF1: of the first label taken as the only answer; found: labels
that were the right first answer at least once; AvgP: average precision.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, diags, vstack

from classmark.arrays import rows_from
from classmark.datasets import Dataset, load
from classmark.hierarchies.flat import CrammerSingerSVM, FlatClassifier, HierarchicalSVM
from classmark.hierarchies.rerank import RareCategoryReranker
from classmark.hierarchies.taxonomy_ranker import (
    TaxonomyRanker,
    smoothed_prototypes,
    unit_rows,
)
from classmark.hierarchies.top_down import TopDownClassifier
from classmark.measures import category_ranking
from classmark.problems import Mistake
from classmark.rankers.preference import PreferenceRanker
from classmark.taxonomy.tree import Taxonomy
from classmark.weighting.vectorizer import Vectorizer

SETS = {
    "validation": ("lshtc1-dryrun", "task2"),
    "crawl": ("lshtc1-dryrun", "crawl"),
    "library": ("library", None),
    "wikispeedia": ("wikispeedia", None),
    "rcv1": ("rcv1-v2-topics", "tokens"),
    "pypi": ("pypi-topics", None),
    "makupalat": ("annif-makupalat", None),
}
LOWEST = -1e9
RARE = 10


class Problem(NamedTuple):
    """Vectors and label indicators, the tree, and what is said about its nodes."""

    X: csr_matrix
    Y: csr_matrix
    X_test: csr_matrix
    Y_test: csr_matrix
    names: list[str]
    tree: Taxonomy
    said: csr_matrix

    @property
    def single(self) -> bool:
        """Whether every document has one label."""
        return bool((np.diff(self.Y.indptr) == 1).all())

    @property
    def y(self) -> list[Any]:
        """The labels of each document by name: one, or a list."""
        rows = np.split(self.Y.indices, self.Y.indptr[1:-1])
        if self.single:
            return [self.names[row[0]] for row in rows]
        return [[self.names[at] for at in row] for row in rows]


def indicator(labels: list[list[int]], width: int) -> csr_matrix:
    """Rows of ones where a document has a label."""
    starts = np.cumsum([0, *map(len, labels)])
    columns = np.array([at for row in labels for at in sorted(row)], np.int64)
    return csr_matrix((np.ones(len(columns)), columns, starts), (len(labels), width))


def vectors(dataset: Dataset) -> tuple[csr_matrix, csr_matrix, csr_matrix]:
    """Training, test and description vectors: log tf·idf of unit length."""
    said = dataset.descriptions
    if dataset.train.texts:
        vectorizer = Vectorizer()
        X = vectorizer.fit_transform(dataset.train.texts).tocsr()
        parts = (vectorizer.transform(p.texts).tocsr() for p in (dataset.test, said))
        return X, *parts
    counts = [dataset.train.X, dataset.test.X, said.X]
    seen, more = (np.bincount(c.indices, minlength=c.shape[1]) for c in counts[::2])
    used = np.flatnonzero(seen + more)
    idf = np.log(counts[0].shape[0] / np.maximum(seen[used], 1))
    found = []
    for rows in counts:
        taken = rows.tocsc()[:, used].tocsr().astype(np.float64)
        taken.data = 1 + np.log(taken.data)
        found.append(unit_rows(taken @ diags(idf)))
    return tuple(found)


def completed(tree: Taxonomy, names: list[str]) -> Taxonomy:
    """The tree with the labels it lacks, at the top: below its root if it has one."""
    missing = [name for name in names if name not in tree]
    edges = [(tree.roots[0], name) for name in missing if len(tree.roots) == 1]
    return Taxonomy([*tree.edges, *edges], nodes=[*tree.nodes, *missing])


def problem_of(name: str, data: Path | None) -> Problem:
    """Read a set; documents without labels are left out."""
    known, split = SETS[name]
    dataset = load(known, None if known == "library" else data, split)
    X, X_test, said = vectors(dataset)
    names = dataset.label_names
    tree = completed(dataset.taxonomy, names)
    Y, Y_test = (
        indicator(dataset.label_numbers(part), len(names))
        for part in (dataset.train, dataset.test)
    )
    kept, asked = (np.flatnonzero(np.diff(rows.indptr)) for rows in (Y, Y_test))
    row = {node: at for at, node in enumerate(dataset.descriptions.ids)}
    empty = csr_matrix((1, X.shape[1]))
    at_node = [row.get(node, said.shape[0]) for node in tree.nodes]
    by_node = vstack([said, empty]).tocsr()[at_node]
    return Problem(X[kept], Y[kept], X_test[asked], Y_test[asked], names, tree, by_node)


Contestant = tuple[Callable[[], Any], Callable[[Any], np.ndarray]]


def spread(problem: Problem, at: Any, scores: np.ndarray) -> np.ndarray:
    """Scores of some labels among all; the rest are below them."""
    found = np.full((problem.X_test.shape[0], len(problem.names)), LOWEST)
    found[:, at] = np.maximum(scores, LOWEST)
    return found


def sklearn_contestant(problem: Problem) -> Contestant:
    """One-vs-rest LinearSVC with its defaults."""
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    learned = np.flatnonzero(np.bincount(problem.Y.indices, minlength=1))
    X, Y = problem.X.astype(np.float64), problem.Y[:, learned]
    model, gold = LinearSVC(), Y.indices
    if not problem.single:
        model, gold = OneVsRestClassifier(LinearSVC()), Y.astype(np.int64)
    return (
        lambda: model.fit(X, gold),
        lambda m: spread(problem, learned, m.decision_function(problem.X_test)),
    )


def pecos_contestant(problem: Problem) -> Contestant | None:
    """XR-Linear without a tree, its defaults; None when not installed."""
    try:
        from pecos.xmc.xlinear.model import XLinearModel
    except ImportError as reason:
        print(f"PECOS left out: {reason}")
        return None
    X, Y = problem.X.astype(np.float32), problem.Y.astype(np.float32)

    def scores(model: Any) -> np.ndarray:
        weights = model.model.model_chain[0].W.tocsr()  # the last row is the bias
        product = np.asarray((problem.X_test @ weights[:-1]).todense())
        return product + np.asarray(weights[-1:].todense())

    return lambda: XLinearModel.train(X, Y, C=None, threads=1), scores


def omikuji_contestant(problem: Problem, folder: Path) -> Contestant | None:
    """Three balanced trees, its defaults; None when not installed.

    Its time holds the reading of a file, which it insists on.
    """
    try:
        import omikuji
    except ImportError as reason:
        print(f"omikuji left out: {reason}")
        return None
    X, Y, path = problem.X, problem.Y, folder / "train.txt"
    lines = [f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}"]
    for i in range(X.shape[0]):
        labels = ",".join(map(str, Y.indices[Y.indptr[i] : Y.indptr[i + 1]]))
        span = slice(X.indptr[i], X.indptr[i + 1])
        pairs = zip(X.indices[span], X.data[span], strict=True)
        lines.append(labels + " " + " ".join(f"{j}:{v:.6f}" for j, v in pairs))
    path.write_text("\n".join(lines) + "\n")

    def scores(model: Any) -> np.ndarray:
        found = np.full((problem.X_test.shape[0], len(problem.names)), LOWEST)
        model.init_prediction_thread_pool(1)
        asked = problem.X_test
        for i in range(asked.shape[0]):
            span = slice(asked.indptr[i], asked.indptr[i + 1])
            pairs = list(zip(asked.indices[span], asked.data[span], strict=True))
            for label, score in model.predict(pairs, top_k=len(problem.names)):
                found[i, label] = score
        return found

    return lambda: omikuji.Model.train_on_data(str(path), n_threads=1), scores


def named(problem: Problem, make: Callable[[], Any]) -> Contestant:
    """A classifier that takes and gives names of categories."""
    number = {name: at for at, name in enumerate(problem.names)}

    def scores(model: Any) -> np.ndarray:
        known = [at for at, name in enumerate(model.classes_) if name in number]
        columns = [number[model.classes_[at]] for at in known]
        return spread(
            problem, columns, model.decision_function(problem.X_test)[:, known]
        )

    y = problem.y
    return lambda: make().fit(problem.X, y), scores


def numbered(problem: Problem, make: Callable[[], Any]) -> Contestant:
    """A ranker that takes and gives numbers of labels."""
    return (
        lambda: make().fit(problem.X, problem.Y),
        lambda model: model.decision_function(problem.X_test),
    )


def prototypes(problem: Problem, decay: float, weight: float) -> Contestant:
    """Unit centroids, smoothed by what is above them and what is said of them."""
    tree, X, Y = problem.tree, rows_from(problem.X), rows_from(problem.Y)
    nodes = [tree.number(name) if name in tree else -1 for name in problem.names]

    def fit() -> Any:
        said = weight * unit_rows(problem.said)
        return smoothed_prototypes(X, Y, tree, nodes, decay, said).prototypes

    return fit, lambda weights: (problem.X_test @ weights).toarray()


def contestants(problem: Problem, folder: Path) -> dict[str, Contestant]:
    """Everything that runs; the first is what the others' times are compared with."""
    tree, names, said = problem.tree, problem.names, problem.said
    found: dict[str, Contestant | None] = {
        "LinearSVC, one-vs-rest": sklearn_contestant(problem),
        "PECOS, one-vs-all": pecos_contestant(problem),
        "omikuji": omikuji_contestant(problem, folder),
        "Crammer–Singer, preference ranker": numbered(
            problem, lambda: PreferenceRanker(C=1.0, tol=1e-2)
        ),
        "centroids": prototypes(problem, 0.0, 0.0),
        "centroids, smoothed": prototypes(problem, 0.5, 0.0),
        "centroids, smoothed and described": prototypes(problem, 0.5, 0.5),
        "taxonomy ranker, without descriptions": numbered(
            problem, lambda: TaxonomyRanker(tree, names)
        ),
        "taxonomy ranker": numbered(
            problem, lambda: TaxonomyRanker(tree, names, descriptions=said)
        ),
        "flat, SVM": named(problem, FlatClassifier),
        "flat, logistic": named(problem, lambda: FlatClassifier("logistic")),
        "flat, naive Bayes": named(problem, lambda: FlatClassifier("naive-bayes")),
        "top-down, SVM": named(problem, lambda: TopDownClassifier(tree, n_jobs=1)),
        "hierarchical SVM": named(problem, lambda: HierarchicalSVM(tree)),
    }
    if problem.single:
        found |= {
            "Crammer–Singer SVM": named(problem, CrammerSingerSVM),
            "re-ranked for rare": named(problem, RareCategoryReranker),
        }
    return {name: one for name, one in found.items() if one is not None}


def quality(scores: np.ndarray, problem: Problem) -> dict[str, float]:
    """What the first labels are worth."""
    gold, size = (
        problem.Y_test,
        np.bincount(problem.Y.indices, minlength=len(problem.names)),
    )
    best = np.argsort(-scores, axis=1, kind="stable")[:, :5]
    owner = np.repeat(np.arange(gold.shape[0]), np.diff(gold.indptr))
    k = len(problem.names)
    wanted = np.bincount(gold.indices, minlength=k)
    among = (best[owner] == gold.indices[:, None]).any(axis=1)
    recall = np.bincount(gold.indices, among, minlength=k) / np.maximum(wanted, 1)
    first = best[:, 0] == -1
    np.logical_or.at(first, owner, best[owner, 0] == gold.indices)
    right = np.bincount(best[first, 0], minlength=k)
    given = np.bincount(best[:, 0], minlength=k)
    rare = (size <= RARE) & (wanted > 0)
    f1 = 2 * right / np.maximum(given + wanted, 1)
    return {
        "P@1": float(first.mean()),
        "rareR@5": float(recall[rare].mean()) if rare.any() else float("nan"),
        "microF1": float(2 * right.sum() / (given.sum() + wanted.sum())),
        "macroF1": float(f1[wanted > 0].mean()),
        "found": int((right > 0).sum()),
        "AvgP": float(category_ranking(scores, gold)["average_precision"]),
    }


def ready(
    runners: dict[str, Contestant], skipped: list[str]
) -> tuple[dict[str, Contestant], dict[str, Any]]:
    """Those that can learn this set, each trained once, so that all is compiled."""
    models = {}
    for name, (fit, _) in runners.items():
        if name in skipped:
            print(f"{name} left out: --skip", flush=True)
            continue
        try:
            models[name] = fit()
        except Mistake as reason:
            print(f"{name} left out: {reason}", flush=True)
    return {name: runners[name] for name in models}, models


def race(
    problem: Problem, repeats: int, folder: Path, skipped: list[str]
) -> list[dict[str, Any]]:
    """Train in turns; medians of processor time, and what the last models rank."""
    runners, models = ready(contestants(problem, folder), skipped)
    seconds: dict[str, list[float]] = {name: [] for name in runners}
    for _ in range(repeats):
        for name, (fit, _) in runners.items():
            started = time.process_time()
            models[name] = fit()
            seconds[name].append(time.process_time() - started)
    base = float(np.median(next(iter(seconds.values()))))
    rows = []
    for name, (_, score) in runners.items():
        middle = float(np.median(seconds[name]))
        found = quality(score(models[name]), problem)
        used = getattr(models[name], "setting_", None)
        chosen = "" if used is None else f"C {used.C:g}, center {used.center:g}"
        row = {"contestant": name, **found, "seconds": middle, "ratio": base / middle}
        rows.append({**row, "chosen": chosen})
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows in Markdown."""
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
    for row in rows:
        cells = [f"{x:.4g}" if isinstance(x, float) else str(x) for x in row.values()]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Race, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(SETS))
    parser.add_argument("--data", type=Path, default=os.environ.get("CLASSMARK_DATA"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--skip", nargs="*", default=[], metavar="CONTESTANT")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    unknown = set(options.sets) - set(SETS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; use {', '.join(SETS)}")
    print(f"{platform.machine()}, Python {platform.python_version()}")
    found = {}
    for name in options.sets or list(SETS):
        problem = problem_of(name, options.data)
        shape = f"{problem.X.shape}, test {problem.X_test.shape[0]}, {problem.tree}"
        print(f"{name}: {shape}, labels {problem.Y.shape[1]}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            found[name] = race(problem, options.repeats, Path(folder), options.skip)
        print(f"{table(found[name])}\n", flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()

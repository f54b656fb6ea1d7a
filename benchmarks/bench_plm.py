"""The preference ranker against one-vs-rest SVMs: time to train, and what it ranks.

Run with ``OMP_NUM_THREADS=1 python benchmarks/bench_plm.py --data DIR PART …``:

modapte  : Reuters ModApté, 90 topics, tf·idf: domination against scikit-learn's
           one-vs-rest LinearSVC and PECOS XR-Linear one-vs-all (if ``libpecos`` can be
           imported). One process, one thread, the contestants take turns; seconds are
           processor time, medians of the repeats.
bibtex   : 159 labels; one setting, chosen on the training set.

``--choose`` first chooses the settings of modapte and bibtex by five folds of the
training set; without it, those in CHOSEN are used, which it once printed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, diags
from sklearn.preprocessing import normalize

from classmark import PreferenceRanker
from classmark.corpus.documents import folds
from classmark.datasets import load
from classmark.measures import category_ranking, category_ranking_per_document
from classmark.weighting.vectorizer import Vectorizer

ANALYZER = "words|lower|digits(drop)|stop(english)"
CHOSEN: dict[str, dict[str, Any]] = {
    "modapte, fast": {"loss": "dom", "C": 0.3, "center": 3.0, "tol": 0.3},
    "modapte, best": {"loss": "dme", "C": 0.3, "center": None, "tol": 0.1},
    "modapte, deep": {"loss": "dme", "C": 0.3, "center": 6.0, "tol": 0.1},
    "bibtex": {"idf": True, "loss": "dom", "C": 0.1, "center": 6.0, "tol": 0.1},
}
CS, CENTERS, TOLS = (0.1, 0.3, 1.0), (None, 1.0, 3.0, 6.0), (0.3, 0.1, 0.01)


class Problem(NamedTuple):
    """Training and test documents with indicator matrices of their labels."""

    X: csr_matrix
    Y: csr_matrix
    X_test: csr_matrix
    Y_test: csr_matrix


def indicator(labels: list[list[str]], names: list[str]) -> csr_matrix:
    """Rows of ones where a document has a label."""
    number = {name: at for at, name in enumerate(names)}
    found = [[number[name] for name in row if name in number] for row in labels]
    starts = np.cumsum([0, *map(len, found)])
    columns = np.concatenate([np.sort(row) for row in found]).astype(np.int32)
    ones = np.ones(len(columns), np.float32)
    return csr_matrix((ones, columns, starts), (len(labels), len(names)))


def modapte(data: Path | None) -> Problem:
    """90 topics with a training and a test document; log tf·idf of unit length."""
    dataset = load("reuters-21578", data, split="modapte")
    parts = (dataset.train, dataset.test)
    seen = [{name for names in part.labels for name in names} for part in parts]
    names = sorted(seen[0] & seen[1])
    Y, Y_test = (indicator(part.labels, names) for part in parts)
    kept = [np.flatnonzero(np.diff(rows.indptr)) for rows in (Y, Y_test)]
    vectorizer = Vectorizer(ANALYZER, "log-tfidf", min_df=3)
    X = vectorizer.fit_transform([dataset.train.texts[i] for i in kept[0]])
    X_test = vectorizer.transform([dataset.test.texts[i] for i in kept[1]])
    return Problem(X, Y[kept[0]], X_test, Y_test[kept[1]])


def bibtex(data: Path | None, *, idf: bool) -> Problem:
    """Binary words to unit length, weighted by idf or not."""
    dataset = load("mulan-bibtex", data)
    names = sorted(dataset.label_names)
    X, X_test = dataset.train.X, dataset.test.X
    if idf:
        weight = 1 + np.log(X.shape[0] / np.maximum(np.diff(X.tocsc().indptr), 1))
        X, X_test = (rows @ diags(weight) for rows in (X, X_test))
    X, X_test = (csr_matrix(normalize(rows), dtype=np.float32) for rows in (X, X_test))
    Y, Y_test = (
        indicator(part.labels, names) for part in (dataset.train, dataset.test)
    )
    return Problem(X, Y, X_test, Y_test)


class Tried(NamedTuple):
    """A setting, its average precision per held-out document, its passes."""

    setting: dict[str, Any]
    precision: np.ndarray
    coverage: float
    passes: int


def cross_validate(problem: Problem, setting: dict[str, Any]) -> Tried:
    """Five folds of the training set; the test set is not looked at."""
    X, Y = problem.X, problem.Y
    precision, coverage = np.empty(X.shape[0]), np.empty(X.shape[0])
    passes = 0
    for train, test in folds(X.shape[0], 5, random_state=0):
        ranker = PreferenceRanker(**setting).fit(X[train], Y[train])
        found = category_ranking_per_document(
            ranker.decision_function(X[test]), Y[test]
        )
        precision[test] = found["average_precision"]
        coverage[test] = found["coverage"]
        passes += ranker.n_iter_
    return Tried(setting, precision, float(np.nanmean(coverage)), passes)


def settings(losses: tuple[str, ...], tols: tuple[float, ...]) -> Iterator[Any]:
    """Every setting of the grid."""
    for loss, C, center, tol in product(losses, CS, CENTERS, tols):
        yield {"loss": loss, "C": C, "center": center, "tol": tol}


def best(tried: list[Tried]) -> Tried:
    """The setting with the highest average precision."""
    return max(tried, key=lambda one: np.nanmean(one.precision))


def near_best(tried: list[Tried]) -> list[Tried]:
    """Settings within a standard error of the best average precision, paired."""
    top = best(tried)
    near = []
    for one in tried:
        gap = top.precision - one.precision
        gap = gap[~np.isnan(gap)]
        if gap.mean() <= gap.std() / np.sqrt(len(gap)):
            near.append(one)
    return near


def fastest(tried: list[Tried]) -> Tried:
    """Fewest passes among those near the best."""
    return min(
        near_best(tried), key=lambda one: (one.passes, -np.nanmean(one.precision))
    )


def deepest(tried: list[Tried]) -> Tried:
    """The lowest coverage among those near the best."""
    return min(near_best(tried), key=lambda one: one.coverage)


def choose(data: Path | None) -> dict[str, dict[str, Any]]:
    """Choose every setting by cross-validation on training sets."""
    problem = modapte(data)
    dom = [cross_validate(problem, one) for one in settings(("dom",), TOLS)]
    chosen = {"modapte, fast": said("modapte, fast", fastest(dom))}
    tried = []
    for idf in (False, True):
        documents = bibtex(data, idf=idf)
        for one in settings(("dom", "dis"), TOLS[1:2]):
            entry = cross_validate(documents, one)
            tried.append(entry._replace(setting={"idf": idf, **one}))
    chosen["bibtex"] = said("bibtex", best(tried))
    rest = [
        cross_validate(problem, one)
        for one in settings(("dme", "dis", "dom-dme"), TOLS[1:2])
    ]
    chosen["modapte, best"] = said("modapte, best", best(dom + rest))
    chosen["modapte, deep"] = said("modapte, deep", deepest(dom + rest))
    return chosen


def said(name: str, one: Tried) -> dict[str, Any]:
    """Print what was chosen, and how it did on the documents held out."""
    found = f"AvgP {np.nanmean(one.precision):.4f}, coverage {one.coverage:.3f}"
    print(f"{name}: {one.setting}, held out: {found}", flush=True)
    return one.setting


def quality(scores: np.ndarray, problem: Problem) -> dict[str, float]:
    """P@1, average precision and coverage on the test set."""
    found = category_ranking(scores, problem.Y_test)
    return {
        "P@1": 1 - found["one_error"],
        "AvgP": found["average_precision"],
        "coverage": found["coverage"],
    }


Contestant = tuple[Callable[[], Any], Callable[[Any], np.ndarray]]


def sklearn_contestant(problem: Problem) -> Contestant:
    """One-vs-rest LinearSVC with its defaults, on float64 as it would make itself."""
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    X, Y = problem.X.astype(np.float64), problem.Y.astype(np.int64)
    return (
        lambda: OneVsRestClassifier(LinearSVC()).fit(X, Y),
        lambda model: model.decision_function(problem.X_test),
    )


def pecos_contestant(problem: Problem) -> Contestant | None:
    """XR-Linear without a tree, its defaults, one thread; None when not installed."""
    try:
        from pecos.xmc.xlinear.model import XLinearModel
    except ImportError as problem_:
        print(f"PECOS left out: {problem_}")
        return None
    X, Y = problem.X.astype(np.float32), problem.Y.astype(np.float32)

    def scores(model: Any) -> np.ndarray:
        weights = model.model.model_chain[0].W.tocsr()  # the last row is the bias
        return np.asarray((problem.X_test @ weights[:-1]).todense()) + np.asarray(
            weights[-1:].todense()
        )

    return lambda: XLinearModel.train(X, Y, C=None, threads=1), scores


def ours(problem: Problem, setting: dict[str, Any]) -> Contestant:
    """The preference ranker."""
    return (
        lambda: PreferenceRanker(**setting).fit(problem.X, problem.Y),
        lambda model: model.decision_function(problem.X_test),
    )


def race(
    problem: Problem, contestants: dict[str, Contestant], repeats: int
) -> list[dict[str, Any]]:
    """Train in turns; medians of processor time, and what the last models rank."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    models = {name: fit() for name, (fit, _) in contestants.items()}
    for _ in range(repeats):
        for name, (fit, _) in contestants.items():
            started = time.process_time()
            models[name] = fit()
            seconds[name].append(time.process_time() - started)
    rows = []
    for name, (_, score) in contestants.items():
        middle = float(np.median(seconds[name]))
        found = quality(score(models[name]), problem)
        rows.append({"contestant": name, "seconds": middle, **found})
    for row in rows:
        row["ratio"] = row["seconds"] / rows[0]["seconds"]
    return rows


def run_modapte(data: Path | None, chosen: Any, repeats: int) -> list[dict[str, Any]]:
    """Time and rank on ModApté."""
    problem = modapte(data)
    print(f"ModApté: {problem.X.shape}, {problem.X.nnz} non-zeros, {problem.Y.shape}")
    contestants = {
        "PLM-DOM": ours(problem, chosen["modapte, fast"]),
        "PLM, best held out": ours(problem, chosen["modapte, best"]),
        "PLM, lowest coverage held out": ours(problem, chosen["modapte, deep"]),
        "LinearSVC, one-vs-rest": sklearn_contestant(problem),
    }
    pecos = pecos_contestant(problem)
    if pecos is not None:
        contestants["PECOS XR-Linear, one-vs-all"] = pecos
    return race(problem, contestants, repeats)


def run_bibtex(data: Path | None, chosen: Any, repeats: int) -> list[dict[str, Any]]:
    """Time and rank on bibtex."""
    setting = dict(chosen["bibtex"])
    problem = bibtex(data, idf=setting.pop("idf"))
    print(f"bibtex: {problem.X.shape}, {problem.X.nnz} non-zeros, {problem.Y.shape}")
    contestants = {
        f"PLM {setting['loss']}": ours(problem, setting),
        "LinearSVC, one-vs-rest": sklearn_contestant(problem),
    }
    return race(problem, contestants, repeats)


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows in Markdown."""
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
    for row in rows:
        cells = [f"{x:.4g}" if isinstance(x, float) else str(x) for x in row.values()]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Choose, race, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    runs = {"modapte": run_modapte, "bibtex": run_bibtex}
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(runs))
    parser.add_argument("--data", type=Path, default=os.environ.get("CLASSMARK_DATA"))
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    unknown = set(options.parts) - set(runs)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; use {', '.join(runs)}")
    data = None if options.data is None else Path(options.data)
    print(f"{platform.machine()}, Python {platform.python_version()}")
    chosen = choose(data) if options.choose else CHOSEN
    found = {}
    for part in options.parts:
        found[part] = runs[part](data, chosen, options.repeats)
        print(f"{table(found[part])}\n", flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()

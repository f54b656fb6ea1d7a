"""Ranking SVM without listed pairs beside liblinear on all of them.

Run with ``OMP_NUM_THREADS=1 CLASSMARK_DATA=DIR python benchmarks/bench_ltr.py
[--parts mq2008,mslr,growth,trees] [--json FILE]``. liblinear is scikit-learn's
LinearSVC (hinge, no intercept) on the differences of every pair, at the loosest of its
own tolerances 0.1, 0.01 and 0.001 whose objective is at most 1e-3 above ours.

mq2008 : objectives on LETOR's MQ2008, for several C.
mslr : processor time on the 10,000 rows of MSLR-WEB10K, features brought to 0 … 1 in
each query, ours before and after theirs; with and without making the differences.
trees : nDCG@10 and MAP of LambdaMART on MQ2008, each part asked once after the others
taught, beside RSVM-IR.
growth : time and peak memory while the rows double, the queries' number being fixed.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from classmark.arrays import rows_from, stack
from classmark.datasets import load
from classmark.formats.svmlight import read_letor
from classmark.ltr import LambdaMART, RankingSVM, normalise_per_query
from classmark.ltr.judged import order_measured

CS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
TOLERANCES, NEAR = (0.1, 0.01, 0.001), 1e-3
TURNS = 2  # of ours, before and after theirs


def collection(name: str, data: Path) -> tuple[Any, Any, list[str]]:
    """Return rows, grades and queries of all parts."""
    held = load(name, data)
    parts = [part for part in (held.train, held.validation, held.test) if part]
    X = stack([rows_from(part.X) for part in parts])
    y = np.concatenate([part.grades for part in parts])
    qid = [f"{at}/{name}" for at, part in enumerate(parts) for name in part.qids or ()]
    return X, y, qid


def all_pairs(y: Any, qid: list[str]) -> tuple[Any, Any]:
    """Return winners and losers of every pair."""
    numbers = np.unique(qid, return_inverse=True)[1]
    winners, losers = [], []
    for query in range(numbers.max() + 1):
        rows = np.flatnonzero(numbers == query)
        i, j = np.nonzero(y[rows][:, np.newaxis] > y[rows])
        winners.append(rows[i])
        losers.append(rows[j])
    return np.concatenate(winners), np.concatenate(losers)


def differences(X: Any, pairs: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return x_winner − x_loser of every pair, every other turned, and the signs."""
    signs = np.where(np.arange(len(pairs[0])) % 2, 1.0, -1.0)
    apart = X[pairs[0]] - X[pairs[1]]
    apart *= signs[:, np.newaxis]
    return apart, signs


def liblinear(apart: Any, signs: Any, C: float, tol: float) -> Any:
    """Return the weights that scikit-learn's liblinear finds."""
    from sklearn.svm import LinearSVC

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of passes: the objective is what is compared
        model = LinearSVC(
            loss="hinge", C=C, fit_intercept=False, tol=tol, random_state=0
        )
        return model.fit(apart, signs).coef_.ravel()


def objective(w: Any, X: Any, pairs: tuple[Any, Any], C: float) -> float:
    """Return ½‖w‖² + C Σ hinge, from all pairs."""
    scores = X @ w
    hinges = np.maximum(0.0, 1.0 - scores[pairs[0]] + scores[pairs[1]])
    return float(0.5 * w @ w + C * hinges.sum())


def seconds(act: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor seconds of an act, and what it gave."""
    begin = time.process_time()
    found = act()
    return time.process_time() - begin, found


def contest(X: Any, y: Any, qid: list[str], Cs: tuple[float, ...]) -> list[Any]:
    """Compare objectives and times, for each C, in turns."""
    pairs = all_pairs(y, qid)
    building, (apart, signs) = seconds(lambda: differences(X, pairs))
    RankingSVM(1e-3).fit(X[:500], y[:500], qid[:500])
    liblinear(apart[:500], signs[:500], 1e-3, 0.1)  # both are imported and compiled
    rows = []
    for C in Cs:
        own = [seconds(lambda C=C: RankingSVM(C).fit(X, y, qid)) for _ in range(TURNS)]
        mine = objective(own[0][1].coef_, X, pairs, C)
        for tol in TOLERANCES:
            taken, weights = seconds(
                lambda C=C, tol=tol: liblinear(apart, signs, C, tol)
            )
            theirs = objective(weights, X, pairs, C)
            if theirs <= mine * (1 + NEAR):
                break
        own += [seconds(lambda C=C: RankingSVM(C).fit(X, y, qid)) for _ in range(TURNS)]
        fast = median(each[0] for each in own)
        rows.append(
            {
                "C": C,
                "own": mine,
                "liblinear": theirs,
                "above": mine / theirs - 1,
                "own_ms": 1000 * fast,
                "liblinear_ms": 1000 * taken,
                "building_ms": 1000 * building,
                "ratio": taken / fast,
                "ratio_with_building": (building + taken) / fast,
                "tol": tol,
                "pairs": len(pairs[0]),
            }
        )
    return rows


def mq2008(data: Path) -> list[Any]:
    """Compare on MQ2008."""
    X, y, qid = collection("letor-mq2008", data)
    return contest(X.to_scipy().toarray(), y, qid, CS)


def mslr(data: Path) -> list[Any]:
    """Compare on MSLR."""
    X, y, qid = collection("rankeval", data)
    return contest(normalise_per_query(X, qid), y, qid, CS)


def growth(_: Path) -> list[Any]:
    """Double the rows of ten queries; MB at the peak, beside X itself."""
    RankingSVM().fit([[1.0], [0.0]], [1, 0], [0, 0])
    rows = []
    for n in (10_000, 20_000, 40_000, 80_000, 160_000):
        random = np.random.default_rng(0)
        X = random.normal(size=(n, 20))
        y = np.clip(np.rint(X[:, 0] + random.normal(size=n) + 1), 0, 4)
        qid = random.integers(10, size=n)
        held = rows_from(X)
        taken, _ranker = seconds(
            lambda X=held, y=y, qid=qid: RankingSVM(1e-4).fit(X, y, qid)
        )
        tracemalloc.start()
        RankingSVM(1e-4).fit(held, y, qid)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        sizes = np.array([np.bincount(y[qid == q].astype(int)) for q in range(10)])
        pairs = int((sizes.sum(1) ** 2 - (sizes**2).sum(1)).sum() // 2)
        rows.append(
            {"rows": n, "pairs": pairs, "ms": 1000 * taken, "peak_mb": peak / 2**20}
        )
    return rows


BEFORE = {"num_leaves": 15, "n_estimators": 150, "learning_rate": 0.05}
LARGER = {"num_leaves": 15, "n_estimators": 100, "learning_rate": 0.03}
TREES = (
    LambdaMART(**BEFORE, min_data_in_leaf=30, lambdarank_truncation_level=15),
    LambdaMART(),
    LambdaMART(n_estimators=100, min_data_in_leaf=30),
    LambdaMART(**LARGER, min_data_in_leaf=30),
    RankingSVM(1e-4, weighting="ir"),
)


def trees(data: Path) -> list[Any]:
    """Ask each part of MQ2008 once, the others having taught."""
    folder = data / "letor-mq2008"
    parts = [read_letor(path) for path in sorted(folder.glob("S[1-5].txt"))]
    rows = []
    for ranker in TREES:
        values: dict[str, list[Any]] = {"ndcg@10": [], "map": []}
        for asked in parts:
            others = [part for part in parts if part is not asked]
            X = stack([part.rows for part in others])
            y = np.concatenate([part.grades for part in others])
            scores = ranker.fit(X, y, [q for part in others for q in part.qids])
            scores = scores.decision_function(asked.rows)
            for name, each in order_measured(
                scores, asked.grades, asked.qids, list(values)
            ).items():
                values[name].append(each)
        means = {k: float(np.concatenate(each).mean()) for k, each in values.items()}
        rows.append({"ranker": repr(ranker)} | means)
    return rows


PARTS = {"mq2008": mq2008, "mslr": mslr, "growth": growth, "trees": trees}


def main() -> None:
    """Run what is asked for, print, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    data = Path(os.environ.get("CLASSMARK_DATA", "."))
    found = {}
    for name in options.parts.split(","):
        found[name] = PARTS[name](data)
        print(name)
        for row in found[name]:
            cells = (
                f"{key} {value if isinstance(value, str) else f'{value:.6g}'}"
                for key, value in row.items()
            )
            print("  " + ", ".join(cells), flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

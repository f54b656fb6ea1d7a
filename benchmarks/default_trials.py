"""What might be added to the default of the preference ranker, on the design sets.

OMP_NUM_THREADS=1 CLASSMARK_DATA=DIR python benchmarks/default_trials.py [SET ...]
    [--json FILE]

Every trial keeps the setting that ``auto`` has chosen for the set (defaults.py has the
sets) and changes one thing; BM25 has it chosen anew. AvgP of the test documents less
that of ``auto``, coverage over that of ``auto``. Nothing here is run on judge sets.

bagged : the mean of the weights of three rankers, each without a third, and ``auto``;
offsets : half, or all, of the categories' offsets as the calibrator learns them from
    the rankers of those thirds, times the usual spread of a document's scores;
C by size : the price of a label's groups times (n / mean n)^power;
dom-dme : half the price for a label over all others, half for all over each other;
prior 1 : the constant feature three times as large;
neighbours : score + weight · the labels of the 20 nearest documents, by similarity;
votes : the same of all documents, by the square of the similarity;
BM25 : rows of tf / (tf + 1.2 (¼ + ¾ length / mean length)) · idf, of length 1.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from defaults import DESIGN, MADE_UP, Problem, measured, ours, problem, row_of
from scipy.sparse import csr_matrix, diags_array

import classmark as cm
from classmark.corpus.documents import folds
from classmark.rankers.calibration import STEADY, TRUST, Calibrator

AUTO = "auto"
NEAREST = 20
POWERS = (0.25, -0.25, -0.5)
WEIGHTS = (0.5, 1.0)


def without_thirds(
    task: Problem, how: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Held-out scores and sizes learned from, both (n, k); mean scores of the test."""
    n, k = task.Y.shape
    held_out, learned = np.zeros((n, k)), np.zeros((n, k))
    tested = np.zeros((task.X_test.shape[0], k))
    for train, test in folds(n, 3, random_state=0):
        ranker = cm.PreferenceRanker(**how).fit(task.X[train], task.Y[train])
        held_out[test] = ranker.decision_function(task.X[test])
        learned[test] = sizes(task.Y[train]) * n / len(train)
        tested += ranker.decision_function(task.X_test) / 3
    return held_out, learned, tested


def sizes(Y: csr_matrix) -> np.ndarray:
    """How many documents have each label, (k,)."""
    return np.bincount(Y.indices, minlength=Y.shape[1])


def bm25(counts: Problem) -> Problem:
    """Unit rows of BM25's weights of terms, from counts."""
    X, X_test = counts.X.astype(np.float64), counts.X_test.astype(np.float64)
    frequency = np.bincount(X.indices, minlength=X.shape[1])
    idf = np.log1p((X.shape[0] - frequency + 0.5) / (frequency + 0.5))
    mean = X.sum() / X.shape[0]
    parts = []
    for part in (X, X_test):
        length = np.repeat(np.asarray(part.sum(axis=1)).ravel(), np.diff(part.indptr))
        saturated = part.data / (part.data + 1.2 * (0.25 + 0.75 * length / mean))
        rows = csr_matrix((saturated * idf[part.indices], part.indices, part.indptr))
        rows.resize(part.shape)
        norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
        parts.append(csr_matrix(diags_array(1 / np.maximum(norms, 1e-12)) @ rows))
    X, X_test = (part.astype(np.float32) for part in parts)
    return counts._replace(X=X, X_test=X_test)


def nearest(similarity: np.ndarray, count: int) -> np.ndarray:
    """Each row's ``count`` largest values, the others zero."""
    least = np.partition(similarity, -count, axis=1)[:, [-count]]
    return np.where(similarity >= least, similarity, 0.0)


def voted(similarity: np.ndarray, Y: csr_matrix) -> np.ndarray:
    """Shares of each label among the documents, weighted: (tested, k)."""
    total = np.maximum(similarity.sum(axis=1, keepdims=True), 1e-9)
    return (similarity / total) @ Y.toarray()


def scored(
    task: Problem, ranker: Any, how: dict[str, Any]
) -> Iterator[tuple[str, np.ndarray]]:
    """Trials that add something to the scores of the ranker as it is."""
    scores = ranker.decision_function(task.X_test)
    held_out, learned, tested = without_thirds(task, how)
    yield "bagged", (scores + tested) / 2
    calibrator = Calibrator().fit(held_out, task.Y, learned, sizes(task.Y))
    steady = STEADY * calibrator.variance_
    spread = np.sqrt(held_out.var(axis=1) + steady).mean()
    for share in (TRUST, 1.0):
        shift = spread * calibrator.offsets_ * share / TRUST
        yield f"offsets, {share:g}", scores + shift
    similarity = (task.X_test @ task.X.T).toarray()
    for weight in WEIGHTS:
        votes = voted(nearest(similarity, NEAREST), task.Y)
        yield f"neighbours, {weight:g}", scores + weight * votes
    yield "votes, 0.5", scores + 0.5 * voted(np.maximum(similarity, 0) ** 2, task.Y)


def changed(task: Problem, how: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Trials that train with other parameters."""
    size = sizes(task.Y)
    for power in POWERS:
        prices = (size / size.mean()) ** power
        weight = dict(enumerate(prices.tolist()))
        yield f"C by size, {power:g}", how | {"class_weight": weight}
    if how["loss"] == "dom":
        yield "dom-dme", how | {"loss": "dom-dme", "C": how["C"] / 2}
    if how["prior"]:
        yield "prior 1", how | {"prior": 1.0}


def trials(name: str, split: str | None) -> Iterator[dict[str, Any]]:
    """A row for ``auto`` and one for every trial on a set."""
    task = problem(name, split)
    yield row_of(task, AUTO, ours())
    ranker = cm.PreferenceRanker().fit(task.X, task.Y)
    how = ranker.setting_._asdict()
    how |= {name: how[name] or None for name in ("prior", "noise")}
    for trial, scores in scored(task, ranker, how):
        found = measured(scores, task.Y_test)
        yield {"set": task.name, "contestant": trial} | found
    for trial, params in changed(task, how):
        yield row_of(task, trial, ours(**params))
    if name != MADE_UP:
        counts = problem(name, split, "count", None)
        yield row_of(bm25(counts), "BM25", ours())


def table(rows: list[dict[str, Any]]) -> str:
    """Per trial: how many sets it serves, what it changes in the mean, and on each."""
    by: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        by.setdefault(row["contestant"], {})[row["set"]] = row
    auto = by.pop(AUTO)
    head = " | ".join(("trial", "AvgP", "better on", "coverage", *auto))
    lines = [f"| {head} |", "|---" * (len(auto) + 4) + "|"]
    for trial, own in by.items():
        gain = {
            each: row["average_precision"] - auto[each]["average_precision"]
            for each, row in own.items()
        }
        ratio = np.mean([own[s]["coverage"] / auto[s]["coverage"] for s in own])
        ahead = f"{sum(value > 0 for value in gain.values())} of {len(gain)}"
        cells = " | ".join(f"{gain[s]:+.4f}" if s in gain else "" for s in auto)
        mean = np.mean(list(gain.values()))
        lines.append(f"| {trial} | {mean:+.4f} | {ahead} | {ratio:.3f} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    """Run the trials, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", help="only those whose name begins so")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name, split in DESIGN:
        if options.sets and not any(
            f"{name} {split}".startswith(each) for each in options.sets
        ):
            continue
        rows += trials(name, split)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()

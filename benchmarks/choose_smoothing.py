"""How much should boosting's steps be smoothed? Chosen on the embedded library.

Run with ``OMP_NUM_THREADS=1 python benchmarks/choose_smoothing.py``. Five folds of the
library's documents, layered graphs of its tree, ln count + 1 of all words, 1,000
iterations for each of the four losses, each smoothing in documents' worth. Compared is
the error that a loss stands for, divided by the least of its row; of those whose mean
ratio is within one standard error, over the folds, of the least, the largest smoothing
is taken: one document's worth, which is ``smoothing="auto"`` of ``LogLinearRanker``.

RCV1, on which it is reported, has no part in the ratios. But the rule was settled after
they had been seen: by the least ratio alone, a tenth of a document would be taken. On
RCV1, trained for domination, that gives .493, .0356, .296 and .0752 for the zero-one,
disagreement, domination and dominated error, and one document .479, .0338, .270 and
.0735 (docs/reproductions.md has both with their intervals).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from classmark.arrays import Floats
from classmark.corpus.documents import folds
from classmark.preferences.graph import NAMES
from classmark.solvers.smooth import boost
from reproductions.graphs_rcv1 import FOLDS, ITERATIONS, Collection, collection

WORTH = (0.0, 0.01, 0.1, 1.0, 10.0)  # documents on either side


def errors_of(
    loaded: Collection, loss: str, worth: float, iterations: int
) -> list[float]:
    """The error of each fold after boosting on the others."""
    errors = []
    for learned, held in folds(len(loaded.graphs), FOLDS, 0):
        train, test = loaded.part(learned), loaded.part(held)
        solution = boost(
            train.priced(loss), worth / len(learned), max_iter=iterations, tol=0.0
        )
        errors.append(float(test.errors(test.X @ solution.weights, loss).mean()))
    return errors


def ratios_of(errors: Floats) -> Floats:
    """The mean over losses of errors by the least of their row, of each fold.

    errors : shape (losses, smoothings, folds);  returned : (smoothings, folds).
    """
    least = errors.mean(axis=2).min(axis=1)
    return np.asarray((errors / least[:, np.newaxis, np.newaxis]).mean(axis=0))


def chosen(ratios: Floats) -> int:
    """Which smoothing, in ascending order, is taken by the rule of one standard error.

    >>> chosen(np.array([[1.0, 1.2], [1.0, 1.0], [1.0, 1.1], [2.0, 2.0]]))
    2
    """
    apart = ratios - ratios[ratios.mean(axis=1).argmin()]
    errors = apart.std(axis=1, ddof=1) / np.sqrt(ratios.shape[1])
    return int(np.flatnonzero(apart.mean(axis=1) <= errors).max())


def table(errors: Floats) -> str:
    """Return the means over folds in Markdown, their ratios, and the choice."""
    lines = [f"| trained for and measured by | {' | '.join(map(str, WORTH))} |"]
    lines.append("|---" * (len(WORTH) + 1) + "|")
    for name, values in zip(NAMES, errors.mean(axis=2), strict=True):
        lines.append(f"| {name} | {' | '.join(f'{value:.4f}' for value in values)} |")
    ratios = ratios_of(errors)
    means = [f"{ratio:.3f}" for ratio in ratios.mean(axis=1)]
    lines.append(f"| mean ratio | {' | '.join(means)} |")
    return "\n".join([*lines, f"\nchosen: {WORTH[chosen(ratios)]:g} of a document"])


def main() -> None:
    """Try every smoothing, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=ITERATIONS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    loaded = collection(dataset="library")
    errors = [
        [errors_of(loaded, name, worth, options.iterations) for worth in WORTH]
        for name in NAMES
    ]
    print(table(np.array(errors)))
    if options.json:
        options.json.write_text(json.dumps(errors, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""Learning from nothing: price, prior and noise, on the design sets as streams.

Run with ``OMP_NUM_THREADS=1 CLASSMARK_DATA=DIR python benchmarks/default_streams.py``.

Every document is ranked by what was learned from those before it, then learned, with
100 re-visits. 1,500 documents to learn of each set of defaults.py, in random order,
those of Reuters as they came. All words and their weights are known from the start.
"""

from __future__ import annotations

import numpy as np
from defaults import problem

from classmark import PreferenceRanker
from classmark.evaluation.stream import replay
from classmark.validation import generator

SETS = (
    ("library", None),
    ("pypi-topics", None),
    ("reuters-21578", "modapte"),
    ("yahoo", "arts"),
    ("stackex", "cs"),
    ("debian-debtags", None),
)
SETTINGS = ((1.0, 0, 0), (3.0, 0, 0), (3.0, 0.3, 0), (0.3, 0, 2.0), (0.3, 0.3, 2.0))
LEARNED, FIRST = 1500, 300


def main() -> None:
    """Replay each set with each setting, print a table of AvgP."""
    rows: dict[tuple[float, ...], list[tuple[float, float]]] = {}
    for name, split in SETS:
        task = problem(name, split, learned=LEARNED)
        n = task.X.shape[0]
        order = np.arange(n) if split == "modapte" else generator(0).permutation(n)
        for setting in SETTINGS:
            C, prior, noise = setting
            ranker = PreferenceRanker("dom", C, center=None, prior=prior, noise=noise)
            seen = replay(ranker, task.X[order], task.Y[order])
            spans = (0, FIRST), (n // 2, None)
            values = [seen.mean("average_precision", *span) for span in spans]
            rows.setdefault(setting, []).append(tuple(values))
            print(task.name, setting, *values, flush=True)
    names = " | ".join(name for name, _ in SETS)
    print(f"| C, prior, noise | {names} | mean |\n{'|---' * (len(SETS) + 2)}|")
    for setting, values in rows.items():
        means = np.mean(values, axis=0)
        cells = [f"{first:.3f} / {half:.3f}" for first, half in [*values, means]]
        shown = ", ".join(f"{each:g}" for each in setting)
        print(f"| {shown} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()

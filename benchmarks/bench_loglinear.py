"""The log-linear loss: L-BFGS against the paper's boosting, on RCV1 topics.

Run with ``OMP_NUM_THREADS=1 python benchmarks/bench_loglinear.py --data DIR``: 2,316
documents, the 3,200 most frequent words as ln count + 1, three layers of the topic
tree. Boosting runs its 1,000 iterations; then L-BFGS minimises the same loss, in the
same process; its row is the first iteration below boosting's last loss. With ``--C``,
both minimise the same penalised loss and the objectives are compared. Seconds are
processor time of the one thread, which other work on the machine does not lengthen.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from classmark.preferences.graph import NAMES
from classmark.progress import shown_by
from classmark.rankers.linear import LogLinearRanker
from reproductions.graphs_rcv1 import WORDS, Collection, collection

T = TypeVar("T")


class Clock:
    """A display that shows nothing and notes when each iteration ended."""

    def __init__(self) -> None:
        self.started = time.process_time()
        self.ends: list[float] = []

    def track(self, items: Iterable[T], what: str, total: int | None) -> Iterator[T]:
        """Yield the items; note the time after each iteration of a solver."""
        del total
        for item in items:
            yield item
            if what in {"boosting", "minimising the loss"}:
                self.ends.append(time.process_time() - self.started)


def fitted(data: Collection, **settings: Any) -> tuple[LogLinearRanker, list[float]]:
    """Fit on all documents; return the ranker and the time after each iteration."""
    clock = Clock()
    with shown_by(clock):
        ranker = LogLinearRanker(**settings).fit(data.X, data.graphs)
    return ranker, clock.ends


def compare(data: Collection, loss: str, iterations: int) -> dict[str, Any]:
    """Run both solvers on the loss without a penalty."""
    settings = {"loss": loss, "tol": 0.0}
    fitted(data, **settings, max_iter=1)
    slow, slow_ends = fitted(data, **settings, solver="boosting", max_iter=iterations)
    fast, fast_ends = fitted(data, **settings, max_iter=iterations // 5)
    goal = slow.loss_curve_[-1]
    below = next(at for at, loss in enumerate(fast.loss_curve_) if loss < goal)
    return {
        "loss": loss,
        "boosting": {
            "iterations": slow.n_iter_,
            "seconds": slow_ends[-1],
            "loss": goal,
        },
        "lbfgs": {
            "iterations": below + 1,
            "seconds": fast_ends[below],
            "loss": fast.loss_curve_[below],
        },
        "ratio": slow_ends[-1] / fast_ends[below],
    }


def penalised(data: Collection, loss: str, iterations: int, C: float) -> dict[str, Any]:
    """Run both solvers on the natural penalty + C times the loss."""
    settings = {"loss": loss, "C": C, "penalty": "natural"}
    found: dict[str, Any] = {"loss": loss, "C": C}
    for solver, tol in (("boosting", 0.0), ("lbfgs", 1e-3)):
        ranker, ends = fitted(
            data, **settings, solver=solver, max_iter=iterations, tol=tol
        )
        found[solver] = {
            "iterations": ranker.n_iter_,
            "seconds": ends[-1],
            "loss": ranker.objective_,
        }
    found["ratio"] = found["boosting"]["seconds"] / found["lbfgs"]["seconds"]
    return found


def table(rows: list[dict[str, Any]]) -> str:
    """Return the comparison in Markdown."""
    lines = [
        "| loss | boosting: steps | s | loss | L-BFGS: steps | s | loss | × faster |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        name = row["loss"] + (f", C = {row['C']:g}" if "C" in row else "")
        sides = [
            f"{side['iterations']} | {side['seconds']:.2f} | {side['loss']:.6g}"
            for side in (row["boosting"], row["lbfgs"])
        ]
        lines.append(f"| {name} | {' | '.join(sides)} | {row['ratio']:.1f} |")
    return "\n".join(lines)


def main() -> None:
    """Compare, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("CLASSMARK_DATA"))
    parser.add_argument("--loss", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--C", type=float, nargs="*", default=[])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    folder = None if options.data is None else Path(options.data)
    data = collection(folder, words=WORDS)
    rows = [compare(data, name, options.iterations) for name in options.loss]
    rows += [
        penalised(data, name, options.iterations, C)
        for C in options.C
        for name in options.loss
    ]
    print(f"{platform.machine()}, Python {platform.python_version()}")
    print(f"{data.X.shape[0]} documents, {data.X.shape[1]} words", end=", ")
    print(f"{data.graphs[0].n_labels} labels, {data.edges:.0f} edges a graph")
    print(table(rows))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()

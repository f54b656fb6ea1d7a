"""A labelled stream, ranked first and then learned: ours and the peers, side by side.

Run with ``OMP_NUM_THREADS=1 python benchmarks/bench_stream.py --data DIR PART …``:

reuters : Reuters ModApté, 90 topics, 7,770 training documents in the order of NEWID;
          log tf·idf of words, the same X for all (idf from all of them). Every learner
          ranks a document, then learns it. Vowpal Wabbit runs if it can be imported.
debtags : Debian packages with their tags, sources in random order; all packages of a
          source are ranked before any of them is learned.
keep    : the first stream with a bounded number of documents kept, and what is held.

Seconds are of the update alone (wall clock, one thread), after a warm-up.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bench_plm import ANALYZER, indicator, modapte
from scipy.sparse import csr_matrix
from stream_peers import ManySGD, Retrained, vowpal_wabbit

from classmark import CategoryPerceptron, PreferenceRanker
from classmark.datasets.dataset import one_of, where
from classmark.evaluation.stream import Replay, RunningRocchio, replay
from classmark.formats.jsonl import json_lines
from classmark.rankers.online import MMP
from classmark.validation import generator
from classmark.weighting.vectorizer import Vectorizer
from classmark.workbench.learning.stream import draw

FIRST, BUDGET = 1500, 0.010


class Stream(NamedTuple):
    """Documents in their order, their labels, and which are near copies."""

    X: csr_matrix
    Y: csr_matrix
    groups: list[str] | None = None

    def head(self, n: int) -> Stream:
        """The first documents."""
        return Stream(self.X[:n], self.Y[:n], self.groups and self.groups[:n])


def reuters(data: Path | None) -> Stream:
    """The training part of ModApté, which comes in the order of NEWID."""
    problem = modapte(data)
    return Stream(problem.X, problem.Y)


def debtags(data: Path | None) -> Stream:
    """Packages that have tags; sources shuffled, packages of one source together."""
    path = one_of(where("debian-debtags", data), "packages.jsonl*")
    rows = [row for _, row in json_lines(path) if row["tags"]]
    sources = sorted({row["source"] for row in rows})
    place = dict(zip(sources, generator(0).permutation(len(sources)), strict=True))
    rows.sort(key=lambda row: place[row["source"]])
    names = sorted({tag for row in rows for tag in row["tags"]})
    vectorizer = Vectorizer(ANALYZER, "log-tfidf", min_df=3)
    X = vectorizer.fit_transform([f"{row['short']}\n{row['long']}" for row in rows])
    Y = indicator([row["tags"] for row in rows], names)
    return Stream(X, Y, [row["source"] for row in rows])


Contestants = dict[str, Callable[[], Any]]


def ours() -> Contestants:
    """The preference ranker: one step, with re-visits, with a time to spend."""
    found: Contestants = {}
    for C in (1.0, 3.0):
        for name, setting in (
            ("one step", {"revisits": 0}),
            ("+ 50 re-visits", {"revisits": 50}),
            ("+ 100 re-visits", {"revisits": 100}),
            ("10 ms a document", {"budget": BUDGET}),
        ):
            found[f"PLM-DOM, C = {C:g}, {name}"] = lambda C=C, setting=setting: (
                PreferenceRanker(C=C, **setting)
            )
    return found


def on_line() -> Contestants:
    """The other learners of ours."""
    averaged = {
        f"averaged MMP, loss {loss}": lambda loss=loss: MMP(loss, average=True)
        for loss in (1, 2, 3)
    }
    return averaged | {
        "perceptron": CategoryPerceptron,
        "averaged perceptron": lambda: CategoryPerceptron(average=True),
        "Rocchio, running sums": RunningRocchio,
    }


def peers(n_labels: int) -> Contestants:
    """What others offer."""
    return {
        "LinearSVC, retrained every 500": Retrained,
        "Vowpal Wabbit plt": lambda: vowpal_wabbit(n_labels),
    }


def warm(make: Callable[[], Any], stream: Stream) -> None:
    """Load compiled parts."""
    replay(make(), stream.X[:3], stream.Y[:3], stream.Y.shape[1])


def line(name: str, found: Replay) -> dict[str, Any]:
    """One row of the table."""
    said = found.summary(FIRST)
    half, first, times = said["second half"], said["first"], said["update"]
    whole = len(found) > FIRST
    return {
        "learner": name,
        "ms per document": times["mean"],
        "one-error, 2nd half": half["one_error"] if whole else None,
        "AvgP, 2nd half": half["average_precision"] if whole else None,
        "inspected, 2nd half": half["inspected"] if whole else None,
        f"one-error, first {FIRST:,}": first["one_error"],
        f"AvgP, first {FIRST:,}": first["average_precision"],
        "median ms": times["median"],
        "p99 ms": times["p99"],
        "worst ms": times["worst"],
    }


def run(stream: Stream, contestants: Contestants) -> Iterator[tuple[str, Any, Replay]]:
    """Replay for each contestant; print its row at once."""
    printed = False
    for name, make in contestants.items():
        ranker = make()
        if ranker is None:
            continue
        warm(make, stream)
        found = replay(ranker, stream.X, stream.Y, stream.Y.shape[1], stream.groups)
        row = line(name, found)
        print(table([row]) if not printed else table([row]).split("\n")[-1], flush=True)
        printed = True
        yield name, ranker, found


def run_reuters(data: Path | None, options: Any) -> list[dict[str, Any]]:
    """Every learner of the table."""
    stream = reuters(data)
    print(f"Reuters: {stream.X.shape}, {stream.X.nnz} non-zeros, {stream.Y.shape}")
    k = stream.Y.shape[1]
    everyone = ours() | on_line() | peers(k)
    found = {name: one for name, _, one in run(stream, everyone)}
    rows = [line(name, one) for name, one in found.items()]
    some: Contestants = {
        f"90 × SGD partial_fit ({loss})": lambda loss=loss: ManySGD(loss)
        for loss in ("log_loss", "hinge")
    }
    rows += [line(name, one) for name, _, one in run(stream.head(FIRST), some)]
    if options.plot:
        drawn = ("PLM-DOM, C = 3, + 100 re-visits", "averaged MMP, loss 1")
        chosen = (*drawn, "perceptron", "Rocchio, running sums", *peers(k))
        curves = {name: found[name] for name in chosen if name in found}
        draw(curves, options.plot / "stream-reuters.svg", "Reuters, as a stream")
    return rows


def run_debtags(data: Path | None, options: Any) -> list[dict[str, Any]]:
    """A long stream with many labels."""
    stream = debtags(data)
    print(f"debtags: {stream.X.shape}, {stream.X.nnz} non-zeros, {stream.Y.shape}")
    chosen: Contestants = {
        "PLM-DOM, C = 1, one step": lambda: PreferenceRanker(revisits=0),
        "PLM-DOM, C = 1, + 10 re-visits": lambda: PreferenceRanker(revisits=10),
        "PLM-DOM, C = 0.3, one step": lambda: PreferenceRanker(C=0.3, revisits=0),
        "averaged MMP, loss 1": lambda: MMP(1, average=True),
        "averaged perceptron": lambda: CategoryPerceptron(average=True),
    }
    found = {}
    for name, ranker, one in run(stream, chosen):
        found[name] = one
        del ranker
        gc.collect()
    if options.plot:
        title = f"Debian packages: {len(stream.Y.indptr) - 1:,}, 598 tags, by source"
        draw(found, options.plot / "stream-debtags.svg", title)
    return [line(name, one) for name, one in found.items()]


def run_keep(data: Path | None, options: Any) -> list[dict[str, Any]]:
    """Fewer documents kept: what it costs, and what it holds."""
    del options
    rows = []
    streams = (
        ("Reuters", reuters(data), 3.0, 100),
        ("debtags", debtags(data), 1.0, 10),
    )
    for name, stream, C, revisits in streams:
        for keep in (1_000, 3_000, 10_000, None):
            if keep and keep >= stream.X.shape[0]:
                continue
            ranker = PreferenceRanker(C=C, revisits=revisits, max_documents=keep)
            found = replay(ranker, stream.X, stream.Y, stream.Y.shape[1], stream.groups)
            said = line("", found)
            del said["learner"]
            held = beside_weights(ranker) / 1e6
            rows.append(
                {"stream": name, "keep": keep or "all", "held, MB": held, **said}
            )
            print(table(rows[-1:]).split("\n")[-1], flush=True)
    return rows


def beside_weights(ranker: Any) -> int:
    """Bytes of all arrays a ranker holds, less its weights."""
    seen: dict[int, int] = {}
    waiting = [ranker]
    visited: set[int] = set()
    while waiting:
        one = waiting.pop()
        if id(one) in visited:
            continue
        visited.add(id(one))
        if isinstance(one, np.ndarray):
            root = one
            while isinstance(root.base, np.ndarray):
                root = root.base
            seen[id(root)] = root.nbytes
        elif isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list | tuple | set):
            waiting += one
        else:
            slots = [getattr(one, name, None) for name in getattr(one, "__slots__", ())]
            waiting += [*slots, *getattr(one, "__dict__", {}).values()]
    weights = ranker.weights_
    root = weights
    while isinstance(root.base, np.ndarray):
        root = root.base
    return sum(size for key, size in seen.items() if key != id(root))


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows in Markdown."""
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
    for row in rows:
        cells = [f"{x:.4g}" if isinstance(x, float) else str(x) for x in row.values()]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Replay, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    runs = {"reuters": run_reuters, "debtags": run_debtags, "keep": run_keep}
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(runs))
    parser.add_argument("--data", type=Path, default=os.environ.get("CLASSMARK_DATA"))
    parser.add_argument("--plot", type=Path, help="folder for the curves")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    unknown = set(options.parts) - set(runs)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; use {', '.join(runs)}")
    data = None if options.data is None else Path(options.data)
    print(f"{platform.machine()}, Python {platform.python_version()}")
    found = {}
    for part in options.parts:
        found[part] = runs[part](data, options)
        print(f"\n{table(found[part])}\n", flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()

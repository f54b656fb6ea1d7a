"""Labels change while a stream is learned: do the other categories suffer?

Run with ``OMP_NUM_THREADS=1 python benchmarks/bench_labels.py --data DIR``: Reuters
ModApté, 90 topics, log tf·idf; the training documents are learned one by one (C = 3,
100 re-visits each). Then, each from that same state, one act on the categories, and
the one-error on the test documents that have none of the categories concerned: before;
at once, when nothing was visited again; after the re-visits that the workbench makes
(each document once where some were moved, else the 10 ms of the next decision); and
after one more visit to every document. «nothing» says what the visits alone change.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bench_plm import ANALYZER, Problem, indicator
from bench_stream import table

from classmark import PreferenceRanker
from classmark.arrays import rows_from
from classmark.datasets import load
from classmark.measures import category_ranking_per_document
from classmark.solvers.live_arrays import from_arrays, to_arrays
from classmark.solvers.preference_live import LiveDual
from classmark.validation import generator
from classmark.weighting.vectorizer import Vectorizer

C, REVISITS, BUDGET, MOST = 3.0, 100, 0.010, 0.005
MERGED = {
    "two related": ("wheat", "grain"),
    "two related, both middling": ("interest", "money-fx"),
    "two unrelated": ("cocoa", "gold"),
    "two unrelated, both middling": ("ship", "sugar"),
    "a small into a large": ("jobs", "earn"),
    "a large into a small": ("acq", "rye"),
}
HALVED = ("earn", "acq", "crude")
BY_WORD = {"earn": "dividend", "acq": "bank", "crude": "opec"}


class Reuters(NamedTuple):
    """The documents, the names of the topics, and the number of each word."""

    documents: Problem
    names: list[str]
    word: dict[str, int]


class Change(NamedTuple):
    """An act on the categories: its name, the topics concerned, what it does.

    The function returns how many documents were taught anew.
    """

    act: str
    topics: tuple[str, ...]
    make: Callable[[LiveDual], int]


def reuters(data: Path | None) -> Reuters:
    """As ``bench_plm.modapte``, with the names."""
    dataset = load("reuters-21578", data, split="modapte")
    parts = (dataset.train, dataset.test)
    seen = [{name for names in part.labels for name in names} for part in parts]
    names = sorted(seen[0] & seen[1])
    Y, Y_test = (indicator(part.labels, names) for part in parts)
    kept = [np.flatnonzero(np.diff(rows.indptr)) for rows in (Y, Y_test)]
    vectorizer = Vectorizer(ANALYZER, "log-tfidf", min_df=3)
    X = vectorizer.fit_transform([dataset.train.texts[i] for i in kept[0]])
    X_test = vectorizer.transform([dataset.test.texts[i] for i in kept[1]])
    word = {term: at for at, term in enumerate(vectorizer.get_feature_names_out())}
    return Reuters(Problem(X, Y[kept[0]], X_test, Y_test[kept[1]]), names, word)


def changes(known: Reuters) -> list[Change]:
    """Every act that is measured."""
    number = {name: at for at, name in enumerate(known.names)}
    fresh, found = len(known.names), [Change("nothing", (), lambda _: 0)]

    def add(live: LiveDual) -> int:
        live.grow(0, fresh + 1)
        return 0

    found += [
        Change("add an empty category", (), add),
        Change("rename, or move under another", ("earn",), lambda _: 0),
    ]
    for how, (one, other) in MERGED.items():
        pair = number[one], number[other]
        found.append(Change(f"merge {how}", (one, other), merging(known, *pair)))
    for topic in HALVED:
        mine = np.flatnonzero(known.documents.Y[:, [number[topic]]].toarray())
        half = generator(0).permutation(mine)[: len(mine) // 2]
        column = known.documents.X[:, [known.word[BY_WORD[topic]]]].toarray().ravel()
        holding = mine[column[mine] > 0]
        for how, moved in (
            ("half, at random", half),
            (f"{len(holding)} of {len(mine)} with “{BY_WORD[topic]}”", holding),
        ):
            make = splitting(moved, number[topic], fresh)
            found.append(Change(f"split: {how}", (topic,), make))
    for topic in ("earn", "grain", "rye"):
        found.append(Change("retire", (topic,), retiring(number[topic])))
    return found


def merging(known: Reuters, label: int, into: int) -> Callable[[LiveDual], int]:
    """Let one topic be read as another."""

    def make(live: LiveDual) -> int:
        live.merge(label, into)
        return int(known.documents.Y[:, [label]].nnz)

    return make


def splitting(moved: Any, label: int, fresh: int) -> Callable[[LiveDual], int]:
    """Let some documents of a topic have a new one instead."""

    def make(live: LiveDual) -> int:
        live.move(moved.tolist(), label, fresh)
        return len(moved)

    return make


def retiring(label: int) -> Callable[[LiveDual], int]:
    """Rank a topic no longer."""

    def make(live: LiveDual) -> int:
        live.retire(label)
        return 0

    return make


class Bench:
    """A state to begin every act from, and the test documents to judge it by."""

    def __init__(self, known: Reuters) -> None:
        documents = known.documents
        ranker = PreferenceRanker(C=C, revisits=REVISITS)
        ranker.partial_fit(documents.X, documents.Y)
        self.known, self.state = known, to_arrays(ranker.live_)
        self.rows = rows_from(documents.X_test)

    def measure(self, change: Change) -> dict[str, Any]:
        """One-error of the documents not concerned, before and after."""
        concerned = [self.known.names.index(name) for name in change.topics]
        has = self.known.documents.Y_test[:, concerned]
        others = np.flatnonzero(np.asarray(has.sum(axis=1)).ravel() == 0)
        live = from_arrays(self.state, "dom")
        found = {"before": self.one_error(live, others)}
        taught = change.make(live)
        found["at once"] = self.one_error(live, others)
        started = time.perf_counter()
        made = live.revisit(len(live)) if taught else live.revisit_for(BUDGET)
        seconds = time.perf_counter() - started
        found["after them"] = self.one_error(live, others)
        live.revisit(len(live))
        found["later"] = self.one_error(live, others)
        ends = [found[name] - found["before"] for name in ("after them", "later")]
        return {
            "act": change.act,
            "topics": ", ".join(change.topics) or "–",
            "documents": len(others),
            "before": found["before"],
            "at once": found["at once"],
            "re-visits": made,
            "seconds": seconds,
            "after them": found["after them"],
            "one pass later": found["later"],
            "worse by at most": max(ends),
            "changed by at most": max(map(abs, ends)),
        }

    def one_error(self, live: LiveDual, documents: Any) -> float:
        """The share whose first category is not one of theirs."""
        scores = np.stack([live.scores(*self.rows.row(i)) for i in documents])
        scores[:, sorted(live.retired)] = -np.inf
        Y = self.known.documents.Y_test[documents].toarray()
        Y = np.pad(Y, ((0, 0), (0, scores.shape[1] - Y.shape[1])))
        return float(category_ranking_per_document(scores, Y)["one_error"].mean())


def main() -> None:
    """Learn the stream, make every act, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("CLASSMARK_DATA"))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    data = None if options.data is None else Path(options.data)
    print(f"{platform.machine()}, Python {platform.python_version()}")
    known = reuters(data)
    bench = Bench(known)
    rows = []
    for change in changes(known):
        rows.append(bench.measure(change))
        print(rows[-1], flush=True)
    print(f"\n{table(rows)}\n")
    for name in ("worse by at most", "changed by at most"):
        kept = all(row[name] <= MOST for row in rows)
        print(f"{name} {MOST} everywhere: {kept}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()

"""Few documents, long tails: does the default ranker ever lose to Rocchio?

Run with ``CLASSMARK_DATA=DIR python benchmarks/bench_few.py [--json FILE]``. On seven
collections, all of their categories ranked: Rocchio, the preference learning model as a
project trains it by default (dom, C = 0.1, starting from Rocchio's prototypes), and the
same without that start (C = 1). One setting for all; nothing is tuned on any of them.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import classmark as cm
from classmark.arrays import Rows, rows_from, take
from classmark.corpus.counting import statistics
from classmark.preferences.labels import labels_from
from classmark.weighting.vectorizer import weigh

SETS = {
    "library": None,
    "mulan-medical": None,
    "mulan-bibtex": None,
    "pypi-topics": None,
    "yahoo": "arts",
    "stackex": "cooking",
    "lshtc1-dryrun": "task2",
}
RANKERS = {
    "rocchio": cm.Rocchio(),
    "plm, from Rocchio": cm.PreferenceRanker(C=0.1, center=5.0, tol=1e-2),
    "plm, from zero": cm.PreferenceRanker(C=1.0, tol=1e-2),
}
MEASURES = ("one_error", "average_precision", "coverage")


def vectors(dataset, tested) -> tuple[Rows, Rows]:
    """Unit (1 + ln tf)·idf rows, from texts or from the counts the set comes with."""
    if dataset.train.texts:
        vectorizer = cm.Vectorizer(weighting="log-tfidf")
        return (
            rows_from(vectorizer.fit_transform(dataset.train.texts)),
            vectorizer.rows(tested.texts),
        )
    counts = rows_from(dataset.train.X)
    known = statistics(counts)
    return tuple(
        weigh(rows_from(part.X), known, "log-tfidf", norm="l2")
        for part in (dataset.train, tested)
    )


def compare(name: str, split: str | None) -> list[dict]:
    """One row per ranker; documents without labels are not tested."""
    dataset = cm.datasets.load(name, split=split)
    tested = dataset.test if dataset.test.ids else dataset.validation
    train, test = vectors(dataset, tested)
    k = len(dataset.label_names)
    known = labels_from(dataset.label_numbers(dataset.train), len(train), k)
    truth = labels_from(dataset.label_numbers(tested), len(test), k)
    asked = np.flatnonzero(np.diff(truth.starts))
    rows = []
    for ranker, model in RANKERS.items():
        scores = model.fit(train, known).decision_function(take(test, asked))
        found = cm.measures.category_ranking(scores, take(truth, asked))
        facts = {"set": name, "documents": len(train), "categories": k}
        rows.append(facts | {"ranker": ranker} | {m: found[m] for m in MEASURES})
    return rows


def main() -> None:
    """Print a table; write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = [row for name, split in SETS.items() for row in compare(name, split)]
    print("| set | documents | categories | ranker | one-error | AvgP | coverage |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row['set']} | {row['documents']:,} | {row['categories']:,} | "
            f"{row['ranker']} | {row['one_error']:.3f} | "
            f"{row['average_precision']:.3f} | {row['coverage']:.2f} |"
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()

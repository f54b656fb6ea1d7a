"""Which weight of meaning suits a source, by training documents alone.

Run with ``CLASSMARK_DATA=DIR python benchmarks/meaning_weights.py [--model FOLDER]
[--vectors FOLDER] [--sets NAMES] [--draws 2]``. No test document is read. For each set
and source, at each weight: ``ranked``, AvgP of all categories by
``PreferenceRanker()``, three folds of at most 3,000 documents; and MAP of ``auto`` from
1, 3, 5 and 10 examples of 15 topics, one half of the documents giving the examples and
the other being the collection. The last lines are the means over the sets.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from bench_meaning import sources_from
from meaning_few import SETS, picked, set_named

import classmark as cm
from classmark.arrays import take
from classmark.corpus.documents import folds
from classmark.datasets.dataset import Dataset
from classmark.measures import category_ranking
from classmark.preferences.labels import labels_from
from classmark.rankers.meaning_weight import rescaled
from reproductions.qbme_few import few
from reproductions.qbme_tasks import task_of

WEIGHTS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
SIZES, TOPICS, MOST = (1, 3, 5, 10), 15, 3000
LEAST = (10, 5)  # documents of a topic, in either half


def training_set(name: str) -> Dataset:
    """The training documents of a set that have labels, 3,000 of them at most."""
    dataset = set_named(name)
    labelled = np.flatnonzero([bool(own) for own in dataset.train.labels])
    if len(labelled) > MOST:
        chance = np.random.default_rng(0)
        labelled = np.sort(chance.choice(labelled, MOST, replace=False))
    return replace(dataset, train=picked(dataset.train, labelled))


def shared_halves(labels: Sequence[Sequence[str]]) -> list[list[int]]:
    """Every other document, and the rest: those with a label that both halves have."""
    halves = [range(start, len(labels), 2) for start in (0, 1)]
    seen = [{label for at in half for label in labels[at]} for half in halves]
    both = seen[0] & seen[1]
    return [[at for at in half if not both.isdisjoint(labels[at])] for half in halves]


def measured(dataset: Dataset, source: cm.MeaningSource, draws: int) -> np.ndarray:
    """AvgP and MAP by the number of examples, a row for words and for each weight."""
    texts = dataset.train.texts
    vectorizer = cm.Vectorizer(weighting="log-tfidf", meaning=source).fit(texts)
    rows, first = vectorizer.rows(texts), vectorizer.meaning_columns.start
    weight = vectorizer.meaning_.weight
    numbers = dataset.label_numbers(dataset.train)
    labels = labels_from(numbers, len(texts), len(dataset.label_names))
    halves = shared_halves(dataset.train.labels)
    train, test = (picked(dataset.train, half) for half in halves)
    task = task_of(replace(dataset, train=train, test=test))
    task, table = task.with_at_least(*LEAST).some(TOPICS), []
    for other in (0.0, *WEIGHTS):
        scaled = rescaled(rows, first, other / weight)
        precisions = []
        for learn, out in folds(len(texts), 3):
            ranker = cm.PreferenceRanker()
            ranker.fit(take(scaled, learn), take(labels, learn))
            scores = ranker.decision_function(take(scaled, out))
            right = category_ranking(scores, take(labels, out))
            precisions.append(right["average_precision"])
        P, U = (take(scaled, half) for half in halves)
        query = replace(task, train=P, collection=U)
        cells = few(query, {"auto": cm.ExampleQuery}, SIZES, draws)
        table.append([np.mean(precisions), *(cell.mean for cell in cells)])
    return np.array(table)


def written(name: str, table: np.ndarray) -> str:
    """Write figures as lines of Markdown, a line for each weight."""
    return "\n".join(
        f"| {name} | {weight} | " + " | ".join(f"{x:.4f}" for x in figures) + " |"
        for weight, figures in zip(("words", *WEIGHTS), table, strict=True)
    )


def main() -> None:
    """Measure every set and source; print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--vectors", type=Path)
    options = parser.parse_args()
    if not os.environ.get("CLASSMARK_DATA"):
        parser.error("set CLASSMARK_DATA to the folder of the data sets")
    sizes = " | ".join(map(str, SIZES))
    print(f"| set, source | weight | ranked | {sizes} |\n{'|---' * 7}|")
    for own, source in sources_from(options).items():
        tables = []
        for name in options.sets.split(","):
            tables.append(measured(training_set(name), source, options.draws))
            print(written(f"{name}, {own}", tables[-1]), flush=True)
        print(written(f"mean, {own}", np.mean(tables, axis=0)), flush=True)


if __name__ == "__main__":
    main()

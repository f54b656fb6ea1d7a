"""Words and meaning: few examples, the embedded library, and what it costs.

Run with ``CLASSMARK_DATA=DIR python benchmarks/bench_meaning.py [--parts few,sets,cost]
[--draws 10] [--model FOLDER] [--vectors FOLDER] [--json FILE]``. Contestants: words
alone; the static table of ``classmark[meaning]`` alone, and words ⊕ 0.3 · meaning; with
--model, a folder with model.onnx, the same of that sentence model, at 0.5; its vectors
are stored in --vectors from one run to the next.

few : 20 Newsgroups, 40 training messages of each topic, all test messages; MAP of
``auto`` by the number of examples, the same draws for every contestant.
sets : all categories ranked, as bench_few does; the vectorizer is fitted on the
training texts.
cost : training time against words alone, of all categories, and of a query from ten
examples over the test messages (processor time, the contestants taking turns); and what
a text costs when it is suggested for.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import classmark as cm
from classmark.arrays import Rows, rows_from, take
from classmark.datasets.dataset import Dataset, DatasetPart
from classmark.meaning.sources import MeaningSource
from classmark.preferences.labels import labels_from
from classmark.weighting.dense import centre_of, centred
from reproductions.qbme_few import few
from reproductions.qbme_tasks import Task, task_of

SIZES = (1, 3, 5, 10, 20, None)
PER_TOPIC = 40
SETS = {"library": None, "pypi-topics": None, "reuters-21578": "modapte"}
RANKERS = {
    "rocchio": cm.Rocchio(),
    "plm, from Rocchio": cm.PreferenceRanker(C=0.1, center=5.0, tol=1e-2),
}
MEASURES = ("one_error", "average_precision", "coverage")
Sources = dict[str, MeaningSource]


def contestants(texts: Sequence[str], fitted: int, sources: Sources) -> dict[str, Rows]:
    """Rows of texts, the vectorizer fitted on the first so many, by contestant."""
    first = texts[:fitted]
    words = cm.Vectorizer(weighting="log-tfidf").fit(first).rows(texts)
    rows = {"words": words}
    for name, source in sources.items():
        if isinstance(source, cm.VectorFile):
            source.compute(texts)
        vectors = source.encode(texts)
        alone = centred(vectors, centre_of(vectors[:fitted]))
        rows[f"{name} alone"] = rows_from(alone)
        both = cm.Vectorizer(weighting="log-tfidf", meaning=source).fit(first)
        rows[f"words ⊕ {name}"] = both.rows(texts)
    return rows


def messages() -> Dataset:
    """20 Newsgroups with some training messages of each topic, drawn once."""
    news = cm.datasets.load("20newsgroups-bydate")
    chance = np.random.default_rng(0)
    topics = np.array([names[0] for names in news.train.labels])
    chosen = [
        chance.choice(np.flatnonzero(topics == name), PER_TOPIC, replace=False)
        for name in news.label_names
    ]
    part = DatasetPart()
    for at in np.sort(np.concatenate(chosen)):
        own = news.train
        part.add(own.ids[at], own.texts[at], own.labels[at])
    return replace(news, train=part)


def by_examples(sources: Sources, draws: int) -> dict[str, Any]:
    """Measure MAP of ``auto`` by the number of examples, for each contestant."""
    news = messages()
    texts, cut = news.train.texts + news.test.texts, len(news.train)
    task, found = task_of(news), {}
    for name, rows in contestants(texts, len(texts), sources).items():
        parts = (np.arange(cut), np.arange(cut, len(rows)))
        train, collection = (take(rows, part) for part in parts)
        own = replace(task, train=train, collection=collection)
        cells = few(own, {"auto": cm.ExampleQuery}, SIZES, draws)
        found[name] = [[cell.mean, cell.error] for cell in cells]
    return found


def by_set(sources: Sources, names: Sequence[str]) -> list[dict[str, Any]]:
    """One row for each set, contestant and ranker."""
    return [
        row
        for name in names
        for row in _ranked(cm.datasets.load(name, split=SETS[name]), sources)
    ]


def _ranked(dataset: Dataset, sources: Sources) -> list[dict[str, Any]]:
    tested = dataset.test if dataset.test.ids else dataset.validation
    cut, k = len(dataset.train), len(dataset.label_names)
    known = labels_from(dataset.label_numbers(dataset.train), cut, k)
    truth = labels_from(dataset.label_numbers(tested), len(tested), k)
    asked = np.flatnonzero(np.diff(truth.starts))
    texts, found = dataset.train.texts + tested.texts, []
    for name, rows in contestants(texts, cut, sources).items():
        train, test = take(rows, np.arange(cut)), take(rows, cut + asked)
        for ranker, model in RANKERS.items():
            begin = time.process_time()
            model.fit(train, known)
            taken = time.process_time() - begin
            scores = model.decision_function(test)
            right = cm.measures.category_ranking(scores, take(truth, asked))
            facts = {"set": dataset.name, "rows": name, "ranker": ranker}
            own = {m: right[m] for m in MEASURES}
            found.append(facts | own | {"seconds": taken})
    return found


def costs(sources: Sources, names: Sequence[str], turns: int = 3) -> dict[str, Any]:
    """Training times of words and of both, and of one more text to be suggested for."""
    sets = {name: cm.datasets.load(name, split=SETS[name]) for name in names}
    found: dict[str, Any] = {"train": {}, "suggest": {}}
    for name, dataset in sets.items():
        texts = dataset.train.texts
        rows = contestants(texts, len(texts), sources)
        labels = dataset.label_numbers(dataset.train)
        known = labels_from(labels, len(texts), len(dataset.label_names))
        acts = {
            own: partial(RANKERS["plm, from Rocchio"].fit, X, known)
            for own, X in rows.items()
            if "alone" not in own
        }
        found["train"][name] = in_turns(acts, turns)
    found["train"]["a query, 20 Newsgroups"] = asking(sources, turns)
    found["suggest"] = suggesting(cm.datasets.load("library"), sources)
    return found


def asking(sources: Sources, turns: int) -> dict[str, float]:
    """Processor seconds of one query from ten examples, over all topics."""
    news = messages()
    texts, cut = news.train.texts + news.test.texts, len(news.train)
    task = task_of(news)

    def asked(own: Task) -> None:
        for topic in own.topics:
            cm.ExampleQuery().fit(own.examples(topic, 10), own.collection)

    acts = {}
    for name, rows in contestants(texts, len(texts), sources).items():
        parts = (np.arange(cut), np.arange(cut, len(rows)))
        train, collection = (take(rows, part) for part in parts)
        if "alone" not in name:
            own = replace(task, train=train, collection=collection)
            acts[name] = partial(asked, own)
    taken = in_turns(acts, turns)
    return {name: seconds / len(task.topics) for name, seconds in taken.items()}


def suggesting(dataset: Dataset, sources: Sources) -> dict[str, float]:
    """Median milliseconds of ``suggest`` for a text of the library's test part."""
    made: dict[str, Any] = {"words": None} | dict(sources)
    found = {}
    for name, source in made.items():
        if isinstance(source, cm.VectorFile):
            source = source.source  # noqa: PLW2901 (a new text is in no file)
        vectorizer = cm.Vectorizer(weighting="log-tfidf", meaning=source)
        model = cm.TextRanker.fit(
            vectorizer,
            RANKERS["plm, from Rocchio"],
            dataset.train.texts,
            dataset.label_numbers(dataset.train),
            dataset.label_names,
        )
        model.suggest(dataset.train.texts[0])
        taken = []
        for text in dataset.test.texts[:100]:
            begin = time.perf_counter()
            model.suggest(text)
            taken.append(time.perf_counter() - begin)
        found[name] = 1000 * median(taken)
    return found


def in_turns(acts: dict[str, Callable[[], Any]], turns: int) -> dict[str, float]:
    """Median processor seconds of each act."""
    taken: dict[str, list[float]] = {name: [] for name in acts}
    for _ in range(turns):
        for name, act in acts.items():
            begin = time.process_time()
            act()
            taken[name].append(time.process_time() - begin)
    return {name: median(times) for name, times in taken.items()}


def few_table(found: dict[str, Any]) -> str:
    """Write MAP by the number of examples as Markdown."""
    heads = ["all" if size is None else str(size) for size in SIZES]
    lines = ["| examples | " + " | ".join(heads) + " |", "|---" * 7 + "|"]
    for name, cells in found.items():
        lines.append(f"| {name} | " + " | ".join(f"{m:.4f}" for m, _ in cells) + " |")
        errors = ["–" if np.isnan(e) else f"{e:.4f}" for _, e in cells]
        lines.append("| ± | " + " | ".join(errors) + " |")
    return "\n".join(lines)


def sets_table(found: list[dict[str, Any]]) -> str:
    """Write measures as Markdown."""
    lines = ["| set | rows | ranker | one-error | AvgP | coverage | CPU s |"]
    lines.append("|---" * 7 + "|")
    for row in found:
        numbers = f"{row['one_error']:.3f} | {row['average_precision']:.3f} | "
        numbers += f"{row['coverage']:.2f} | {row['seconds']:.2f}"
        lines.append(f"| {row['set']} | {row['rows']} | {row['ranker']} | {numbers} |")
    return "\n".join(lines)


def cost_table(found: dict[str, Any]) -> str:
    """Write times as Markdown."""
    lines = ["| training | rows | CPU s | times words |", "|---" * 4 + "|"]
    for name, times in found["train"].items():
        for rows, taken in times.items():
            ratio = taken / times["words"]
            lines.append(f"| {name} | {rows} | {taken:.3f} | {ratio:.2f} |")
    shown = ", ".join(f"{name} {ms:.2f}" for name, ms in found["suggest"].items())
    return "\n".join([*lines, "", f"one suggestion, ms: {shown}"])


def sources_from(options: argparse.Namespace) -> Sources:
    """Open the static table and, where named, the sentence model."""
    sources: Sources = {"static": cm.StaticVectors.packaged()}
    if options.model:
        sentence: MeaningSource = cm.SentenceModel(options.model)
        if options.vectors:
            sentence = cm.VectorFile(options.vectors, sentence)
        sources["sentence"] = sentence
    return sources


def main() -> None:
    """Measure the parts asked for; print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default="few,sets,cost")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not os.environ.get("CLASSMARK_DATA"):
        parser.error("set CLASSMARK_DATA to the folder of the data sets")
    sources = sources_from(options)
    parts: dict[str, tuple[Callable[[], Any], Callable[[Any], str]]] = {
        "few": (lambda: by_examples(sources, options.draws), few_table),
        "sets": (lambda: by_set(sources, options.sets.split(",")), sets_table),
        "cost": (lambda: costs(sources, options.sets.split(",")), cost_table),
    }
    result = {}
    for part in options.parts.split(","):
        if part not in parts:
            parser.error(f"--parts: {part} is not one of {', '.join(parts)}")
        measure, written = parts[part]
        result[part] = measure()
        print(f"\n{written(result[part])}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
